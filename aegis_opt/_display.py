"""How objects show themselves: one description, as HTML in a notebook, as text in a terminal, as Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from aegis_opt._shown import shortened, without_controls
from aegis_opt._terminal import make_table, printed, terminal_width

FEW = 10
"""Rows of a table that an object shows of itself."""

_MUTED = "opacity:.75"
_CELL = "padding:.15em .6em;border-bottom:1px solid rgba(128,128,128,.35)"


@dataclass(frozen=True)
class Card:
    """What an object shows of itself.

    Parameters
    ----------
    title : str
        What it is.
    conclusion : str
        What a reader wants to know first, in a sentence or two.
    why : str
        The reasons for it.
    columns, rows : sequence
        A small table of texts, all rows of which have as many entries as there are columns.
    left : sequence of str
        Columns of words; the others hold numbers, which stand to the right.
    bars : sequence of float, optional
        A share of 1 for each row, which HTML draws as a bar.
    more : str
        What the table leaves out, and where that is.
    warnings : sequence of str
        What to beware of.
    calls : sequence of (str, str)
        What to call next, and what for.
    """

    title: str
    conclusion: str = ""
    why: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    left: Sequence[str] = ()
    bars: Sequence[float] | None = None
    more: str = ""
    warnings: Sequence[str] = ()
    calls: Sequence[tuple[str, str]] = ()

    def html(self) -> str:
        """Return HTML that needs neither a style sheet nor a script, for light and dark pages."""
        parts = [f'<div style="{_MUTED}">{escaped(self.title)}</div>']
        if self.conclusion:
            parts.append(f"<p><strong>{escaped(self.conclusion)}</strong></p>")
        if self.why:
            parts.append(f"<p>{escaped(self.why)}</p>")
        if self.columns:
            parts.append(html_table(self.columns, self.rows, self.left, self.bars))
        if self.more:
            parts.append(f'<p style="{_MUTED}">{escaped(self.more)}</p>')
        if self.warnings:
            items = "".join(f"<li>{escaped(warning)}</li>" for warning in self.warnings)
            parts.append(f"<div><strong>Warnings</strong><ul>{items}</ul></div>")
        if self.calls:
            calls = "; ".join(f"<code>{escaped(call)}</code> {escaped(what)}" for call, what in self.calls)
            parts.append(f'<p style="{_MUTED}">Next: {calls}.</p>')
        return f'<div style="max-width:60em;overflow-x:auto">{"".join(parts)}</div>'

    def text(self, width: int) -> str:
        """Return plain text whose lines have at most `width` columns."""
        from rich.text import Text

        parts: list[Any] = [Text(self.title)]
        if self.conclusion:
            parts.append(Text(self.conclusion))
        if self.why:
            parts.append(Text(self.why))
        if self.columns:
            table = make_table(*self.columns, left=self.left)
            for row in self.rows:
                table.add_row(*(Text(" ".join(shortened(cell).split())) for cell in row))
            parts.append(table)
        if self.more:
            parts.append(Text(self.more))
        parts += [Text(f"Warning: {warning}") for warning in self.warnings]
        if self.calls:
            calls = "; ".join(f"{call} {what}" for call, what in self.calls)
            parts.append(Text(f"Next: {calls}."))
        return printed(parts, width)

    def markdown(self) -> str:
        """Return Markdown: a heading, the conclusion, a table, and the warnings as a list."""
        parts = [f"## {escaped_markdown(self.title)}"]
        if self.conclusion:
            parts.append(f"**{escaped_markdown(self.conclusion)}**")
        if self.why:
            parts.append(escaped_markdown(self.why))
        if self.columns:
            parts.append(markdown_table(self.columns, self.rows, self.left))
        if self.more:
            parts.append(escaped_markdown(self.more))
        if self.warnings:
            parts.append("Warnings:")
            parts.append("\n".join(f"- {escaped_markdown(warning)}" for warning in self.warnings))
        return "\n\n".join(parts) + "\n"


class Displayed:
    """What shows itself as `_card` describes it: ``print`` as text, and a notebook as HTML."""

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def __str__(self) -> str:
        return self._card().text(terminal_width())

    def _repr_html_(self) -> str:
        return self._card().html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the text in IPython, as `print` does; inside other objects, the short form."""
        printer.text(repr(self) if cycle or printer.indentation else str(self))


def escaped(text: object) -> str:
    """Return text for HTML: no markup, and no characters that hide or reverse what is read.

    Examples
    --------
    >>> escaped("<b>age</b>")
    '&lt;b&gt;age&lt;/b&gt;'
    """
    return html.escape(without_controls(str(text)))


def escaped_markdown(text: object) -> str:
    r"""Return text on one line for Markdown, whose marks it shows as they are.

    Examples
    --------
    >>> print(escaped_markdown("a|b *c* <d>"))
    a\|b \*c\* &lt;d&gt;
    """
    marked = "".join(f"\\{c}" if c in "\\`*_[]|#~$" else c for c in " ".join(str(text).split()))
    return html.escape(without_controls(marked), quote=False)


def html_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    left: Sequence[str] = (),
    bars: Sequence[float] | None = None,
) -> str:
    """Return a table of texts; the first column names the rows, and a bar stands at the end of each."""
    align = [f"{_CELL};text-align:{'left' if column in left else 'right'}" for column in columns]
    heads = [
        f'<th scope="col" style="{style}">{escaped(column)}</th>'
        for column, style in zip(columns, align, strict=True)
    ]
    lines = []
    for i, row in enumerate(rows):
        cells = [
            f'<td style="{style}">{escaped(shortened(cell))}</td>'
            for cell, style in zip(row, align, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}{'' if bars is None else _bar(bars[i])}</tr>")
    if bars is not None:
        heads.append(f'<td style="{_CELL}"></td>')
    table = f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<table style="border-collapse:collapse;margin:.5em 0">{table}</table>'


def _bar(share: float) -> str:
    width = f"{6 * min(max(share, 0.0), 1.0):.2f}em"
    shape = f"display:block;width:{width};height:.7em;background:#3b78b5"
    return f'<td style="{_CELL};text-align:left"><span style="{shape}"></span></td>'


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str] = ()) -> str:
    """Return a table in the form that most readers of Markdown know."""
    lines = [columns, ["---" if column in left else "---:" for column in columns]]
    lines += [[escaped_markdown(shortened(cell)) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
