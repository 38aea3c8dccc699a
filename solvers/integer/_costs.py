"""Distances to the prior in whole numbers, cell by cell: what the exact integer engines minimise.

A cell of the reduced problem holds the total T of m interchangeable rows. The distance is least when the
rows differ by at most one, so the cost of T is convex and linear on each *layer* b: the units that raise the
m rows from b to b + 1, all at the same slope. Slopes are whole numbers, so costs are compared exactly. l1
and l2 are here; `_steps.py` has every other separable distance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from aegis_opt.distances import distance
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction

_STEPS = np.concatenate([[0, 1], 2 * 4 ** np.arange(30)])
_OFFSETS = np.concatenate([-_STEPS[:0:-1], _STEPS])
"""Distances from the centre, in layers, at which the cost of a wide cell is broken."""


@dataclass(frozen=True, eq=False)
class IntegerSolution:
    """What an integer engine found."""

    totals: IntArray  # class totals of the allowed cells
    rounds: int  # flows or searches run
    slack: float  # how far below its cost (before any root is taken) the optimum can be
    error: float  # how far off the optimum the rounding of the prior to 64-bit costs can have led
    timed_out: bool = False  # whether the time limit came before the proof


class Segments(NamedTuple):
    """Pieces of convex, piecewise linear costs: `cell` has slope `slope` between `start` and `end`."""

    cell: IntArray
    start: IntArray
    end: IntArray
    slope: IntArray


@dataclass(frozen=True, eq=False)
class Target:
    """The prior of each allowed cell, for one row of its class, as a fraction `numerator` / `scale`."""

    numerator: IntArray
    scale: int
    multiplicity: IntArray  # per cell: rows of its class
    closed: int  # largest numerator among the cells that cannot be positive; 0 where there are none
    rounding: FloatArray  # C x k, fraction minus prior: zero unless the prior needs more digits than fit

    def error(self, reduction: Reduction, norm: str) -> float:
        """How far off the optimum the rounding of the prior can lead, in `norm`: twice its own length."""
        if not self.rounding.any():
            return 0.0
        full = self.rounding[reduction.class_of]
        return 2.0 * distance(full, np.zeros_like(full), norm)

    @cached_property
    def whole(self) -> IntArray:
        """Whole records of each prior."""
        return self.numerator // self.scale

    @cached_property
    def rest(self) -> IntArray:
        """What each prior has beyond them, times `scale`."""
        return self.numerator % self.scale

    def ample(self, upper: IntArray) -> int:
        """A distance from the target that no row of cells up to `upper` exceeds, times `scale`."""
        in_a_row = int((-(-upper // self.multiplicity)).max(initial=0))
        return in_a_row * self.scale + int(self.numerator.max(initial=0)) + self.closed

    def largest(self, totals: IntArray) -> int:
        """Largest distance of a row from the target, times `scale`, where rows share totals evenly."""
        low, high = totals // self.multiplicity, -(-totals // self.multiplicity)
        above = _largest(self.scale, high - self.whole, -self.rest)
        below = _largest(self.scale, self.whole - low, self.rest)
        return max(self.closed, above, below)

    def within(self, distance: int, upper: IntArray) -> tuple[IntArray, IntArray]:
        """Return bounds of the totals, up to `upper`, whose rows are all within this distance x `scale`."""
        low, high = self._rows_within(distance)
        most = -(-upper // self.multiplicity)  # beyond, products with multiplicities could leave 64 bits
        lower = np.minimum(low, most + 1) * self.multiplicity
        return lower, np.minimum(np.minimum(high, most) * self.multiplicity, upper)

    def beyond(self, distance: int) -> int:
        """Return the next distance, times `scale`, that allows more tables than this one."""
        low, high = self._rows_within(distance)
        falls = low > 0
        rise = _largest(self.scale, self.whole - high - 1, self.rest)
        fall = _largest(self.scale, (low - self.whole)[falls] - 1, -self.rest[falls])
        return -max(rise, fall) if falls.any() else -rise

    def _rows_within(self, distance: int) -> tuple[IntArray, IntArray]:
        """Fewest and most records of a row within a distance, which may leave 64 bits, times `scale`."""
        records, rest = divmod(distance, self.scale)
        low = self.whole - records + (self.rest > rest)
        return np.maximum(low, 0), self.whole + records + (self.rest >= self.scale - rest)


def _largest(scale: int, whole: IntArray, rest: IntArray) -> int:
    """Largest `scale` x whole + rest, beyond 64 bits, too; 0 where there are none.

    All of `rest` lie in an interval as long as `scale`, so the largest `whole` decides.
    """
    if len(whole) == 0:
        return 0
    top = whole.max()
    return scale * int(top) + int(rest[whole == top].max())


def target(reduction: Reduction, largest_scale: float, largest_uniform: float = math.inf) -> Target:
    """Write the prior as fractions with a common denominator.

    The uniform prior N / (n k) is exact where its denominator is at most `largest_uniform`. Any other one is
    rounded to a multiple of 2^-s, with s at most 40 and 2^s at most `largest_scale` (or `largest_uniform`),
    up to which the caller's costs fit into 64 bits.
    """
    problem = reduction.problem
    n_rows, n_labels = problem.shape
    common = math.gcd(round(problem.total), n_rows * n_labels)
    scale = n_rows * n_labels // common
    uniform = problem.given_prior is None
    if uniform and scale <= largest_uniform:
        numerators = np.full(reduction.shape, round(problem.total) // common, dtype=np.int64)
        rounding = np.zeros(reduction.shape)
    else:
        most = largest_uniform if uniform else largest_scale
        scale = 2 ** int(np.clip(np.floor(np.log2(most)), 0, 40))
        numerators = np.rint(reduction.prior * scale).astype(np.int64)
        rounding = numerators / scale - reduction.prior
    return Target(
        numerator=numerators.ravel()[reduction.cells],
        scale=scale,
        multiplicity=np.repeat(reduction.multiplicity, n_labels)[reduction.cells],
        closed=int(numerators[~reduction.allowed].max(initial=0)),
        rounding=rounding,
    )


@dataclass(frozen=True, eq=False)
class Cost(ABC):
    """A convex cost of each cell's class total: a distance to numerator / scale, times scale."""

    numerator: IntArray
    scale: int
    multiplicity: IntArray

    @abstractmethod
    def layer_slope(self, layer: IntArray) -> IntArray:
        """Cost of one more unit in the given layer of each cell."""

    @abstractmethod
    def value(self, totals: IntArray) -> IntArray:
        """Cost of each cell, up to a constant."""

    @abstractmethod
    def wide(self, lower: IntArray, upper: IntArray) -> BoolArray:
        """Cells with so many layers between the bounds that their segments are exact only near a centre."""

    @abstractmethod
    def segments(self, centre: IntArray, lower: IntArray, upper: IntArray) -> Segments:
        """Pieces between the bounds: never below the cost, and equal to it up to one unit from `centre`."""

    @abstractmethod
    def tangents(self, layers: IntArray, upper: IntArray) -> Segments:
        """Pieces from 0 up: never above the cost, and equal to it on `layers`, pairs (cell, layer)."""

    @abstractmethod
    def level(self, slope: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
        """Interval around `totals` on which a cell's slope is `slope`; just `totals` where there is none."""

    def nearest(self) -> IntArray:
        """Totals of least cost."""
        return (2 * self.numerator + self.scale) // (2 * self.scale) * self.multiplicity

    def layers_around(self, centre: IntArray, upper: IntArray) -> IntArray:
        """Pairs (cell, layer) where segments around `centre` start, the first layer of each cell included."""
        pieces = self.segments(centre, np.zeros_like(centre), upper)
        return np.stack([pieces.cell, pieces.start // self.multiplicity[pieces.cell]], axis=1)


@dataclass(frozen=True, eq=False)
class LayeredCost(Cost):
    """A cost with a slope of its own in every layer. Cells of more than `exact_layers` layers are wide."""

    exact_layers: int

    def wide(self, lower: IntArray, upper: IntArray) -> BoolArray:
        """Cells of more than `exact_layers` layers."""
        layers: IntArray = -(-upper // self.multiplicity) - lower // self.multiplicity
        return layers > self.exact_layers

    def pieces(
        self, centre: IntArray, lower: IntArray, upper: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Cell, first and last layer of pieces: single layers; in wide cells so around the centre only."""
        m = self.multiplicity
        first, last = lower // m, -(-upper // m)
        is_wide = self.wide(lower, upper)
        narrow, wide = np.flatnonzero(~is_wide), np.flatnonzero(is_wide)
        counts = (last - first)[narrow]
        cell = np.repeat(narrow, counts)
        start = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[cell]
        end = start + 1
        if len(wide):  # growing steps away from the centre
            cuts = (centre // m)[wide, None] + _OFFSETS
            cuts = np.clip(cuts, first[wide, None], last[wide, None])
            row, piece = np.nonzero(cuts[:, 1:] > cuts[:, :-1])
            cell = np.concatenate([cell, wide[row]])
            start = np.concatenate([start, cuts[row, piece]])
            end = np.concatenate([end, cuts[row, piece + 1]])
        return cell, start, end

    def within(
        self, cell: IntArray, start: IntArray, end: IntArray, bounds: tuple[IntArray, IntArray]
    ) -> tuple[IntArray, IntArray]:
        """Totals at which pieces of layers begin and end, between bounds."""
        m = self.multiplicity[cell]
        return np.maximum(start * m, bounds[0][cell]), np.minimum(end * m, bounds[1][cell])


@dataclass(frozen=True, eq=False)
class Squares(LayeredCost):
    """l2: sum of squares; the slope of a row from b to b + 1 is 2 b + 1 - 2 u, here times `scale`."""

    @classmethod
    def of(cls, reduction: Reduction, goal: Target, exact_layers: int) -> Squares:
        """Squared distance to the target; a uniform prior only adds a constant and is left out."""
        if reduction.problem.given_prior is None:
            return cls(np.zeros_like(goal.numerator), 1, goal.multiplicity, exact_layers)
        return cls(goal.numerator, goal.scale, goal.multiplicity, exact_layers)

    def layer_slope(self, layer: IntArray) -> IntArray:
        return self.scale * (2 * layer + 1) - 2 * self.numerator

    def value(self, totals: IntArray) -> IntArray:
        base, extra = np.divmod(totals, self.multiplicity)
        squares: IntArray = self.multiplicity * base**2 + extra * (2 * base + 1)
        return self.scale * squares - 2 * self.numerator * totals

    def segments(self, centre: IntArray, lower: IntArray, upper: IntArray) -> Segments:
        """Layer by layer; for wide cells so around the centre only, then in growing steps."""
        cell, start, end = self.pieces(centre, lower, upper)
        # the mean of 2 b + 1 over the layers from start to end is start + end
        slope = self.scale * (start + end) - 2 * self.numerator[cell]
        return Segments(cell, *self.within(cell, start, end, (lower, upper)), slope)

    def tangents(self, layers: IntArray, upper: IntArray) -> Segments:
        """The largest of the tangents at the given layers; those at b < c meet at m (b + c + 1) / 2."""
        cell, layer = np.unique(layers, axis=0).T
        gap = np.diff(layer)
        uneven = np.flatnonzero((cell[1:] == cell[:-1]) & (gap % 2 == 0)) + 1
        # one more tangent where two would meet halfway between whole numbers
        cell, layer = np.insert(cell, uneven, cell[uneven]), np.insert(layer, uneven, layer[uneven] - 1)
        m = self.multiplicity[cell]
        first = np.diff(cell, prepend=-1) > 0
        start = np.where(first, 0, m * (layer + np.roll(layer, 1) + 1) // 2)
        end = np.where(np.roll(first, -1), upper[cell], np.roll(start, -1))
        return Segments(cell, start, end, self.scale * (2 * layer + 1) - 2 * self.numerator[cell])

    def level(self, slope: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
        """One layer, or just `totals`: every layer has a slope of its own."""
        layer, rest = np.divmod(slope + 2 * self.numerator - self.scale, 2 * self.scale)
        start = layer * self.multiplicity
        found = (rest == 0) & (start <= totals) & (totals <= start + self.multiplicity)
        return np.where(found, start, totals), np.where(found, start + self.multiplicity, totals)


@dataclass(frozen=True, eq=False)
class Absolutes(Cost):
    """l1: sum of absolute differences; slope -1 below the prior, 1 above, between them on its own layer."""

    @classmethod
    def of(cls, goal: Target) -> Absolutes:
        """Absolute distance to the target."""
        return cls(goal.numerator, goal.scale, goal.multiplicity)

    def layer_slope(self, layer: IntArray) -> IntArray:
        whole, rest = np.divmod(self.numerator, self.scale)
        cases = [layer < whole, layer == whole]
        slope: IntArray = np.select(cases, [-self.scale, self.scale - 2 * rest], self.scale)
        return slope

    def value(self, totals: IntArray) -> IntArray:
        base, extra = np.divmod(totals, self.multiplicity)
        low, high = (np.abs(x * self.scale - self.numerator) for x in (base, base + 1))
        cost: IntArray = (self.multiplicity - extra) * low + extra * high
        return cost

    def wide(self, lower: IntArray, upper: IntArray) -> BoolArray:
        """No cell: three segments are exact."""
        return np.zeros(np.broadcast_shapes(lower.shape, upper.shape), dtype=bool)

    def segments(self, centre: IntArray, lower: IntArray, upper: IntArray) -> Segments:
        """Three pieces at most, whatever the centre."""
        del centre
        whole = self.numerator // self.scale
        cuts = np.stack([lower, whole * self.multiplicity, (whole + 1) * self.multiplicity, upper])
        cuts = np.clip(cuts, lower, upper)
        cell, piece = np.nonzero((cuts[1:] > cuts[:-1]).T)
        slopes = np.stack([self.layer_slope(whole + i) for i in (-1, 0, 1)])
        return Segments(cell, cuts[piece, cell], cuts[piece + 1, cell], slopes[piece, cell])

    def tangents(self, layers: IntArray, upper: IntArray) -> Segments:
        """The exact segments, whatever the layers."""
        del layers
        return self.segments(upper, np.zeros_like(upper), upper)

    def level(self, slope: IntArray, totals: IntArray) -> tuple[IntArray, IntArray]:
        """All below the prior, all above it, the layer it cuts, or just `totals`."""
        whole, rest = np.divmod(self.numerator, self.scale)
        floor, ceil = whole * self.multiplicity, (whole + (rest > 0)) * self.multiplicity
        cases = [slope == -self.scale, slope == self.scale, slope == self.scale - 2 * rest]
        far = np.full_like(totals, np.iinfo(np.int64).max)
        start: IntArray = np.select(cases, [np.zeros_like(totals), ceil, floor], totals)
        end: IntArray = np.select(cases, [floor, far, ceil], totals)
        return start, end
