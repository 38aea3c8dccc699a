"""Ranges of the cells of whole tables that meet known totals.

The totals are those of a reduction: cells are counts of classes of rows that nobody can tell apart. Cells
that are connected by totals, directly or by way of other cells, form a component. Each is bounded by

1. *propagation*: a total minus the most that its other cells can hold is the least of a cell, and minus the
   least that they hold it is the most of the cell, again and again. This is exact where the totals are the
   rows and columns of a full table, or where the cells connect the totals without a cycle;
2. *flows*, where every cell counts towards two totals on two sides: whole flows of least and of largest
   value on one arc are exact [1]_;
3. *linear algebra*: a cell is fixed that no vector of the null space of the totals moves;
4. *CP-SAT*, in whole numbers, where a component is small, else *linear programs*, whose bounds are rounded to
   whole numbers: they hold, and may be wider than those of whole tables.

References
----------
.. [1] L. H. Cox, "Network models for complementary cell suppression", JASA 90 (1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aegis_opt._flows import cheapest_flow
from aegis_opt.disclosure._extremes import Extremes
from aegis_opt.disclosure._programs import Programs
from aegis_opt.errors import InfeasibleProblem
from aegis_opt.problem._cp_sat import WholeTables
from aegis_opt.problem._echelon import NOISE, dense_system, reduce_rows
from aegis_opt.problem._feasibility import incidence, numbered
from aegis_opt.problem._network import TwoSided, two_sided

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_ROUNDS = 100  # of propagation; more rarely change much
_LARGEST_DENSE = 400  # cells of a component whose null space is computed
_LARGEST_CP_SAT = 60  # cells of a component that is solved in whole numbers
_MOST_ARCS = 4_000_000  # that all flows of a component have together
_MOST_CELLS = 4_000_000  # that all linear programs of a component have together
_EFFORT = 1.0  # of one search by CP-SAT, in its deterministic seconds
_NO_TABLE = "no whole table meets the totals"


@dataclass(frozen=True, eq=False)
class CellBounds:
    """The least and the largest count of each cell; `exact` where whole tables have both."""

    low: IntArray
    high: IntArray
    exact: BoolArray


def cell_bounds(
    members: IntArray,
    totals: FloatArray,
    lower: FloatArray | None = None,
    upper: FloatArray | None = None,
) -> CellBounds:
    """Bound each cell of A x = b, x whole and not negative.

    Parameters
    ----------
    members : ndarray, shape (margins, cells)
        The total that each cell counts towards in each margin, numbered through all margins.
    totals : ndarray
        The known totals, whole.
    lower, upper : ndarray, optional
        What else is known about each cell.

    Raises
    ------
    InfeasibleProblem
        If no whole table meets the totals.

    Examples
    --------
    Two rows of 3 and 1 records, two columns of 2 and 2:

    >>> found = cell_bounds(np.array([[0, 0, 1, 1], [2, 3, 2, 3]]), np.array([3.0, 1.0, 2.0, 2.0]))
    >>> found.low.tolist(), found.high.tolist()
    ([1, 1, 0, 0], [2, 2, 1, 1])
    """
    least = np.zeros(members.shape[1]) if lower is None else lower
    most = totals[members].min(axis=0)
    low, high, settled = _propagate(
        members, totals, least, most if upper is None else np.minimum(most, upper)
    )
    exact = low == high
    left = totals.astype(np.float64)
    for margin in members:
        left -= np.bincount(margin[exact], low[exact], len(totals))
    for cells in _open_components(members, ~exact):
        component = _Component.of(members[:, cells], left, low[cells], high[cells], settled)
        low[cells], high[cells], exact[cells] = component.bounded()
    return CellBounds(low.astype(np.int64), high.astype(np.int64), exact)


def _propagate(
    members: IntArray, totals: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Bound cells by each total alone, again and again; also whether nothing changes any more."""
    if (low > high).any():
        raise InfeasibleProblem(_NO_TABLE)
    for _ in range(_ROUNDS):
        before = low.copy(), high.copy()
        for margin in members:
            most, least = (np.bincount(margin, part, len(totals)) for part in (high, low))
            low, high = (
                np.maximum(low, (totals - most)[margin] + high),
                np.minimum(high, (totals - least)[margin] + low),
            )
        if (low > high).any():
            raise InfeasibleProblem(_NO_TABLE)
        if np.array_equal(low, before[0]) and np.array_equal(high, before[1]):
            return low, high, True
    return low, high, False


def _open_components(members: IntArray, is_open: BoolArray) -> list[IntArray]:
    """Return the open cells of each component; cells that are fixed connect nothing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cells = np.flatnonzero(is_open)
    if not len(cells):
        return []
    n_totals = int(members.max()) + 1
    tails = np.tile(np.arange(len(cells)), len(members))
    heads = len(cells) + members[:, cells].ravel()
    n_nodes = len(cells) + n_totals
    graph = coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(n_nodes, n_nodes))
    component = connected_components(graph, directed=False)[1][: len(cells)]
    order = np.argsort(component, kind="stable")
    ends = np.flatnonzero(np.diff(component[order])) + 1
    return np.split(cells[order], ends)


@dataclass(frozen=True, eq=False)
class _Component:
    """Open cells that are connected by totals, and what fixed cells leave of these."""

    members: list[IntArray]  # for each margin, the total of each cell, from 0
    totals: list[FloatArray]
    low: FloatArray
    high: FloatArray
    settled: bool  # whether propagation has ended

    @classmethod
    def of(
        cls, members: IntArray, left: FloatArray, low: FloatArray, high: FloatArray, settled: bool
    ) -> _Component:
        """Number the totals of these cells from 0."""
        found = [np.unique(margin, return_inverse=True) for margin in members]
        return cls([own for _, own in found], [left[used] for used, _ in found], low, high, settled)

    @property
    def n_cells(self) -> int:
        """Number of open cells."""
        return len(self.low)

    @property
    def sizes(self) -> list[int]:
        """Number of totals of each margin."""
        return [len(totals) for totals in self.totals]

    def bounded(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the least and the largest of each cell, and whether whole tables have both."""
        network = two_sided(self.members, self.sizes)
        yes = np.ones(self.n_cells, dtype=bool)
        if network is not None:
            n_nodes = len(network.left_totals) + len(network.right_totals)
            full = self.n_cells == len(network.left_totals) * len(network.right_totals)
            if self.settled and (full or self.n_cells == n_nodes - 1):
                return self.low, self.high, yes
            return self._by_flows(network)
        fixed, values = self._fixed_by_rank()
        if fixed.all():
            return values, values, yes
        low, high = np.where(fixed, values, self.low), np.where(fixed, values, self.high)
        low, high, exact = self._by_programs(low, high)
        if self.n_cells <= _LARGEST_CP_SAT and not exact.all():
            return self._by_search(low, high)
        return low, high, exact

    def _by_flows(self, network: TwoSided) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Find exact bounds by flows of least cost, where the cost is that of one cell."""
        everything = np.concatenate(self.totals)
        n_left = len(network.left_totals)
        supply = np.concatenate([everything[network.left_totals], -everything[network.right_totals]])
        tail, head = network.left, network.right + n_left
        np.subtract.at(supply, tail, self.low)  # what lies above the least is what flows
        np.add.at(supply, head, self.low)

        def solve(cost: FloatArray) -> FloatArray:
            flow = cheapest_flow(
                tail,
                head,
                (self.high - self.low).astype(np.int64),
                cost.astype(np.int64),
                supply.astype(np.int64),
            )
            if flow is None:
                raise InfeasibleProblem(_NO_TABLE)
            return self.low + flow

        return Extremes(self.low, self.high, _MOST_ARCS // self.n_cells).found(solve)

    def _by_search(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Find exact bounds by CP-SAT."""
        tables = WholeTables(
            self._numbered,
            np.concatenate(self.totals).astype(np.int64),
            low.astype(np.int64),
            high.astype(np.int64),
            seed=0,
        )

        def solve(cost: FloatArray) -> FloatArray | None:
            objective = tables.weighted_sum(tables.cells, cost.astype(int).tolist())
            solution = tables.search(objective, effort=_EFFORT)
            return None if solution is None or not solution.proved else solution.cells.astype(np.float64)

        return Extremes(low, high, 4 * self.n_cells).found(solve)

    def _by_programs(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Find bounds by linear programs; those of a fractional table are rounded inwards."""
        matrix = incidence(self.members, self.sizes)
        programs = Programs(matrix, np.concatenate(self.totals), low, high)
        return Extremes(low, high, _MOST_CELLS // self.n_cells).found(programs.cheapest)

    @property
    def _numbered(self) -> IntArray:
        """The total of each cell in each margin, numbered through all margins."""
        return numbered(self.members, self.sizes)

    def _fixed_by_rank(self) -> tuple[BoolArray, FloatArray]:
        """Return the cells that the totals fix by linear algebra, and their values."""
        nothing = np.zeros(self.n_cells, dtype=bool), np.zeros(self.n_cells)
        if self.n_cells > _LARGEST_DENSE:
            return nothing
        system = np.column_stack([dense_system(self._numbered), np.concatenate(self.totals)])
        pivots = reduce_rows(system)
        pivots = pivots[pivots < self.n_cells]
        fixed, values = nothing
        free = np.delete(system[: len(pivots), :-1], pivots, axis=1)
        alone = np.abs(free).max(axis=1, initial=0.0) < NOISE
        fixed[pivots[alone]] = True
        values[pivots[alone]] = np.round(system[: len(pivots), -1][alone])
        if (fixed & ((values < self.low) | (values > self.high))).any():
            raise InfeasibleProblem(_NO_TABLE)
        return fixed, values
