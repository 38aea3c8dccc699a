"""Distances that are sums over cells: each is given by the cost of one cell."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.distances._base import BoundDistance, Distance, FloatArray, Posed, WeightableDistance
from aegis_opt.errors import InvalidInput

if TYPE_CHECKING:
    from cvxpy import Expression


class SeparableDistance(WeightableDistance):
    """A distance that is the sum of a convex cost of each cell, or an increasing function of that sum.

    A cell costs cost(x, u) >= 0, and cost(u, u) = 0. All methods take arrays of equal shape (or a number for
    one of them) of x >= 0 and u > 0, and work cell by cell; x may be infinite where a slope is too steep.

    Attributes
    ----------
    degree : float or None
        The power d for which cost(c x, c u) = c^d cost(x, u), where there is one. Engines are then given
        numbers of about 1, however many records there are.

    Examples
    --------
    >>> from aegis_opt.distances import Hellinger
    >>> Hellinger().cost(np.array([4.0]), np.array([1.0])).tolist()
    [1.0]
    """

    separable = True
    symmetric = True
    degree: float | None = None

    @abstractmethod
    def cost(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Cost of each cell; 0 where x = u = 0, infinite where a cell of 0 is too far from its prior."""

    @abstractmethod
    def derivative(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Derivative of the cost by x; at a kink any value between those on both sides."""

    @abstractmethod
    def inverse(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        """The x >= 0 of least cost(x, u) - slope x: where the derivative is `slope`, or 0.

        Where several are least, any of them; infinite where the cost never rises as steeply.
        """

    @abstractmethod
    def cell_expression(self, x: Expression, u: FloatArray) -> Expression:
        """Cost of each cell in cvxpy, for an affine expression `x` and positive `u` of equal length."""

    def of_sum(self, total: FloatArray) -> FloatArray:
        """Distance from the sum of the costs: an increasing function, such as the root."""
        return total

    def conjugate(self, slope: FloatArray, u: FloatArray) -> FloatArray:
        """Largest slope x - cost(x, u) over x >= 0: the convex conjugate of the cost."""
        x = self.inverse(slope, u)
        reached = np.isfinite(x)
        at = np.where(reached, x, u)
        values: FloatArray = np.where(reached, slope * at - self.cost(at, u), np.inf)
        return values

    def step(self, b: FloatArray, u: FloatArray) -> FloatArray:
        """Cost of one more record in a cell of `b` records, for whole b."""
        return self.cost(b + 1.0, u) - self.cost(b, u)

    def weighted_value(self, table: FloatArray, prior: FloatArray, weights: FloatArray | None) -> float:
        """Distance with a weight for each cell."""
        costs = self.cost(table, prior)
        total = costs.sum() if weights is None else (weights * costs).sum()
        return float(self.of_sum(total))

    def weighted_expression(self, x: Expression, u: FloatArray, weights: FloatArray | None) -> Expression:
        """Sum of the costs in cvxpy, which is least where the distance is; cells of prior 0 are left out."""
        from aegis_opt._native import cvxpy as cp

        cells = np.flatnonzero(u.ravel(order="F") > 0)
        costs = self.cell_expression(cp.vec(x, order="F")[cells], u.ravel(order="F")[cells])
        return cp.sum(costs if weights is None else cp.multiply(weights.ravel(order="F")[cells], costs))

    def for_problem(self, problem: Posed) -> Distance:
        """Return the distance over the cells that count, where a cell of 0 is infinitely far."""
        if self.finite_at_zero:
            return self
        return BoundDistance(self, self.name, cells=problem.support)

    def check(self) -> None:
        """Raise `InvalidInput` where cost, derivative, inverse and flags contradict each other."""
        rng = np.random.default_rng(0)
        u, one, other = rng.gamma(0.7, 10.0, size=(3, 500)) + 1e-3
        between = 0.7 * one + 0.3 * other
        self.require_convex([self.cost(x, u) for x in (one, between, other)], 0.3, "cells")
        at_prior, costs = self.cost(u, u), self.cost(one, u)
        _require(self, bool(np.all(np.abs(at_prior) <= 1e-9 * u)), "the cost of a cell at its prior is not 0")
        _require(self, bool(np.all(costs >= -1e-9 * (one + u))), "a cell costs less than nothing")
        slope = self.derivative(one, u)
        # a convex cost lies above each of its tangents
        gain = self.cost(other, u) - costs - slope * (other - one)
        size = 1.0 + np.abs(costs) + np.abs(slope) * (one + other)
        _require(self, bool(np.all(gain >= -1e-9 * size)), "`derivative` is not the derivative of `cost`")
        found = self.inverse(slope, u)
        _require(self, bool(np.all(found >= 0)), "`inverse` is negative or not a number")
        reached = np.isfinite(found)
        at = np.where(reached, found, one)
        worse = self.cost(at, u) - slope * at - (costs - slope * one)
        _require(self, bool(np.all(worse <= 1e-6 * size)), "`inverse` is not the inverse of `derivative`")
        below = bool(np.isfinite(self.cost(np.zeros(1), np.ones(1))).all())
        _require(self, below == self.finite_at_zero, "`finite_at_zero` does not agree with the cost of 0")
        if self.degree is not None:
            larger = self.cost(3.0 * one, 3.0 * u) - 3.0**self.degree * costs
            _require(self, bool(np.all(np.abs(larger) <= 1e-9 * (1.0 + costs))), "`degree` is another one")
        if self.strictly_convex:
            back = np.abs(at - one) <= 1e-5 * (one + u)
            _require(self, bool((back & reached).all()), "it is not strictly convex, as it says")


def _require(distance: Distance, holds: bool, what: str) -> None:
    if not holds:
        raise InvalidInput(f"the distance {distance.name!r} is not what it says: {what} (on random cells)")
