"""A child process that can be stopped in the middle of its work: how a time limit is kept.

A solver inside a C library cannot be interrupted from Python, and a pool of workers cannot lose one member
without losing the others. So work with a time limit goes, one piece at a time, to a child process that is
killed when it takes too long; the next piece gets a new one.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from aegis_opt.harness.jobfile import load_job
from aegis_opt.harness.plan import Unit
from aegis_opt.harness.schema import FAILED, TIMED_OUT, Row
from aegis_opt.harness.work import execute, warm_up

_START = 60.0  # seconds that a child has for its imports, which are not part of the work
_here = threading.local()


class Child:
    """The parent's side of a child process."""

    def __init__(self, job: Path) -> None:
        self.job = job
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from aegis_opt.harness.child import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        atexit.register(self.stop)
        self._send((sys.path, str(job)))

    def call(self, unit: Unit, piece: int | None, time_limit: float) -> Row:
        """Do one piece of work; return its row, or only status and error where it did not end well."""
        try:
            self._send((unit, piece))
            self._receive(_START + time_limit)
            row: Row = self._receive(time_limit)
            return row
        except TimeoutError:
            return {"status": TIMED_OUT, "error": f"stopped after {time_limit:g} seconds"}
        except (EOFError, BrokenPipeError):
            self._process.wait()
            cause = self._death()
            self.stop()
            return {"status": FAILED, "error": cause}
        except BaseException:
            self.stop()
            raise

    @property
    def alive(self) -> bool:
        """Whether it can take more work."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process, at once."""
        atexit.unregister(self.stop)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            with suppress(BrokenPipeError):  # what was not sent has no reader any more
                stream.close()  # type: ignore[union-attr]

    def _send(self, message: Any) -> None:
        pickle.dump(message, self._process.stdin)  # type: ignore[arg-type]
        self._process.stdin.flush()  # type: ignore[union-attr]

    def _receive(self, seconds: float) -> Any:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            return pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError):
            if not late.is_set():
                raise EOFError from None
            self.stop()
            raise TimeoutError from None
        finally:
            timer.cancel()

    def _death(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the process died ({how})" + (f": {lines[-1]}" if lines else "")


def execute_within(job: Path, unit: Unit, piece: int | None, time_limit: float) -> Row:
    """Run one piece of work in this thread's child process, which is made where there is none."""
    child: Child | None = getattr(_here, "child", None)
    if child is None or child.job != job or not child.alive:
        close_child()
        child = _here.child = Child(job)
    return child.call(unit, piece, time_limit)


def close_child() -> None:
    """End this thread's child process, if there is one."""
    child: Child | None = getattr(_here, "child", None)
    if child is not None:
        child.stop()
        del _here.child


def serve() -> None:
    """Run the child's side: take pieces of work from stdin and answer on stdout, until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    requests: SimpleQueue[Any] = SimpleQueue()
    sys.path[:], job_file = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    job = load_job(Path(job_file))

    def answer(message: Any) -> None:
        pickle.dump(message, answers)
        answers.flush()

    while True:
        unit, piece = requests.get()
        warm_up(unit.variant)
        answer("ready")
        answer(execute(job, unit, piece))


def _read(requests: SimpleQueue[Any]) -> None:
    """Queue what comes in; end the process, whatever it is doing, when the parent is gone."""
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()  # the parent reads it
        os._exit(1)
