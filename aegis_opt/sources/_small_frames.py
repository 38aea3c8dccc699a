"""Small pandas frames, counted where they are: opening a database would take longer than the counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.domain import Domain, Kind
from aegis_opt.sources._pairs import IntArray

LARGEST = 100_000
"""Records up to which NumPy counts faster than a database that is to be opened first."""


def encoded(frame: pd.DataFrame, positions: list[int]) -> list[tuple[IntArray, Domain]] | None:
    """Return the place of each record's value in the domain, and the domain, of each column.

    None where there are no records, too many, or a column whose values need more than a look at its type:
    such a frame is read by DuckDB, which says what is wrong with it if anything is.
    """
    if not 0 < len(frame) <= LARGEST:
        return None
    found = []
    for position in positions:
        column = present_values(frame.iloc[:, position])
        if column is None:
            return None
        found.append(Domain.encode(*column))
    return [(codes, domain if len(domain.values) else _no_values()) for codes, domain in found]


def _no_values() -> Domain:
    """A column of nothing but missing values has no type."""
    return Domain("string", np.array([]), missing=True)


Present = tuple[Kind, npt.NDArray[Any], npt.NDArray[np.bool_]]
"""The kind of a column, its values that are not missing, and which ones are."""


def present_values(series: pd.Series[Any]) -> Present | None:
    """Return the values of a column; None where its type does not tell what they are."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "M" and dtype.isnative:
        return present_moments(series.to_numpy())
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb" and dtype.isnative:
        values = series.to_numpy()
        whole = np.zeros(len(values), dtype=bool)
        if dtype.kind == "b":
            return "boolean", values, whole
        if dtype.kind == "f":
            return ("real", values.astype(np.float64), whole) if dtype.itemsize in (4, 8) else None
        return ("integer", values.astype(np.int64), whole) if dtype != np.uint64 else None
    texts = _texts(series)
    if texts is None:
        return None
    return present_texts(texts)


def present_moments(stamps: npt.NDArray[np.datetime64]) -> Present | None:
    """Return time stamps without a zone; None where microseconds do not hold them."""
    missing = np.isnat(stamps)
    present = stamps[~missing]
    moments = present.astype("datetime64[us]")
    return ("datetime", moments, missing) if (moments == present).all() else None


def present_texts(texts: npt.NDArray[Any]) -> Present | None:
    """Return texts; None where files could not hold them all."""
    missing = np.asarray(pd.isna(texts))
    present = texts[~missing]
    if not all(map(_is_plain, set(present))):
        return None
    return "string", present, missing


def _texts(series: pd.Series[Any]) -> npt.NDArray[Any] | None:
    """Return the values of a column of texts; None where it holds anything else."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        if pd.api.types.infer_dtype(dtype.categories) != "string":
            return None
        return np.asarray(series.array, dtype=object)
    if isinstance(dtype, pd.StringDtype):
        return np.asarray(series.array, dtype=object)
    if dtype == np.dtype(object) and pd.api.types.infer_dtype(series, skipna=True) == "string":
        return series.to_numpy()
    return None


def _is_plain(text: object) -> bool:
    """Whether a text is one that files can hold, too."""
    if type(text) is not str or "\0" in text:
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
