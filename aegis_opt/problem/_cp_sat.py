"""Whole tables that meet totals and linear constraints, as a model for CP-SAT.

It is the one model of the exact solver and of the rounding to the nearest table; they add what to minimise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from aegis_opt._interrupts import interruptible, look_for_ctrl_c
from aegis_opt._native import cp_sat_solver
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._consistency import NO_WHOLE_TABLE
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._margin import FloatArray, IntArray

_DENOMINATOR = 1000
"""Largest denominator of the coefficients of extra constraints."""


@dataclass(frozen=True, eq=False)
class CpSatSolution:
    """What one search found: a table, what it costs, and what every table costs at least."""

    cells: IntArray
    objective: int
    bound: int
    proved: bool  # whether no table costs less


class WholeTables:
    """A CP-SAT model with one variable per cell; callers add variables, costs and limits to `model`.

    `members` (margins x cells) is the total that each cell belongs to, counted through all margins; `lower`
    and `upper` bound the cells. The same seed gives the same table. At the deadline, in seconds of
    `time.monotonic`, building the model ends with `TimeoutError`, and a search with what it has found.
    """

    def __init__(
        self,
        members: IntArray,
        totals: IntArray,
        lower: IntArray,
        upper: IntArray,
        seed: int,
        deadline: float = math.inf,
    ) -> None:
        from aegis_opt._native import cp_model

        self._cp_model = cp_model
        self._seed = seed
        self._deadline = deadline
        self.sum, self.weighted_sum = cp_model.LinearExpr.sum, cp_model.LinearExpr.weighted_sum
        self.model: Any = cp_model.CpModel()
        self.cells = [
            self.variable(least, most) for least, most in zip(lower.tolist(), upper.tolist(), strict=True)
        ]
        changes: list[list[Any]] = [[] for _ in totals]
        for margin in members.tolist():
            for cell, total in zip(self.cells, margin, strict=True):
                changes[total].append(cell)
        for terms, total in zip(changes, totals.tolist(), strict=True):
            self.look_at_the_clock()
            self.model.add(self.sum(terms) == total)

    def variable(self, least: int, most: int) -> Any:
        """Add a whole-number variable to the model."""
        self.look_at_the_clock()
        return self.model.new_int_var(least, most, "")

    def constrain(self, constraint: LinearConstraint, coefficients: FloatArray, fixed: float = 0.0) -> None:
        """Add lower <= coefficients * cells + fixed <= upper, multiplied by the common denominator."""
        fractions = {c: Fraction(c).limit_denominator(_DENOMINATOR) for c in set(coefficients.tolist())}
        factor = math.lcm(*(fraction.denominator for fraction in fractions.values()))
        for c, fraction in fractions.items():
            if abs(float(fraction) - c) > 1e-12 * max(1.0, abs(c)) or factor > _DENOMINATOR**3:
                raise InvalidOption(
                    f"constraint {constraint.name!r} has the coefficient {c!r}: whole tables need fractions "
                    f"with denominators up to {_DENOMINATOR}; round it, or keep fractional tables "
                    "(solver='convex' without a rounding)"
                )
        slack = 1e-9  # bounds such as 0.1 + 0.2 are meant to be reached
        largest = float(2**62)
        bounds = np.array([constraint.lower - slack, constraint.upper + slack]) - fixed
        low, high = np.clip(bounds * factor, -largest, largest).tolist()
        weights = [int(fractions[c] * factor) for c in coefficients.tolist()]
        value = self.weighted_sum(self.cells, weights)
        self.model.add_linear_constraint(value, math.ceil(low), math.floor(high))

    def convex_cost(self, cell: IntArray, width: IntArray, slope: IntArray) -> tuple[Any, list[Any]]:
        """Cost of all cells from pieces of increasing slopes, which a minimum fills in order.

        Each piece belongs to a cell (ascending; a cell without pieces is 0), holds up to `width` records, and
        each of them costs `slope`. Returned are the cost and its variables: the records in each piece.
        """
        parts = [self.variable(0, most) for most in width.tolist()]
        ends = np.searchsorted(cell, np.arange(len(self.cells) + 1)).tolist()
        for variable, first, last in zip(self.cells, ends, ends[1:], strict=False):
            self.look_at_the_clock()
            self.model.add(self.sum(parts[first:last]) == variable)
        return self.weighted_sum(parts, slope.tolist()), parts

    def look_at_the_clock(self) -> None:
        """Raise `TimeoutError` after the deadline, and what Ctrl-C raises."""
        look_for_ctrl_c()
        if time.monotonic() > self._deadline:
            raise TimeoutError

    def search(
        self, objective: Any, hints: Iterable[tuple[Any, int]] = (), *, effort: float = math.inf
    ) -> CpSatSolution | None:
        """Minimise an expression, or find any table where it is None; None where a limit came before any.

        `hints` are a table to begin with. The limits are the deadline and CP-SAT's deterministic time
        (`effort`), a count of work in about seconds.
        """
        self.model.clear_hints()
        for variable, value in hints:
            self.model.add_hint(variable, value)
        if objective is None:
            self.model.clear_objective()
        else:
            self.model.minimize(objective)
        solver = cp_sat_solver()
        solver.parameters.num_workers = 1  # several race each other: the table would depend on the clock
        solver.parameters.random_seed = self._seed % 2**31  # its seeds have 31 bits, ours 32
        left = None
        if self._deadline < math.inf:
            left = max(self._deadline - time.monotonic(), 1e-3)
            solver.parameters.max_time_in_seconds = left
        if effort < math.inf:
            solver.parameters.max_deterministic_time = effort
        model = self.model
        # its own limit is not looked at while a large model is taken in
        try:
            self.look_at_the_clock()
            status = interruptible(lambda: solver.solve(model), solver.stop_search, seconds=left)
        except TimeoutError:
            return None
        if status == self._cp_model.INFEASIBLE:
            raise InfeasibleProblem(NO_WHOLE_TABLE)
        if status == self._cp_model.UNKNOWN:
            return None
        if status not in (self._cp_model.OPTIMAL, self._cp_model.FEASIBLE):
            raise AegisError(f"CP-SAT refused the model: {self.model.validate()}")
        reached = 0 if objective is None else int(solver.value(objective))
        proved = status == self._cp_model.OPTIMAL
        return CpSatSolution(
            cells=np.array([solver.value(cell) for cell in self.cells], dtype=np.int64),
            objective=reached,
            # CP-SAT reports a floating-point number that can be just off the whole one it stands for
            bound=reached if proved else math.ceil(solver.best_objective_bound - 1e-6),
            proved=proved,
        )
