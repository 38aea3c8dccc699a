"""Warnings about single attributes: measures that are mostly chance, and what nobody can know."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aegis_opt.measures import Measure, chance_share, get_measure
from aegis_opt.problem._margin import IntArray
from aegis_opt.summary import ScoreSummary, Summary

WITHOUT_CHANCE = ("mi_loo", "g3_loo", "mi_corrected", "chi2_corrected", "cramers_v_corrected")
"""Measures that do not count what shuffled labels would give, too."""

_WORTH_A_LOOK = 0.25  # rough share of chance in mi, below which the exact one is never above a half
_MOST_CELLS = 10_000  # of all tables that are drawn many times to tell how much of a measure is chance
_MOST_NAMED = 5


def mostly_chance(measure: Measure, summary: Summary | ScoreSummary) -> list[str]:
    """Return the attributes that owe more than half of a measure to chance, as far as that is quick to tell.

    It is told of the finest table that is shared of an attribute. The rough share of chance in its mutual
    information, (rows - 1)(labels - 1) / (2 N ln 2) bits, tells where a closer look is worth its time.
    """
    if measure.name in WITHOUT_CHANCE:
        return []
    if isinstance(summary, ScoreSummary):
        shares = {name: attribute.chance.get(measure.name) for name, attribute in summary.attributes.items()}
        return [name for name, known in shares.items() if known and max(v or 0.0 for v in known) > 0.5]
    if summary.n_records == 0:
        return []
    found, drawn = [], 0
    finest = [
        max((shared.joint for shared in a.tables), key=lambda joint: joint.shape)
        for a in summary.attributes.values()
    ]
    information = get_measure("mi").each(finest)
    for name, table, told in zip(summary.attributes, finest, information, strict=True):
        if _rough_chance(table) <= _WORTH_A_LOOK * told:
            continue
        drawn += 0 if measure.name in ("mi", "chi2") else table.size  # these two have a formula
        known = float(told) if measure.name == "mi" else None
        if drawn <= _MOST_CELLS and chance_share(measure, table, known) > 0.5:
            found.append(name)
    return found


def _rough_chance(table: IntArray) -> float:
    rows, columns = (int(np.count_nonzero(table.sum(axis=axis))) for axis in (1, 0))
    return (rows - 1) * (columns - 1) / (2 * float(table.sum()) * math.log(2))


def warning_about_chance(measure: Measure, attributes: Sequence[str]) -> str:
    """Say which attributes owe more than half of a measure to chance, and which measure to use instead."""
    instead = (
        "the score r2_gcv, which does"
        if measure.label_kind == "number"
        else "measure='mi_loo' or the score r2_gcv, which do"
    )
    return (
        f"chance: more than half of the {measure.title} of {_named(attributes)} would be there with shuffled "
        f"labels, too, because most values have few records. Use {instead} not count it."
    )


def undescribed(summary: Summary) -> list[str]:
    """Return the attributes that no shared table describes: every configuration masks them to one value."""
    return [
        name
        for name, attribute in summary.attributes.items()
        if attribute.n_values > 1 and all(table.n_groups == 1 for table in attribute.tables)
    ]


def warning_about_undescribed(attributes: Sequence[str]) -> str:
    """Say that nothing is known about what some attributes lose."""
    return (
        f"unknown: no shared table describes {_named(attributes)}, because every configuration masks "
        f"{'these' if len(attributes) > 1 else 'it'} to one value. What that loses is the same for every "
        "configuration, and counts as 0."
    )


def _named(names: Sequence[str]) -> str:
    text = ", ".join(map(repr, names[:_MOST_NAMED]))
    return f"{text} and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else text
