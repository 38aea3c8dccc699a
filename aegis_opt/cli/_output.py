"""How results are shown: rich tables on a terminal, plain text into a pipe, JSON for machines."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from aegis_opt._shown import without_controls

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

    from aegis_opt.advisor._estimate import Progress

_WIDTH = 100  # of paragraphs that go to a file or a pipe
_UNLIMITED = 10_000  # of tables that do: no terminal limits them


def print_json(document: Any) -> None:
    """Print one JSON document, whole or not at all; an unknown number is null, never NaN."""
    print(json.dumps(document, indent=2, allow_nan=False))


def make_console(stream: TextIO | None = None) -> Console:
    """Return a console for `stream` (stdout): without markup or control characters, which names may hold."""
    from rich.console import Console as RichConsole
    from rich.segment import Segment

    class SafeConsole(RichConsole):
        def on_broken_pipe(self) -> None:
            raise  # called while the error is handled; `main` decides what it means

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else without_controls(text), style, control)

    file = stream or sys.stdout
    terminal = file.isatty()
    return SafeConsole(
        file=file,
        force_terminal=terminal,
        width=None if terminal else _UNLIMITED,
        markup=False,
        emoji=False,
        highlight=False,
    )


def make_table(*columns: str, title: str | None = None, left: Iterable[str] = ()) -> Table:
    """Return an empty table whose columns hold numbers, except those named in `left`."""
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for column in columns:
        table.add_column(column, justify="left" if column in set(left) else "right", overflow="fold")
    return table


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
    _show(console, grid, width=None if console.is_terminal else _WIDTH)


def _show(console: Console, renderable: RenderableType, width: int | None) -> None:
    """Print; what goes to a file or a pipe has no blanks at the ends of lines."""
    if console.is_terminal:
        console.print(renderable)
        return
    with console.capture() as captured:
        console.print(renderable, width=width)
    lines = captured.get().splitlines()
    console.print("\n".join(line.rstrip() for line in lines), soft_wrap=True)


def bar(share: float, width: int, ascii_only: bool) -> str:
    """Draw a share of 1 as a bar of up to `width` characters."""
    eighths = round(share * width * 8)
    if ascii_only:
        return "#" * (eighths // 8)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()


def listing(items: Sequence[str], shown: int = 5) -> str:
    """Join names, the first few of many: age, weight and 3 more."""
    if len(items) <= shown:
        return ", ".join(items)
    return f"{', '.join(items[:shown])} and {len(items) - shown} more"


def size_of(path: str | os.PathLike[str]) -> str:
    """Return the size of a file in words, such as 16.6 kB."""
    size = float(os.path.getsize(path))
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
    """Show progress on stderr while the block runs, if somebody is there to watch.

    Yields a function to report with, as `advise` takes it, or None where nothing is shown.
    """
    if arguments.quiet or arguments.json or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=make_console(sys.stderr), transient=True) as shown:
        task = shown.add_task(what, total=None)

        def report(doing: str, done: int, total: int) -> None:
            shown.update(task, description=doing, completed=done, total=total)

        yield report
