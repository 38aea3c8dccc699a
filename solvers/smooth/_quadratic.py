"""Convex quadratic programs of smooth tables, and the bound that certifies a solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._margin import FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Minimise sum_i weights_i (D x + offset)_i^2 + sum_j pull_j (x_j - target_j)^2 + constant.

    Subject to C x = right and 0 <= x <= upper.
    """

    D: sparse.csr_array
    offset: FloatArray
    weights: FloatArray
    pull: FloatArray
    target: FloatArray
    C: sparse.csr_array
    right: FloatArray
    upper: FloatArray  # infinite where nothing but C bounds a cell
    cap: FloatArray  # a value that no feasible cell exceeds
    place: IntArray  # of each cell along the order: where its equations lie in the band
    constant: float = 0.0  # roughness that no cell changes

    def in_units_of(self, unit: float) -> Quadratic:
        """The same program with its objective divided by `unit`."""
        return replace(
            self, weights=self.weights / unit, pull=self.pull / unit, constant=self.constant / unit
        )

    def value(self, x: FloatArray) -> float:
        """Objective."""
        rough = self.weights @ (self.D @ x + self.offset) ** 2
        return float(rough + self.pull @ (x - self.target) ** 2 + self.constant)

    def bound(self, point: Iterate) -> float:
        """Lower bound of the objective over all feasible x, from the multipliers y and v of any point.

        weights z^2 >= 2 y z - y^2 / weights for any y, and the pull is at least its tangent at x; what is
        left is linear, and at least -cap where a coefficient is negative.
        """
        x, y, v = point.x, point.y, point.v
        slope = 2.0 * self.reduced_costs(point)
        moved = x - self.target
        fixed = 2.0 * (y @ self.offset) - (y**2) @ (1.0 / self.weights)
        fixed += self.pull @ (moved**2 - 2.0 * moved * x) + 2.0 * (v @ self.right)
        return float(fixed + np.minimum(slope, 0.0) @ self.cap + self.constant)

    def reduced_costs(self, point: Iterate) -> FloatArray:
        """Half the derivative of the Lagrangian by each cell."""
        found: FloatArray = (
            self._differences_of @ point.y + self.pull * (point.x - self.target) - self._totals_of @ point.v
        )
        return found

    @cached_property
    def _differences_of(self) -> sparse.csr_array:
        return self.D.T.tocsr()

    @cached_property
    def _totals_of(self) -> sparse.csr_array:
        return self.C.T.tocsr()


@dataclass(frozen=True, eq=False)
class Iterate:
    """Cells, scaled differences, multipliers of the totals."""

    x: FloatArray
    y: FloatArray
    v: FloatArray

    def scaled(self, unit: float) -> Iterate:
        """The same cells, of a program whose objective is `unit` times as large."""
        return Iterate(self.x, unit * self.y, unit * self.v)
