"""Elimination: cells whose value follows from known totals by subtraction, without any solver.

A total that leaves one cell open determines it, and a total that is used up empties its cells; what is then
known is subtracted from the other totals, which may leave one cell open in their turn. Bucketings of several
widths, shifted against each other, often leave no cell open at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Elimination:
    """What subtraction tells about the cells."""

    values: FloatArray  # the only value that each determined cell can have; 0 where a cell is open
    open_cells: BoolArray  # cells that subtraction does not determine
    left: FloatArray  # what the determined cells leave of each total
    used_up: BoolArray  # totals without an open cell

    @property
    def agrees(self) -> bool:
        """Whether no total is overdrawn, or left with records that no open cell can hold."""
        return bool((self.left >= 0).all() and not self.left[self.used_up].any())


def eliminate(
    members: IntArray, totals: FloatArray, noise: float = 0.0, least_share: float = 0.0
) -> Elimination:
    """Determine cells of A x = b, x >= 0 by subtraction.

    `members` (margins x cells) numbers the totals of all margins together. A total of no more records than
    `noise` is used up; subtracting whole totals is exact, so that 0 will do there. It stops when a round
    settles less than `least_share` of the cells that were open: a long chain of cells, which subtraction
    follows link by link, is solved faster as a whole.

    Examples
    --------
    From x + y = 4 and z = 2, x = 1 and y + z = 5 all three follow:

    >>> found = eliminate(np.array([[0, 0, 1], [2, 3, 3]]), np.array([4.0, 2.0, 1.0, 5.0]))
    >>> found.values.tolist(), found.left.tolist()
    ([1.0, 3.0, 2.0], [0.0, 0.0, 0.0, 0.0])
    """
    values = np.zeros(members.shape[1])
    left = totals.astype(np.float64)
    cells = np.arange(members.shape[1])  # those still open, with `members` theirs
    while len(cells):
        look_up()
        remaining = np.bincount(members.ravel(), minlength=len(left))
        empty = np.asarray((left <= noise)[members].any(axis=0))
        alone = (remaining == 1)[members]
        found = np.flatnonzero(alone.any(axis=0) & ~empty)
        if not len(found) and not empty.any():
            break
        known = left[members[alone[:, found].argmax(axis=0), found]]
        values[cells[found]] = known
        for margin in members:
            left -= np.bincount(margin[found], known, len(left))
        settled = empty.copy()
        settled[found] = True
        few = settled.sum() < least_share * len(cells)
        cells, members = cells[~settled], members[:, ~settled]
        if few:
            break
    open_cells = np.zeros(len(values), dtype=bool)
    open_cells[cells] = True
    return Elimination(values, open_cells, left, np.bincount(members.ravel(), minlength=len(left)) == 0)
