"""Goodman and Kruskal's tau: how much of the label's variation the attribute explains."""

from __future__ import annotations

import numpy as np

from aegis_opt.measures._tables import Score, TableLike, add_up, as_counts


def goodman_kruskal_tau(F: TableLike) -> Score:
    r"""Goodman and Kruskal's tau for predicting the label from the attribute.

    The share of the errors of a proportional guess that knowing the attribute removes:

    .. math:: \tau = \frac{\sum_a p(a) \sum_y (p(y \mid a) - p(y))^2}{\sum_y p(y)\,(1 - p(y))}

    `F` is a table of counts, or a stack of tables, as for `mutual_information`.

    Returns
    -------
    float or ndarray of shape (...)
        Between 0 and 1; 0 if there is one label only (nothing to predict).

    References
    ----------
    L. A. Goodman, W. H. Kruskal, "Measures of association for cross classifications", *Journal of the
    American Statistical Association* 49(268), 1954, section 9.

    Examples
    --------
    >>> goodman_kruskal_tau([[2, 0], [0, 2]])
    1.0
    """
    counts = as_counts(F)
    shares, total = counts.label_shares, counts.total
    explained = add_up(counts.rows * add_up((counts.row_shares - shares[..., None, :]) ** 2)) / total
    # 1 - p(y) from the counts of the other labels: it keeps its digits when one label has almost all.
    variation = add_up(shares * ((total[..., None] - counts.columns) / total[..., None]))
    tau = np.where(variation > 0, explained / np.where(variation > 0, variation, 1.0), 0.0)
    return counts.score(np.minimum(tau, 1.0))
