"""Attributes that are nearly unique, as identifiers and row numbers are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aegis_opt.summary._model import Summary

FEW_VALUES = 50
"""Distinct values up to which a column is no list of persons, however few the records."""

_ROW_NUMBERS = re.compile(r"Unnamed: \d+|__index_level_\d+__")  # as pandas calls an index that was saved
_MOST_NAMED = 5
_INSTEAD = (
    "For other attributes like these use measure='mi_loo' or the score r2_gcv, which do not count chance."
)


def is_nearly_unique(distinct: int, n_records: int) -> bool:
    """Whether more than half of the records have a value of their own, and there are more than a few.

    Examples
    --------
    >>> is_nearly_unique(990, 1000), is_nearly_unique(100, 1000), is_nearly_unique(20, 20)
    (True, False, False)
    """
    return distinct > max(FEW_VALUES, n_records / 2)


def nearly_unique(summary: Summary) -> dict[str, int]:
    """Return the attributes that are nearly unique, or number the rows, with their number of values."""
    found = {}
    for name, attribute in summary.attributes.items():
        distinct = attribute.n_values if attribute.coarsening is None else attribute.coarsening.distinct
        numbers_rows = _ROW_NUMBERS.fullmatch(name) is not None and distinct > summary.n_records / 2
        if numbers_rows or is_nearly_unique(distinct, summary.n_records):
            found[name] = distinct
    return found


def warning_about_identifiers(summary: Summary, *, counts_chance: bool = True) -> str:
    """Say which attributes are nearly unique and what to do about them; empty where none is.

    Where the measure counts no chance, there is none to use instead.
    """
    found = nearly_unique(summary)
    if not found:
        return ""
    named = [f"{name!r} ({distinct:,} values)" for name, distinct in list(found.items())[:_MOST_NAMED]]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    text = (
        f"nearly unique: {', '.join(named)}{more} in {summary.n_records:,} records. Leave identifiers and "
        "row numbers out of the configurations, and out of what is released."
    )
    return f"{text} {_INSTEAD}" if counts_chance else text
