"""An example of a third-party package: a solver and a measure for aegis-opt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import aegis_opt as ao
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
