"""Mutual information, with and without bias correction, and the uncertainty coefficient."""

from __future__ import annotations

import numpy as np

from aegis_opt.measures._tables import Array, Counts, Score, TableLike, add_up, as_counts, check_whole


def mutual_information(F: TableLike) -> Score:
    r"""Mutual information of attribute and label, in bits.

    .. math:: I(A;Y) = \sum_{a,y} p(a,y) \log_2 \frac{p(a,y)}{p(a)\,p(y)}

    Parameters
    ----------
    F : array_like or DataFrame, shape (..., n, k)
        One table of counts, whose rows are the values of the attribute and whose columns are the labels, or a
        stack of such tables. Empty rows and columns contribute nothing.

    Returns
    -------
    float or ndarray of shape (...)
        A float for one table, an array for a stack. Between 0 and H(Y); exactly 0 for a single non-empty row
        or column.

    References
    ----------
    T. M. Cover, J. A. Thomas, *Elements of Information Theory*, 2nd ed., Wiley 2006, section 2.3.

    Examples
    --------
    >>> mutual_information([[2, 0], [0, 2]])
    1.0
    >>> mutual_information([[1, 3], [2, 6]])
    0.0
    """
    counts = as_counts(F)
    return counts.score(_information(counts))


def mutual_information_corrected(F: TableLike) -> Score:
    r"""Mutual information in bits with the Miller-Madow term for each of its three entropies.

    .. math:: I(A;Y) + \frac{(n_A - 1) + (n_Y - 1) - (n_{AY} - 1)}{2 N \ln 2}

    with :math:`n_A, n_Y, n_{AY}` the numbers of non-empty rows, columns and cells. The correction is the
    first-order one: it assumes that most cells were hit several times. Where every row holds one record it
    cannot see the bias (and adds a little); `chi_square_corrected`, `cramers_v_corrected` and
    `g3_loo_error` can.

    `F` is a table of counts, or a stack of tables, as for `mutual_information`. A cell
    is non-empty as soon as it is positive.

    Returns
    -------
    float or ndarray of shape (...)
        May be negative, since clipping would bring bias back; 0 for one non-empty row or column.

    References
    ----------
    G. A. Miller, "Note on the bias of information estimates", in *Information Theory in Psychology*,
    Free Press 1955.

    Examples
    --------
    >>> round(mutual_information_corrected([[5, 5], [5, 5]]), 4)
    -0.0361
    """
    counts = as_counts(F)
    freedom = counts.n_rows + counts.n_labels - counts.n_cells - 1
    return counts.score(_information(counts) + freedom / (2 * np.log(2) * counts.total))


def theils_u(F: TableLike) -> Score:
    r"""Uncertainty coefficient: the share of the label's entropy that the attribute explains.

    .. math:: U(Y \mid A) = I(A;Y) / H(Y)

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and 1; 0 if there is one label only (nothing to explain).

    References
    ----------
    H. Theil, "On the estimation of relationships involving qualitative variables", *American Journal of
    Sociology* 76(1), 1970.

    Examples
    --------
    >>> theils_u([[3, 0], [0, 1]])
    1.0
    """
    counts = as_counts(F)
    shares = counts.label_shares
    entropy = -add_up(shares * np.log2(np.where(shares > 0, shares, 1.0)))
    explained = _information(counts) / np.where(entropy > 0, entropy, 1.0)
    return counts.score(np.minimum(explained, 1.0))


def mutual_information_loo(F: TableLike) -> Score:
    r"""Leave-one-out mutual information, in bits: what the *other* records of its row tell about a record.

    .. math:: \frac{1}{N} \sum_{a,y:\, c > 0} c \log_2
       \frac{c - 1 + \alpha \pi_y}{(r - 1 + \alpha)\, \pi_y}, \qquad \alpha = 1,

    with c the count of a cell, r the total of its row and :math:`\pi_y` the share of the label. Each record's
    label is predicted by the other records of its row, smoothed towards the label's share. A record alone
    in its row tells nothing and adds 0, so that an attribute whose values are nearly unique earns nothing by
    chance, as it does by `mutual_information`.

    `F` is a table of whole counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        At most H(Y); negative where rows mislead, and a little below 0 where they tell nothing.

    References
    ----------
    M. Stone, "Cross-validatory choice and assessment of statistical predictions", *Journal of the Royal
    Statistical Society B* 36(2), 1974.

    Examples
    --------
    >>> mutual_information_loo([[1, 0], [0, 1], [1, 0], [0, 1]])
    0.0
    >>> round(mutual_information_loo([[50, 0], [0, 50]]), 4)
    0.9855
    """
    counts = as_counts(F)
    check_whole(counts, "mi_loo")
    shares = counts.label_shares[..., None, :]
    others = (counts.cells - 1 + shares) / (
        np.maximum(counts.rows, 1.0)[..., None] * np.where(shares > 0, shares, 1.0)
    )
    bits = counts.cells * np.log2(np.where(counts.cells > 0, others, 1.0))
    return counts.score(add_up(add_up(bits)) / counts.total)


def _information(counts: Counts) -> Array:
    lift = counts.lift
    bits = counts.cells * np.log2(np.where(lift > 0, lift, 1.0))
    # The terms have both signs, so rounding can leave a sum a little below the true minimum 0.
    return np.maximum(add_up(add_up(bits)) / counts.total, 0.0)
