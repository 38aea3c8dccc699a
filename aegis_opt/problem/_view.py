"""A masked view: what one masking function shows of the joint table of an attribute and the label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class View:
    """Joint table of a masked attribute and the (possibly masked) label.

    The view says S X L = J, with S the 0/1 matrix that adds up the rows of a group, and L the same for
    columns (the identity unless the label is masked too).

    Parameters
    ----------
    groups : array_like of int, shape (n,)
        groups[a] is the row of `joint` that value a is masked to. With a DataFrame as `joint`, the entries
        may also be labels of its index.
    joint : array_like, shape (n_groups, k)
        Known counts of masked value and label. May be fractional for continuous solvers.
    label_groups : array_like of int, shape (k,), optional
        For a masked label: label_groups[y] is the column of `joint` that label y is masked to. All zeros,
        with a one-column `joint`, state how often each masked value occurs and nothing about the label.

    Examples
    --------
    >>> view = View([0, 0, 1], [[3, 1], [0, 2]])
    >>> view.n_values, view.n_labels
    (3, 2)
    """

    groups: IntArray
    joint: FloatArray
    label_groups: IntArray
    row_names: pd.Index | None
    label_names: pd.Index | None

    def __init__(
        self, groups: npt.ArrayLike, joint: npt.ArrayLike, label_groups: npt.ArrayLike | None = None
    ) -> None:
        table = counts(joint, "the joint table of a view", ndim=2)
        index = joint.index if isinstance(joint, pd.DataFrame) else None
        rows = _group_ids(groups, len(table), "groups", index)
        columns = np.arange(table.shape[1], dtype=np.int64)
        if label_groups is not None:
            columns = _group_ids(label_groups, table.shape[1], "label_groups", None)
        names = joint.columns if isinstance(joint, pd.DataFrame) and label_groups is None else None
        if isinstance(label_groups, pd.Series):
            names = label_groups.index
        vars(self).update(  # the way into a frozen dataclass whose arguments are converted
            groups=rows,
            joint=table,
            label_groups=columns,
            row_names=groups.index if isinstance(groups, pd.Series) else None,
            label_names=names,
        )

    @property
    def n_values(self) -> int:
        """Number of values of the unmasked attribute."""
        return len(self.groups)

    @property
    def n_labels(self) -> int:
        """Number of values of the unmasked label."""
        return len(self.label_groups)


def counts(values: Any, what: str, *, ndim: int) -> FloatArray:
    """Copy `values` as a read-only float array; reject what cannot be a count, naming the first such cell."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{what} must hold numbers only: {error}") from error
    if array.ndim != ndim:
        raise InvalidInput(f"{what} must have {ndim} dimension(s), not {array.ndim}")
    if array.size == 0:
        raise InvalidInput(f"{what} is empty")
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InvalidInput(
            f"{what} has {array[place]} at position {place if ndim > 1 else place[0]}: "
            "counts are finite and not negative"
        )
    array.setflags(write=False)
    return array


def _group_ids(values: Any, size: int, what: str, names: pd.Index | None) -> IntArray:
    given = np.asarray(values)
    if given.ndim != 1 or len(given) == 0:
        raise InvalidInput(f"{what} must be a non-empty list of group numbers, one per value")
    if not np.issubdtype(given.dtype, np.integer):
        if names is None or np.issubdtype(given.dtype, np.floating) or given.dtype == bool:
            raise InvalidInput(
                f"{what} must be whole numbers from 0 to {size - 1}, not {given.dtype}; "
                "names work only where the joint table is a DataFrame indexed by them"
            )
        ids = names.get_indexer(pd.Index(given))
        if (ids < 0).any():
            unknown = given[ids < 0][0]
            raise InvalidInput(f"{what} names {unknown!r}, which is no row of the joint table")
        given = ids
    ids = np.array(given, dtype=np.int64)
    outside = (ids < 0) | (ids >= size)
    if outside.any():
        position = int(np.argmax(outside))
        raise InvalidInput(
            f"{what}[{position}] is {ids[position]}, but the joint table has only groups 0 to {size - 1}"
        )
    ids.setflags(write=False)
    return ids
