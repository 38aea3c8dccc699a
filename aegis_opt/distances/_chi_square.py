"""Chi-square distances: squares relative to the prior (Pearson), or to the table (Neyman)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.distances._base import FloatArray
from aegis_opt.distances._separable import SeparableDistance

if TYPE_CHECKING:
    from cvxpy import Expression


class Pearson(SeparableDistance):
    """Pearson's chi-square: sum of (x - u)^2 / u; the linear method of calibration.

    Examples
    --------
    >>> Pearson().value([[3.0, 1.0]], [[2.0, 2.0]])
    1.0
    """

    name = "chi2"
    degree = 1.0
    strictly_convex = True
    smooth = True
    program = "quadratic"

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return _relative(x - u, u)

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return 2.0 * (x - u) / u

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        clipped: FloatArray = np.maximum(u * (1.0 + slope / 2.0), 0.0)
        return clipped

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        return (2.0 * (b - u) + 1.0) / u

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        root = np.sqrt(u)
        return cp.square(cp.multiply(1.0 / root, x) - root)


class Neyman(SeparableDistance):
    """Neyman's modified chi-square: sum of (x - u)^2 / x. It is infinite where a cell is 0.

    Examples
    --------
    >>> round(Neyman().value([[3.0, 1.0]], [[2.0, 2.0]]), 4)
    1.3333
    """

    name = "neyman"
    degree = 1.0
    strictly_convex = True
    smooth = True
    finite_at_zero = False

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return _relative(x - u, x)

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            slope: FloatArray = 1.0 - (u / x) ** 2
        return slope

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            fitted: FloatArray = u / np.sqrt(np.maximum(1.0 - slope, 0.0))
        return fitted

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return x - 2.0 * u + cp.multiply(u**2, cp.inv_pos(x))


def _relative(difference: FloatArray, size: FloatArray) -> FloatArray:
    """Squares relative to sizes; 0 where both are 0."""
    squares, sizes = np.broadcast_arrays(difference**2, size)
    with np.errstate(divide="ignore"):
        costs: FloatArray = np.divide(squares, sizes, out=np.zeros(squares.shape), where=squares > 0)
    return costs
