"""Independent binomial counts, given their sum: drawn exactly, in time that grows with the number of counts.

Counts x_a ~ Binomial(s_a, q_a) are wanted with sum t. Each of the s_a trials of a count is written as a
mixture: with chance c_a it is a *core* trial, which succeeds with a chance q that all counts share, else it
succeeds surely (where q_a > q) or never (where q_a < q). With

    c_a = min(q_a / q, (1 - q_a) / (1 - q))

that is a Bernoulli trial of chance q_a. So the numbers of core trials C_a are drawn first. They leave
h = t - (sure successes) for the C = sum of C_a core trials, which has the chance Binomial(C, q)(h): with that
chance, relative to the largest one, the C_a are accepted, else drawn again. The h successes then fall on
the core trials in random order, which is a hypergeometric draw.

The core holds min(q / q_a, (1 - q) / (1 - q_a)) of the variance of each count, at least half of it for
q = 1/2. Of large sums, about two of three attempts or more are therefore accepted, however many counts there
are, once the chances are tilted so that the sum has the mean t; of small ones, about one of ten. Tilting,
q_a / (1 - q_a) times a factor that all counts share, does not change their distribution given the sum.
"""

from __future__ import annotations

import numpy as np

from aegis_opt._draws import deal, log_binomial
from aegis_opt._interrupts import look_up
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray

_TILTS = 60  # Newton steps at most; from any start less than 20 were ever needed
_SURE = 36.0  # exp(-36) = 2e-16: the chance of fewer core trials than the acceptance is prepared for


def draw_given_sums(
    trials: IntArray, chance: FloatArray, groups: IntArray, sums: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw binomial counts, given their sum in each group.

    Parameters
    ----------
    trials, chance : ndarray, shape (n,)
        Of each count. Some counts within their trials must have the sums; those of chance 0 or 1 are fixed.
    groups : ndarray of int, shape (n,)
        The group of each count.
    sums : ndarray of int, shape (number of groups,)
        What the counts of each group add up to.
    rng : Generator
        Where the randomness comes from.

    Examples
    --------
    >>> trials, groups = np.array([5, 5, 3, 3]), np.array([0, 0, 1, 1])
    >>> chance = np.array([0.9, 0.1, 0.5, 0.5])
    >>> drawn = draw_given_sums(trials, chance, groups, np.array([6, 1]), np.random.default_rng(0))
    >>> np.bincount(groups, drawn).tolist()
    [6.0, 1.0]
    """
    drawn = np.where(chance >= 1.0, trials, 0)
    left = sums - _added(groups, drawn, len(sums))
    open_ = (chance > 0.0) & (chance < 1.0) & (trials > 0)
    room = _added(groups, np.where(open_, trials, 0), len(sums))
    drawn[open_ & (left == room)[groups]] = trials[open_ & (left == room)[groups]]
    uncertain = (left > 0) & (left < room)
    rows = np.flatnonzero(open_ & uncertain[groups])
    if len(rows):
        group = (np.cumsum(uncertain) - 1)[groups[rows]]
        drawn[rows] = _draw(trials[rows], chance[rows], group, left[uncertain], rng)
    return drawn


def _added(groups: IntArray, counts: IntArray, n_groups: int) -> IntArray:
    """Sums of whole counts by group, exact beyond 2^53, too."""
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, groups, counts)
    return sums


def _means(groups: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Sums of fractional values by group."""
    sums: FloatArray = np.bincount(groups, values, n_groups)  # type: ignore[assignment]
    return sums


def _draw(
    trials: IntArray, chance: FloatArray, group: IntArray, sums: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw where every chance and every sum is inside its bounds."""
    size = len(sums)
    chance = _tilted(trials, chance, group, sums)
    shared = _shared(trials, chance, group, size)
    above = chance > shared[group]
    ratio = np.where(above, (1.0 - chance) / (1.0 - shared[group]), chance / shared[group])
    core, hits = _core_trials(trials, np.minimum(ratio, 1.0), above, group, sums, shared, rng)
    labels = np.stack([hits, _added(group, core, size) - hits], axis=1)
    drawn: IntArray = np.where(above, trials - core, 0) + deal(group, labels, core, rng)[:, 0]
    return drawn


def _core_trials(
    trials: IntArray,
    core_chance: FloatArray,
    above: BoolArray,
    group: IntArray,
    sums: IntArray,
    shared: FloatArray,
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Draw the core trials of each count, and the successes that they need in each group, by rejection."""
    size = len(sums)
    expected = _means(group, trials * core_chance, size)
    others = _means(group, trials * (1.0 - core_chance), size)
    fewest = _fewest(expected, others, _added(group, trials, size))
    most = log_binomial(np.floor((fewest + 1) * shared).astype(np.int64), fewest, shared)
    core, hits = np.zeros_like(trials), np.zeros_like(sums)
    rows, pending = np.arange(len(trials)), np.arange(size)
    while len(pending):
        look_up()
        tries = 1 + len(trials) // (4 * len(rows))  # the last few groups get many attempts at once
        attempts = tries * len(pending)
        own = np.searchsorted(pending, group[rows])
        place = own + len(pending) * np.arange(tries)[:, None]
        cores = rng.binomial(trials[rows], core_chance[rows], (tries, len(rows)))
        sure = np.where(above[rows], trials[rows] - cores, 0)
        wanted = np.tile(sums[pending], tries) - _added(place, sure, attempts)
        found = _added(place, cores, attempts)
        inside = np.flatnonzero((wanted >= 0) & (wanted <= found))
        of = pending[inside % len(pending)]
        log_chance = log_binomial(wanted[inside], found[inside], shared[of]) - most[of]
        taken = np.zeros(attempts, dtype=bool)
        taken[inside] = np.log1p(-rng.random(len(inside))) <= log_chance
        by_try = taken.reshape(tries, -1)
        first, done = np.argmax(by_try, axis=0), np.logical_or.reduce(by_try, axis=0)
        hits[pending[done]] = wanted.reshape(tries, -1)[first, np.arange(len(pending))][done]
        core[rows] = cores[first[own], np.arange(len(rows))]
        rows, pending = rows[~done[own]], pending[~done]
    return core, hits


def _tilted(trials: IntArray, chance: FloatArray, group: IntArray, sums: IntArray) -> FloatArray:
    """Multiply the odds of each group by a factor that moves the mean of its sum to within a deviation."""
    size, odds = len(sums), chance / (1.0 - chance)
    tilt = np.zeros(size)
    for _ in range(_TILTS):
        look_up()
        factor = np.exp(tilt)[group]
        chance = odds * factor / (1.0 + odds * factor)
        variance = _means(group, trials * chance * (1.0 - chance), size)
        off = sums - _means(group, trials * chance, size)
        late = np.abs(off) > 0.5 * np.sqrt(variance) + 0.25
        if not late.any():
            break
        tilt += np.where(late, np.clip(off / np.maximum(variance, 1e-300), -2.0, 2.0), 0.0)
    return chance


def _shared(trials: IntArray, chance: FloatArray, group: IntArray, size: int) -> FloatArray:
    """Chance of a core trial in each group: the mean one or 1/2, whichever has more variance in the core."""
    variance = trials * chance * (1.0 - chance)
    mean = _means(group, trials * chance, size) / _means(group, trials.astype(np.float64), size)

    def held(shared: FloatArray) -> FloatArray:
        share = np.minimum(shared[group] / chance, (1.0 - shared[group]) / (1.0 - chance))
        return _means(group, variance * share, size)

    half = np.full(size, 0.5)
    return np.where(held(mean) >= held(half), mean, half)


def _fewest(expected: FloatArray, others: FloatArray, trials: IntArray) -> IntArray:
    """Number of core trials that is missed with a chance of exp(-36) at most, from the expected numbers.

    A sum of independent trials with mean m is at most x < m, or at least x > m, with a chance of at most
    exp(x - m - x log(x / m)). The first is used in a simpler form for the core trials, the second for the
    others.
    """
    from_core = expected - np.sqrt(2.0 * _SURE * expected)
    mean = np.maximum(others, 1e-300)
    most = mean + _SURE / 3.0 + np.sqrt(_SURE * _SURE / 9.0 + 2.0 * _SURE * mean)
    for _ in range(4):  # Newton steps from above: the exponent is convex, so that they stay above
        most -= (most * np.log(most / mean) - most + mean - _SURE) / np.log(most / mean)
    from_others = trials - np.where(others > 0, most, 0.0)
    fewest: IntArray = np.floor(np.maximum(np.maximum(from_core, from_others), 0.0)).astype(np.int64)
    return fewest
