"""Numbers in place of tables: what a summary shares where no counts leave the provider."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from aegis_opt._display import Card, Displayed
from aegis_opt._options import LARGEST_NUMBER, flag, is_number, is_whole, known_name
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.measures import available_measures
from aegis_opt.summary._label_masks import check_label_mask_of
from aegis_opt.summary._privacy import SharedPrivacy
from aegis_opt.summary._shared_data import SharedData, check_configurations, check_names

Number = float | None
"""A number, or None where there is none."""


@dataclass(frozen=True, eq=False)
class SharedScore(SharedData):
    """A score of every configuration; higher is better.

    Parameters
    ----------
    title : str
        What people read.
    monotone : bool
        Whether merging values never raises the score.
    values : mapping of str to float
        The score of each configuration; None where there is none.
    folds : mapping of str to sequence of float, optional
        The score of each configuration in each fold of the records.
    stages : mapping of str to int, optional
        How far each configuration came, where not all are scored alike. Those of a higher stage rank first.
    changes : mapping of str to (mapping of str to sequence of float), optional
        For each configuration and attribute, the score with the attribute under each of its masks, and at the
        end without a mask; all other masks stay.
    """

    title: str
    monotone: bool
    values: Mapping[str, Number]
    folds: Mapping[str, tuple[Number, ...]] | None = None
    stages: Mapping[str, int] | None = None
    changes: Mapping[str, Mapping[str, tuple[Number, ...]]] | None = None

    def __post_init__(self) -> None:
        folds = None if self.folds is None else {name: tuple(each) for name, each in self.folds.items()}
        changes = None
        if self.changes is not None:
            changes = {
                name: MappingProxyType({attribute: tuple(each) for attribute, each in by.items()})
                for name, by in self.changes.items()
            }
        self._convert(
            values=MappingProxyType(dict(self.values)),
            folds=None if folds is None else MappingProxyType(folds),
            stages=None if self.stages is None else MappingProxyType(dict(self.stages)),
            changes=None if changes is None else MappingProxyType(changes),
        )

    def check(self, name: str, configurations: Mapping[str, Any], masks: Mapping[str, int]) -> None:
        """Refuse a score that does not fit the configurations and the number of masks of each attribute."""
        where = f"score {shown(name)}"
        for part in (self.values, self.folds, self.stages, self.changes):
            if part is not None and set(part) != set(configurations):
                odd = sorted(set(part) ^ set(configurations))
                raise SummaryError(
                    f"{where} must be of every configuration and no others; check {shown(odd)}"
                )
        folds = [*(self.folds or {}).values()]
        changes = [each for by in (self.changes or {}).values() for each in by.values()]
        for numbers in (self.values.values(), *folds, *changes):
            for value in numbers:
                _check_number(value, where)
        if len({len(each) for each in folds}) > 1:
            raise SummaryError(f"{where} must have as many folds for every configuration")
        for configuration, by in (self.changes or {}).items():
            sizes = {attribute: len(each) - 1 for attribute, each in by.items()}
            if sizes != masks:
                raise SummaryError(
                    f"{where} must have, for configuration {shown(configuration)}, a number for each mask of "
                    "every attribute and one without a mask"
                )
        for stage in (self.stages or {}).values():
            if not is_whole(stage) or stage < 0:
                raise SummaryError(
                    f"{where} has the stage {shown(stage)}; stages are whole numbers from 0 up"
                )


@dataclass(frozen=True, eq=False)
class MeasuredAttribute(SharedData):
    """What is shared about one attribute: values of measures, and no counts.

    Parameters
    ----------
    masks : sequence of mapping
        The distinct masks, as configuration files write them.
    measures : mapping of str to sequence of float
        For each measure, its value under each mask.
    unmasked : mapping of str to float
        For each measure, its value without a mask, where it is shared.
    chance : mapping of str to sequence of float
        For each measure, the share of its value under each mask that shuffled labels would give, too.
    label_masks : sequence of int or None, optional
        For each mask, by which of the summary's label masks the label is masked there; None where it is not.
        Empty where no configuration masks the label.
    """

    masks: tuple[Mapping[str, Any], ...]
    measures: Mapping[str, tuple[Number, ...]]
    unmasked: Mapping[str, Number] = field(default_factory=dict)
    chance: Mapping[str, tuple[Number, ...]] = field(default_factory=dict)
    label_masks: tuple[int | None, ...] = ()

    def __post_init__(self) -> None:
        self._convert(
            masks=tuple(MappingProxyType(dict(spec)) for spec in self.masks),
            measures=MappingProxyType({name: tuple(values) for name, values in self.measures.items()}),
            unmasked=MappingProxyType(dict(self.unmasked)),
            chance=MappingProxyType({name: tuple(values) for name, values in self.chance.items()}),
            label_masks=tuple(self.label_masks),
        )

    def label_mask(self, mask: int) -> int | None:
        """Return by which label mask the label is masked where the attribute has one of its masks."""
        return self.label_masks[mask] if self.label_masks else None

    def check(self, name: str) -> None:
        """Refuse numbers that do not fit the masks."""
        where = f"attribute {shown(name)}"
        if not self.masks:
            raise SummaryError(f"{where} has no masks")
        for measure, values in [*self.measures.items(), *self.chance.items()]:
            if len(values) != len(self.masks):
                raise SummaryError(
                    f"{where} has {len(values)} values of {shown(measure)} for {len(self.masks)} masks"
                )
            for value in values:
                _check_number(value, where)
        for measure, value in self.unmasked.items():
            _check_number(value, where)
            if measure not in self.measures:
                raise SummaryError(f"{where} has an unmasked value of {shown(measure)}, but no masked ones")
        if self.label_masks and len(self.label_masks) != len(self.masks):
            raise SummaryError(
                f"{where} has {len(self.label_masks)} label masks for {len(self.masks)} masks: one for each"
            )
        for mask in self.label_masks:
            if mask is not None and not is_whole(mask):
                raise SummaryError(f"{where} has the label mask {shown(mask)}, which is no whole number")


@dataclass(frozen=True, eq=False)
class ScoreSummary(SharedData, Displayed):
    """All that leaves the provider where only numbers are shared: no count, and no value of any column.

    Parameters
    ----------
    label : str
        Name of the label.
    attributes : mapping of str to MeasuredAttribute
        The attributes that at least one configuration masks.
    configurations : mapping of str to (mapping of str to int)
        For each configuration and attribute, which of the attribute's masks it uses.
    scores : mapping of str to SharedScore
        Scores of all masked attributes together.
    privacy : SharedPrivacy, optional
        The privacy rules that the provider checked, and the level that each configuration reaches.
    label_is_number : bool
        Whether the label is a number, and not one of some classes.
    label_masks : sequence of mapping, optional
        The distinct masks of the label, as configuration files write them.
    label_mask_of : mapping of str to int, optional
        For each configuration that masks the label, which of these it uses. Its numbers are about the label
        so masked.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    >>> list(shared.scores), list(shared.attributes["age"].measures)
    (['r2_gcv', 'r2_cv'], ['mi', 'mi_loo', 'g3'])
    """

    label: str
    attributes: Mapping[str, MeasuredAttribute]
    configurations: Mapping[str, Mapping[str, int]]
    scores: Mapping[str, SharedScore]
    privacy: SharedPrivacy | None = None
    label_is_number: bool = False
    label_masks: tuple[Mapping[str, Any], ...] = ()
    label_mask_of: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = {name: MappingProxyType(dict(masks)) for name, masks in self.configurations.items()}
        self._convert(
            attributes=MappingProxyType(dict(self.attributes)),
            configurations=MappingProxyType(chosen),
            scores=MappingProxyType(dict(self.scores)),
            label_masks=tuple(MappingProxyType(dict(spec)) for spec in self.label_masks),
            label_mask_of=MappingProxyType(dict(self.label_mask_of)),
        )
        check_names(self.label, self.attributes, self.configurations)
        if not self.attributes:
            raise SummaryError("a summary of scores needs at least one attribute")
        for name, attribute in self.attributes.items():
            attribute.check(name)
            if set(attribute.measures) != set(self.measures):
                raise SummaryError(f"attribute {shown(name)} has other measures than the first attribute")
        self._check_measures()
        sizes = {name: len(attribute.masks) for name, attribute in self.attributes.items()}
        check_configurations(self.configurations, sizes, "mask")
        check_label_mask_of(self.label_mask_of, self.configurations, len(self.label_masks))
        self._check_label()
        for name, score in self.scores.items():
            score.check(name, self.configurations, sizes)
        if self.privacy is not None:
            self.privacy.check(self.configurations)

    def _check_label(self) -> None:
        """Refuse a configuration with numbers about another masked label than its own."""
        if not self.label_masks and not any(a.label_masks for a in self.attributes.values()):
            return
        for name, chosen in self.configurations.items():
            own = self.label_mask_of.get(name)
            for attribute, mask in chosen.items():
                if self.attributes[attribute].label_mask(mask) != own:
                    raise SummaryError(
                        f"configuration {shown(name)} has numbers of {shown(attribute)} that are about "
                        "another masked label than its own"
                    )

    def _check_measures(self) -> None:
        """Refuse measures of classes where the label is a number, and the other way round."""
        flag("label_is_number", self.label_is_number, error=SummaryError)
        others = available_measures("class" if self.label_is_number else "number")
        wrong = [name for name in self.measures if name in others]
        if wrong:
            what = "a number" if self.label_is_number else "one of some classes"
            raise SummaryError(
                f"the label {shown(self.label)} is {what}, and measure {shown(wrong[0])} is not about that: "
                "make the summary again"
            )

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures whose values are shared."""
        return tuple(next(iter(self.attributes.values())).measures)

    def spec(self, configuration: str, attribute: str) -> Mapping[str, Any]:
        """Return the mask of an attribute in a configuration, as configuration files write it."""
        chosen = self.configurations[known_name("configuration", configuration, self.configurations)]
        known_name("attribute", attribute, self.attributes, "A summary holds the masked attributes.")
        return self.attributes[attribute].masks[chosen[attribute]]

    def label_spec(self, configuration: str) -> Mapping[str, Any] | None:
        """Return the mask of the label in a configuration, as configuration files write it; None: no mask."""
        index = self.label_mask_of.get(known_name("configuration", configuration, self.configurations))
        return None if index is None else self.label_masks[index]

    def report(self) -> pd.DataFrame:
        """Describe what is shared, one row per attribute; `facts` lists all that a stranger learns.

        Returns
        -------
        DataFrame
            attribute, masks (how many), measures (whose values are shared), unmasked (whether the value
            without a mask is shared, too), specifications (the masks, with all that they name).
        """
        rows = [
            (name, len(a.masks), ", ".join(a.measures), bool(a.unmasked), [dict(spec) for spec in a.masks])
            for name, a in self.attributes.items()
        ]
        return pd.DataFrame(rows, columns=["attribute", "masks", "measures", "unmasked", "specifications"])

    def facts(self) -> pd.DataFrame:
        """List all that a stranger learns from the file, and at the end what is not in it.

        Returns
        -------
        DataFrame
            One row per fact: about, fact, content, all of them texts. Long lists are shortened.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(500)
        >>> shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores", digits=4)
        >>> facts = shared.facts()
        >>> facts[facts["about"] == "numbers"]["content"].tolist()
        ['up to 4']
        """
        from aegis_opt.summary._facts import facts_of

        return facts_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to one JSON file: .json, or .json.gz to compress it."""
        from aegis_opt.summary._file import save

        save(self, path)

    def _card(self) -> Card:
        from aegis_opt.summary._card import card_of_numbers

        return card_of_numbers(self)

    def __repr__(self) -> str:
        number = ", a number" if self.label_is_number else ""
        return (
            f"ScoreSummary(label={self.label!r}{number}, {len(self.attributes)} attributes, "
            f"{len(self.configurations)} configurations, scores {', '.join(self.scores) or 'none'}, "
            f"measures {', '.join(self.measures) or 'none'})"
        )


def _check_number(value: object, where: str) -> None:
    if value is not None and not (is_number(value) and abs(value) <= LARGEST_NUMBER):  # type: ignore[arg-type]
        raise SummaryError(f"{where} has the value {shown(value)}, which is no number: make the file again")
