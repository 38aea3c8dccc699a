"""Summaries as JSON holds them."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np

from aegis_opt.problem._margin import IntArray
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._noisy_tables import noisy_attributes
from aegis_opt.summary._privacy import SharedPrivacy, privacy_document
from aegis_opt.summary._protected import ProtectedSummary, ProtectedTable
from aegis_opt.summary._score_file import score_document
from aegis_opt.summary._scores import ScoreSummary
from aegis_opt.summary._summaries import Summaries

FORMAT = "aegis-opt-summary"
VERSION = 7
"""Version 1 had no scores. Version 2 had no orders, and no values without a histogram. Version 4 added
privacy figures, version 5 protected counts, version 6 masked labels, labels that are numbers and noisy
tables, version 7 several labels. The lowest version that holds what a file needs is written, so that older
readers read it."""

INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf}
"""As text: no number of JSON is infinite."""

AnyDocument = Summary | ScoreSummary | ProtectedSummary | Summaries
"""All that a file may hold."""


def document_of(summary: AnyDocument) -> dict[str, Any]:
    """Return a summary as JSON holds it; scores beside tables have a part of their own."""
    if isinstance(summary, Summaries):
        parts = [document_of(part) for part in summary.values()]
        return {"format": FORMAT, "version": 7, "summaries": parts}
    if isinstance(summary, ProtectedSummary):
        return _protected_document(summary)
    if isinstance(summary, ScoreSummary):
        newest = summary.label_is_number or summary.label_masks
        version = 6 if newest else 2 if summary.privacy is None else 4
        kind = {"kind": "number"} if summary.label_is_number else {}
        head = {"format": FORMAT, "version": version, "label": {"name": summary.label, **kind}}
        return head | score_document(summary) | _privacy_entry(summary.privacy)
    scores = {} if summary.numbers is None else {"numbers": score_document(summary.numbers)}
    return {
        "format": FORMAT,
        "version": _version(summary),
        "label": {
            "name": summary.label,
            "kind": summary.label_kind,
            "values": None if summary.label_values is None else _texts(summary.label_values),
            "counts": None if summary.label_counts is None else summary.label_counts.tolist(),
            **_label_masks_entry(summary),
        },
        "attributes": {
            name: {
                "kind": attribute.kind,
                "n_values": attribute.n_values,
                "values": None if attribute.values is None else _texts(attribute.values),
                "histogram": None if attribute.histogram is None else attribute.histogram.tolist(),
                "tables": [_table_entry(table) for table in attribute.tables],
                **_coarsening_entry(attribute.coarsening),
                **({} if attribute.has_default_order else {"order": attribute.order}),
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
        **scores,
        **_privacy_entry(summary.privacy),
    }


def _label_masks_entry(summary: Summary) -> dict[str, Any]:
    if not summary.label_masks:
        return {}
    masks = [
        {
            "mask": dict(mask.spec),
            "groups": _shorten(mask.groups),
            "labels": _texts(mask.labels),
            "counts": mask.counts.tolist(),
        }
        for mask in summary.label_masks
    ]
    return {
        "n_values": summary.n_classes,
        "masks": masks,
        "configurations": dict(summary.label_mask_of),
    }


def _table_entry(table: MaskedTable | ProtectedTable) -> dict[str, Any]:
    noisy = isinstance(table, MaskedTable) and table.channel is not None
    label_mask = table.label_mask if isinstance(table, MaskedTable) else None
    return {
        "mask": dict(table.spec),
        "groups": None if noisy else _shorten(table.groups),
        "labels": _texts(table.labels),
        "joint": table.joint.tolist(),
        **({} if label_mask is None else {"label_mask": label_mask}),
    }


def _protected_document(summary: ProtectedSummary) -> dict[str, Any]:
    """Return a protected summary as JSON holds it: every attribute has its counts by class of values, too."""
    return {
        "format": FORMAT,
        "version": 5,
        "protection": summary.protection.document(),
        "label": {
            "name": summary.label,
            "kind": summary.label_kind,
            "values": _texts(summary.label_values),
        },
        "attributes": {
            name: {
                "kind": attribute.kind,
                "n_values": attribute.n_values,
                "values": None if attribute.values is None else _texts(attribute.values),
                "classes": _shorten(attribute.classes),
                "counts": attribute.counts.tolist(),
                "tables": [_table_entry(table) for table in attribute.tables],
                "order": attribute.order,
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
    }


def _privacy_entry(privacy: SharedPrivacy | None) -> dict[str, Any]:
    return {} if privacy is None else {"privacy": privacy_document(privacy)}


def _version(summary: Summary) -> int:
    if summary.label_masks or noisy_attributes(summary):
        return 6
    if summary.privacy is not None:
        return 4
    return 3 if any(map(_needs_version_3, summary.attributes.values())) else 2


def _needs_version_3(attribute: AttributeSummary) -> bool:
    return not attribute.has_default_order or (attribute.values is not None and attribute.histogram is None)


def _coarsening_entry(coarsening: Coarsening | None) -> dict[str, Any]:
    if coarsening is None:
        return {}
    return {"coarsening": {"distinct": coarsening.distinct, "rule": coarsening.rule}}


def _texts(values: tuple[Any, ...]) -> list[Any]:
    """Return values as JSON holds them."""
    return [_text(v) if isinstance(v, dt.date | float) else v for v in values]  # a datetime is a date


def _text(value: dt.date | float) -> str | float:
    if isinstance(value, dt.date):
        return value.isoformat()
    return next((text for text, infinity in INFINITIES.items() if value == infinity), value)


def _shorten(groups: IntArray) -> Any:
    """Write groups as {"runs": [[group, length], ...]} where that is shorter, as for ranges of values."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    if 3 * len(starts) > len(groups):
        return groups.tolist()
    lengths = np.diff(starts, append=len(groups))
    return {"runs": np.column_stack([groups[starts], lengths]).tolist()}
