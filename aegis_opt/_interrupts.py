"""Long work that Ctrl-C or a deadline ends, also inside C libraries, which do not look for signals."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

STOP_SECONDS = 1.0
"""Seconds that work which was asked to stop has for it, before it is left alone."""
_LOOK_SECONDS = 0.05  # between looks for Ctrl-C in threads other than the main one
_DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)


def interruptible(
    work: Callable[[], T],
    stop: Callable[[], None] | None = None,
    *,
    stop_seconds: float | None = STOP_SECONDS,
    seconds: float | None = None,
) -> T:
    """Do long work in a thread, so that Ctrl-C is heard at once.

    On any exception in the caller's thread, such as KeyboardInterrupt, `stop` is called until the work has
    ended. Work that has not ended when `stop_seconds` are over (None: it always ends), and work that cannot
    be stopped, is left alone: it goes on in the background, and nobody waits for its result. It must
    therefore change nothing that others use, and must release Python's lock.

    After `seconds` the work is stopped in the same way. What it then returns is returned; where it was left
    alone, `TimeoutError` is raised.

    Only the main thread hears signals. Other threads look whether it did: see `look_for_ctrl_c`.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # an interrupted Thread.join of Python 3.11 takes a running thread for ended
    begun = threading.Lock()  # taken by the work when it begins, or by the caller to call it off before

    def do() -> None:
        if not begun.acquire(blocking=False):
            return
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller's thread, whatever it is
            errors.append(error)
        finally:
            done.set()

    def end() -> None:
        left = float("inf") if stop_seconds is None else stop_seconds
        while stop is not None and left > 0 and not done.is_set():
            stop()
            done.wait(0.1)  # what is to stop may not have begun when it was told
            left -= 0.1

    try:
        threading.Thread(target=copy_context().run, args=(do,), daemon=True).start()
        late = not _wait(done, seconds)
    except BaseException:
        if not begun.acquire(blocking=False):
            end()
        raise
    if late:
        end()
        if not done.is_set():
            raise TimeoutError
    if errors:
        raise errors[0]
    return results[0]


def _wait(done: threading.Event, seconds: float | None) -> bool:
    """Wait until work is done; return whether it is, and raise what Ctrl-C raises."""
    if seconds is not None and seconds > threading.TIMEOUT_MAX:  # centuries, which no lock can wait
        seconds = None
    if threading.current_thread() is threading.main_thread():
        return done.wait(seconds)
    end = None if seconds is None else time.monotonic() + seconds
    while not done.wait(_LOOK_SECONDS if end is None else min(_LOOK_SECONDS, max(end - time.monotonic(), 0))):
        look_for_ctrl_c()
        if end is not None and time.monotonic() >= end:
            return False
    return True


def look_for_ctrl_c() -> None:
    """Raise `KeyboardInterrupt` in a thread other than the main one, where that was interrupted.

    The main thread was, where it is handling a `KeyboardInterrupt`, as it does while it leaves a ``with
    ThreadPoolExecutor()``, or where the interpreter ends because of one and waits for its threads.
    """
    main = threading.main_thread()
    if threading.current_thread() is main:
        return
    known: dict[Any, Any] = sys._current_exceptions()
    handled = known.get(main.ident)
    if isinstance(handled, tuple):  # Python 3.11
        handled = handled[1]
    ending = getattr(threading, "_SHUTTING_DOWN", False) or not main.is_alive()
    if isinstance(handled, KeyboardInterrupt) or (
        ending and getattr(sys, "last_type", None) is KeyboardInterrupt
    ):
        raise KeyboardInterrupt


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Set a deadline, in seconds of `time.monotonic`, for the work inside, which looks at it by `look_up`."""
    before = _DEADLINE.set(deadline)
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def current_deadline() -> float:
    """Return the deadline of `until`; infinite where there is none."""
    return _DEADLINE.get()


def look_up() -> None:
    """Raise `KeyboardInterrupt` as `look_for_ctrl_c` does, and `TimeoutError` after the deadline of `until`.

    Loops that may take long call it.
    """
    look_for_ctrl_c()
    if time.monotonic() > _DEADLINE.get():
        raise TimeoutError
