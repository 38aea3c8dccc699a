"""What a stranger learns from a summary file: every kind of fact in it, in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt._shown import shortened
from aegis_opt.summary._noisy_tables import table_epsilon
from aegis_opt.summary._privacy import SharedPrivacy, rules_shown
from aegis_opt.summary._scores import ScoreSummary

if TYPE_CHECKING:
    from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary

Fact = tuple[str, str, str]  # about what, which fact, its content

_MOST_SHOWN = 8  # entries of a list
_SMALL = 5  # records below which a count may point at persons


def facts_of(summary: Summary | ScoreSummary) -> pd.DataFrame:
    """List what is in a summary, one fact per row, and at the end what is not."""
    numbers = summary if isinstance(summary, ScoreSummary) else summary.numbers
    facts: list[Fact] = []
    if isinstance(summary, ScoreSummary):
        facts += [("label", "name", summary.label)]
        facts += [("label", f"mask {i}", mask_text(spec)) for i, spec in enumerate(summary.label_masks)]
        facts += [("label", "kind", "a number")] if summary.label_is_number else []
    else:
        facts += _label(summary)
    facts += _configurations(summary.configurations)
    if summary.label_mask_of:
        facts += [("configurations", "masks of the label", "which mask of the label each of them has")]
    if not isinstance(summary, ScoreSummary):
        for name, attribute in summary.attributes.items():
            facts += _tables(summary, name, attribute)
    if numbers is not None:
        facts += _numbers(numbers, masks=isinstance(summary, ScoreSummary))
    if summary.privacy is not None:
        facts += _privacy(summary.privacy)
    facts += [("not in the file", "", text) for text in _absent(summary)]
    return pd.DataFrame(facts, columns=["about", "fact", "content"])


def _label(summary: Summary) -> Iterator[Fact]:
    yield "all records", "number", f"{summary.n_records:,}"
    yield "label", "name", summary.label
    yield "label", "kind", summary.label_kind
    if summary.label_values is not None and summary.label_counts is not None:
        yield "label", "values", listed(summary.label_values)
        yield "label", "records of each value", listed(summary.label_counts.tolist())
    else:
        yield "label", "number of values", f"{summary.n_classes:,}"
    for i, mask in enumerate(summary.label_masks):
        stands = "and which of the values, in their order, each stands for"
        yield "label", f"mask {i}", mask_text(mask.spec)
        yield "label", f"masked values by mask {i}", f"{listed(mask.labels)}; {stands}"
        yield "label", f"records of each masked value by mask {i}", listed(mask.counts.tolist())


def _configurations(configurations: Mapping[str, Mapping[str, int]]) -> Iterator[Fact]:
    yield "configurations", "names", listed(list(configurations))
    yield "configurations", "masks", "which mask of each attribute each of them has"


def _tables(summary: Summary, name: str, attribute: AttributeSummary) -> Iterator[Fact]:
    about = f"attribute {name}"
    yield about, "kind", attribute.kind
    yield about, "number of values", f"{attribute.n_values:,}"
    if attribute.coarsening is not None:
        yield about, "values in the source", f"{attribute.coarsening.distinct:,}, {attribute.coarsening.rule}"
    if attribute.values is not None and attribute.histogram is None:
        yield about, "values", listed(attribute.values)
    if attribute.values is not None and attribute.histogram is not None:
        yield about, "values", listed(attribute.values)
        yield about, "records of each value", listed(attribute.histogram.tolist())
    for i, table in enumerate(attribute.tables):
        yield about, f"mask {i}", mask_text(table.spec)
        if table.channel is not None:
            yield from _noisy(about, i, table)
            continue
        stands = "and which of the values, in their order, each stands for"
        yield about, f"masked values by mask {i}", f"{listed(table.labels)}; {stands}"
        small = int(np.count_nonzero((table.joint > 0) & (table.joint < _SMALL)))
        told = f"{table.joint.size:,} counts, {small:,} of them from 1 to {_SMALL - 1}"
        if table.label_mask is not None:
            told += f"; the label is masked by its mask {table.label_mask}"
        if summary.is_raw(table) and attribute.n_values > 1:
            told += "; no two values are merged, so this is the unmasked table"
        yield about, f"records per masked value and label by mask {i}", told


def _noisy(about: str, i: int, table: MaskedTable) -> Iterator[Fact]:
    yield (
        about,
        f"masked values by mask {i}",
        f"{listed(table.labels)}; each drawn at random, as the mask says",
    )
    yield (
        about,
        f"records per masked value and label by mask {i}",
        f"{table.joint.size:,} noisy counts: one draw, and the released records are another",
    )
    yield (
        about,
        f"epsilon of mask {i}",
        f"{table_epsilon(table):.4g} (local differential privacy); the draws of one attribute add up",
    )


def _numbers(summary: ScoreSummary, *, masks: bool) -> Iterator[Fact]:
    digits = _most_digits(summary)
    yield (
        "numbers",
        "significant digits",
        f"up to {digits}" + ("; many exact numbers together can give counts away" if digits > 6 else ""),
    )
    for name, attribute in summary.attributes.items():
        about = f"attribute {name}"
        if masks:
            for i, spec in enumerate(attribute.masks):
                yield about, f"mask {i}", mask_text(spec)
        for measure, values in attribute.measures.items():
            yield about, f"{measure} by each mask", listed(values)
        for measure, value in attribute.unmasked.items():
            yield about, f"{measure} without a mask", str(value)
        for measure, values in attribute.chance.items():
            yield about, f"share of {measure} that is chance, by each mask", listed(values)
    for name, score in summary.scores.items():
        about = f"score {name}"
        yield about, "what it is", score.title
        yield about, "of each configuration", listed(list(score.values.values()))
        if score.folds is not None:
            folds = len(next(iter(score.folds.values())))
            yield about, "in each fold of the records", f"{folds} numbers for each configuration"
        if score.stages is not None:
            yield about, "round that was reached", "one for each configuration"
        if score.changes is not None:
            changes = sum(len(each) for by in score.changes.values() for each in by.values())
            yield about, "with one mask exchanged or removed", f"{changes:,} numbers"


def _privacy(privacy: SharedPrivacy) -> Iterator[Fact]:
    yield "privacy", "rules", rules_shown(privacy)
    yield "privacy", "quasi-identifiers", listed(privacy.quasi_identifiers)
    if privacy.sensitive is not None:
        yield "privacy", "sensitive attribute", privacy.sensitive
    yield "privacy", "share of records that may be suppressed", f"{privacy.suppression:g}"
    yield "privacy", "whether each configuration satisfies the rules", listed([*privacy.private.values()])
    for shared in privacy.rules:
        yield "privacy", f"{shared.rule.name} of each configuration", listed([*shared.figures.values()])
        yield "privacy", f"whether {shared.rule.name} holds for each", listed([*shared.holds.values()])


def _absent(summary: Summary | ScoreSummary) -> Iterator[str]:
    yield "records, and columns that no configuration masks"
    if not isinstance(summary, ScoreSummary) and any(
        table.channel is not None for a in summary.attributes.values() for table in a.tables
    ):
        yield "the seeds of noise"
    if isinstance(summary, ScoreSummary):
        yield "counts: neither tables nor histograms, nor the number of records"
        yield "values of the label, and values of attributes except those that masks name"
        yield "which values of two attributes, or of an attribute and the label, occur together"
        return
    yield "which values of two attributes occur together" + (
        "" if summary.numbers is None else ", except as far as the scores of all attributes together tell"
    )
    hidden = [name for name, attribute in summary.attributes.items() if attribute.values is None]
    uncounted = [
        name
        for name, attribute in summary.attributes.items()
        if attribute.values is not None and attribute.histogram is None
    ]
    if uncounted:
        yield f"how often each value of {listed(uncounted)} occurs"
    if summary.label_values is None:
        yield (
            f"the values of the label {summary.label}, except those that masks and masked values name, and "
            "how often each occurs"
        )
    if hidden:
        yield (
            f"the values of {listed(hidden)}, except those that masks and masked values name, and how often "
            "each occurs"
        )
    closed = [
        name
        for name, attribute in summary.attributes.items()
        if not any(map(summary.is_raw, attribute.tables))
    ]
    if closed:
        yield (
            f"the unmasked table of {listed(closed)} with the label, unless the masked ones determine it "
            "together (advise warns of that)"
        )


def mask_text(spec: Mapping[str, Any]) -> str:
    """Return a mask with everything that it names: widths, cut points, mappings."""
    return json.dumps(dict(spec), ensure_ascii=False)


def listed(values: Sequence[Any]) -> str:
    """Return the first few of some values, the last one, and how many there are."""
    texts = [shortened(str(value)) for value in [*values[:_MOST_SHOWN], values[-1]]]
    if len(values) <= _MOST_SHOWN:
        return ", ".join(texts[:-1])
    return f"{', '.join(texts[:-2])}, ... {texts[-1]} ({len(values):,} in all)"


def _most_digits(summary: ScoreSummary) -> int:
    """Return the largest number of significant digits of the numbers in a summary."""
    found = [value for score in summary.scores.values() for value in score.values.values()]
    for attribute in summary.attributes.values():
        found += [value for values in attribute.measures.values() for value in values]
        found += list(attribute.unmasked.values())
    return max((_digits(value) for value in found if value is not None), default=0)


def _digits(value: float) -> int:
    """Return the number of significant digits of a number as a file writes it.

    Examples
    --------
    >>> _digits(0.0125), _digits(-3.0), _digits(1e-7)
    (3, 1, 1)
    """
    return len(Decimal(repr(float(value))).normalize().as_tuple().digits)
