"""Long work inside C libraries, which do not look for signals, done so that Ctrl-C ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

STOP_SECONDS = 1.0
"""Seconds that work which was asked to stop has for it, before it is left alone."""


def interruptible(
    work: Callable[[], T],
    stop: Callable[[], None] | None = None,
    *,
    stop_seconds: float | None = STOP_SECONDS,
) -> T:
    """Do long work in a thread, so that Ctrl-C is heard at once.

    On any exception in the caller's thread, such as KeyboardInterrupt, `stop` is called until the work has
    ended. Work that has not ended when `stop_seconds` are over (None: it always ends), and work that cannot
    be stopped, is left alone: it goes on in the background, and nobody waits for its result. It must
    therefore change nothing that others use, and must release Python's lock.

    Only the main thread hears signals: the work of other threads is done where it is asked for.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()  # an interrupted Thread.join of Python 3.11 takes a running thread for ended

    def do() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller's thread, whatever it is
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=copy_context().run, args=(do,), daemon=True).start()
    try:
        done.wait()
    except BaseException:
        left = float("inf") if stop_seconds is None else stop_seconds
        while stop is not None and left > 0 and not done.is_set():
            stop()
            done.wait(0.1)  # what is to stop may not have begun when it was told
            left -= 0.1
        raise
    if errors:
        raise errors[0]
    return results[0]
