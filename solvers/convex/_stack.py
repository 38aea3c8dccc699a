"""Many reduced problems as one: block-diagonal data, distances, and bounds on them by duality.

With t the class totals of the allowed cells, m the multiplicity and u the prior of one row, and v = m u,
the distance of a problem is that of t from v over m rows (`aegis_opt.distances.cell_distances`; for l2 its
square is minimised), plus what the cells held at 0 add (`constant`, `floor`). All but linf are sums over
cells; the sum of the problems' linf distances is minimal where each of them is. So the problems can be solved
as one, each scaled to cells of about 1, which makes an engine's accuracy mean the same to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt.distances import cell_distances
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction

if TYPE_CHECKING:
    from scipy import sparse

Bounds = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Stack:
    """minimise the sum of distances, subject to matrix @ (t, z) = right, t >= 0, lower <= z <= upper.

    The slacks z are the values of the two-sided extra constraints. Totals, prior and bounds are scaled.
    """

    norm: str
    reductions: tuple[Reduction, ...]
    matrix: sparse.csr_array  # rows x (cells + slacks), block-diagonal
    right: FloatArray  # the known totals
    prior: FloatArray  # v
    multiplicity: FloatArray  # m
    owner: IntArray  # the problem that each cell belongs to, ascending
    row_owner: IntArray
    slack_owner: IntArray
    lower: FloatArray  # finite bounds of the slacks
    upper: FloatArray
    scale: FloatArray  # per problem: records per scaled unit
    constant: FloatArray  # per problem: what fixed cells add to the distance
    floor: FloatArray  # per problem: what they make the distance at least

    @property
    def size(self) -> int:
        """Number of problems."""
        return len(self.reductions)

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
        """The data that an engine needs, without the problems that they come from."""
        return replace(self, reductions=(None,) * self.size)  # type: ignore[arg-type]

    def distances(self, cells: FloatArray) -> FloatArray:
        """Distance of each problem at the scaled cell values, in the units that are minimised."""
        terms = cell_distances(cells, self.prior, self.norm, self.multiplicity)
        if self.norm == "linf":
            worst = self.floor.copy()
            np.maximum.at(worst, self.owner, terms)
            return worst
        return _sum_by(self.owner, terms, self.size)

    def reported(self, distances: FloatArray) -> FloatArray:
        """Turn minimised distances (or bounds on them) into those that users see, in records."""
        full = distances + self.constant
        root = np.sqrt(np.maximum(full, 0.0)) if self.norm == "l2" else full
        values: FloatArray = self.scale * root
        return values

    def bounds(self, multipliers: FloatArray) -> FloatArray:
        """Lower bound on each problem's least distance, by weak duality from one multiplier per row.

        For any multipliers y, min f(t) over the feasible t is at least y'b + min over t >= 0 (not
        necessarily feasible) of f(t) - y'At, and that minimum has a closed form cell by cell. Where it
        is minus infinity, as it can be for l1 and linf, y is shrunk until it is finite.
        """
        y = multipliers / self._shrinkage(self._slopes(multipliers))[self.row_owner]
        slopes = self._slopes(y)
        base = _sum_by(self.row_owner, y * self.right, self.size)
        slack = (y @ self.matrix)[self.n_cells :]
        base -= _sum_by(self.slack_owner, np.maximum(slack * self.lower, slack * self.upper), self.size)
        m, v = self.multiplicity, self.prior
        if self.norm == "linf":
            parts = self._by_problem(slopes * m, v / m)
            values = [_least_largest(a, u, low) for (a, u), low in zip(parts, self.floor, strict=True)]
            return base + np.asarray(values, dtype=np.float64)
        if self.norm == "l1":
            terms = np.minimum(v, -slopes * v)
        elif self.norm == "l2":
            best = np.maximum(0.0, v + slopes * m / 2)
            terms = (best - v) ** 2 / m - slopes * best
        else:
            terms = v * -np.expm1(np.minimum(slopes, 500.0))  # a slope that large gives no bound anyway
        return base + _sum_by(self.owner, terms, self.size)

    def _slopes(self, multipliers: FloatArray) -> FloatArray:
        slopes: FloatArray = (multipliers @ self.matrix)[: self.n_cells]
        return slopes

    def optimal_bounds(self, cells: FloatArray, multipliers: FloatArray, margin: FloatArray) -> Bounds:
        """Bounds on the cells that, with the totals, describe the optimal tables of l1 or linf.

        linf: abs(t - v) <= m times the distance. l1, with c = A'y for optimal multipliers y: t >= v where
        c = 1, t <= v where c = -1, t = 0 where c < -1, t = v elsewhere (complementary slackness). A slope c
        within its problem's `margin` of 1 or -1 counts as equal, and the bounds are widened to hold the given
        optimal `cells`, because multipliers are inexact.
        """
        v = self.prior
        if self.norm == "linf":
            reach = self.distances(cells)[self.owner] * self.multiplicity
            return np.maximum(v - reach, 0.0), v + reach
        c = self._slopes(multipliers / self._shrinkage(self._slopes(multipliers))[self.row_owner])
        near = margin[self.owner]
        lower = np.where(c <= -1 + near, 0.0, v)
        upper = np.where(c >= 1 - near, v + self.right.sum(), np.where(c < -1 - near, 0.0, v))
        return np.minimum(lower, cells), np.maximum(upper, cells)

    def _shrinkage(self, slopes: FloatArray) -> FloatArray:
        """What to divide the multipliers of each problem by so that its bound is finite."""
        factor = np.ones(self.size)
        if self.norm == "l1":
            np.maximum.at(factor, self.owner, slopes)
        elif self.norm == "linf":
            rising = np.maximum(slopes * self.multiplicity, 0.0)
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


def stack(reductions: Sequence[Reduction], norm: str) -> Stack:
    """Scale reduced problems and put them side by side."""
    from scipy import sparse

    parts = [_single(reduction, norm) for reduction in reductions]
    if len(parts) == 1:
        return parts[0]
    matrix = sparse.block_diag([part.cell_matrix for part in parts], format="csr")
    if any(len(part.lower) for part in parts):
        slacks = sparse.block_diag([part.matrix[:, part.n_cells :] for part in parts], format="csr")
        matrix = sparse.hstack([matrix, slacks], format="csr")
    arrays: dict[str, Any] = {}
    for name in ("right", "prior", "multiplicity", "lower", "upper", "scale", "constant", "floor"):
        arrays[name] = np.concatenate([getattr(part, name) for part in parts])
    for name in ("owner", "row_owner", "slack_owner"):
        arrays[name] = np.repeat(np.arange(len(parts)), [len(getattr(part, name)) for part in parts])
    return Stack(norm=norm, reductions=tuple(reductions), matrix=matrix, **arrays)


def _single(reduction: Reduction, norm: str) -> Stack:
    k = reduction.shape[1]
    m_all = np.repeat(reduction.multiplicity.astype(np.float64), k)
    u_all = reduction.prior.ravel()
    closed = ~reduction.allowed.ravel()
    m, u = m_all[reduction.cells], u_all[reduction.cells]
    total = reduction.problem.total
    scale = total / len(m) if len(m) and total > 0 else 1.0
    matrix, right, lower, upper = _with_constraints(reduction)
    v = m * u / scale
    closed_prior = m_all[closed] * u_all[closed] / scale
    at_zero = cell_distances(np.zeros_like(closed_prior), closed_prior, norm, m_all[closed])
    constant = 0.0 if norm == "linf" else float(at_zero.sum())
    floor = float(at_zero.max(initial=0.0)) if norm == "linf" else 0.0
    if norm == "kl" and len(m):
        # All tables have the same total N, so scaling the prior shifts the distance by a constant; a prior of
        # the same total as the table keeps the cone program well-conditioned.
        records = total / scale
        factor = records / v.sum()
        constant += float(v.sum() - records + records * np.log(factor))
        v = v * factor
    zeros = np.zeros(len(m), dtype=np.int64)
    return Stack(
        norm=norm,
        reductions=(reduction,),
        matrix=matrix,
        right=right / scale,
        prior=v,
        multiplicity=m,
        owner=zeros,
        row_owner=np.zeros(len(right), dtype=np.int64),
        slack_owner=np.zeros(len(lower), dtype=np.int64),
        lower=lower / scale,
        upper=upper / scale,
        scale=np.array([scale]),
        constant=np.array([constant]),
        floor=np.array([floor]),
    )


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
