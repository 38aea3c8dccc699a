"""The records of a source under the masks of every configuration: what scores are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aegis_opt.scores._least_squares import CAP, Design, FloatArray, most_frequent
from aegis_opt.sources._pairs import CodedRecords, CountableRecords, IntArray, PairCounts


@dataclass(frozen=True, eq=False)
class MaskedRecords:
    """Records, and which masked value each configuration sends each value of each attribute to."""

    records: CountableRecords
    groupings: Mapping[
        str, Sequence[IntArray]
    ]  # attribute -> for each distinct mask, the group of each value
    configurations: Mapping[str, Mapping[str, int]]  # name -> attribute -> which of its masks
    sizes: Mapping[str, IntArray]  # attribute -> records of each value

    @cached_property
    def classes(self) -> list[IntArray]:
        """For each attribute, the class of each value: values of a class share a group of every mask.

        Each of the most frequent values is a class of its own, for scores with the attribute unmasked.
        """
        found = []
        for name, groupings in self.groupings.items():
            all_groups = np.stack([*groupings, most_frequent(self.sizes[name])])
            found.append(np.unique(all_groups, axis=1, return_inverse=True)[1].ravel())
        return found

    @cached_property
    def values_per_class(self) -> FloatArray:
        """Number of values of each class, the classes of all attributes numbered through."""
        return np.concatenate([np.bincount(own) for own in self.classes]).astype(float)

    def pairs(self, n_folds: int = 1, seed: int = 0) -> PairCounts:
        """Count the pairs of classes, once for each way to divide the records."""
        key = n_folds, seed
        if key not in self._pairs:
            self._pairs[key] = self.records.pairs(self.classes, n_folds, seed)
        return self._pairs[key]

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], PairCounts]:
        return {}

    def design(self, configuration: str, pairs: PairCounts, cap: int | None = CAP) -> Design:
        """Return the one-hot masked attributes of a configuration."""
        return Design.of(pairs, self._class_groups(self.configurations[configuration]), cap)

    def _class_groups(self, chosen: Mapping[str, int]) -> list[IntArray]:
        """Return the masked value of each class."""
        found = []
        for own, (name, groupings) in zip(self.classes, self.groupings.items(), strict=True):
            groups = np.empty(int(own.max()) + 1, dtype=np.int64)
            groups[own] = groupings[chosen[name]]
            found.append(groups)
        return found

    def masked(self, configuration: str, sample: CodedRecords) -> list[IntArray]:
        """Return the masked values of records, one array for each attribute."""
        chosen = self.configurations[configuration]
        return [
            groupings[chosen[name]][places]
            for (name, groupings), places in zip(self.groupings.items(), sample.attributes, strict=True)
        ]
