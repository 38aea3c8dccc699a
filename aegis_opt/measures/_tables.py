"""What every measure shares: checked counts, their margins, and sums that do not depend on padding."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import InvalidInput

Array: TypeAlias = npt.NDArray[np.float64]
TableLike: TypeAlias = npt.ArrayLike | pd.DataFrame
"""One table (rows = attribute values, columns = labels) or a stack of them, shape (..., n, k)."""
Score: TypeAlias = float | Array
"""A float for one table, an array of shape (...) for a stack."""


@dataclass(frozen=True, eq=False)
class Counts:
    """A checked table, or stack of tables, with its margins."""

    cells: Array  # (..., n, k), finite and not negative
    rows: Array  # (..., n)
    columns: Array  # (..., k)
    total: Array  # (...), positive

    @property
    def row_shares(self) -> Array:
        """P(label | row), 0 in empty rows; shape (..., n, k)."""
        return self.cells / np.where(self.rows > 0, self.rows, 1.0)[..., None]

    @property
    def label_shares(self) -> Array:
        """P(label); shape (..., k)."""
        shares: Array = self.columns / self.total[..., None]
        return shares

    @property
    def lift(self) -> Array:
        """P(label | row) / P(label), exactly 1 if there is one row; 0 in empty rows and columns."""
        # Labels rarer than the smallest normal number would overflow the quotient; they weigh nothing.
        shares = self.label_shares
        return self.row_shares / np.where(shares >= np.finfo(float).tiny, shares, 1.0)[..., None, :]

    @property
    def n_rows(self) -> Array:
        """Number of non-empty rows; shape (...)."""
        return np.asarray(np.count_nonzero(self.rows, axis=-1), dtype=float)

    @property
    def n_labels(self) -> Array:
        """Number of non-empty columns; shape (...)."""
        return np.asarray(np.count_nonzero(self.columns, axis=-1), dtype=float)

    @property
    def n_cells(self) -> Array:
        """Number of non-empty cells; shape (...)."""
        return np.asarray(np.count_nonzero(self.cells, axis=(-2, -1)), dtype=float)

    def score(self, values: Any) -> Score:
        """Values of shape (...) as the caller of a measure gets them."""
        return float(values) if self.cells.ndim == 2 else np.asarray(values, dtype=float)


def as_counts(table: TableLike, name: str = "table") -> Counts:
    """Check a table of counts, or a stack of them, and add up its margins."""
    cells = as_array(table, name)
    # A NaN makes its minimum NaN, and NaN >= 0 is false: two passes find every bad cell.
    if not (cells.min(initial=0.0) >= 0 and cells.max(initial=0.0) < np.inf):
        bad = _first(~(np.isfinite(cells) & (cells >= 0)))
        raise InvalidInput(
            f"{name}: counts must be finite and not negative, but {_place(table, bad)} holds {cells[bad]:g}; "
            "use 0 where nothing was counted"
        )
    with np.errstate(over="ignore"):
        columns = add_up(cells, axis=-2)
        total = np.asarray(add_up(columns))
    if not (total.min(initial=1.0) > 0 and total.max(initial=1.0) < np.inf):
        bad = _first(~((total > 0) & np.isfinite(total)))
        which = f"{name} {list(bad)} of the stack" if bad else name
        if total[bad] == 0:
            raise InvalidInput(f"{which} has no records (its counts add up to 0): leave it out")
        raise InvalidInput(f"{which}: the counts add up to more than a float can hold; scale them down")
    return Counts(cells, add_up(cells), columns, total)


def check_whole(counts: Counts, measure: str) -> None:
    """Refuse fractional counts, for which a measure has no meaning."""
    is_bad = counts.cells != np.floor(counts.cells)
    if is_bad.any():
        bad = _first(is_bad)
        raise InvalidInput(
            f"measure {measure!r} is defined for whole counts only here, but "
            f"cell {list(bad)} holds {counts.cells[bad]:g}: round the table first"
        )


def as_array(table: TableLike, name: str = "table") -> Array:
    """Turn a table or stack into a float array of two or more dimensions, whatever numbers it holds."""
    try:
        raw = table.to_numpy() if isinstance(table, pd.DataFrame) else np.asarray(table)
    except ValueError as error:
        raise InvalidInput(f"{name}: the rows must all have the same length ({error})") from error
    if raw.ndim < 2:
        raise InvalidInput(
            f"{name} must have rows (attribute values) and columns (labels), but its shape is {raw.shape}"
        )
    if raw.dtype.kind not in "buif":
        _check_numeric(table, raw, name)
    return raw.astype(np.float64, copy=False)


def _check_numeric(table: TableLike, raw: npt.NDArray[Any], name: str) -> None:
    """Refuse cells that are not numbers; text that spells a number is text."""
    if raw.dtype.kind in "mM":  # as objects, some of them would turn into integers
        is_bad = np.ones(raw.shape, dtype=bool)
    else:
        # From the original, since a single text among numbers has turned all of `raw` into text.
        raw = raw if isinstance(table, pd.DataFrame) else np.asarray(table, dtype=object)
        is_number = np.frompyfunc(lambda cell: isinstance(cell, numbers.Real | Decimal), 1, 1)
        is_bad = ~is_number(raw).astype(bool)
    if is_bad.any():
        bad = _first(is_bad)
        raise InvalidInput(
            f"{name}: counts must be numbers, but {_place(table, bad)} holds {raw[bad]!r}; "
            "use 0 where nothing was counted"
        )


def add_up(values: Array, axis: int = -1) -> Array:
    """Sum along an axis by halving, so that zeros at the end never change a bit of the result.

    `np.sum` splits long axes into blocks that depend on the length and the memory layout; here the order
    of additions depends on an entry's position alone, with the same logarithmic growth of rounding errors.
    A zero-padded stack therefore gives what its tables give one by one.
    """
    # Basic slices of a moved axis are views: nothing is copied, and each step is one addition of arrays.
    if values.ndim > 1:
        moved = range(values.ndim)[axis]
        values = values.transpose(moved, *(i for i in range(values.ndim) if i != moved))
    length = len(values)
    if length == 0:
        return np.zeros(values.shape[1:])
    while length > 1:
        half = 1 << ((length - 1).bit_length() - 1)
        if length == 2 * half:
            values = values[:half] + values[half:]
        else:
            tail = values[half:]
            values = values[:half].copy(order="K")
            values[: length - half] += tail
        length = half
    first: Array = values[0]
    return first


def _first(is_bad: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first true entry, in row-major order."""
    return tuple(int(i) for i in np.unravel_index(int(is_bad.argmax()), is_bad.shape))


def _place(table: TableLike, index: tuple[int, ...]) -> str:
    """How people find a cell: by its labels in a DataFrame, otherwise by its index."""
    if isinstance(table, pd.DataFrame):
        row, column = table.index.tolist()[index[0]], table.columns.tolist()[index[1]]
        return f"row {row!r}, column {column!r}"
    return f"cell {list(index)}"
