"""Smooth solver: of all tables that meet the totals, the one whose label shares change least along an order.

Maximum entropy makes the shares of the labels constant inside every group: a staircase. Where the attribute
is ordered, the truth seldom is one. With r the histogram and p(y | a) = X(a, y) / r(a), this solver minimises
the roughness of p along the positions of the values (`aegis_opt.distances.Roughness`) over all feasible
tables.

Good for
    numbers, dates and other ordered attributes with more than a few values; several views, masked labels,
    structural zeros.
Not for
    nominal attributes: without positions, or with fewer than three values that have one, it returns the table
    of maximum entropy and says so. Not for extra linear constraints: use solver "convex" with
    norm="roughness".

Ties. Where tables are equally smooth (second differences of one group, masked labels), the one nearest to
the table of maximum entropy is returned: its squared distance, as a mean over the records, is added to the
objective with a weight of 1e-9 times the roughness of a wave (`Roughness.of_a_wave`), on top of `entropy`.

Certificate. Weak duality by own arithmetic (`Quadratic.bound`): `gap` = (objective - bound) / max(objective,
roughness of a wave of one percentage point), the objective being that sum. Optimality counts as proved where
gap <= 1e-6.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from aegis_opt._interrupts import interruptible
from aegis_opt._options import number
from aegis_opt.distances import Distance, Roughness
from aegis_opt.distances._roughness import Curves
from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution
from aegis_opt.solvers.ipf import IPF
from aegis_opt.solvers.reconstruction import MAXIMUM_ENTROPY

PROVED_GAP = 1e-6
TIE_BREAK = 1e-9  # least pull to the table of maximum entropy, in units of a wave's roughness
RESOLUTION = 1e-4  # squared amplitude of a wave: gaps are relative to its roughness or more
ORDINALS = {1: "first", 2: "second", 3: "third"}
NOMINAL = (
    "the attribute is nominal (its values have no positions), so that nothing can be smooth along it: this "
    "is the table of maximum entropy. Give Problem(positions=...) if the values have an order."
)
TOO_FEW = (
    "fewer than three values have a place in the order and records: the smoothest table is that of maximum "
    "entropy."
)


@dataclass(frozen=True, kw_only=True)
class Smooth(Reconstructor):
    """The feasible table that is smoothest along the attribute.

    Parameters
    ----------
    order : int or tuple of int
        Order of the differences, 1 to 3, or several: with order=(1, 2) the roughnesses of both orders, each
        an integral over the unit interval, are added.
    weights : tuple of float, optional
        Weights of several orders; all 1 by default.
    entropy : float
        Weight of the squared distance to the table of maximum entropy, sum of (p - q)^2 over the labels, as
        a mean over the records.
    positions : {"values", "ranks"}
        Whether neighbours are as far apart as their positions say, or all equally far.
    time_limit : float, optional
        Seconds, after which the best table found comes back with status TIME_LIMIT: that of maximum entropy,
        where no other was found.

    Examples
    --------
    >>> from aegis_opt.problem import Problem
    >>> truth = [[9, 1], [8, 2], [6, 4], [5, 5], [3, 7], [1, 9]]
    >>> problem = Problem.from_table(truth, [0, 0, 0, 1, 1, 1], positions=[1, 2, 3, 4, 5, 6])
    >>> Smooth().reconstruct(problem).table.round(2)[:, 0].tolist()
    [8.65, 7.91, 6.44, 4.23, 2.75, 2.02]
    """

    name: ClassVar[str] = "smooth"
    capabilities: ClassVar[Capabilities] = Capabilities(norms=("roughness",))

    order: int | tuple[int, ...] = 1
    weights: tuple[float, ...] | None = None
    entropy: float = 0.0
    positions: Literal["values", "ranks"] = "values"
    time_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("order", "weights"):  # lists, as files and command lines have them
            if isinstance(value := getattr(self, option), list):
                object.__setattr__(self, option, tuple(value))
        _ = self.distance  # checks the options
        number("entropy", self.entropy, least=0)
        if self.time_limit is not None:
            number("time_limit", self.time_limit, above=0, unit="seconds")

    @property
    def distance_norm(self) -> str:
        """The roughness that is minimised."""
        return self.distance.name

    @property
    def distance(self) -> Roughness:
        """The roughness that is minimised."""
        return Roughness(self.order, self.weights, self.positions)

    @property
    def choice(self) -> str:
        """What is smooth about its tables, in words."""
        orders = self.order if isinstance(self.order, tuple) else (self.order,)
        return " and ".join(ORDINALS[order] for order in orders) + " differences"

    @classmethod
    def takes(cls, distance: Distance) -> bool:
        """Whether it is a roughness."""
        return isinstance(distance, Roughness)

    def solve(self, problem: Problem) -> Solution:
        """Find the smoothest table."""
        start = time.perf_counter()
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        fitted = IPF(time_limit=self.time_limit).solve(problem)
        curves = Curves.of_problem(problem)
        if curves is None:
            warning = NOMINAL if problem.positions is None else TOO_FEW
            return replace(fitted, choice=MAXIMUM_ENTROPY, warning=warning)
        stopped = threading.Event()

        def late() -> bool:
            return stopped.is_set() or time.monotonic() > deadline

        work = partial(self._smoothest, problem, curves, fitted, start, late)
        left = None if self.time_limit is None else max(deadline - time.monotonic(), 0.0)
        try:
            return interruptible(work, stopped.set, seconds=left)
        except TimeoutError:  # in the middle of a step
            return replace(fitted, proved=False, gap=None, timed_out=True, choice=self.choice)

    def _smoothest(
        self, problem: Problem, curves: Curves, fitted: Solution, start: float, late: Callable[[], bool]
    ) -> Solution:
        from aegis_opt.solvers.smooth._minimise import minimise
        from aegis_opt.solvers.smooth._program import smooth_program

        roughness = self.distance
        wave = roughness.of_a_wave
        posed = smooth_program(problem, curves, roughness, self.entropy + TIE_BREAK * wave, fitted.table)
        resolution = RESOLUTION * wave
        built = time.perf_counter()
        program = posed.quadratic
        seconds = {"build": built - start}
        if not len(posed.cells):
            return Solution(
                posed.table, "elimination", proved=True, gap=0.0, seconds=seconds, choice=self.choice
            )
        unit = wave / len(curves.rows)
        guess = posed.start(fitted.table)
        outcome = minimise(program, guess, unit=unit, floor=resolution, late=late)
        value, bound = program.value(outcome.point.x), program.bound(outcome.point)
        gap = max(value - bound, 0.0) / max(value, resolution)
        table = posed.filled(np.clip(outcome.point.x, 0.0, program.upper))
        missed = problem.residual(table)
        if missed > tolerance(problem) and problem.residual(fitted.table) < missed:
            value = program.value(guess)
            table, gap = fitted.table, max(value - bound, 0.0) / max(value, resolution)
        return Solution(
            table=table,
            method=outcome.method,
            iterations=outcome.steps,
            proved=gap <= PROVED_GAP,
            gap=gap,
            timed_out=outcome.timed_out and gap > PROVED_GAP,
            choice=self.choice,
            seconds=seconds | {"solve": time.perf_counter() - built},
        )
