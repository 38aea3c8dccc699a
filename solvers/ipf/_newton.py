"""Damped Newton's method on the concave dual of the Kullback-Leibler problem.

The primal, min D(x | p) subject to A x = b, has the dual

    max_v  v'b - sum_i p_i exp((A'v)_i) + sum_i p_i,      x_i = p_i exp((A'v)_i),

with gradient b - A x and Hessian -A diag(x) A'. One variable per known total; the Hessian is sparse and,
because margins share totals, singular along directions that do not move x: a tiny ridge picks one solution.

Where a factor of the Hessian would be too large, the Hessian is not even multiplied out: conjugate gradients
need only what it does to a vector. They are stopped the earlier, the farther the totals are from being met,
which costs no speed of convergence (inexact Newton methods [1]_).

References
----------
.. [1] R. S. Dembo, S. C. Eisenstat and T. Steihaug, "Inexact Newton methods", SIAM Journal on Numerical
   Analysis 19 (1982).
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._symmetric import (
    LARGEST_FILL,
    QUICK_FILL,
    conjugate_gradients,
    largest_fill,
    solve_symmetric,
)

if TYPE_CHECKING:
    from scipy import sparse

RIDGE = 1e-13  # relative to the Hessian's diagonal: below what the gradient can resolve
SUFFICIENT = 1e-4  # share of the predicted ascent that a step must bring
FIRST_ACCURACY = 0.01  # of a step by conjugate gradients, while the totals are far from being met
LONGEST = 20.0  # largest change of a logarithm in one step, against overflow


def maximise_entropy(
    A: sparse.csr_array,
    b: FloatArray,
    p: FloatArray,
    v: FloatArray,
    *,
    tolerance: float,
    max_steps: int,
    deadline: float = math.inf,
) -> tuple[FloatArray, FloatArray, int]:
    """Maximise the dual from the multipliers `v`; return them, the table they stand for, and the steps done.

    The caller checks A x against b: a stop without reaching `tolerance`, as at the deadline (in seconds of
    `time.monotonic`), is not reported as success here.
    """
    from scipy import sparse

    transposed = A.T.tocsr()
    by_factor = A.shape[0] ** 2 <= QUICK_FILL or largest_fill((A @ transposed).T) <= LARGEST_FILL
    x = p * np.exp(transposed @ v)
    best = np.inf
    stalled = 0
    largest = float(np.abs(b).max(initial=1e-300))
    for step in range(max_steps):
        look_for_ctrl_c()
        gradient = b - A @ x
        violation = float(np.abs(gradient).max())
        if violation <= tolerance:
            return v, x, step
        stalled = stalled + 1 if violation >= 0.99 * best else 0
        best = min(best, violation)
        if stalled > 20:  # rounding noise: no step helps any more
            return v, x, step
        sums = b - gradient  # A x, since A is 0 or 1: the diagonal of the Hessian
        diagonal = np.where(sums > 0, (1 + RIDGE) * sums, 1.0)  # 1 where a total has no cell
        accuracy = min(FIRST_ACCURACY, float(np.sqrt(violation / largest)))
        try:
            if by_factor:
                weighted = sparse.csr_array((A.data * x[A.indices], A.indices, A.indptr), shape=A.shape)
                hessian = (weighted @ transposed).T  # symmetric: transposed it is in the format of factors
                hessian.setdiag(diagonal)
                direction = solve_symmetric(hessian, gradient, deadline, accuracy)
            else:
                product = partial(_hessian_times, A, transposed, x, diagonal - sums)
                direction = conjugate_gradients(product, diagonal, gradient, deadline, accuracy)[0]
        except TimeoutError:
            return v, x, step
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


def _hessian_times(
    A: sparse.csr_array, transposed: sparse.csr_array, x: FloatArray, ridge: FloatArray, v: FloatArray
) -> FloatArray:
    product: FloatArray = A @ (x * (transposed @ v)) + ridge * v
    return product
