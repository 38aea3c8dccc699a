"""The nearest whole table under all totals, by min-cost flow or, for overlapping views, by CP-SAT."""

from __future__ import annotations

import numpy as np

from aegis_opt._flows import cheapest_flow
from aegis_opt._interrupts import current_deadline
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._network import TwoSided
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._nearest_cp_sat import nearest_by_cp_sat
from aegis_opt.rounding._whole import require_met, sides, split

_COST_UNITS = 2**24
"""Resolution of the cost of a cell: the deviation is the least up to 2^-24 record per cell."""


def nearest(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Round each cell to floor or ceil with the least sum of absolute changes, keeping every total.

    Minimises sum of abs(rounded - table). Raising a cell with fraction f instead of lowering it changes that
    sum by 1 - 2 f, so the best choice is a min-cost flow of unit arcs from one side's totals to the
    other's, which has a whole optimum [1]_. Arcs and nodes are put in random order, so that the seed and
    not the row order decides among equally good tables.

    Where totals overlap so that they are not two-sided (see `problem/_network.py`), or with extra
    constraints, the same sum is minimised by CP-SAT: over tables of floors and ceilings where one meets
    every total, else over all tables of whole numbers. Proving the least can take long on large tables: at a
    fixed effort, some 20 seconds, or at a time limit, the best table found is returned with a warning that
    says how much nearer another could be.

    Raises
    ------
    RoundingImpossible
        Where no table of whole numbers meets all totals, which only overlapping views make possible.

    References
    ----------
    .. [1] R. K. Ahuja, T. L. Magnanti and J. B. Orlin, "Network Flows", Prentice Hall (1993), chapter 9.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> fractional = np.array([[2.25, 0.75], [0.75, 0.25], [0.0, 2.0]])
    >>> nearest(problem, fractional, np.random.default_rng(0)).tolist()
    [[2.0, 1.0], [1.0, 0.0], [0.0, 2.0]]
    """
    floor, fraction = split(problem, table, "nearest")
    cells = np.flatnonzero(fraction)
    graph = None if problem.constraints else sides(problem, cells)
    if graph is None:
        return nearest_by_cp_sat(problem, floor, fraction, rng)
    floor.flat[cells] += _cheapest(graph, fraction.flat[cells], rng)
    return require_met(problem, floor, "nearest")


def _cheapest(graph: TwoSided, fraction: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Choose which cells to raise, by one min-cost flow."""
    up = np.zeros(len(fraction))
    if len(fraction) == 0:
        return up
    n_tails, n_heads = int(graph.left.max()) + 1, int(graph.right.max()) + 1
    tails, heads = rng.permutation(n_tails), n_tails + rng.permutation(n_heads)
    supply = np.zeros(n_tails + n_heads, dtype=np.int64)
    supply[tails] = np.rint(np.bincount(graph.left, weights=fraction))
    supply[heads] = -np.rint(np.bincount(graph.right, weights=fraction))
    order = rng.permutation(len(fraction))
    cost = np.rint((1.0 - 2.0 * fraction[order]) * _COST_UNITS).astype(np.int64)
    ones = np.ones(len(order), dtype=np.int64)
    flow = cheapest_flow(
        tails[graph.left[order]], heads[graph.right[order]], ones, cost, supply, current_deadline()
    )
    if flow is None:
        raise InvalidInput(
            "rounding 'nearest' found no table of floors and ceilings, because the fractional table meets "
            "its totals too loosely: solve with a smaller tolerance"
        )
    up[order] = flow
    return up
