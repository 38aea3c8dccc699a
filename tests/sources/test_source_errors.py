"""Bad sources are refused by name, with the way out."""

from __future__ import annotations

import gzip

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from aegis_opt.errors import SourceError, UnknownColumn
from aegis_opt.sources import columns, scan


def test_file_not_found_suggests_a_near_name(tmp_path):
    (tmp_path / "people.csv").write_text("x,y\n1,0\n")
    with pytest.raises(SourceError, match=r"file not found.*did you mean.*people\.csv"):
        scan(tmp_path / "peple.csv", "y")
    with pytest.raises(SourceError, match=r"no file matches .*\*\.parquet"):
        scan(tmp_path / "*.parquet", "y")
    with pytest.raises(SourceError, match="is a folder"):
        scan(tmp_path, "y")


def test_unsupported_ending(tmp_path):
    (tmp_path / "people.xlsx").write_text("")
    with pytest.raises(SourceError, match=r"people\.xlsx: cannot tell the format.*\.parquet"):
        scan(tmp_path / "people.xlsx", "y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x,y\n1,0\n2,1,7\n", r"Line: 3.*Expected Number of Columns: 2 Found: 3"),
        (b"x,y\n1,0\n2\n", r"Line: 3.*Found: 1"),
        (b'x,y\n1,"0\n2,1\n', "unterminated quote"),
        (b"x,y\n1,\xe9\n2,1\n", "0xe9.*save it as UTF-8"),
        (b"", "is empty"),
        (b"x,y\n", "has no records"),
    ],
    ids=["long row", "short row", "open quote", "latin-1", "empty", "header only"],
)
def test_malformed_csv_names_the_file_and_the_line(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"(?s)bad\.csv.*{message}"):
        scan(path, "y")


def test_truncated_compressed_csv_and_parquet(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"x,y\n1,0\n2,1\n")[:20])
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name in ("t.csv.gz", "t.parquet"):
        with pytest.raises(SourceError, match=name):
            scan(tmp_path / name, "y")


def test_files_with_different_headers_are_not_mixed_up(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n")
    (tmp_path / "b.csv").write_text("y,x\n1,0\n")
    with pytest.raises(SourceError, match="same header"):
        scan(tmp_path / "*.csv", "y")


def test_duplicate_names(tmp_path):
    (tmp_path / "twice.csv").write_text("x,x,y\n1,2,0\n")
    sources = [
        tmp_path / "twice.csv",
        pd.DataFrame([[1, 2, 0]], columns=["x", "x", "y"]),
        pa.table([[1], [2], [0]], names=["x", "x", "y"]),
    ]
    for source in sources:
        with pytest.raises(SourceError, match="several columns called 'x'"):
            columns(source)
    with duckdb.connect() as connection, pytest.raises(SourceError, match=r"'x' and 'X'.*cannot tell apart"):
        columns(connection.sql("SELECT 1 AS x, 2 AS X"))


def test_names_that_differ_in_case_only_are_different_columns(tmp_path):
    frame = pl.DataFrame({"Age": [1, 1], "age": [2, 3], "y": [0, 1]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    for source in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "t.parquet", tmp_path / "t.csv"):
        result = scan(source, "y")
        assert result.attributes["Age"].domain.to_list() == [1]
        assert result.attributes["age"].domain.to_list() == [2, 3]


def test_names_that_need_quoting(tmp_path):
    names = ['a "b"', "select", "x; --", "ü", "n", "v"]
    frame = pl.DataFrame({**{name: [1, 2] for name in names}, "y": [0, 1]})
    frame.write_parquet(tmp_path / "t.parquet")
    with duckdb.connect() as connection:
        for source in (frame, tmp_path / "t.parquet", connection.from_arrow(frame.to_arrow())):
            assert list(scan(source, "y").attributes) == names


def test_unknown_column_suggests_a_near_name():
    frame = pd.DataFrame({"age": [1, 2], "y": [0, 1]})
    with pytest.raises(UnknownColumn, match=r"unknown column 'agee': did you mean 'age'.*Known: age, y"):
        scan(frame, "y", ["agee"])
    with pytest.raises(UnknownColumn, match="'label'"):
        scan(frame, "label")
    with pytest.raises(UnknownColumn, match="'Age'"):
        scan(frame, "y", ["Age"])


def test_labels_that_cannot_be_labels():
    frame = pd.DataFrame({"x": [1, 2], "y": [7, 7], "void": [None, None]})
    with pytest.raises(SourceError, match=r"'y' has one class only \(7\)"):
        scan(frame, "y", ["x"])
    with pytest.raises(SourceError, match=r"'void' has one class only \(None\)"):
        scan(frame, "void", ["x"])
    with pytest.raises(SourceError, match="'x' is the label"):
        scan(frame, "x", ["x"])


def test_empty_frame_and_names_that_are_no_text():
    with pytest.raises(SourceError, match="no records"):
        scan(pd.DataFrame({"x": pd.Series([], dtype=int), "y": pd.Series([], dtype=int)}), "y")
    with pytest.raises(SourceError, match=r"column name 0 is int.*rename"):
        columns(pd.DataFrame([[1, 2]]))


@pytest.mark.parametrize(
    "source", [{"x": [1]}, 3, pl.DataFrame({"x": [1]}).lazy()], ids=["dict", "int", "lazy"]
)
def test_unsupported_sources_say_what_works(source):
    with pytest.raises(SourceError, match=r"cannot read records from .*pandas or polars DataFrame"):
        columns(source)


def test_a_relation_whose_connection_is_closed():
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT 1 AS x, 2 AS y")
    with pytest.raises(SourceError, match="is its connection open"):
        scan(relation, "y")
