"""How far a table is from a functional dependency attribute -> label: g1, g2, g3 and leave-one-out g3."""

from __future__ import annotations

import numpy as np

from aegis_opt.measures._tables import Array, Score, TableLike, add_up, as_counts

_SAME = 1e-9
"""Differences below this many records are rounding noise of a reconstructed table, hence ties."""


def g1_error(F: TableLike) -> Score:
    r"""Share of ordered pairs of records that agree on the attribute and differ in the label.

    .. math:: g_1 = \frac{1}{N^2} \sum_{a,y} f(a,y)\,(f(a) - f(a,y))

    Merging rows never lowers it. Splitting a row into proportional parts does (fewer records agree on the
    attribute), so it is not monotone under noise.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        0 if the attribute determines the label, and less than 1.

    References
    ----------
    J. Kivinen, H. Mannila, "Approximate inference of functional dependencies from relations",
    *Theoretical Computer Science* 149(1), 1995.

    Examples
    --------
    >>> g1_error([[2, 0], [1, 1]])
    0.125
    """
    counts = as_counts(F)
    total = counts.total[..., None, None]
    pairs = (counts.cells / total) * ((counts.rows[..., None] - counts.cells) / total)
    return counts.score(add_up(add_up(pairs)))


def g2_error(F: TableLike) -> Score:
    r"""Share of records whose attribute value occurs with more than one label.

    .. math:: g_2 = \frac{1}{N} \sum_{a\,:\,|\{y : f(a,y) > 0\}| > 1} f(a)

    `F` is a table of counts, or a stack of tables, as for `mutual_information`. Any
    positive cell counts as an occurrence.

    Returns
    -------
    float or ndarray of shape (...)
        0 if the attribute determines the label, 1 if no value does.

    References
    ----------
    As for `g1_error`.

    Examples
    --------
    >>> g2_error([[2, 0], [1, 1]])
    0.5
    """
    counts = as_counts(F)
    is_mixed = np.count_nonzero(counts.cells, axis=-1) > 1
    return counts.score(_share(add_up(np.where(is_mixed, counts.rows, 0.0)), counts.total))


def g3_error(F: TableLike) -> Score:
    r"""Least share of records to remove so that the attribute determines the label.

    .. math:: g_3 = 1 - \frac{1}{N} \sum_a \max_y f(a,y)

    It is the error of predicting each record's label by the majority of its row.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        0 if the attribute determines the label, and less than 1.

    References
    ----------
    As for `g1_error`.

    Examples
    --------
    >>> g3_error([[2, 0], [1, 1]])
    0.25
    """
    counts = as_counts(F)
    return counts.score(_share(add_up(counts.rows - counts.cells.max(axis=-1)), counts.total))


def g3_loo_error(F: TableLike) -> Score:
    r"""Leave-one-out error of predicting a record's label by the majority of the *other* records of its row.

    Unlike `g3_error`, it does not reward values that occur once: a record alone in its row is predicted by
    the majority of all other records of the table. A label that shares the majority with t - 1 others is
    credited 1/t. A table of one record is all error, since there is nothing to predict it from.

    Fractional counts follow the same rules by weight: leaving a record out lowers its cell by one record,
    a row that holds at most one record's weight in all is a record alone, and differences below 1e-9
    records are ties. For whole counts this is leave-one-out over the records, exactly.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and 1, never less than `g3_error`.

    References
    ----------
    M. Stone, "Cross-validatory choice and assessment of statistical predictions", *Journal of the Royal
    Statistical Society B* 36(2), 1974.

    Examples
    --------
    >>> g3_loo_error([[3, 0], [0, 3]])
    0.0
    >>> g3_loo_error([[1, 0], [0, 1], [1, 0], [0, 1]])
    1.0
    """
    counts = as_counts(F)
    is_alone = counts.rows <= 1 + _SAME
    own = counts.cells.max(axis=-1) * _majority_kept(counts.cells)
    by_row = add_up(np.where(is_alone, 0.0, own))

    alone = add_up(np.where(is_alone[..., None], counts.cells, 0.0), axis=-2)
    columns = counts.columns
    is_majority = columns == columns.max(axis=-1, keepdims=True)
    by_table = add_up(np.where(is_majority, alone, 0.0)) * _majority_kept(columns)

    correct = by_row + np.where(counts.total > 1 + _SAME, by_table, 0.0)
    return counts.score(_share(counts.total - correct, counts.total))


def _majority_kept(weights: Array) -> Array:
    """Credit of a record of the largest label when it is left out: 1, 1/ties or 0; shape (...).

    Records of any other label, and of a label that shares the maximum, are always outvoted: they get 0.
    Only meaningful where the weights add up to more than one record.
    """
    # One pass over the few labels; np.partition is several times slower on many short rows.
    first = second = np.zeros(weights.shape[:-1])
    for label in np.moveaxis(weights, -1, 0):
        second = np.maximum(second, np.minimum(first, label))
        first = np.maximum(first, label)
    lead = first - 1 - second
    # The largest label itself is among those counted, so this is already the number of ties.
    n_ties = np.count_nonzero(weights >= second[..., None] - _SAME, axis=-1)
    return np.where(lead > _SAME, 1.0, np.where(lead >= -_SAME, 1.0 / n_ties, 0.0))


def _share(part: Array, total: Array) -> Array:
    """Part of a total, kept within 0..1 against rounding."""
    return np.clip(part / total, 0.0, 1.0)
