"""Damped Newton's method on the concave dual of the Kullback-Leibler problem.

The primal, min D(x | p) subject to A x = b, has the dual

    max_v  v'b - sum_i p_i exp((A'v)_i) + sum_i p_i,      x_i = p_i exp((A'v)_i),

with gradient b - A x and Hessian -A diag(x) A'. One variable per known total; the Hessian is sparse and,
because margins share totals, singular along directions that do not move x: a tiny ridge picks one solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._symmetric import solve_symmetric

if TYPE_CHECKING:
    from scipy import sparse

RIDGE = 1e-13  # relative to the Hessian's diagonal: below what the gradient can resolve
SUFFICIENT = 1e-4  # share of the predicted ascent that a step must bring
LONGEST = 20.0  # largest change of a logarithm in one step, against overflow


def maximise_entropy(
    A: sparse.csr_array,
    b: FloatArray,
    p: FloatArray,
    v: FloatArray,
    *,
    tolerance: float,
    max_steps: int,
) -> tuple[FloatArray, FloatArray, int]:
    """Maximise the dual from the multipliers `v`; return them, the table they stand for, and the steps done.

    The caller checks A x against b: a stop without reaching `tolerance` is not reported as success here.
    """
    from scipy import sparse

    transposed = A.T.tocsr()
    x = p * np.exp(transposed @ v)
    best = np.inf
    stalled = 0
    for step in range(max_steps):
        gradient = b - A @ x
        violation = float(np.abs(gradient).max())
        if violation <= tolerance:
            return v, x, step
        stalled = stalled + 1 if violation >= 0.99 * best else 0
        best = min(best, violation)
        if stalled > 20:  # rounding noise: no step helps any more
            return v, x, step
        weighted = sparse.csr_array((A.data * x[A.indices], A.indices, A.indptr), shape=A.shape)
        hessian = (weighted @ transposed).T  # symmetric: transposed it is in the format of the factorisation
        diagonal = b - gradient  # A x, since A is 0 or 1
        hessian.setdiag(np.where(diagonal > 0, (1 + RIDGE) * diagonal, 1.0))  # 1 where a total has no cell
        direction = solve_symmetric(hessian, gradient)
        change = transposed @ direction
        length = min(1.0, LONGEST / max(float(np.abs(change).max()), 1e-300))
        slope = float(direction @ gradient)
        while length > 1e-12:
            ascent = length * float(direction @ b) - float(x @ np.expm1(length * change))
            if ascent >= SUFFICIENT * length * slope or length * float(np.abs(change).max()) < 1e-9:
                break
            length /= 2
        v = v + length * direction
        x = x * np.exp(length * change)
    return v, x, max_steps
