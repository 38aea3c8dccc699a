"""The least and the largest of many cells, asked for in as few questions as possible."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Solve = Callable[[FloatArray], FloatArray | None]
"""Gives a table of least cost, given what a record in each cell costs; None where it gives up."""

_WHOLE = 1e-6  # how far a fractional solution may be from the whole numbers that it stands for


class Extremes:
    """The proved range of each cell, and how much of it was seen in whole tables.

    Every table shows how far all of its cells reach. So the first questions are about all cells at once, as
    long as that shows something new, and the others about one cell each.
    """

    def __init__(self, low: FloatArray, high: FloatArray, most: int) -> None:
        self.low, self.high = low.copy(), high.copy()  # proved
        self.least, self.largest = high.copy(), low.copy()  # seen
        self.asked_low, self.asked_high = (np.zeros(len(low), dtype=bool) for _ in range(2))
        self.left = max(most, 2)  # questions

    def found(self, solve: Solve) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Ask until every range is known, or the effort is spent.

        Returns
        -------
        low, high, exact
            The ranges, and whether both ends of each were seen in whole tables.
        """
        for upwards in (True, False):
            while self._ask_all(solve, upwards):
                pass
        while self.left > 0:
            below = np.where(self.asked_low, 0.0, self.least - self.low)
            above = np.where(self.asked_high, 0.0, self.high - self.largest)
            cell = int(np.argmax(np.maximum(below, above)))
            if below[cell] <= 0 and above[cell] <= 0:
                break
            self._ask_one(solve, cell, upwards=bool(above[cell] >= below[cell]))
        return self.low, self.high, (self.least <= self.low) & (self.largest >= self.high)

    def _ask_all(self, solve: Solve, upwards: bool) -> bool:
        """Push all cells towards ends that were not seen; return whether some of these now are."""
        missing = self.largest < self.high if upwards else self.least > self.low
        n_missing = np.count_nonzero(missing)
        if n_missing < 2 or self.left <= 0:
            return False
        table = self._solved(solve, np.where(missing, -1.0 if upwards else 1.0, 0.0))
        missing = self.largest < self.high if upwards else self.least > self.low
        return table is not None and bool(np.count_nonzero(missing) < n_missing)

    def _ask_one(self, solve: Solve, cell: int, upwards: bool) -> None:
        cost = np.zeros(len(self.low))
        cost[cell] = -1.0 if upwards else 1.0
        table = self._solved(solve, cost)
        if upwards:
            self.asked_high[cell] = True
            if table is not None:
                self.high[cell] = np.floor(table[cell] + _WHOLE)
        else:
            self.asked_low[cell] = True
            if table is not None:
                self.low[cell] = np.ceil(table[cell] - _WHOLE)

    def _solved(self, solve: Solve, cost: FloatArray) -> FloatArray | None:
        self.left -= 1
        table = solve(cost)
        if table is not None:
            whole = np.round(table)
            if np.abs(whole - table).max() < _WHOLE:
                self.least = np.minimum(self.least, whole)
                self.largest = np.maximum(self.largest, whole)
        return table
