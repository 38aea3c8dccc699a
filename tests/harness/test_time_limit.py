"""Time limits: what takes too long is stopped and is a row; what dies is a row too."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest
from stubborn_solvers import LateRiser, Leaver, Sleeper, Stubborn, Suicidal

import aegis_opt as ao
from aegis_opt.harness import Case, run_comparison
from aegis_opt.harness._child import Child
from aegis_opt.harness._jobfile import job_file
from aegis_opt.harness._memory import PeakMemory
from aegis_opt.harness._plan import Unit
from aegis_opt.harness._schema import COLUMNS, NOISE_COLUMNS
from aegis_opt.harness._truth import prepare
from aegis_opt.harness._variant import Variant
from aegis_opt.harness._work import Job

PEOPLE = pd.DataFrame({"sex": ["m", "f"] * 30, "age": range(60), "health": ["good", "good", "poor"] * 20})
MASKS = {"ten": {"sex": ao.Suppress(), "age": ao.Bucketize(width=10)}, "none": {"age": ao.Suppress()}}
CASE = Case.of(PEOPLE, "health", MASKS)


@pytest.mark.parametrize(
    ("solver", "status", "text"),
    [
        (Sleeper(limit=60), "timed out", "stopped after 1.5 seconds"),
        (Suicidal(limit=60), "failed", r"the process died \(signal 9\)"),
        (Leaver(limit=60), "failed", r"the process died \(exit code 2\)"),
    ],
)
def test_what_does_not_come_back_is_a_row_and_the_rest_goes_on(solver, status, text) -> None:
    results = run_comparison(
        [CASE], [solver, "random"], ["mi"], scopes=["pooled"], histograms=[True], time_limit=1.5
    )
    found = results.reconstructions
    lost = found["n_values"] >= 60
    assert lost.any()
    assert not lost.all()
    assert set(found.loc[lost, "status"]) == {status}
    assert set(found.loc[~lost, "status"]) == {"optimal"}
    assert found.loc[lost, "error"].str.fullmatch(text).all()
    advice = results.advice.set_index("solver")
    assert advice.loc[solver.name, "status"] == status
    assert pd.isna(advice.loc[solver.name, "seconds_total"])
    assert advice.loc["random", "status"] == "ok"
    assert results.meta["settings"]["time_limit"] == 1.5


def test_a_generous_limit_changes_nothing_whatever_the_number_of_workers() -> None:
    """Every row, also of what fails in its first steps, is that of a run in this process."""
    solvers = ["ipf", "ipf+independent", "sampling", "random", "humanleague-integerise", Stubborn(limit=1)]
    options = {"scopes": ["single"], "seeds": [0, 1]}
    plain = run_comparison([CASE], solvers, ["mi"], **options)
    assert {"ok", "no winner", "failed", "skipped"} == set(plain.advice["status"])
    for n_jobs in (1, 2):
        limited = run_comparison([CASE], solvers, ["mi"], n_jobs=n_jobs, time_limit=60, **options)
        for table in COLUMNS:
            found = [
                getattr(results, table).drop(columns=list(NOISE_COLUMNS), errors="ignore")
                for results in (plain, limited)
            ]
            pd.testing.assert_frame_equal(*found, check_exact=True)


def test_a_process_that_dies_before_the_work_begins_is_replaced(tmp_path: Path) -> None:
    solver = LateRiser(marker=str(tmp_path / "woken"))
    results = run_comparison(
        [CASE], [solver], ["mi"], scopes=["pooled"], histograms=[True], tables=["advice"], time_limit=60
    )
    assert (tmp_path / "woken").exists()
    assert results.advice["status"].tolist() == ["ok"]


def test_a_solver_that_hangs_everywhere_is_waited_for_twice_and_not_for_every_piece(monkeypatch) -> None:
    monkeypatch.setattr("aegis_opt.harness._child._START", 4.0)
    started = []
    start = Child.__init__
    monkeypatch.setattr(Child, "__init__", lambda self, job: (started.append(job), start(self, job))[1])
    found = run_comparison([CASE], [Sleeper(limit=1)], ["mi", "g3"], time_limit=0.5)
    assert len(started) == 2
    for rows in (found.advice, found.reconstructions):
        assert len(rows) >= 8
        assert set(rows["status"]) == {"timed out"}
        assert set(rows["error"]) == {
            "stopped after 4.5 seconds, before the work: while its libraries were loaded and two tiny "
            "problems solved"
        }


def test_a_child_leaves_when_its_job_is_over() -> None:
    data, measure = prepare(CASE), ao.get_measure("mi")
    truth = {(data.name, "mi"): data.true_deviation(measure)}
    with job_file(Job({data.name: data}, {"mi": measure}, truth, 1, None)) as path:
        child = Child(path)
        found = child.call(Unit(data.name, Variant("random"), "pooled", True, 0, measure="mi"), None, 60)
        assert found.row["status"] == "ok"
        assert child.alive
    end = time.monotonic() + 60
    while child.alive and time.monotonic() < end:
        time.sleep(0.1)
    assert not child.alive
    child.stop()


def test_the_job_of_a_killed_process_is_removed_and_that_of_a_living_one_is_not(
    tmp_path: Path, monkeypatch
) -> None:
    pytest.importorskip("fcntl")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    job = Job({}, {}, {}, 1, None)
    left = tmp_path / "aegis-opt-job-left"
    left.mkdir()
    (left / "job.pickle").write_bytes(b"raw tables")
    others = [tmp_path / "aegis-opt-job-new", tmp_path / "else"]  # one is not written yet
    for other in others:
        other.mkdir()
    with job_file(job) as first:
        assert not left.exists()
        with job_file(job) as second:
            assert first.exists()
            assert second.exists()
    assert sorted(tmp_path.iterdir()) == others


def test_peak_memory_sees_what_was_freed_again() -> None:
    memory = PeakMemory()
    before = memory.megabytes()
    block = bytearray(64 << 20)
    del block
    if before is None:  # a system that cannot reset its mark
        assert memory.megabytes() is None
    else:
        assert before < 16
        assert memory.megabytes() >= 60
