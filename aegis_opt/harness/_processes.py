"""Worker processes that can be stopped in the middle of their work: several at once, and with a time limit.

A solver inside a C library cannot be interrupted from Python. So the pieces of work go, one at a time, to a
worker process, which is killed when it takes too long; the next piece gets a new process. Each process gets
the data once, through its standard input.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from aegis_opt._files import temporary_file
from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.harness._schema import FAILED, TIMED_OUT
from aegis_opt.harness._settings import available_cores
from aegis_opt.harness._units import Finding, Job, Unit, UnitResult, execute, run_unit, warm_up
from aegis_opt.harness._variant import Variant

_START = 60.0  # seconds that a worker has for its imports, which are not part of the work
_STARTS = 2  # workers that may die or hang before they are ready, until that is taken for the solver's doing
_EXIT = 5.0  # seconds that a worker which has closed its pipe has to end by itself
_ELSEWHERE = "is defined where other processes cannot import it"
_WAY_OUT = "into a module, or use n_jobs=1 without time_limit"

Finished = Generator[tuple[Unit, UnitResult], None, None]
"""The units of a comparison as they end, in any order, with their results."""


def run_in_processes(job: Job, units: Sequence[Unit], n_processes: int, time_limit: float | None) -> Finished:
    """Run units in worker processes, each driven by a thread; yield each unit as it ends."""
    _check_importable(job, units)
    waiting: SimpleQueue[Unit | None] = SimpleQueue()
    finished: SimpleQueue[tuple[Unit, UnitResult] | BaseException] = SimpleQueue()
    content, n_processes = pickle.dumps(job), min(n_processes, len(units))
    workers = [Worker(content, time_limit, n_processes) for _ in range(n_processes)]
    for unit in [*units, *[None] * n_processes]:
        waiting.put(unit)

    def drive(worker: Worker) -> None:
        try:
            while (unit := waiting.get()) is not None:
                finished.put((unit, run_unit(job, unit, worker.execute)))
        except BaseException as error:  # it is raised where the results are waited for
            finished.put(error)
        finally:
            worker.close()

    # A thread whose start Ctrl-C cuts short may run and not say so: it cannot be joined, and must not be
    # waited for when Python ends. It ends by itself, as its worker is cancelled.
    threads = [threading.Thread(target=drive, args=(worker,), daemon=True) for worker in workers]
    try:
        for thread in threads:
            thread.start()
        for _ in units:
            done = finished.get()
            if isinstance(done, BaseException):
                raise done
            yield done
    finally:
        for worker in workers:
            worker.cancel()
        for thread in threads:
            if thread.is_alive():
                thread.join()


def _check_importable(job: Job, units: Sequence[Unit]) -> None:
    for name, measure in job.measures.items():
        origin = (getattr(measure.function, part, "") for part in ("__module__", "__qualname__"))
        if any(place in text for text in origin for place in ("__main__", "<lambda>", "<locals>")):
            raise InvalidInput(f"measure {name!r} {_ELSEWHERE}: put its function {_WAY_OUT}")
    for variant in dict.fromkeys(unit.variant for unit in units):
        if variant.configured is not None and type(variant.configured).__module__ == "__main__":
            raise InvalidOption(f"solver {variant.solver!r} {_ELSEWHERE}: put its class {_WAY_OUT}")


class Worker:
    """Runs one piece of work after the other in a process of its own, which is replaced when it ends."""

    def __init__(self, content: bytes, time_limit: float | None, n_processes: int) -> None:
        self._content, self._time_limit = content, time_limit
        self._environment = dict(os.environ)
        if n_processes > 1:  # or each would use all cores, and the times would be those of a busy machine
            self._environment.setdefault("OMP_NUM_THREADS", str(max(available_cores() // n_processes, 1)))
        self._hung: dict[Variant, list[Finding]] = {}
        self._ready = False  # for the piece of work that it has
        self._cancelled = False
        self._lock = threading.Lock()  # a process is not made while the worker is being cancelled
        self.process: subprocess.Popen[bytes] | None = None

    def execute(self, unit: Unit, piece: int | None) -> Finding:
        """Run one piece of work.

        A process that dies before it is ready has not begun: the piece is given to a new one, or the row
        would depend on which piece happens to be the first of a process. One that hangs there costs more
        than the limit; a solver whose processes did so `_STARTS` times gets no other, and all its pieces
        have that row.
        """
        before = self._hung.setdefault(unit.variant, [])
        if len(before) >= _STARTS:
            return before[0]
        for _ in range(_STARTS):
            if self.process is None or self.process.poll() is not None:
                self._start()
            found = self._call(unit, piece)
            if self._ready:
                before.clear()
                break
            if found.row["status"] == TIMED_OUT:
                before.append(found)
                break
        return found

    def cancel(self) -> None:
        """End the process at once, and make no other; called from another thread."""
        with self._lock:
            self._cancelled = True
            if self.process is not None:
                self.process.kill()

    def close(self) -> None:
        """End the process, if there is one, and close what leads to it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout, self._log):
                with suppress(BrokenPipeError):  # what was not sent has no reader any more
                    stream.close()  # type: ignore[union-attr]

    def _start(self) -> None:
        self.close()
        with self._lock:
            if self._cancelled:
                raise InterruptedError("the comparison was stopped")
            self._log = temporary_file()
            self.process = subprocess.Popen(
                [sys.executable, "-c", "from aegis_opt.harness._processes import serve; serve()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=self._environment,
            )
        with suppress(BrokenPipeError):  # a process that died at once says so when it gets work
            self._send(pickle.dumps(sys.path))
            self._send(self._content)

    def _call(self, unit: Unit, piece: int | None) -> Finding:
        """Send a piece of work and wait; where it does not end well, only status and error are known."""
        self._ready = False
        limit = self._time_limit
        start = None if limit is None else _START + limit
        try:
            self._send(pickle.dumps((unit, piece)))
            self._receive(start)
            self._ready = True
            found: Finding = self._receive(limit)
            return found
        except TimeoutError:
            when = f"stopped after {limit if self._ready else start:g} seconds"
            if not self._ready:
                when += ", before the work: while its libraries were loaded and two tiny problems solved"
            return Finding({"status": TIMED_OUT, "error": when})
        except (EOFError, BrokenPipeError):
            return Finding({"status": FAILED, "error": self._how_it_ended()})

    def _send(self, data: bytes) -> None:
        _write(self.process.stdin, data)  # type: ignore[union-attr,arg-type]

    def _receive(self, seconds: float | None) -> Any:
        """Return the next answer; kill the process if it takes longer."""
        process: subprocess.Popen[bytes] = self.process  # type: ignore[assignment]
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(threading.TIMEOUT_MAX if seconds is None else seconds, end)
        timer.start()
        try:
            return _read(process.stdout)  # type: ignore[arg-type]
        except EOFError:
            if late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
            timer.join()
            if late.is_set():  # an answer in the last moment counts, but the next piece needs a new process
                process.wait()

    def _how_it_ended(self) -> str:
        process: subprocess.Popen[bytes] = self.process  # type: ignore[assignment]
        try:
            code = process.wait(_EXIT)
        except subprocess.TimeoutExpired:  # it has closed its pipe and lives
            process.kill()
            code = process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the process died ({how})" + (f": {lines[-1]}" if lines else "")


def serve() -> None:
    """Run the worker's side: take pieces of work from stdin and answer on stdout, until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answers
    sys.path[:] = _read(sys.stdin.buffer)
    job: Job = _read(sys.stdin.buffer)
    requests: SimpleQueue[tuple[Unit, int | None]] = SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        unit, piece = requests.get()
        try:
            warm_up(unit.variant)
            _write(answers, pickle.dumps("ready"))
            _write(answers, pickle.dumps(execute(job, unit, piece)))
        except SystemExit as leave:  # a solver that ends its process: at once, as Python would wait for stdin
            os._exit(_exit_code(leave))


def _exit_code(leave: SystemExit) -> int:
    """Return the exit code that Python would give, and print the text that it would print."""
    if leave.code is None or isinstance(leave.code, int):
        return (leave.code or 0) & 0xFF
    print(leave.code, file=sys.stderr, flush=True)
    return 1


def _listen(requests: SimpleQueue[tuple[Unit, int | None]]) -> None:
    """Queue what comes in; end the process, whatever it is doing, when the parent is gone."""
    try:
        while True:
            requests.put(_read(sys.stdin.buffer))
    except EOFError:
        os._exit(0)
    except BaseException:
        traceback.print_exc()  # the parent reads it
        os._exit(1)


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Receive a message; `EOFError` where the other side is gone before its end."""
    try:
        return pickle.load(stream)
    except pickle.UnpicklingError as error:  # half a message
        raise EOFError from error
