"""Damped Newton's method on the concave dual of any smooth, strictly convex, separable distance.

The primal, min sum_i f_i(x_i) subject to A x = b, x >= 0, has the dual

    max_v  v'b - sum_i f_i*((A'v)_i),      x_i = the least point of f_i(x) - (A'v)_i x over x >= 0,

with the conjugates f_i* and the gradient b - A x. x is clipped at 0 where the derivative of f there is
finite, so the gradient has kinks, and its slope can be 0 or infinite (lp). The matrix of a step is therefore
A W A' with the *secant* w_i = d_i / (f_i'(x_i + d_i) - (A'v)_i), where d_i is what the cell may have to move
by: it is between 0 and infinity, and tends to the derivative of x_i as the totals are met (a smoothing
Newton method [1]_). A search along the step ensures that the dual rises.

References
----------
.. [1] L. Qi and D. Sun, "A survey of some nonsmooth equations and smoothing Newton methods", in Progress in
   Optimization, Kluwer (1999).
.. [2] W. W. Hager and H. Zhang, "A new conjugate gradient method with guaranteed descent and an efficient
   line search", SIAM Journal on Optimization 16 (2005).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.distances._cells import CellCosts
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._symmetric import solve_symmetric
from aegis_opt.solvers._totals import largest

if TYPE_CHECKING:
    from scipy import sparse

_RIDGE = 1e-13  # relative to the matrix's diagonal: below what the gradient can resolve
_NOISE = 1e-12  # of the dual, relative to it: less is rounding error
_SUFFICIENT = 1e-4  # share of the predicted ascent that a step must bring
_LEAST_MOVE = 1e-7  # relative to a cell and its prior: secants over less are rounding noise
_NEARLY = 1e3  # times the tolerance: what is left is rounding noise where it does not go down soon
_SHORTEST = 1e-10  # step that is worth trying


def maximise_dual(
    A: sparse.csr_array,
    b: FloatArray,
    costs: CellCosts,
    v: FloatArray,
    *,
    tolerance: float,
    max_steps: int,
    deadline: float = math.inf,
) -> tuple[FloatArray, FloatArray, int]:
    """Maximise the dual from the multipliers `v`; return them, the table they stand for, and the steps done.

    Returned is the table of least violation of the totals that was found; the caller judges it.
    """
    from scipy import sparse

    transposed = A.T.tocsr()
    count = np.maximum(A.sum(axis=1), 1.0)
    typical = costs.prior * costs.rows / costs.scale
    slopes = transposed @ v
    x = costs.inverse(slopes)
    if not np.isfinite(x).all():
        v, slopes = np.zeros_like(v), np.zeros_like(slopes)
        x = costs.inverse(slopes)
    value = float(v @ b) - float(costs.conjugate(slopes).sum())
    best, least, highest, stalled = (v, x), np.inf, -np.inf, 0
    for step in range(max_steps):
        look_for_ctrl_c()
        gradient = b - A @ x
        violation = largest(gradient)
        rising = value > highest + _NOISE * abs(value)
        stalled = 0 if violation < 0.99 * least or rising else stalled + 1
        highest = max(highest, value)
        if violation < least:
            best, least = (v, x), violation
        if violation <= tolerance or stalled > (2 if least <= _NEARLY * tolerance else 20):
            return *best, step
        move = np.maximum(transposed @ (np.abs(gradient) / count), _LEAST_MOVE * (x + typical))
        base = np.where(x > 0, costs.derivative(x), slopes)
        weight = move / np.maximum(costs.derivative(x + move) - base, 1e-300)
        weighted = sparse.csr_array((A.data * weight[A.indices], A.indices, A.indptr), shape=A.shape)
        matrix = (weighted @ transposed).T  # symmetric: transposed it is in the format of the factorisation
        diagonal = matrix.diagonal()
        matrix.setdiag(np.where(diagonal > 0, (1 + _RIDGE) * diagonal, 1.0))
        try:
            direction = solve_symmetric(matrix, gradient, deadline)
        except TimeoutError:
            return *best, step
        rise, length = float(direction @ gradient), 1.0
        while True:
            trial = v + length * direction
            trial_slopes = transposed @ trial
            trial_x = costs.inverse(trial_slopes)
            if np.isfinite(trial_x).all():
                trial_value = float(trial @ b) - float(costs.conjugate(trial_slopes).sum())
                if trial_value >= value + _SUFFICIENT * length * rise:
                    break
                level = value - _NOISE * (abs(value) + abs(float(trial @ b)))
                # where the rise is lost in rounding, its derivative tells [2]_
                if trial_value >= level and direction @ (b - A @ trial_x) >= -0.8 * rise:
                    break
            length /= 2
            if length < _SHORTEST:
                return *best, step
        v, slopes, x, value = trial, trial_slopes, trial_x, trial_value
    return *best, max_steps
