"""Progress of long calls: a bar in a terminal or a notebook, else a line every few seconds."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aegis_opt._shown import shown, without_controls
from aegis_opt._terminal import make_console
from aegis_opt.errors import InvalidOption

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and of how much."""

SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_BARS = 0.2  # in a notebook, where each is a message to the browser


@contextmanager
def reporting(progress: Progress | bool | None, what: str) -> Iterator[Progress | None]:
    """Yield the function that a long call reports to while the block runs; None where nobody asked.

    Parameters
    ----------
    progress : callable or bool, optional
        True shows the progress on stderr or in the notebook; a function is called instead.
    what : str
        What is being done before the first report.
    """
    if progress is None or progress is False:
        yield None
    elif progress is not True:
        if not callable(progress):
            raise InvalidOption(
                f"progress must be True, False or a function of (what, done, of how many), not "
                f"{shown(progress)}"
            )
        yield progress
    elif (notebook := _notebook_display()) is not None:
        yield _NotebookBar(notebook, what).report
    elif sys.stderr.isatty():
        with _terminal_bar(what) as report:
            yield report
    else:
        with _lines(what) as report:
            yield report


@contextmanager
def _terminal_bar(what: str) -> Iterator[Progress]:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=make_console(sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def report(doing: str, done: int, total: int) -> None:
            bar.update(task, description=doing, completed=done, total=total)

        yield report


@contextmanager
def _lines(what: str) -> Iterator[Progress]:
    """Print a line every few seconds, also while one step takes long: another thread does it."""
    start, finished = time.monotonic(), threading.Event()
    state = [what]

    def report(doing: str, done: int, total: int) -> None:
        state[0] = f"{doing}, {done:,} of {total:,}"

    def tell() -> None:
        while not finished.wait(SECONDS_BETWEEN_LINES):
            seconds = time.monotonic() - start
            print(f"{without_controls(state[0])} ({seconds:.0f} s)", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield report
    finally:
        finished.set()
        teller.join()


def _notebook_display() -> Any:
    """Return IPython's function `display` where a notebook shows what it is given; else None."""
    ipython = sys.modules.get("IPython")
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    return ipython.display.display


class _NotebookBar:
    """A bar of HTML alone, so that a notebook needs no widgets; it stays as one line at the end."""

    def __init__(self, display: Any, what: str) -> None:
        self._start = self._last = time.monotonic()
        self._doing, self._done, self._total = what, 0, 0
        self._handle = display(self, display_id=True)

    def report(self, doing: str, done: int, total: int) -> None:
        """Show how far it is, not too often, and always at the end."""
        self._doing, self._done, self._total = doing, done, total
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_BARS or done >= total:
            self._last = now
            self._handle.update(self)

    def __repr__(self) -> str:
        seconds = time.monotonic() - self._start
        return f"{without_controls(self._doing)}, {self._done:,} of {self._total:,} ({seconds:.0f} s)"

    def _repr_html_(self) -> str:
        share = self._done / self._total if self._total else 0.0
        text = html.escape(repr(self))
        return f'<progress value="{share:.4f}" aria-label="progress"></progress> <span>{text}</span>'
