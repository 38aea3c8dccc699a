"""The candidates of an attribute as partitions of its values: which refines which, and their joins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Partitions:
    """Partitions of the values of one attribute, by number.

    The candidates come first. Joins of candidates, the finest partitions that all of some candidates refine,
    follow when they are first asked for. Candidates that are nested have no joins but themselves.

    Parameters
    ----------
    groups : sequence of ndarray
        For each candidate, the group of each value; only values that occur.
    """

    def __init__(self, groups: Sequence[IntArray]) -> None:
        self.n_candidates = len(groups)
        self.groups = [_numbered(own) for own in groups]
        self._known = {own.tobytes(): i for i, own in reversed(list(enumerate(self.groups)))}
        self._joins: dict[tuple[int, int], int] = {}
        self._finer: dict[int, BoolArray] = {}
        self._values = len(self.groups[0])

    def n_groups(self, partition: int) -> int:
        """Return the number of groups of a partition."""
        return int(self.groups[partition].max()) + 1

    def finer(self, partition: int) -> BoolArray:
        """Tell which candidates refine a partition: those whose every group lies in one of its groups."""
        if partition not in self._finer:
            coarse = self.groups[partition]
            found = [_refines(fine, coarse) for fine in self.groups[: self.n_candidates]]
            self._finer[partition] = np.array(found)
        return self._finer[partition]

    def join(self, first: int, second: int) -> int:
        """Return the finest partition that two refine: a chain of groups links the values of a group."""
        key = (min(first, second), max(first, second))
        if key not in self._joins:
            self._joins[key] = self._find_join(*key)
        return self._joins[key]

    def join_of(self, candidates: IntArray) -> int:
        """Return the join of some candidates, of which there is at least one."""
        found = int(candidates[0])
        for candidate in candidates[1:]:
            found = self.join(found, int(candidate))
        return found

    @cached_property
    def coarsest(self) -> int:
        """The join of all candidates."""
        return self.join_of(np.arange(self.n_candidates))

    def _find_join(self, first: int, second: int) -> int:
        fine, coarse = self.groups[first], self.groups[second]
        if _refines(fine, coarse):
            return second
        if _refines(coarse, fine):
            return first
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n, shift = self._values, self.n_groups(first)
        size = shift + self.n_groups(second)
        links = coo_array((np.ones(n, dtype=np.int8), (fine, shift + coarse)), shape=(size, size))
        merged = _numbered(connected_components(links, directed=False)[1][fine])
        found = self._known.setdefault(merged.tobytes(), len(self.groups))
        if found == len(self.groups):
            self.groups.append(merged)
        return found


def _numbered(groups: npt.NDArray[np.integer]) -> IntArray:
    """Return groups numbered in order of first appearance, so that equal partitions are equal arrays."""
    _, first, own = np.unique(groups, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[own]


def _refines(fine: IntArray, coarse: IntArray) -> bool:
    """Whether every group of one partition lies in one group of the other."""
    target = np.empty(int(fine.max()) + 1, dtype=np.int64)
    target[fine] = coarse
    return bool(np.array_equal(target[fine], coarse))
