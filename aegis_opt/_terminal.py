"""Tables and text for a terminal, a pipe or a string: nothing that a name holds is obeyed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from aegis_opt._shown import without_controls

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

_UNLIMITED = 10_000  # width of tables that go to a file or a pipe: no terminal limits them
_NARROWEST = 20  # columns that a text needs


def make_console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """Return a console for `stream` (stdout): without markup or control characters, which names may hold.

    Without a `width`, it is that of the terminal; a file or a pipe has no limit.
    """
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
        width=width if width is not None or terminal else _UNLIMITED,
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


def printed(renderables: Iterable[RenderableType], width: int) -> str:
    """Return what a console of this width prints, without colours and without blanks at the ends of lines."""
    text = StringIO()
    console = make_console(text, width)
    for renderable in renderables:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def terminal_width() -> int:
    """Return the columns of the terminal, 80 where there is none."""
    return max(_NARROWEST, shutil.get_terminal_size().columns)


def bar(share: float, width: int, ascii_only: bool) -> str:
    """Draw a share of 1 as a bar of up to `width` characters."""
    eighths = round(share * width * 8)
    if ascii_only:
        return "#" * (eighths // 8)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()
