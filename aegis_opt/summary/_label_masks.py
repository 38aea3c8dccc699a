"""Masked labels: which classes a configuration tells apart, and whether all that is said of them agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.problem._margin import IntArray
from aegis_opt.summary._count_arrays import merge_rows, numbers_all, whole_counts, whole_numbers
from aegis_opt.summary._entries import check_spec, get_entry
from aegis_opt.summary._shared_data import SharedData

MOST_LABEL_MASKS = 100
"""Distinct masks of the label in one summary."""
MOST_GROUPED = 20_000_000
"""Classes that all masks of the label group, together: runs say that in a few bytes."""
MOST_COMPARED = 5_000_000
"""Classes of the label, times the pairs of its masks, where the records of the classes are not shared."""


@dataclass(frozen=True, eq=False)
class LabelMask(SharedData):
    """How some configurations mask the label.

    Parameters
    ----------
    spec : mapping
        The mask, as configuration files write it.
    groups : array_like of int, shape (k,)
        groups[y] is the masked class that class y belongs to.
    labels : sequence
        The masked classes, two at least.
    counts : array_like of int
        Records per masked class.
    """

    spec: Mapping[str, Any]
    groups: IntArray
    labels: tuple[Any, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        self._convert(
            spec=MappingProxyType(dict(self.spec)),
            groups=whole_numbers(self.groups, "groups of the label", ndim=1),
            labels=tuple(self.labels),
            counts=whole_counts(self.counts, "counts of the masked label", ndim=1),
        )

    @property
    def n_classes(self) -> int:
        """Number of masked classes."""
        return len(self.labels)

    @property
    def keeps_every_class(self) -> bool:
        """Whether no two classes are merged, so that only their names are hidden."""
        return self.n_classes == len(self.groups)


def check_label_masks(
    label: str, masks: Sequence[LabelMask], n_classes: int, label_counts: IntArray | None
) -> None:
    """Refuse label masks that are not of the same classes and records, or leave one class.

    Where two masks, or the unmasked classes, have merged classes in common, these have the same records.
    """
    if len(masks) > MOST_LABEL_MASKS:
        raise SummaryError(
            f"the label {shown(label)} is masked in {len(masks)} ways; at most {MOST_LABEL_MASKS} are read: "
            "share fewer configurations at a time"
        )
    for i, mask in enumerate(masks):
        where = f"mask {i} of the label {shown(label)}"
        if len(mask.groups) != n_classes:
            raise SummaryError(f"{where} groups {len(mask.groups)} classes, but the label has {n_classes}")
        if len(mask.counts) != mask.n_classes or not numbers_all(mask.groups, mask.n_classes):
            raise SummaryError(
                f"{where} has {mask.n_classes} masked classes: it needs one count for each, and the groups "
                f"must be all of 0 to {mask.n_classes - 1}"
            )
        if not 2 <= mask.n_classes == len(set(mask.labels)):
            raise SummaryError(
                f"{where} must leave at least two distinct classes, not {shown(list(mask.labels))}"
            )
        if label_counts is not None and not np.array_equal(
            merge_rows(label_counts, mask.groups), mask.counts
        ):
            raise SummaryError(f"totals disagree: {where} has other records per class than the label")
    if label_counts is None:
        pairs = len(masks) * (len(masks) - 1) // 2
        if pairs * n_classes > MOST_COMPARED:
            raise SummaryError(
                f"the label {shown(label)} has {n_classes:,} classes and {len(masks)} masks to be compared; "
                f"classes times pairs of masks are at most {MOST_COMPARED:,}: share fewer configurations at "
                "a time"
            )
        for (i, one), (j, other) in combinations(enumerate(masks), 2):
            if not _agree(one, other):
                raise SummaryError(
                    f"totals disagree: masks {i} and {j} of the label {shown(label)} have other records of "
                    "the same merged classes"
                )


def _agree(one: LabelMask, other: LabelMask) -> bool:
    """Whether two masks have the same records of the finest merged classes that both are made of."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Two masked classes, one of each mask, that have a class in common are part of the same merged class
    size = one.n_classes + other.n_classes
    ties = (np.ones(len(one.groups)), (one.groups, one.n_classes + other.groups))
    n_merged, merged_of = connected_components(coo_array(ties, shape=(size, size)), directed=False)
    totals = []
    for mask, parts in ((one, merged_of[: one.n_classes]), (other, merged_of[one.n_classes :])):
        merged = np.zeros(n_merged, dtype=np.int64)
        np.add.at(merged, parts, mask.counts)
        totals.append(merged)
    return np.array_equal(totals[0], totals[1])


def check_label_mask_of(
    label_mask_of: Mapping[str, int], configurations: Mapping[str, Any], n_masks: int
) -> None:
    """Refuse label masks of configurations that do not exist, or numbers of masks that do not."""
    odd = sorted(set(label_mask_of) - set(configurations), key=str)
    if odd:
        raise SummaryError(f"label masks are given for configurations that do not exist: {shown(odd)}")
    for name, index in label_mask_of.items():
        if not is_whole(index) or not 0 <= index < n_masks:
            raise SummaryError(
                f"configuration {shown(name)} has the label mask {shown(index)}; there are {n_masks}, "
                "numbered from 0"
            )


def read_label_masks(
    label: Any,
    expand: Callable[[Any, str, int], Any],
    masked_values: Callable[[list[Any], str], tuple[Any, ...]],
    most_classes: int,
) -> tuple[LabelMask, ...]:
    """Read the masks of the label from its entry in a summary file; the summary checks the rest.

    `expand` reads groups, and `masked_values` the names of masked classes. There are no more classes than
    `most_classes`, however few bytes say so.
    """
    n_classes = get_entry(label, "n_values", int, "the label")
    masks = get_entry(label, "masks", list, "the label")
    if not 2 <= n_classes <= most_classes or len(masks) > MOST_LABEL_MASKS:
        raise SummaryError(
            f"the label has {shown(n_classes)} classes and {len(masks)} masks; it has 2 to {most_classes:,} "
            f"classes, and at most {MOST_LABEL_MASKS} masks"
        )
    if n_classes * len(masks) > MOST_GROUPED:
        raise SummaryError(
            f"the masks of the label group {n_classes * len(masks):,} classes together; at most "
            f"{MOST_GROUPED:,} are read: share fewer configurations at a time"
        )
    found = []
    for i, entry in enumerate(masks):
        what = f"mask {i} of the label"
        labels = masked_values(get_entry(entry, "labels", list, what), what)
        spec = get_entry(entry, "mask", dict, what)
        check_spec(spec, what)
        groups = expand(get_entry(entry, "groups", (list, dict), what), what, n_classes)
        try:
            found.append(LabelMask(spec, groups, labels, get_entry(entry, "counts", list, what)))
        except SummaryError as error:
            raise SummaryError(f"{what}: {error}") from error
        if len(found[-1].groups) != n_classes:
            raise SummaryError(
                f"{what} groups {len(found[-1].groups)} classes, but the label has {n_classes}"
            )
    return tuple(found)
