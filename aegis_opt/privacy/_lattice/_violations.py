"""The test of a point of the lattice: whether too many records lie in classes that violate a rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aegis_opt.privacy._base import PrivacyRule
from aegis_opt.privacy._lattice._partitions import BoolArray, IntArray, Partitions
from aegis_opt.privacy._lattice._rows import Rows, class_ids
from aegis_opt.privacy._rules import KAnonymity

Point = tuple[int, ...]
"""One partition of each attribute, by its number in `Partitions`."""

_MOST_CELLS = 1 << 24  # of classes by sensitive values that are judged at a time
_MOST_BYTES = 1 << 30  # of random numbers that are kept


class Violations:
    """Counts the records of a table in classes that violate a rule.

    The class of a record is told by a number: the sum over the attributes of random 32-bit numbers, one for
    each group of each partition. Two classes may get the same number by chance; they then count as one. For
    monotone rules a point that violates with merged classes violates without, so that "it violates" is always
    right, and "it does not" is confirmed by `exact`.

    Parameters
    ----------
    rows : Rows
        The table.
    partitions : sequence of Partitions
        Those of each attribute.
    rules : sequence of PrivacyRule
        A class must satisfy all of them.
    limit : int
        The most records that may lie in classes that violate one.
    seed : int
        Seed of the random numbers.
    order : ndarray, optional
        The sensitive values from first to last, for rules that need it.
    """

    def __init__(
        self,
        rows: Rows,
        partitions: Sequence[Partitions],
        rules: Sequence[PrivacyRule],
        limit: int,
        seed: int,
        order: IntArray | None = None,
    ) -> None:
        self.rows, self.partitions, self.rules, self.limit = rows, partitions, tuple(rules), limit
        self._order = order
        self.tests = 0
        self._seed = seed
        self._sizes_only = all(isinstance(rule, KAnonymity) for rule in rules)
        self._k = max((rule.k for rule in rules if isinstance(rule, KAnonymity)), default=1)
        self._whole = np.bincount(rows.sensitive, weights=rows.counts, minlength=rows.n_sensitive)
        self._values = rows.values
        if self._sizes_only:  # more than k equal records change nothing: a class with them is large enough
            copies = np.minimum(rows.counts, self._k)
            self._values = [np.repeat(own, copies) for own in rows.values]
        self._values = [own.astype(np.int32) for own in self._values]
        self._numbers: dict[tuple[int, int], npt.NDArray[np.uint32]] = {}
        self._held = 0
        self._last: tuple[Point, npt.NDArray[np.uint32]] | None = None
        self._found: dict[Point, bool] = {}

    def at(self, point: Point) -> bool:
        """Whether a point violates, as far as random numbers tell."""
        if not self.rules:
            return False
        if point not in self._found:
            self.tests += 1
            self._found[point] = self._suppressed(self._sums(point)) > self.limit
        return self._found[point]

    def exact(self, point: Point) -> bool:
        """Whether a point violates, by its classes themselves."""
        return bool(self.rules) and self.suppressed(point) > self.limit

    def suppressed(self, point: Point) -> int:
        """Count the records in classes that violate, by the classes themselves."""
        self.tests += 1
        violating, sizes, _ = self.classes(point)
        return int(sizes[violating].sum())

    def violating_rows(self, point: Point) -> BoolArray:
        """Tell which rows lie in classes that violate."""
        violating, _, ids = self.classes(point)
        return violating[ids]

    def classes(self, point: Point) -> tuple[BoolArray, IntArray, IntArray]:
        """Find the classes of a point: which violate, their records, and the class of each row."""
        groups = [
            own.groups[p][values]
            for own, p, values in zip(self.partitions, point, self.rows.values, strict=True)
        ]
        ids = np.unique(class_ids(groups), return_inverse=True)[1]
        sizes = np.bincount(ids, weights=self.rows.counts).astype(np.int64)
        if self._sizes_only:
            return sizes < self._k, sizes, ids
        return self._judge(ids, self.rows.sensitive, self.rows.counts, len(sizes)), sizes, ids

    def _suppressed(self, sums: npt.NDArray[np.uint32]) -> int:
        if self._sizes_only:
            ordered = np.sort(sums)
            changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
            bounds = np.concatenate([[0], changes, [len(ordered)]])
            sizes = bounds[1:] - bounds[:-1]
            return int(sizes[sizes < self._k].sum())
        packed = np.sort(sums.astype(np.uint64) << np.uint64(32) | np.arange(len(sums), dtype=np.uint64))
        order = (packed & np.uint64(2**32 - 1)).astype(np.int64)
        numbers = packed >> np.uint64(32)
        ids = np.concatenate([[0], np.cumsum(numbers[1:] != numbers[:-1])])
        counts = self.rows.counts[order]
        violating = self._judge(ids, self.rows.sensitive[order], counts, int(ids[-1]) + 1)
        return int(counts[violating[ids]].sum())

    def _judge(self, ids: IntArray, sensitive: IntArray, counts: IntArray, n_classes: int) -> BoolArray:
        """Tell which classes violate a rule; `ids` are the classes of rows, in any order."""
        violating = np.zeros(n_classes, dtype=bool)
        width = self.rows.n_sensitive
        step = max(1, _MOST_CELLS // width)
        for start in range(0, n_classes, step):
            stop = min(n_classes, start + step)
            own = slice(None) if step >= n_classes else (ids >= start) & (ids < stop)
            cells = (ids[own] - start) * width + sensitive[own]
            table = np.bincount(cells, weights=counts[own], minlength=(stop - start) * width)
            table = table.astype(np.int64).reshape(-1, width)
            for rule in self.rules:
                if rule.needs_sensitive:
                    violating[start:stop] |= rule.violations(table, whole=self._whole, order=self._order)
                else:
                    violating[start:stop] |= rule.violations(table.sum(axis=1))
        return violating

    def _sums(self, point: Point) -> npt.NDArray[np.uint32]:
        """Add up the random numbers; only what differs from the last point is added anew."""
        if self._last is not None and len(point) > 2:
            last, sums = self._last
            changed = [i for i, (a, b) in enumerate(zip(point, last, strict=True)) if a != b]
            if 2 * len(changed) < len(point):
                for i in changed:
                    sums = sums - self._random(i, last[i])
                    sums += self._random(i, point[i])
                self._last = point, sums
                return sums
        sums = self._random(0, point[0]).copy()
        for i in range(1, len(point)):
            sums += self._random(i, point[i])
        self._last = point, sums
        return sums

    def _random(self, attribute: int, partition: int) -> npt.NDArray[np.uint32]:
        key = attribute, partition
        if key not in self._numbers:
            if self._held > _MOST_BYTES:
                self._numbers.clear()
                self._held = 0
            groups = self.partitions[attribute].groups[partition]
            drawn = self._drawn(attribute, partition, int(groups.max()) + 1)
            self._numbers[key] = drawn[groups][self._values[attribute]]
            self._held += self._numbers[key].nbytes
        return self._numbers[key]

    def _drawn(self, attribute: int, partition: int, n: int) -> npt.NDArray[np.uint32]:
        """Draw numbers for groups, the same whenever they are drawn: they are seeded by what they are for."""
        rng = np.random.default_rng([self._seed, attribute, partition])
        return rng.integers(0, 2**32, n, dtype=np.uint32)
