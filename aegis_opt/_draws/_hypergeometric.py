"""Hypergeometric draws from counts, for populations of any size up to 2^53.

Of a population of G good and B bad members, n are taken without replacement: how many of them are good?
NumPy answers for populations below 1e9. Beyond that the draws are made here, by two exact methods:

* *inversion* where the variance is small: the probabilities around the mode, by their recurrence;
* *ratio of uniforms* [1]_ elsewhere: a point under a table mountain hat is accepted with the probability that
  the exact probability function gives.

The second one compares logarithms of p(m + j) / p(m), with m the mode. As a difference of log-factorials of
1e12 that would lose all digits. With N = G + B, the counts a = (m, B - n + m) and b = (G - m, n - m)
that j raises and lowers, z = count + 1/2, and h(t) = (1 + t) log(1 + t) - t, Stirling's series around z gives

    log p(m + j) / p(m) = j log(z_b z_b' / (z_a z_a')) - sum of z h(+-j / z) + differences of 1 / (24 z) ...

in which no large terms cancel: the quotient in the first term is 1 + delta / (z_a z_a') with

    delta = remainder of (n + 1)(G + 1) divided by N + 2, minus (N + 2) / 2,

which whole numbers give exactly, and h has a series without cancellation. What is left is the relative
rounding error of numbers of the size of the result.

References
----------
.. [1] E. Stadlober, "The ratio of uniforms approach for generating discrete random variates", Journal of
   Computational and Applied Mathematics 31 (1990).
"""

from __future__ import annotations

import numpy as np

from aegis_opt._draws._log_factorials import FloatArray, IntArray, correction, excess

_LARGEST_OF_NUMPY = 10**9
"""Population from which NumPy's generator refuses."""

_LEAST_VARIANCE = 25.0
"""Variance from which Stirling's series is exact to rounding error, and rejection faster than inversion."""

_WIDTH = 128
"""Outcomes that inversion looks at on either side of the mode; beyond them the probability is below 1e-25."""

_CHUNK = 4096
"""Draws that inversion makes at a time, to bound its memory."""


def draw_hypergeometric(
    good: IntArray, bad: IntArray, sample: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw how many of `sample` members, taken without replacement, are good; one draw per element.

    Examples
    --------
    >>> good, bad, sample = (np.array([x]) for x in (10**12, 3 * 10**12, 10**12))
    >>> round(draw_hypergeometric(good, bad, sample, np.random.default_rng(0))[0] / 1e9, 2)
    np.float64(250.0)
    """
    large = good + bad >= _LARGEST_OF_NUMPY
    if not large.any():
        return rng.hypergeometric(good, bad, sample)
    drawn = np.empty(len(good), dtype=np.int64)
    small = ~large
    drawn[small] = rng.hypergeometric(good[small], bad[small], sample[small])
    drawn[large] = draw_large(good[large], bad[large], sample[large], rng)
    return drawn


def draw_large(good: IntArray, bad: IntArray, sample: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw without NumPy's generator of this distribution, for populations of any size."""
    population = good + bad
    few = np.minimum(good, bad)  # by symmetry, at most half of the population is good and at most half taken
    taken = np.minimum(sample, population - sample)
    share = few / np.maximum(population, 1)
    rest = (population - taken) / np.maximum(population - 1, 1)
    variance = taken * share * (1.0 - share) * rest
    drawn = np.empty(len(good), dtype=np.int64)
    wide = variance >= _LEAST_VARIANCE
    narrow = np.flatnonzero(~wide)
    for start in range(0, len(narrow), _CHUNK):
        part = narrow[start : start + _CHUNK]
        drawn[part] = _by_inversion(few[part], population[part], taken[part], rng)
    drawn[wide] = _by_rejection(few[wide], population[wide], taken[wide], variance[wide], rng)
    drawn = np.where(good > bad, taken - drawn, drawn)
    return np.where(sample < population - sample, drawn, good - drawn)


def _mode(few: IntArray, population: IntArray, taken: IntArray) -> tuple[IntArray, IntArray]:
    """Quotient and remainder of (taken + 1)(few + 1) by population + 2: the mode, and what `delta` needs."""
    products = [(int(n) + 1) * (int(g) + 1) for n, g in zip(taken, few, strict=True)]  # beyond 64 bits
    pairs = [divmod(product, int(size) + 2) for product, size in zip(products, population, strict=True)]
    mode, remainder = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return mode, remainder


def _by_inversion(few: IntArray, population: IntArray, taken: IntArray, rng: np.random.Generator) -> IntArray:
    """Invert the distribution function, from probabilities relative to that of the mode."""
    mode, _ = _mode(few, population, taken)
    steps = np.arange(_WIDTH)
    k = mode[:, None] + steps  # from k to k + 1, then from k to k - 1
    spare = (population - few - taken)[:, None]
    up = (few[:, None] - k) * ((taken[:, None] - k) / (k + 1.0)) / (spare + k + 1.0)
    k = mode[:, None] - steps
    down = k * ((spare + k) / (few[:, None] - k + 1.0)) / (taken[:, None] - k + 1.0)
    above = np.cumprod(np.maximum(up, 0.0), axis=1)
    below = np.cumprod(np.maximum(down, 0.0), axis=1)
    weights = np.concatenate([below[:, ::-1], np.ones((len(mode), 1)), above], axis=1)
    reached = np.cumsum(weights, axis=1)
    point = rng.random(len(mode)) * reached[:, -1]
    drawn: IntArray = mode - _WIDTH + (reached <= point[:, None]).sum(axis=1)
    return drawn


def _by_rejection(
    few: IntArray, population: IntArray, taken: IntArray, variance: FloatArray, rng: np.random.Generator
) -> IntArray:
    """Ratio of uniforms under Stadlober's table mountain hat."""
    mode, remainder = _mode(few, population, taken)
    ratio = _LogRatio(few, population, taken, mode, remainder)
    products = [
        int(n) * int(g) - int(m) * int(size)
        for n, g, m, size in zip(taken, few, mode, population, strict=True)
    ]
    centre = np.array(products, dtype=np.float64) / population + 0.5  # mean + 1/2, from the mode
    width = 2.0 * np.sqrt(2.0 / np.e) * np.sqrt(variance + 0.5) + 3.0 - 2.0 * np.sqrt(3.0 / np.e)
    drawn = np.empty(len(mode), dtype=np.int64)
    left = np.arange(len(mode))
    while len(left):
        u, v = 1.0 - rng.random(len(left)), rng.random(len(left))
        j = np.floor(centre[left] + width[left] * (v - 0.5) / u)
        inside = (j >= -mode[left]) & (j <= np.minimum(few, taken)[left] - mode[left])
        left_inside, j, u = left[inside], j[inside], u[inside]
        taken_up = 2.0 * np.log(u) <= ratio(left_inside, j)
        drawn[left_inside[taken_up]] = mode[left_inside[taken_up]] + j[taken_up].astype(np.int64)
        done = np.zeros(len(mode), dtype=bool)
        done[left_inside[taken_up]] = True
        left = left[~done[left]]
    return drawn


class _LogRatio:
    """log p(mode + j) / p(mode) of several hypergeometric distributions, to rounding error."""

    def __init__(
        self, few: IntArray, population: IntArray, taken: IntArray, mode: IntArray, remainder: IntArray
    ) -> None:
        raised = np.stack([mode, population - few - taken + mode]) + 0.5
        lowered = np.stack([few - mode, taken - mode]) + 0.5
        delta = (2 * remainder - population - 2) / 2.0
        self.slope = np.log1p(delta / raised[0] / raised[1])
        self.counts = np.concatenate([raised, lowered])
        self.signs = np.array([1.0, 1.0, -1.0, -1.0])[:, None]

    def __call__(self, index: IntArray, j: FloatArray) -> FloatArray:
        """Evaluate it for the distributions `index` at the offsets `j`."""
        z = self.counts[:, index]
        step = self.signs * j
        terms = z * excess(step / z) + correction(z + step) - correction(z)
        ratio: FloatArray = j * self.slope[index] - terms.sum(axis=0)
        return ratio
