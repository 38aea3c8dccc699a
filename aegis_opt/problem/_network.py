"""When known totals form a network.

Where every cell counts towards one total on either of two sides, cells are the arcs of a bipartite network
and whole tables are whole flows: optima and roundings come from flow algorithms, without a search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._margin import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class TwoSided:
    """Cells as the edges of a bipartite graph whose nodes are known totals.

    A total that shares its cells with no other one stands on both sides.
    """

    left: IntArray  # per cell: its node on the left, numbered from 0 up
    right: IntArray
    left_totals: IntArray  # per node on the left: the total behind it, counted through all margins
    right_totals: IntArray


def two_sided(members: Sequence[IntArray], sizes: Sequence[int]) -> TwoSided | None:
    """Write totals over some cells as a bipartite graph; None where they are none.

    Totals that are sums of others are left out: nested views leave the finest, and this is judged total by
    total, not view by view. What is left is two-sided where every cell is in at most two totals and the
    totals fall into two sides such that no cell has both of its totals on one side. The incidence matrix is
    then totally unimodular [1]_: every convex cost has a whole optimum, and within floor and ceil there is
    a whole table with the same totals. One view, nested views, and either with the histogram are always
    two-sided; so are two overlapping views alone, and more of them where they are partly nested.

    A table that meets the totals of the graph also meets those left out, provided that all of them agree.
    Arguments are as in `numbered`; no margin follows from another one.

    References
    ----------
    .. [1] A. J. Hoffman and J. B. Kruskal, "Integral boundary points of convex polyhedra", in Linear
       Inequalities and Related Systems, Princeton (1956).

    Examples
    --------
    Of four cells a, b, c, d, these are known: a + b, c, d; a, b, c + d; a + c, b + d. The totals a + b and
    c + d follow from others.

    >>> margins = [np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1])]
    >>> graph = two_sided(margins, [3, 3, 2])
    >>> graph.left_totals.tolist(), graph.right_totals.tolist()
    ([1, 2, 3, 4], [6, 7])
    """
    ends = np.cumsum(sizes)
    if len(members) <= 2:
        both = np.arange(ends[-1])
        return TwoSided(members[0], members[-1], both[: sizes[0]], both[ends[-1] - sizes[-1] :])
    needed = _needed(members, sizes)
    if int(needed.sum(axis=0).max(initial=0)) > 2:
        return None
    totals = numbered(members, sizes)
    cells = np.arange(totals.shape[1])
    one = totals[np.argmax(needed, axis=0), cells]
    other = totals[len(members) - 1 - np.argmax(needed[::-1], axis=0), cells]
    # All cells of a total that stands alone stand alone, so the total may be counted on both sides.
    n_totals = int(ends[-1])
    return _coloured(one, np.where(one == other, other + n_totals, other), n_totals)


def _needed(members: Sequence[IntArray], sizes: Sequence[int]) -> BoolArray:
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


def _coloured(one: IntArray, other: IntArray, n_totals: int) -> TwoSided | None:
    """Give every node a side such that each edge has one end on either; None where a cycle is odd.

    Nodes are totals, and copies of them that are numbered from `n_totals` on. In the double cover, with two
    copies of each node and edges between copies of different kind, a component of the graph falls apart
    exactly if it is bipartite, and the parts are its sides.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_nodes = 2 * n_totals
    tails = np.concatenate([one, other])
    heads = np.concatenate([other, one]) + n_nodes
    cover = coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(2 * n_nodes,) * 2)
    component = connected_components(cover, directed=False)[1]
    first, second = component[:n_nodes], component[n_nodes:]
    if (first[one] == second[one]).any():
        return None
    is_left = first[one] < second[one]
    left_totals, left = np.unique(np.where(is_left, one, other), return_inverse=True)
    right_totals, right = np.unique(np.where(is_left, other, one), return_inverse=True)
    return TwoSided(left, right, left_totals % n_totals, right_totals % n_totals)
