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
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from aegis_opt.harness._jobfile import load_job
from aegis_opt.harness._plan import Unit
from aegis_opt.harness._schema import FAILED, TIMED_OUT, Finding
from aegis_opt.harness._variant import Variant
from aegis_opt.harness._work import execute, warm_up

_START = 60.0  # seconds that a child has for its imports, which are not part of the work
_STARTS = 2  # children that may die or hang before they are ready, until that is taken for the solver's doing
_END = 5.0  # seconds that a child which has closed its pipe has to end by itself
_IDLE = 2.0  # seconds after which a child without work looks whether there is still a job
_LENGTH = struct.Struct("<Q")
_here = threading.local()


class Child:
    """The parent's side of a child process."""

    def __init__(self, job: Path) -> None:
        self.job = job
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from aegis_opt.harness._child import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        atexit.register(self.stop)
        self.ready = False  # for the piece of work that it has
        with suppress(BrokenPipeError):  # a child that died at once says so when it gets work
            self._send((sys.path, str(job)))

    def call(self, unit: Unit, piece: int | None, time_limit: float) -> Finding:
        """Do one piece of work; where it does not end well, only status and error are known."""
        self.ready = False
        try:
            self._send((unit, piece))
            self._receive(_START + time_limit)
            self.ready = True
            found: Finding = self._receive(time_limit)
            return found
        except TimeoutError:
            when = f"stopped after {time_limit:g} seconds"
            if not self.ready:
                when = (
                    f"stopped after {_START + time_limit:g} seconds, before the work: while its libraries "
                    "were loaded and two tiny problems solved"
                )
            return Finding({"status": TIMED_OUT, "error": when})
        except (EOFError, BrokenPipeError):
            try:
                self._process.wait(_END)
            except subprocess.TimeoutExpired:  # it has closed its pipe and lives
                self._process.kill()
                self._process.wait()
            cause = self._death()
            self.stop()
            return Finding({"status": FAILED, "error": cause})
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
        _write(self._process.stdin, message)  # type: ignore[arg-type]

    def _receive(self, seconds: float) -> Any:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(seconds, end)
        timer.start()
        try:
            message = _read(self._process.stdout)  # type: ignore[arg-type]
        except EOFError:
            if not late.is_set():
                raise
            self.stop()
            raise TimeoutError from None
        finally:
            timer.cancel()
        timer.join()
        if late.is_set():  # the answer came with the bell: it counts, but the next piece needs another child
            self.stop()
        return message

    def _death(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        code = self._process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the process died ({how})" + (f": {lines[-1]}" if lines else "")


def execute_within(job: Path, unit: Unit, piece: int | None, time_limit: float) -> Finding:
    """Run one piece of work in this thread's child process, which is made where there is none.

    A child that dies before it is ready has not begun: the piece is given to a new one, or the row would
    depend on which piece happens to be the first of a process. One that hangs there costs more than the
    limit; a solver whose children did so `_STARTS` times gets no other, and all its pieces have that row.
    """
    hung: dict[tuple[Path, Variant], list[Finding]] = _here.__dict__.setdefault("hung", {})
    before = hung.setdefault((job, unit.variant), [])
    if len(before) >= _STARTS:
        return before[0]
    for _ in range(_STARTS):
        child: Child | None = getattr(_here, "child", None)
        if child is None or child.job != job or not child.alive:
            close_child()
            child = _here.child = Child(job)
        found = child.call(unit, piece, time_limit)
        if child.ready:
            before.clear()
            break
        if found.row["status"] == TIMED_OUT:
            before.append(found)
            break
    return found


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
    sys.path[:], job_file = _read(sys.stdin.buffer)
    path = Path(job_file)
    job = load_job(path)
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        try:
            unit, piece = requests.get(timeout=_IDLE)
        except Empty:
            if path.exists():
                continue
            os._exit(0)  # the comparison is over, while the worker that has this child waits for another
        try:
            warm_up(unit.variant)
            _write(answers, "ready")
            _write(answers, execute(job, unit, piece))
        except SystemExit as leave:  # a solver that ends its process: at once, as Python would wait for stdin
            os._exit(_exit_code(leave))


def _exit_code(leave: SystemExit) -> int:
    """Return the exit code that Python would give, and print the text that it would print."""
    if leave.code is None or isinstance(leave.code, int):
        return (leave.code or 0) & 0xFF
    print(leave.code, file=sys.stderr, flush=True)
    return 1


def _listen(requests: SimpleQueue[Any]) -> None:
    """Queue what comes in; end the process, whatever it is doing, when the parent is gone."""
    try:
        while True:
            requests.put(_read(sys.stdin.buffer))
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()  # the parent reads it
        os._exit(1)


def _write(stream: IO[bytes], message: Any) -> None:
    """Send a message with its length, so that half a message is never taken for one."""
    data = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Receive a message; `EOFError` where the other side is gone before its end."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data
