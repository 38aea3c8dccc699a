"""The results folder: whole files, continued after a kill, refused when something else made it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from full_disk import small_disk
from same_results import assert_same
from stubborn_solvers import Homeless

import aegis_opt as ao
from aegis_opt.errors import OutputError
from aegis_opt.harness import Case, ComparisonSettings, Results, ResultsError, load_results, run_comparison
from aegis_opt.harness import _results as store
from aegis_opt.harness._schema import COLUMNS
from aegis_opt.report import plot_ranking, write_report

EXAMPLE = Case.of(ao.datasets.worked_example())


def run(folder: Path, **options) -> Results:
    arguments = {"solvers": ["ipf", "sampling"], "output": folder} | options
    return run_comparison([EXAMPLE], ComparisonSettings(**arguments))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole results folder; not to be changed."""
    folder = tmp_path_factory.mktemp("results") / "whole"
    run(folder)
    return folder


@pytest.fixture
def done(reference: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoilt."""
    return Path(shutil.copytree(reference, tmp_path / "r"))


def files(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}


def test_what_is_written_is_what_is_read(tmp_path) -> None:
    written, read = run(tmp_path / "r"), load_results(tmp_path / "r")
    for table, columns in COLUMNS.items():
        pd.testing.assert_frame_equal(getattr(written, table), getattr(read, table))
        assert list(getattr(read, table)) == list(columns)
    assert read.meta["plan"]["variants"] == ["ipf", "sampling"]
    assert read.meta["machine"]["cpu"]
    assert read.meta["software"]["aegis-opt"]
    assert read.meta["datasets"]["worked-example"]["records"] == 100


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", [1, 7, 15])
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path, reference, at) -> None:
    def kill(what: str, done: int, total: int) -> None:
        if what.startswith("worked-example") and done == at:
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "r", progress=kill)
    before = files(tmp_path / "r")
    assert units(before) == at
    ran = []
    whole = run(tmp_path / "r", progress=lambda what, done, total: ran.append(done))
    after = files(tmp_path / "r")
    assert {name: after[name] for name in before} == before
    assert ran[-1] == units(after)
    assert_same(whole, load_results(reference))


def units(found: dict[str, int]) -> int:
    """Units of work that are done; an advisor run has a second file, its ranking."""
    return sum(not name.startswith("rankings") for name in found)


def test_a_run_that_was_killed_between_its_two_files_is_run_again(tmp_path, reference, monkeypatch) -> None:
    write = store.write_parquet

    def kill(path: Path, table: str, rows: list) -> None:
        if table == "advice":
            raise Killed
        write(path, table, rows)

    monkeypatch.setattr(store, "write_parquet", kill)
    with pytest.raises(Killed):
        run(tmp_path / "r")
    assert len(list((tmp_path / "r" / "rankings").iterdir())) == 1
    assert load_results(tmp_path / "r").rankings.empty
    monkeypatch.undo()
    assert_same(run(tmp_path / "r"), load_results(reference))


def test_a_ranking_is_the_advisors_beside_the_truth(tmp_path) -> None:
    data = ao.datasets.clinic(200)
    chosen = ComparisonSettings(solvers=["ipf", "random"], measures=["mi", "g3"], output=tmp_path / "r")
    results = run_comparison([Case.of(data)], chosen)
    summary = ao.summarize(data.frame, data.label, data.configurations, histograms=True)
    for measure in ("mi", "g3"):
        rows = results.rankings.query("measure == @measure and scope == 'pooled' and histogram")
        advised = ao.advise(summary, measure).ranking
        assert rows["configuration"].iloc[0] == advised["configuration"].iloc[0]
        both = rows.merge(advised, on="configuration", suffixes=("", "_advised"))
        assert len(both) == len(rows) == len(data.configurations)
        for column in ("rank", "pud", "pud_low", "pud_high"):
            pd.testing.assert_series_equal(both[column], both[f"{column}_advised"], check_names=False)
        slack = 1e-9 * rows["pud_true"].max()
        assert (rows["pud_low"] <= rows["pud_true"] + slack).all()
        assert (rows["pud_true"] <= rows["pud_high"] + slack).all()
    assert set(results.rankings["variant"]) == {"ipf"}  # a random choice has no order
    undecided = results.advice.query("variant == 'ipf' and scope == 'single'")
    assert set(undecided["status"]) == {"no winner"}
    assert len(results.rankings.query("scope == 'single'")) == len(undecided) * len(data.configurations)


def test_a_ranking_that_is_missing_is_named_and_made_again(done) -> None:
    whole = load_results(done)
    victim = sorted((done / "rankings").glob("*.parquet"))[3]
    victim.unlink()
    with pytest.raises(ResultsError, match=f"{victim.name}: is missing: run the comparison again"):
        load_results(done)
    assert_same(whole, run(done))


def test_a_finished_run_is_not_run_again_and_more_can_be_added(done) -> None:
    before = files(done)
    more = run(done, solvers=["ipf+controlled", "ipf"], measures=["mi"])
    after = files(done)
    assert {name: after[name] for name in before} == before
    assert set(more.advice["variant"]) == {"ipf", "sampling", "ipf+controlled"}
    assert more.meta["plan"]["variants"] == ["ipf", "sampling", "ipf+controlled"]
    assert not more.advice.duplicated(["variant", "scope", "histogram", "seed", "measure"]).any()


def test_what_was_skipped_is_tried_again(tmp_path, monkeypatch) -> None:
    first = run(tmp_path / "r", solvers=[Homeless(limit=1)])
    assert set(first.advice["status"]) == {"skipped"}
    monkeypatch.setattr(Homeless, "refuse", lambda self: None)
    again = run(tmp_path / "r", solvers=[Homeless(limit=1)])
    assert len(again.advice) == len(first.advice)
    assert not (again.advice["status"] == "skipped").any()
    assert not list((tmp_path / "r").rglob("*.skipped.parquet"))


@pytest.mark.parametrize("table", COLUMNS)
def test_a_file_that_was_cut_short_is_named(done, table) -> None:
    victim = sorted((done / table).glob("*.parquet"))[2]
    victim.write_bytes(victim.read_bytes()[:-200])
    with pytest.raises(ResultsError, match=f"{victim.name}: cut short.*delete it and run"):
        load_results(done)
    victim.unlink()
    again = run(done)
    assert (len(again.advice), len(again.reconstructions), len(again.rankings)) == (8, 8, 8)


def test_a_damaged_byte_is_told_and_harms_no_other_folder(done, reference) -> None:
    """Damaged names of columns are part of DuckDB's message, which is then no text."""
    victim = next((done / "rankings").glob("*.parquet"))
    whole = victim.read_bytes()
    first = whole.index(b"configuration", whole.index(b"schema"))
    for place in range(first, first + 13, 4):
        victim.write_bytes(whole[:place] + b"\xb7" + whole[place + 1 :])
        with pytest.raises(ResultsError, match=f"{victim.name}: cut short or no results file"):
            load_results(done)
    load_results(reference)


@pytest.mark.parametrize("table", list(COLUMNS))
def test_a_pipe_among_the_results_is_refused_and_not_waited_for(done, table) -> None:
    file = next((done / table).glob("*.parquet"))
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ResultsError, match=f"{file.name}: is no regular file: delete it and run"):
        load_results(done)
    with pytest.raises(ResultsError, match=f"{file.name}: is no regular file"):
        run(done)


def test_a_file_of_something_else_is_named(done) -> None:
    import duckdb

    stranger = done / "advice" / "stranger.parquet"
    duckdb.sql("SELECT 1 AS one").write_parquet(str(stranger))
    with pytest.raises(ResultsError, match=r"stranger\.parquet: cut short or no results file"):
        load_results(done)


@pytest.mark.parametrize("table", COLUMNS)
def test_a_file_that_cannot_be_read_stops_a_run_before_its_work(done, table) -> None:
    victim = sorted((done / table).glob("*.parquet"))[2]
    victim.write_bytes(victim.read_bytes()[:-200])
    before, told = files(done), []
    with pytest.raises(ResultsError, match=f"{victim.name}: cut short.*delete it and run"):
        run(done, seeds=[0, 1], progress=lambda *step: told.append(step))
    assert told == []
    assert files(done) == before


@pytest.mark.parametrize(
    ("table", "column"), [("advice", "regret"), ("reconstructions", "tvd"), ("rankings", "rank")]
)
def test_text_where_numbers_belong_is_named(done, table, column) -> None:
    import duckdb

    victim = sorted((done / table).glob("*.parquet"))[2]
    rows = duckdb.read_parquet(str(victim)).df()
    rows[column] = "many"
    duckdb.from_df(rows).write_parquet(str(victim))
    for action in (load_results, run):
        with pytest.raises(ResultsError, match=f"{victim.name}: cut short or no results file"):
            action(done)


def test_half_written_files_of_a_killed_run_are_removed_when_nobody_else_writes(done) -> None:
    fcntl = pytest.importorskip("fcntl")
    key = min((done / "advice").iterdir()).name.partition(".")[0]
    names = dict.fromkeys(COLUMNS, f".{key}-a1b2c3d4.parquet")
    names["advice"] = f".{key}.skipped-a1b2c3d4.parquet"
    left = [done / table / name for table, name in names.items()]
    strange = done / "advice" / ".mine.parquet"
    for file in (*left, strange):
        file.write_bytes(b"PAR1")
    other = os.open(done, os.O_RDONLY)  # another run that is at work
    fcntl.flock(other, fcntl.LOCK_SH)
    run(done)
    assert all(file.exists() for file in left)
    os.close(other)
    run(done)
    assert not any(file.exists() for file in left)
    assert strange.exists()


def test_two_runs_may_write_at_once(tmp_path, reference) -> None:
    """The second comes and goes while the first has written a part."""
    seen: list[object] = []

    def interrupt(what: str, done: int, total: int) -> None:
        if what.startswith("worked-example") and not seen:
            seen.append(done)
            run(tmp_path / "r")

    assert_same(run(tmp_path / "r", progress=interrupt), load_results(reference))
    assert seen == [1]


def test_a_folder_that_cannot_be_written_is_told_before_the_scan(tmp_path) -> None:
    (tmp_path / "file").write_text("precious")
    told = []
    for place in (tmp_path / "file" / "r", Path("/proc/nowhere"), tmp_path / ("long" * 100)):
        with pytest.raises(ao.errors.OutputError, match=r"cannot be written: .*; choose another place"):
            run(place, progress=lambda *step: told.append(step))
    assert told == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("part", "change", "text"),
    [
        ("datasets", {"mixed": None}, "data set 'mixed'"),
        ("datasets", {"mixed": {"fingerprint": "x"}}, "'records' of data set 'mixed'"),
        ("plan", {"variants": 3}, "'variants' of 'plan'"),
        ("plan", {"measures": [["mi"]]}, "'measures' of 'plan'"),
        ("settings", {"time_limit": "long"}, "'time_limit' of 'settings'"),
        ("machine", {"cores": "many"}, "'cores' of 'machine'"),
    ],
)
def test_facts_of_the_wrong_type_are_named(done, part, change, text) -> None:
    path = done / "meta.json"
    meta = json.loads(path.read_text())
    meta[part] |= change
    path.write_text(json.dumps(meta))
    for action in (load_results, run):
        with pytest.raises(ResultsError, match=f"meta.json: {text} is missing or damaged: get a whole copy"):
            action(done)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 1}, "results of version 1, while this aegis-opt reads version 2"),
        ({"version": 3}, "results of version 3, while this aegis-opt reads version 2"),
        ({"format": "cake"}, 'its "format" is not "aegis-opt-results"'),
        ({"datasets": None}, "'datasets' is missing"),
    ],
)
def test_a_folder_of_another_version_or_kind_is_refused(done, change, text) -> None:
    path = done / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for action in (load_results, run):
        with pytest.raises(ResultsError, match=f"meta.json: {text}"):
            action(done)


def test_meta_data_that_were_cut_short_are_named(done) -> None:
    path = done / "meta.json"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ResultsError, match=r"meta.json: cannot be read"):
        load_results(done)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ("[" * 100_000, "nested deeper"),
        ('{"version": ' + "9" * 5000 + "}", "thousands of digits"),
    ],
    ids=lambda text: text[:20],
)
def test_meta_data_that_would_break_their_reader_are_refused(done, text, message) -> None:
    (done / "meta.json").write_text(text)
    with pytest.raises(ResultsError, match=message):
        load_results(done)


def test_a_plan_of_too_many_runs_is_refused(done) -> None:
    path = done / "meta.json"
    meta = json.loads(path.read_text())
    meta["plan"] |= {"variants": [f"v{i}" for i in range(2000)], "seeds": list(range(2000))}
    path.write_text(json.dumps(meta))
    with pytest.raises(ResultsError, match="'plan', which has more than 5,000,000 runs"):
        load_results(done)


@pytest.mark.parametrize(
    ("table", "change", "message"),
    [
        ("advice", "REPLACE ('nobody' AS best)", "advice: the winner 'nobody' is not in its ranking"),
        ("advice", "REPLACE ('[1]' AS status)", r"advice: the status '\[1\]' is none that a run ends with"),
        ("reconstructions", "REPLACE ('' AS status)", "reconstructions: the status '' is none"),
        ("advice", "REPLACE (NULL::VARCHAR AS status)", "advice: 'status' is missing in some row"),
        ("rankings", "REPLACE ('Infinity'::DOUBLE AS pud)", "rankings: 'pud' is infinite in some row"),
        ("advice", "REPLACE (-1e308 AS pud_error)", "'pud_error' is beyond 1e.100 in some row"),
        ("reconstructions", "REPLACE (NULL::DOUBLE AS tvd)", "'tvd' is not between 0 and 1"),
        ("reconstructions", "REPLACE (1.5 AS tvd)", "'tvd' is not between 0 and 1"),
        ("advice", "REPLACE ('NaN'::DOUBLE AS pud_true_min)", "the true deviation is missing"),
        ("advice", "REPLACE (1e12 AS seconds_total)", "a time of more than 1e.09 seconds"),
    ],
)
def test_rows_that_no_comparison_writes_are_refused(done, table, change, message) -> None:
    with duckdb.connect() as connection:
        for path in (done / table).glob("*.parquet"):
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT * {change} FROM read_parquet('{path}')")
            connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    with pytest.raises(ResultsError, match=message):
        load_results(done)


def test_a_table_that_says_the_same_a_billion_times_is_not_laid_out(done, monkeypatch) -> None:
    monkeypatch.setattr(store, "MOST_TEXT", 1000)
    with pytest.raises(ResultsError, match="bytes of text; at most 5,000,000 and 1,000 are read"):
        load_results(done)


def test_results_that_cannot_be_compared_are_not_mixed(done) -> None:
    with pytest.raises(ResultsError, match="was made with replicates=1, not 3"):
        run(done, replicates=3)
    other = Case.of(ao.datasets.clinic(200), name="worked-example")
    with pytest.raises(ResultsError, match="another data set 'worked-example'"):
        run_comparison([other], ComparisonSettings(output=done))
    path = done / "meta.json"
    path.write_text(path.read_text().replace(f'"aegis-opt": "{ao_version()}"', '"aegis-opt": "0.0.1"'))
    with pytest.raises(ResultsError, match=r"was made by aegis-opt 0.0.1"):
        run(done)


def test_a_folder_that_holds_no_results_is_left_alone(tmp_path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(ResultsError, match="is not empty and holds no results"):
        run(tmp_path)
    with pytest.raises(ResultsError, match="is a file"):
        run(tmp_path / "thesis.tex")
    with pytest.raises(ResultsError, match="holds no results"):
        load_results(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def ao_version() -> str:
    from importlib.metadata import version

    return version("aegis-opt")


def test_a_full_disk_is_told_and_the_comparison_goes_on_where_there_is_room(reference) -> None:
    """DuckDB's own error used to come through."""
    with small_disk("24k") as folder:
        with pytest.raises(OutputError, match=r"cannot be written: No space left on device; free some space"):
            run(folder / "r")
        assert not [path for path in folder.rglob(".*") if path.is_file()]
        whole = shutil.copytree(folder / "r", folder.parent / f"{folder.name}-more")
    try:
        assert_same(run(whole), load_results(reference))
    finally:
        shutil.rmtree(whole)


def test_pages_and_pictures_are_whole_or_absent_on_a_full_disk(reference) -> None:
    clinic = ao.datasets.clinic(200)
    advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations))
    with small_disk("8k") as folder:
        full = r"cannot be written: No space left on device; free some space"
        with pytest.raises(OutputError, match=rf"report\.html {full}"):
            write_report(reference, folder / "report.html")
        with pytest.raises(OutputError, match=rf"ranking\.png {full}"):
            plot_ranking(advice, folder / "ranking.png")
        with pytest.raises(OutputError, match=rf"masks\.json {full}"):
            ao.save_configurations(
                ao.generate_configurations(clinic.frame, label="health", n=100), folder / "masks.json"
            )
        assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["r[1]", "r*", "~", "http:"])
def test_a_folder_may_be_called_anything(tmp_path, monkeypatch, name, reference) -> None:
    """A pattern, the home folder or an address to DuckDB."""
    monkeypatch.chdir(tmp_path)
    run(f"./{name}")
    assert_same(load_results(f"./{name}"), load_results(reference))
    assert [path.name for path in tmp_path.iterdir()] == [name]
