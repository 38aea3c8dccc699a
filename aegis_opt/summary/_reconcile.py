"""Protected tables made consistent: without negative counts, and of the same label totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.errors import SummaryError
from aegis_opt.masks._order import Order
from aegis_opt.problem._margin import IntArray
from aegis_opt.summary._count_arrays import merge_rows
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary

if TYPE_CHECKING:
    from aegis_opt.summary._protected import ProtectedSummary

_MOST_NOISE = 2.0  # standard deviation of a count, in mean counts, up to which tables are fitted top down


def reconcile(tables: Sequence[IntArray], masks: Sequence[Sequence[IntArray]]) -> list[IntArray]:
    """Find tables of whole non-negative counts, near the protected ones, that have the same label totals.

    *Totals.* The label totals of table i, which has n_i rows of equal noise, have a variance proportional to
    n_i. Their weighted mean with weights 1 / n_i is the least-squares estimate from all tables, and unbiased;
    it is rounded to L >= 0. (Tables without negative counts have larger totals on average, so the totals come
    first.)

    *Tables.* The nearest table without negative counts would take records from large cells, because noise
    leaves some in each of many empty ones, and the error would add up in merged rows. So the counts are
    fitted from the top down: the masked table of the fewest groups first, then the others, each of which cuts
    the groups of those before into smaller ones, and in the end the single rows. In each step the parts of a
    group and a label become the nearest whole numbers x >= 0, in the sum of squares, to their protected
    counts c that add up to what the group has. That is the projection on a simplex, x = max(c + t, 0) for a
    number t. In whole numbers it is the t rounded down, and one record more in as many parts, the largest
    first, as are lacking. Without masks there is one step: the nearest table.

    Parameters
    ----------
    tables : sequence of ndarray of int64, shape (..., n_i, k)
        Protected counts; leading axes are replicates, the same ones of every table.
    masks : sequence of sequences of ndarray of int64, shape (n_i,)
        For each table the groups of its rows, by each mask that is fitted first; see `masks_to_fit`.

    Returns
    -------
    list of ndarray of int64
        In the shapes of the tables.

    References
    ----------
    Abowd and others, "The 2020 Census disclosure avoidance system TopDown algorithm", 2022.

    Examples
    --------
    >>> a, b = reconcile([np.array([[5, 1], [-3, 2]]), np.array([[4, 3], [2, 2]])], [[], []])
    >>> a.tolist(), b.tolist()
    ([[4, 1], [0, 3]], [[3, 3], [1, 1]])
    """
    totals = label_totals(tables)
    return [_fitted(table, totals, groups) for table, groups in zip(tables, masks, strict=True)]


def label_totals(tables: Sequence[IntArray]) -> IntArray:
    """Return the least-squares estimate of the records of each label, as whole numbers from 0 up."""
    weights = np.array([1 / table.shape[-2] for table in tables])
    sums = [table.sum(axis=-2) * weight for table, weight in zip(tables, weights, strict=True)]
    estimate = np.rint(np.sum(sums, axis=0) / weights.sum())
    return np.asarray(np.maximum(estimate, 0), dtype=np.int64)


def masks_to_fit(protected: ProtectedSummary) -> list[Sequence[IntArray]]:
    """Return for each attribute the masks by which its table is fitted from the top down.

    There are none where the standard deviation of the noise is more than twice the mean count: with so many
    small cells, the totals of groups are mostly noise, too, and the nearest table, which evens them out, is
    nearer to the truth.
    """
    attributes = protected.attributes.values()
    records = int(label_totals([attribute.counts for attribute in attributes]).sum())
    noise = protected.protection.standard_deviation
    return [
        attribute.groups if noise * attribute.counts.size <= _MOST_NOISE * records else ()
        for attribute in attributes
    ]


def _fitted(table: IntArray, total: IntArray, masks: Sequence[IntArray]) -> IntArray:
    """Return whole non-negative columns of these totals, near those of a table, from the top down."""
    columns = np.ascontiguousarray(np.moveaxis(table, -2, -1))
    rows = columns.shape[-1]
    parts, found = np.zeros(rows, dtype=np.int64), total[..., None]
    for groups in [*sorted(masks, key=lambda groups: int(groups.max())), np.arange(rows)]:
        finer = np.unique(parts * rows + groups, return_inverse=True)[1]
        if finer.max() == parts.max():
            continue
        begins, order = runs_of(finer)
        found = _nearest(np.add.reduceat(columns[..., order], begins, axis=-1), parts[order][begins], found)
        parts = finer
    return np.ascontiguousarray(np.moveaxis(found[..., parts], -1, -2))


def runs_of(groups: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each group begins when equal ones are put together, and the order that does so."""
    order = np.argsort(groups, kind="stable")
    return np.flatnonzero(np.diff(groups[order], prepend=-1)), order


def _nearest(counts: IntArray, groups: IntArray, totals: IntArray) -> IntArray:
    """Return the whole non-negative counts nearest to others, of which those of a group have its total.

    The counts lie along the last axis, those of a group beside each other.
    """
    begins = np.flatnonzero(np.diff(groups, prepend=-1))
    order = np.argsort(-counts, axis=-1, kind="stable")
    order = np.take_along_axis(order, np.argsort(groups[order], axis=-1, kind="stable"), axis=-1)
    largest = np.take_along_axis(counts, order, axis=-1)  # first in each group
    places = np.arange(len(groups)) - begins[groups]
    sums = np.cumsum(largest, axis=-1)
    sums -= (sums[..., begins] - largest[..., begins])[..., groups]
    lacking = totals[..., groups] - sums  # that the largest counts share, as many as stay positive
    stays = largest + lacking / (places + 1) > 0
    positive = np.maximum(np.add.reduceat(stays, begins, axis=-1, dtype=np.int64), 1)
    each = np.take_along_axis(lacking, begins + positive - 1, axis=-1) // positive
    found = np.maximum(largest + each[..., groups], 0)
    found += places < (totals - np.add.reduceat(found, begins, axis=-1))[..., groups]
    back = np.empty_like(found)
    np.put_along_axis(back, order, found, axis=-1)
    return back


def reconciled_summary(protected: ProtectedSummary) -> Summary:
    """Return a plain summary of the classes of values; classes without records are left out."""
    names = list(protected.attributes)
    shared = [protected.attributes[name] for name in names]
    fitted = reconcile([attribute.counts for attribute in shared], masks_to_fit(protected))
    tables = dict(zip(names, fitted, strict=True))
    label_counts = tables[names[0]].sum(axis=0)
    if not label_counts.any():
        raise SummaryError(
            f"no records are left after the protection ({protected.protection.statement()}): share a larger "
            "table, or protect it less"
        )
    attributes = {}
    for name, attribute in protected.attributes.items():
        filled = np.flatnonzero(tables[name].any(axis=1))
        counts = tables[name][filled]
        masked = []
        for table, groups in zip(attribute.tables, attribute.groups, strict=True):
            used, own = np.unique(groups[filled], return_inverse=True)
            labels = tuple(table.labels[group] for group in used)
            masked.append(MaskedTable(table.spec, own, labels, merge_rows(counts, own)))
        attributes[name] = AttributeSummary(
            kind=attribute.kind,
            n_values=len(filled),
            values=None,
            histogram=None,
            tables=tuple(masked),
            order=_order_of_classes(attribute.order, attribute.classes),
        )
    return Summary(
        label=protected.label,
        label_kind=protected.label_kind,
        label_values=protected.label_values,
        label_counts=label_counts,
        attributes=attributes,
        configurations=protected.configurations,
    )


def _order_of_classes(order: Order | None, classes: IntArray) -> Order | None:
    """Return the order of classes: that of the values, where each class is a range of them."""
    return order if (np.diff(classes) >= 0).all() else "nominal"
