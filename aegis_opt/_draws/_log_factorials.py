"""Logarithms of factorials and of binomial chances, by differences that lose no digits for large counts.

log (10^12)! is 2.7e13, so that a difference of two of them has two or three correct decimals left. Stirling's
series gives such differences without the large terms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_LARGE = 100_000
"""Counts from which the logarithm of a factorial, some 1e6, has less than ten correct decimals."""

_FEW = 16
"""Counts from which Stirling's series is exact to rounding error."""


def excess(t: FloatArray) -> FloatArray:
    """(1 + t) log(1 + t) - t for t >= -1, without cancellation near 0.

    With v = t / (2 + t), log(1 + t) = 2 (v + v^3 / 3 + v^5 / 5 + ...), and the first term minus t is t v.
    """
    v = t / (2.0 + t)
    square = v * v
    series = np.zeros_like(t)
    for power in range(17, 1, -2):
        series = series * square + 1.0 / power
    near: FloatArray = t * v + 2.0 * (1.0 + t) * v * square * series
    far = (1.0 + t) * np.log1p(np.maximum(t, -1.0 + 1e-300)) - t
    return np.where(np.abs(t) < 0.1, near, far)


def correction(z: FloatArray) -> FloatArray:
    """What log Gamma(z + 1/2) has beyond z log z - z + log(2 pi) / 2, by its asymptotic series."""
    inverse = 1.0 / (z * z)
    series: FloatArray = (
        -1 / 24 + inverse * (7 / 2880 - inverse * (31 / 40320 - inverse * 127 / 215040))
    ) / z
    return series


def log_growth(counts: IntArray, steps: IntArray) -> FloatArray:
    """Logarithm of (count + step)! / count!, for whole counts and steps that leave them at 0 or above.

    Examples
    --------
    >>> log_growth(np.array([3, 10**12]), np.array([1, 1])).round(4).tolist()
    [1.3863, 27.631]
    """
    from scipy.special import gammaln

    if counts.max(initial=0) < _LARGE and (counts + steps).max(initial=0) < _LARGE:
        direct: FloatArray = gammaln(counts + steps + 1.0) - gammaln(counts + 1.0)
        return direct
    few = np.minimum(counts, counts + steps) < _FEW
    z = np.where(few, _FEW, counts) + 0.5
    step = np.where(few, 0, steps)
    growth = step * np.log(z) + z * excess(step / z) + correction(z + step) - correction(z)
    return np.where(few, gammaln(counts + steps + 1.0) - gammaln(counts + 1.0), growth)


def log_binomial(hits: IntArray, trials: IntArray, chance: FloatArray) -> FloatArray:
    """Logarithm of the binomial probability of so many hits, for 0 < chance < 1 [1]_.

    References
    ----------
    .. [1] C. Loader, "Fast and accurate computation of binomial probabilities" (2000).

    Examples
    --------
    >>> np.exp(log_binomial(np.array([1]), np.array([2]), np.array([0.5]))).round(12).tolist()
    [0.5]
    """
    misses, mean = trials - hits, trials * chance
    inside = (hits > 0) & (misses > 0)
    x, y, n, m = (np.where(inside, value, 1.0) for value in (hits, misses, trials, mean))
    rest = np.where(inside, trials * (1.0 - chance), 1.0)
    away = m * excess((x - m) / m) + rest * excess((y - rest) / rest)
    spread = 0.5 * np.log(n / x / y / (2.0 * np.pi))
    series = _stirling_error(n) - _stirling_error(x) - _stirling_error(y)
    edge = np.where(hits == 0, trials * np.log1p(-chance), trials * np.log(chance))
    return np.where(inside, series - away + spread, edge)


def _stirling_error(count: FloatArray) -> FloatArray:
    """Logarithm of count! minus (count + 1/2) log count - count + log(2 pi) / 2."""
    from scipy.special import gammaln

    few = np.minimum(count, _FEW)
    direct = gammaln(few + 1.0) - (few + 0.5) * np.log(few) + few - 0.5 * np.log(2.0 * np.pi)
    inverse = 1.0 / (count * count)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / count
    return np.where(count < _FEW, direct, series)
