"""Iterative proportional fitting: the feasible table of least Kullback-Leibler divergence from the prior.

Algorithm: cyclic scaling of the prior to each margin in turn (Deming and Stephan 1940; Csiszar 1975 shows
the limit minimises the divergence). From a prior that factors within each group, one pass is already exact,
and the result says "closed-form". Overlapping views make it iterate, unless subtraction determines every
cell ("elimination"); on the cells that it leaves open, Newton's method on the dual finishes what a number of
passes do not (`_newton.py`). Where solutions lie on the boundary (cells that tend to 0) both converge
slowly: a linear program then removes the cells that must be 0, and Newton's method goes on.

Newton's method on the dual serves every other distance that is smooth, strictly convex and a sum over cells
as well (`_separable.py`): of the tables that meet the totals, it then finds the one closest in that.

Where a view is noisy, the most likely table is found, by expectation maximisation (`_em.py`).

Good for: every problem without extra linear constraints; the default. Integrality: by rounding afterwards.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt._options import flag, number, whole_number
from aegis_opt.distances import Distance
from aegis_opt.problem._conflict import infeasible, is_infeasible
from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._elimination import eliminate
from aegis_opt.problem._feasibility import SUPPORT_SECONDS, fits, incidence, numbered, support
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction, reduce
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._support import with_support
from aegis_opt.solvers._noisy import require_no_norm
from aegis_opt.solvers._reduced import has_barrier
from aegis_opt.solvers.base import Capabilities, Minimiser, Solution, norms_where
from aegis_opt.solvers.ipf._em import solve_noisy
from aegis_opt.solvers.ipf._newton import maximise_entropy
from aegis_opt.solvers.ipf._separable import solve_separable

SCALING_PASSES = 20  # before Newton's method takes over
FIRST_NEWTON_STEPS = 6  # before a linear program looks for cells that must be 0, unless none is near 0
LARGEST_EXACT = 2.0**53  # whole numbers below are subtracted without rounding
LEAST_SETTLED_SHARE = 1 / 200  # of the open cells: a round of elimination that settles fewer is the last
CLEARLY_POSITIVE = 1e-4  # records in a cell, far above what is left of a total: some feasible table has them


def _takes(distance: Distance) -> bool:
    return distance.separable and distance.smooth and distance.strictly_convex


@dataclass(frozen=True, kw_only=True)
class IPF(Minimiser):
    """Iterative proportional fitting, which says so where it has not converged.

    Parameters
    ----------
    norm : str or Distance
        "kl", the divergence that fitting minimises, or any distance that is smooth, strictly convex and
        separable, which Newton's method on the dual then minimises. Noisy views take no other.
    tolerance : float
        Largest violation of any total, in records, at which the iteration stops; where there is less than one
        record, as a share of it. Totals of N records cannot be met better than about 1e-15 N in floating
        point; the tolerance is raised to 1e-14 N where it is below that.
    max_iterations : int
        Passes (and Newton steps) after which it gives up; the result then says NOT_CONVERGED.
    accelerate : bool
        Whether elimination may come before plain scaling, and Newton's method finish what that has not after
        20 passes. For the divergence, and for noisy views, whose passes an interior-point method finishes.
    time_limit : float, optional
        Seconds for each problem, after which it gives up as after too many passes.

    References
    ----------
    .. [1] W. E. Deming and F. F. Stephan, "On a least squares adjustment of a sampled frequency table when
       the expected marginal totals are known", Ann. Math. Statist. 11 (1940).
    .. [2] I. Csiszar, "I-divergence geometry of probability distributions and minimization problems", Ann.
       Probab. 3 (1975).
    """

    name: ClassVar[str] = "ipf"
    capabilities: ClassVar[Capabilities] = Capabilities(norms=norms_where(_takes), noise=True)
    implied_norm: ClassVar[str | None] = "kl"

    norm: str | Distance = "kl"
    tolerance: float = 1e-9
    max_iterations: int = 10_000
    accelerate: bool = True
    time_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        number("tolerance", self.tolerance, above=0, unit="records")
        whole_number("max_iterations", self.max_iterations, least=1)
        flag("accelerate", self.accelerate)
        if self.time_limit is not None:
            number("time_limit", self.time_limit, above=0, unit="seconds")

    @classmethod
    def takes(cls, distance: Distance) -> bool:
        """Whether it is separable, smooth and strictly convex."""
        return _takes(distance)

    def solve(self, problem: Problem) -> Solution:
        """Fit the prior to the totals."""
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        if problem.noisy:
            require_no_norm(self, "kl")
            return solve_noisy(problem, self.max_iterations, self.accelerate, deadline)
        small = min(1.0, problem.total)  # of less than one record, the tolerances below are shares
        tolerance = max(self.tolerance * small, 1e-14 * problem.total)
        if self.distance_norm != "kl":
            known = with_support(problem, deadline) if has_barrier(self.distance) else problem
            distance = self.distance.for_problem(known)
            found = solve_separable(known, distance, tolerance, self.max_iterations, deadline)
            return found if known is problem else replace(found, distance=distance)
        start = time.perf_counter()
        state = _State.of(problem)
        built = time.perf_counter()
        passes, violation = state.scale(1, tolerance, deadline)
        method = "closed-form"
        if violation > tolerance and passes < self.max_iterations and self.accelerate:
            exact = problem.is_integral and problem.total < LARGEST_EXACT
            if exact and state.eliminate():
                method, violation = "elimination", state.violation()
        if violation > tolerance and passes < self.max_iterations:
            more, violation = state.scale(
                min(SCALING_PASSES, self.max_iterations) - passes, tolerance, deadline
            )
            passes += more
            method = "ipf"
        steps = 0
        if violation > tolerance and self.accelerate and passes < self.max_iterations:
            steps = state.newton(min(FIRST_NEWTON_STEPS, self.max_iterations - passes), tolerance, deadline)
            if not (state.violation() <= tolerance and state.x.min() >= CLEARLY_POSITIVE * small):
                state.drop_empty(problem, deadline)
                steps += state.newton(self.max_iterations - passes - steps, tolerance, deadline)
            method = "newton"
            violation = state.violation()
        if violation > tolerance and passes + steps < self.max_iterations:
            more, violation = state.scale(self.max_iterations - passes - steps, tolerance, deadline)
            passes += more
            method = "ipf"
        if violation > tolerance and time.monotonic() < deadline:
            state.refuse_infeasible(problem)
        gap = state.duality_gap()
        return Solution(
            table=state.table(),
            method=method,
            iterations=passes + steps,
            proved=gap <= 1e-6,
            gap=gap,
            seconds={"build": built - start, "solve": time.perf_counter() - built},
        )


@dataclass(eq=False)
class _State:
    """A fit in progress over the allowed cells of a reduced problem.

    Rows of the same groups in every view, whose priors are multiples of each other, stay multiples of each
    other under scaling: in proportion to the histogram where it is known, to the prior's row sums otherwise.
    They are fitted as one.
    """

    reduction: Reduction
    known: FloatArray  # values of the cells that are settled, 0 elsewhere
    cells: IntArray  # row-major positions of the cells that may be positive and are not settled
    start: FloatArray  # prior of those cells
    x: FloatArray  # current values of those cells
    members: list[IntArray]  # per margin: the total each cell belongs to
    totals: list[FloatArray]  # per margin: known totals
    multipliers: list[FloatArray]  # per margin: logarithm of the accumulated scaling factors

    @classmethod
    def of(cls, problem: Problem) -> _State:
        reduction = reduce(problem, proportional=True)
        start = reduction.class_prior().ravel()[reduction.cells]
        return cls(
            reduction=reduction,
            known=np.zeros(reduction.shape),
            cells=reduction.cells,
            start=start,
            x=start.copy(),
            members=reduction.members_by_margin,
            totals=[margin.totals.ravel() for margin in reduction.margins],
            multipliers=[np.zeros(size) for size in reduction.sizes],
        )

    def scale(self, passes: int, tolerance: float, deadline: float = math.inf) -> tuple[int, float]:
        """Scale to each margin in turn, at least once; return the passes done and the violation left."""
        for done in range(1, passes + 1):
            look_for_ctrl_c()
            for member, total, multiplier in zip(self.members, self.totals, self.multipliers, strict=True):
                current = np.bincount(member, weights=self.x, minlength=len(total))
                factor = np.divide(total, current, out=np.ones_like(total), where=current > 0)
                self.x *= factor[member]
                multiplier[factor > 0] += np.log(factor[factor > 0])
            violation = self.violation()
            if violation <= tolerance or time.monotonic() > deadline:
                return done, violation
        return passes, violation

    def violation(self) -> float:
        """Largest difference between a known total and the current one."""
        return max(
            float(np.abs(np.bincount(member, weights=self.x, minlength=len(total)) - total).max())
            for member, total in zip(self.members, self.totals, strict=True)
        )

    def eliminate(self) -> bool:
        """Settle the cells that follow from whole totals by subtraction; return whether there were any.

        Where subtraction finds totals that contradict each other, all is left as it was, and for others to
        explain.
        """
        members = numbered(self.members, self._sizes)
        found = eliminate(members, np.concatenate(self.totals), least_share=LEAST_SETTLED_SHARE)
        if found.open_cells.all() or not found.agrees:
            return False
        self.known.flat[self.cells] = found.values
        self._keep(found.open_cells)
        self.totals = self._per_margin(found.left)
        self.multipliers = [np.zeros(size) for size in self._sizes]
        self.x = self.start.copy()
        return True

    def drop_empty(self, problem: Problem, deadline: float) -> None:
        """Remove the cells that are 0 in every feasible table; there scaling would tend to 0 slowly.

        Where there is no room or no time for the linear program that finds them, none is removed.
        """
        if not fits(self.members):
            return
        try:
            positive = support(*self._system(), seconds=min(SUPPORT_SECONDS, deadline - time.monotonic()))
        except TimeoutError:
            return
        if positive is None:
            self.refuse_infeasible(problem)
        elif not positive.all():
            self._keep(positive)
            self.x = self._from_multipliers()

    def newton(self, steps: int, tolerance: float, deadline: float) -> int:
        """Finish by Newton's method on the dual; return the steps done."""
        A, b = self._system()
        multipliers, self.x, done = maximise_entropy(
            A,
            b,
            self.start,
            np.concatenate(self.multipliers),
            tolerance=tolerance,
            max_steps=min(steps, 200),
            deadline=deadline,
        )
        self.multipliers = self._per_margin(multipliers)
        return done

    def refuse_infeasible(self, problem: Problem) -> None:
        """Raise where the violation that is left cannot be removed by any table."""
        if self.violation() > tolerance(problem) and is_infeasible(problem):
            raise infeasible(problem)

    def duality_gap(self) -> float:
        """Bound on how far the divergence is from its least value, relative to that.

        For multipliers v, the table x = start exp(A'v) has dual value D(x) - v'(A x - b), which bounds the
        least divergence from below whether x is feasible or not.
        """
        slack = 0.0
        for member, total, multiplier in zip(self.members, self.totals, self.multipliers, strict=True):
            excess = np.bincount(member, weights=self.x, minlength=len(total)) - total
            slack += float(np.abs(multiplier * excess).sum())
        records = float(self.x.sum() + self.known.sum())
        return slack / records if records > 0 else 0.0

    def table(self) -> FloatArray:
        """Table of all rows: each class shared among its rows."""
        table = self.known.copy()
        table.flat[self.cells] = self.x
        return self.reduction.expand(table)

    def _keep(self, chosen: BoolArray) -> None:
        """Go on with these cells only."""
        self.cells, self.start = self.cells[chosen], self.start[chosen]
        self.members = [member[chosen] for member in self.members]

    def _system(self) -> tuple[npt.NDArray[np.float64], FloatArray]:
        return incidence(self.members, self._sizes), np.concatenate(self.totals)

    @property
    def _sizes(self) -> list[int]:
        return [len(total) for total in self.totals]

    def _per_margin(self, values: FloatArray) -> list[FloatArray]:
        return np.split(values, np.cumsum(self._sizes)[:-1])

    def _from_multipliers(self) -> FloatArray:
        exponent = np.zeros(len(self.cells))
        for member, multiplier in zip(self.members, self.multipliers, strict=True):
            exponent += multiplier[member]
        fitted: FloatArray = self.start * np.exp(exponent)
        return fitted
