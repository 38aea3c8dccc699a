"""The nearest whole table where totals overlap, found by CP-SAT."""

from __future__ import annotations

import warnings

import numpy as np

from aegis_opt._interrupts import current_deadline, look_up
from aegis_opt.errors import InfeasibleProblem, RoundingImpossible
from aegis_opt.problem._cp_sat import WholeTables
from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._margin import BoolArray, FloatArray, open_cells
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem

_COST_UNITS = 2**20
"""Resolution of the cost of a cell, in parts of a record."""

_REACH = 2**20
"""Records that a cell may move by: a whole table, where there is one, is far closer to a fractional one."""

_EFFORT = 20.0
"""Limit of CP-SAT's deterministic time, about seconds; by the wall clock, the load would decide the table."""


def nearest_by_cp_sat(
    problem: Problem, floor: FloatArray, fraction: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Least sum of absolute changes: among floors and ceilings first, then among all whole tables."""
    everywhere = open_cells(problem.margins, problem.structural_zeros)
    for movable, free in ((fraction > 0, False), (everywhere, True)):
        try:
            return _solve(problem, floor, fraction, movable, rng, free=free)
        except InfeasibleProblem:
            continue
    names = ", ".join([m.name for m in independent(problem.margins)] + [c.name for c in problem.constraints])
    raise RoundingImpossible(
        f"no table of whole numbers meets all totals of {names}, although a fractional table does: keep that "
        "one (rounding=None), or use rounding='independent', which does not keep the totals"
    )


def _solve(
    problem: Problem,
    floor: FloatArray,
    fraction: FloatArray,
    movable: BoolArray,
    rng: np.random.Generator,
    *,
    free: bool,
) -> FloatArray:
    """Move the movable cells: to floor or ceil, or where they are `free`, to any whole number.

    With x = floor + f, the cost abs(z - x) of a whole z falls by 1 per record up to the floor, changes by
    1 - 2 f from there to the ceiling, and rises by 1 beyond.
    """
    cells = rng.permutation(np.flatnonzero(movable))  # the seed, not the row order, decides among equals
    down = np.minimum(floor, _REACH if free else 0.0)
    fixed = np.where(movable, floor - down, floor)  # CP-SAT sees what is above: its sums have 64 bits
    margins = list(independent(problem.margins))
    members = numbered([m.cells()[cells] for m in margins], [m.n_groups for m in margins])
    totals = np.concatenate([(m.totals - m.sums(fixed)).ravel() for m in margins]).astype(np.int64)
    lower = down.flat[cells].astype(np.int64)
    slope = np.rint((1.0 - 2.0 * fraction.flat[cells]) * _COST_UNITS).astype(np.int64)
    upper = np.minimum(totals[members].min(axis=0), lower + _REACH) if free else lower + 1
    seed = int(rng.integers(2**31))
    tables = WholeTables(members, totals, np.zeros_like(lower), upper, seed, current_deadline())
    for constraint in problem.constraints:
        coefficients = constraint.coefficients
        tables.constrain(constraint, coefficients.flat[cells], float((coefficients * fixed).sum()))
    if free:
        steep = np.full_like(slope, _COST_UNITS)
        widths = np.stack([lower, np.clip(upper - lower, 0, 1), np.maximum(upper - lower - 1, 0)], axis=1)
        slopes = np.stack([-steep, slope, steep], axis=1)
        cost, _ = tables.convex_cost(np.repeat(np.arange(len(cells)), 3), widths.ravel(), slopes.ravel())
    else:
        cost = tables.weighted_sum(tables.cells, slope.tolist())
    found = tables.search(cost, effort=_EFFORT)
    if found is None:
        look_up()  # where it was the clock that stopped the search
        raise RoundingImpossible(
            "CP-SAT found no whole table that meets all totals within its effort limit, which does not mean "
            "that there is none: use fewer views, or rounding='independent', which does not keep the totals"
        )
    rounded = fixed
    rounded.flat[cells] += found.cells
    if not found.proved:
        away = float(np.abs(rounded - floor - fraction).sum())
        least_away = away - (found.objective - found.bound) / _COST_UNITS
        warnings.warn(
            "rounding 'nearest' meets every total, but CP-SAT stopped at its time or effort limit: the table "
            f"is {away:.6g} records away (l1) from the fractional one, the nearest at least {least_away:.6g}",
            stacklevel=2,
        )
    return rounded
