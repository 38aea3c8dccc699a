"""How much of a measure is chance: its expectation under shuffled labels."""

from __future__ import annotations

import numpy as np

from aegis_opt._options import whole_number
from aegis_opt.measures._base import Measure
from aegis_opt.measures._registry import get_measure
from aegis_opt.measures._tables import Array, TableLike, as_counts, check_whole

PERMUTATIONS = 50
"""Tables that are drawn for a measure without a closed form."""


def expected_by_chance(measure: str | Measure, F: TableLike, *, seed: int = 0) -> float:
    r"""Expectation of a measure when the labels are shuffled over the records.

    Shuffling keeps the totals of rows and labels and makes the cells hypergeometric. For mutual information
    the expectation is the sum over all cells and all their possible counts [1]_,

    .. math:: \sum_{a,y} \sum_c \frac{c}{N} \log_2\!\frac{N c}{r_a n_y}\; P(c),

    and for chi-square it is N (n - 1)(k - 1) / (N - 1). For other measures it is the mean over 50 tables that
    are drawn at random.

    Parameters
    ----------
    measure : str or Measure
        The measure.
    F : array_like or DataFrame, shape (n, k)
        One table of whole counts.
    seed : int
        Of the random tables.

    Returns
    -------
    float

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, "Information theoretic measures for clusterings comparison: is a
       correction for chance necessary?", ICML 2009.

    Examples
    --------
    >>> round(expected_by_chance("mi", [[1, 0], [0, 1], [1, 0], [0, 1]]), 6)  # unique values: all is chance
    1.0
    >>> round(expected_by_chance("chi2", [[30, 20], [20, 30]]), 4)
    1.0101
    """
    chosen = get_measure(measure)
    counts = as_counts(F)
    check_whole(counts, chosen.name)
    rows, labels = counts.rows[counts.rows > 0], counts.columns[counts.columns > 0]
    n = float(counts.total)
    if chosen.name == "mi":
        return _expected_information(rows, labels, n)
    if chosen.name == "chi2":
        return n / (n - 1) * (len(rows) - 1) * (len(labels) - 1) if n > 1 else 0.0
    from scipy.stats import random_table

    tables = random_table(rows.astype(np.int64), labels.astype(np.int64)).rvs(
        PERMUTATIONS, random_state=np.random.default_rng(whole_number("seed", seed, least=0))
    )
    return float(np.mean(chosen.many(list(tables))))


def chance_share(measure: str | Measure, F: TableLike, value: float | None = None, *, seed: int = 0) -> float:
    """Share of what a measure says about a table that shuffled labels would give, too: from 0 to 1.

    What a measure says is its distance from the value of the table with all rows merged, which tells nothing.
    `value` is that of the table where it is known already.
    """
    chosen = get_measure(measure)
    counts = as_counts(F)
    nothing = float(chosen(counts.columns[None, :]))
    told = (float(chosen(counts.cells)) if value is None else value) - nothing
    by_chance = expected_by_chance(chosen, F, seed=seed) - nothing
    return float(np.clip(by_chance / told, 0.0, 1.0)) if told * by_chance > 0 else 0.0


def _expected_information(rows: Array, labels: Array, n: float) -> float:
    """Add up the expected terms of mutual information; rows of equal totals have equal terms."""
    from scipy.special import gammaln

    totals, times = np.unique(rows, return_counts=True)
    r, label = (each.ravel() for each in np.meshgrid(totals, labels, indexing="ij"))
    mean = r * label / n
    reach = 20 + 12 * np.sqrt(mean * (1 - r / n) * (1 - label / n))  # beyond, nothing is left
    low = np.maximum(np.maximum(1.0, r + label - n), np.floor(mean - reach))
    high = np.minimum(np.minimum(r, label), np.ceil(mean + reach))
    sizes = np.maximum(high - low + 1, 0).astype(np.int64)
    begins = np.repeat(np.cumsum(sizes) - sizes, sizes)
    c = np.repeat(low, sizes) + np.arange(sizes.sum()) - begins
    weights = np.repeat(np.repeat(times, len(labels)), sizes).astype(float)
    r, label = np.repeat(r, sizes), np.repeat(label, sizes)

    def log_choose(n: Array | float, k: Array) -> Array:
        found: Array = gammaln(np.add(n, 1)) - gammaln(k + 1) - gammaln(n - k + 1)
        return found

    probability = np.exp(log_choose(label, c) + log_choose(n - label, r - c) - log_choose(n, r))
    return max(float(np.sum(weights * c * np.log2(n * c / (r * label)) * probability)) / n, 0.0)
