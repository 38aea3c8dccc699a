"""The costs of the cells of a reduced problem, in which some rows are solved as one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis_opt.distances._base import FloatArray
from aegis_opt.distances._separable import SeparableDistance


@dataclass(frozen=True, eq=False)
class CellCosts:
    """Cost of cells that hold the totals t of m rows of the same prior u and weight w: w m cost(t / m, u).

    Sharing a total evenly among its rows costs least, because the cost is convex. Totals can be counted in
    multiples of `scale` records and costs in multiples of `unit`.

    Examples
    --------
    >>> from aegis_opt.distances import L2
    >>> costs = CellCosts(L2(), prior=np.array([1.0]), rows=np.array([2.0]))
    >>> costs.cost(np.array([6.0])).tolist(), costs.inverse(np.array([4.0])).tolist()
    ([8.0], [6.0])
    """

    distance: SeparableDistance
    prior: FloatArray  # of one row, in records
    rows: FloatArray  # m
    weights: FloatArray | float = 1.0
    scale: FloatArray | float = 1.0
    unit: FloatArray | float = 1.0

    def cost(self, totals: FloatArray) -> FloatArray:
        """Cost of each cell."""
        size = self.weights * self.rows / self.unit
        return size * self.distance.cost(totals * (self.scale / self.rows), self.prior)

    def derivative(self, totals: FloatArray) -> FloatArray:
        """Derivative of the cost by the total."""
        size = self.weights * self.scale / self.unit
        return size * self.distance.derivative(totals * (self.scale / self.rows), self.prior)

    def inverse(self, slopes: FloatArray) -> FloatArray:
        """Totals t >= 0 of least cost minus slope times t."""
        size = self.weights * self.scale / self.unit
        return self.rows / self.scale * self.distance.inverse(slopes / size, self.prior)

    def conjugate(self, slopes: FloatArray) -> FloatArray:
        """Largest slope times t minus the cost of t, over t >= 0."""
        size = self.weights * self.scale / self.unit
        return self.weights * self.rows / self.unit * self.distance.conjugate(slopes / size, self.prior)

    def steepest(self) -> FloatArray:
        """Slope that the cost of each cell comes up to, but does not exceed; infinite where there is none."""
        with np.errstate(invalid="ignore"):
            limit = np.broadcast_to(self.derivative(np.full(len(self.prior), np.inf)), self.prior.shape)
        return np.where(np.isnan(limit), np.inf, limit)
