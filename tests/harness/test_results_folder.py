"""The results folder: whole files, continued after a kill, refused when something else made it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from stubborn_solvers import Homeless

import aegis_opt as ao
from aegis_opt.harness import Case, Results, ResultsError, load_results, run_comparison

EXAMPLE = Case.of(ao.datasets.worked_example())


def run(folder: Path, **options) -> Results:
    arguments = {"solvers": ["ipf", "sampling"], "measures": ["mi", "g3"], "output": folder} | options
    return run_comparison([EXAMPLE], **arguments)


def files(folder: Path) -> dict[str, int]:
    return {str(file.relative_to(folder)): file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}


def test_what_is_written_is_what_is_read(tmp_path) -> None:
    written, read = run(tmp_path / "r"), load_results(tmp_path / "r")
    pd.testing.assert_frame_equal(written.advice, read.advice)
    pd.testing.assert_frame_equal(written.reconstructions, read.reconstructions)
    assert read.meta["plan"]["variants"] == ["ipf", "sampling"]
    assert read.meta["machine"]["cpu"]
    assert read.meta["software"]["aegis-opt"]
    assert read.meta["datasets"]["worked-example"]["records"] == 100


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", [1, 7, 15])
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path, at) -> None:
    def kill(what: str, done: int, total: int) -> None:
        if what.startswith("worked-example") and done == at:
            raise Killed

    with pytest.raises(Killed):
        run(tmp_path / "r", progress=kill)
    before = files(tmp_path / "r")
    assert len(before) == at
    ran = []
    whole = run(tmp_path / "r", progress=lambda what, done, total: ran.append(done))
    after = files(tmp_path / "r")
    assert {name: after[name] for name in before} == before
    assert ran[-1] == len(after)
    reference = run(tmp_path / "other")
    columns = ["variant", "scope", "histogram", "seed", "measure", "best", "regret", "status"]
    pd.testing.assert_frame_equal(whole.advice[columns], reference.advice[columns])
    columns = ["variant", "scope", "histogram", "attribute", "configuration", "tvd", "objective", "status"]
    pd.testing.assert_frame_equal(whole.reconstructions[columns], reference.reconstructions[columns])


def test_a_finished_run_is_not_run_again_and_more_can_be_added(tmp_path) -> None:
    run(tmp_path / "r")
    before = files(tmp_path / "r")
    more = run(tmp_path / "r", solvers=["ipf+controlled", "ipf"], measures=["mi"])
    after = files(tmp_path / "r")
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


def test_a_file_that_was_cut_short_is_named(tmp_path) -> None:
    run(tmp_path / "r")
    victim = sorted((tmp_path / "r" / "advice").glob("*.parquet"))[2]
    victim.write_bytes(victim.read_bytes()[:-200])
    with pytest.raises(ResultsError, match=f"{victim.name}: cut short.*delete it and run"):
        load_results(tmp_path / "r")
    victim.unlink()
    assert len(run(tmp_path / "r").advice) == 16


def test_a_file_of_something_else_is_named(tmp_path) -> None:
    import duckdb

    run(tmp_path / "r")
    stranger = tmp_path / "r" / "advice" / "stranger.parquet"
    duckdb.sql("SELECT 1 AS one").write_parquet(str(stranger))
    with pytest.raises(ResultsError, match=r"stranger\.parquet: cut short or no results file"):
        load_results(tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, "results of version 2, while this aegis-opt reads version 1"),
        ({"format": "cake"}, 'its "format" is not "aegis-opt-results"'),
        ({"datasets": None}, "'datasets' is missing"),
    ],
)
def test_a_folder_of_another_version_or_kind_is_refused(tmp_path, change, text) -> None:
    run(tmp_path / "r")
    path = tmp_path / "r" / "meta.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for action in (load_results, run):
        with pytest.raises(ResultsError, match=f"meta.json: {text}"):
            action(tmp_path / "r")


def test_meta_data_that_were_cut_short_are_named(tmp_path) -> None:
    run(tmp_path / "r")
    path = tmp_path / "r" / "meta.json"
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ResultsError, match=r"meta.json: cannot be read"):
        load_results(tmp_path / "r")


def test_results_that_cannot_be_compared_are_not_mixed(tmp_path) -> None:
    run(tmp_path / "r")
    with pytest.raises(ResultsError, match="was made with replicates=1, not 3"):
        run(tmp_path / "r", replicates=3)
    other = Case.of(ao.datasets.clinic(200), name="worked-example")
    with pytest.raises(ResultsError, match="another data set 'worked-example'"):
        run_comparison([other], ["ipf"], ["mi"], output=tmp_path / "r")
    path = tmp_path / "r" / "meta.json"
    path.write_text(path.read_text().replace(f'"aegis-opt": "{ao_version()}"', '"aegis-opt": "0.0.1"'))
    with pytest.raises(ResultsError, match=r"was made by aegis-opt 0.0.1"):
        run(tmp_path / "r")


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
