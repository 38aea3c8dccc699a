"""How an audit shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis_opt._display import FEW, Card

if TYPE_CHECKING:
    from aegis_opt.disclosure._audit import Audit

LEFT = ("attribute", "values in clear", "exact")
"""Columns of words."""


def columns_of(audit: Audit) -> tuple[str, ...]:
    """Return the names of the columns of `rows_of`."""
    small = f"counts of 1 to {audit.small - 1}"
    return "attribute", "cells pinned", "records in them", small, "values in clear", "exact"


def rows_of(audit: Audit) -> list[list[str]]:
    """Return a row of texts for each attribute."""
    return [
        [
            str(row.attribute),
            f"{row.pinned_cells:.1%}",
            f"{row.pinned_records:.1%}",
            f"{row.small_cells:,}",
            "yes" if row.values_in_clear else "no",
            "yes" if row.exact else "no",
        ]
        for row in audit.attributes.itertuples(index=False)
    ]


def conclusion_of(audit: Audit) -> str:
    """Say how much of the raw joint tables everybody knows who reads the summary."""
    if not audit.bounds:
        return "No tables are shared, so no count is disclosed by them."
    attributes = audit.attributes
    worst = attributes.iloc[int(attributes["pinned_records"].argmax())]
    if not attributes["pinned_cells"].any():
        return "No count of a raw joint table follows from what is shared."
    small = int(attributes["small_cells"].sum())
    return (
        f"{small:,} counts of 1 to {audit.small - 1} in raw joint tables follow from what is shared. Most is "
        f"known about {worst['attribute']!r}: {worst['pinned_records']:.0%} of its records are in cells "
        "whose count is known exactly."
    )


def card_of(audit: Audit) -> Card:
    """Return what an audit shows of itself: the attributes of which the most is known first."""
    found = audit.attributes
    order = found.sort_values(["small_cells", "pinned_records"], ascending=False, kind="stable").index
    rows = rows_of(audit)
    return Card(
        title=f"Audit of a summary: {len(found):,} attributes",
        conclusion=conclusion_of(audit),
        why="A count is pinned where every whole table that agrees with all that is shared has the same one.",
        columns=columns_of(audit),
        rows=[rows[place] for place in order[:FEW]],
        left=LEFT,
        more=f"The {FEW} attributes with the most small counts; audit.attributes has all."
        if len(found) > FEW
        else "",
        calls=[
            ("audit.cells", "is the range of every count"),
            ("audit.differences", "is what subtraction tells"),
            ("audit.tables", "is which tables to leave out"),
        ],
    )
