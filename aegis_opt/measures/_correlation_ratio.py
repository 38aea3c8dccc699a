"""The correlation ratio: how much of a number's variance an attribute explains."""

from __future__ import annotations

import numpy as np

from aegis_opt.errors import InvalidInput
from aegis_opt.measures._tables import Array, Score, TableLike, add_up, as_array

_SLACK = 1e-9  # relative: rounding errors of sums of squares


def correlation_ratio(M: TableLike) -> Score:
    r"""Share of the variance of a number that lies between the values of an attribute: eta squared.

    .. math:: \eta^2 = \frac{\sum_a s_a^2 / n_a - s^2 / n}{q - s^2 / n}

    with n_a records of value a, the sum s_a of their numbers, and n, s and the sum of squares q of all
    records [1]_. Merging rows never raises it: the mean of merged rows fits no better than the mean of each.

    Parameters
    ----------
    M : array_like or DataFrame, shape (..., n, 3)
        A row per value of the attribute: records, sum of the numbers, sum of their squares. Numbers that lie
        far from 0 lose digits in the squares: subtract about their mean from all of them first, which leaves
        the ratio as it is.

    Returns
    -------
    float or ndarray of shape (...)
        0 if all values have the same mean, 1 if the attribute determines the number. 0 for a number that is
        the same in all records.

    References
    ----------
    .. [1] R. A. Fisher, *Statistical Methods for Research Workers*, 1925, chapter VIII.

    Examples
    --------
    >>> M = [[2, 3.0, 5.0], [1, 4.0, 16.0]]  # the numbers 1 and 2 of one value, 4 of another
    >>> round(correlation_ratio(M), 4)
    0.8929
    """
    moments = as_array(M)
    _check(moments)
    n, sums, squares = moments[..., 0], moments[..., 1], moments[..., 2]
    total, mean = add_up(n), add_up(sums) / add_up(n)
    # Sums are taken around the mean: what is left to subtract is as small as rounding makes it
    own = sums - n * mean[..., None]
    variation = add_up(squares) - total * mean * mean
    between = add_up(own * own / np.where(n > 0, n, 1.0))
    ratio: Array = np.divide(between, variation, out=np.zeros_like(variation), where=variation > 0)
    found = np.clip(ratio, 0.0, 1.0)
    return float(found) if moments.ndim == 2 else found


def _check(moments: Array) -> None:
    """Refuse what is no table of records, sums and sums of squares."""
    if moments.shape[-1] != 3:
        raise InvalidInput(
            f"table: records, sums and sums of squares are three columns, but it has {moments.shape[-1]}; "
            "the measure 'eta2' is about a label that is a number, not about classes"
        )
    n, sums, squares = moments[..., 0], moments[..., 1], moments[..., 2]
    if not np.isfinite(moments).all() or (n < 0).any() or (add_up(n) <= 0).any():
        raise InvalidInput(
            "table: all entries must be finite, with records that are not negative and not all 0"
        )
    if (sums**2 > n * squares * (1 + _SLACK) + np.finfo(float).tiny).any():
        raise InvalidInput(
            "table: no numbers have such sums: the square of a sum is at most the records times the sum of "
            "squares"
        )
