"""Tables redrawn along a line: how often to go a step that keeps every total.

A *step* raises some cells and lowers others such that no total changes. Of all tables x + t step, with t a
whole number, one is drawn from the distribution of independent Poisson cells of means m:

    P(t) proportional to prod over cells of m^(x + t step) / (x + t step)!

For a step over two rows and two labels that is Fisher's noncentral hypergeometric distribution. It is drawn
by inversion over the outcomes within ten standard deviations of the mode (all outcomes, where they are
few). Where even these are many, a proposal around the mode is accepted or not by the rule of Metropolis and
Hastings, so that the distribution is kept, too.
"""

from __future__ import annotations

import numpy as np

from aegis_opt._draws import log_growth
from aegis_opt.problem._margin import FloatArray, IntArray

_FEW_OUTCOMES = 64  # all of which are looked at, wherever the mode is
_REACH = (
    10.0  # standard deviations, and outcomes, to either side of the mode: beyond, the chance is below 1e-18
)
_WIDEST = 512  # outcomes to either side that inversion looks at
_PROPOSALS = 4  # of which at least three are accepted


def draw_steps(counts: IntArray, steps: IntArray, log_odds: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw t for each of several lines.

    Parameters
    ----------
    counts, steps : ndarray of int, shape (cells, lines)
        The tables' cells that a line moves, and by how much; a step of 0 fills up a shorter line. Each line
        raises some cell and lowers another.
    log_odds : ndarray, shape (lines,)
        Sum of step log(mean) over the cells of each line.
    rng : Generator
        Where the randomness comes from.

    Examples
    --------
    >>> counts, steps = np.array([[4], [0], [0], [4]]), np.array([[1], [-1], [-1], [1]])
    >>> int(draw_steps(counts, steps, np.zeros(1), np.random.default_rng(0))[0]) in range(-4, 1)
    True
    """
    most = np.iinfo(np.int64).max
    size = np.maximum(np.abs(steps), 1)
    low = -np.where(steps > 0, counts // size, most).min(axis=0)
    high = np.where(steps < 0, counts // size, most).min(axis=0)
    drawn = np.zeros(len(log_odds), dtype=np.int64)
    few = np.flatnonzero((high > low) & (high - low < _FEW_OUTCOMES))
    drawn[few] = _inverted(counts[:, few], steps[:, few], log_odds[few], low[few], low[few], high[few], rng)
    many = np.flatnonzero(high - low >= _FEW_OUTCOMES)
    if not len(many):
        return drawn
    counts, steps, log_odds, low, high = (
        counts[:, many],
        steps[:, many],
        log_odds[many],
        low[many],
        high[many],
    )
    mode = _mode(counts, steps, log_odds, low, high)
    spread = 1.0 / np.sqrt((steps * steps / (counts + steps * mode + 0.5)).sum(axis=0))
    reach = np.ceil(_REACH * (spread + 1.0)).astype(np.int64)
    low, high = np.maximum(low, mode - reach), np.minimum(high, mode + reach)
    wide = reach > _WIDEST
    for part, draw in ((~wide, _inverted), (wide, _proposed)):
        if part.any():
            at = (counts[:, part], steps[:, part], log_odds[part], mode[part], low[part], high[part])
            drawn[many[part]] = draw(*at, rng)
    return drawn


def _mode(counts: IntArray, steps: IntArray, log_odds: FloatArray, low: IntArray, high: IntArray) -> IntArray:
    """Find the most likely t up to one, by bisection: the logarithm of the probability is concave."""
    while True:
        middle = (low + high) // 2
        if (low == middle).all():
            return middle
        rises = log_odds > (steps * np.log(counts + steps * middle + 0.5)).sum(axis=0)
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)


def _inverted(
    counts: IntArray,
    steps: IntArray,
    log_odds: FloatArray,
    base: IntArray,
    low: IntArray,
    high: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Draw by inversion from the outcomes low to high, by probabilities relative to that of `base`."""
    width = high - low + 1
    ends = np.cumsum(width)
    starts = ends - width
    line = np.repeat(np.arange(len(width)), width)
    outcome = np.arange(int(width.sum())) - starts[line] + low[line]
    log_chance = _log_ratio(counts + steps * base, steps, log_odds, line, outcome - base[line])
    chance = np.exp(log_chance - np.maximum.reduceat(log_chance, starts)[line]) if len(line) else log_chance
    reached = np.concatenate([[0.0], np.cumsum(chance)])
    point = reached[starts] + rng.random(len(width)) * (reached[ends] - reached[starts])
    place = np.clip(np.searchsorted(reached, point, side="right") - 1, starts, ends - 1)
    found: IntArray = outcome[place]
    return found


def _proposed(
    counts: IntArray,
    steps: IntArray,
    log_odds: FloatArray,
    mode: IntArray,
    low: IntArray,
    high: IntArray,
    rng: np.random.Generator,
) -> IntArray:
    """Move from t = 0 by proposals from Student's distribution with 5 degrees of freedom around the mode.

    A point y of the real line stands for the whole number next to it, so that the chance of an outcome is
    constant over an interval of length 1, and densities of the proposal can be compared.
    """
    at_mode, line = counts + steps * mode, np.arange(len(mode))
    spread = 1.0 / np.sqrt((steps * steps / (at_mode + 0.5)).sum(axis=0))

    def relative_weight(offset: FloatArray) -> FloatArray:
        """Log of the probability minus log of the proposal's density."""
        whole = np.rint(offset).astype(np.int64)
        inside = (whole >= low - mode) & (whole <= high - mode)
        target = _log_ratio(at_mode, steps, log_odds, line, np.where(inside, whole, 0))
        weight: FloatArray = np.where(inside, target, -np.inf) + 3.0 * np.log1p((offset / spread) ** 2 / 5.0)
        return weight

    current = -mode.astype(np.float64)
    outside = (current < low - mode) | (current > high - mode)  # beyond ten deviations: any other is likelier
    current[outside] = 0.0
    for _ in range(_PROPOSALS):
        current = np.rint(current) + rng.random(len(mode)) - 0.5
        proposal = spread * rng.standard_t(5, len(mode))
        accepted = np.log1p(-rng.random(len(mode))) < relative_weight(proposal) - relative_weight(current)
        current = np.where(accepted, proposal, current)
    drawn: IntArray = np.rint(current).astype(np.int64) + mode
    return drawn


def _log_ratio(
    counts: IntArray, steps: IntArray, log_odds: FloatArray, line: IntArray, offset: IntArray
) -> FloatArray:
    """Log of the probability at an offset from the counts, relative to that at the counts."""
    growth = log_growth(counts[:, line], steps[:, line] * offset)
    ratio: FloatArray = offset * log_odds[line] - growth.sum(axis=0)
    return ratio
