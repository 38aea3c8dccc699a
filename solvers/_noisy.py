"""Problems with noisy views as arrays: what is fitted, under which totals, how far a fit is from the best.

The counts J of a noisy view have the mean T X, with the channel T. Sought is the table X >= 0 of least misfit
f(X) that meets every exact total A x = b: label totals always, histogram and other views where known. f is
minus the logarithm of the likelihood, -sum of J log(TX), or the sum of squares of J - TX.

f is convex, so that for every feasible X* and any multipliers v, with g = -f'(X) and N records in all,

    f(X) - f(X*) <= g'(X* - X) <= v'b - g'X + N max(0, max(g - A'v)),

which needs nothing but the table and the multipliers: that is the gap by which every solver is judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt._channels import MOST_ENTRIES, condition
from aegis_opt.errors import InfeasibleProblem, InvalidInput, InvalidOption
from aegis_opt.problem._margin import BoolArray, FloatArray, open_cells
from aegis_opt.problem._misfit import Misfit
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._support import with_support
from aegis_opt.problem._view import View

if TYPE_CHECKING:
    from aegis_opt.solvers.base import Minimiser

PROVED_GAP = 1e-6
"""Relative gap up to which a fit counts as the best one."""

_ILL = 1e10  # condition number of a channel from which on a fit is one of many


@dataclass(frozen=True, eq=False)
class NoisySystem:
    """A problem with noisy views as blocks of cells that share the channel.

    There is a block for each label, or a single one for all cells where a view has a masked label. Where no
    histogram couples the labels, the exact totals of each block are `rows` x = its `rights`: the label total,
    and the totals of the groups of exact views. Otherwise they are A x = b over the cells of all blocks.
    """

    problem: Problem
    T: FloatArray  # (M, n): the channels of all noisy views, one below the other
    J: FloatArray  # (B, M): the noisy counts of each block
    open: BoolArray  # (B, n): cells that may be positive
    rows: FloatArray  # (R, n): the exact totals of a block, the first one of all its cells
    rights: FloatArray  # (B, R)
    A: FloatArray | None  # (B, R, n) where blocks are coupled
    b: FloatArray  # (R,)

    @classmethod
    def of(cls, problem: Problem, deadline: float = math.inf) -> NoisySystem:
        """Write a problem as arrays; refuse what cannot be fitted."""
        if problem.constraints:
            raise InvalidOption(
                "extra linear constraints are not taken together with noisy views; leave one of them out"
            )
        k = problem.shape[1]
        separate = all(_keeps_labels(view) for view in problem.noisy)
        exact = [view for view in problem.views if view.channel is None]
        alone = separate and problem.histogram is None and all(map(_keeps_labels, exact))
        simple = alone and not exact
        if simple:
            cells = open_cells(problem.margins, problem.structural_zeros)
        else:
            cells = with_support(problem, deadline).support
        if separate:
            T = np.concatenate([_channel(view) for view in problem.noisy])
            J = np.concatenate([view.joint[:, view.label_groups] for view in problem.noisy]).T
            opened = cells.T
        else:
            T = np.concatenate([_flat_channel(view) for view in problem.noisy])
            J = np.concatenate([view.joint.ravel() for view in problem.noisy])[None]
            opened = cells.reshape(1, -1)
        _require_possible(T, J, opened)
        first = problem.noisy[0].joint
        rows = np.ones((1, T.shape[1]))
        rights = J[:, : len(first) if separate else first.size].sum(axis=1, keepdims=True)
        A, b = None, np.zeros(0)
        if not alone:
            A, b = _exact_totals(problem, blocks=k if separate else 1)
        elif exact:
            rows = np.concatenate([rows, *(_members(view) for view in exact)])
            known = np.concatenate([view.joint[:, view.label_groups] for view in exact]).T
            rights = np.concatenate([rights, known], axis=1)
        return cls(problem, T, np.ascontiguousarray(J), np.ascontiguousarray(opened), rows, rights, A, b)

    @property
    def totals(self) -> FloatArray:
        """Records of each block."""
        return self.rights[:, 0]

    @property
    def records(self) -> float:
        """Number of records."""
        return self.problem.total

    def table(self, x: FloatArray) -> FloatArray:
        """The n x k table of the cells (B, n)."""
        n, k = self.problem.shape
        return np.ascontiguousarray(x.T) if len(x) == k and x.shape[1] == n else x.reshape(n, k)

    def cells(self, table: FloatArray) -> FloatArray:
        """The cells (B, n) of an n x k table."""
        return table.T.copy() if self.open.shape == table.T.shape else table.reshape(1, -1).copy()

    def gradient(self, x: FloatArray, kind: Misfit) -> FloatArray:
        """Minus the derivative of the misfit by each cell."""
        mean = x @ self.T.T
        if kind == "l2":
            down: FloatArray = 2 * (self.J - mean) @ self.T
            return down
        ratio = np.divide(self.J, mean, out=np.zeros_like(mean), where=self.J > 0)
        grown: FloatArray = ratio @ self.T
        return grown

    def shortfall(self, x: FloatArray, kind: Misfit, v: FloatArray | None = None) -> float:
        """Bound on f(x) - min f, in the unit of f, from the table and multipliers of the exact totals."""
        if kind == "likelihood" and (((x @ self.T.T) <= 0) & (self.J > 0)).any():
            return float("inf")
        g = self.gradient(x, kind)
        if self.A is None and len(self.rows) > 1:
            return self._shortfall_of_blocks(x, g, v)
        if self.A is None:
            best = np.where(self.open, g, -np.inf).max(axis=1)
            best = np.where(self.totals > 0, best, 0.0)
            return max(float(best @ self.totals) - float((g * x).sum()), 0.0)
        if v is None:
            v = self.multipliers(x, g)
        priced = np.einsum("brn,r->bn", self.A, v)
        missing = max(float((g - priced)[self.open].max(initial=0.0)), 0.0)
        return max(float(v @ self.b) - float((g * x).sum()) + self.records * missing, 0.0)

    def _shortfall_of_blocks(self, x: FloatArray, g: FloatArray, v: FloatArray | None) -> float:
        """The same, where each block has several exact totals of its own."""
        if v is None:
            v = np.zeros_like(self.rights)
            for i, cells in enumerate(self.open):
                if cells.any():
                    v[i] = _weighted(self.rows[:, cells].T, g[i, cells], x[i, cells], float(self.totals[i]))
        over = np.where(self.open, g - v @ self.rows, 0.0).max(axis=1, initial=0.0)
        bounds = (v * self.rights).sum(axis=1) - (g * x).sum(axis=1) + self.totals * np.maximum(over, 0.0)
        return float(np.maximum(bounds, 0.0).sum())

    def multipliers(self, x: FloatArray, g: FloatArray) -> FloatArray:
        """Multipliers v with A'v close to g where x is positive, by weighted least squares."""
        assert self.A is not None
        rows = np.moveaxis(self.A, 1, 2)[self.open]
        return _weighted(rows, g[self.open], x[self.open], self.records)

    @cached_property
    def warning(self) -> str:
        """What a caller should know about the channel; "" where nothing."""
        worst = max(condition(_channel(view)) for view in self.problem.noisy)
        if worst < _ILL:
            return ""
        return (
            f"the noise is so wide (condition number {worst:.1g}) that many different tables explain the "
            "noisy counts equally well: the fitted table is one of them, and single cells of it mean little"
        )


def relative_gap(system: NoisySystem, x: FloatArray, kind: Misfit, v: FloatArray | None = None) -> float:
    """Gap to the least misfit.

    For the likelihood, in nats per record: how much more likely a record can become on average. For l2, the
    share of the misfit, or of one record where it is less, by which it can fall.
    """
    shortfall = system.shortfall(x, kind, v)
    if kind == "likelihood":
        return shortfall / system.records if system.records else 0.0
    squared = float(((system.J - x @ system.T.T) ** 2).sum())
    misfit, least = np.sqrt(squared), np.sqrt(max(squared - shortfall, 0.0))
    return float((misfit - least) / max(misfit, 1.0))


def require_no_norm(solver: Minimiser, *taken: str) -> None:
    """Refuse a distance to the prior, which is not what is minimised where a view is noisy."""
    if solver.distance_norm not in taken:
        raise InvalidOption(
            f"norm={solver.distance_norm!r} is a distance to the prior, but where a view is noisy, the "
            "misfit to its counts is minimised: leave norm out. Solvers 'convex' and 'integer' have the "
            "option misfit: 'likelihood' or 'l2'"
        )


def require_no_misfit(misfit: Misfit | None) -> None:
    """Refuse a misfit where no view is noisy."""
    if misfit is not None:
        raise InvalidOption(
            f"misfit={misfit!r} is for problems with noisy views, and this one has none: leave it out"
        )


def _weighted(rows: FloatArray, g: FloatArray, x: FloatArray, records: float) -> FloatArray:
    """Solve rows v = g by least squares with the weights x."""
    weight = np.sqrt(np.maximum(x, 0.0) / max(records, 1e-300))
    found = np.linalg.lstsq(rows * weight[:, None], g * weight, rcond=1e-12)[0]
    return np.asarray(found, dtype=np.float64)


def _members(view: View) -> FloatArray:
    """0/1 matrix that adds up the values of each group."""
    matrix = np.zeros((len(view.joint), view.n_values))
    matrix[view.groups, np.arange(view.n_values)] = 1.0
    return matrix


def _keeps_labels(view: View) -> bool:
    """Whether the view's label is not masked."""
    return bool(len(np.unique(view.label_groups)) == view.n_labels == view.joint.shape[1])


def _channel(view: View) -> FloatArray:
    assert view.channel is not None
    return view.channel


def _flat_channel(view: View) -> FloatArray:
    """Channel from all cells to all noisy counts, where the label is masked, too."""
    T = _channel(view)
    labels = np.zeros((view.joint.shape[1], view.n_labels))
    labels[view.label_groups, np.arange(view.n_labels)] = 1.0
    _require_room(T.size * labels.size)
    return np.asarray(np.kron(T, labels), dtype=np.float64)


def _exact_totals(problem: Problem, blocks: int) -> tuple[FloatArray, FloatArray]:
    """Every exact total as an equation over the cells of all blocks; see `NoisySystem`."""
    n, k = problem.shape
    rows = sum(margin.n_groups for margin in problem.margins)
    _require_room(rows * n * k)
    A = np.zeros((rows, n * k))
    first = 0
    for margin in problem.margins:
        A[first + margin.cells(), np.arange(n * k)] = 1.0
        first += margin.n_groups
    b = np.concatenate([margin.totals.ravel() for margin in problem.margins])
    if blocks == 1:
        return A[None], b
    by_label: FloatArray = np.ascontiguousarray(A.reshape(rows, n, k).transpose(2, 0, 1))
    return by_label, b


def _require_room(entries: int) -> None:
    if entries > MOST_ENTRIES:
        raise InvalidInput(
            f"noisy views together with exact ones, or with a masked label, take a matrix of {entries:,} "
            f"entries here, and there is room for {MOST_ENTRIES:,}: coarsen the attribute or the label, or "
            "reconstruct from the noisy views alone"
        )


def _require_possible(T: FloatArray, J: FloatArray, opened: BoolArray) -> None:
    """Refuse noisy counts that no feasible table can give."""
    reachable = opened.astype(np.float64) @ T.T > 0
    impossible = (J > 0) & ~reachable
    if impossible.any():
        block, g = np.argwhere(impossible)[0].tolist()
        raise InfeasibleProblem(
            f"the noisy counts have {J[block, g]:.10g} records (row {g}, block {block}) that no value which "
            "the exact totals and the prior's zeros allow can be masked to: correct the channel or the totals"
        )
