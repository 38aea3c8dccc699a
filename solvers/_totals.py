"""Moving a table that is nearly right to its totals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._symmetric import conjugate_gradients, solve_symmetric

if TYPE_CHECKING:
    from scipy import sparse

STEPS = 20
_RIDGE = 1e-11  # totals are linearly dependent; small enough that a step removes nearly all of a violation
_QUICK_PRODUCT = 500_000  # entries of a matrix that is multiplied with itself in some tenths of a second
_LEAST_WEIGHT = 1e-9  # lets a cell that the engine put at 0 move where nothing else can


def move_to_totals(
    A: sparse.csr_array,
    b: FloatArray,
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    deadline: float = math.inf,
) -> FloatArray:
    """Move z to A z = b within bounds: the least change relative to each cell's distance from its bounds.

    The least sum of change^2 / weight that meets the totals, with the distance to the nearest bound as
    weight, hardly touches a cell at 0. Repeated, because a cell must not become negative. The best table
    found is returned, at the deadline (seconds of `time.monotonic`) at the latest.
    """
    best, least = z, np.inf
    for _ in range(STEPS):
        missing = b - A @ z
        violation = largest(missing)
        if violation < least:
            best, least = z, violation
        if violation <= enough(b):
            break
        weight = np.minimum(z - lower, upper - z) + _LEAST_WEIGHT
        try:
            step = normal_solve(A, weight, missing, deadline)
        except TimeoutError:
            break
        z = np.clip(z + weight * (step @ A), lower, upper)
    return best


def normal_solve(
    A: sparse.csr_array, weight: FloatArray, right: FloatArray, deadline: float = math.inf
) -> FloatArray:
    """Solve A diag(weight) A' x = right, regularised.

    Against the clock, a large matrix is not multiplied out: that alone would take seconds.
    """
    from scipy.sparse import csr_array

    if deadline < math.inf and A.nnz > _QUICK_PRODUCT:
        diagonal = (A * A) @ weight
        ridge = _RIDGE * max(1.0, largest(diagonal))
        return conjugate_gradients(
            lambda x: A @ (weight * (x @ A)) + ridge * x, diagonal + ridge, right, deadline
        )[0]
    weighted = csr_array((A.data * weight[A.indices], A.indices, A.indptr), shape=A.shape)
    normal = (weighted @ A.T).tocsc()
    diagonal = normal.diagonal()
    normal.setdiag(diagonal + _RIDGE * max(1.0, largest(diagonal)))
    return solve_symmetric(normal, right, deadline)


def enough(b: FloatArray) -> float:
    """Violation of totals that is rounding error."""
    return 1e-13 * max(1.0, largest(b))


def largest(values: FloatArray) -> float:
    """Largest absolute value."""
    return float(np.abs(values).max(initial=0.0))
