"""From an engine's approximate answer to one that is right to rounding error.

`reconciled` makes the totals agree exactly before, `polish` meets them after, for every norm. `refine` goes
further where the distance is smooth and strictly convex, and `least_squares` where ties are broken: they find
the optimum itself, because an objective that is right to 1e-10 still allows cells that are off by 1e-5 of
their size. `refine_within` does so where there are two-sided constraints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.solvers._dual import maximise_dual
from aegis_opt.solvers._totals import STEPS, enough, largest, move_to_totals, normal_solve
from aegis_opt.solvers.convex._stack import Bounds, Stack

Refine = Callable[[Stack, FloatArray], tuple[FloatArray, FloatArray]]

_MOST_STEPS = 400


def reconciled(data: Stack, deadline: float = math.inf) -> Stack:
    """Remove rounding error from totals that are not whole numbers: the nearest ones that agree exactly.

    Totals count as agreeing within a tolerance, but to an engine the slightest contradiction between
    redundant equations is one. At the deadline, the totals stay as they are.
    """
    if all(reduction.problem.is_integral for reduction in data.reductions):
        return data
    nearest = np.zeros(len(data.right))
    for _ in range(2):  # the second round removes what the regularisation of the first one left
        try:
            step = normal_solve(data.matrix, np.ones(data.matrix.shape[1]), data.right - nearest, deadline)
        except TimeoutError:
            return data
        nearest = nearest + data.matrix @ (step @ data.matrix)
    change = np.zeros(data.size)
    np.maximum.at(change, data.row_owner, np.abs(nearest - data.right))
    small = change * data.scale <= [tolerance(reduction.problem) for reduction in data.reductions]
    return replace(data, right=np.where(small[data.row_owner], nearest, data.right))


def polish(data: Stack, cells: FloatArray, deadline: float = math.inf) -> FloatArray:
    """Move to the totals, at the deadline (seconds of `time.monotonic`) as far as they are."""
    lower = np.concatenate([np.zeros(data.n_cells), data.lower])
    upper = np.concatenate([np.full(data.n_cells, np.inf), data.upper])
    cells = np.maximum(cells, 0.0)
    z = np.concatenate([cells, data.slacks(cells)])
    return move_to_totals(data.matrix, data.right, z, lower, upper, deadline)[: data.n_cells]


def refine(data: Stack, multipliers: FloatArray, deadline: float = math.inf) -> tuple[FloatArray, FloatArray]:
    """Find the optimum of a smooth, strictly convex distance from good multipliers, on the dual.

    Returned are cells and multipliers with the least violation of the totals that was found, at the deadline
    at the latest; the caller judges it.
    """
    A, b = data.cell_matrix, data.right

    def dual(y: FloatArray) -> float:
        return float(y @ b) - float(data.costs.conjugate(y @ A).sum())

    # cvxpy's interfaces do not agree on the sign of a dual value, and an engine may have failed.
    zero = np.zeros_like(b)
    best = max((multipliers, -multipliers, zero), key=dual)
    for y in (best, zero):
        y, cells, _ = maximise_dual(
            A, b, data.costs, y, tolerance=10 * enough(b), max_steps=_MOST_STEPS, deadline=deadline
        )
        if best is zero or largest(b - A @ cells) <= 1e4 * enough(b):
            break
    return cells, y


def least_squares(
    data: Stack, bounds: Bounds, multipliers: FloatArray, deadline: float = math.inf
) -> tuple[FloatArray, FloatArray]:
    """Find the cells within bounds of least sum of (t - v)^2 / m that meet the totals, from good multipliers.

    The optimum is the response t to the slopes A'y for the y at which t meets the totals. That equation is
    piecewise linear, and Newton's steps end at its solution (Qi and Sun, A nonsmooth version of Newton's
    method, Math. Prog. 58, 1993). Returned is as in `refine`.
    """
    A, m = data.cell_matrix, data.multiplicity

    def respond(y: FloatArray) -> tuple[FloatArray, FloatArray]:
        free = data.prior + m * (y @ A) / 2
        inside = (free > bounds[0]) & (free < bounds[1])
        return np.clip(free, *bounds), np.where(inside, m / 2, 0.0)

    y = min((multipliers, -multipliers), key=lambda y: largest(data.right - A @ respond(y)[0]))
    best, least = y, np.inf
    for _ in range(STEPS):
        cells, weight = respond(y)
        missing = data.right - A @ cells
        if largest(missing) < least:
            best, least = y, largest(missing)
        if least <= enough(data.right):
            break
        try:
            y = y + normal_solve(A, weight, missing, deadline)
        except TimeoutError:
            break
    return respond(best)[0], best


def refine_within(
    data: Stack, refine: Refine, cells: FloatArray, multipliers: FloatArray, deadline: float = math.inf
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Find the optimum where slacks have bounds, from a good table `cells` and its multipliers.

    An active-set method: the slacks that seem to be held by a bound are put there, the rows of the others
    are left out, `refine` solves what remains, and the guess is corrected where a slack leaves its bounds or
    its multiplier pushes it off its bound. Returned are the cells, the multipliers, and the problems for
    which the guess came to be right: their table is the optimum.
    """
    row_of = data.matrix[:, data.n_cells :].tocsc().indices
    values, empty = data.slacks(cells), np.zeros(0)
    room = np.minimum(values - data.lower, data.upper - values)
    tight = np.abs(multipliers[row_of]) > room
    low = values - data.lower < data.upper - values
    rounding = enough(data.right)
    for _ in range(STEPS):
        right = data.right.copy()
        right[row_of] = np.where(low, data.lower, data.upper)
        used = np.ones(len(right), dtype=bool)
        used[row_of[~tight]] = False
        part = replace(
            data,
            matrix=data.cell_matrix[used],
            right=right[used],
            row_owner=data.row_owner[used],
            slack_owner=np.zeros(0, dtype=np.int64),
            lower=empty,
            upper=empty,
        )
        found, y = refine(part, multipliers[used])
        all_multipliers = np.zeros(len(right))
        all_multipliers[used] = y
        values = (data.cell_matrix @ found)[row_of]
        below, above = values < data.lower - rounding, values > data.upper + rounding
        outside = ~tight & (below | above)
        pushed_off = tight & (all_multipliers[row_of] * np.where(low, 1.0, -1.0) < 0)
        wrong = outside | pushed_off
        if not wrong.any() or time.monotonic() >= deadline:
            break
        low = np.where(outside, below, low)
        tight = tight ^ wrong
    right_guess = np.ones(data.size, dtype=bool)
    right_guess[data.slack_owner[wrong]] = False
    return found, all_multipliers, right_guess
