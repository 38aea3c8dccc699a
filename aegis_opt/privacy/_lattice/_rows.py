"""The distinct rows of a table, and exact numbers for combinations of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt.privacy._lattice._partitions import IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table: values of the attributes, the label and the sensitive attribute, with their counts."""

    values: Sequence[IntArray]  # for each attribute, the value of each row
    label: IntArray
    sensitive: IntArray
    n_sensitive: int
    counts: IntArray  # records of each row

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def only(self, attributes: Sequence[int]) -> Rows:
        """Return the rows with some of the attributes."""
        values = [self.values[i] for i in attributes]
        return Rows(values, self.label, self.sensitive, self.n_sensitive, self.counts)

    def merged(self) -> Rows:
        """Return the rows with equal ones counted together."""
        ids = class_ids([*self.values, self.label, self.sensitive])
        _, first, own = np.unique(ids, return_index=True, return_inverse=True)
        counts = np.bincount(own, weights=self.counts).astype(np.int64)
        values = [own[first] for own in self.values]
        return Rows(values, self.label[first], self.sensitive[first], self.n_sensitive, counts)


def class_ids(columns: Sequence[IntArray]) -> IntArray:
    """Number the combinations of values exactly: equal numbers where all columns are equal.

    Examples
    --------
    >>> class_ids([np.array([0, 0, 1]), np.array([2, 2, 0])]).tolist()
    [2, 2, 3]
    """
    ids, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        own = int(column.max()) + 1
        if size > 2**62 // own:
            ids = np.unique(ids, return_inverse=True)[1]
            size = int(ids.max()) + 1
        ids, size = ids * own + column, size * own
    return ids
