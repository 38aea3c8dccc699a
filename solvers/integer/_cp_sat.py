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
from contextlib import suppress
from typing import Any

import numpy as np

from aegis_opt.distances import Distance
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._consistency import NO_WHOLE_TABLE
from aegis_opt.problem._cp_sat import CpSatSolution, WholeTables
from aegis_opt.problem._least_violation import least_violation
from aegis_opt.problem._linear_program import MOST_SECONDS
from aegis_opt.problem._margin import IntArray
from aegis_opt.problem._presolve import Reduction
from aegis_opt.solvers._reduced import cell_costs
from aegis_opt.solvers.integer._costs import Absolutes, Cost, IntegerSolution, Squares, Target, target
from aegis_opt.solvers.integer._steps import Steps

_EXACT_LAYERS = 64
"""Cells with at most so many layers get one part per layer."""
_FINEST = 2.0**28
"""Parts of a record that a prior is rounded to: beside coefficients of 40 bits, CP-SAT finds no table."""
_LARGEST_COST = 2.0**61
"""Cost of a table up to which CP-SAT's 64-bit sums cannot overflow."""
_STEPS_COST = 2.0**44
"""Cost of a table up to which the costs of other distances than l1, l2 and linf are scaled."""
_MOST_LAYERS = 500_000
"""Layers of all cells together up to which there is room for those costs."""
_ROUNDED = 1e12
"""Records up to which messages advise to round a fractional table: beyond, it may miss its totals by some."""
_MANY = 2**40
"""Records in a cell from which on a first table is looked for near a fractional one."""
_NEAR = 2**20
"""Records that it is looked for around each cell."""
_NEAR_EFFORT = 2.0
"""Effort for that, in CP-SAT's deterministic seconds."""
_TIE_EFFORT = 0.5
"""Effort for breaking ties, in CP-SAT's deterministic seconds: a count of work, not a clock."""


def solve_cp_sat(
    reduction: Reduction, distance: Distance, rng: np.random.Generator, deadline: float = math.inf
) -> IntegerSolution:
    """Find an integer table closest to the prior by CP-SAT, for whole totals.

    Among the closest ones it looks for one closest in l2, where squares fit into 64 bits, and among those for
    a random one; the deadline (seconds of `time.monotonic`) and a fixed effort can end that early, the
    proof of the first objective stands. `TimeoutError` is raised where no table was found.
    """
    search = _Search(reduction, rng, deadline)
    records = float(search.upper.sum(dtype=np.float64)) + 1.0
    small = reduction.problem.total <= _ROUNDED
    other = "solver='convex' " + ("with rounding='nearest'" if small else "without a rounding")
    if records > _LARGEST_COST:
        raise InvalidOption(
            f"solver 'integer' needs CP-SAT for these totals, and {len(search.upper)} cells that may hold "
            f"up to {float(search.upper.max()):.3g} records each leave its 64-bit numbers; use {other}"
        )
    most = float(search.upper.max(initial=0) + reduction.prior.max() + 1.0)
    # Bounds need no sums, squares none of the uniform prior, which is the same for all cells
    largest_uniform = _LARGEST_COST / records if distance.name == "l1" else math.inf
    goal = target(reduction, min(2.0**50 / (2.0 * most * records), _FINEST), largest_uniform)
    squares = Squares.of(reduction, goal, _EXACT_LAYERS)
    squares_fit = 2.0 * most * records * squares.scale <= _LARGEST_COST
    if distance.name == "l2":
        if not squares_fit:
            raise InvalidOption(
                f"solver 'integer' needs CP-SAT for these totals, and squares of {most:.3g} records leave "
                f"its 64-bit numbers; use norm='l1' or 'linf', or {other}"
            )
        slack = search.minimise(squares) / squares.scale
    elif distance.name == "l1":
        slack = search.minimise(Absolutes.of(goal)) / goal.scale
    elif distance.name == "linf":
        slack = search.minimise_largest(goal) / goal.scale
    else:
        costs = cell_costs(reduction, distance)
        steps = Steps.of(costs, goal, search.upper, _STEPS_COST / records, _EXACT_LAYERS)
        norms = "'l1', 'l2' or 'linf'" if squares_fit else "'l1' or 'linf'"
        _require_room(steps, distance, f"norm={norms}, or {other}")
        slack = search.minimise(steps) / steps.factor
    timed_out = slack > 0
    if slack == 0 and distance.name != "l2" and squares_fit:
        with suppress(TimeoutError):
            search.minimise(squares)
    with suppress(TimeoutError):
        search.break_ties()
    error = 0.0
    if distance.name in ("l1", "l2", "linf"):
        error = goal.error(reduction, distance.name)
    else:  # each of the records in which two tables differ is rounded by half a unit at most
        slack += reduction.problem.total / steps.factor
    return IntegerSolution(search.totals, search.rounds, slack, error, timed_out)


def _require_room(steps: Steps, distance: Distance, way_out: str) -> None:
    """Refuse cells of so many layers that there is no room for their costs."""
    layers = int(steps.top.sum())
    if layers > _MOST_LAYERS:
        raise InvalidOption(
            f"solver 'integer' needs CP-SAT for these totals, and the norm {distance.name!r} needs {layers} "
            f"costs there, more than {_MOST_LAYERS}; use {way_out}"
        )


class _Search:
    """The whole tables over the allowed cells, and the best one found so far."""

    def __init__(self, reduction: Reduction, rng: np.random.Generator, deadline: float) -> None:
        self.deadline = deadline
        self.rng = rng
        self.rounds = 0
        self.found = self.finished = False
        self.totals: IntArray = np.zeros(len(reduction.cells), dtype=np.int64)
        self.kept: list[tuple[Cost, int]] = []  # costs minimised so far, with the values to keep
        self.reduction = reduction
        self.members, self.known = reduction.members, np.rint(reduction.totals).astype(np.int64)
        self.upper: IntArray = self.known[self.members].min(axis=0)
        self.seed = int(rng.integers(2**31))
        self.tables = self._tables_between(np.zeros_like(self.upper), self.upper)

    def _tables_between(self, lower: IntArray, upper: IntArray) -> WholeTables:
        """Return the model of all tables whose cells lie between these bounds."""
        reduction = self.reduction
        tables = WholeTables(self.members, self.known, lower, upper, self.seed, self.deadline)
        for constraint in reduction.problem.constraints:
            # A class shares its coefficients, so one row's apply to the class total.
            coefficients = constraint.coefficients[reduction.first].ravel()[reduction.cells]
            tables.constrain(constraint, coefficients)
        return tables

    def minimise(self, cost: Cost) -> float:
        """Minimise a separable convex cost; return how far below the value reached the optimum can be.

        The value reached is kept by all that follows.
        """
        centre = self.totals if self.found else np.minimum(cost.nearest(), self.upper)
        self._find_one()
        constant = int(cost.value(np.zeros_like(centre)).sum())
        # whole numbers throughout: floating-point ones are not exact beyond 2^53
        best = int(cost.value(self.totals).sum())
        bound: float = -np.inf
        layers = cost.layers_around(centre, self.upper)
        while True:
            pieces = cost.tangents(layers, self.upper)
            width = pieces.end - pieces.start
            try:
                estimate, parts = self.tables.convex_cost(pieces.cell, width, pieces.slope)
            except TimeoutError:
                if bound == -np.inf:  # this cost has not been minimised at all
                    raise
                break
            filled = np.clip(self.totals[pieces.cell] - pieces.start, 0, width)
            found = self._run(estimate, zip(parts, filled.tolist(), strict=True))
            if found is None:
                break
            totals = found.cells
            bound = max(bound, found.bound + constant)
            reached = int(cost.value(totals).sum())
            if reached < best and self._keeps(totals):
                self.totals, best = totals, reached
            if best <= bound or not self.finished:
                break
            layers = np.concatenate([layers, cost.layers_around(totals, self.upper)])
        self.tables.model.add(estimate <= best - constant)
        self.kept.append((cost, best))
        return best - bound

    def minimise_largest(self, goal: Target) -> float:
        """Minimise the largest distance of a row to the prior; return as `minimise` does.

        Tables within a distance are those whose cells lie between two bounds. Bisection finds the least
        distance within which there is one, without the large coefficients that a sum of distances needs.
        """
        self._find_one()
        least, most = goal.closed, goal.largest(self.totals)
        while least < most:
            middle = (least + most) // 2
            lower, upper = goal.within(middle, self.upper)
            try:
                if (lower > upper).any():
                    raise InfeasibleProblem(NO_WHOLE_TABLE)
                found = self._tables_between(lower, upper).search(None)
                self.rounds += 1
            except InfeasibleProblem:
                least = min(goal.beyond(middle), most)
                continue
            except TimeoutError:
                found = None
            if found is None:
                break
            self.totals = found.cells
            most = goal.largest(self.totals)
        self.finished = least == most
        with suppress(TimeoutError):  # which leaves no time for ties either
            self.tables = self._tables_between(*goal.within(most, self.upper))
        return float(most - least)

    def _find_one(self) -> None:
        """Find any table, where none is known: beside a cost of large coefficients CP-SAT may find none."""
        if not self.found and not self._find_one_near():
            found = self._run(None)
            assert found is not None  # the first search finds a table or raises
            self.totals = found.cells

    def _find_one_near(self) -> bool:
        """Look for a table near a fractional one: through ranges of 50 bits CP-SAT finds its way slowly."""
        from scipy import sparse

        totals, cells = len(self.known), self.members.shape[1]
        if self.upper.max(initial=0) < _MANY or self.reduction.problem.constraints:
            return False
        ones, of = np.ones(self.members.size), np.tile(np.arange(cells), len(self.members))
        A = sparse.csr_array((ones, (self.members.ravel(), of)), shape=(totals, cells))
        seconds = min(MOST_SECONDS, self.deadline - time.monotonic())
        try:
            fractional = least_violation(A, self.known.astype(np.float64), seconds=seconds)
        except (AegisError, TimeoutError):  # an engine that gives up, or has no room
            return False
        if fractional is None:
            return False
        centre = np.clip(np.rint(fractional.cells), 0, self.upper).astype(np.int64)
        lower, upper = np.maximum(centre - _NEAR, 0), np.minimum(centre + _NEAR, self.upper)
        try:
            found = self._tables_between(lower, upper).search(None, effort=_NEAR_EFFORT)
        except InfeasibleProblem:  # which says nothing of tables that are farther away
            return False
        self.rounds += 1
        if found is None:
            return False
        self.totals, self.found = found.cells, True
        return True

    def break_ties(self) -> None:
        """Move to a random table among those as good as the one found."""
        heaviest = int(min(1000.0, _LARGEST_COST / (float(self.upper.sum()) + 1.0)))
        weights = self.rng.integers(0, heaviest, size=len(self.totals)).tolist()
        found = self._run(self.tables.weighted_sum(self.tables.cells, weights), effort=_TIE_EFFORT)
        if found is not None and self._keeps(found.cells):
            self.totals = found.cells

    def _run(
        self, objective: Any, hints: Iterable[tuple[Any, int]] = (), effort: float = np.inf
    ) -> CpSatSolution | None:
        """Run CP-SAT; None where time ran out and an earlier table stands."""
        if time.monotonic() > self.deadline and self.found:
            return None
        start = zip(self.tables.cells, self.totals.tolist(), strict=True)
        known = [*start, *hints] if self.found else []
        found = self.tables.search(objective, known, effort=effort)
        self.rounds += 1
        if found is not None:
            self.found, self.finished = True, found.proved
        elif not self.found:
            raise TimeoutError
        return found

    def _keeps(self, totals: IntArray) -> bool:
        """Whether the costs minimised so far are kept: parts not cut finely yet could hide a rise."""
        return all(cost.value(totals).sum() <= best for cost, best in self.kept)
