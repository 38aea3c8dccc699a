"""The Huber distance: squares for small differences, absolute values for large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._options import number
from aegis_opt.distances._base import FloatArray
from aegis_opt.distances._minkowski import plain
from aegis_opt.distances._separable import SeparableDistance

if TYPE_CHECKING:
    from cvxpy import Expression


class Huber(SeparableDistance):
    """Sum of d^2 / 2 where d = abs(x - u) <= delta, of delta (d - delta / 2) beyond [1]_.

    Many tables can be closest, where differences beyond delta can be shared in many ways.

    Parameters
    ----------
    delta : float
        The difference, in records, up to which squares count.

    References
    ----------
    .. [1] P. J. Huber, "Robust estimation of a location parameter", Ann. Math. Statist. 35 (1964).

    Examples
    --------
    >>> Huber(2).value([[6.0, 1.0]], [[2.0, 2.0]]), Huber(2).name
    (6.5, 'huber=2')
    """

    parameter = "delta"
    smooth = True
    program = "quadratic"

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = number("delta", delta, above=0, unit="records")
        self.name = f"huber={plain(self.delta)}"

    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        d = np.abs(x - u)
        near = np.minimum(d, self.delta)
        costs: FloatArray = near * (d - near / 2.0)
        return costs

    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        slope: FloatArray = np.clip(x - u, -self.delta, self.delta)
        return slope

    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        inside = np.maximum(u + slope, 0.0)
        nearest: FloatArray = np.where(slope < -self.delta, 0.0, np.where(slope > self.delta, np.inf, inside))
        return nearest

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        below, above = b - u, b + 1.0 - u
        flat = (below >= self.delta) | (above <= -self.delta)
        slope: FloatArray = np.where(flat, self.delta * np.sign(below), super().step(b, u))
        return slope

    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        from aegis_opt._native import cvxpy as cp

        return cp.huber(x - u, self.delta) / 2.0
