"""The records of a source under the masks of every configuration: what scores are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from aegis_opt.scores._least_squares import CAP, Design, FloatArray, most_frequent
from aegis_opt.sources._pairs import CodedRecords, CountableRecords, IntArray, PairCounts


@dataclass(frozen=True, eq=False)
class Refinement:
    """The classes of an attribute: sets of values that every mask sends to the same group.

    Attributes
    ----------
    classes : ndarray
        The class of each value.
    groups : sequence of ndarray
        For each mask, the group of each class.
    """

    classes: IntArray
    groups: Sequence[IntArray]

    @classmethod
    def of(cls, groupings: Sequence[IntArray]) -> Refinement:
        """Find the coarsest classes that the groups of every mask are unions of."""
        classes = np.zeros_like(groupings[0])
        for groups in groupings:
            classes = np.unique(classes * (int(groups.max()) + 1) + groups, return_inverse=True)[1]
        merged = []
        for groups in groupings:
            own = np.empty(int(classes.max()) + 1, dtype=np.int64)
            own[classes] = groups
            merged.append(own)
        return cls(classes, merged)


@dataclass(frozen=True, eq=False)
class MaskedRecords:
    """Records, and which masked value each configuration sends each value of each attribute to."""

    records: CountableRecords
    groupings: Mapping[
        str, Sequence[IntArray]
    ]  # attribute -> for each distinct mask, the group of each value
    configurations: Mapping[str, Mapping[str, int]]  # name -> attribute -> which of its masks
    sizes: Mapping[str, IntArray]  # attribute -> records of each value
    # of the configurations that mask the label, the masked class of each class
    label_groups: Mapping[str, IntArray] = field(default_factory=dict)

    @property
    def labels_differ(self) -> bool:
        """Whether configurations mask the label in different ways, so that they predict different things."""
        return len({self.label_key(name) for name in self.configurations}) > 1

    def label_key(self, configuration: str) -> bytes | None:
        """Return what configurations have in common that merge the same classes of the label."""
        groups = self.label_groups.get(configuration)
        return None if groups is None else groups.tobytes()

    @cached_property
    def exact(self) -> list[Refinement]:
        """The classes of each attribute that every mask is made of."""
        return [Refinement.of(groupings) for groupings in self.groupings.values()]

    @cached_property
    def capped(self) -> list[Refinement]:
        """The same with all but the 63 most frequent groups of a mask pooled, and without a mask as the last.

        Far fewer classes are left of an attribute whose values are nearly unique.
        """
        found = []
        for name, groupings in self.groupings.items():
            sizes = self.sizes[name]
            pooled = [most_frequent(np.bincount(own, weights=sizes))[own] for own in groupings]
            found.append(Refinement.of([*pooled, most_frequent(sizes)]))
        return found

    @cached_property
    def values_per_class(self) -> FloatArray:
        """Number of values of each exact class, the classes of all attributes numbered through."""
        return np.concatenate([np.bincount(own.classes) for own in self.exact]).astype(float)

    def pairs(self, n_folds: int = 1, seed: int = 0, cap: int | None = CAP) -> PairCounts:
        """Count the pairs of classes, once for each way to divide the records; without a cap, exact ones."""
        key = n_folds, seed, cap
        if key not in self._pairs:
            classes = [own.classes for own in self._refinements(cap)]
            self._pairs[key] = self.records.pairs(classes, n_folds, seed)
        return self._pairs[key]

    @cached_property
    def _pairs(self) -> dict[tuple[int, int, int | None], PairCounts]:
        return {}

    def _refinements(self, cap: int | None) -> list[Refinement]:
        return self.exact if cap is None else self.capped

    def design(self, configuration: str, pairs: PairCounts, cap: int | None = CAP) -> Design:
        """Return the one-hot masked attributes of a configuration, of pairs that have the same cap."""
        chosen = self.configurations[configuration]
        refinements = zip(self.groupings, self._refinements(cap), strict=True)
        pairs = self.with_masked_label(configuration, pairs)
        return Design.of(pairs, [own.groups[chosen[name]] for name, own in refinements])

    def with_masked_label(self, configuration: str, pairs: PairCounts) -> PairCounts:
        """Merge the classes of the label in counts of pairs, as a configuration does."""
        groups = self.label_groups.get(configuration)
        if groups is None:
            return pairs
        merging = np.eye(int(groups.max()) + 1, dtype=np.int64)[groups]
        sums = pairs.label_sums @ merging  # zeros and ones are their own squares
        return replace(pairs, labels=pairs.labels @ merging, label_sums=sums, label_squares=sums)

    def label(self, configuration: str, sample: CodedRecords) -> IntArray:
        """Return the label of records, as a configuration masks it."""
        groups = self.label_groups.get(configuration)
        return sample.label if groups is None else groups[sample.label]

    def masked(self, configuration: str, sample: CodedRecords) -> list[IntArray]:
        """Return the masked values of records, one array for each attribute."""
        chosen = self.configurations[configuration]
        return [
            groupings[chosen[name]][places]
            for (name, groupings), places in zip(self.groupings.items(), sample.attributes, strict=True)
        ]
