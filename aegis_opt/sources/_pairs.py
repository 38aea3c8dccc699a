"""Records per pair of classes of two attributes: all that least squares needs to know about a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

_DENSE = 8  # cells per record up to which a table is counted cell by cell, which is faster than sorting


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Records per pair of classes of two attributes, and per class and label, apart for each fold.

    The classes of an attribute are sets of its values. Those of all attributes are numbered through, one
    attribute after the other. Only pairs that occur are stored: a nearly unique attribute has no more of
    them than there are records.
    """

    sizes: tuple[int, ...]  # classes of each attribute
    first: IntArray  # of each pair, the class of the attribute that comes first
    second: IntArray
    fold: IntArray | None  # the fold of each entry; None where there is one fold only
    counts: IntArray
    labels: IntArray  # folds x classes x labels

    @property
    def n_folds(self) -> int:
        """Number of folds that the records are divided into."""
        return len(self.labels)

    @property
    def starts(self) -> IntArray:
        """The number of each attribute's first class, and at the end the number of classes."""
        return np.concatenate([[0], np.cumsum(self.sizes)])


@dataclass(frozen=True, eq=False)
class CodedRecords:
    """The records of a table that is small enough to be held, as places in domains."""

    attributes: Sequence[IntArray]  # for each attribute, the place of every record's value in the domain
    label: IntArray
    n_labels: int

    def __len__(self) -> int:
        return len(self.label)

    def pairs(self, classes: Sequence[IntArray], n_folds: int = 1, seed: int = 0) -> PairCounts:
        """Count pairs of classes; `classes[i][a]` is the class of value a of attribute i."""
        sizes = [int(c.max()) + 1 for c in classes]
        coded = [c[places] for c, places in zip(classes, self.attributes, strict=True)]
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        fold = folds_of_places(len(self), n_folds, seed)
        found = []
        for i, j in combinations(range(len(coded)), 2):
            key = coded[i] * sizes[j] + coded[j]
            if n_folds > 1:
                key = key * n_folds + fold
            cells, counts = _occurring(key, sizes[i] * sizes[j] * n_folds)
            pair, its_fold = np.divmod(cells, n_folds) if n_folds > 1 else (cells, cells)
            first, second = np.divmod(pair, sizes[j])
            found.append((starts[i] + first, starts[j] + second, its_fold, counts))
        empty = np.zeros(0, dtype=np.int64)
        first, second, its_fold, counts = (
            np.concatenate(parts) for parts in zip(*found, (empty,) * 4, strict=True)
        )
        k = self.n_labels
        labels = [
            np.bincount((fold * size + own) * k + self.label, minlength=n_folds * size * k)
            for size, own in zip(sizes, coded, strict=True)
        ]
        by_class = np.concatenate([found.reshape(n_folds, -1, k) for found in labels], axis=1)
        return PairCounts(tuple(sizes), first, second, its_fold if n_folds > 1 else None, counts, by_class)

    def sample(self, rows: int, seed: int) -> CodedRecords:
        """Draw records without replacement; all of them where there are no more than asked for."""
        if rows >= len(self):
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(len(self), rows, replace=False))
        return CodedRecords([places[chosen] for places in self.attributes], self.label[chosen], self.n_labels)


def folds_of_places(n: int, n_folds: int, seed: int) -> IntArray:
    """Give each of n records a fold by a hash of its place, so that a fold has no structure of the source.

    The hash is the finaliser of SplitMix64 [1]_.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    if n_folds == 1:
        return np.zeros(n, dtype=np.int64)
    start = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) % np.uint64(n_folds)).astype(np.int64)


def _occurring(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Return the keys that occur, ascending, and how often."""
    if n_keys <= max(_DENSE * len(keys), 10**6):
        counts = np.bincount(keys, minlength=n_keys)
        present = np.flatnonzero(counts)
        return present, counts[present]
    return np.unique(keys, return_counts=True)
