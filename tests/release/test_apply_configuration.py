"""Masked tables: the same type out as in, other columns and the order as they were."""

import datetime as dt
import decimal
import gzip

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release_zoo import assert_agree, domains, expected, fitting

import aegis_opt as ao
from aegis_opt.masks import (
    Blur,
    Bucketize,
    EraseDigits,
    Generalize,
    Identity,
    Mask,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
)
from aegis_opt.masks._base import Grouping
from aegis_opt.release import apply_configuration

PEOPLE = pl.DataFrame(
    {
        "id": [4, 3, 2, 1, 5],
        "age": [17, None, 42, 99, 17],
        "Age": ["young", "", None, "old", "a,b"],
        "zip": ["01067", "10115", None, "日本語", "0"],
        "born": [
            dt.date(2020, 12, 31),
            dt.date(2021, 1, 3),
            None,
            dt.date(1969, 7, 20),
            dt.date(2000, 2, 29),
        ],
        "pay": [10.5, float("nan"), None, -3.25, 0.3],
        "grade": [1, 2, 3, 4, 5],
    }
)
MASKS = {
    "age": Bucketize(width=10),
    "zip": Prefix(2),
    "born": Truncate("week"),
    "pay": Bucketize(width=0.1),
    "grade": Generalize({"good": [1, 2], "poor": [3, 4, 5]}),
}
MASKED = {
    "age": ["[10, 20)", None, "[40, 50)", "[90, 100)", "[10, 20)"],
    "zip": ["01*", "10*", None, "日本*", "0"],
    "born": ["2020-W53", "2020-W53", None, "1969-W29", "2000-W09"],
    "pay": ["[10.5, 10.6)", None, None, "[-3.3, -3.2)", "[0.3, 0.4)"],
    "grade": ["good", "good", "poor", "poor", "poor"],
}


TYPES = {
    "integer": pl.Int64,
    "real": pl.Float64,
    "boolean": pl.Boolean,
    "date": pl.Date,
    "datetime": pl.Datetime("us"),
    "string": pl.String,
}


def assert_masked(result: pl.DataFrame, second: str = "Age") -> None:
    assert result.columns == ["id", "age", second, "zip", "born", "pay", "grade"]
    for name, values in MASKED.items():
        assert result[name].to_list() == values, name
    assert result["id"].to_list() == PEOPLE["id"].to_list()


def test_pandas_in_pandas_out_with_its_index_and_other_columns():
    frame = PEOPLE.to_pandas().set_index(pd.Index([9, 9, 7, 6, 5], name="row"))
    frame["objects"] = pd.Series([[1], {2}, None, "x", 5], index=frame.index)
    before = frame.copy(deep=True)
    result = apply_configuration(frame, MASKS)
    pd.testing.assert_frame_equal(frame, before)
    assert isinstance(result, pd.DataFrame)
    others = ["id", "Age", "objects"]
    pd.testing.assert_frame_equal(result[others], frame[others])
    for name, values in MASKED.items():
        assert [None if pd.isna(v) else v for v in result[name]] == values
    assert list(result.columns) == list(frame.columns)


def test_polars_and_arrow_in_the_same_out():
    assert_masked(apply_configuration(PEOPLE, MASKS))
    arrow = apply_configuration(PEOPLE.to_arrow(), MASKS)
    assert type(arrow) is type(PEOPLE.to_arrow())
    assert_masked(pl.from_arrow(arrow))


def test_a_relation_stays_on_its_connection_and_leaves_nothing_there():
    renamed = PEOPLE.rename({"Age": "years"})
    many = Generalize([[f"n{i}", [i]] for i in range(30)])
    with duckdb.connect() as connection:
        connection.register("people", renamed.to_arrow())
        catalog = "SELECT view_name FROM duckdb_views() UNION ALL SELECT table_name FROM duckdb_tables()"
        before = sorted(connection.execute(catalog).fetchall())
        result = apply_configuration(connection.table("people"), MASKS)
        assert isinstance(result, duckdb.DuckDBPyRelation)
        assert_masked(result.pl(), "years")
        looked_up = apply_configuration(connection.table("people"), {"id": many})
        assert looked_up.pl()["id"].to_list() == ["n4", "n3", "n2", "n1", "n5"]
        assert sorted(connection.execute(catalog).fetchall()) == before


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("output", ["csv", "csv.gz", "tsv", "parquet"])
def test_files_in_files_out(tmp_path, ending, output):
    source = PEOPLE.rename({"Age": "years"})
    path = tmp_path / f"people.{ending}"
    source.write_csv(path) if ending == "csv" else source.write_parquet(path)
    written = tmp_path / "new" / f"masked.{output}"
    assert apply_configuration(path, MASKS, output=written) == written
    if output == "parquet":
        result = pl.read_parquet(written)
    else:
        separator = "\t" if output == "tsv" else ","
        result = pl.read_csv(written, separator=separator, schema_overrides={"zip": pl.String})
    assert_masked(result, "years")
    assert [p.name for p in written.parent.iterdir()] == [written.name]


def test_a_path_without_output_gives_pandas(tmp_path):
    PEOPLE.write_parquet(tmp_path / "people.parquet")
    result = apply_configuration(tmp_path / "people.parquet", MASKS)
    assert isinstance(result, pd.DataFrame)
    assert_masked(pl.from_pandas(result))


def test_csv_text_of_other_columns_stays_what_it_is(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('id,age,pay,when,flag\n+007,17,1.50,2020-01-01T00:00:00Z,TRUE\n 8,18,"2,5",,no\n')
    apply_configuration(path, {"age": Blur(10), "pay": Identity()}, output=tmp_path / "masked.csv")
    assert (tmp_path / "masked.csv").read_text() == (
        'id,age,pay,when,flag\n+007,20,1.50,2020-01-01T00:00:00Z,TRUE\n 8,20,"2,5",,no\n'
    )


def test_gzip_output_is_gzip(tmp_path):
    apply_configuration(pd.DataFrame({"a": [1]}), {"a": Suppress()}, output=tmp_path / "a.csv.gz")
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"a\n*\n"


@settings(max_examples=25, deadline=None)
@given(domains(), st.data())
def test_every_mask_masks_rows_as_it_groups_the_domain(domain, data):
    mask = data.draw(st.sampled_from(fitting(domain)))
    rows = data.draw(st.lists(st.integers(0, len(domain) - 1), min_size=len(domain), max_size=60))
    rows = [*range(len(domain)), *rows]
    values = domain.to_list()
    frame = pl.DataFrame({"x": pl.Series([values[i] for i in rows], dtype=TYPES[domain.kind])})
    labels = expected(mask, domain)
    found = apply_configuration(frame, {"x": mask})["x"].to_list()
    assert_agree(found, [labels[i] for i in rows], [values[i] for i in rows], mask)


def test_types_of_masked_columns_follow_from_the_mask():
    frame = pl.DataFrame({"x": [1, 2, None]})
    wide = [[2**62 + i, [i]] for i in (1, 2)]
    for mask, dtype in [
        (Blur(10), pl.Int64),
        (Blur(2.5), pl.Float64),
        (TopCode(10), pl.String),  # although no value is that large
        (Generalize(wide), pl.Int64),
        (Generalize([[True, [1]], [False, [2]]]), pl.Boolean),
        (Generalize([["one", [1]], [2, [2]]]), pl.String),
        (Identity(), pl.Int64),
    ]:
        assert apply_configuration(frame, {"x": mask})["x"].dtype == dtype, mask


def test_a_million_values_are_looked_up_in_order():
    values = np.random.default_rng(0).permutation(300_000)
    mask = Generalize([[f"g{i}", list(range(i, 300_000, 1000))] for i in range(1000)])
    result = apply_configuration(pl.DataFrame({"x": values, "y": values}), {"x": mask})
    assert result["y"].to_list() == values.tolist()
    assert result["x"].to_list() == [f"g{v % 1000}" for v in values.tolist()]


@pytest.mark.parametrize("dtype", [object, "float64", "datetime64[us]", "Int64", "str"])
def test_a_column_of_missing_values_only_fits_every_mask(dtype):
    frame = pd.DataFrame({"x": pd.Series([None, None], dtype=dtype)})
    for mask in (Blur(10), Prefix(1), Generalize(ranges=3), Truncate("year"), Generalize({"a": [1]})):
        assert apply_configuration(frame, {"x": mask})["x"].isna().all()
    assert apply_configuration(frame, {"x": Suppress()})["x"].tolist() == ["*", "*"]
    assert apply_configuration(frame, {"x": Generalize({"none": [None]})})["x"].tolist() == ["none", "none"]


def test_an_empty_table_stays_empty(tmp_path):
    frame = pd.DataFrame({"x": pd.Series([], dtype="int64"), "y": pd.Series([], dtype="float64")})
    result = apply_configuration(frame, {"x": Bucketize(width=3)})
    assert list(result.columns) == ["x", "y"]
    assert len(result) == 0


@pytest.mark.parametrize(
    ("sql", "mask", "expected_values"),
    [
        ("SELECT 0.30::DECIMAL(20, 2) AS x", Bucketize(width=0.1), "[0.3, 0.4)"),
        ("SELECT 7::UTINYINT AS x", Bucketize(width=10, origin=3), "[3, 13)"),
        ("SELECT -7::HUGEINT AS x", EraseDigits(1), "0"),
        ("SELECT TIMESTAMPTZ '2020-01-01 00:30:00+02' AS x", Truncate("day"), "2019-12-31"),
        ("SELECT TIMESTAMP_NS '2020-01-01 00:30:00' AS x", Truncate("day"), "2020-01-01"),
        ("SELECT 'abc'::ENUM('abc') AS x", Prefix(1), "a*"),
        ("SELECT [1, 2] AS x", Suppress(), "*"),
        (
            "SELECT 9223372036854775807 AS x",
            Bucketize(width=10),
            "[9223372036854775800, 9223372036854775810)",
        ),
    ],
)
def test_every_type_of_column_can_be_masked(sql, mask, expected_values):
    with duckdb.connect() as connection:
        assert apply_configuration(connection.sql(sql), {"x": mask}).fetchall() == [(expected_values,)]


class FirstLetter(Mask):
    """A mask of another package: not a rule that the library knows."""

    function = "test-first-letter"
    kinds = ("string",)

    def _keys(self, domain):
        letters = np.array([value[:1] for value in domain.values], dtype=object)
        return letters, lambda keys: list(keys)


def test_a_mask_of_another_package_is_looked_up():
    frame = pl.DataFrame({"x": ["beta", None, "alpha", "aa"]})
    assert apply_configuration(frame, {"x": FirstLetter()})["x"].to_list() == ["b", None, "a", "a"]
    assert isinstance(FirstLetter().group(ao.domain.Domain.of(["a"])), Grouping)


@pytest.mark.parametrize(
    ("masks", "error", "text"),
    [
        ({"agee": Suppress()}, ao.errors.UnknownColumn, "did you mean 'age'"),
        (
            {"zip": Blur(10)},
            ao.errors.MaskError,
            "attribute 'zip': Blur(width=10) does not fit values of kind string",
        ),
        (
            {"age": Generalize({"a": [17, 42]})},
            ao.errors.MaskError,
            "attribute 'age': Generalize({'a': [...]}) does not",
        ),
        ({"age": "suppress"}, ao.errors.ConfigurationError, "attribute 'age': 'suppress' is no mask"),
        ({"pay": Bucketize(width=1e-12)}, ao.errors.MaskError, "attribute 'pay'"),
        ({"Age": Prefix(1)}, ao.errors.SourceError, "'age' and 'Age'"),
    ],
)
def test_masks_that_do_not_fit_are_named_and_nothing_is_written(tmp_path, masks, error, text):
    frame = PEOPLE.with_columns(pay=pl.lit(1e9))
    if "Age" not in masks:
        frame = frame.drop("Age")
    with pytest.raises(error) as raised:
        apply_configuration(frame, masks, output=tmp_path / "masked.parquet")
    assert text in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_time_stamps_finer_than_a_microsecond_are_refused():
    frame = pd.DataFrame({"x": pd.to_datetime(["2020-01-01 00:00:00.123456789"])})
    with pytest.raises(ao.errors.SourceError, match="column 'x' has time stamps finer than a microsecond"):
        apply_configuration(frame, {"x": Truncate("day")})


def test_integers_beyond_64_bits_are_an_error():
    with duckdb.connect() as connection:
        source = connection.sql("SELECT 170141183460469231731687303715884105727::HUGEINT AS x")
        with pytest.raises(ao.errors.SourceError, match="column 'x' holds integers beyond 64 bits"):
            apply_configuration(source, {"x": Bucketize(width=10)})


def test_decimals_keep_their_type_unless_masked():
    frame = pl.DataFrame({"d": [decimal.Decimal("1.10")], "x": [1]})
    assert apply_configuration(frame, {"x": Suppress()}).schema["d"] == frame.schema["d"]
