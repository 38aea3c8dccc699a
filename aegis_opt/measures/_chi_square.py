"""Pearson's chi-square and the association measures made from it, with and without bias correction."""

from __future__ import annotations

import numpy as np

from aegis_opt.measures._tables import Array, Counts, Score, TableLike, add_up, as_counts


def chi_square(F: TableLike) -> Score:
    r"""Pearson's chi-square statistic of independence, without continuity correction.

    .. math:: \chi^2 = \sum_{a,y} \frac{(f(a,y) - e(a,y))^2}{e(a,y)}, \quad
              e(a,y) = \frac{f(a)\,f(y)}{N}

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and N times (number of non-empty columns - 1); exactly 0 for a single non-empty row or
        column. Scales with the counts.

    References
    ----------
    A. Agresti, *Categorical Data Analysis*, 3rd ed., Wiley 2013, section 3.2.

    Examples
    --------
    >>> chi_square([[2, 0], [0, 2]])
    4.0
    """
    counts = as_counts(F)
    return counts.score(_chi_square(counts))


def chi_square_corrected(F: TableLike) -> Score:
    r"""Chi-square minus its degrees of freedom, which are its mean under independence.

    .. math:: \chi^2 - (n_A - 1)(n_Y - 1)

    with :math:`n_A, n_Y` the numbers of non-empty rows and columns.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Negative when the association is weaker than chance makes it; 0 for one non-empty row or column.

    References
    ----------
    As for `chi_square`.

    Examples
    --------
    >>> chi_square_corrected([[2, 0], [0, 2]])
    3.0
    """
    counts = as_counts(F)
    return counts.score(_chi_square(counts) - (counts.n_rows - 1) * (counts.n_labels - 1))


def cramers_v(F: TableLike) -> Score:
    r"""Cramer's V: chi-square on a scale from 0 to 1.

    .. math:: V = \sqrt{\frac{\chi^2 / N}{\min(n_A, n_Y) - 1}}

    with :math:`n_A, n_Y` the numbers of non-empty rows and columns. Merging rows can raise V, because the
    denominator falls with the number of rows.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and 1; 0 for one non-empty row or column.

    References
    ----------
    H. Cramer, *Mathematical Methods of Statistics*, Princeton 1946, section 21.9.

    Examples
    --------
    >>> cramers_v([[2, 0], [0, 2]])
    1.0
    """
    counts = as_counts(F)
    smaller = np.minimum(counts.n_rows, counts.n_labels) - 1
    return counts.score(_root_ratio(_chi_square(counts) / counts.total, smaller))


def cramers_v_corrected(F: TableLike) -> Score:
    r"""Cramer's V with Bergsma's bias correction.

    .. math:: \tilde V = \sqrt{\frac{\max(0,\ \chi^2/N - (n_A-1)(n_Y-1)/(N-1))}
              {\min(\tilde n_A, \tilde n_Y) - 1}}, \quad \tilde n = n - \frac{(n-1)^2}{N-1}

    with :math:`n_A, n_Y` the numbers of non-empty rows and columns.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and 1; 0 for one non-empty row or column, when as many rows are in use as there are
        records (nothing is left to judge by), and for N <= 1.

    References
    ----------
    W. Bergsma, "A bias-correction for Cramer's V and Tschuprow's T", *Journal of the Korean Statistical
    Society* 42(3), 2013.

    Examples
    --------
    >>> cramers_v_corrected([[2, 0], [0, 2]])
    1.0
    >>> cramers_v_corrected([[1, 0], [0, 1], [1, 0], [0, 1]])
    0.0
    """
    counts = as_counts(F)
    rows, labels = counts.n_rows - 1, counts.n_labels - 1
    # Up to one record in all, any divisor of at most 1 makes the denominator 0 or negative, hence V 0.
    others = np.where(counts.total > 1, counts.total - 1, 1.0)
    excess = np.maximum(_chi_square(counts) / counts.total - rows * labels / others, 0.0)
    # In this form the rows' factor is exactly 0 when every record has its own row: no quotient of noise.
    smaller = np.minimum(rows * (1 - rows / others), labels * (1 - labels / others))
    return counts.score(_root_ratio(excess, smaller))


def _chi_square(counts: Counts) -> Array:
    # (f - e)^2 / e = f(a) * (p(y|a) - p(y)) * (lift - 1): the two factors have the same sign, nothing is
    # squared that could overflow, and one row gives exactly 0.
    deviation = counts.row_shares - counts.label_shares[..., None, :]
    return add_up(counts.rows * add_up(deviation * (counts.lift - 1.0)))


def _root_ratio(numerator: Array, denominator: Array) -> Array:
    """Square root of a ratio that theory keeps within 0..1; 0 where the denominator is not positive."""
    ratio = numerator / np.where(denominator > 0, denominator, 1.0)
    return np.where(denominator > 0, np.sqrt(np.minimum(ratio, 1.0)), 0.0)
