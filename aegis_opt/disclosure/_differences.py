"""Differencing: what two masked tables of an attribute tell by subtraction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aegis_opt.disclosure._cell_bounds import IntArray
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._count_arrays import merge_columns


def differences(summary: Summary, attribute: AttributeSummary, below: int) -> Iterator[dict[str, Any]]:
    """List what a group of one masked table is without the groups of another one that lie inside it.

    The records of the values that are left follow by subtraction, although neither table shows these values
    together. Only what is left of at least one group counts, and where other groups of the second table are
    inside it. Tables of different masked labels are subtracted where the classes of one are merged classes of
    the other.

    Parameters
    ----------
    summary : Summary
        Which label masks there are.
    attribute : AttributeSummary
        What is shared.
    below : int
        Counts from 1 to below - 1 are small.

    Yields
    ------
    dict
        table, group (of which the others are subtracted), other_table, values (how many are left), records
        (how many records they have), small_cells (how many of their counts per label are small).
    """
    tables = attribute.tables
    for i, one in enumerate(tables):
        sizes = np.bincount(one.groups, minlength=one.n_groups)
        for j, other in enumerate(tables):
            columns = None if i == j else _same_columns(summary, one, other)
            if columns is None:
                continue
            owner = np.full(other.n_groups, -1, dtype=np.int64)
            owner[other.groups] = one.groups
            crossing = np.zeros(other.n_groups, dtype=bool)
            crossing[other.groups[owner[other.groups] != one.groups]] = True
            inside = np.where(crossing, -1, owner)  # the group of `one` that each group of `other` lies in
            left, counts = sizes.copy(), columns[0].copy()
            within = np.flatnonzero(inside >= 0)
            np.subtract.at(left, inside[within], np.bincount(other.groups, minlength=other.n_groups)[within])
            np.subtract.at(counts, inside[within], columns[1][within])
            for group in np.flatnonzero((left > 0) & (left < sizes)).tolist():
                yield _difference(i, group, j, int(left[group]), counts[group], below)


def _same_columns(summary: Summary, one: MaskedTable, other: MaskedTable) -> tuple[IntArray, IntArray] | None:
    """Return the counts of two tables by the coarser of their masked labels; None where neither is."""
    if one.label_mask == other.label_mask:
        return one.joint, other.joint
    joints = [one.joint, other.joint]
    labels = [summary.label_groups(table) for table in (one, other)]
    by_class = [np.arange(summary.n_classes) if groups is None else groups for groups in labels]
    for finer, coarser in ((0, 1), (1, 0)):
        merged = np.zeros(joints[finer].shape[1], dtype=np.int64)
        merged[by_class[finer]] = by_class[coarser]
        if np.array_equal(merged[by_class[finer]], by_class[coarser]):
            joints[finer] = merge_columns(joints[finer], merged)
            return joints[0], joints[1]
    return None


def _difference(
    table: int, group: int, other: int, values: int, counts: IntArray, below: int
) -> dict[str, Any]:
    return {
        "table": table,
        "group": group,
        "other_table": other,
        "values": values,
        "records": int(counts.sum()),
        "small_cells": int(np.count_nonzero((counts > 0) & (counts < below))),
    }
