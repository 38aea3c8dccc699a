"""What a measure is: a function of a table of counts, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aegis_opt._options import flag, one_of
from aegis_opt.errors import AegisError, InvalidInput
from aegis_opt.measures._tables import Array, Score, TableLike, as_array

_MAX_BATCH_CELLS = 1 << 16
"""Cells evaluated at once by `Measure.many`: enough to hide call overhead, few enough to stay in cache."""


@dataclass(frozen=True)
class Measure:
    """A measure of how well an attribute predicts the label, computed from their joint counts.

    Parameters
    ----------
    name : str
        What users type, such as "mi".
    title : str
        What people read, such as "mutual information".
    function : callable
        Takes counts of shape (..., n, k); returns a float for one table and an array of shape (...) for a
        stack. Empty rows and columns must contribute nothing, since `many` pads with them.
    higher_is_better : bool
        Whether a more predictive attribute has a higher value.
    monotone : bool
        Whether merging rows never makes the value better.
    channel_monotone : bool
        Whether no stochastic channel on the rows (noise, splitting rows, merging them) ever makes the
        value better. It implies `monotone`, since merging is a channel.
    monotone_in_labels : bool
        Whether merging columns, that is, classes of the label, never makes the value better.
    unit : str
        Such as "bits"; empty for plain numbers.
    digits : int
        Decimals worth showing.
    whole_counts : bool
        Whether only tables of whole numbers have a value.
    label_kind : {"class", "number"}
        Whether it measures a label that is one of some classes, by counts, or one that is a number. The
        function then takes records, sums and sums of squares, of shape (..., n, 3).

    Examples
    --------
    >>> from aegis_opt.measures import g3_error
    >>> g3 = Measure("g3", "g3 error", g3_error, higher_is_better=False, monotone=True)
    >>> g3([[2, 0], [1, 1]])
    0.25
    >>> g3.many([[[2, 0], [1, 1]], [[3, 1]]])
    array([0.25, 0.25])
    """

    name: str
    title: str
    function: Callable[[TableLike], Score]
    higher_is_better: bool
    monotone: bool
    channel_monotone: bool = False
    unit: str = ""
    digits: int = 4
    whole_counts: bool = False
    monotone_in_labels: bool = False
    label_kind: Literal["class", "number"] = "class"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or self.name != self.name.strip():
            raise InvalidInput(f"a measure needs a name without blanks around it, not {self.name!r}")
        if not callable(self.function):
            raise InvalidInput(f"measure {self.name!r}: function must be callable, not {self.function!r}")
        for option in (
            "higher_is_better",
            "monotone",
            "channel_monotone",
            "whole_counts",
            "monotone_in_labels",
        ):
            checked = flag(f"measure {self.name!r}: {option}", getattr(self, option))
            object.__setattr__(self, option, checked)
        one_of(f"measure {self.name!r}: label_kind", self.label_kind, ("class", "number"))
        if self.channel_monotone and not self.monotone:
            raise InvalidInput(
                f"measure {self.name!r}: merging rows is a channel, so channel_monotone needs monotone=True"
            )

    def __call__(self, table: TableLike) -> Score:
        """Evaluate one table (a float) or a stack of tables (an array)."""
        return self.function(table)

    def many(self, tables: Sequence[TableLike]) -> Array:
        """Evaluate tables with the same labels but different numbers of rows, many at a time.

        Tables of similar size are padded with empty rows and evaluated as one stack; no table is padded to
        more than twice its rows. The measures of this package give bit for bit what they give one by one.

        Parameters
        ----------
        tables : sequence of array_like or DataFrame, each of shape (n_i, k)
            Counts; all with the same number of columns.

        Returns
        -------
        ndarray, shape (len(tables),)
        """
        arrays = [as_array(table, f"table {i}") for i, table in enumerate(tables)]
        for i, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1] != arrays[0].shape[-1]:
                raise InvalidInput(
                    f"table {i} has shape {array.shape}, table 0 has shape {arrays[0].shape}: each must be "
                    "one table, and all must have the same label columns"
                )
        values = np.empty(len(arrays))
        for batch in _batches(arrays):
            stack = np.zeros((len(batch), *arrays[batch[-1]].shape))
            for position, i in enumerate(batch):
                stack[position, : len(arrays[i])] = arrays[i]
            try:
                found = np.asarray(self.function(stack))
            except InvalidInput:
                self._blame(tables, batch)
                raise
            if found.shape != (len(batch),):
                raise AegisError(
                    f"measure {self.name!r} returned shape {found.shape} for a stack of {len(batch)} tables: "
                    "its function must evaluate arrays of shape (..., n, k)"
                )
            values[batch] = found
        return values

    def each(self, tables: Sequence[TableLike]) -> Array:
        """Evaluate tables as `many` does; they may have different numbers of columns, too.

        Parameters
        ----------
        tables : sequence of array_like or DataFrame, each of shape (n_i, k_i)
            Counts, for example with different masked labels.

        Returns
        -------
        ndarray, shape (len(tables),)
        """
        widths = np.array([np.shape(table)[-1] for table in tables], dtype=np.int64)
        values = np.empty(len(tables))
        for width in np.unique(widths):
            chosen = np.flatnonzero(widths == width).tolist()
            values[chosen] = self.many([tables[i] for i in chosen])
        return values

    def _blame(self, tables: Sequence[TableLike], batch: list[int]) -> None:
        """Raise again for the first bad table of a batch, with its own position and labels."""
        for i in sorted(batch):
            try:
                self.function(tables[i])
            except InvalidInput as error:
                raise InvalidInput(f"table {i} of the sequence: {error}") from error


def _batches(arrays: Sequence[Array]) -> Iterator[list[int]]:
    """Positions of tables to stack: ascending in rows, at most twice as many in the last as in the first."""
    batch: list[int] = []
    for i in sorted(range(len(arrays)), key=lambda i: len(arrays[i])):
        if batch and (
            len(arrays[i]) > 2 * len(arrays[batch[0]]) or (len(batch) + 1) * arrays[i].size > _MAX_BATCH_CELLS
        ):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
