"""What a summary shares about the privacy of its configurations: the levels that they reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from aegis_opt._json import check_text
from aegis_opt._options import LARGEST_NUMBER, is_number, number
from aegis_opt._shown import shown
from aegis_opt.errors import InvalidOption, SummaryError
from aegis_opt.masks import Configurations
from aegis_opt.masks._order import Rule
from aegis_opt.privacy import PrivacyRule
from aegis_opt.privacy._base import as_rules
from aegis_opt.privacy._check import PrivacyQuestion
from aegis_opt.privacy._written import rule_from_spec, rule_text, rule_to_spec
from aegis_opt.sources import Progress
from aegis_opt.summary._entries import get_entry
from aegis_opt.summary._shared_data import SharedData

MOST_RULES = 50
"""Privacy rules of a summary file."""


@dataclass(frozen=True, eq=False)
class SharedRule(SharedData):
    """A privacy rule, and what the provider found about it.

    Parameters
    ----------
    rule : PrivacyRule
        What was checked.
    figures : mapping of str to float
        The level that each configuration reaches: after suppression where it is private, else of all
        records.
    holds : mapping of str to bool
        Whether no more records violate the rule than may be suppressed.
    """

    rule: PrivacyRule
    figures: Mapping[str, float]
    holds: Mapping[str, bool]

    def __post_init__(self) -> None:
        self._convert(figures=MappingProxyType(dict(self.figures)), holds=MappingProxyType(dict(self.holds)))


@dataclass(frozen=True, eq=False)
class SharedPrivacy(SharedData):
    """Privacy rules that a provider checked, and the level that each configuration reaches.

    Parameters
    ----------
    rules : sequence of SharedRule
        Of each kind one.
    private : mapping of str to bool
        Whether each configuration satisfies all rules, when the records of violating classes are suppressed,
        as far as allowed.
    quasi_identifiers : sequence of str
        The columns that an attacker may know.
    sensitive : str or None
        The column that nobody may learn, where a rule needs one.
    suppression : float
        The share of records that may be suppressed.
    """

    rules: tuple[SharedRule, ...]
    private: Mapping[str, bool]
    quasi_identifiers: tuple[str, ...]
    sensitive: str | None = None
    suppression: float = 0.0

    def __post_init__(self) -> None:
        self._convert(
            rules=tuple(self.rules),
            private=MappingProxyType(dict(self.private)),
            quasi_identifiers=tuple(self.quasi_identifiers),
        )

    def check(self, configurations: Iterable[str]) -> None:
        """Refuse figures that are not of these configurations, or are none."""
        expected = set(configurations)
        try:
            as_rules([shared.rule for shared in self.rules])
        except InvalidOption as error:
            raise SummaryError(f"the privacy figures: {error}") from error
        if not (is_number(self.suppression) and 0 <= self.suppression <= 1):
            raise SummaryError(
                f"the suppression of the privacy rules is {shown(self.suppression)}; it is a number from 0 "
                "to 1"
            )
        names = (*self.quasi_identifiers, *(() if self.sensitive is None else (self.sensitive,)))
        if not self.quasi_identifiers or not all(isinstance(name, str) and name for name in names):
            raise SummaryError(f"the privacy rules need names of quasi-identifiers, not {shown(list(names))}")
        for name in names:
            check_text(name, SummaryError)
        parts: list[tuple[str, Mapping[str, Any]]] = [("private", self.private)]
        for shared in self.rules:
            parts += [(f"{shared.rule.name}", shared.figures), (f"{shared.rule.name}", shared.holds)]
            for value in shared.figures.values():
                if not (is_number(value) and (0 <= value <= LARGEST_NUMBER or value == math.inf)):
                    raise SummaryError(f"{shared.rule.name} has the figure {shown(value)}, which is none")
        for what, part in parts:
            if set(part) != expected:
                odd = sorted(set(part) ^ expected)
                raise SummaryError(
                    f"the privacy figures ({what}) must be of every configuration and no others; check "
                    f"{shown(odd)}"
                )
        for what, part in (("private", self.private), *((s.rule.name, s.holds) for s in self.rules)):
            if odd_values := [value for value in part.values() if not isinstance(value, bool)]:
                raise SummaryError(f"{what} must be true or false, not {shown(odd_values[0])}")
        self._check_answers()

    def _check_answers(self) -> None:
        """Refuse answers that the figures contradict.

        A configuration is private exactly where all its figures are good enough: they are then of what is
        left after suppression, and else of all records. So a rule whose figure is good enough holds; the
        other way round, too, without suppression or with one rule.
        """
        names = list(self.private)
        private = np.array([self.private[name] for name in names])
        enough = [s.rule.satisfied(np.array([s.figures[n] for n in names], np.float64)) for s in self.rules]
        agree = private == np.all(enough, axis=0)
        for shared, reached in zip(self.rules, enough, strict=True):
            holds = np.array([shared.holds[name] for name in names])
            agree &= holds == reached if self.suppression == 0 or len(self.rules) == 1 else holds | ~reached
        if not agree.all():
            odd = shown(names[int(np.argmin(agree))])
            raise SummaryError(
                f"the privacy figures of {odd} contradict what is said of it: it is private where all its "
                "figures reach the levels of the rules; get a whole copy of the file"
            )

    def restricted(self, configurations: Iterable[str]) -> SharedPrivacy:
        """Return what is shared about some of the configurations."""
        kept = list(configurations)
        rules = tuple(
            SharedRule(s.rule, {n: s.figures[n] for n in kept}, {n: s.holds[n] for n in kept})
            for s in self.rules
        )
        return SharedPrivacy(
            rules,
            {n: self.private[n] for n in kept},
            self.quasi_identifiers,
            self.sensitive,
            self.suppression,
        )


@dataclass(frozen=True)
class RulesToShare:
    """What a provider wants to be checked, before anything is counted."""

    question: PrivacyQuestion
    configurations: Configurations
    label: str | None

    @classmethod
    def of(
        cls,
        rules: PrivacyRule | Iterable[PrivacyRule] | None,
        configurations: Configurations,
        label: str | None,
        quasi_identifiers: Iterable[str] | None,
        sensitive: str | None,
        suppression: float,
        orders: Mapping[str, Rule],
    ) -> RulesToShare | None:
        """Check the options; None where no rule is given."""
        if rules is None:
            if quasi_identifiers is not None or sensitive is not None or number("suppression", suppression):
                raise InvalidOption(
                    "quasi_identifiers, sensitive and suppression are about privacy rules: pass rules=, such "
                    "as ao.privacy.KAnonymity(5)"
                )
            return None
        question = PrivacyQuestion.of(
            rules,
            configurations,
            label=label,
            quasi_identifiers=quasi_identifiers,
            sensitive=sensitive,
            suppression=suppression,
            order=orders,
        )
        return cls(question, configurations, configurations.label if label is None else label)

    @property
    def order_of_its_own(self) -> str | None:
        """The sensitive attribute where only the rules need its order: it is the label, or never masked."""
        masked = {attribute for masks in self.configurations.values() for attribute in masks} - {self.label}
        return None if self.question.sensitive in masked else self.question.sensitive

    def shared(self, source: Any, progress: Progress | None) -> SharedPrivacy:
        """Check every configuration, and keep the figures only."""
        asked = self.question
        found = dict(asked.answers(source, self.configurations, progress))
        return SharedPrivacy(
            tuple(
                SharedRule(
                    rule,
                    {name: figures.rules[i].figure for name, figures in found.items()},
                    {name: figures.rules[i].holds for name, figures in found.items()},
                )
                for i, rule in enumerate(asked.rules)
            ),
            {name: figures.holds for name, figures in found.items()},
            asked.quasi_identifiers,
            asked.sensitive,
            asked.suppression,
        )


def privacy_document(privacy: SharedPrivacy) -> dict[str, Any]:
    """Return privacy figures as JSON holds them; a figure that is infinite is null."""
    return {
        "quasi_identifiers": list(privacy.quasi_identifiers),
        "sensitive": privacy.sensitive,
        "suppression": privacy.suppression,
        "private": dict(privacy.private),
        "rules": [
            {
                "rule": rule_to_spec(shared.rule),
                "figures": {n: v if math.isfinite(v) else None for n, v in shared.figures.items()},
                "holds": dict(shared.holds),
            }
            for shared in privacy.rules
        ],
    }


def read_privacy(document: Any) -> SharedPrivacy:
    """Read what `privacy_document` wrote; `SharedPrivacy.check` does the rest."""
    where = "the privacy figures"
    entries = get_entry(document, "rules", list, where)
    if not 1 <= len(entries) <= MOST_RULES:
        raise SummaryError(f"{where} are of {len(entries)} rules; they are of 1 to {MOST_RULES}")
    rules = []
    for i, entry in enumerate(entries):
        what = f"rule {i} of {where}"
        spec = get_entry(entry, "rule", dict, what)
        try:
            rule = rule_from_spec(spec)
        except InvalidOption as error:
            raise SummaryError(f"{what}: {error}") from error
        figures = {
            name: math.inf if value is None else value
            for name, value in get_entry(entry, "figures", dict, what).items()
        }
        rules.append(SharedRule(rule, figures, get_entry(entry, "holds", dict, what)))
    return SharedPrivacy(
        tuple(rules),
        get_entry(document, "private", dict, where),
        tuple(get_entry(document, "quasi_identifiers", list, where)),
        get_entry(document, "sensitive", (str, type(None)), where),
        get_entry(document, "suppression", (int, float), where),
    )


def rules_shown(privacy: SharedPrivacy) -> str:
    """Return the rules that were shared, as commands write them."""
    return ", ".join(rule_text(shared.rule) for shared in privacy.rules)
