"""From an engine's approximate answer to one that is right to rounding error.

`reconciled` makes the totals agree exactly before, `polish` meets them after, for every norm. `refine` goes
further for l2 and kl: it finds the optimum itself, because an objective that is right to 1e-10 still allows
cells that are off by 1e-5 of their size. `refine_within` does so where there are two-sided constraints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.problem._symmetric import conjugate_gradients, solve_symmetric
from aegis_opt.solvers.convex._stack import Bounds, Stack

if TYPE_CHECKING:
    from scipy import sparse

Response = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

STEPS = 20
_RIDGE = 1e-11  # totals are linearly dependent; small enough that a step removes nearly all of a violation
_QUICK_PRODUCT = 500_000  # entries of a matrix that is multiplied with itself in some tenths of a second
_LEAST_WEIGHT = 1e-9  # lets a cell that the engine put at 0 move where nothing else can


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
            step = _normal_solve(data.matrix, np.ones(data.matrix.shape[1]), data.right - nearest, deadline)
        except TimeoutError:
            return data
        nearest = nearest + data.matrix @ (step @ data.matrix)
    change = np.zeros(data.size)
    np.maximum.at(change, data.row_owner, np.abs(nearest - data.right))
    small = change * data.scale <= [tolerance(reduction.problem) for reduction in data.reductions]
    return replace(data, right=np.where(small[data.row_owner], nearest, data.right))


def polish(data: Stack, cells: FloatArray, deadline: float = math.inf) -> FloatArray:
    """Move to the totals: the least change relative to each cell's distance from its bounds.

    The least sum of change^2 / weight that meets the totals, with the distance to the nearest bound as
    weight, hardly touches a cell at 0. Repeated, because a cell must not become negative. The best table
    found is returned, at the deadline (seconds of `time.monotonic`) at the latest.
    """
    lower = np.concatenate([np.zeros(data.n_cells), data.lower])
    upper = np.concatenate([np.full(data.n_cells, np.inf), data.upper])
    cells = np.maximum(cells, 0.0)
    z = np.concatenate([cells, data.slacks(cells)])
    best, least = z, np.inf
    for _ in range(STEPS):
        missing = data.right - data.matrix @ z
        violation = _largest(missing)
        if violation < least:
            best, least = z, violation
        if violation <= _enough(data):
            break
        weight = np.minimum(z - lower, upper - z) + _LEAST_WEIGHT
        try:
            step = _normal_solve(data.matrix, weight, missing, deadline)
        except TimeoutError:
            break
        z = np.clip(z + weight * (step @ data.matrix), lower, upper)
    return best[: data.n_cells]


def least_squares(data: Stack, bounds: Bounds) -> Response:
    """Cells that minimise (t - v)^2 / m - slope t within bounds, and their derivatives by the slope."""

    def respond(slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        free = data.prior + data.multiplicity * slopes / 2
        inside = (free > bounds[0]) & (free < bounds[1])
        return np.clip(free, *bounds), np.where(inside, data.multiplicity / 2, 0.0)

    return respond


def least_divergence(data: Stack) -> Response:
    """Cells that minimise kl(t, v) - slope t, and their derivatives by the slope."""

    def respond(slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        cells = data.prior * np.exp(np.minimum(slopes, 200.0))
        return cells, cells

    return respond


def refine(
    data: Stack, respond: Response, multipliers: FloatArray, deadline: float = math.inf
) -> tuple[FloatArray, FloatArray]:
    """Find the optimum from good multipliers, by Newton's method on the dual.

    The optimum is the response t to the slopes A'y for the y at which t meets the totals. For least squares
    that equation is piecewise linear, and the steps end at its solution (Qi and Sun, A nonsmooth version of
    Newton's method, Math. Prog. 58, 1993). Returned are t and y with the least violation of the totals that
    was found, at the deadline at the latest; the caller judges it.
    """
    A = data.cell_matrix

    def violation(y: FloatArray) -> float:
        return _largest(data.right - A @ respond(y @ A)[0])

    # cvxpy's interfaces do not agree on the sign of a dual value.
    y = min((multipliers, -multipliers), key=violation)
    best, least = y, np.inf
    for _ in range(STEPS):
        cells, weight = respond(y @ A)
        missing = data.right - A @ cells
        if _largest(missing) < least:
            best, least = y, _largest(missing)
        if least <= _enough(data):
            break
        try:
            y = y + _normal_solve(A, weight, missing, deadline)
        except TimeoutError:
            break
    return respond(best @ A)[0], best


def refine_within(
    data: Stack, respond: Response, cells: FloatArray, multipliers: FloatArray, deadline: float = math.inf
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
    rounding = _enough(data)
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
        found, y = refine(part, respond, multipliers[used], deadline)
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


def _normal_solve(
    A: sparse.csr_array, weight: FloatArray, right: FloatArray, deadline: float = math.inf
) -> FloatArray:
    """Solve A diag(weight) A' x = right, regularised.

    Against the clock, a large matrix is not multiplied out: that alone would take seconds.
    """
    from scipy.sparse import csr_array

    if deadline < math.inf and A.nnz > _QUICK_PRODUCT:
        diagonal = (A * A) @ weight
        ridge = _RIDGE * max(1.0, _largest(diagonal))
        return conjugate_gradients(
            lambda x: A @ (weight * (x @ A)) + ridge * x, diagonal + ridge, right, deadline
        )[0]
    weighted = csr_array((A.data * weight[A.indices], A.indices, A.indptr), shape=A.shape)
    normal = (weighted @ A.T).tocsc()
    diagonal = normal.diagonal()
    normal.setdiag(diagonal + _RIDGE * max(1.0, _largest(diagonal)))
    return solve_symmetric(normal, right, deadline)


def _enough(data: Stack) -> float:
    """Violation that is rounding error."""
    return 1e-13 * max(1.0, _largest(data.right))


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))
