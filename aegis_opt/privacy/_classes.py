"""Equivalence classes: which masked records look alike, and the sensitive values among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.privacy._base import PrivacyRule

IntArray = npt.NDArray[np.int64]

_MOST_CELLS = 2_000_000  # of the table of classes and sensitive values that is made at a time
_LARGEST_CODE = 2**62


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """The classes of one masked table, and the counts of the sensitive values in them that are not zero.

    Classes are numbered from 0; the entries are in the order of the classes.
    """

    classes: IntArray  # of each entry, its class
    values: IntArray  # of each entry, the sensitive value; 0 where there is none
    counts: IntArray  # of each entry, the records
    n_values: int  # of the sensitive attribute; 1 where there is none
    order: IntArray | None  # the sensitive values from first to last, where they have an order
    shown: Callable[[int], dict[str, Any]]  # the masked quasi-identifiers of a class

    @cached_property
    def sizes(self) -> IntArray:
        """Records of each class."""
        return np.bincount(self.classes, weights=self.counts).astype(np.int64)

    @cached_property
    def whole(self) -> IntArray:
        """Records of each sensitive value in the whole table."""
        return np.bincount(self.values, weights=self.counts, minlength=self.n_values).astype(np.int64)

    def levels(self, rule: PrivacyRule) -> npt.NDArray[np.float64]:
        """Return the level of each class, computed for some classes at a time."""
        if not rule.needs_sensitive:
            return rule.levels(self.sizes)
        found = [rule.levels(table, whole=self.whole, order=self.order) for table in self._tables()]
        return np.concatenate(found)

    def _tables(self) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the tables of counts per class and sensitive value, one after the other."""
        n_classes = len(self.sizes)
        step = max(_MOST_CELLS // self.n_values, 1)
        starts = range(0, n_classes, step)
        ends = np.searchsorted(self.classes, [*starts, n_classes])
        for i, start in enumerate(starts):
            entries = slice(ends[i], ends[i + 1])
            table = np.zeros((min(step, n_classes - start), self.n_values))
            table[self.classes[entries] - start, self.values[entries]] = self.counts[entries]
            yield table


def combined(columns: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Return a number for each record, equal exactly where all the columns are.

    Parameters
    ----------
    columns : sequence of ndarray
        Whole numbers, each below the size of its column.
    sizes : sequence of int
        How many numbers a column has.

    Examples
    --------
    >>> combined([np.array([0, 0, 1]), np.array([1, 1, 1])], [2, 2]).tolist()
    [1, 1, 3]
    """
    code, so_far = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if so_far * size > _LARGEST_CODE:
            code, distinct = pd.factorize(code)
            so_far = len(distinct)
        code = code * size + column
        so_far *= size
    return code


def counted_classes(
    quasi_identifiers: Sequence[IntArray],
    sizes: Sequence[int],
    sensitive: tuple[IntArray, int, IntArray | None] | None,
    weights: IntArray,
    shown: Callable[[int], dict[str, Any]],
) -> ClassCounts:
    """Count records in memory.

    Parameters
    ----------
    quasi_identifiers, sizes
        The masked value of each record, and how many masked values there are.
    sensitive : tuple, optional
        The value of each record, how many values there are, and their order.
    weights : ndarray
        How many records each record stands for.
    shown : callable
        Gives the masked quasi-identifiers of a record.
    """
    codes = combined(quasi_identifiers, sizes)
    _, first, classes = np.unique(codes, return_index=True, return_inverse=True)
    values, n_values, order = (np.zeros_like(classes), 1, None) if sensitive is None else sensitive
    entries, places = np.unique(classes * n_values + values, return_inverse=True)
    counts = np.bincount(places, weights=weights).astype(np.int64)
    own, value = np.divmod(entries, n_values)
    return ClassCounts(own, value, counts, n_values, order, lambda number: shown(int(first[number])))
