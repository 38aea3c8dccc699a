"""How results are shown: rich tables on a terminal, plain text into a pipe, JSON for machines."""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aegis_opt._options import expanded
from aegis_opt._progress import Progress, reporting
from aegis_opt._shown import listing as listing
from aegis_opt._shown import without_controls
from aegis_opt._terminal import bar as bar
from aegis_opt._terminal import make_console as make_console
from aegis_opt._terminal import make_table as make_table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

WIDTH = 100
"""Columns of paragraphs that go to a file or a pipe."""


def print_json(document: Any) -> None:
    """Print one JSON document, whole or not at all; an unknown number is null, never NaN."""
    print(json.dumps(document, indent=2, allow_nan=False))


def show_table(console: Console, table: Table, width: int | None = None) -> None:
    """Print a table; where no terminal limits the width, it is as wide as it needs to be, or as told."""
    _show(console, table, width)


def show_facts(console: Console, facts: Iterable[tuple[str, Any]]) -> None:
    """Print paragraphs with a heading each, in the margin."""
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for heading, text in facts:
        grid.add_row(heading, without_controls(str(text)))
    _show(console, grid, width=None if console.is_terminal else WIDTH)


def _show(console: Console, renderable: RenderableType, width: int | None) -> None:
    """Print; what goes to a file or a pipe has no blanks at the ends of lines."""
    if console.is_terminal:
        console.print(renderable)
        return
    with console.capture() as captured:
        console.print(renderable, width=width)
    lines = captured.get().splitlines()
    console.print("\n".join(line.rstrip() for line in lines), soft_wrap=True)


def size_of(path: str | os.PathLike[str]) -> str:
    """Return the size of a file in words, such as 16.6 kB."""
    size = float(os.path.getsize(expanded(path)))
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


@contextmanager
def stoppable() -> Iterator[None]:
    """Let a request to terminate (SIGTERM) end the block as Ctrl-C does, so that nothing is left behind."""
    if threading.current_thread() is not threading.main_thread():  # where Python hears no signals
        yield
        return

    def stop(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress(arguments: argparse.Namespace, what: str) -> Iterator[Progress | None]:
    """Show progress on stderr while the block runs, unless nobody wants it.

    Yields a function to report with, as `advise` takes it, or None where nothing is shown.
    """
    with reporting(not (arguments.quiet or arguments.json), what) as report:
        yield report
