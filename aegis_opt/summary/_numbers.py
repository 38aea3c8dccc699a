"""From records to the numbers that a summary shares: scores of configurations, measures of masked tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aegis_opt._options import flag, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.masks import Mask
from aegis_opt.masks._order import Arrangement
from aegis_opt.measures import Measure, chance_share, correlation_ratio
from aegis_opt.measures._registry import measure_for
from aegis_opt.scores import MaskedRecords, Score
from aegis_opt.scores._registry import get_scores
from aegis_opt.sources._counts import JointMoments, NumberScan, Scan
from aegis_opt.sources._label_view import LabelKind
from aegis_opt.sources._number_label import moments_of
from aegis_opt.sources._pairs import CountableRecords, IntArray
from aegis_opt.summary._label_masks import LabelMask
from aegis_opt.summary._masked_counts import MaskedMoments, each_mask, fitted_groups
from aegis_opt.summary._model import Summary
from aegis_opt.summary._noisy_tables import refuse_noise
from aegis_opt.summary._scores import MeasuredAttribute, Number, ScoreSummary, SharedScore

SCORES = ("r2_gcv", "r2_cv")
"""The scores that are shared by default."""
MEASURES = {"class": ("mi", "mi_loo", "g3"), "number": ("eta2",)}
"""The measures whose values are shared by default, for each kind of label."""
EXPLAINED = "r2_gcv"
"""The score of which it is shared what every mask costs, on request."""
_CHANCE = ("mi", "eta2")  # the measures of which it is said how much is chance


class MergedValues(NamedTuple):
    """An attribute under one mask: which values share a group, and the counts or sums of each group."""

    spec: Mapping[str, Any]
    groups: IntArray  # of each value, in the order of the domain
    table: npt.NDArray[Any]
    label_mask: int | None = None


class NumbersToShare:
    """What a provider wants to share in numbers, checked before anything is counted."""

    def __init__(
        self,
        scores: Iterable[str | Score] | None,
        measures: Iterable[str | Measure] | None,
        unmasked: bool,
        digits: int | None,
        explain: bool = False,
        label_kind: LabelKind = "class",
    ) -> None:
        self.label_kind = label_kind
        self.scores = get_scores(SCORES if scores is None else scores)
        for score in self.scores:
            score.check_label(is_number=label_kind == "number")
        given = MEASURES[label_kind] if measures is None else measures
        listed = [given] if isinstance(given, str | Measure) else given
        self.measures = [measure_for(label_kind, measure) for measure in listed]
        self.unmasked = flag("unmasked", unmasked)
        self.digits = None if digits is None else whole_number("digits", digits, least=1, most=17)
        self.explain = flag("explain", explain)
        names = [score.name for score in self.scores] + [measure.name for measure in self.measures]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidOption(f"{twice!r} is asked for twice, as score or measure: name each once")
        if not names:
            raise InvalidOption("no numbers to share: name at least one of scores or measures")
        if self.explain and EXPLAINED not in names:
            raise InvalidOption(
                f"explain=True shares what each mask costs {EXPLAINED!r}, which is not among the scores: "
                "add it"
            )

    def of(
        self,
        summary: Summary,
        counts: Scan,
        records: CountableRecords,
        arrangements: Mapping[str, Arrangement],
    ) -> ScoreSummary:
        """Score the configurations of a summary by the records that it was made of."""
        refuse_noise(summary, "scores are computed for")
        masked = {
            name: [
                MergedValues(
                    table.spec, arrangements[name].undone(table.groups), table.joint, table.label_mask
                )
                for table in attribute.tables
            ]
            for name, attribute in summary.attributes.items()
        }
        return self._of(
            counts, masked, summary.configurations, records, summary.label_masks, summary.label_mask_of
        )

    def of_number(self, counted: MaskedMoments, records: CountableRecords) -> ScoreSummary:
        """Score the configurations by records whose label is a number."""

        def values(mask: Mask, attribute: str, joint: JointMoments, configuration: str) -> MergedValues:
            groups = fitted_groups(mask, attribute, joint, configuration)[1].groups
            return MergedValues(
                mask.to_spec(), groups, moments_of(groups, list(joint.table.T), int(groups.max()) + 1)
            )

        masked, chosen = each_mask(counted.counts.attributes, counted.masks, values)
        return self._of(counted.counts, masked, chosen, records)

    def _of(
        self,
        counts: Scan | NumberScan,
        masks: Mapping[str, Sequence[MergedValues]],
        configurations: Mapping[str, Mapping[str, int]],
        records: CountableRecords,
        label_masks: Sequence[LabelMask] = (),
        label_mask_of: Mapping[str, int] = MappingProxyType({}),
    ) -> ScoreSummary:
        masked = MaskedRecords(
            records,
            {name: [each.groups for each in own] for name, own in masks.items()},
            configurations,
            {name: joint.records for name, joint in counts.attributes.items()},
            {name: label_masks[index].groups for name, index in label_mask_of.items()},
        )
        return ScoreSummary(
            label=counts.label,
            attributes={
                name: self._measured(own, counts.attributes[name].table) for name, own in masks.items()
            },
            configurations=configurations,
            scores={score.name: self._shared(score, masked) for score in self.scores},
            label_is_number=self.label_kind == "number",
            label_masks=tuple(mask.spec for mask in label_masks),
            label_mask_of=label_mask_of,
        )

    def _measured(self, masks: Sequence[MergedValues], table: Any) -> MeasuredAttribute:
        tables = [masked.table for masked in masks]
        values = {measure.name: self._rounded(measure.each(tables)) for measure in self.measures}
        chance = {
            name: self._rounded([_chance_share(name, masked) for masked in tables])
            for name in _CHANCE
            if name in values
        }
        unmasked = {}
        if self.unmasked:
            unmasked = {m.name: self._rounded([float(m(table))])[0] for m in self.measures}
        label_masks = tuple(masked.label_mask for masked in masks)
        return MeasuredAttribute(
            tuple(masked.spec for masked in masks),
            values,
            unmasked,
            chance,
            label_masks if any(index is not None for index in label_masks) else (),
        )

    def _shared(self, score: Score, masked: MaskedRecords) -> SharedScore:
        if masked.labels_differ and not score.compares_labels:
            raise InvalidOption(
                f"the score {score.name!r} of configurations that mask the label in different ways cannot be "
                "compared, because it is easier to predict fewer classes: mask the label alike in all "
                "configurations, share each way apart, or leave out that score"
            )
        found, names = score.of(masked), list(masked.configurations)
        folds: Mapping[str, tuple[Number, ...]] | None = None
        if found.folds is not None:
            folds = dict(zip(names, map(self._rounded, found.folds), strict=True))
        stages = None if found.stages is None else dict(zip(names, found.stages.tolist(), strict=True))
        values = dict(zip(names, self._rounded(found.values), strict=True))
        changes = None
        changed = score.changes(masked) if self.explain else None
        if changed is not None:
            changes = {
                name: {attribute: self._rounded(each[i]) for attribute, each in changed.items()}
                for i, name in enumerate(names)
            }
        title = score.title_for(is_number=self.label_kind == "number")
        monotone = score.monotone and not masked.label_groups  # merging classes may raise any score
        return SharedScore(title, monotone, values, folds, stages, changes)

    def _rounded(self, values: Iterable[float]) -> tuple[Number, ...]:
        """Round to significant digits if asked to; None where there is no number."""
        numbers = [float(value) for value in values]
        if self.digits is not None:
            numbers = [float(f"{number:.{self.digits}g}") for number in numbers]
        return tuple(number if math.isfinite(number) else None for number in numbers)


def _chance_share(measure: str, table: npt.NDArray[Any]) -> float:
    """Share of a measure that shuffled labels would give, too.

    Of the correlation ratio of g groups of n records they give (g - 1) / (n - 1).
    """
    if measure != "eta2":
        return chance_share(measure, table)
    n, groups = float(table[:, 0].sum()), int(np.count_nonzero(table[:, 0]))
    told = float(correlation_ratio(table))
    return min((groups - 1) / (n - 1) / told, 1.0) if told > 0 and n > 1 else 0.0
