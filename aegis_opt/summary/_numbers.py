"""From records to the numbers that a summary shares: scores of configurations, measures of masked tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from aegis_opt._options import flag, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.masks._order import Arrangement
from aegis_opt.measures import Measure, chance_share, get_measure
from aegis_opt.scores import MaskedRecords, Score
from aegis_opt.scores._registry import get_scores
from aegis_opt.sources._counts import Scan
from aegis_opt.sources._pairs import CountableRecords
from aegis_opt.summary._model import AttributeSummary, Summary
from aegis_opt.summary._noisy_tables import refuse_noise
from aegis_opt.summary._scores import MeasuredAttribute, Number, ScoreSummary, SharedScore

SCORES = ("r2_gcv", "r2_cv")
"""The scores that are shared by default."""
MEASURES = ("mi", "mi_loo", "g3")
"""The measures whose values are shared by default."""
EXPLAINED = "r2_gcv"
"""The score of which it is shared what every mask costs, on request."""
_CHANCE = "mi"  # the measure of which it is said how much is chance


class NumbersToShare:
    """What a provider wants to share in numbers, checked before anything is counted."""

    def __init__(
        self,
        scores: Iterable[str | Score] | None,
        measures: Iterable[str | Measure] | None,
        unmasked: bool,
        digits: int | None,
        explain: bool = False,
    ) -> None:
        self.scores = get_scores(SCORES if scores is None else scores)
        given = MEASURES if measures is None else measures
        self.measures = [get_measure(measure) for measure in ([given] if isinstance(given, str) else given)]
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
        masked = MaskedRecords(
            records,
            {
                name: [arrangements[name].undone(table.groups) for table in a.tables]
                for name, a in summary.attributes.items()
            },
            summary.configurations,
            {name: joint.table.sum(axis=1) for name, joint in counts.attributes.items()},
        )
        return ScoreSummary(
            label=summary.label,
            attributes={
                name: self._measured(attribute, counts.attributes[name].table)
                for name, attribute in summary.attributes.items()
            },
            configurations=summary.configurations,
            scores={score.name: self._shared(score, masked) for score in self.scores},
        )

    def _measured(self, attribute: AttributeSummary, table: Any) -> MeasuredAttribute:
        tables = [masked.joint for masked in attribute.tables]
        values = {measure.name: self._rounded(measure.many(tables)) for measure in self.measures}
        chance = {}
        if _CHANCE in values:
            chance[_CHANCE] = self._rounded([chance_share(_CHANCE, masked) for masked in tables])
        unmasked = {}
        if self.unmasked:
            unmasked = {m.name: self._rounded([float(m(table))])[0] for m in self.measures}
        return MeasuredAttribute(tuple(m.spec for m in attribute.tables), values, unmasked, chance)

    def _shared(self, score: Score, masked: MaskedRecords) -> SharedScore:
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
        return SharedScore(score.title, score.monotone, values, folds, stages, changes)

    def _rounded(self, values: Iterable[float]) -> tuple[Number, ...]:
        """Round to significant digits if asked to; None where there is no number."""
        numbers = [float(value) for value in values]
        if self.digits is not None:
            numbers = [float(f"{number:.{self.digits}g}") for number in numbers]
        return tuple(number if math.isfinite(number) else None for number in numbers)
