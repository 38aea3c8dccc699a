"""Bad sources are refused by name, with the way out."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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
    (tmp_path / "folder").mkdir()
    with pytest.raises(SourceError, match=r"is a folder without any file that ends in one of \.csv"):
        scan(tmp_path / "folder", "y")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet"])
@pytest.mark.parametrize("device", [False, True])
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path, ending: str, device: bool) -> None:
    path = tmp_path / f"people.{ending}"
    path.symlink_to("/dev/zero") if device else os.mkfifo(path)
    message = rf"people\.{ending} is no regular file; a pipe can be read once only: write it to a file"
    for source in (path, str(tmp_path / "*"), tmp_path):  # alone, by a pattern, in a folder
        with pytest.raises(SourceError, match=message):
            columns(source)


def test_links_to_nothing_are_no_part_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("x,y\n1,0\n")
    (tmp_path / "old.csv").symlink_to("nowhere")
    assert columns(tmp_path) == columns(tmp_path / "*.csv") == ("x", "y")


def test_an_empty_path_is_no_file():
    with pytest.raises(SourceError, match="file not found: ''"):
        scan("", "y")


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
        (b"x,y\n1,\xe9\n2,1\n", "Line: 2.*not utf-8.*all in UTF-8"),
        (b"\xe9,y\n1,0\n2,1\n", "header line is not in UTF-8"),
        (b"", "is empty"),
        (b"x,y\n", "has no records"),
    ],
    ids=["long row", "short row", "open quote", "latin-1", "latin-1 header", "empty", "header only"],
)
def test_malformed_csv_names_the_file_and_the_line(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=rf"(?s)bad\.csv.*{message}"):
        scan(path, "y")


def test_a_second_encoding_in_the_middle_of_one_of_many_files(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "é,0\n" * 50, encoding="utf-8")
    (tmp_path / "b.csv").write_bytes(b"x,y\n" + b"\xc3\xa9,0\n" * 50 + b"\xe9,1\n")
    with pytest.raises(
        SourceError, match=r"(?s)Line: 52.*not utf-8.*b\.csv.*all in UTF-8.*or read it yourself"
    ):
        scan(tmp_path / "*.csv", "y")


def test_a_parquet_file_cut_short_among_whole_ones(tmp_path):
    for name in ("a", "b"):
        pl.DataFrame({"x": range(9000), "y": [i % 2 for i in range(9000)]}).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    whole = (tmp_path / "b.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"b\.parquet.*cut short.*get a whole copy"):
        scan(tmp_path / "*.parquet", "y")
    (tmp_path / "b.parquet").write_bytes(whole[:50] + whole[-2000:])  # the end is there, the middle is not
    with pytest.raises(SourceError, match=r"b\.parquet"):
        scan(tmp_path / "*.parquet", "y")


def test_a_missing_partition_lists_those_that_exist(tmp_path):
    for year in ("2019", "2021"):
        (tmp_path / f"year={year}").mkdir()
        pl.DataFrame({"x": [1, 2], "y": [0, 1]}).write_parquet(tmp_path / f"year={year}" / "p.parquet")
    for pattern in ("year=2020/*.parquet", "year=2020/**/*.parquet"):
        with pytest.raises(SourceError, match=r"no file matches .*has year=2019, year=2021"):
            scan(tmp_path / pattern, "y")
    (tmp_path / "stray.parquet").write_bytes((tmp_path / "year=2019" / "p.parquet").read_bytes())
    with pytest.raises(SourceError, match=r"differently partitioned folders \(year= against none\)"):
        scan(tmp_path / "**" / "*.parquet", "y")


def test_files_that_disagree_about_a_column(tmp_path):
    write = {"a": [1, 2], "b": [1.5, 2.0]}
    for name, values in write.items():
        pl.DataFrame({"x": values, "z": [1, 2], "y": [0, 1]}).write_parquet(tmp_path / f"{name}.parquet")
    message = r"column 'x' is BIGINT in .*a\.parquet and DOUBLE in .*b\.parquet: convert"
    with pytest.raises(SourceError, match=message):
        scan(tmp_path / "*.parquet", "y")
    assert list(scan(tmp_path / "*.parquet", "y", ["z"]).attributes) == ["z"]  # x is not in use
    pl.DataFrame({"x": [1, 2], "y": [0, 1]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"b\.parquet has other columns than .*a\.parquet .*'z'"):
        scan(tmp_path / "*.parquet", "y")
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
    (tmp_path / "b.csv").write_text("x,y\n1,0\nn/a,1\n")
    with pytest.raises(SourceError, match=r"'x' is integer in .*a\.csv and text in .*b\.csv: correct one"):
        scan(tmp_path / "*.csv", "y")


def test_files_that_agree_about_a_column_though_not_to_the_letter(tmp_path):
    pl.DataFrame({"x": [1, 2], "y": [0, 1]}, schema={"x": pl.Int8, "y": pl.Int64}).write_parquet(
        tmp_path / "a.parquet"
    )
    pl.DataFrame({"y": [0, 1], "x": [2**40, None]}).write_parquet(tmp_path / "b.parquet")
    assert scan(tmp_path / "*.parquet", "y").attributes["x"].domain.to_list() == [1, 2, 2**40, None]
    (tmp_path / "a.csv").write_text("x,zip,y\n1,12345,0\n2,99999,1\n")
    (tmp_path / "b.csv").write_text("x,zip,y\n1.5,01234,0\n2,22222,1\n")
    found = scan(tmp_path / "*.csv", "y").attributes
    assert found["x"].domain.to_list() == [1.0, 1.5, 2.0]
    assert found["zip"].domain.to_list() == ["01234", "12345", "22222", "99999"]


@pytest.mark.parametrize(
    ("classes", "records", "message"),
    [
        (30, 50, r"'y' has 30 classes in 50 records.*choose another label, or put its values into ranges"),
        (9000, 9000, r"'y' has more than 1,000 classes; at most 1,000"),
    ],
)
def test_a_label_of_more_classes_than_records_make_sense_of(classes, records, message):
    frame = pl.DataFrame({"x": range(records), "y": [f"c{i % classes}" for i in range(records)]})
    with pytest.raises(SourceError, match=message):
        scan(frame, "y")
    few = frame.with_columns(y=pl.Series([f"c{i % 20}" for i in range(records)]))
    assert len(scan(few, "y").label_domain) == 20


def test_a_label_whose_many_classes_come_late():
    frame = pl.DataFrame({"x": [1] * 101_500, "y": ["0"] * 100_000 + [f"{i}" for i in range(1500)]})
    with pytest.raises(SourceError, match=r"'y' has 1,500 classes in 101,500 records"):
        scan(frame, "y")


def test_no_permission_to_read():
    script = """
import os, sys, duckdb
from aegis_opt.errors import SourceError
from aegis_opt.sources import scan
if os.getuid() == 0:
    os.setuid(65534)  # root may read anything
try:
    scan(sys.argv[1], "y")
except SourceError as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "secret.csv")
        path.write_text("x,y\n1,0\n")
        os.chmod(folder, 0o755)
        os.chmod(path, 0o000)
        shown = subprocess.run(
            [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
        )
    assert shown.stdout.startswith(f"no permission to read {path}: ask its owner")


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
