"""Noise that is added to whole numbers: geometric (discrete Laplace) or discrete Gaussian."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from aegis_opt._options import number, one_of, whole_number
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Label, Mask
from aegis_opt.masks._noise import Channel, FloatArray, IntArray, NoiseMask, checked_epsilon, require_room

Distribution = Literal["geometric", "discrete_gaussian"]

WIDEST = 10_000
"""Largest high - low: there is a masked value for each whole number between them."""

WIDEST_SCALE = 250_000.0
"""Largest scale of a discrete Gaussian."""
_LEAST_SCALE = 1e-3  # of a discrete Gaussian: the noise is 0 in floating point
_SUMMED = 1_000.0  # scales up to which tails are summed term by term; beyond, by the formula
_TAIL = (
    9.0  # standard deviations after which what is left of a sum of a discrete Gaussian is below 1e-17 of it
)


@dataclass(frozen=True, repr=False)
class AddNoise(NoiseMask):
    """A random whole number is added to each whole number, and what leaves [low, high] is cut off.

    With the scale s, the noise k has the probability

        geometric:          proportional to exp(-|k| / s)         (two-sided geometric, discrete Laplace [1]_)
        discrete_gaussian:  proportional to exp(-k^2 / (2 s^2))   ([2]_)

    Values outside [low, high] are cut off first. Masked values are the whole numbers from low to high. Local
    differential privacy holds among the present values: a missing value stays missing.

    Parameters
    ----------
    distribution : {"geometric", "discrete_gaussian"}
        Of the noise.
    scale : float, optional
        The scale s, above 0.
    epsilon : float, optional
        In place of the scale, which then gives local differential privacy with this epsilon: for geometric
        noise s = (high - low) / epsilon, for Gaussian noise the least scale that gives it.
    low, high : int, optional
        The range of values; by default that of the table that is masked. That depends on the data: for local
        differential privacy in the strict sense, declare a range that is public.
    seed : int, optional
        Makes the noise repeatable. Whoever knows the seed can remove the noise: keep it secret. By default
        the noise is new each time.

    References
    ----------
    .. [1] A. Ghosh, T. Roughgarden and M. Sundararajan, "Universally utility-maximizing privacy mechanisms",
       STOC (2009).
    .. [2] C. L. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy", NeurIPS
       (2020).

    Examples
    --------
    >>> mask = AddNoise("geometric", epsilon=2.0, low=0, high=4)
    >>> mask.noise_scale(), mask.epsilon_for()
    (2.0, 2.0)
    >>> mask.channel(Domain.of([0, 4])).matrix.sum(axis=0).round(12).tolist()
    [1.0, 1.0]
    """

    distribution: Distribution
    scale: float | None = None
    epsilon: float | None = None
    low: int | None = None
    high: int | None = None
    seed: int | None = None

    function: ClassVar[str] = "add_noise"
    kinds: ClassVar[tuple[str, ...]] = ("integer",)
    instead: ClassVar[str] = (
        "round reals to whole numbers or cut them into groups (Bucketize, Blur) first, and use "
        "RandomizedResponse or Pram for other values"
    )

    def _normal(self) -> dict[str, Any]:
        one_of("the distribution of AddNoise", self.distribution, get_args(Distribution), error=MaskError)
        if (self.scale is None) == (self.epsilon is None):
            raise MaskError("AddNoise takes either scale or epsilon")
        scale = self.scale
        if scale is not None:
            scale = number("the scale of AddNoise", scale, above=0, error=MaskError)
            if self.distribution == "discrete_gaussian" and scale > WIDEST_SCALE:
                raise MaskError(
                    f"AddNoise has a scale of {scale:g}, which is too wide to compute: lower it to "
                    f"{WIDEST_SCALE:,.0f} at most"
                )
        epsilon = None if self.epsilon is None else checked_epsilon("AddNoise", self.epsilon)
        bounds: dict[str, int | None] = {"low": self.low, "high": self.high}
        for name, bound in bounds.items():
            if bound is not None:
                bounds[name] = whole_number(
                    f"the {name} of AddNoise", bound, least=-(2**63), most=2**63 - 1, error=MaskError
                )
        low, high = bounds["low"], bounds["high"]
        if low is not None and high is not None:
            if low > high:
                raise MaskError(f"AddNoise needs low <= high, not {low} and {high}")
            if high - low > WIDEST:
                raise self._too_wide(low, high)
        return {"scale": scale, "epsilon": epsilon, **bounds, "seed": self._normal_seed()}

    @property
    def declared(self) -> bool:
        """Whether the range is known."""
        return self.low is not None and self.high is not None

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:
        """Return the mask with the range of a column, where it does not declare one."""
        del counts
        if self.declared:
            return self
        low, high = self.bounds(domain)
        return dataclasses.replace(self, low=low, high=high)

    def bounds(self, domain: Domain | None = None) -> tuple[int, int]:
        """Return the declared range, or that of a domain."""
        low, high = self.low, self.high
        if low is None or high is None:
            if domain is None:
                raise self._unfitted()
            self.check_kind(domain)
            ends = domain.values[[0, -1]].tolist() if len(domain.values) else [0, 0]
            low = ends[0] if low is None else low
            high = max(ends[1], low) if high is None else high
            low = min(low, high)
            if high - low > WIDEST:
                raise self._too_wide(low, high)
        return low, high

    @staticmethod
    def _too_wide(low: int, high: int) -> MaskError:
        return MaskError(
            f"AddNoise has a masked value for each whole number from {low} to {high}, and takes ranges up to "
            f"{WIDEST:,}: declare a narrower range, or cut the values into groups first (Bucketize, Blur)"
        )

    def noise_scale(self, domain: Domain | None = None) -> float:
        """Return the scale of the noise."""
        if self.scale is not None:
            return self.scale
        assert self.epsilon is not None
        low, high = self.bounds(domain)
        width = high - low
        if width == 0:
            return 1.0
        if self.distribution == "geometric":
            return width / self.epsilon
        return _gaussian_scale(width, self.epsilon)

    def epsilon_for(self, domain: Domain | None = None) -> float:
        """Return epsilon for all whole numbers from low to high; see `NoiseMask.epsilon_for`.

        It is infinite where the domain has the missing value, which stays what it is.
        """
        if domain is not None and domain.missing and len(domain.values):
            return math.inf
        low, high = self.bounds(domain)
        return self._epsilon(high - low, self.noise_scale(domain))

    def _epsilon(self, width: int, scale: float) -> float:
        """Largest log-ratio of two probabilities of a masked value: that at an end, from both ends."""
        if width == 0:
            return 0.0
        if self.distribution == "geometric":
            return width / scale
        return _gaussian_epsilon(width, scale)

    def _noise(self, width: int, scale: float) -> FloatArray:
        """Probabilities of the noise -width..width; what is beyond counts to the ends."""
        k = np.arange(-width, width + 1)
        if self.distribution == "geometric":
            ratio = math.exp(-1.0 / scale)
            weights = ratio ** np.abs(k) * (1 - ratio) / (1 + ratio)
            weights[[0, -1]] = ratio**width / (1 + ratio)
            if width == 0:
                weights = np.ones(1)
            return np.asarray(weights / weights.sum())
        if width == 0:
            return np.ones(1)
        weights = _gaussian(np.arange(width), scale)  # k = 0..width - 1
        end = float(_gaussian(np.array([width]), scale)[0]) * _tail_ratio(width, scale)
        weights = np.concatenate([[end], weights[:0:-1], weights, [end]])
        return np.asarray(weights / weights.sum())

    def channel(self, domain: Domain) -> Channel:
        """Return the channel; see `NoiseMask.channel`."""
        self.check_kind(domain)
        low, high = self.bounds(domain if not self.declared else None)
        width = high - low
        own = np.clip(domain.values, low, high) - low
        require_room(self, width + 1, len(own))
        noise = self._noise(width, self.noise_scale(domain))
        T = np.zeros((width + 1, len(own)))
        # row g from value a: noise g - a; the rows at the ends have all that is cut off
        cumulated = np.concatenate([[0.0], np.cumsum(noise)])
        first = width - own
        T[1:width] = sliding_window_view(noise, width + 1)[first].T[1:width]
        T[0] = cumulated[first + 1]
        T[-1] = cumulated[-1] - cumulated[first + width] if width else 1.0
        labels: list[Label] = list(range(low, high + 1))
        if domain.missing:
            T = np.block([[T, np.zeros((width + 1, 1))], [np.zeros((1, len(own))), np.ones((1, 1))]])
            labels.append(None)
        return Channel(T / T.sum(axis=0), tuple(labels))

    def thresholds(self) -> tuple[int, list[float]]:
        """Return the width, and P(noise <= k) for k = -width..width - 1, by which noise is drawn."""
        low, high = self.bounds()
        noise = self._noise(high - low, self.noise_scale())
        return high - low, np.cumsum(noise)[:-1].tolist()

    def drawn(self, domain: Domain, codes: IntArray, uniform: FloatArray) -> IntArray:
        """Draw masked values; see `NoiseMask.drawn`."""
        width, thresholds = self.thresholds()
        low, high = self.bounds()
        own = np.clip(domain.values, low, high) - low
        if domain.missing:
            own = np.append(own, 0)
        noise = np.searchsorted(np.array(thresholds), uniform, side="right") - width
        masked = np.clip(own[codes] + noise, 0, width)
        return np.where(codes == len(domain.values), width + 1, masked).astype(np.int64)


def _gaussian(k: IntArray, scale: float) -> FloatArray:
    """Weights exp(-k^2 / (2 s^2)) of a discrete Gaussian."""
    return np.asarray(np.exp(-((k / max(scale, _LEAST_SCALE)) ** 2) / 2))


def _tail_ratio(j: int, scale: float) -> float:
    """Sum of the weights of all k >= j, divided by that of j.

    For wide noise by the formula of Euler and Maclaurin [1]_, whose next term is below 1e-16 for all j up to
    `WIDEST`.

    References
    ----------
    .. [1] M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), formula 23.1.30.
    """
    if scale <= _SUMMED:
        s = max(scale, _LEAST_SCALE)
        i = np.arange(math.ceil(_TAIL * s) + 1)
        return float(np.exp(-i * (2 * j + i) / (2 * s * s)).sum())
    from scipy.special import erfcx

    slope = j / scale**2
    integral = scale * math.sqrt(math.pi / 2) * float(erfcx(j / scale / math.sqrt(2)))
    return integral + 1 / 2 + slope / 12 - (slope**3 - 3 * slope / scale**2) / 720


def _gaussian_epsilon(width: int, scale: float) -> float:
    """Largest log-ratio of two probabilities of a masked value, with Gaussian noise cut off at the ends."""
    steps = width / scale
    below = float(_gaussian(np.arange(min(width, math.ceil(_TAIL * scale) + 1)), scale).sum())
    log_odds = math.log(below / _tail_ratio(width, scale)) + steps * steps / 2
    at_the_end = float(np.logaddexp(0.0, log_odds))  # masked value low, from low and from high
    inner = (width - 1) / scale
    return max(at_the_end, inner * inner / 2)  # masked value next to low, from itself and from high


@lru_cache(maxsize=1024)
def _gaussian_scale(width: int, epsilon: float) -> float:
    """Least scale, from 0.001 on, at which Gaussian noise has an epsilon."""
    from scipy.optimize import brentq

    if _gaussian_epsilon(width, WIDEST_SCALE) > epsilon:
        raise MaskError(
            f"AddNoise with epsilon={epsilon:g} needs a scale above {WIDEST_SCALE:,.0f} here, which is too "
            "wide to compute: raise epsilon, or take geometric noise"
        )
    if _gaussian_epsilon(width, _LEAST_SCALE) <= epsilon:
        return _LEAST_SCALE

    def excess(log_scale: float) -> float:
        return math.log(_gaussian_epsilon(width, math.exp(log_scale)) / epsilon)

    ends = math.log(_LEAST_SCALE) - 1e-9, math.log(WIDEST_SCALE) + 1e-9
    scale = math.exp(brentq(excess, *ends, xtol=1e-15, rtol=1e-15))
    while _gaussian_epsilon(width, scale) > epsilon:  # by rounding
        scale *= 1 + 1e-15
    return scale
