"""A summary of some of its configurations; all tables stay, since they tell about the attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from aegis_opt.summary._model import Summary
from aegis_opt.summary._scores import ScoreSummary, SharedScore

T = TypeVar("T")


def restricted_summary(summary: Summary | ScoreSummary, names: Iterable[str]) -> Summary | ScoreSummary:
    """Leave configurations out of a summary.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    >>> list(restricted_summary(summary, ["coarse-age"]).configurations)
    ['coarse-age']
    """
    kept = list(names)
    if isinstance(summary, ScoreSummary):
        return _restricted_numbers(summary, kept)
    chosen = {name: summary.configurations[name] for name in kept}
    privacy = None if summary.privacy is None else summary.privacy.restricted(kept)
    numbers = None if summary.numbers is None else _restricted_numbers(summary.numbers, kept)
    return replace(
        summary,
        configurations=chosen,
        numbers=numbers,
        privacy=privacy,
        label_mask_of=_restricted_label(summary, kept),
    )


def _restricted_label(summary: Summary | ScoreSummary, kept: list[str]) -> dict[str, int]:
    return {name: index for name, index in summary.label_mask_of.items() if name in kept}


def _restricted_numbers(summary: ScoreSummary, kept: list[str]) -> ScoreSummary:
    scores = {name: _restricted_score(score, kept) for name, score in summary.scores.items()}
    chosen = {name: summary.configurations[name] for name in kept}
    privacy = None if summary.privacy is None else summary.privacy.restricted(kept)
    return replace(
        summary,
        configurations=chosen,
        scores=scores,
        privacy=privacy,
        label_mask_of=_restricted_label(summary, kept),
    )


def _restricted_score(score: SharedScore, kept: list[str]) -> SharedScore:
    def part(values: Mapping[str, T]) -> dict[str, T]:
        return {name: values[name] for name in kept}

    return replace(
        score,
        values=part(score.values),
        folds=None if score.folds is None else part(score.folds),
        stages=None if score.stages is None else part(score.stages),
        changes=None if score.changes is None else part(score.changes),
    )
