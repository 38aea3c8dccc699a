"""The sampling baseline of the Aegis paper: masked records draw a raw value at random.

Every record of masked value g and label y draws a value a of the group g, with replacement and independently
of all others, and keeps its label: one multinomial draw of J(g, y) records over the values of g. The chance
of value a is proportional to its histogram count r_a where the histogram is known, else uniform. A prior U
that is not uniform weighs in: r_a U(a, y) / U(a), or U(a, y) without histogram, so that its zeros stay 0.

Good for: a cheap table that varies as real counts do. The view is met exactly; the histogram only on
average, so with one the status is usually VIOLATED. It minimises no distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aegis_opt.problem._consistency import require_whole_totals
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._multinomial import draw_records
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution


@dataclass(frozen=True, kw_only=True)
class Sampling(Reconstructor):
    """Draw the value of each masked record at random within its group.

    Has only the common options. `objective` is reported as "kl", the distance that the expected table
    minimises for the uniform prior.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1], histogram=False)
    >>> result = Sampling(seed=1).reconstruct(problem)
    >>> result.residual, result.table.sum()
    (0.0, np.float64(6.0))
    """

    name: ClassVar[str] = "sampling"
    capabilities: ClassVar[Capabilities] = Capabilities(
        norms=(),
        integer=True,
        keeps_totals=False,
        random=True,
        several_views=False,
        masked_label=False,
    )

    @property
    def distance_norm(self) -> str:
        """The norm in which `objective` is reported."""
        return "kl"

    def solve(self, problem: Problem) -> Solution:
        """Draw one table."""
        require_whole_totals(problem.margins[:1], "solver 'sampling'", "solver='ipf'")
        weights = problem.prior
        if problem.histogram is not None:
            rows = weights.sum(axis=1, keepdims=True)
            weights = np.divide(weights, rows, out=np.zeros(problem.shape), where=rows > 0)
            weights = weights * problem.histogram[:, None]
        rng = np.random.default_rng(self.seed)
        return Solution(draw_records(problem.margins[0], weights, rng), method="sampling")
