"""Margins: known totals over a block partition of the joint table, the one form every constraint takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def negligible(records: float) -> float:
    """Violation, in records, below which totals of that many records in all count as met.

    1e-6 records where there are 1 to 1e6 of them, a millionth of them where there is less than one, and
    1e-12 of them where there are more: sums of floating-point numbers are no better than some 1e-15.
    """
    return max(1e-6 * min(1.0, records), 1e-12 * records)


@dataclass(frozen=True, eq=False)
class Margin:
    """Known totals of a table X over groups of rows crossed with groups of columns.

    totals[g, l] = sum of X[a, y] over all a with rows[a] = g and all y with columns[y] = l.

    A 1-D histogram has one group per row and one group of columns; a masked joint table has one
    group of rows per masked value and, unless the label is masked too, one group per column. `kind` says
    which of the two it is, `name` what people call it.
    """

    name: str
    rows: IntArray
    columns: IntArray
    totals: FloatArray
    kind: Literal["view", "histogram"] = "view"

    @property
    def n_groups(self) -> int:
        """Number of known totals."""
        return self.totals.size

    def cells(self) -> IntArray:
        """Index of the total that each cell of the table belongs to, in row-major order."""
        index: IntArray = (self.rows[:, None] * self.totals.shape[1] + self.columns[None, :]).ravel()
        return index

    def sums(self, table: FloatArray) -> FloatArray:
        """Totals of `table` over this margin's groups, in the shape of `totals`."""
        weights = table.ravel()
        sums: FloatArray = np.bincount(self.cells(), weights, self.totals.size)  # type: ignore[assignment]
        return sums.reshape(self.totals.shape)

    def describe(self, group: int, column: int) -> str:
        """Name one total for people."""
        parts = [f"{self.name}, group {group}" if self.totals.shape[0] > 1 else self.name]
        if self.totals.shape[1] > 1:
            parts.append(f"label {column}")
        return ", ".join(parts)

    def implies(self, other: Margin) -> bool:
        """Whether `other`'s totals are sums of this margin's, so that it can be left out."""
        coarser = self.totals.shape[0] < other.totals.shape[0] or self.totals.shape[1] < other.totals.shape[1]
        if coarser:  # settles most pairs at once
            return False
        if not (refines(self.rows, other.rows) and refines(self.columns, other.columns)):
            return False
        sums = self.folded(other.rows, other.columns, other.totals.shape)
        return bool(np.abs(sums - other.totals).max() <= negligible(float(other.totals.sum())))

    def folded(self, rows: IntArray, columns: IntArray, shape: tuple[int, ...]) -> FloatArray:
        """Totals over a coarser partition of rows and columns.

        A row (or column) of totals without any member keeps its records in the first group, so that they
        show as a disagreement instead of vanishing.
        """
        row_of = np.zeros(self.totals.shape[0], dtype=np.int64)
        row_of[self.rows] = rows
        column_of = np.zeros(self.totals.shape[1], dtype=np.int64)
        column_of[self.columns] = columns
        place = (row_of[:, None] * shape[1] + column_of[None, :]).ravel()
        sums: FloatArray = np.bincount(place, self.totals.ravel(), math.prod(shape))  # type: ignore[assignment]
        return sums.reshape(shape)


def open_cells(margins: Sequence[Margin], zeros: BoolArray | None) -> BoolArray:
    """Cells that neither a structural zero nor a total of 0 holds at 0."""
    cells = np.ones((len(margins[0].rows), len(margins[0].columns)), dtype=bool)
    if zeros is not None:
        cells &= ~zeros
    for margin in margins:
        positive = margin.totals > 0
        if not positive.all():  # most have no total of 0
            cells &= positive[margin.rows][:, margin.columns]
    return cells


def refines(fine: IntArray, coarse: IntArray) -> bool:
    """Whether every group of `fine` lies inside one group of `coarse`."""
    first = np.full(int(fine.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[fine] = coarse  # some member's coarse group; all members must agree with it
    return bool(np.array_equal(first[fine], coarse))
