"""Sparse symmetric systems, solved within bounds of memory and time.

Chains of totals, such as those of bucketings, are factorised in milliseconds, but conjugate gradients [1]_
need very many steps for them. Totals of groups that cut across each other fill a factor until there is no
room for it, but conjugate gradients need few steps. A bound on the fill tells the two apart.

References
----------
.. [1] M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems", Journal of
   Research of the National Bureau of Standards 49 (1952).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt._interrupts import interruptible
from aegis_opt.problem._margin import FloatArray

if TYPE_CHECKING:
    from scipy import sparse

QUICK_FILL = 5e6  # entries of a factor that take half a second
LARGEST_FILL = 4e7  # entries of a factor that take 1 GB
_STEPS = 500  # of conjugate gradients: where they suit a system, they need less than 100
ACCURACY = 1e-12  # at which they end, relative to the right-hand side


def solve_symmetric(
    matrix: sparse.csc_array, right: FloatArray, deadline: float = math.inf, accuracy: float = ACCURACY
) -> FloatArray:
    """Solve a system with a positive definite matrix, approximately where a factor would be too large.

    Conjugate gradients end where what is left is `accuracy` times the right-hand side. `TimeoutError` is
    raised at the deadline, in seconds of `time.monotonic`. What takes longer hears Ctrl-C.
    """
    if time.monotonic() > deadline:
        raise TimeoutError
    fill = largest_fill(matrix)
    if fill <= QUICK_FILL:
        return _factorised(matrix, right)
    found, exact = conjugate_gradients(lambda x: matrix @ x, matrix.diagonal(), right, deadline, accuracy)
    if exact or fill > LARGEST_FILL or deadline < math.inf:
        return found
    return interruptible(lambda: _factorised(matrix, right))


def largest_fill(matrix: sparse.csc_array) -> int:
    """Bound the entries of a factor: the profile of the matrix in reverse Cuthill-McKee order."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    n = int(matrix.shape[0])
    if n * n <= QUICK_FILL:
        return n * n
    order = reverse_cuthill_mckee(matrix.T, symmetric_mode=True)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    first, starts = place.copy(), matrix.indptr[:-1]
    filled = starts < matrix.indptr[1:]
    first[filled] = np.minimum.reduceat(place[matrix.indices], starts[filled])
    profile: int = np.maximum(place - first, 0).sum().item()
    return profile


def _factorised(matrix: sparse.csc_array, right: FloatArray) -> FloatArray:
    from scipy.sparse.linalg import splu

    factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    solution: FloatArray = factor.solve(right)
    return solution


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    right: FloatArray,
    deadline: float = math.inf,
    accuracy: float = ACCURACY,
) -> tuple[FloatArray, bool]:
    """Solve by conjugate gradients with the diagonal as preconditioner; also tell whether they ended.

    The matrix is given by what it does to a vector. `TimeoutError` is raised at the deadline.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import LinearOperator, cg

    def look_at_the_clock(_: Any) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    n = len(right)
    matrix = LinearOperator((n, n), matvec=product, dtype=np.float64)
    inverse = diags_array(1.0 / diagonal)
    found, info = cg(
        matrix, right, rtol=accuracy, atol=0.0, maxiter=_STEPS, M=inverse, callback=look_at_the_clock
    )
    return found, info == 0
