"""Randomised response: the true value with some probability, else one of the others at random."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._options import number
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Mask
from aegis_opt.masks._noise import (
    Channel,
    FloatArray,
    IntArray,
    NoiseMask,
    checked_epsilon,
    declared_values,
    domain_of,
    places_of,
    require_room,
)
from aegis_opt.masks._parameters import short_list


@dataclass(frozen=True, repr=False)
class RandomizedResponse(NoiseMask):
    """Each value stays with probability p and becomes one of the n - 1 others with (1 - p) / (n - 1) each.

    That is n-ary randomised response [1]_. It gives local differential privacy with

        epsilon = ln(p (n - 1) / (1 - p)).

    The missing value is one of the n values, if the column has it.

    Parameters
    ----------
    p : float, optional
        Probability of the true value, above 1 / n and at most 1.
    epsilon : float, optional
        In place of p; above 0.
    domain : sequence, optional
        The n values, None for the missing one. By default those of the table that is masked. These depend on
        the data: for local differential privacy in the strict sense, declare values that are public.
    seed : int, optional
        Makes the noise repeatable. Whoever knows the seed can remove the noise: keep it secret. By default
        the noise is new each time.

    References
    ----------
    .. [1] S. L. Warner, "Randomized response: a survey technique for eliminating evasive answer bias", JASA
       60 (1965); P. Kairouz, K. Bonawitz and D. Ramage, "Discrete distribution estimation under local
       privacy", ICML (2016).

    Examples
    --------
    >>> mask = RandomizedResponse(p=0.75, domain=["no", "yes"])
    >>> mask.channel(Domain.of(["no", "yes"])).matrix.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> round(mask.epsilon_for(), 4)
    1.0986
    """

    p: float | None = None
    epsilon: float | None = None
    domain: Iterable[Any] | None = None
    seed: int | None = None

    function: ClassVar[str] = "randomized_response"

    def _normal(self) -> dict[str, Any]:
        if (self.p is None) == (self.epsilon is None):
            raise MaskError("RandomizedResponse takes either p (probability of the true value) or epsilon")
        p = (
            self.p
            if self.p is None
            else number("the p of RandomizedResponse", self.p, above=0, error=MaskError)
        )
        if p is not None and p > 1:
            raise MaskError(f"the p of RandomizedResponse is a probability, at most 1, not {p:g}")
        epsilon = None if self.epsilon is None else checked_epsilon("RandomizedResponse", self.epsilon)
        values = declared_values("RandomizedResponse", self.domain)
        if values is not None and p is not None:
            self._check_p(p, len(values))
        return {"p": p, "epsilon": epsilon, "domain": values, "seed": self._normal_seed()}

    @property
    def declared(self) -> bool:
        """Whether the values are known."""
        return self.domain is not None

    def listed(self) -> tuple[Any, ...]:
        """Return the values, as files list them; it is an error if they are not known yet."""
        if self.domain is None:
            raise self._unfitted()
        return cast("tuple[Any, ...]", self.domain)

    def fitted(self, domain: Domain, counts: npt.ArrayLike) -> Mask:
        """Return the mask with the values of a column, if it does not declare any."""
        del counts
        return self if self.declared else dataclasses.replace(self, domain=domain.to_list())

    def keeps(self, n: int) -> float:
        """Return the probability that one of n values stays."""
        if self.epsilon is not None:
            return 1.0 / (1.0 + (n - 1) * math.exp(-self.epsilon))
        assert self.p is not None
        self._check_p(self.p, n)
        return self.p

    def replaced_share(self, n: int) -> float:
        """Return the probability that a value is replaced by any of the n values, itself included."""
        return min(1.0, (1.0 - self.keeps(n)) * n / (n - 1)) if n > 1 else 0.0

    def channel(self, domain: Domain) -> Channel:
        """Return the channel; see `NoiseMask.channel`."""
        self.check_kind(domain)
        values, labels = domain_of(domain.kind, self.listed())
        places, n = places_of(self, values, domain), len(values)
        require_room(self, n, len(places))
        keep = self.keeps(n)
        T = np.full((n, len(places)), (1.0 - keep) / max(n - 1, 1))
        T[places, np.arange(len(places))] = keep if n > 1 else 1.0
        return Channel(T, tuple(labels))

    def epsilon_for(self, domain: Domain | None = None) -> float:
        """Return ln(p (n - 1) / (1 - p)); see `NoiseMask.epsilon_for`."""
        n = len(domain) if not self.declared and domain is not None else len(self.listed())
        keep = self.keeps(n)
        if n == 1:
            return 0.0
        return math.inf if keep == 1.0 else math.log(keep * (n - 1) / (1.0 - keep))

    def drawn(self, domain: Domain, codes: IntArray, uniform: FloatArray) -> IntArray:
        """Draw masked values; see `NoiseMask.drawn`."""
        values, _ = domain_of(domain.kind, self.listed())
        own = places_of(self, values, domain)[codes]
        n = len(values)
        share = self.replaced_share(n)
        if share == 0.0:
            return own
        other = np.minimum(np.floor(uniform / share * n), n - 1).astype(np.int64)
        return np.where(uniform < share, other, own)

    @staticmethod
    def _check_p(p: float, n: int) -> None:
        if n > 1 and p <= 1 / n:
            raise MaskError(
                f"RandomizedResponse with p={p:g} on {n} values keeps the true value no more often than any "
                f"other: take p above {1 / n:.4g}"
            )

    def __repr__(self) -> str:
        parameters = {name: repr(value) for name, value in self._set_parameters().items()}
        if self.domain is not None:
            parameters["domain"] = short_list(self.listed())
        return f"RandomizedResponse({', '.join(f'{name}={text}' for name, text in parameters.items())})"
