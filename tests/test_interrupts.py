"""Ctrl-C ends long work inside C libraries: in the library, in every engine, and on the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from aegis_opt._interrupts import interruptible

LIMIT = 2.0 * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # seconds; more where others use the cores

# Three overlapping views that exact search needs minutes for, and linear and convex programs many seconds
WORK = """
    import sys, threading, time
    import numpy as np, aegis_opt as ao
    what, n, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = np.random.default_rng(0)
    table, views = rng.integers(0, 50, (n, k)), []
    for _ in range(3):
        groups = np.unique(rng.integers(0, n // 7, n), return_inverse=True)[1]
        joint = np.zeros((groups.max() + 1, k))
        np.add.at(joint, groups, table)
        views.append(ao.View(groups, joint))
    problem = ao.Problem(views=views, histogram=table.sum(axis=1), prior=rng.random((n, k)) * 50)
    solver, _, option = what.partition(":")
    options = dict(pair.split("=") for pair in option.split(",") if pair)
    print("ready", flush=True)
    try:
        ao.reconstruct(problem, solver, **options)
        print("ended", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise SystemExit(130)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("what", "n", "k"),
    [
        ("integer:norm=l1,engine=cp-sat", 60, 6),
        ("ipf:rounding=nearest", 400, 10),
        ("convex:norm=l1", 1500, 20),
        ("convex:norm=l2", 1500, 20),
        ("convex:norm=kl", 1500, 20),
    ],
)
def test_every_engine_ends_when_it_is_interrupted(what: str, n: int, k: int) -> None:
    """CP-SAT used to swallow Ctrl-C, or to wait for itself in its own signal handler."""
    process = start(WORK, what, str(n), str(k))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - begin
    finally:
        process.kill()
    assert out == "interrupted\n", out + err
    assert process.returncode == 130, err
    assert took < LIMIT


@pytest.mark.parametrize("engine", ["OSQP", "SCS"])
def test_engines_that_listen_themselves_tell_what_they_heard(engine: str) -> None:
    """OSQP and SCS take Ctrl-C for themselves while they iterate, and return as if they had failed."""
    code = """
        import os, signal, sys, threading, time
        import cvxpy as cp, numpy as np
        from aegis_opt.solvers.convex._models import _solve
        rng = np.random.default_rng(0)
        A = rng.random((150, 300))
        x = cp.Variable(300)
        program = cp.Problem(cp.Minimize(rng.random(300) @ x), [A @ x == A.sum(axis=1), x >= 0])
        options = {"eps_abs": 1e-16, "eps_rel": 1e-16} | {
            "OSQP": {"max_iter": 10**8, "polish": False}, "SCS": {"max_iters": 10**8}
        }[sys.argv[1]]
        threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            print(_solve(program, sys.argv[1], options))
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = start(code, engine)
    out, err = process.communicate(timeout=60)
    assert out.splitlines()[-1:] == ["interrupted"], out + err


def test_work_that_ends_gives_its_result_or_its_error() -> None:
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def interrupt_soon() -> None:
    """Send Ctrl-C to this process in a moment."""
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_work_is_stopped_and_its_end_awaited() -> None:
    stopped, ended = threading.Event(), threading.Event()

    def work() -> None:
        stopped.wait()
        time.sleep(0.2)
        ended.set()

    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        interruptible(work, stopped.set)
    assert ended.is_set()


def test_work_that_does_not_stop_is_left_alone() -> None:
    released = threading.Event()
    for stop in (None, lambda: None):
        interrupt_soon()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            interruptible(released.wait, stop, stop_seconds=0.3)
        assert time.monotonic() - begin < LIMIT
    released.set()


def test_other_threads_do_their_work_themselves() -> None:
    found: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: found.append(interruptible(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]
