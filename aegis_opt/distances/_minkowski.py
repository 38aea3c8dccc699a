"""The norms of the difference: l1, l2, lp and linf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._options import number
from aegis_opt.distances._base import FloatArray, WeightableDistance
from aegis_opt.distances._separable import SeparableDistance
from aegis_opt.errors import InvalidOption

if TYPE_CHECKING:
    from cvxpy import Expression


def plain(value: float) -> str:
    """Write a number as briefly as it can be read back.

    Examples
    --------
    >>> plain(2.0), plain(1.5)
    ('2', '1.5')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


class L1(SeparableDistance):
    """Sum of absolute differences. Many tables can be closest.

    Examples
    --------
    >>> L1().value([[3.0, 1.0]], [[2.0, 2.0]])
    2.0
    """

    name = "l1"
    degree = 1.0
    program = "linear"

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        difference: FloatArray = np.abs(x - u)
        return difference

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        sign: FloatArray = np.sign(x - u)
        return sign

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        nearest: FloatArray = np.where(slope < -1.0, 0.0, np.where(slope > 1.0, np.inf, u))
        return nearest

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        slope: FloatArray = np.clip(2.0 * (b - u) + 1.0, -1.0, 1.0)
        return slope

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.abs(x - u)


class Lp(SeparableDistance):
    """The p-th root of the sum of abs(x - u)^p, for p > 1.

    The closer p is to 1, the more cells stay at their prior; the larger it is, the more alike are the
    differences.

    Parameters
    ----------
    p : float
        The power, above 1. Powers far from 2 are solved less accurately; the gap of a result tells.

    Examples
    --------
    >>> Lp(3).value([[3.0, 1.0]], [[2.0, 2.0]]), Lp(3).name
    (1.2599210498948732, 'lp=3')
    """

    parameter: str | None = "p"
    strictly_convex = True
    smooth = True

    def __init__(self, p: float = 1.5) -> None:
        if number("p", p) <= 1:
            raise InvalidOption(f"p must be a number above 1, not {p!r}: for p = 1 use the norm 'l1'")
        self.p = self.degree = float(p)
        self.name = f"lp={plain(self.p)}"

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        powers: FloatArray = np.abs(x - u) ** self.p
        return powers

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        difference = x - u
        slope: FloatArray = self.p * np.sign(difference) * np.abs(difference) ** (self.p - 1.0)
        return slope

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        difference = np.sign(slope) * (np.abs(slope) / self.p) ** (1.0 / (self.p - 1.0))
        clipped: FloatArray = np.maximum(u + difference, 0.0)
        return clipped

    def of_sum(self, total: FloatArray) -> FloatArray:
        root: FloatArray = np.maximum(total, 0.0) ** (1.0 / self.p)
        return root

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.power(cp.abs(x - u), self.p)


class L2(Lp):
    """Square root of the sum of squares.

    Examples
    --------
    >>> L2().value([[5.0, 4.0]], [[2.0, 0.0]])
    5.0
    """

    parameter = None
    program = "quadratic"

    def __init__(self) -> None:
        super().__init__(2.0)
        self.name = "l2"

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        squares: FloatArray = (x - u) ** 2
        return squares

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        return 2.0 * (x - u)

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        clipped: FloatArray = np.maximum(u + slope / 2.0, 0.0)
        return clipped

    def of_sum(self, total: FloatArray) -> FloatArray:
        root: FloatArray = np.sqrt(np.maximum(total, 0.0))
        return root

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        return 2.0 * (b - u) + 1.0

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.square(x - u)


class Linf(WeightableDistance):
    """The largest absolute difference. Many tables can be closest.

    Examples
    --------
    >>> Linf().value([[3.0, 1.5]], [[2.0, 2.0]])
    1.0
    """

    name = "linf"
    symmetric = True
    program = "linear"

    def weighted_value(self, table: FloatArray, prior: FloatArray, weights: FloatArray | None) -> float:
        """Largest difference, each times its weight."""
        difference = np.abs(table - prior)
        return float((difference if weights is None else weights * difference).max(initial=0.0))

    def weighted_expression(self, x: Expression, u: FloatArray, weights: FloatArray | None) -> Expression:
        """Largest absolute difference in cvxpy, each times its weight."""
        from aegis_opt._native import cvxpy as cp

        difference = cp.abs(x - u)
        return cp.max(difference if weights is None else cp.multiply(weights, difference))
