"""What each mask of a configuration costs, and which single change of a mask would gain most."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._deviation import TIE, Deviation
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.measures import chance_share
from aegis_opt.problem._margin import FloatArray
from aegis_opt.summary import AnySummary, MeasuredAttribute, ProtectedSummary, ScoreSummary, SharedScore

NO_MASK = "no mask"


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The single change of one mask that gains most.

    It is chosen by the score alone. A finer mask shows more, and whether it is still private enough is for
    the provider to judge.

    Attributes
    ----------
    configuration, attribute : str
        Where the mask is changed.
    mask, to : mapping or None
        The mask as it is and as it would be, as configuration files write them; None is no mask.
    taken_from : str or None
        A configuration that masks the attribute so; None where there is no mask.
    measure : str
        The score or measure that the change is judged by.
    score, gain : float
        Its value after the change, and by how much that is better.
    """

    configuration: str
    attribute: str
    mask: Mapping[str, Any]
    to: Mapping[str, Any] | None
    taken_from: str | None
    measure: str
    score: float
    gain: float

    def __str__(self) -> str:
        new = NO_MASK if self.to is None else spec_text(self.to)
        where = "" if self.taken_from is None else f", as {self.taken_from} has it"
        return (
            f"in {self.configuration}, change the mask of {self.attribute} from {spec_text(self.mask)} to "
            f"{new}{where}: {self.measure} becomes {self.score:.4g}, better by {self.gain:.2g}. Judge first "
            "whether that is private enough."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        mask, to = dict(self.mask), None if self.to is None else dict(self.to)
        return vars(self) | {"mask": mask, "to": to}


@dataclass(frozen=True, eq=False)
class _FromMeasure(Mapping[str, FloatArray]):
    """The scores after each change, worked out when asked for: configurations times masks can be many.

    Attributes
    ----------
    scores : ndarray, shape (configurations,)
        Those before a change: means over the attributes.
    masked, unmasked : ndarray, shape (configurations, attributes)
        The measure of each attribute as it is masked, and without a mask.
    under : mapping of str to ndarray, shape (masks,)
        The measure under each mask of each attribute.
    """

    scores: FloatArray
    masked: FloatArray
    unmasked: FloatArray
    under: Mapping[str, FloatArray]

    def __getitem__(self, attribute: str) -> FloatArray:
        return self.of(attribute, slice(None))

    def __iter__(self) -> Iterator[str]:
        return iter(self.under)

    def __len__(self) -> int:
        return len(self.under)

    def of(self, attribute: str, which: slice) -> FloatArray:
        """Return the scores after the changes of an attribute's mask in some configurations."""
        place = list(self.under).index(attribute)
        values, unmasked = self.under[attribute], self.unmasked[which, [place]]
        after = np.broadcast_to(values, (len(unmasked), len(values)))
        change = np.column_stack([after, unmasked]) - self.masked[which, [place]]
        return np.asarray(self.scores[which, None] + change / len(self.under))


@dataclass(frozen=True, eq=False)
class SingleChanges:
    """The score of every configuration after every change of one of its masks.

    Attributes
    ----------
    criterion : Criterion
        The score or measure.
    summary : Summary or ScoreSummary
        Which masks there are.
    scores : ndarray, shape (configurations,)
        The score as it is.
    changed : mapping of str to ndarray, shape (configurations, masks + 1)
        For each attribute, the score under each of its masks, and at the end without a mask; NaN where that
        is not known.
    """

    criterion: Criterion
    summary: AnySummary
    scores: FloatArray
    changed: Mapping[str, FloatArray]

    @classmethod
    def of_score(cls, name: str, shared: SharedScore, summary: AnySummary) -> SingleChanges | None:
        """Take what was shared about a score; None where that is nothing."""
        if shared.changes is None:
            return None
        changes = shared.changes
        scores = np.array([_number(value) for value in shared.values.values()])
        changed = {
            attribute: np.array([[*map(_number, by[attribute])] for by in changes.values()])
            for attribute in summary.attributes
        }
        return cls(Criterion(name, shared.title), summary, scores, changed)

    @classmethod
    def of_measure(
        cls,
        deviation: Deviation,
        values: Mapping[str, FloatArray],
        summary: AnySummary,
        unknown: Collection[str] = (),
    ) -> SingleChanges:
        """Work out what follows from the value of a measure under each mask: its mean over the attributes.

        The value without a mask of the `unknown` attributes is not known.
        """
        unmasked = deviation.unmasked.mean(axis=0)
        unmasked[:, [name in unknown for name in deviation.attributes]] = np.nan
        if not isinstance(summary, ProtectedSummary):  # the label stays masked: of that nothing is estimated
            unmasked[[name in summary.label_mask_of for name in deviation.configurations]] = np.nan
        own = {name: values[name] for name in deviation.attributes}
        changed = _FromMeasure(deviation.score, deviation.masked, unmasked, own)
        return cls(Criterion.of(deviation.measure), summary, deviation.score, changed)

    def explain(self, configuration: str) -> pd.DataFrame:
        """Return one row per attribute; see `Advice.explain`."""
        rows = []
        for attribute in self.changed:
            gains = self._gains(configuration, attribute)
            own = self.summary.configurations[configuration][attribute]
            others = np.where(np.arange(len(gains) - 1) == own, np.nan, gains[:-1])
            best = int(np.nanargmax(others)) if np.isfinite(others).any() else None
            rows.append(
                {
                    "attribute": attribute,
                    "mask": spec_text(self._masks(attribute)[own]),
                    "cost": gains[-1],
                    "other_mask": None if best is None else spec_text(self._masks(attribute)[best]),
                    "gain": math.nan if best is None else others[best],
                    "chance": chance_of_mi(self.summary, configuration, attribute),
                }
            )
        frame = pd.DataFrame(rows)
        return frame.sort_values(["cost", "gain"], ascending=False, kind="stable", ignore_index=True)

    def suggest(self, configuration: str, *, unmasked: bool) -> Suggestion | None:
        """Return the change that gains most; see `Advice.suggest`."""
        most, found = 0.0, None
        for attribute in self.changed:
            gains = self._gains(configuration, attribute)
            own = self.summary.configurations[configuration][attribute]
            gains[own] = 0.0
            candidates = gains if unmasked else gains[:-1]
            if np.isfinite(candidates).any() and np.nanmax(candidates) > most:
                most, found = float(np.nanmax(candidates)), (attribute, own, int(np.nanargmax(candidates)))
        if found is None:
            return None
        attribute, own, to = found
        masks = self._masks(attribute)
        users = [name for name, chosen in self.summary.configurations.items() if chosen[attribute] == to]
        return Suggestion(
            configuration,
            attribute,
            masks[own],
            masks[to] if to < len(masks) else None,
            users[0] if users else None,
            self.criterion.name,
            float(self._after(self._row(configuration), attribute)[to]),
            most,
        )

    def mask(self, configuration: str, attribute: str) -> Mapping[str, Any]:
        """Return the mask that a configuration has for an attribute, as configuration files write it."""
        return self._masks(attribute)[self.summary.configurations[configuration][attribute]]

    def _gains(self, configuration: str, attribute: str) -> FloatArray:
        """Return the gain of the score under each mask of an attribute, and at the end without a mask."""
        row = self._row(configuration)
        before = self.scores[row]
        gains = self._after(row, attribute) - before
        gains[:-1][self._other_label(configuration, attribute)] = np.nan
        gains[np.abs(gains) <= TIE * max(1.0, abs(before))] = 0.0  # rounding noise, of either sign
        return np.asarray(gains if self.criterion.higher_is_better else 0.0 - gains)

    def _row(self, configuration: str) -> int:
        return list(self.summary.configurations).index(configuration)

    def _after(self, row: int, attribute: str) -> FloatArray:
        """Return the scores of one configuration after each change of an attribute's mask."""
        if isinstance(self.changed, _FromMeasure):
            return np.asarray(self.changed.of(attribute, slice(row, row + 1))[0])
        return np.asarray(self.changed[attribute][row])

    def _other_label(self, configuration: str, attribute: str) -> list[bool]:
        """Say of each mask of an attribute whether it is with another masked label than a configuration's."""
        found = self.summary.attributes[attribute]
        if isinstance(self.summary, ProtectedSummary) or not self.summary.label_mask_of:
            return [False] * len(self._masks(attribute))
        own = self.summary.label_mask_of.get(configuration)
        if isinstance(found, MeasuredAttribute):
            return [found.label_mask(i) != own for i in range(len(found.masks))]
        return [table.label_mask != own for table in found.tables]  # type: ignore[union-attr]

    def _masks(self, attribute: str) -> Sequence[Mapping[str, Any]]:
        if isinstance(self.summary, ScoreSummary):
            return self.summary.attributes[attribute].masks
        return [table.spec for table in self.summary.attributes[attribute].tables]


def chance_of_mi(summary: AnySummary, configuration: str, attribute: str) -> float:
    """Share of an attribute's mutual information, as a configuration masks it, that is chance."""
    place = summary.configurations[configuration][attribute]
    if isinstance(summary, ScoreSummary):
        known = summary.attributes[attribute].chance.get("mi")
        return math.nan if known is None else _number(known[place])
    return chance_share("mi", summary.attributes[attribute].tables[place].joint)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
