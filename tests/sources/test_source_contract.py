"""Every kind of source gives the same counts for the same records."""

from __future__ import annotations

import datetime as dt
import gzip
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.sources import columns, scan, scan_domains

RECORDS = {
    "whole": [3, -7, 2**53 + 1, None, 3, 0],
    "real": [1.5, float("nan"), None, 0.0, -0.0, -2.25],
    "text": ["ü", "z", None, "日本", "a,b", 'say "hi"'],
    "day": [dt.date(2020, 2, 29), None, dt.date(1999, 1, 1), dt.date(2020, 2, 29), None, dt.date(2021, 1, 1)],
    "stamp": [
        dt.datetime(2020, 1, 1, 10, 30),
        None,
        dt.datetime(2020, 1, 1),
        None,
        None,
        dt.datetime(1969, 7, 20),
    ],
    "flag": [True, False, None, True, True, False],
    "Text": ["x", "y", "x", "y", "x", "y"],  # SQL takes it for the same name as "text"
    "y": ["no", "yes", "no", None, "yes", "no"],
}
SCHEMA = {
    "whole": pl.Int64,
    "real": pl.Float64,
    "text": pl.String,
    "day": pl.Date,
    "stamp": pl.Datetime("us"),
    "flag": pl.Boolean,
    "Text": pl.Categorical,
    "y": pl.String,
}
EXPECTED = {
    "whole": (
        "integer",
        [-7, 0, 3, 2**53 + 1, None],
        [[0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]],
    ),
    "real": ("real", [-2.25, 0.0, 1.5, None], [[1, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 0]]),
    "text": (
        "string",
        ["a,b", 'say "hi"', "z", "ü", "日本", None],
        [[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]],
    ),
    "day": (
        "date",
        [dt.date(1999, 1, 1), dt.date(2020, 2, 29), dt.date(2021, 1, 1), None],
        [[1, 0, 0], [1, 0, 1], [1, 0, 0], [0, 2, 0]],
    ),
    "stamp": (
        "datetime",
        [dt.datetime(1969, 7, 20), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 10, 30), None],
        [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 2, 1]],
    ),
    "flag": ("boolean", [False, True, None], [[1, 1, 0], [1, 1, 1], [1, 0, 0]]),
    "Text": ("string", ["x", "y"], [[2, 1, 0], [1, 1, 1]]),
}


def polars_frame() -> pl.DataFrame:
    return pl.DataFrame(RECORDS, schema=SCHEMA, strict=False)


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in RECORDS.items()})
    return frame.astype(
        {"whole": "Int64", "real": float, "stamp": "datetime64[ns]", "Text": "category", "y": "str"}
    )


def spark_frame(session, path):
    polars_frame().rename({"Text": "Text 2"}).write_parquet(path)
    return session.read.parquet(str(path)).toDF(*RECORDS)


KINDS = [
    "csv",
    "csv.gz",
    "tsv",
    "semicolons",
    "parquet",
    "partitions",
    "pandas",
    "polars",
    "arrow",
    "relation",
]
SPARK = pytest.param("spark", marks=pytest.mark.spark)


@pytest.fixture(params=[*KINDS, SPARK])
def source(request, tmp_path):
    kind = request.param
    if kind == "spark":
        return spark_frame(request.getfixturevalue("spark"), tmp_path / "records.parquet")
    if kind in ("csv", "tsv", "csv.gz", "semicolons"):
        separator = {"tsv": "\t", "semicolons": ";"}.get(kind, ",")
        text = pandas_frame().to_csv(index=False, sep=separator)
        path = tmp_path / f"records.{'csv' if kind == 'semicolons' else kind}"
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
        return path
    if kind == "parquet":
        polars_frame().write_parquet(tmp_path / "records.parquet")
        return str(tmp_path / "records.parquet")
    if kind == "partitions":  # the label is in the folders' names only
        for label, part in polars_frame().group_by("y"):
            folder = tmp_path / f"y={label[0] or '__HIVE_DEFAULT_PARTITION__'}"
            folder.mkdir()
            part.drop("y").write_parquet(folder / "part.parquet")
        return tmp_path / "*" / "*.parquet"
    if kind == "relation":
        return duckdb.from_arrow(polars_frame().rename({"Text": "Text 2"}).to_arrow())  # SQL ignores case
    return {"pandas": pandas_frame, "polars": polars_frame, "arrow": lambda: polars_frame().to_arrow()}[
        kind
    ]()


def test_counts_and_domains_are_the_same_for_every_kind_of_source(source):
    result = scan(source, "y")
    assert result.n_records == 6
    assert result.label_domain.to_list() == ["no", "yes", None]
    assert result.label_counts.tolist() == [3, 2, 1]
    assert [name.removesuffix(" 2") for name in result.attributes] == list(EXPECTED)
    for (kind, values, table), counts in zip(EXPECTED.values(), result.attributes.values(), strict=True):
        assert counts.domain.kind == kind
        assert counts.domain.to_list() == values
        assert counts.table.tolist() == table
        assert counts.table.dtype == np.int64


def test_only_the_asked_for_attributes_are_counted_in_the_asked_for_order(source):
    assert list(scan(source, "y", ["flag", "whole"]).attributes) == ["flag", "whole"]
    assert scan_domains(source, "y", ["flag"])["flag"].to_list() == [False, True, None]
    assert columns(source)[:3] == ("whole", "real", "text")


def test_frames_are_not_modified():
    frame, before = pandas_frame(), pandas_frame()
    scan(frame, "y")
    pd.testing.assert_frame_equal(frame, before)


def test_a_relation_is_counted_on_its_connection_and_nothing_stays_behind():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(x, y)")
        catalog = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views()"
        before = connection.execute(catalog).fetchall()
        assert scan(connection.table("t").filter("x < 3"), "y").attributes["x"].table.tolist() == [
            [1, 0],
            [0, 1],
        ]
        assert connection.execute(catalog).fetchall() == before


def test_a_glob_pattern_reads_all_files(tmp_path):
    for i in range(3):
        pl.DataFrame({"x": [i, 9], "y": [0, 1]}).write_parquet(tmp_path / f"part{i}.parquet")
        (tmp_path / f"part{i}.csv").write_text(f"x,y\n{i},0\n9,1\n")
    for ending in ("parquet", "csv"):
        counts = scan(tmp_path / f"part*.{ending}", "y").attributes["x"]
        assert counts.domain.to_list() == [0, 1, 2, 9]
        assert counts.table.tolist() == [[1, 0], [1, 0], [1, 0], [0, 3]]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([None, 1.5, -0.0, 0.0, float("nan")]), st.booleans()), min_size=2))
def test_counts_agree_with_counting_one_by_one(pairs):
    pairs = [*pairs, (1.5, True), (1.5, False)]
    expected = Counter((None if x is None or x != x else x + 0.0, y) for x, y in pairs)
    frame = pl.DataFrame(
        {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}, schema={"x": pl.Float64, "y": pl.Boolean}
    )
    for source in (frame, frame.to_pandas()):
        counts = scan(source, "y").attributes["x"]
        found = {
            (value, bool(label)): count
            for value, row in zip(counts.domain.to_list(), counts.table.tolist(), strict=True)
            for label, count in enumerate(row)
            if count
        }
        assert found == dict(expected)


def test_counts_agree_with_pandas_value_counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 50, 2000), "b": rng.choice(list("xyz"), 2000), "y": rng.integers(0, 3, 2000)}
    )
    result = scan(frame, "y")
    for name, counts in result.attributes.items():
        expected = pd.crosstab(frame[name], frame["y"])
        assert counts.domain.to_list() == expected.index.tolist()
        np.testing.assert_array_equal(counts.table, expected.to_numpy())
