"""How the types of columns are read."""

from __future__ import annotations

import datetime as dt
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aegis_opt import MaskingTransformer
from aegis_opt.errors import SourceError
from aegis_opt.masks import Bucketize
from aegis_opt.release import apply_configuration
from aegis_opt.sources import scan, scan_domains


def domain_of(series, **options):
    return scan_domains(
        pd.DataFrame({"x": series, "y": [i % 2 for i in range(len(series))]}), "y", **options
    )["x"]


@pytest.mark.parametrize(
    ("series", "kind", "values"),
    [
        (pd.Series([2, 1], dtype="uint64"), "integer", [1, 2]),
        (pd.Series([2, 1], dtype="int8"), "integer", [1, 2]),
        (pd.Series([2**53 + 1, None], dtype=object), "integer", [2**53 + 1, None]),
        (pd.Series([np.int64(3), 2.5], dtype=object), "real", [2.5, 3.0]),
        (pd.Series([decimal.Decimal("1.5"), None], dtype=object), "real", [1.5, None]),
        (
            pd.Series([decimal.Decimal(2**53 + 1), None, decimal.Decimal("1E+2")]),
            "integer",
            [100, 2**53 + 1, None],
        ),
        (pd.Series([decimal.Decimal("2.0"), decimal.Decimal(1)]), "real", [1.0, 2.0]),
        (pd.Series([decimal.Decimal("Infinity"), decimal.Decimal(1)]), "real", [1.0, float("inf")]),
        (pd.Series([True, None], dtype=object), "boolean", [True, None]),
        (pd.Series(["b", None, float("nan"), "a"], dtype=object), "string", ["a", "b", None]),
        (pd.Series(["b", None, "a"], dtype="str"), "string", ["a", "b", None]),
        (pd.Series(["b", None, "a"], dtype=pd.StringDtype("python")), "string", ["a", "b", None]),
        (pd.Series(["b", None, "a"]).astype("category"), "string", ["a", "b", None]),
        (pd.Series(pd.Categorical([2**53 + 1, None, 1])), "integer", [1, 2**53 + 1, None]),
        (pd.Series([None, dt.date(2020, 1, 2)], dtype=object), "date", [dt.date(2020, 1, 2), None]),
        (pd.Series([None, None], dtype=object), "string", [None]),
        (pd.Series([np.nan, np.nan]), "string", [None]),
        (
            pd.to_datetime(pd.Series(["2020-01-01 01:00", None])).dt.tz_localize("Europe/Paris"),
            "datetime",
            [dt.datetime(2020, 1, 1, 0, 0), None],
        ),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")) or None,
)
def test_pandas_dtypes(series, kind, values):
    domain = domain_of(series)
    assert (domain.kind, domain.to_list()) == (kind, values)
    assert all(type(a) is type(b) for a, b in zip(domain.to_list(), values, strict=True))


def test_decimals_of_pandas_are_those_of_arrow_counted_and_masked() -> None:
    whole, fractions = [12345678901234567, 12345678901234568, None], ["1.5", "2", None]
    frame = pd.DataFrame(
        {
            "whole": [None if v is None else decimal.Decimal(v) for v in whole],
            "real": [None if v is None else decimal.Decimal(v) for v in fractions],
            "y": ["a", "b", "a"],
        }
    )
    masks = {"whole": Bucketize(width=1), "real": Bucketize(width=1)}
    found = []
    for table in (frame, pa.Table.from_pandas(frame)):
        masked = [apply_configuration(table, masks), MaskingTransformer(masks).fit_transform(table)]
        texts = [pl.from_pandas(m) if isinstance(m, pd.DataFrame) else pl.from_arrow(m) for m in masked]
        columns = [t[name].to_list() for t in texts for name in masks]
        found.append(({n: d.to_list() for n, d in scan_domains(table, "y").items()}, columns))
    assert found[0] == found[1]
    assert found[0][0]["whole"] == whole
    with pytest.raises(SourceError, match=r"'x' cannot be read as decimal \(integers beyond 64 bits\)"):
        domain_of(pd.Series([decimal.Decimal(2**63), decimal.Decimal(1)]))


def test_half_floats_of_arrow_are_those_of_pandas() -> None:
    halves = np.array([1.5, 2.25, np.nan, 65504], dtype=np.float16)
    frame = pd.DataFrame({"x": halves, "y": ["a", "b", "a", "b"]})
    arrow = pa.table({"x": pa.array(halves, from_pandas=True), "y": ["a", "b", "a", "b"]})
    mask = {"x": Bucketize(width=1)}
    masked = apply_configuration(frame, mask)["x"].astype(object).where(~frame["x"].isna(), None).to_list()
    for table in (arrow, frame.assign(x=frame["x"].astype("float32").astype(pd.ArrowDtype(pa.float16())))):
        assert scan_domains(table, "y")["x"].to_list() == [1.5, 2.25, 65504.0, None]
        again = apply_configuration(table, mask)
        texts = again["x"].to_pylist() if isinstance(again, pa.Table) else again["x"].to_list()
        assert [None if t is None or t != t else t for t in texts] == masked


def test_a_sparse_column_of_dates_is_not_taken_for_text():
    values = [None] * 5000 + [dt.date(2020, 1, 1)] + [None] * 5000
    assert domain_of(pd.Series(values, dtype=object)).kind == "date"


@pytest.mark.parametrize(
    ("field", "kind", "values"),
    [
        (["1", "-2"], "integer", [-2, 1]),
        (["1", " 2.5"], "real", [1.0, 2.5]),
        (["1e3", "nan", ""], "real", [1000.0, None]),
        (["01234", "99999"], "string", ["01234", "99999"]),
        (["9223372036854775808", "1"], "string", ["1", "9223372036854775808"]),
        (["TRUE", "false"], "boolean", [False, True]),
        (["2020-01-31", "2020-02-30"], "string", ["2020-01-31", "2020-02-30"]),
        (
            ["2020-01-31", "2020-01-31 12:00"],
            "datetime",
            [dt.datetime(2020, 1, 31), dt.datetime(2020, 1, 31, 12)],
        ),
        (["2020-01-31T12:00:00+02:00"] * 2, "datetime", [dt.datetime(2020, 1, 31, 10)]),
        (["2020-01-31 12:00Z", "2020-01-31 12:00"], "string", ["2020-01-31 12:00", "2020-01-31 12:00Z"]),
        (["1", "x"], "string", ["1", "x"]),
        (["#1", "#2"], "string", ["#1", "#2"]),
        (["", ""], "string", [None]),
    ],
)
def test_types_of_csv_columns(tmp_path, field, kind, values):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{text},{i % 2}\n" for i, text in enumerate(field)) + ",0\n,1\n")
    domain = scan_domains(path, "y")["x"]
    assert (domain.kind, domain.to_list()) == (kind, [*(v for v in values if v is not None), None])


def test_a_late_value_decides_the_type_of_a_csv_column_too(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "1,0\n" * 30_000 + "1.5,1\n2,1\n")
    assert scan_domains(path, "y")["x"].to_list() == [1.0, 1.5, 2.0]


def test_decimals_enums_and_times_of_other_engines():
    with duckdb.connect() as connection:
        relation = connection.sql(
            "SELECT 1.50::DECIMAL(9, 2) AS d, 'b'::ENUM('a', 'b') AS e, TIME '10:00' AS t, 7::HUGEINT AS h, "
            "0 AS y UNION ALL SELECT 2.25, 'a', TIME '09:00', 8, 1"
        )
        domains = scan_domains(relation, "y")
    assert [(d.kind, d.to_list()) for d in domains.values()] == [
        ("real", [1.5, 2.25]),
        ("string", ["a", "b"]),
        ("string", ["09:00:00", "10:00:00"]),
        ("integer", [7, 8]),
    ]


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (pd.Series([2**63, 1], dtype="uint64"), "'x' holds integers beyond 64 bits"),
        (pd.Series([2**70, 1], dtype=object), "'x'"),
        (pd.Series([1, "a"], dtype=object), "'x' holds Python objects of kind 'mixed-integer'.*one type"),
        (pd.Series([[1], [2]], dtype=object), "'x' holds Python objects of kind 'mixed'"),
        (
            pd.Series([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)], dtype=object),
            "'x' cannot be read as date .it mixes dates and times of day",
        ),
        (pd.to_timedelta(pd.Series([1, 2]), unit="s"), "'x' is of type INTERVAL"),
        (
            pd.Series(np.array(["2020-01-01T00:00:00.000000001"] * 2, dtype="M8[ns]")),
            "'x' has time stamps finer",
        ),
        (pd.Series([1j, 2j]), "'x' is of type complex128"),
        (pd.Series(pd.period_range("2020", periods=2, freq="M")), r"'x' is of type period\[M\]"),
        (pd.Series(pd.cut([1, 2], [0, 1, 2])), r"'x' is of type interval\[int64, right\]"),
    ],
    ids=[
        "uint64",
        "huge",
        "mixed",
        "lists",
        "dates-and-times",
        "durations",
        "nanoseconds",
        "complex",
        "periods",
        "intervals",
    ],
)
def test_what_cannot_be_counted_is_named(series, message):
    with pytest.raises(SourceError, match=message):
        domain_of(series)


def test_a_nested_column_is_an_error_only_when_it_is_needed():
    frame = pl.DataFrame({"x": [1, 2], "list": [[1], [2]], "y": [0, 1]})
    assert list(scan(frame, "y", ["x"]).attributes) == ["x"]
    with pytest.raises(SourceError, match=r"'list' is of type BIGINT\[\].*leave it out"):
        scan(frame, "y")


def test_sparse_columns_and_times_of_day_of_frames():
    sparse = pd.DataFrame({"x": pd.arrays.SparseArray([0, 0, 5]), "y": [0, 1, 1]})
    assert scan(sparse, "y").attributes["x"].domain.to_list() == [0, 5]
    times = pl.DataFrame({"x": [dt.time(9, 30), None], "y": [0, 1]})
    assert scan(times, "y").attributes["x"].domain.to_list() == ["09:30:00", None]


def test_numbers_whose_bytes_are_in_the_other_order():
    frame = pd.DataFrame({"x": np.array([1, 258], dtype=">i8"), "y": [0, 1]})
    assert scan(frame, "y").attributes["x"].domain.to_list() == [1, 258]


def test_wide_integers_of_polars_are_named():
    frame = pl.DataFrame({"x": pl.Series([1, 2**100], dtype=pl.Int128), "y": [0, 1]})
    with pytest.raises(SourceError, match="'x' is of type Int128; cast it to Int64"):
        scan(frame, "y")
