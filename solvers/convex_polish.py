"""From an engine's approximate answer to one that is right to rounding error.

`polish` meets the totals, for every norm. `refine_l2` goes further for least squares: it finds the optimum
itself, because an objective that is right to 1e-10 still allows cells that are off by 1e-5 of their size.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from aegis_opt.problem.margin import FloatArray
from aegis_opt.solvers.convex_stack import Stack

STEPS = 20
_RIDGE = 1e-11  # totals are linearly dependent; small enough that a step removes nearly all of a violation
_LEAST_WEIGHT = 1e-9  # lets a cell that the engine put at 0 move where nothing else can


def polish(data: Stack, cells: FloatArray) -> FloatArray:
    """Move to the totals: the least change relative to each cell's distance from its bounds.

    The least sum of change^2 / weight that meets the totals, with the distance to the nearest bound as
    weight, hardly touches a cell at 0. Repeated, because a cell must not become negative.
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
        step = _normal_solve(data.matrix, weight, missing)
        z = np.clip(z + weight * (step @ data.matrix), lower, upper)
    return best[: data.n_cells]


def refine_l2(
    data: Stack, lower: FloatArray, upper: FloatArray, multipliers: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least sum of (t - v)^2 / m over the totals and lower <= t <= upper, from good multipliers.

    The optimum is t(y) = clip(v + m A'y / 2, lower, upper) for the y whose t(y) meets the totals. Newton's
    method on that piecewise linear equation ends after finitely many steps near the solution
    (Qi and Sun, A nonsmooth version of Newton's method, Math. Prog. 58, 1993).

    Returns
    -------
    cells, multipliers : float arrays
        t(y) and y with the least violation of the totals that was found; the caller judges it.
    """
    A, v, m = data.cell_matrix, data.prior, data.multiplicity

    def missing(y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        free = v + m * (y @ A) / 2
        cells = np.clip(free, lower, upper)
        return cells, data.right - A @ cells, np.where((free > lower) & (free < upper), m / 2, 0.0)

    # cvxpy's interfaces do not agree on the sign of a dual value.
    y = min((multipliers, -multipliers), key=lambda sign: _largest(missing(sign)[1]))
    best, least = y, np.inf
    for _ in range(STEPS):
        _, gap, weight = missing(y)
        violation = _largest(gap)
        if violation < least:
            best, least = y, violation
        if violation <= _enough(data):
            break
        y = y + _normal_solve(A, weight, gap)
    return missing(best)[0], best


def _normal_solve(A: sparse.csr_array, weight: FloatArray, right: FloatArray) -> FloatArray:
    """Solve A diag(weight) A' x = right, regularised."""
    normal = (A * weight) @ A.T
    ridge = _RIDGE * max(1.0, float(normal.diagonal().max()))
    solution: FloatArray = splu((normal + ridge * sparse.eye_array(len(right))).tocsc()).solve(right)
    return solution


def _enough(data: Stack) -> float:
    """Violation that is rounding error."""
    return 1e-13 * max(1.0, _largest(data.right))


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))
