"""Which masked tables to leave out, so that the others disclose less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aegis_opt.disclosure._attribute import attribute_bounds
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.summary import Summary

MOST_TABLES = 12
"""Masked tables of an attribute up to which each is tried; of more, the one of most groups goes first."""


def leave_out(summary: Summary, attribute: str, pinned: int) -> Iterator[dict[str, Any]]:
    """Leave out one masked table of an attribute after the other, until nothing is pinned or one is left.

    Each time it is the table whose absence lowers the records in pinned cells most; of equal ones that of the
    fewest configurations, and then the one of most groups.

    Yields
    ------
    dict
        attribute, step, table, mask, configurations (how many lose a table by it, and cannot be ranked by
        it), pinned_records (share of the records that are still in pinned cells).
    """
    shared = summary.attributes[attribute]
    users = [0] * len(shared.tables)
    for chosen in summary.configurations.values():
        users[chosen[attribute]] += 1
    kept = set(range(len(shared.tables)))
    step = 0
    while len(kept) > 1 and pinned > 0:
        step += 1
        by_size = sorted(kept, key=lambda i: (-shared.tables[i].n_groups, users[i], i))
        tried = by_size if len(kept) <= MOST_TABLES else by_size[:1]
        left = {i: attribute_bounds(summary, attribute, kept - {i}).pinned_records for i in tried}
        table = min(tried, key=lambda i: (left[i], users[i], -shared.tables[i].n_groups, i))
        kept.remove(table)
        pinned = left[table]
        yield {
            "attribute": attribute,
            "step": step,
            "table": table,
            "mask": spec_text(shared.tables[table].spec),
            "configurations": users[table],
            "pinned_records": pinned / summary.n_records,
        }
