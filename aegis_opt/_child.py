"""Long work that holds Python's lock, done in a process of its own, which can be killed at any moment."""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import AegisError

T = TypeVar("T")

# Nothing is imported from the current folder (-P), and everything from where the parent finds it.
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from aegis_opt._child import serve; serve()"
)


def in_child(work: Callable[..., T], *arguments: Any, seconds: float | None = None) -> T:
    """Call a function in a new process; return what it returns, or raise what it raises.

    `work` is a function of a module, and arguments and result are plain data such as arrays: they are
    pickled. Starting takes some tenths of a second, and what the function's module imports.

    The process is killed after `seconds`, with a `TimeoutError` here, and on any exception in this thread,
    such as KeyboardInterrupt. On Unix systems it also ends when this process does, however that ends.
    """
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in a terminal goes to this process only, which decides
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    longest = threading.TIMEOUT_MAX  # that a timer can wait: centuries
    timer = threading.Timer(longest if seconds is None else min(max(seconds, 0.0), longest), end)
    timer.daemon = True
    timer.start()
    try:
        question = pickle.dumps(sys.path) + pickle.dumps((work, arguments))
        result, error = interruptible(lambda: _ask(process, question), process.kill)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):  # it ended before it had answered
        if late.is_set():
            raise TimeoutError(f"stopped after {seconds:g} seconds") from None
        raise AegisError(
            f"the process for {work.__name__!r} ended before its work was done (exit code "
            f"{process.wait()}): where its memory was not enough, solve a smaller problem"
        ) from None
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):  # what was not sent has no reader any more
                stream.close()  # type: ignore[union-attr]
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def _ask(process: subprocess.Popen[bytes], question: bytes) -> tuple[Any, Exception | None]:
    """Send the question and wait for the answer; the way to the process stays open for as long."""
    process.stdin.write(question)  # type: ignore[union-attr]
    process.stdin.flush()  # type: ignore[union-attr]
    answer: tuple[Any, Exception | None] = pickle.load(process.stdout)  # type: ignore[arg-type]
    return answer


def serve() -> NoReturn:
    """Run the child's side: read one call from stdin, do it, answer on stdout."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not mix with the answer
    try:
        work, arguments = pickle.load(sys.stdin.buffer)
    except (EOFError, pickle.UnpicklingError):  # the parent ended before it had asked
        os._exit(1)
    _end_with_parent()
    answer: tuple[Any, Exception | None]
    try:
        answer = work(*arguments), None
    except Exception as error:  # handed to the parent, whatever it is
        answer = None, error
    pickle.dump(answer, answers)
    answers.flush()
    os._exit(0)


def _end_with_parent() -> None:
    """Let the system end this process when the other end of stdin is closed, though a library is at work.

    A thread that reads would need Python's lock. The signal SIGIO needs nothing: it ends a process that does
    not handle it.
    """
    if sys.platform == "win32":
        return
    import fcntl

    signal.signal(signal.SIGIO, signal.SIG_DFL)
    stdin = sys.stdin.fileno()
    fcntl.fcntl(stdin, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(stdin, fcntl.F_SETFL, fcntl.fcntl(stdin, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([stdin], [], [], 0)[0]:  # it was closed before
        os._exit(1)
