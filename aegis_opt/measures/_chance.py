"""How much of a measure is chance: its expectation under shuffled labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aegis_opt._draws import deal, log_growth
from aegis_opt._options import number, seed_number
from aegis_opt.measures._base import Measure
from aegis_opt.measures._registry import get_measure
from aegis_opt.measures._tables import Array, TableLike, as_counts, check_whole

PERMUTATIONS = 50
"""Tables that are drawn for a measure without a closed form."""

MANY = 1e4
"""Expected count of a cell from which its moments say enough: the error of the term is below 1e-8 of it."""

MOST_TERMS = 1 << 20
"""Possible counts that are added up at a time, to bound the memory."""


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
    tables = _shuffled(rows, labels, np.random.default_rng(seed_number("seed", seed)))
    return float(np.mean(chosen.many(list(tables))))


def chance_share(measure: str | Measure, F: TableLike, value: float | None = None, *, seed: int = 0) -> float:
    """Share of what a measure says about a table that shuffled labels would give, too: from 0 to 1.

    What a measure says is its distance from the value of the table with all rows merged, which tells nothing.
    `value` is that of the table where it is known already; nothing is said where it is NaN.
    """
    chosen = get_measure(measure)
    counts = as_counts(F)
    if isinstance(value, float) and np.isnan(value):
        return 0.0
    nothing = float(chosen(counts.columns[None, :]))
    told = (float(chosen(counts.cells)) if value is None else number("value", value)) - nothing
    by_chance = expected_by_chance(chosen, F, seed=seed) - nothing
    return float(np.clip(by_chance / told, 0.0, 1.0)) if told * by_chance > 0 else 0.0


def _shuffled(rows: Array, labels: Array, rng: np.random.Generator) -> Array:
    """Draw tables with these totals, as shuffled labels give them."""
    groups = np.repeat(np.arange(PERMUTATIONS), len(rows))
    totals = np.tile(labels.astype(np.int64), (PERMUTATIONS, 1))
    drawn = deal(groups, totals, np.tile(rows.astype(np.int64), PERMUTATIONS), rng)
    return drawn.reshape(PERMUTATIONS, len(rows), len(labels)).astype(np.float64)


def _expected_information(rows: Array, labels: Array, n: float) -> float:
    """Add up the expected terms of mutual information; rows of equal totals have equal terms."""
    totals, times = np.unique(rows, return_counts=True)
    r, label = (each.ravel() for each in np.meshgrid(totals, labels, indexing="ij"))
    many = r * label / n > MANY
    terms = np.empty(len(r))
    if many.any():
        terms[many] = _expected_of_many(r[many], label[many], n)
    terms[~many] = _expected_of_few(r[~many], label[~many], n)
    return max(float(terms @ np.repeat(times, len(labels))) / n, 0.0)


def _expected_of_many(r: Array, label: Array, n: float) -> Array:
    """E[c log2(c / m)] of hypergeometric counts c of a large mean m, by their central moments.

    With d = (c - m) / m it is m E[(1 + d) log(1 + d)] = m E[d^2 / 2 - d^3 / 6 + d^4 / 12 - ...]. The fourth
    moment is taken as that of a normal distribution. What is left out is of the order of 1 / m^2.
    """
    mean = r * label / n
    variance = mean * (1 - r / n) * (1 - label / n) * (n / (n - 1))
    third = variance * (1 - 2 * r / n) * (1 - 2 * label / n) * (n / (n - 2))
    nats = variance / (2 * mean) - third / (6 * mean**2) + variance**2 / (4 * mean**3)
    bits: Array = nats / np.log(2)
    return bits


def _expected_of_few(r: Array, label: Array, n: float) -> Array:
    """E[c log2(c / m)] of hypergeometric counts c of mean m, by adding up over c, some cells at a time.

    Probabilities are computed relative to that of a count near the mean and then made to add up to 1:
    differences of log-factorials of n itself would lose all digits of large n.
    """
    mean = r * label / n
    middle = np.floor(mean)
    reach = 20 + 12 * np.sqrt(mean * (1 - r / n) * (1 - label / n))  # beyond, nothing is left
    low = np.maximum(np.maximum(0.0, r + label - n), np.floor(mean - reach))
    high = np.minimum(np.minimum(r, label), np.ceil(mean + reach))
    sizes = (high - low + 1).astype(np.int64)
    terms = np.zeros(len(r))
    turns = np.cumsum(sizes) // MOST_TERMS
    for turn in np.unique(turns):
        part = np.flatnonzero(turns == turn)
        cell, place = np.repeat(part, sizes[part]), np.repeat(np.arange(len(part)), sizes[part])
        c = low[cell] + np.arange(len(cell)) - (np.cumsum(sizes[part]) - sizes[part])[place]
        steps = (c - middle[cell]).astype(np.int64)
        rest = (n - r - label + middle)[cell]
        grown = log_growth(_whole(middle[cell]), steps) + log_growth(_whole(rest), steps)
        for others in (r, label):
            grown += log_growth(_whole((others - middle)[cell]), -steps)
        chance = np.exp(-grown)
        bits = c * np.log2(np.maximum(c, 1.0) / mean[cell])
        terms[part] = np.bincount(place, bits * chance) / np.bincount(place, chance)
    return terms


def _whole(values: Array) -> npt.NDArray[np.int64]:
    return values.astype(np.int64)
