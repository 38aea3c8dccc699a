"""Exact integer tables by CP-SAT, for any problem: overlapping views, masked labels, extra constraints.

The cost of a cell is convex, so it is a sum of parts with increasing slopes, which a minimum fills in order.
A cell with few layers has one part per layer. In a larger one the parts follow tangents at some
layers, which bound the cost from below; more are added where a solution lies above the bound, until the
least bound meets the cost of a table found, which proves the optimum (outer approximation [1]_).

References
----------
.. [1] M. A. Duran and I. E. Grossmann, "An outer-approximation algorithm for a class of mixed-integer
   nonlinear programs", Mathematical Programming 36 (1986).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction
from aegis_opt.solvers.integer._costs import NO_TABLE, Absolutes, Cost, Outcome, Squares, Target, target

_EXACT_LAYERS = 64
"""Cells with at most so many layers get one part per layer."""
_DENOMINATOR = 1000
"""Largest denominator of the coefficients of extra constraints."""
_TIE_EFFORT = 0.5
"""Effort for breaking ties, in CP-SAT's deterministic seconds: a count of work, not a clock."""


def solve_cp_sat(
    reduction: Reduction, norm: str, rng: np.random.Generator, time_limit: float | None = None
) -> Outcome:
    """Find an integer table closest to the prior by CP-SAT.

    Among the closest ones in l1 or linf it looks for one closest in l2, and among those for a random one; the
    time limit and a fixed effort can end that early, the proof of the first objective stands.

    Parameters
    ----------
    reduction : Reduction
        A problem with whole totals.
    norm : {"l1", "l2", "linf"}
        Distance to the prior.
    rng : numpy.random.Generator
        Breaks the remaining ties.
    time_limit : float, optional
        Seconds.
    """
    search = _Search(reduction, rng, time_limit)
    most = float(search.upper.max(initial=0) + reduction.prior.max() + 1.0)
    goal = target(reduction, 2.0**50 / (2.0 * most * (search.upper.sum() + 1.0)))
    squares = Squares.of(reduction, goal, _EXACT_LAYERS)
    if norm == "l2":
        slack = search.minimise(squares) / squares.scale
    elif norm == "l1":
        slack = search.minimise(Absolutes.of(goal)) / goal.scale
    else:
        slack = search.minimise_largest(goal) / goal.scale
    if slack == 0 and norm != "l2":
        search.minimise(squares)
    search.break_ties()
    return Outcome(search.totals, search.rounds, slack, goal.error(reduction, norm), timed_out=slack > 0)


class _Search:
    """A CP-SAT model of the allowed cells, and the best table found so far."""

    def __init__(self, reduction: Reduction, rng: np.random.Generator, time_limit: float | None) -> None:
        from ortools.sat.python import cp_model

        self.cp_model = cp_model
        self.time_limit = time_limit
        self.deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        self.sum, self.weighted_sum = cp_model.LinearExpr.sum, cp_model.LinearExpr.weighted_sum
        self.rng = rng
        self.seed = int(rng.integers(2**31))
        self.rounds = 0
        self.found = self.finished = False
        self.totals: IntArray = np.zeros(len(reduction.cells), dtype=np.int64)
        self.kept: list[tuple[Cost, int]] = []  # costs minimised so far, with the values to keep
        A, b = reduction.matrix, np.rint(reduction.totals).astype(np.int64)
        members = np.split(A.indices, A.indptr[1:-1])
        self.upper = np.full(A.shape[1], np.iinfo(np.int64).max)
        for total, cells in zip(b, members, strict=True):
            self.upper[cells] = np.minimum(self.upper[cells], total)
        self.model: Any = cp_model.CpModel()
        self.cells = [self.model.new_int_var(0, most, "") for most in self.upper.tolist()]
        for total, cells in zip(b.tolist(), members, strict=True):
            self.model.add(self.sum([self.cells[i] for i in cells]) == total)
        for constraint in reduction.problem.constraints:
            self._constrain(constraint, constraint.coefficients[reduction.first].ravel()[reduction.cells])

    def minimise(self, cost: Cost) -> float:
        """Minimise a separable convex cost; return how far below the value reached the optimum can be.

        The value reached is kept by all that follows.
        """
        centre = self.totals if self.found else np.minimum(cost.nearest(), self.upper)
        constant = int(cost.value(np.zeros_like(centre)).sum())
        best = float(cost.value(self.totals).sum()) if self.found else np.inf
        bound = -np.inf
        layers = cost.layers_around(centre, self.upper)
        while True:
            pieces = cost.tangents(layers, self.upper)
            parts = [self.model.new_int_var(0, room, "") for room in (pieces.end - pieces.start).tolist()]
            ends = np.searchsorted(pieces.cell, np.arange(len(self.cells) + 1)).tolist()
            for cell, first, last in zip(self.cells, ends, ends[1:], strict=False):
                self.model.add(self.sum(parts[first:last]) == cell)
            estimate = self.weighted_sum(parts, pieces.slope.tolist())
            filled = np.clip(self.totals[pieces.cell] - pieces.start, 0, pieces.end - pieces.start)
            solver = self._run(estimate, zip(parts, filled.tolist(), strict=True))
            if solver is None:
                break
            totals = self._values(solver)
            bound = max(bound, math.ceil(solver.best_objective_bound - 1e-6) + constant)
            reached = float(cost.value(totals).sum())
            if reached < best and self._keeps(totals):
                self.totals, best = totals, reached
            if best <= bound or not self.finished:
                break
            layers = np.concatenate([layers, cost.layers_around(totals, self.upper)])
        self.model.add(estimate <= int(best) - constant)
        self.kept.append((cost, int(best)))
        return best - bound

    def minimise_largest(self, goal: Target) -> float:
        """Minimise the largest distance of a row to the prior; return as `minimise` does."""
        largest = self.model.new_int_var(goal.closed, goal.ample(self.upper), "")
        cells = zip(
            self.cells, goal.multiplicity.tolist(), goal.numerator.tolist(), self.upper.tolist(), strict=True
        )
        for cell, m, numerator, most in cells:
            low = high = cell
            if m > 1:  # of m rows that share T as evenly as possible, the least has floor(T / m)
                low, high = (self.model.new_int_var(0, most // m + 1, "") for _ in range(2))
                self.model.add(m * low <= cell)
                self.model.add(m * high >= cell)
            self.model.add(largest >= goal.scale * high - numerator)
            self.model.add(largest >= numerator - goal.scale * low)
        solver = self._run(largest)
        self.totals = self._values(solver)
        reached = float(solver.value(largest))
        self.model.add(largest <= int(reached))
        return reached - float(math.ceil(solver.best_objective_bound - 1e-6))

    def break_ties(self) -> None:
        """Move to a random table among those as good as the one found."""
        weights = self.rng.integers(0, 1000, size=len(self.cells)).tolist()
        solver = self._run(self.weighted_sum(self.cells, weights), effort=_TIE_EFFORT)
        if solver is not None and self._keeps(self._values(solver)):
            self.totals = self._values(solver)

    def _run(self, objective: Any, hints: Iterable[tuple[Any, int]] = (), effort: float = np.inf) -> Any:
        """Run CP-SAT; return it with a solution, or None where time ran out and an earlier one stands."""
        left = self.deadline - time.monotonic()
        if left <= 0 and self.found:
            return None
        self.model.clear_hints()
        if self.found:
            for variable, value in [*zip(self.cells, self.totals.tolist(), strict=True), *hints]:
                self.model.add_hint(variable, value)
        self.model.minimize(objective)
        solver = self.cp_model.CpSolver()
        solver.parameters.num_workers = 1  # several race each other: the table would depend on the clock
        solver.parameters.random_seed = self.seed
        if left < np.inf:
            solver.parameters.max_time_in_seconds = max(left, 1e-3)
        if effort < np.inf:
            solver.parameters.max_deterministic_time = effort
        status = solver.solve(self.model)
        self.rounds += 1
        if status in (self.cp_model.OPTIMAL, self.cp_model.FEASIBLE):
            self.found, self.finished = True, status == self.cp_model.OPTIMAL
            return solver
        if status == self.cp_model.INFEASIBLE:
            raise InfeasibleProblem(NO_TABLE)
        if status != self.cp_model.UNKNOWN:
            raise AegisError(f"CP-SAT refused the model: {self.model.validate()}")
        if not self.found:
            raise AegisError(
                f"CP-SAT found no table within time_limit={self.time_limit:g} seconds; allow more, or use "
                "solver='convex' with a rounding"
            )
        return None

    def _values(self, solver: Any) -> IntArray:
        return np.array([solver.value(cell) for cell in self.cells], dtype=np.int64)

    def _keeps(self, totals: IntArray) -> bool:
        """Whether the costs minimised so far are kept: parts not cut finely yet could hide a rise."""
        return all(cost.value(totals).sum() <= best for cost, best in self.kept)

    def _constrain(self, constraint: LinearConstraint, coefficients: FloatArray) -> None:
        """Add lower <= coefficients * cells <= upper, multiplied by the common denominator."""
        fractions = {c: Fraction(c).limit_denominator(_DENOMINATOR) for c in set(coefficients.tolist())}
        factor = math.lcm(*(fraction.denominator for fraction in fractions.values()))
        for c, fraction in fractions.items():
            if abs(float(fraction) - c) > 1e-12 * max(1.0, abs(c)) or factor > _DENOMINATOR**3:
                raise InvalidOption(
                    f"constraint {constraint.name!r} has the coefficient {c!r}: integer tables need "
                    f"fractions with denominators up to {_DENOMINATOR}; round it, or use solver 'convex'"
                )
        weights = [int(fractions[c] * factor) for c in coefficients.tolist()]
        value = self.weighted_sum(self.cells, weights)
        slack = 1e-9 * factor  # bounds such as 0.1 + 0.2 are meant to be reached
        if constraint.lower > -np.inf:
            self.model.add(value >= math.ceil(constraint.lower * factor - slack))
        if constraint.upper < np.inf:
            self.model.add(value <= math.floor(constraint.upper * factor + slack))
