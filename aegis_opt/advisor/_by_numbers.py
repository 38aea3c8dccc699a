"""Advice from numbers that a summary shares: scores of configurations, and measures without their tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._deviation import Deviation
from aegis_opt.advisor._explain import SingleChanges
from aegis_opt.advisor._labels import masks_label, proves_order, warnings_about_labels
from aegis_opt.advisor._words import (
    no_certificate,
    reason,
    warnings_about_close_ones,
    warnings_about_order,
)
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.scores._intervals import differences_to
from aegis_opt.summary import ScoreSummary, SharedScore, Summary

_NO_SCORE = "no configuration has this score: there are too few records for it, or the label has one class"

_ONE_ATTRIBUTE = {
    False: " With one attribute, r2 is Goodman and Kruskal's tau, the measure gk_tau.",
    True: " With one attribute, r2 is the correlation ratio, the measure eta2.",
}  # whether the label is a number


def by_score(
    name: str,
    shared: SharedScore,
    folds_of: SharedScore,
    summary: Summary | ScoreSummary,
    coarseness: Mapping[str, float],
    *,
    label_is_number: bool = False,
) -> Advice:
    """Rank configurations by a score of all masked attributes together.

    The folds of `folds_of`, which may be another score, tell which configurations cannot be told apart;
    `coarseness` says which of these shows less, where that is known.
    """
    names = list(shared.values)
    values = _known(shared.values.values())
    stages = np.zeros(len(names)) if shared.stages is None else np.array(list(shared.stages.values()))
    order = np.lexsort((np.nan_to_num(-values, nan=np.inf), -stages))
    ranks = np.empty(len(names), dtype=np.int64)
    for place, i in enumerate(order):
        before = order[place - 1]
        tied = place > 0 and values[i] == values[before] and stages[i] == stages[before]
        ranks[i] = ranks[before] if tied else place + 1
    nothing = np.full(len(names), np.nan)
    ranking = pd.DataFrame(
        {
            "configuration": names,
            "score": values,
            "pud": nothing,
            "pud_low": nothing,
            "pud_high": nothing,
            "rank": ranks,
        }
    )
    if shared.stages is not None:
        ranking["stage"] = stages
    winner = int(order[0])
    found = bool(np.isfinite(values[winner]))
    equivalent: tuple[str, ...] = ()
    if folds_of.folds is not None and found:
        folds = np.array([_known(folds_of.folds[each]) for each in names])
        folds[stages != stages[winner]] = np.nan
        behind, width = differences_to(folds, winner)
        ranking = with_differences(ranking, behind, width)
        close = np.isinf(width) | (behind <= width)
        equivalent = tuple(names[i] for i in order if close[i] and close[winner])
    attributes = list(summary.attributes)
    monotone = shared.monotone and not masks_label(summary)
    alone = _ONE_ATTRIBUTE[label_is_number] if name == "r2" and len(attributes) == 1 else ""
    return Advice(
        best=names[winner] if found else None,
        tied=tuple(n for n, rank in zip(names, ranks, strict=True) if rank == 1) if found else (),
        ranking=ranking.sort_values("rank", kind="stable", ignore_index=True),
        certified=monotone and found,
        warnings=_warnings(equivalent, shared, values, coarseness, summary),
        reason=_reason(names[winner], values, winner, shared, monotone) + alone if found else _NO_SCORE,
        criterion=Criterion(name, shared.title),
        scope=None,
        solver=None,
        deviations=_unknown(names, attributes),
        masked=_unknown(names, attributes),
        attributes=pd.DataFrame({"attribute": attributes}),
        equivalent=equivalent,
    )


def with_differences(ranking: pd.DataFrame, behind: FloatArray, width: FloatArray) -> pd.DataFrame:
    """Add how far configurations are behind the winner, with the ends of the interval of that."""
    return ranking.assign(difference=behind, difference_low=behind - width, difference_high=behind + width)


def by_measure(measure: Measure, summary: ScoreSummary) -> Advice:
    """Rank configurations by the shared values of a measure; deviations are exact where they are shared."""
    masked, unmasked, by_mask = [], [], {}
    for name, attribute in summary.attributes.items():
        by_mask[name] = values = _known(attribute.measures[measure.name])
        chosen = np.array([masks[name] for masks in summary.configurations.values()])
        masked.append(values[chosen])
        unmasked.append(np.full(len(chosen), _known([attribute.unmasked.get(measure.name)])[0]))
    deviation = Deviation(
        tuple(summary.configurations),
        tuple(summary.attributes),
        np.stack(masked, axis=-1),
        np.stack(unmasked, axis=-1)[None],
        measure,
    )
    certified = proves_order(measure, summary)
    exact = np.where(np.isfinite(deviation.pud), deviation.pud, np.nan)
    ranking = deviation.ranking(exact, exact, known=bool(np.isfinite(exact).all()))
    attributes = pd.DataFrame(
        {"attribute": deviation.attributes, "estimate": deviation.unmasked[0, 0]},
    )
    return Advice(
        best=deviation.tied[0],
        tied=deviation.tied,
        ranking=ranking,
        certified=certified,
        warnings=(
            *warnings_about_order(deviation, ranking, certified=certified),
            *([] if certified else [no_certificate(measure)]),
            *warnings_about_labels(summary, measure),
        ),
        reason=reason(measure, deviation, ranking, certified=certified, label_masked=masks_label(summary)),
        criterion=Criterion.of(measure),
        scope=None,
        solver=None,
        deviations=deviation.frame(deviation.each[0]),
        masked=deviation.frame(deviation.masked),
        attributes=attributes,
        changes=SingleChanges.of_measure(deviation, by_mask, summary),
    )


def _reason(winner: str, values: FloatArray, place: int, shared: SharedScore, monotone: bool) -> str:
    """Why the winner won."""
    text = f"{winner} has the highest {shared.title}: {values[place]:.4g}"
    if shared.stages is None:
        text += f", while a random choice has {np.nanmean(values):.4g} on average"
    else:
        trained = sum(stage > 0 for stage in shared.stages.values())
        text += f" among the {trained} finalists that a model was trained for"
    if monotone:
        return f"{text}. Merging values never raises that score, so this is the order of what is lost."
    return f"{text}; the order is not proved."


def _warnings(
    equivalent: tuple[str, ...],
    shared: SharedScore,
    values: FloatArray,
    coarseness: Mapping[str, float],
    summary: Summary | ScoreSummary,
) -> tuple[str, ...]:
    found = warnings_about_close_ones(equivalent, coarseness)
    if np.isnan(values).any():
        found.append(f"no score: {int(np.isnan(values).sum())} configurations have none and come last.")
    if masks_label(summary):
        found.append(f"no certificate: {shared.title} can improve when classes of the label are merged.")
    elif not shared.monotone:
        found.append(f"no certificate: {shared.title} can improve when values are merged.")
    return (*found, *warnings_about_labels(summary, None))


def _known(values: Iterable[float | None]) -> FloatArray:
    """Return shared numbers as an array, NaN where there is none."""
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _unknown(configurations: list[str], attributes: list[str]) -> pd.DataFrame:
    index = pd.Index(configurations, name="configuration")
    return pd.DataFrame(np.nan, index=index, columns=attributes)
