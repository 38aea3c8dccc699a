"""Whether the parts of an advice agree: a file may tell another winner, or a proof, than its own numbers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._shown import shown
from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._deviation import NOISE, TIE
from aegis_opt.advisor._estimate import measure_each
from aegis_opt.advisor._labels import masks_label, proves_order
from aegis_opt.measures import Measure
from aegis_opt.measures._registry import known_measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.summary import AnySummary, ProtectedSummary, ScoreSummary, SharedScore, Summary
from aegis_opt.summary._noisy_tables import noisy_attributes


def disagreements(advice: Advice) -> Iterator[str]:
    """Say what of an advice contradicts its other parts.

    Its ranks must follow its numbers, its winner the ranks, and numbers lie in their intervals. That an order
    is proved must follow from the summary, where that is there: by a measure that is registered, from the
    values of its masked tables, and by a score from what was shared of it. Of other measures, only what is
    necessary is asked for: whether they are monotone, a file cannot tell.
    """
    ranking = advice.ranking
    odd = [name for name in _numbers_of(ranking) if ranking[name].dtype.kind not in "if"]
    odd += [name for name in _numbers_of(advice.attributes) if advice.attributes[name].dtype.kind not in "if"]
    if odd:
        yield f"the column {shown(odd[0])} holds other things than numbers"
        return
    yield from _about_ranks(ranking["rank"].to_numpy())
    yield from _about_numbers(advice)
    yield from _about_winner(advice)
    yield from _about_intervals(advice)
    if advice.certified:
        yield from _about_proof(advice)


_INTERVALS = [
    ("pud_low", "pud", "pud_high"),
    ("low", "estimate", "high"),
    ("difference_low", "difference", "difference_high"),
    ("pud_5", "pud_95"),
    ("estimate_5", "estimate_95"),
]
_PROVED = 2  # of these intervals are what is proved


def _numbers_of(frame: pd.DataFrame) -> list[str]:
    wanted = ("score", "stage", *(name for names in _INTERVALS for name in names))
    return [name for name in wanted if name in frame]


def _about_ranks(ranks: npt.NDArray[np.int64]) -> Iterator[str]:
    places = np.arange(1, len(ranks) + 1)
    before = np.concatenate([[1], ranks[:-1]])
    if not ((ranks == places) | (ranks == before)).all():
        yield "its ranks are not those of a ranking"


def _about_numbers(advice: Advice) -> Iterator[str]:
    """Compare ranks with what they rank by, and that with its parts."""
    ranking = advice.ranking
    ranks = ranking["rank"].to_numpy()
    standing = ranking[advice.ranked_by].to_numpy(np.float64)
    if advice.ranked_by == "score" and advice.criterion.higher_is_better:
        standing = -standing
    if _is_by_score(advice):
        yield from _about_scores(ranking, standing)
        return
    size = _largest(advice)
    if _is_out_of_order(ranks, standing, 0.0) or _ties_too_much(ranks, standing, TIE * size):
        yield "its ranks do not follow its numbers"
    order = ranking["configuration"]
    parts = {"pud": advice.deviations, "score": advice.masked}
    for name in parts.keys() & set(ranking):
        values = parts[name].loc[order].to_numpy(np.float64)
        missing = np.isnan(values).any(axis=1)
        gap = ranking[name].to_numpy(np.float64) - np.nansum(values, axis=1) / values.shape[1]
        gap[missing] = np.minimum(gap[missing], 0.0) if name == "pud" else 0.0
        if (np.abs(gap) > NOISE * size).any():
            yield f"its {name} is not the mean over the attributes"


def _is_by_score(advice: Advice) -> bool:
    """Whether an advice is by a score of all attributes together, and not by a measure of each."""
    return advice.ranked_by == "score" and bool(advice.masked.isna().all(axis=None))


def _about_scores(ranking: pd.DataFrame, standing: FloatArray) -> Iterator[str]:
    """Compare ranks with scores: of an earlier stage come last, and in a stage those that are not known."""
    stages = -ranking["stage"].to_numpy(np.float64) if "stage" in ranking else np.zeros(len(ranking))
    keys = list(zip(stages.tolist(), np.nan_to_num(standing, nan=np.inf).tolist(), strict=True))
    known = ~np.isnan(standing)
    ranks = ranking["rank"].to_numpy()
    for i, (key, after) in enumerate(pairwise(keys)):
        tied = key == after and known[i]
        if key > after or (ranks[i] == ranks[i + 1]) != tied:
            yield "its ranks do not follow its scores"
            return


def _is_out_of_order(ranks: npt.NDArray[np.int64], standing: FloatArray, slack: float) -> bool:
    """Whether something of a later rank stands before something of an earlier one; unknowns stand last."""
    starts = np.flatnonzero(np.diff(ranks, prepend=0))
    values = np.nan_to_num(standing, nan=np.inf)
    worst = np.maximum.accumulate(np.maximum.reduceat(values, starts))
    best = np.minimum.reduceat(values, starts)
    return bool((worst[:-1] > best[1:] + slack).any() or np.isinf(worst[:-1]).any())


def _ties_too_much(ranks: npt.NDArray[np.int64], standing: FloatArray, slack: float) -> bool:
    """Whether neighbours of the same rank differ by more than ties may, or of different ranks not at all."""
    order = np.lexsort((standing, ranks))
    tied = np.diff(ranks[order]) == 0
    apart = np.diff(standing[order])
    return bool((apart[tied] > 2 * slack).any() or (apart[~tied] <= 0).any())


def _largest(advice: Advice) -> float:
    """Bound the size of the measure, of which ties and noise are a share, from above.

    What is known of an unmasked table is no farther from the masked one than all replicates and attributes
    together; infinite where nothing is known of that.
    """
    masked = float(np.nanmax(np.abs(advice.masked.to_numpy(np.float64)), initial=0.0))
    if advice.scope is None:  # nothing was estimated
        if "estimate" not in advice.attributes:
            return masked
        estimates = advice.attributes["estimate"].to_numpy(np.float64)
        return max(masked, float(np.nanmax(np.abs(estimates), initial=0.0)))
    pud = np.abs(advice.ranking["pud"].to_numpy(np.float64)).max() * advice.deviations.shape[1]
    farthest = float(np.abs(advice.deviations.to_numpy(np.float64)).max() if np.isnan(pud) else pud)
    replicates = 1 if advice.replicates is None else len(advice.replicates)
    return np.inf if np.isnan(farthest) else masked + replicates * farthest


def _about_winner(advice: Advice) -> Iterator[str]:
    best, ranking = advice.best, advice.ranking
    if best is None:
        if advice.tied or advice.equivalent or advice.certified:
            yield "it names no winner, and says what is as good, or that its order is proved"
        return
    first = set(ranking["configuration"][ranking["rank"] == 1])
    if best not in first or set(advice.tied) != first or len(advice.tied) > len(first):
        yield "its winner, or what shares the first place, is not of the first rank"
    if advice.equivalent and best not in advice.equivalent:
        yield "its winner is not among what cannot be told apart from it"


def _about_intervals(advice: Advice) -> Iterator[str]:
    """Compare the ends of intervals, and with what they are of.

    Estimates by single views may lie outside what is proved, which a warning says; so may those of noise.
    """
    size = _largest(advice)
    for number, names in enumerate(_INTERVALS):
        free = number < _PROVED and (advice.scope == "single" or "epsilon" in advice.ranking)
        ends = (names[0], names[-1]) if free else names
        for frame in (advice.ranking, advice.attributes):
            values = [frame[name].to_numpy(np.float64) for name in ends if name in frame]
            for low, high in pairwise(values):
                slack = NOISE * max(size, *(float(np.nanmax(np.abs(v), initial=0.0)) for v in (low, high)))
                if (low > high + slack).any():
                    yield f"what {shown(list(ends))} say is no interval"


def _about_proof(advice: Advice) -> Iterator[str]:
    """Say why the order of an advice that says so is not proved."""
    summary, name = advice.summary, advice.criterion.name
    if (
        advice.scope not in (None, "pooled")
        or "epsilon" in advice.ranking
        or isinstance(summary, ProtectedSummary)
    ):
        yield "nothing proves its order: not single views, noise or protected counts"
        return
    if _is_by_score(advice):
        shared = _score_of(summary, name)
        if summary is not None and (shared is None or not shared.monotone or masks_label(summary)):
            yield f"nothing proves an order by {shown(name)}"
        elif shared is not None:
            scores = np.array([shared.values[each] for each in advice.ranking["configuration"]], np.float64)
            if not np.array_equal(scores, advice.ranking["score"].to_numpy(np.float64), equal_nan=True):
                yield "its scores are not those of the summary"
        return
    ranking, size = advice.ranking, _largest(advice)
    values = advice.masked.loc[ranking["configuration"]].to_numpy(np.float64)
    measure = known_measure(name)
    better = advice.criterion.higher_is_better
    score = values.mean(axis=1)
    if _is_out_of_order(ranking["rank"].to_numpy(), -score if better else score, NOISE * size):
        yield "its order is not that of the masked values, which would prove it"
    if measure is None or summary is None:
        return
    if better != measure.higher_is_better or not proves_order(measure, summary):
        yield f"nothing proves an order by {shown(name)}"
    elif isinstance(summary, Summary) and noisy_attributes(summary):
        yield "nothing proves an order of noisy tables"
    else:
        told = _masked(measure, summary)
        if told is None:
            yield f"its summary shares no values of {shown(name)}"
        elif ((advice.masked - told).abs().to_numpy() > NOISE * size).any():
            yield "its masked values are not those of the summary"


def _score_of(summary: AnySummary | None, name: str) -> SharedScore | None:
    numbers = summary.numbers if isinstance(summary, Summary) else summary
    return numbers.scores.get(name) if isinstance(numbers, ScoreSummary) else None


def _masked(measure: Measure, summary: Summary | ScoreSummary) -> pd.DataFrame | None:
    """Return the measure of each masked attribute by the summary; None where it does not tell."""
    if isinstance(summary, Summary):
        tables = {name: [table.joint for table in a.tables] for name, a in summary.attributes.items()}
        values = measure_each(measure, tables)
    elif measure.name in summary.measures:
        values = {
            name: np.array(attribute.measures[measure.name], np.float64)
            for name, attribute in summary.attributes.items()
        }
    else:
        return None
    chosen = summary.configurations
    return pd.DataFrame(
        {name: values[name][[masks[name] for masks in chosen.values()]] for name in values},
        index=list(chosen),
    )
