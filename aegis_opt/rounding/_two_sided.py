"""When totals form a bipartite graph, so that a rounding that keeps all of them always exists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from aegis_opt.errors import RoundingImpossible
from aegis_opt.problem._margin import IntArray
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem


@dataclass(frozen=True, eq=False)
class TwoSided:
    """Cells as the edges of a bipartite graph whose nodes are the known totals.

    Attributes
    ----------
    left, right : int arrays, one entry per cell
        The two totals that the cell belongs to. Where a cell is in one total only, the right one repeats it.
    """

    left: IntArray
    right: IntArray


def two_sided(problem: Problem, cells: IntArray) -> TwoSided | None:
    """Write the totals over `cells` (row-major positions) as a bipartite graph; None where they are none.

    Totals that are sums of others are left out: nested views leave the finest, and this is judged total by
    total, not view by view. What is left is two-sided where every cell is in at most two totals and the
    totals fall into two sides such that no cell has both of its totals on one side. The incidence matrix is
    then totally unimodular [1]_: within floor and ceil there is a whole table with the same totals. One view,
    nested views, and either with the histogram are always two-sided; so are two overlapping views alone.

    References
    ----------
    .. [1] A. J. Hoffman and J. B. Kruskal, "Integral boundary points of convex polyhedra", in Linear
       Inequalities and Related Systems, Princeton (1956).
    """
    margins = list(independent(problem.margins))
    members = [margin.cells()[cells] for margin in margins]
    if len(margins) <= 2 or len(cells) == 0:
        return TwoSided(members[0], members[-1])
    sizes = [margin.n_groups for margin in margins]
    needed = _needed(members, sizes)
    if int(needed.sum(axis=0).max()) > 2:
        return None
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    nodes = np.array(members) + offsets[:-1, None]
    which = np.argmax(needed, axis=0)
    last = len(margins) - 1 - np.argmax(needed[::-1], axis=0)
    everything = np.arange(len(cells))
    one, other = nodes[which, everything], nodes[last, everything]
    # All cells of a total that stands alone stand alone, so the total may be counted on both sides.
    n_nodes = int(offsets[-1])
    return _colour(one, np.where(one == other, other + n_nodes, other), 2 * n_nodes)


def require_two_sided(problem: Problem, cells: IntArray, method: str) -> TwoSided:
    """As `two_sided`, but raise `RoundingImpossible` where the totals overlap too much."""
    graph = two_sided(problem, cells)
    if graph is None:
        names = ", ".join(margin.name for margin in independent(problem.margins))
        raise RoundingImpossible(
            f"rounding {method!r} keeps every total for one view, nested views or two views, but the totals "
            f"of {names} overlap so that a table of floors and ceilings that meets them need not exist; use "
            "rounding='nearest', which then finds the nearest whole table by CP-SAT"
        )
    return graph


def _needed(
    members: Sequence[IntArray], sizes: Sequence[int]
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Whether each cell's total in each margin is not a disjoint union of another margin's totals."""
    needed = np.ones((len(members), len(members[0])), dtype=bool)
    counts = [np.bincount(index, minlength=size) for index, size in zip(members, sizes, strict=True)]
    for i, coarse in enumerate(members):
        for j, fine in enumerate(members):
            if i == j:
                continue
            owner = np.zeros(sizes[j], dtype=np.int64)
            owner[fine] = coarse
            crossing = np.zeros(sizes[j], dtype=bool)
            crossing[fine[owner[fine] != coarse]] = True
            crossed = np.zeros(sizes[i], dtype=bool)
            crossed[coarse[crossing[fine]]] = True
            follows = ~crossed[coarse]
            if j > i:  # of two equal totals the first stays
                follows &= counts[i][coarse] != counts[j][fine]
            needed[i, follows] = False
    return needed


def _colour(one: IntArray, other: IntArray, n_nodes: int) -> TwoSided | None:
    """Give every node a side such that each edge has one end on either; None where a cycle is odd.

    In the double cover, with two copies of each node and edges between copies of different kind, a
    component of the graph falls apart exactly if it is bipartite, and the parts are its sides.
    """
    tails = np.concatenate([one, other])
    heads = np.concatenate([other, one]) + n_nodes
    cover = sparse.coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(2 * n_nodes,) * 2)
    component = connected_components(cover, directed=False)[1]
    first, second = component[:n_nodes], component[n_nodes:]
    if (first[one] == second[one]).any():
        return None
    is_left = first[one] < second[one]
    left = np.unique(np.where(is_left, one, other), return_inverse=True)[1]
    right = np.unique(np.where(is_left, other, one), return_inverse=True)[1]
    return TwoSided(left.astype(np.int64), right.astype(np.int64))
