"""A masked view: what one masking function shows of the joint table of an attribute and the label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._channels import checked_channel
from aegis_opt._options import any_array, float_array
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class View:
    """Joint table of a masked attribute and the (possibly masked) label.

    With `groups`, the view says S X L = J, with S the 0/1 matrix that adds up the rows of a group, and L the
    same for columns (the identity unless the label is masked too). With a `channel` T, the masked values
    are random: J has the mean T X L, and only its label totals are exact. Such a view is *noisy*.

    Parameters
    ----------
    groups : array_like of int, shape (n,), optional
        groups[a] is the row of `joint` that value a is masked to. With a DataFrame as `joint`, the entries
        may also be labels of its index.
    joint : array_like, shape (n_groups, k)
        Known counts of masked value and label. May be fractional for continuous solvers.
    label_groups : array_like of int, shape (k,), optional
        For a masked label: label_groups[y] is the column of `joint` that label y is masked to. All zeros,
        with a one-column `joint`, state how often each masked value occurs and nothing about the label.
    channel : array_like, shape (n_groups, n), optional
        In place of `groups`: channel[g, a] is the probability that value a is masked to row g of `joint`.
        Columns sum to 1 and are linearly independent. A DataFrame names the values by its columns; where
        `joint` is one, too, their indexes hold the same masked values.

    Examples
    --------
    >>> view = View([0, 0, 1], [[3, 1], [0, 2]])
    >>> view.n_values, view.n_labels
    (3, 2)
    >>> noisy = View(joint=[[30, 12], [14, 44]], channel=[[0.75, 0.25], [0.25, 0.75]])
    >>> noisy.n_values, noisy.n_labels
    (2, 2)
    """

    joint: FloatArray
    label_groups: IntArray
    row_names: pd.Index | None
    label_names: pd.Index | None
    channel: FloatArray | None
    _groups: IntArray | None = field(repr=False)

    def __init__(
        self,
        groups: npt.ArrayLike | None = None,
        joint: npt.ArrayLike | None = None,
        label_groups: npt.ArrayLike | None = None,
        *,
        channel: npt.ArrayLike | None = None,
    ) -> None:
        if joint is None:
            raise InvalidInput("a view needs a joint table: View(groups, joint), or View(joint=, channel=)")
        if (groups is None) == (channel is None):
            raise InvalidInput(
                "a view has either groups (which masked value each value becomes) or a channel (with which "
                f"probability it does); {'both' if channel is not None else 'neither'} was given"
            )
        table = counts(joint, "the joint table of a view", ndim=2)
        index = joint.index if isinstance(joint, pd.DataFrame) else None
        rows = None if groups is None else _group_ids(groups, len(table), "groups", index)
        T = None if channel is None else _channel(channel, table, index)
        columns = np.arange(table.shape[1], dtype=np.int64)
        if label_groups is not None:
            columns = _group_ids(label_groups, table.shape[1], "label_groups", None)
        names = joint.columns if isinstance(joint, pd.DataFrame) and label_groups is None else None
        if isinstance(label_groups, pd.Series):
            names = label_groups.index
        row_names = groups.index if isinstance(groups, pd.Series) else None
        if isinstance(channel, pd.DataFrame):
            row_names = channel.columns
        vars(self).update(  # the way into a frozen dataclass whose arguments are converted
            joint=table,
            label_groups=columns,
            row_names=row_names,
            label_names=names,
            channel=T,
            _groups=rows,
        )

    @property
    def groups(self) -> IntArray:
        """The row of `joint` that each value is masked to; a noisy view has none, which is an error."""
        if self._groups is None:
            raise InvalidInput(
                "this view has a channel and no groups: its masked values are random. Solvers that take "
                "noisy views: 'ipf', 'convex' and 'integer'"
            )
        return self._groups

    @property
    def n_values(self) -> int:
        """Number of values of the unmasked attribute."""
        return len(self.groups) if self.channel is None else self.channel.shape[1]

    @property
    def n_labels(self) -> int:
        """Number of values of the unmasked label."""
        return len(self.label_groups)

    def with_joint(self, joint: npt.ArrayLike) -> View:
        """Return the same view with other counts.

        Examples
        --------
        >>> View([0, 0, 1], [[3, 1], [0, 2]]).with_joint([[1, 1], [1, 1]]).joint.sum()
        np.float64(4.0)
        """
        table = counts(joint, "the joint table of a view", ndim=2)
        if table.shape != self.joint.shape:
            raise InvalidInput(f"the joint table is {table.shape}, that of the view {self.joint.shape}")
        other = object.__new__(View)
        vars(other).update(vars(self) | {"joint": table})
        return other


def _channel(channel: Any, joint: FloatArray, index: pd.Index | None) -> FloatArray:
    """Check a channel against the joint table; rows that are named follow those of the table."""
    if isinstance(channel, pd.DataFrame):
        if index is not None and not channel.index.equals(index):
            places = channel.index.get_indexer(index) if channel.index.is_unique else np.array([-1])
            if len(channel) != len(index) or (places < 0).any():
                raise InvalidInput(
                    "the rows of the channel and of the joint table name different masked values: "
                    f"{list(channel.index)[:5]} and {list(index)[:5]}"
                )
            channel = channel.iloc[places]
        T = checked_channel(channel, "the channel", channel.columns.tolist())
    else:
        T = checked_channel(channel, "the channel")
    if len(T) != len(joint):
        raise InvalidInput(
            f"the channel has {len(T)} rows and the joint table {len(joint)}: each has one per masked value"
        )
    never = (T.max(axis=1) == 0) & (joint.sum(axis=1) > 0)
    if never.any():
        g = int(np.argmax(never))
        raise InvalidInput(
            f"the joint table has {joint[g].sum():.10g} records of masked value {g}, which the channel never "
            "gives: every entry of that row is 0"
        )
    return T


def counts(values: Any, what: str, *, ndim: int) -> FloatArray:
    """Copy `values` as a read-only float array; reject what cannot be a count, naming the first such cell."""
    array = np.array(float_array(what, values))
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
    given = any_array(what, values)
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
