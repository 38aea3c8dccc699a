"""Where the values of an ordered attribute lie: one number per row of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._options import any_array
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray


def given_positions(values: Any, size: int) -> FloatArray:
    """Check positions that a caller gives: increasing numbers or dates, NaN for a row without a place.

    Examples
    --------
    >>> given_positions([10, 17, float("nan")], 3).tolist()
    [10.0, 17.0, nan]
    """
    numbers = None
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype == np.float64:
        numbers = values.copy()
    elif any_array("positions", values).ndim == 1:
        numbers = _numbers(pd.Index(values))
    if numbers is None:
        raise InvalidInput("positions must be a list of numbers or dates, one per row of the table")
    if len(numbers) != size:
        raise InvalidInput(f"{len(numbers)} positions for {size} rows")
    if np.isinf(numbers).any():
        raise InvalidInput(f"position {int(np.argmax(np.isinf(numbers)))} is infinite")
    placed = np.flatnonzero(~np.isnan(numbers))
    falls = np.diff(numbers[placed]) <= 0
    if falls.any():
        row = int(placed[1:][falls][0])
        raise InvalidInput(
            f"positions must increase, but that of row {row} ({numbers[row]:g}) does not exceed the one "
            "before it: sort the rows by the attribute, and give every value one row"
        )
    numbers.setflags(write=False)
    return numbers


def index_positions(names: pd.Index | None) -> FloatArray | None:
    """Positions that the names of the rows give: distinct finite numbers or dates, in any order."""
    if names is None or isinstance(names, pd.MultiIndex) or not names.is_unique:
        return None
    numbers = None if names.dtype == object else _numbers(names)
    if numbers is None or np.isinf(numbers).any():
        return None
    numbers.setflags(write=False)
    return numbers


def _numbers(index: pd.Index) -> FloatArray | None:
    """Numbers as they are, dates in days; None for other kinds of values."""
    index = index.infer_objects()
    if pd.api.types.infer_dtype(index, skipna=True) == "date":
        index = pd.to_datetime(index)
    if isinstance(index, pd.DatetimeIndex):
        days = (index.to_numpy(dtype="datetime64[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "D")
        return np.array(days, dtype=np.float64)
    if pd.api.types.is_bool_dtype(index.dtype) or not pd.api.types.is_numeric_dtype(index.dtype):
        return None
    if np.issubdtype(np.asarray(index).dtype, np.complexfloating):
        return None
    return np.array(index, dtype=np.float64)
