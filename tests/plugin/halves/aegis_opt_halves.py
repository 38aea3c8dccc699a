"""An example of a third-party package: a solver, a measure and a distance for aegis-opt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import aegis_opt as ao
from aegis_opt.distances import SeparableDistance
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution


@dataclass(frozen=True, kw_only=True)
class Halves(Reconstructor):
    """Spread each masked count evenly over its group, then blend with the histogram's shares."""

    name: ClassVar[str] = "halves"
    capabilities: ClassVar[Capabilities] = Capabilities(
        norms=(), keeps_totals=False, several_views=False, masked_label=False
    )

    weight: float = 0.5

    @property
    def distance_norm(self) -> str:
        """The norm of the reported objective."""
        return "l2"

    def solve(self, problem: ao.Problem) -> Solution:
        """Return the blend."""
        view = problem.views[0]
        even = view.joint[view.groups] / np.bincount(view.groups)[view.groups][:, None]
        fitted = np.asarray(ao.reconstruct(problem, "ipf").table)
        return Solution(self.weight * even + (1 - self.weight) * fitted, method="halves")


PURITY = ao.measures.Measure(
    "purity",
    "purity",
    lambda F: np.asarray(F, dtype=float).max(axis=-1).sum(axis=-1) / np.asarray(F).sum(axis=(-2, -1)),
    higher_is_better=True,
    monotone=True,
    channel_monotone=True,
)


class CressieRead(SeparableDistance):
    """Power divergence: sum of 2 / (p (p + 1)) (x ((x / u)^p - 1) - p (x - u)), for p > 0.

    N. Cressie and T. R. C. Read, "Multinomial goodness-of-fit tests", J. R. Statist. Soc. B 46 (1984).
    """

    parameter = "p"
    strictly_convex = True
    smooth = True

    def __init__(self, p: float = 2 / 3) -> None:
        self.p = p
        self.name = f"cressie_read={p:g}"

    def cost(self, x: Any, u: Any) -> Any:
        ratio = np.divide(x, u, out=np.zeros(np.broadcast(x, u).shape), where=np.asarray(u) > 0)
        return 2 / (self.p * (self.p + 1)) * (x * (ratio**self.p - 1) - self.p * (x - u))

    def derivative(self, x: Any, u: Any) -> Any:
        return 2 / self.p * ((x / u) ** self.p - 1)

    def inverse(self, slope: Any, u: Any) -> Any:
        return u * np.maximum(1 + self.p * slope / 2, 0) ** (1 / self.p)

    def cell_expression(self, x: Any, u: Any) -> Any:
        import cvxpy as cp

        power = cp.multiply(u**-self.p, cp.power(x, 1 + self.p))
        return 2 / (self.p * (self.p + 1)) * (power - (1 + self.p) * x + self.p * u)
