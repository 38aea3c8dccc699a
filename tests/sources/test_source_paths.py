"""Paths: what is checked is what is read, and no address ever reaches an engine."""

import os

import duckdb
import polars as pl
import pytest

from aegis_opt.errors import SourceError
from aegis_opt.masks import Suppress
from aegis_opt.release import apply_configuration
from aegis_opt.sources import columns, scan
from aegis_opt.sources._csv_files import CsvTable
from aegis_opt.sources._database import open_database
from aegis_opt.sources._files import open_files
from aegis_opt.sources._parquet_files import ParquetTable

HERE = pl.DataFrame({"x": [1, 2], "y": ["a", "b"]})
ELSEWHERE = pl.DataFrame({"x": [7, 8, 9], "y": ["a", "b", "a"]})


@pytest.fixture(params=["csv", "parquet"])
def ending(request):
    return request.param


def write(frame, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    (frame.write_csv if path.suffix == ".csv" else frame.write_parquet)(path)


@pytest.fixture
def home(tmp_path, monkeypatch, ending):
    """A home folder with a file, and a current folder that holds a folder called ~ with another file."""
    write(ELSEWHERE, tmp_path / "home" / f"t.{ending}")
    write(HERE, tmp_path / "work" / "~" / f"t.{ending}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")


@pytest.mark.usefixtures("home")
def test_a_tilde_is_the_home_folder_unless_the_path_says_otherwise(ending):
    for path, n in ((f"~/t.{ending}", 3), (f"./~/t.{ending}", 2), (f"~/*.{ending}", 3), ("~", 3), ("./~", 2)):
        assert scan(path, "y").n_records == n
        assert len(apply_configuration(path, {"x": Suppress()})) == n


@pytest.mark.usefixtures("home")
def test_a_masked_file_is_written_into_the_home_folder(ending):
    path = apply_configuration(HERE, {"x": Suppress()}, output=f"~/masked.{ending}")
    assert path == type(path)(os.environ["HOME"], f"masked.{ending}")
    assert path.exists()


@pytest.mark.usefixtures("home")
def test_a_tilde_before_the_name_of_nobody_is_part_of_a_name(ending):
    path = apply_configuration(HERE, {"x": Suppress()}, output=f"~nobody at all/masked.{ending}")
    assert path.parent.name == "~nobody at all"
    assert scan(path, "y").n_records == 2


@pytest.mark.parametrize("scheme", ["http", "https", "s3", "hf", "gs", "az", "file", "HTTP", "s3a"])
def test_an_address_is_refused_even_where_a_folder_is_called_so(tmp_path, monkeypatch, scheme, ending):
    monkeypatch.chdir(tmp_path)
    write(HERE, tmp_path / f"{scheme}:" / "host" / f"t.{ending}")
    for text in (f"{scheme}://host/t.{ending}", f"{scheme}://host/*.{ending}"):
        with pytest.raises(SourceError, match=rf"{scheme}://host.* is an address, and only files are read"):
            columns(text)
    assert scan(f"./{scheme}://host/t.{ending}", "y").n_records == 2
    assert scan(tmp_path, "y").n_records == 2


def test_engines_get_absolute_paths(tmp_path, monkeypatch, ending):
    monkeypatch.chdir(tmp_path)
    write(HERE, tmp_path / "a" / f"t.{ending}")
    for path in (f"a/t.{ending}", f"./a/t.{ending}", f"a/*.{ending}", "a"):
        table = open_files(path)
        assert isinstance(table, CsvTable | ParquetTable)
        assert all(os.path.isabs(found) for found in table.paths)


def test_a_current_folder_may_have_glob_characters_in_its_name(tmp_path, monkeypatch, ending):
    write(HERE, tmp_path / "data[1]*" / f"t[2].{ending}")
    monkeypatch.chdir(tmp_path / "data[1]*")
    for path in (f"t[2].{ending}", f"*.{ending}", "."):
        assert scan(path, "y").n_records == 2


def test_the_name_of_the_current_folder_makes_no_table_a_partitioned_one(tmp_path, monkeypatch, ending):
    write(HERE, tmp_path / "x=5" / "z=1" / f"t.{ending}")
    write(HERE, tmp_path / "x=5" / f"t.{ending}")
    monkeypatch.chdir(tmp_path / "x=5")
    assert columns(f"t.{ending}") == ("x", "y")
    assert scan(f"t.{ending}", "y").attributes["x"].domain.to_list() == [1, 2]
    # DuckDB reads x from the folder's name, where it reads those names at all
    with pytest.raises(SourceError, match=r"column 'x', and lie in folders called x="):
        columns(f"z=1/t.{ending}")


@pytest.mark.parametrize("text", ["a\0.csv", "\0", ""])
def test_a_text_that_no_file_can_be_called_is_refused(text):
    with pytest.raises(SourceError):
        columns(text)


def test_a_name_that_is_not_utf_8_is_refused(tmp_path, ending):
    path = os.path.join(os.fsencode(tmp_path), b"\xff." + ending.encode())
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    with pytest.raises(SourceError, match="is not in UTF-8: rename"):
        columns(os.fsdecode(path))


def test_the_databases_of_the_library_know_no_addresses():
    with open_database() as connection:
        for address in ("http://127.0.0.1:9/t.csv", "s3://bucket/t.parquet", "hf://x/t.csv"):
            with pytest.raises(duckdb.Error, match="requires the extension"):
                connection.execute(f"FROM '{address}'")
