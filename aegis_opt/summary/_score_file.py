"""Scores as a part of a summary file, or as the whole of it."""

from __future__ import annotations

from typing import Any

from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.summary._entries import check_spec, get_entry, read_configuration
from aegis_opt.summary._label_masks import MOST_LABEL_MASKS
from aegis_opt.summary._scores import MeasuredAttribute, ScoreSummary, SharedScore


def score_document(summary: ScoreSummary) -> dict[str, Any]:
    """Return scores and measures as JSON holds them."""
    return {
        "attributes": {
            name: {
                "masks": [dict(spec) for spec in attribute.masks],
                "measures": {measure: list(values) for measure, values in attribute.measures.items()},
                "unmasked": dict(attribute.unmasked),
                "chance": {measure: list(values) for measure, values in attribute.chance.items()},
                **({"label_masks": list(attribute.label_masks)} if attribute.label_masks else {}),
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
        "scores": {name: _score_entry(score) for name, score in summary.scores.items()},
        **_label_masks_entry(summary),
    }


def _label_masks_entry(summary: ScoreSummary) -> dict[str, Any]:
    if not summary.label_masks:
        return {}
    masks = [dict(spec) for spec in summary.label_masks]
    return {"label_masks": {"masks": masks, "configurations": dict(summary.label_mask_of)}}


def _score_entry(score: SharedScore) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "title": score.title,
        "monotone": score.monotone,
        "values": dict(score.values),
    }
    if score.folds is not None:
        entry["folds"] = {name: list(values) for name, values in score.folds.items()}
    if score.stages is not None:
        entry["stages"] = dict(score.stages)
    if score.changes is not None:
        entry["changes"] = {
            name: {attribute: list(values) for attribute, values in by.items()}
            for name, by in score.changes.items()
        }
    return entry


def read_scores(document: Any, label: str, *, label_is_number: bool = False) -> ScoreSummary:
    """Read what `score_document` wrote; everything is checked."""
    attributes = get_entry(document, "attributes", dict, "the scores")
    configurations = get_entry(document, "configurations", dict, "the scores")
    scores = get_entry(document, "scores", dict, "the scores")
    label_masks: dict[str, Any] = {"masks": [], "configurations": {}}
    if "label_masks" in document:
        label_masks = get_entry(document, "label_masks", dict, "the scores")
    masks = get_entry(label_masks, "masks", list, "the label masks")
    check_label_specs(masks)
    return ScoreSummary(
        label=label,
        attributes={
            name: _attribute(entry, f"attribute {shown(name)}") for name, entry in attributes.items()
        },
        configurations={name: read_configuration(chosen, name) for name, chosen in configurations.items()},
        scores={name: _score(entry, f"score {shown(name)}") for name, entry in scores.items()},
        label_masks=tuple(masks),
        label_mask_of=get_entry(label_masks, "configurations", dict, "the label masks"),
        label_is_number=label_is_number,
    )


def check_label_specs(specs: list[Any]) -> None:
    """Refuse what are no masks of the label, or too many."""
    if len(specs) > MOST_LABEL_MASKS:
        raise SummaryError(f"the label has {len(specs)} masks; at most {MOST_LABEL_MASKS} are read")
    for i, spec in enumerate(specs):
        if not isinstance(spec, dict):
            raise SummaryError(f"mask {i} of the label must be a mapping, not {shown(spec)}")
        check_spec(spec, f"mask {i} of the label")


def _attribute(entry: Any, where: str) -> MeasuredAttribute:
    masks = get_entry(entry, "masks", list, where)
    for i, spec in enumerate(masks):
        if not isinstance(spec, dict):
            raise SummaryError(f"mask {i} of {where} must be a mapping, not {shown(spec)}")
        check_spec(spec, f"mask {i} of {where}")
    return MeasuredAttribute(
        tuple(masks),
        _lists(get_entry(entry, "measures", dict, where), where),
        get_entry(entry, "unmasked", dict, where),
        _lists(get_entry(entry, "chance", dict, where), where),
        tuple(get_entry(entry, "label_masks", list, where)) if "label_masks" in entry else (),
    )


def _score(entry: Any, where: str) -> SharedScore:
    title = get_entry(entry, "title", str, where)  # first: it tells whether the entry has entries at all
    folds = _lists(get_entry(entry, "folds", dict, where), where) if "folds" in entry else None
    return SharedScore(
        title,
        get_entry(entry, "monotone", bool, where),
        get_entry(entry, "values", dict, where),
        folds,
        get_entry(entry, "stages", dict, where) if "stages" in entry else None,
        _changes(get_entry(entry, "changes", dict, where), where) if "changes" in entry else None,
    )


def _changes(entries: dict[str, Any], where: str) -> dict[str, dict[str, Any]]:
    for name, by in entries.items():
        if not isinstance(by, dict):
            raise SummaryError(f"{where} must map attributes to changes for {shown(name)}, not {shown(by)}")
        _lists(by, where)
    return entries


def _lists(entries: dict[str, Any], where: str) -> dict[str, Any]:
    for name, values in entries.items():
        if not isinstance(values, list):
            raise SummaryError(f"{where} must have a list of numbers for {shown(name)}, not {shown(values)}")
    return entries
