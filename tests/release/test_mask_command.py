"""The command `mask`."""

import json

import duckdb
import pytest

from aegis_opt import Configurations, Generalize, Prefix, Suppress, save_configurations
from aegis_opt.cli import main


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("id,age,zip\n1,10,01067\n2,,10115\n3,20,01099\n")
    masks = {"soft": {"age": Generalize(ranges=2), "zip": Prefix(2)}, "hard": {"age": Suppress()}}
    save_configurations(Configurations(masks), tmp_path / "masks.json")
    save_configurations(Configurations({"hard": masks["hard"]}), tmp_path / "one.json")
    return tmp_path


def run(*words: str) -> int:
    return main(["mask", "people.csv", *words])


def test_it_writes_the_masked_table(files, capsys):
    assert run("--configurations", "masks.json", "--name", "soft", "-o", "masked.csv") == 0
    assert (files / "masked.csv").read_text() == ('id,age,zip\n1,"[10, 15]",01*\n2,,10*\n3,"[16, 21]",01*\n')
    out = capsys.readouterr().out
    assert "masked by 'soft' (age Generalize(ranges=2), zip Prefix(length=2)): written to masked.csv" in out


def test_json_tells_what_was_done(files, capsys):
    assert run("--configurations", "one.json", "-o", "masked.parquet", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["configuration"] == "hard"
    assert told["masks"] == {"age": {"function": "suppress"}}
    assert told["bytes"] == (files / "masked.parquet").stat().st_size


def test_the_printed_sql_masks_in_the_same_way(files, capsys):
    assert run("--configurations", "masks.json", "--name", "soft", "--sql", "duckdb") == 0
    sql = capsys.readouterr().out
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE people AS FROM read_csv('people.csv', types = {'zip': 'VARCHAR'})")
        rows = connection.execute(sql).fetchall()
    assert rows == [(1, "[10, 15]", "01*"), (2, None, "10*"), (3, "[16, 21]", "01*")]
    assert run("--configurations", "one.json", "--sql", "spark", "--table", "a.b", "--json") == 0
    assert json.loads(capsys.readouterr().out)["sql"].endswith("FROM a.b")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--configurations", "masks.json", "-o", "m.csv"], 1, "choose one with --name (soft, hard)"),
        (["--configurations", "masks.json", "--name", "sof", "-o", "m.csv"], 1, "did you mean 'soft'"),
        (["--configurations", "one.json"], 2, "one of the arguments -o/--output --sql is required"),
        (["--configurations", "one.json", "-o", "m.xlsx"], 2, "must end in .csv"),
        (
            ["--configurations", "one.json", "-o", "m.csv", "--table", "t"],
            2,
            "the table of --sql",
        ),
        (["--configurations", "one.json", "-o", "people.csv/m.csv"], 1, "m.csv cannot be written"),
    ],
)
def test_what_does_not_work_is_told_and_nothing_is_written(files, capsys, words, code, text):
    before = sorted(files.iterdir())
    found: object
    try:
        found = run(*words)
    except SystemExit as leave:
        found = leave.code
    assert found == code
    assert text in capsys.readouterr().err
    assert sorted(files.iterdir()) == before


def test_formulas_are_escaped_where_asked_for(files):
    (files / "people.csv").write_text('id,=cmd,zip\n-1,=1+1,01067\n2,"@x",10115\n+3,-4.5e3,01099\n')
    words = ("--configurations", "zips.json", "-o", "masked.csv")
    save_configurations(Configurations({"c": {"zip": Prefix(2)}}), files / "zips.json")
    assert run(*words) == 0
    assert (files / "masked.csv").read_text() == "id,=cmd,zip\n-1,=1+1,01*\n2,@x,10*\n+3,-4.5e3,01*\n"
    assert run(*words, "--escape-formulas") == 0
    assert (files / "masked.csv").read_text() == "id,'=cmd,zip\n-1,'=1+1,01*\n2,'@x,10*\n+3,-4.5e3,01*\n"


@pytest.mark.parametrize("words", [("-o", "m.parquet"), ("--sql", "duckdb")])
def test_formulas_are_escaped_in_csv_files_only(files, capsys, words):
    with pytest.raises(SystemExit) as leave:
        run("--configurations", "one.json", "--escape-formulas", *words)
    assert leave.value.code == 2
    assert "--escape-formulas: it is for CSV and TSV files" in capsys.readouterr().err
    assert not (files / "m.parquet").exists()
