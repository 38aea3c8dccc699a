"""Time limits: what takes too long is stopped and is a row; what dies is a row too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from same_results import assert_same
from stubborn_solvers import LateRiser, Leaver, Sleeper, Stubborn, Suicidal

import aegis_opt as ao
from aegis_opt.harness import Case, ComparisonSettings, Results, run_comparison
from aegis_opt.harness._processes import Worker
from aegis_opt.harness._units import PeakMemory

PEOPLE = pd.DataFrame({"sex": ["m", "f"] * 30, "age": range(60), "health": ["good", "good", "poor"] * 20})
MASKS = {"ten": {"sex": ao.Suppress(), "age": ao.Bucketize(width=10)}, "none": {"age": ao.Suppress()}}
CASE = Case.of(PEOPLE, "health", MASKS)


def run(**settings) -> Results:
    return run_comparison([CASE], ComparisonSettings(**settings))


@pytest.fixture
def started(monkeypatch) -> list[subprocess.Popen]:
    """The worker processes that a test starts."""
    found: list[subprocess.Popen] = []
    start = Worker._start

    def note(worker: Worker) -> None:
        start(worker)
        found.append(worker.process)

    monkeypatch.setattr(Worker, "_start", note)
    return found


def test_what_does_not_come_back_is_a_row_and_the_rest_goes_on() -> None:
    expected = {
        "sleeper": ("timed out", "stopped after 1.5 seconds"),
        "suicidal": ("failed", "the process died (signal 9)"),
        "leaver": ("failed", "the process died (exit code 2)"),
    }
    solvers = [Sleeper(limit=60), Suicidal(limit=60), Leaver(limit=60), "random"]
    results = run(solvers=solvers, scopes=["pooled"], histograms=[True], time_limit=1.5)
    for name, (status, text) in expected.items():
        found = results.reconstructions[results.reconstructions["solver"] == name]
        lost = found["n_values"] >= 60
        assert lost.any()
        assert not lost.all()
        assert set(found.loc[lost, "status"]) == {status}
        assert set(found.loc[~lost, "status"]) == {"optimal"}
        assert set(found.loc[lost, "error"]) == {text}
    advice = results.advice.set_index("solver")
    assert advice["status"].to_dict() == {name: row[0] for name, row in expected.items()} | {"random": "ok"}
    assert advice.loc[list(expected), "seconds_total"].isna().all()
    assert results.meta["settings"]["time_limit"] == 1.5


def test_workers_limits_and_a_folder_change_nothing(tmp_path: Path, started: list[subprocess.Popen]) -> None:
    """Every row, also of what fails in its first steps, is that of a run in this process and in memory."""
    solvers = ["ipf", "ipf+independent", "sampling", "random", "humanleague-integerise", Stubborn(limit=1)]
    options = {"solvers": solvers, "scopes": ["single"], "seeds": [0, 1]}
    plain = run(**options)
    assert {"ok", "no winner", "failed", "skipped"} == set(plain.advice["status"])
    for other in ({"output": tmp_path / "one"}, {"n_jobs": 2, "time_limit": 60, "output": tmp_path / "two"}):
        assert_same(plain, run(**options, **other))
    assert len(started) == 2
    assert not any(process.poll() is None for process in started)


def test_without_an_output_folder_nothing_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[object] = []
    for time_limit in (None, 60):
        run(scopes=["pooled"], time_limit=time_limit, progress=lambda *_: seen.extend(tmp_path.iterdir()))
    assert seen == []


def test_a_process_that_dies_before_the_work_begins_is_replaced(tmp_path: Path) -> None:
    solver = LateRiser(marker=str(tmp_path / "woken"))
    results = run(solvers=[solver], scopes=["pooled"], histograms=[True], tables=["advice"], time_limit=60)
    assert (tmp_path / "woken").exists()
    assert results.advice["status"].tolist() == ["ok"]


def test_a_solver_that_hangs_everywhere_is_waited_for_twice_and_not_for_every_piece(
    monkeypatch, started: list[subprocess.Popen]
) -> None:
    monkeypatch.setattr("aegis_opt.harness._processes._START", 1.0)
    found = run(solvers=[Sleeper(limit=1)], measures=["mi", "g3"], time_limit=0.5)
    assert len(started) == 2
    for rows in (found.advice, found.reconstructions):
        assert len(rows) >= 8
        assert set(rows["status"]) == {"timed out"}
        assert set(rows["error"]) == {
            "stopped after 1.5 seconds, before the work: while its libraries were loaded and two tiny "
            "problems solved"
        }


class Stopped(BaseException):
    pass


def test_no_process_is_left_when_a_run_is_stopped(started: list[subprocess.Popen]) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        run(solvers=["ipf", Sleeper(limit=60)], scopes=["pooled"], n_jobs=2, progress=stop)
    assert len(started) == 2
    assert not any(process.poll() is None for process in started)


def test_ctrl_c_while_the_threads_of_the_workers_start_ends_them(
    monkeypatch, started: list[subprocess.Popen]
) -> None:
    """They went on with the whole comparison, and Python waited for them before it ended."""
    drivers: list[threading.Thread] = []
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        if "drive" in thread.name:
            drivers.append(thread)
            if len(drivers) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(solvers=[Sleeper(limit=2)], n_jobs=2)
    assert len(drivers) == 2
    assert not any(driver.is_alive() for driver in drivers)
    assert all(driver.daemon for driver in drivers)  # where one is interrupted before it says that it runs
    assert all(process.poll() is not None for process in started)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs a system that lists processes")
def test_the_processes_of_a_killed_run_end_with_it() -> None:
    here = Path(__file__).parent
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from stubborn_solvers import Sleeper\n"
        "from aegis_opt.harness import compare\n"
        "from aegis_opt.datasets import worked_example\n"
        "compare(worked_example(), solvers=[Sleeper(limit=8)], time_limit=600)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(here)])

    def workers() -> list[str]:
        tasks = Path(f"/proc/{parent.pid}/task").glob("*/children")
        return [pid for task in tasks for pid in task.read_text().split()]

    try:
        _wait(lambda: bool(workers()))
        [worker] = workers()
        time.sleep(1)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    _wait(lambda: not Path(f"/proc/{worker}").exists())


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


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
