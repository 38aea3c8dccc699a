"""Arrays of whole numbers, read, checked and added up: the counts and groups of a summary."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.problem._margin import IntArray

MOST_RECORDS = 2**53
"""How many records a summary may count: beyond, floating-point numbers do not tell two counts apart."""


def numbers_all(groups: IntArray, n_groups: int) -> bool:
    """Whether groups are all of 0 to n_groups - 1."""
    if groups.min(initial=0) < 0 or groups.max(initial=-1) != n_groups - 1:
        return False
    return bool(np.bincount(groups, minlength=n_groups).all())


def merge_rows(table: IntArray, groups: IntArray) -> IntArray:
    """Add up the rows of a table of counts that belong to the same group.

    Examples
    --------
    >>> merge_rows(np.array([[3, 0], [0, 1], [0, 2]]), np.array([0, 0, 1])).tolist()
    [[3, 1], [0, 2]]
    """
    merged = np.zeros((int(groups.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(merged, groups, table)
    return merged


def merge_columns(table: IntArray, groups: IntArray | None) -> IntArray:
    """Add up the columns of a table of counts that belong to the same group; None leaves it as it is.

    Examples
    --------
    >>> merge_columns(np.array([[3, 0, 1], [0, 1, 2]]), np.array([0, 1, 0])).tolist()
    [[4, 0], [2, 1]]
    """
    return table if groups is None else np.ascontiguousarray(merge_rows(table.T, groups).T)


def whole_counts(values: Any, what: str, *, ndim: int) -> IntArray:
    """Copy `values` as `whole_numbers` does; together they are records, which floats must tell apart."""
    counts = whole_numbers(values, what, ndim=ndim)
    largest = int(counts.max())
    total = int(counts.sum()) if largest * counts.size < 2**63 else sum(counts.ravel().tolist())
    if total > MOST_RECORDS:
        raise SummaryError(
            f"there are {total:,} records in the {what}; at most 2**53 ({MOST_RECORDS:,}) are counted "
            "exactly: get a whole copy, or take a sample"
        )
    return counts


def whole_numbers(values: Any, what: str, *, ndim: int, signed: bool = False) -> IntArray:
    """Copy `values` as a read-only array of numbers from 0, or -2**53, to 2**53; name what is none."""
    wanted = f"the {what} must be {'a table' if ndim == 2 else 'a list'} of whole numbers"
    if isinstance(values, list | tuple):
        # NumPy would take true for 1, and make a text of every number beside a long text
        odd = next((t for t in _types_in(values, ndim) if t is bool or not issubclass(t, Real)), None)
        if odd is not None:
            raise SummaryError(f"{wanted}, not of {odd.__name__}")
    try:
        array = np.array(values)
        if array.dtype.kind == "f" and np.abs(array).max(initial=0) >= MOST_RECORDS:
            array = np.array(values, dtype=object)  # a float beside 2**53 + 1 makes it 2**53
    except ValueError as error:
        raise SummaryError(f"the {what} must be a table with rows of equal length") from error
    if array.ndim != ndim or array.size == 0 or array.dtype.kind not in "iufO":
        raise SummaryError(wanted)
    if not signed and (array < 0).any():
        raise SummaryError(
            f"the {what} has the negative number {_first(array[array < 0])}; counts start at 0"
        )
    fits = (array <= MOST_RECORDS) & (array >= -MOST_RECORDS)
    if not fits.all():
        raise SummaryError(f"the {what} has the number {_first(array[~fits])}, which is too large")
    counts = array.astype(np.int64)
    if (counts != array).any():
        raise SummaryError(f"the {what} has the fractional number {_first(array[counts != array])}")
    counts.setflags(write=False)
    return counts


def _first(numbers: npt.NDArray[Any]) -> str:
    return shown(numbers[:1].tolist()[0])


def _types_in(values: Any, ndim: int) -> set[type]:
    """Return the types of the entries of nested lists, down to the depth of the array they should make."""
    if ndim == 1:
        return set(map(type, values))
    return set().union(
        *(_types_in(row, ndim - 1) if isinstance(row, list | tuple) else {type(row)} for row in values)
    )


def check_classes(label: str, values: tuple[Any, ...], counts: IntArray) -> None:
    """Refuse classes that are not distinct, have not one count each, or are fewer than two."""
    if not 2 <= len(values) == len(set(values)) == len(counts):
        raise SummaryError(
            f"the label {shown(label)} needs at least two distinct classes with one count each, not "
            f"{len(values)} classes and {len(counts)} counts"
        )


def check_n_values(n_values: Any, n_records: int, where: str) -> None:
    """Refuse a number of values that cannot be: each occurs in a record at least."""
    if not is_whole(n_values) or not 1 <= n_values <= n_records:
        raise SummaryError(
            f"{where} has {shown(n_values)} values by its own account: it must be a whole number from 1 to "
            f"the number of records, {n_records:,}"
        )
