"""Records in memory, and how many there are per pair of classes of two attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.sources._number_label import FloatArray, Numbers

IntArray = npt.NDArray[np.int64]

_DENSE = 8  # cells per record up to which a table is counted cell by cell, which is faster than sorting


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Records per pair of classes of two attributes, and sums of the label per class, apart for each fold.

    The classes of an attribute are sets of its values. Those of all attributes are numbered through, one
    attribute after the other. Only pairs that occur are stored: a nearly unique attribute has no more of
    them than there are records. A label of k classes has k columns of zeros and ones, whose sums are counts;
    a number has one column.
    """

    sizes: tuple[int, ...]  # classes of each attribute
    first: IntArray  # of each pair, the class of the attribute that comes first
    second: IntArray
    fold: IntArray | None  # the fold of each entry; None where there is one fold only
    counts: FloatArray  # whole numbers, as sums of products want them
    records: IntArray | FloatArray  # folds x classes
    labels: IntArray | FloatArray  # folds x classes x columns of the label: their sums
    label_sums: FloatArray  # folds x columns of the label
    label_squares: FloatArray  # folds x columns of the label: sums of their squares

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        cells: Sequence[tuple[IntArray, IntArray, IntArray, IntArray]],
        labels: Sequence[npt.NDArray[Any]],
        is_number: bool = False,
    ) -> PairCounts:
        """Join the counts of single pairs (first, second, fold, counts) and of single attributes.

        `labels` has, for each attribute, the records per fold, class and label; of a number, the records,
        its sum and its sum of squares per fold and class.
        """
        empty = np.zeros(0, dtype=np.int64)
        first, second, fold, counts = (
            np.concatenate(parts) for parts in zip(*cells, (empty,) * 4, strict=True)
        )
        by_class: npt.NDArray[Any] = np.concatenate(labels, axis=1)
        everything: FloatArray = labels[0].sum(axis=1).astype(float)  # any attribute has all records
        if is_number:
            records, sums = by_class[:, :, 0], by_class[:, :, 1:2]
            label_sums, label_squares = everything[:, 1:2], everything[:, 2:3]
        else:  # zeros and ones are their own squares
            records, sums = by_class.sum(axis=2), by_class
            label_sums, label_squares = everything, everything
        its_fold = fold if len(by_class) > 1 else None
        counts = counts.astype(float)
        return cls(tuple(sizes), first, second, its_fold, counts, records, sums, label_sums, label_squares)

    @property
    def n_folds(self) -> int:
        """Number of folds that the records are divided into."""
        return len(self.labels)

    @property
    def fold_sizes(self) -> FloatArray:
        """Records of each fold: any attribute has them all."""
        sizes: FloatArray = self.records[:, : self.sizes[0]].sum(axis=1).astype(float)
        return sizes

    @property
    def starts(self) -> IntArray:
        """The number of each attribute's first class, and at the end the number of classes."""
        return np.concatenate([[0], np.cumsum(self.sizes)])


class CountableRecords(ABC):
    """The records of a source as places in domains, wherever they are."""

    @abstractmethod
    def pairs(self, classes: Sequence[IntArray], n_folds: int = 1, seed: int = 0) -> PairCounts:
        """Count pairs of classes; `classes[i][a]` is the class of value a of attribute i."""

    @abstractmethod
    def combinations(self, n_records: int) -> tuple[list[IntArray], IntArray, IntArray]:
        """Return the combinations that occur: places of each attribute, labels, and how many records."""

    def held(self, n_records: int) -> CountableRecords:  # noqa: ARG002
        """Return the records in memory, if they fit there and may leave their engine."""
        return self

    @abstractmethod
    def sample(self, rows: int, seed: int) -> CodedRecords:
        """Draw records without replacement; all of them where there are no more than asked for."""


@dataclass(frozen=True, eq=False)
class CodedRecords(CountableRecords):
    """Records that are held in memory."""

    attributes: Sequence[IntArray]  # for each attribute, the place of every record's value in the domain
    label: IntArray
    n_labels: int
    in_order: bool = True  # whether the source has an order, so that a record has a place
    numbers: Numbers | None = None  # what a label that is a number stands for

    def __len__(self) -> int:
        return len(self.label)

    def folds(self, n_folds: int, seed: int) -> IntArray:
        """Divide the records into folds by a hash of their places, or else of their contents."""
        if n_folds == 1:
            return np.zeros(len(self), dtype=np.int64)
        keys = np.arange(len(self), dtype=np.uint64)
        if not self.in_order:
            keys = _numbered([*self.attributes, self.label])
        return (_mixed(keys + np.uint64(seed % 2**64)) % np.uint64(n_folds)).astype(np.int64)

    def pairs(self, classes: Sequence[IntArray], n_folds: int = 1, seed: int = 0) -> PairCounts:
        """Count pairs of classes with NumPy."""
        sizes = [int(c.max()) + 1 for c in classes]
        coded = [c[places] for c, places in zip(classes, self.attributes, strict=True)]
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        fold = self.folds(n_folds, seed)
        found = []
        for i, j in combinations(range(len(coded)), 2):
            key = coded[i] * sizes[j] + coded[j]
            if n_folds > 1:
                key = key * n_folds + fold
            cells, counts = _occurring(key, sizes[i] * sizes[j] * n_folds)
            pair, its_fold = np.divmod(cells, n_folds) if n_folds > 1 else (cells, cells)
            first, second = np.divmod(pair, sizes[j])
            found.append((starts[i] + first, starts[j] + second, its_fold, counts))
        labels = [
            self._by_label(fold * size + own, n_folds * size).reshape(n_folds, size, -1)
            for size, own in zip(sizes, coded, strict=True)
        ]
        return PairCounts.of(sizes, found, labels, self.numbers is not None)

    def _by_label(self, groups: IntArray, n_groups: int) -> IntArray | FloatArray:
        """Count the records per group and label, or add up the numbers of each group."""
        if self.numbers is not None:
            return self.numbers.moments(groups, self.label, n_groups)
        k = self.n_labels
        return np.bincount(groups * k + self.label, minlength=n_groups * k)

    def combinations(self, n_records: int) -> tuple[list[IntArray], IntArray, IntArray]:
        """Return the records, each counted once; equal ones are not looked for."""
        return list(self.attributes), self.label, np.ones(n_records, dtype=np.int64)

    def sample(self, rows: int, seed: int) -> CodedRecords:
        """Draw records with NumPy."""
        if rows >= len(self):
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), rows, replace=False))
        return replace(
            self,
            attributes=[places[chosen] for places in self.attributes],
            label=self.label[chosen],
            in_order=True,
        )


def _mixed(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a hash of each key: the output function of SplitMix64 [1]_.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    z = (keys + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _numbered(columns: Sequence[IntArray]) -> npt.NDArray[np.uint64]:
    """Return a key of each record: a hash of its content, plus its number among records of equal content."""
    content = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        content = _mixed(content ^ column.astype(np.uint64))
    order = np.argsort(content, kind="stable")
    begins = np.flatnonzero(np.diff(content[order], prepend=~content[order[:1]]))
    number = np.arange(len(content)) - np.repeat(begins, np.diff(begins, append=len(content)))
    keys = np.empty_like(content)
    keys[order] = _mixed(content[order]) + number.astype(np.uint64)
    return keys


def _occurring(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Return the keys that occur, ascending, and how often."""
    if n_keys <= max(_DENSE * len(keys), 10**6):
        counts = np.bincount(keys, minlength=n_keys)
        present = np.flatnonzero(counts)
        return present, counts[present]
    return np.unique(keys, return_counts=True)
