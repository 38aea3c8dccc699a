"""Tables of many files: folders called key=value, whole folders, files that differ."""

from __future__ import annotations

import polars as pl
import pytest

from aegis_opt.errors import SourceError
from aegis_opt.sources import scan

YEARS = {"2019": [1, 2], "2021": [3, 4]}


def write(folder, ending, frame, name="part"):
    """Write one file of a table."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.{ending}"
    if ending == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)


@pytest.fixture(params=["csv", "parquet"])
def ending(request):
    return request.param


def test_several_keys_are_told_apart_in_whatever_order_they_come(tmp_path, ending):
    for year, values in YEARS.items():
        for city in ("Ulm", "Bad Aibling"):
            for name, columns in (
                ("a", ["x", "y"]),
                ("b", ["y", "x"] if ending == "parquet" else ["x", "y"]),
            ):
                frame = pl.DataFrame({"x": values, "y": [0, 1]}).select(columns)
                write(tmp_path / f"year={year}" / f"city={city.replace(' ', '%20')}", ending, frame, name)
    counts = scan(tmp_path / "*" / "*" / f"*.{ending}", "y").attributes
    assert list(counts) == ["x", "year", "city"]
    assert counts["year"].domain.to_list() == [2019, 2021]
    assert counts["city"].domain.to_list() == ["Bad Aibling", "Ulm"]
    by_year = scan(tmp_path / "**" / f"*.{ending}", "year", ["x", "city"]).attributes
    assert by_year["x"].table.tolist() == [[4, 0], [4, 0], [0, 4], [0, 4]]
    assert by_year["city"].table.tolist() == [[4, 4], [4, 4]]


def test_a_folder_is_all_its_files_but_those_that_engines_hide(tmp_path, ending):
    for year, values in YEARS.items():
        write(tmp_path / "table" / f"year={year}", ending, pl.DataFrame({"x": values, "y": [0, 1]}))
    write(tmp_path / "table" / "_temporary" / "0", ending, pl.DataFrame({"other": [1]}))
    (tmp_path / "table" / f".part.{ending}").write_text("half")
    (tmp_path / "table" / "_SUCCESS").touch()
    counts = scan(tmp_path / "table", "y").attributes
    assert counts["x"].domain.to_list() == [1, 2, 3, 4]
    assert counts["year"].domain.to_list() == [2019, 2021]


@pytest.mark.parametrize("key", ["x", "X"])
def test_a_key_that_is_a_column_too_is_an_error(tmp_path, ending, key):
    write(tmp_path / f"{key}=1", ending, pl.DataFrame({"x": [1, 2], "y": [0, 1]}))
    message = rf"the files have a column 'x', and lie in folders called {key}=\.\.\.: rename"
    with pytest.raises(SourceError, match=message):
        scan(tmp_path, "y")


def test_a_missing_partition_is_told_with_those_that_exist(tmp_path):
    for year, values in YEARS.items():
        write(tmp_path / f"year={year}", "parquet", pl.DataFrame({"x": values, "y": [0, 1]}))
    with pytest.raises(SourceError, match=r"file not found: .*year=2020.* has year=20\d\d, year=20\d\d"):
        scan(tmp_path / "year=2020" / "part.parquet", "y")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("x;y\n1;0\n", r"b\.csv has another separator than .*a\.csv \(x;y against x,y\)"),
        ("y,x\n1,0\n", r"b\.csv has another order of columns than .*a\.csv \(y,x against x,y\)"),
        ("x,z\n1,0\n", r"b\.csv has other columns than .*a\.csv \(x,z against x,y\)"),
    ],
)
def test_how_csv_files_differ_is_told(tmp_path, second, message):
    (tmp_path / "a.csv").write_text("x,y\n1,0\n2,1\n")
    (tmp_path / "b.csv").write_text(second)
    with pytest.raises(SourceError, match=message):
        scan(tmp_path / "*.csv", "y")


def test_a_line_that_is_too_long_is_not_quoted_in_full(tmp_path):
    (tmp_path / "long.csv").write_text(f"x,y\n{'z' * 3_000_000},0\n1,1\n")
    with pytest.raises(SourceError, match="Maximum line size of 2000000 bytes exceeded") as raised:
        scan(tmp_path / "long.csv", "y")
    assert len(str(raised.value)) < 1000
