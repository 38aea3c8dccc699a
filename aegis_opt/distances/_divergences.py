"""Kullback-Leibler divergence in both directions, and the Hellinger distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.distances._base import FloatArray
from aegis_opt.distances._separable import SeparableDistance

if TYPE_CHECKING:
    from cvxpy import Expression

_STEEPEST = 500.0  # logarithm up to which exp does not overflow, with room for sums


class KL(SeparableDistance):
    """Kullback-Leibler divergence: sum of x ln(x / u) - x + u, in nats x records.

    Its closest table is the one of most entropy where the prior is uniform, and what iterative proportional
    fitting (raking) finds [1]_.

    References
    ----------
    .. [1] I. Csiszar, "I-divergence geometry of probability distributions and minimization problems", Ann.
       Probab. 3 (1975).

    Examples
    --------
    >>> round(KL().value([[3.0, 1.0]], [[2.0, 2.0]]), 4)
    0.5232
    """

    name = "kl"
    degree = 1.0
    strictly_convex = True
    smooth = True

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        from scipy.special import kl_div

        divergence: FloatArray = kl_div(np.maximum(x, 0.0), u)
        return divergence

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logarithm: FloatArray = np.log(x / u)
        return logarithm

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        fitted: FloatArray = u * np.exp(np.minimum(slope, _STEEPEST))
        return fitted

    def conjugate(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        values: FloatArray = u * np.expm1(np.minimum(slope, _STEEPEST))
        return values

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(b > 0, b * np.log1p(1.0 / b), 0.0)
        slope: FloatArray = rest + np.log((b + 1.0) / u) - 1.0
        return slope

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.kl_div(x, u)


class ReverseKL(SeparableDistance):
    """Kullback-Leibler divergence of the prior from the table: sum of u ln(u / x) - u + x.

    Minimum entropy calibration. It is infinite where a cell is 0.

    Examples
    --------
    >>> round(ReverseKL().value([[3.0, 1.0]], [[2.0, 2.0]]), 4)
    0.5754
    """

    name = "reverse_kl"
    degree = 1.0
    strictly_convex = True
    smooth = True
    finite_at_zero = False

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        from scipy.special import kl_div

        divergence: FloatArray = kl_div(u, np.maximum(x, 0.0))
        return divergence

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            slope: FloatArray = 1.0 - u / x
        return slope

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            fitted: FloatArray = u / np.maximum(1.0 - slope, 0.0)
        return fitted

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.kl_div(u, x)


class Hellinger(SeparableDistance):
    """Squared Hellinger distance: sum of (sqrt(x) - sqrt(u))^2.

    Between the two divergences, and finite everywhere: it forgives a cell of 0, and one where the prior is
    nearly 0.

    Examples
    --------
    >>> Hellinger().value([[4.0, 0.0]], [[1.0, 1.0]])
    2.0
    """

    name = "hellinger"
    degree = 1.0
    strictly_convex = True
    smooth = True

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        squared: FloatArray = (np.sqrt(np.maximum(x, 0.0)) - np.sqrt(u)) ** 2
        return squared

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            slope: FloatArray = 1.0 - np.sqrt(u / x)
        return slope

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            fitted: FloatArray = u / np.maximum(1.0 - slope, 0.0) ** 2
        return fitted

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        slope: FloatArray = 1.0 - 2.0 * np.sqrt(u) / (np.sqrt(b + 1.0) + np.sqrt(b))
        return slope

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return x + u - 2.0 * cp.multiply(np.sqrt(u), cp.sqrt(x))
