"""Whether the classes of one masked table satisfy rules, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis_opt.privacy._base import PrivacyRule, allowed_records
from aegis_opt.privacy._classes import ClassCounts
from aegis_opt.privacy._risks import Risks, risks


@dataclass(frozen=True)
class RuleFigures:
    """What one rule finds in one masked table.

    Attributes
    ----------
    figure : float
        The level of the table: of the records that are left after suppression where that is enough for all
        rules, and else of all records.
    violating : int
        Records in classes that violate the rule.
    holds : bool
        Whether they are no more than may be suppressed.
    witness : mapping, optional
        The masked quasi-identifiers of the smallest class that violates the rule, and its size.
    """

    figure: float
    violating: int
    holds: bool
    witness: tuple[Mapping[str, Any], int] | None = None


@dataclass(frozen=True)
class TableFigures:
    """What all rules find in one masked table.

    Attributes
    ----------
    records, classes, smallest : int
        How many records and classes there are, and the records of the smallest class.
    suppressed : int
        Records in classes that violate some rule, which are to be suppressed.
    holds : bool
        Whether these are no more than may be suppressed.
    risks : Risks
        Of all records.
    rules : sequence of RuleFigures
        What each rule finds.
    """

    records: int
    classes: int
    smallest: int
    suppressed: int
    holds: bool
    risks: Risks
    rules: tuple[RuleFigures, ...]


def figures_of(classes: ClassCounts, rules: Sequence[PrivacyRule], suppression: float) -> TableFigures:
    """Compare the classes of a masked table with rules."""
    sizes = classes.sizes
    n_records = int(sizes.sum())
    allowed = allowed_records(suppression, n_records)
    levels = [classes.levels(rule) for rule in rules]
    violations = [~rule.satisfied(own) for rule, own in zip(rules, levels, strict=True)]
    any_violation = np.logical_or.reduce(violations)
    suppressed = int(sizes[any_violation].sum())
    enough = suppressed <= allowed
    left = ~any_violation if enough else np.ones_like(any_violation)
    found = []
    for rule, own, bad in zip(rules, levels, violations, strict=True):
        violating = int(sizes[bad].sum())
        witness = None
        if violating:
            places = np.flatnonzero(bad)
            smallest = int(places[np.argmin(sizes[places])])
            witness = classes.shown(smallest), int(sizes[smallest])
        found.append(RuleFigures(rule.worst(own[left]), violating, violating <= allowed, witness))
    return TableFigures(
        n_records, len(sizes), int(sizes.min()), suppressed, enough, risks(sizes), tuple(found)
    )
