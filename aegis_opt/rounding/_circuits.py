"""Steps between whole tables with the same totals: the circuits of a system of totals.

A *circuit* is a step that moves as few cells as possible: no other step moves only some of them. Where
totals are two-sided (see `problem/_network.py`), circuits are the cycles of the network, each changes a cell
by at most 1, and any table is reached from any other along circuits without a negative cell on the way
[1]_. For totals that overlap otherwise this holds often, but not always.

References
----------
.. [1] P. Diaconis and B. Sturmfels, "Algebraic algorithms for sampling from conditional distributions",
   Annals of Statistics 26 (1998).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from aegis_opt.problem._echelon import NOISE, dense_system, reduce_rows
from aegis_opt.problem._margin import FloatArray, IntArray

_DENOMINATOR = 64  # of entries of a circuit, before it is scaled to whole numbers


def components(members: IntArray) -> list[IntArray]:
    """Cells that are linked by totals; `members` (margins x cells) numbers the totals of all margins."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    used, row = np.unique(members, return_inverse=True)
    n_cells = members.shape[1]
    cell = np.broadcast_to(np.arange(n_cells), members.shape).ravel()
    size = len(used) + n_cells
    links = coo_array(
        (np.ones(len(cell), dtype=np.int8), (row.ravel(), len(used) + cell)), shape=(size, size)
    )
    label = connected_components(links, directed=False)[1][len(used) :]
    return [np.flatnonzero(label == part) for part in np.unique(label)]


def swaps_suffice(supports: Iterable[int]) -> bool:
    """Whether swaps between two rows and two labels reach every table of a block with closed cells.

    They do if every cycle over three or more rows and as many labels has a chord [1]_. This holds if labels
    can be taken away one by one, each at a time when the rows that have it are nested: of any two of them,
    one has all labels of the other [2]_. `supports` are the labels of each row, as bits of a number.

    References
    ----------
    .. [1] H. Ohsugi and T. Hibi, "Koszul bipartite graphs", Advances in Applied Mathematics 22 (1999).
    .. [2] R. P. Anstee and M. Farber, "Characterizations of totally balanced matrices", Journal of Algorithms
       5 (1984).

    Examples
    --------
    >>> swaps_suffice([0b011, 0b111, 0b110]), swaps_suffice([0b011, 0b110, 0b101])
    (True, False)
    """
    rows = set(supports)
    while True:
        rows = {row for row in rows if row.bit_count() > 1}
        if not rows:
            return True
        for label in range(max(rows).bit_length()):
            holders = sorted((row for row in rows if row >> label & 1), key=int.bit_count)
            if holders and all(few & many == few for few, many in pairwise(holders)):
                rows = {row & ~(1 << label) for row in rows}
                break
        else:
            return False


def random_circuits(members: IntArray, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield circuits, each as cells and their steps: one per cell outside a random basis of the totals.

    A basis is a largest set of cells whose columns of the system are independent; it is chosen greedily in
    random order, so that every circuit has a chance to be found. Each other cell closes one circuit with it.

    Examples
    --------
    >>> [(cells.tolist(), abs(steps).tolist()) for cells, steps in random_circuits(
    ...     np.array([[0, 0, 1, 1], [2, 3, 2, 3]]), np.random.default_rng(0))]
    [([0, 1, 2, 3], [1, 1, 1, 1])]
    """
    order = rng.permutation(members.shape[1])
    system = dense_system(members[:, order])
    pivots = reduce_rows(system)
    free = np.setdiff1d(np.arange(len(order)), pivots)
    for column in rng.permutation(free).tolist():
        moved = np.flatnonzero(np.abs(system[: len(pivots), column]) > NOISE)
        if not len(moved):
            continue
        cells = np.append(pivots[moved], column)
        steps = _whole(np.append(-system[moved, column], 1.0))
        if steps is not None:
            yield _sorted(order[cells], steps)


def _whole(entries: FloatArray) -> IntArray | None:
    """Scale a vector of simple fractions to whole numbers without a common factor; None for others."""
    rounded = np.rint(entries)
    if np.abs(entries - rounded).max() < NOISE:
        return rounded.astype(np.int64)
    fractions = [Fraction(entry).limit_denominator(_DENOMINATOR) for entry in entries.tolist()]
    if max(abs(float(f) - entry) for f, entry in zip(fractions, entries.tolist(), strict=True)) > NOISE:
        return None
    factor = lcm(*(f.denominator for f in fractions))
    return np.array([int(f * factor) for f in fractions], dtype=np.int64)


def _sorted(cells: IntArray, steps: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(cells)
    return cells[order], steps[order]
