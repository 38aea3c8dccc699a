"""Protected tables made consistent: the nearest ones without negative counts, of the same label totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.errors import SummaryError
from aegis_opt.masks._order import Order
from aegis_opt.problem._margin import IntArray
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary, merge_rows

if TYPE_CHECKING:
    from aegis_opt.summary._protected import ProtectedSummary


def reconcile(tables: Sequence[IntArray]) -> list[IntArray]:
    """Find the nearest tables of whole non-negative counts that have the same label totals.

    *Totals.* The label totals of table i, which has n_i rows of equal noise, have a variance proportional to
    n_i. Their weighted mean with weights 1 / n_i is the least-squares estimate from all tables, and unbiased;
    it is rounded to L >= 0. (Tables without negative counts have larger totals on average, so the totals come
    first.)

    *Tables.* Of all X_i >= 0 whose columns add up to L, take the one of the least sum of squares
    |X_i - C_i|^2. It is the projection of each column on a simplex, x = max(c + t, 0) for a number t. In
    whole numbers that is the t rounded down, and one record more in as many cells, the largest first, as L
    asks for.

    Parameters
    ----------
    tables : sequence of ndarray of int64, shape (..., n_i, k)
        Protected counts; leading axes are replicates, the same ones of every table.

    Returns
    -------
    list of ndarray of int64
        In the shapes of the tables.

    Examples
    --------
    >>> a, b = reconcile([np.array([[5, 1], [-3, 2]]), np.array([[4, 3], [2, 2]])])
    >>> a.tolist(), b.tolist()
    ([[4, 1], [0, 3]], [[3, 2], [1, 2]])
    """
    weights = np.array([1 / table.shape[-2] for table in tables])
    sums = [table.sum(axis=-2) * weight for table, weight in zip(tables, weights, strict=True)]
    total = np.maximum(np.rint(np.sum(sums, axis=0) / weights.sum()), 0).astype(np.int64)
    return [_nearest(table, total) for table in tables]


def _nearest(table: IntArray, total: IntArray) -> IntArray:
    """Return the whole non-negative columns of these totals that are nearest to those of a table."""
    columns = np.moveaxis(table, -2, -1)
    order = np.argsort(-columns, axis=-1, kind="stable")  # largest first
    sums = np.cumsum(np.take_along_axis(columns, order, axis=-1), axis=-1)
    lacking = total[..., None] - sums  # that the largest cells share, as many as stay positive
    shares = lacking / np.arange(1, columns.shape[-1] + 1)
    positive = (np.take_along_axis(columns, order, axis=-1) + shares > 0).sum(axis=-1, keepdims=True)
    positive = np.maximum(positive, 1)
    found = np.maximum(columns + np.take_along_axis(lacking, positive - 1, axis=-1) // positive, 0)
    missing = total[..., None] - found.sum(axis=-1, keepdims=True)
    found += np.argsort(order, axis=-1) < missing
    return np.ascontiguousarray(np.moveaxis(found, -1, -2))


def reconciled_summary(protected: ProtectedSummary) -> Summary:
    """Return a plain summary of the classes of values; classes without records are left out."""
    names = list(protected.attributes)
    tables = dict(zip(names, reconcile([protected.attributes[name].counts for name in names]), strict=True))
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
