"""The nearest whole table where totals overlap: an integer program for CP-SAT."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from aegis_opt.errors import InvalidOption, RoundingImpossible
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem

_COST_UNITS = 2**20
"""Resolution of the cost of a cell, in parts of a record."""

_EFFORT = 20.0
"""Limit of CP-SAT's deterministic time, about seconds; by the wall clock, the load would decide the table."""


def nearest_by_cp_sat(
    problem: Problem, floor: FloatArray, fraction: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Least sum of absolute changes: among floors and ceilings first, then among all whole tables."""
    for free in (False, True):
        found = _solve(problem, floor, fraction, rng, free=free)
        if found is not None:
            return found
    names = ", ".join([m.name for m in independent(problem.margins)] + [c.name for c in problem.constraints])
    raise RoundingImpossible(
        f"no table of whole numbers meets all totals of {names}, although a fractional table does: keep that "
        "one (rounding=None), or use rounding='independent', which does not keep the totals"
    )


def _solve(
    problem: Problem, floor: FloatArray, fraction: FloatArray, rng: np.random.Generator, *, free: bool
) -> FloatArray | None:
    """Solve the integer program; None where it has no solution.

    With x = floor + f, a whole z = floor + up - less + more with 0/1 `up`, and z costs
    abs(z - x) = f + (1 - 2 f) up + less + more. The costs rise with each further record, so a least solution
    never uses `less` or `more` before `up`. Only with `free` are there any `less` and `more`.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    terms: dict[int, list[Any]] = {}
    costs: list[tuple[Any, int]] = []
    movable = np.flatnonzero(fraction)
    if free:
        allowed = np.ones(problem.shape, dtype=bool)
        if problem.structural_zeros is not None:
            allowed &= ~problem.structural_zeros
        for margin in problem.margins:
            allowed &= (margin.totals > 0)[margin.rows][:, margin.columns]
        movable = np.flatnonzero(allowed)
    highest = int(max(margin.totals.max() for margin in problem.margins))
    for cell in rng.permutation(movable).tolist():
        parts: list[Any] = []
        if fraction.flat[cell] > 0:
            parts.append(model.new_bool_var(""))
            costs.append((parts[-1], round((1.0 - 2.0 * fraction.flat[cell]) * _COST_UNITS)))
        if free:
            less = model.new_int_var(0, int(floor.flat[cell]), "")
            more = model.new_int_var(0, highest, "")
            costs += [(less, _COST_UNITS), (more, _COST_UNITS)]
            parts += [-less, more]
        terms[cell] = parts
    for margin in independent(problem.margins):
        missing = (margin.totals - margin.sums(floor)).ravel()
        index = margin.cells()
        changes: list[list[Any]] = [[] for _ in missing]
        for cell, parts in terms.items():
            changes[index[cell]] += parts
        for change, due in zip(changes, missing.astype(np.int64).tolist(), strict=True):
            if not change and due != 0:
                return None
            if change:
                model.add(cp_model.LinearExpr.sum(change) == due)
    for constraint in problem.constraints:
        coefficients, low, high = _whole(constraint)
        at_floor = int((coefficients * floor).sum())
        change = [int(coefficients.flat[c]) * part for c, parts in terms.items() for part in parts]
        model.add_linear_constraint(cp_model.LinearExpr.sum(change), low - at_floor, high - at_floor)
    model.minimize(sum(weight * variable for variable, weight in costs))
    solver = cp_model.CpSolver()
    solver.parameters.random_seed = int(rng.integers(2**31))
    solver.parameters.num_workers = 1  # several workers race: the same seed could give another table
    solver.parameters.max_deterministic_time = _EFFORT
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    if status == cp_model.UNKNOWN:
        raise RoundingImpossible(
            "CP-SAT found no whole table that meets all totals within its effort limit, which does not mean "
            "that there is none: use fewer views, or rounding='independent', which does not keep the totals"
        )
    if status != cp_model.OPTIMAL:
        found, least = (
            fraction.sum() + cost / _COST_UNITS
            for cost in (solver.objective_value, solver.best_objective_bound)
        )
        warnings.warn(
            f"rounding 'nearest' meets every total, but CP-SAT stopped at its effort limit: the table is "
            f"{found:.6g} records away (l1) from the fractional one, the nearest at least {least:.6g}",
            stacklevel=2,
        )
    rounded = floor.copy()
    for cell, parts in terms.items():
        rounded.flat[cell] += sum(solver.value(part) for part in parts)
    return rounded


def _whole(constraint: LinearConstraint) -> tuple[IntArray, int, int]:
    """Coefficients and bounds as the integers CP-SAT works with."""
    if not np.array_equal(constraint.coefficients, np.round(constraint.coefficients)):
        raise InvalidOption(
            f"rounding 'nearest' needs whole coefficients in constraint {constraint.name!r}: multiply it "
            "by a common denominator"
        )
    low, high = np.clip([np.ceil(constraint.lower), np.floor(constraint.upper)], -(2.0**53), 2.0**53)
    return constraint.coefficients.astype(np.int64), int(low), int(high)
