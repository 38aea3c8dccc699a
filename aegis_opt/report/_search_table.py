"""Tables of a page that show their first rows and let one search all of them."""

from __future__ import annotations

from collections.abc import Sequence

from aegis_opt._display import escaped
from aegis_opt._shown import shortened
from aegis_opt.report._embed import json_text

SHOWN = 50
"""Rows that a table shows at a time."""

RANGES = ("proved bounds", "90% interval", "behind the best", "rank, 95%")
"""Columns of two numbers, which stay on one line."""


def search_table(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[str] = (),
    *,
    most_bytes: int,
    elsewhere: str,
) -> str:
    """Return a table, and all its rows for the search where it has more than it shows.

    Parameters
    ----------
    name : str
        What the table lists, such as "configurations"; unique in the page.
    columns, rows, left
        As in `aegis_opt._display.Card`.
    most_bytes : int
        Size of the rows that the page holds for the search; what goes beyond is left out, and said to be.
    elsewhere : str
        Where all rows are.
    """
    sides = "".join("n" if column in RANGES else "l" if column in left else "r" for column in columns)
    heads = "".join(
        f'<th scope="col" class="{side}">{escaped(column)}</th>'
        for column, side in zip(columns, sides, strict=True)
    )
    texts = [[shortened(cell) for cell in row] for row in rows]
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{s}">{escaped(cell)}</td>' for cell, s in zip(row, sides, strict=True))
        + "</tr>"
        for row in texts[:SHOWN]
    )
    table = (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escaped(name)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    if len(rows) <= SHOWN:
        return table
    kept = _within(texts, most_bytes)
    lost = f" The search knows the first {len(kept):,}; {elsewhere} has all." if len(kept) < len(rows) else ""
    return (
        f'<div class="search" data-rows="{escaped(name)}-rows" data-sides="{sides}">'
        f'<p><label>Search the {escaped(name)}: <input type="search" autocomplete="off"></label></p>{table}'
        f'<p class="status" aria-live="polite">Shown are the first {SHOWN} of {len(rows):,} '
        f"{escaped(name)}.{escaped(lost)}</p></div>"
        f'<script type="application/json" id="{escaped(name)}-rows">{json_text(kept)}</script>'
    )


def _within(rows: list[list[str]], most_bytes: int) -> list[list[str]]:
    """Return the first rows whose JSON takes no more than so many bytes."""
    size = 0
    for i, row in enumerate(rows):
        size += len(json_text(row).encode()) + 1
        if size > most_bytes:
            return rows[:i]
    return rows
