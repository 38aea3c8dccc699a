"""Many reduced problems as one: block-diagonal data, distances, and bounds on them by duality.

With t the class totals of the allowed cells, m the multiplicity and u the prior of one row, and v = m u,
a separable distance is that of t from v over m rows (`aegis_opt.distances.CellCosts`; the sum is minimised,
roots are taken afterwards), plus what the cells held at 0 add (`constant`). The sum of the problems' linf
distances is minimal where each of them is. So the problems can be solved as one, each scaled to cells of
about 1, which makes an engine's accuracy mean the same to all of them. A distance that is neither separable
nor linf is a function of the whole table, and its problems are solved one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt.distances import Distance, Linf, SeparableDistance
from aegis_opt.distances._cells import CellCosts
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction
from aegis_opt.solvers._reduced import cell_costs, cell_weights, closed_cost

if TYPE_CHECKING:
    from scipy import sparse

Bounds = tuple[FloatArray, FloatArray]

_FAR = 1e6  # times a usual cost


@dataclass(frozen=True, eq=False)
class Stack:
    """minimise the sum of distances, subject to matrix @ (t, z) = right, t >= 0, lower <= z <= upper.

    The slacks z are the values of the two-sided extra constraints. Totals, prior and bounds are scaled.
    """

    distance: Distance  # bound to the problem where there is one, else without weights
    reductions: tuple[Reduction, ...]
    matrix: sparse.csr_array  # rows x (cells + slacks), block-diagonal
    right: FloatArray  # the known totals
    prior: FloatArray  # v
    multiplicity: FloatArray  # m
    weight: FloatArray  # of each cell in the distance
    owner: IntArray  # the problem that each cell belongs to, ascending
    row_owner: IntArray
    slack_owner: IntArray
    lower: FloatArray  # finite bounds of the slacks
    upper: FloatArray
    scale: FloatArray  # per problem: records per scaled unit
    unit: FloatArray  # per problem: distance (before any root) per scaled unit
    constant: FloatArray  # per problem: what fixed cells add to the distance
    floor: FloatArray  # per problem: what they make the distance at least

    @property
    def size(self) -> int:
        """Number of problems."""
        return len(self.reductions)

    @property
    def separable(self) -> bool:
        """Whether the distance is a sum over cells."""
        return self.distance.separable

    @property
    def uniform(self) -> bool:
        """Whether no cell has a weight."""
        return bool((self.weight == 1.0).all())

    @property
    def spread(self) -> FloatArray:
        """The quotient m / w: what a difference is divided by in linf, and its square in l2."""
        return self.multiplicity / self.weight

    @cached_property
    def costs(self) -> CellCosts:
        """Costs of the scaled cells, by a separable distance."""
        assert isinstance(self.distance.base, SeparableDistance)
        m, scale = self.multiplicity, self.scale[self.owner]
        return CellCosts(
            self.distance.base, self.prior * scale / m, m, self.weight, scale, self.unit[self.owner]
        )

    @property
    def n_cells(self) -> int:
        """Number of cells that are variables."""
        return len(self.prior)

    @cached_property
    def cell_matrix(self) -> sparse.csr_array:
        """The columns of `matrix` that belong to cells."""
        return self.matrix[:, : self.n_cells] if len(self.lower) else self.matrix

    @cached_property
    def membership(self) -> sparse.csr_array:
        """0/1 matrix of cells by problems."""
        from scipy.sparse import csr_array

        n = self.n_cells
        return csr_array((np.ones(n), (np.arange(n), self.owner)), shape=(n, self.size))

    def without_problems(self) -> Stack:
        """The data that an engine needs, where it does not need the problems that they come from."""
        if not self.separable and not isinstance(self.distance.base, Linf):
            return self
        return replace(self, reductions=(None,) * self.size)  # type: ignore[arg-type]

    def distances(self, cells: FloatArray) -> FloatArray:
        """Distance of each problem at the scaled cell values, in the units that are minimised."""
        if self.separable:
            return _sum_by(self.owner, self.costs.cost(cells), self.size)
        if isinstance(self.distance.base, Linf):
            worst = self.floor.copy()
            np.maximum.at(worst, self.owner, np.abs(cells - self.prior) / self.spread)
            return worst
        problem = self.reductions[0].problem
        return np.array([self.distance.value(self.tables(cells)[0], problem.prior)]) / self.unit

    def reported(self, distances: FloatArray) -> FloatArray:
        """Turn minimised distances (or bounds on them) into those that users see."""
        full = self.unit * (distances + self.constant)
        base = self.distance.base
        return base.of_sum(full) if isinstance(base, SeparableDistance) else full

    def bounds(self, multipliers: FloatArray, tangent: Tangent | None = None) -> FloatArray:
        """Lower bound on each problem's least distance, by weak duality from one multiplier per row.

        For any multipliers y, min f(t) over the feasible t is at least y'b + min over t >= 0 (not
        necessarily feasible) of f(t) - y'At. For a separable f that minimum is minus the conjugate, cell by
        cell; where it is minus infinity, as it can be for l1 and linf, y is shrunk until it is finite. Any
        other f lies above its `tangent` at a point, whose least value over 0 <= t <= its largest total is
        plain.
        """
        y = multipliers / self._shrinkage(self._slopes(multipliers))[self.row_owner]
        slopes = self._slopes(y)
        base = _sum_by(self.row_owner, y * self.right, self.size)
        slack = (y @ self.matrix)[self.n_cells :]
        base -= _sum_by(self.slack_owner, np.maximum(slack * self.lower, slack * self.upper), self.size)
        if self.separable:
            return base - _sum_by(self.owner, self.costs.conjugate(slopes), self.size)
        if isinstance(self.distance.base, Linf):
            parts = self._by_problem(slopes * self.spread, self.prior / self.spread)
            values = [_least_largest(a, u, low) for (a, u), low in zip(parts, self.floor, strict=True)]
            return base + np.asarray(values, dtype=np.float64)
        if tangent is None:
            return np.full(self.size, -np.inf)
        least: FloatArray = np.minimum((tangent.gradient - slopes) * self._largest_cells(), 0.0)
        return base + (tangent.at_zero + float(least.sum()))

    def _largest_cells(self) -> FloatArray:
        """Bound each cell by the least of its totals."""
        n_totals = len(self.reductions[0].totals)
        totals = self.cell_matrix[:n_totals].tocsc()
        most: FloatArray = np.minimum.reduceat(self.right[totals.indices], totals.indptr[:-1])
        return most

    def _slopes(self, multipliers: FloatArray) -> FloatArray:
        slopes: FloatArray = (multipliers @ self.matrix)[: self.n_cells]
        return slopes

    def optimal_bounds(self, cells: FloatArray, multipliers: FloatArray, margin: FloatArray) -> Bounds:
        """Bounds on the cells that, with the totals, describe the optimal tables.

        linf: abs(t - v) <= m times the distance. Others, with c = A'y for optimal multipliers y: cells at
        which the cost has the slope c (complementary slackness). Slopes within the share `margin` of the
        steepest one count as equal, and the bounds are widened to hold the given optimal `cells`, because
        multipliers are inexact.
        """
        v = self.prior
        if not self.separable:
            reach = self.distances(cells)[self.owner] * self.spread
            return np.maximum(v - reach, 0.0), v + reach
        c = self._slopes(multipliers / self._shrinkage(self._slopes(multipliers))[self.row_owner])
        most = v + self.right.sum()
        near = margin[self.owner] * np.abs(self.costs.derivative(most))
        lower, upper = self.costs.inverse(c - near), self.costs.inverse(c + near)
        return np.minimum(lower, cells), np.maximum(np.minimum(upper, most), cells)

    def _shrinkage(self, slopes: FloatArray) -> FloatArray:
        """What to divide the multipliers of each problem by so that its bound is finite."""
        factor = np.ones(self.size)
        if self.separable:
            # rounding must not leave a slope above the steepest one
            steepest = np.maximum(self.costs.steepest(), 1e-300)
            np.maximum.at(factor, self.owner, (1 + 1e-13) * slopes / steepest)
        elif isinstance(self.distance.base, Linf):
            rising = np.maximum(slopes * self.spread, 0.0)
            factor = np.maximum(factor, _sum_by(self.owner, rising, self.size))
        return factor

    def _by_problem(self, *values: FloatArray) -> Iterator[tuple[FloatArray, ...]]:
        ends = np.cumsum(np.bincount(self.owner, minlength=self.size))
        for start, end in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True):
            yield tuple(value[start:end] for value in values)

    def slacks(self, cells: FloatArray) -> FloatArray:
        """Values of the two-sided constraints, moved into their bounds."""
        if not len(self.lower):
            return np.zeros(0)
        values = -(self.cell_matrix @ cells) @ self.matrix[:, self.n_cells :]
        clipped: FloatArray = np.clip(values, self.lower, self.upper)
        return clipped

    def violations(self, cells: FloatArray) -> FloatArray:
        """Largest violation of each problem's totals and constraints, in records."""
        missing = np.abs(self.right - self.matrix @ np.concatenate([cells, self.slacks(cells)]))
        worst = np.zeros(self.size)
        np.maximum.at(worst, self.row_owner, missing)
        records: FloatArray = worst * self.scale
        return records

    def tables(self, cells: FloatArray) -> list[FloatArray]:
        """Full n x k table of each problem, in records."""
        parts = self._by_problem(cells)
        return [
            reduction.expand(reduction.table(part * scale))
            for reduction, (part,), scale in zip(self.reductions, parts, self.scale, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Tangent:
    """A linear function that a convex one lies above: at_zero + gradient * t, of the scaled cells."""

    at_zero: float
    gradient: FloatArray


def stack(reductions: Sequence[Reduction], distances: Sequence[Distance]) -> Stack:
    """Scale reduced problems and put them side by side; their distances may differ in weights."""
    from scipy import sparse

    parts = [_single(*pair) for pair in zip(reductions, distances, strict=True)]
    if len(parts) == 1:
        return parts[0]
    matrix = sparse.block_diag([part.cell_matrix for part in parts], format="csr")
    if any(len(part.lower) for part in parts):
        slacks = sparse.block_diag([part.matrix[:, part.n_cells :] for part in parts], format="csr")
        matrix = sparse.hstack([matrix, slacks], format="csr")
    arrays: dict[str, Any] = {}
    names = "right", "prior", "multiplicity", "weight", "lower", "upper", "scale", "unit", "constant", "floor"
    for name in names:
        arrays[name] = np.concatenate([getattr(part, name) for part in parts])
    for name in ("owner", "row_owner", "slack_owner"):
        arrays[name] = np.repeat(np.arange(len(parts)), [len(getattr(part, name)) for part in parts])
    return Stack(distance=distances[0].base, reductions=tuple(reductions), matrix=matrix, **arrays)


def _single(reduction: Reduction, distance: Distance) -> Stack:
    rows = np.repeat(reduction.multiplicity.astype(np.float64), reduction.shape[1])
    m, u = rows[reduction.cells], reduction.prior.ravel()[reduction.cells]
    w = cell_weights(reduction, distance).ravel()[reduction.cells]
    total = reduction.problem.total
    scale = total / len(m) if len(m) and total > 0 else 1.0
    matrix, right, lower, upper = _with_constraints(reduction)
    v = m * u / scale
    unit = _unit(reduction, distance, v, scale)
    constant = closed_cost(reduction, distance) / unit if distance.separable else 0.0
    floor = 0.0
    if isinstance(distance.base, Linf):
        closed = reduction.prior * cell_weights(reduction, distance)
        floor = float(closed[~reduction.allowed].max(initial=0.0)) / unit
    if distance.name == "kl" and len(m):
        # All tables have the same total N, so scaling the prior shifts the distance by a constant; a prior of
        # the same total as the table keeps the cone program well-conditioned.
        records = total / scale
        factor = records / v.sum()
        constant += float(v.sum() - records + records * np.log(factor))
        v = v * factor
    zeros = np.zeros(len(m), dtype=np.int64)
    return Stack(
        distance=distance,
        reductions=(reduction,),
        matrix=matrix,
        right=right / scale,
        prior=v,
        multiplicity=m,
        weight=w,
        owner=zeros,
        row_owner=np.zeros(len(right), dtype=np.int64),
        slack_owner=np.zeros(len(lower), dtype=np.int64),
        lower=lower / scale,
        upper=upper / scale,
        scale=np.array([scale]),
        unit=np.array([unit]),
        constant=np.array([constant]),
        floor=np.array([floor]),
    )


def _unit(reduction: Reduction, distance: Distance, v: FloatArray, scale: float) -> float:
    """Distance, before any root, that a typical cell has one scaled unit from its prior."""
    if distance.base.name == "l2":
        return scale**2
    if distance.base.name in ("l1", "linf", "kl") or not len(v):
        return scale
    if distance.separable:
        costs = cell_costs(reduction, distance)
        unit = float(np.median(costs.cost((v + 1.0) * scale))) or scale
        # Costs that are infinite at 0 are far larger at the totals than near a prior that is much larger.
        met = 0.0 if distance.finite_at_zero else float(np.median(costs.cost(np.full_like(v, scale))))
        return met if met > _FAR * unit else unit
    prior = reduction.problem.prior
    change = scale * np.random.default_rng(0).random(prior.shape) * reduction.allowed[reduction.class_of]
    return distance.value(prior + change, prior) or scale


def _with_constraints(reduction: Reduction) -> tuple[sparse.csr_array, FloatArray, FloatArray, FloatArray]:
    """Equations of the totals, then one per extra constraint: coefficients @ t = bound, or = slack."""
    A, b = reduction.matrix, reduction.totals
    constraints = reduction.problem.constraints
    none = np.zeros(0)
    if not constraints:
        return A, b, none, none
    from scipy import sparse

    # A class shares its coefficients, so one row's apply to the class total.
    C = np.array([c.coefficients[reduction.first].ravel()[reduction.cells] for c in constraints])
    size = np.maximum(1.0, np.abs(C).max(axis=1, initial=0.0))
    C = C / size[:, None]
    low = np.array([c.lower for c in constraints]) / size
    high = np.array([c.upper for c in constraints]) / size
    # No cell exceeds the total of all, which gives an infinite bound a finite equivalent.
    total = reduction.problem.total
    low = np.where(np.isinf(low), np.minimum(C, 0.0).sum(axis=1) * total - 1.0, low)
    high = np.where(np.isinf(high), np.maximum(C, 0.0).sum(axis=1) * total + 1.0, high)
    sided = low < high
    slack = sparse.coo_array(
        (-np.ones(sided.sum()), (np.flatnonzero(sided) + len(b), np.arange(sided.sum()))),
        shape=(len(b) + len(C), int(sided.sum())),
    )
    matrix = sparse.hstack([sparse.vstack([A, sparse.csr_array(C)]), slack], format="csr")
    right = np.concatenate([b, np.where(sided, 0.0, low)])
    return matrix, right, low[sided], high[sided]


def _sum_by(owner: IntArray, values: FloatArray, size: int) -> FloatArray:
    sums: FloatArray = np.bincount(owner, weights=values, minlength=size).astype(np.float64)
    return sums


def _least_largest(a: FloatArray, u: FloatArray, floor: float) -> float:
    """Minimum over s >= floor and x >= 0 with abs(x - u) <= s of s - a'x, where the positive a sum to <= 1.

    Given s, x is u + s where a > 0 and max(0, u - s) where a < 0. What remains is convex and piecewise
    linear in s, with kinks at the u where a < 0.
    """
    rising = a > 0
    kink, weight = u[~rising], -a[~rising]
    order = np.argsort(kink)
    kink, weight = kink[order], weight[order]
    above = np.concatenate([np.cumsum(weight[::-1])[::-1], [0.0]])
    above_sum = np.concatenate([np.cumsum((weight * kink)[::-1])[::-1], [0.0]])
    s = np.concatenate([[floor], kink[kink > floor]])
    index = np.searchsorted(kink, s, side="right")
    values = s * (1.0 - a[rising].sum()) - a[rising] @ u[rising] + above_sum[index] - s * above[index]
    return float(values.min())
