"""Every separable convex distance in whole numbers: the cost of one more record, rounded to 64 bits.

The slopes of a layer are the steps cost(b + 1) - cost(b) of the distance, multiplied by a power of two and
rounded, which keeps their order. An optimum of the rounded costs is one of the true costs up to a slack that
is measured, not estimated: the potentials that prove it give every cell a price s per record, and by weak
duality no table costs less than the one found minus the sum of what each cell could save at its price,

    sum over cells of (cost(x) - s x) - min over whole y of (cost(y) - s y).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aegis_opt.distances._cells import CellCosts
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.solvers.integer._costs import LayeredCost, Segments, Target

LARGEST_SLOPE = 2.0**44
"""Beyond, whole numbers would tell the rounding errors of slopes apart."""


@dataclass(frozen=True, eq=False)
class Steps(LayeredCost):
    """Cost of a separable distance times `factor`, rounded layer by layer."""

    costs: CellCosts
    factor: float
    upper: IntArray  # per cell: the largest total it can have

    @classmethod
    def of(cls, costs: CellCosts, goal: Target, upper: IntArray, largest: float, exact_layers: int) -> Steps:
        """Choose the largest power of two with which no slope of cells up to `upper` exceeds `largest`.

        Slopes that are equal but for the last bits of their floating-point numbers are rounded to the same
        whole number, so that ties are ties.
        """
        ends = np.zeros_like(upper), np.maximum(-(-upper // goal.multiplicity) - 1, 0)
        steepest = max(float(np.abs(_steps(costs, layer)).max(initial=0.0)) for layer in ends)
        factor = 2.0 ** math.floor(math.log2(min(largest, LARGEST_SLOPE) / (steepest or 1.0)))
        return cls(goal.numerator, goal.scale, goal.multiplicity, exact_layers, costs, factor, upper)

    @property
    def top(self) -> IntArray:
        """How many layers each cell has."""
        layers: IntArray = -(-self.upper // self.multiplicity)
        return layers

    def layer_slope(self, layer: IntArray) -> IntArray:
        return self._rounded(_steps(self.costs, np.maximum(layer, 0)))

    def segments(self, centre: IntArray, lower: IntArray, upper: IntArray) -> Segments:
        """Layer by layer; for wide cells so around the centre only, then in growing steps.

        The slope over several layers is that between their ends, rounded away from the centre, so that the
        pieces are never below the cost.
        """
        cell, start, end = self.pieces(centre, lower, upper)
        part = _chosen(self.costs, cell)
        slope = self._rounded(_steps(part, start))
        long = np.flatnonzero(end - start > 1)
        if len(long):
            part = _chosen(self.costs, cell[long])
            first, last = start[long].astype(np.float64), end[long].astype(np.float64)
            rise = part.distance.cost(last, part.prior) - part.distance.cost(first, part.prior)
            mean = self.factor * part.weights * rise / (last - first)
            above = first >= (centre // self.multiplicity)[cell[long]]
            slope[long] = np.where(above, np.ceil(mean) + 1, np.floor(mean) - 1).astype(np.int64)
        return Segments(cell, *self.within(cell, start, end, (lower, upper)), slope)

    def level(self, slope: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
        """All layers of that slope, or just `totals` where these are not next to them."""
        start = self._first_layer(slope) * self.multiplicity
        end = self._first_layer(slope + 1) * self.multiplicity
        found = (start < end) & (start <= totals) & (totals <= end)
        return np.where(found, start, totals), np.where(found, end, totals)

    def slack(self, totals: IntArray, prices: IntArray) -> float:
        """How much the cells could save at their prices per record: how far below the optimum can be."""
        costs, m = self.costs, self.multiplicity
        price = prices / self.factor
        best = np.clip(costs.distance.inverse(price / costs.weights, costs.prior), 0.0, self.top)

        def at_price(totals: IntArray) -> FloatArray:
            base, extra = np.divmod(totals, m)
            rows = [(base, m - extra), (base + 1, extra)]
            shares = [count * costs.distance.cost(b.astype(np.float64), costs.prior) for b, count in rows]
            return costs.weights * (shares[0] + shares[1]) - price * totals

        most = np.zeros(len(m))
        for rows in (np.floor(best), np.ceil(best)):  # the best whole number is next to the best one
            other = np.minimum(rows.astype(np.int64) * m, self.upper)
            most = np.maximum(most, at_price(totals) - at_price(other))
        return float(most.sum())

    def tangents(self, layers: IntArray, upper: IntArray) -> Segments:
        """The largest of the tangents at the given layers, on whole totals."""
        cell, layer = np.unique(layers, axis=0).T
        slope = self._rounded(_steps(_chosen(self.costs, cell), layer))
        new = (np.diff(cell, prepend=-1) != 0) | (np.diff(slope, prepend=0) != 0)
        cell, layer, slope = cell[new], layer[new], slope[new]
        ends, sums = self._sums
        at_zero = self.multiplicity[cell] * (sums[ends[cell] + layer] - slope * layer)  # of each tangent
        next_is_same = np.append(cell[1:] == cell[:-1], False)
        fall, rise = at_zero - np.roll(at_zero, -1), np.where(next_is_same, np.roll(slope, -1) - slope, 1)
        low, rest = np.divmod(fall, rise)
        end = np.where(next_is_same, low, upper[cell])
        begin = np.where(next_is_same, low + (rest > 0), 0)  # of the next tangent
        start = np.where(np.append(False, next_is_same[:-1]), np.roll(begin, 1), 0)
        kink = np.flatnonzero(next_is_same & (rest > 0))
        step = at_zero[kink + 1] + slope[kink + 1] * begin[kink] - at_zero[kink] - slope[kink] * end[kink]
        pieces = (
            np.concatenate([cell, cell[kink]]),
            np.concatenate([start, end[kink]]),
            np.concatenate([end, begin[kink]]),
            np.concatenate([slope, step]),
        )
        order = np.lexsort(pieces[1::-1])
        return Segments(*(part[order] for part in pieces))

    def value(self, totals: IntArray) -> IntArray:
        base, extra = np.divmod(totals, self.multiplicity)
        ends, sums = self._sums
        cost = self.multiplicity * sums[ends + base] + extra * self.layer_slope(base)
        return cost.astype(np.int64)

    @cached_property
    def _sums(self) -> tuple[IntArray, IntArray]:
        """For each cell, where its sums of slopes from layer 0 up begin; and these sums."""
        counts = self.top + 1
        ends = np.cumsum(counts) - counts
        cell = np.repeat(np.arange(len(counts)), counts)
        layer = np.arange(len(cell)) - ends[cell]
        slopes = self._rounded(_steps(_chosen(self.costs, cell), np.maximum(layer - 1, 0)))
        slopes[ends] = 0
        sums = np.cumsum(slopes)
        return ends, sums - sums[ends][cell]

    def _rounded(self, slopes: FloatArray) -> IntArray:
        rounded: IntArray = np.rint(self.factor * slopes).astype(np.int64)
        return rounded

    def _first_layer(self, slope: IntArray) -> IntArray:
        """First layer of each cell whose slope is at least `slope`, its top where there is none."""
        low, high = np.zeros_like(self.top), self.top.copy()
        while (low < high).any():
            middle = (low + high) // 2
            reached = self.layer_slope(middle) >= slope
            high, low = np.where(reached, middle, high), np.where(reached, low, np.minimum(middle + 1, high))
        return low


def _steps(costs: CellCosts, layer: IntArray) -> FloatArray:
    steps: FloatArray = costs.weights * costs.distance.step(layer.astype(np.float64), costs.prior)
    return steps


def _chosen(costs: CellCosts, cell: IntArray) -> CellCosts:
    """Costs of some of the cells."""
    weights = np.broadcast_to(costs.weights, costs.prior.shape)[cell]
    return CellCosts(costs.distance, costs.prior[cell], costs.rows[cell], weights)
