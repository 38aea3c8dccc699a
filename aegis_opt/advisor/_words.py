"""What the advisor says: the reason for its answer, and warnings, in whole sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._deviation import NOISE, TIE, Deviation
from aegis_opt.advisor._estimate import Estimate
from aegis_opt.advisor._labels import proves_order
from aegis_opt.advisor._numbers import bounds_text, decimals_for, is_lower_bound
from aegis_opt.advisor._question import Question
from aegis_opt.measures import Measure
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.reconstruction import Status
from aegis_opt.summary import Summary

DEGENERATE = (
    "degenerate estimate: the reconstructed tables make each attribute independent of the label inside every "
    "masked group, so the estimated deviation is 0 for every configuration whatever the data, and its order "
    "would be rounding noise. Use scope='pooled' (order proved for monotone measures of exact counts), or "
    "whole tables, whose order proves nothing: rounding='hypergeometric' or 'drawn'."
)


def reason(
    measure: Measure,
    deviation: Deviation,
    ranking: pd.DataFrame,
    *,
    certified: bool,
    label_masked: bool = False,
) -> str:
    """Why the winner won."""
    merging = "merging values or classes of the label" if label_masked else "merging values"
    pud, winner = deviation.pud, deviation.tied[0]
    word = "highest" if measure.higher_is_better else "lowest"
    if deviation.by_score:
        score = float(deviation.score[deviation.configurations.index(winner)])
        return (
            f"{winner} has the {word} mean {measure.title} of the masked attributes: {score:.4g}, while a "
            f"random choice has {deviation.score.mean():.4g} on average; "
            + (
                f"{merging} never improves that measure, so this is the order of the true deviation."
                if certified
                else "the order is not proved."
            )
        )
    gain = float(pud.mean() - pud.min())
    least = "at least " if is_lower_bound(ranking) else ""
    saved = f"its deviation is {least}{pud.min():.4g}, {gain:.4g} less than that of a random choice"
    if certified:
        return (
            f"{winner} keeps the {word} mean {measure.title} of the masked attributes; {merging} never "
            f"improves that measure, so this is the order of the true deviation; {saved}."
        )
    return f"{winner} has the least estimated deviation; the order is not proved; {saved}."


def no_winner(measure: Measure, deviation: Deviation, ranking: pd.DataFrame, distinct: Sequence[str]) -> str:
    """Why an estimate that proves nothing names no winner; empty where it may.

    `distinct` names one configuration for each set of masks: others would tie whatever the estimate is.
    """
    if not measure.monotone or deviation.by_score:
        return ""
    outside = _outside_bounds(deviation, ranking)
    if len(outside) == len(ranking):
        return f"implausible: {_outside_text(outside, ranking)}, so no winner is named; use scope='pooled'."
    tied = sorted(set(deviation.tied) & set(distinct), key=distinct.index)
    if len(tied) > 1 and len(tied) > len(distinct) / 2:
        return (
            f"cannot tell: {len(deviation.tied)} of {len(ranking)} configurations share the least estimated "
            f"deviation, {deviation.pud.min():.4g} ({_few(tied)}), by an estimate that proves nothing, so no "
            "winner is named; use scope='pooled', whose order is proved for monotone measures."
        )
    return ""


def proved_first(measure: Measure, deviation: Deviation) -> str:
    """Name the configuration that is first in the order of the true deviation: by the masked values alone."""
    score = deviation.score if measure.higher_is_better else -deviation.score
    return deviation.configurations[int(np.argmax(score))]


def contradiction(measure: Measure, deviation: Deviation, best: str | None) -> str:
    """Give the order that is proved beside an estimate that says otherwise; empty where they agree.

    The order is that of the masked values of a monotone measure, where the shared tables have a common table.
    """
    first = proved_first(measure, deviation)
    values = dict(zip(deviation.configurations, deviation.score.tolist(), strict=True))
    proved = f"the order that is proved from the same summary puts {first} first"
    if best is None:
        return f"proved: {proved}; measure={measure.name!r} with scope='pooled' gives it."
    if abs(values[first] - values[best]) <= TIE * deviation.size:
        return ""
    return (
        f"disproved: this estimate puts {best} first, but {proved} (mean {measure.title} of the masked "
        f"attributes {values[first]:.4g}, against {values[best]:.4g}); take the proved one, which "
        f"measure={measure.name!r} with scope='pooled' gives."
    )


def compared_with_mi(advice: Advice, by_mi: Advice, chance: Callable[[str, str], float]) -> Advice:
    """Carry the order by mutual information beside an advice, and say where and why they differ.

    `chance` gives the share of an attribute's information, as a configuration masks it, that is chance.
    """
    if advice.best is None or by_mi.best is None or by_mi.best == advice.best:
        agrees = "" if by_mi.best is None else " mi prefers it, too."
        return replace(advice, by_mi=by_mi, reason=advice.reason + agrees)
    more = by_mi.masked.loc[by_mi.best] - by_mi.masked.loc[advice.best]
    attribute = str(more.idxmax())
    share = chance(by_mi.best, attribute)
    told = "" if math.isnan(share) else f", {share:.0%} of whose information is chance"
    sentence = f" mi prefers {by_mi.best} because of {attribute}{told}."
    return replace(advice, by_mi=by_mi, reason=advice.reason + sentence)


def warnings_about_close_ones(equivalent: Sequence[str], coarseness: Mapping[str, float]) -> list[str]:
    """Say which configurations cannot be told apart, the winner first, and which is the coarsest."""
    if len(equivalent) < 2:
        return []
    others = "another one" if len(equivalent) == 2 else f"{len(equivalent) - 1} others"
    text = (
        f"close: {equivalent[0]} and {others} cannot be told apart by these records ({_few(equivalent[1:])})"
    )
    if coarseness:
        text += f"; the coarsest of them is {max(equivalent, key=coarseness.__getitem__)}"
    return [f"{text}."]


def warnings_about_order(deviation: Deviation, ranking: pd.DataFrame, *, certified: bool) -> list[str]:
    """What a reader of the first place should know."""
    found = []
    tied = deviation.tied
    if len(tied) > 1:
        found.append(f"tie: {len(tied)} configurations share the first place ({_few(tied)}).")
    if "wins" in ranking and not certified and ranking["wins"].iloc[0] < 0.5:
        first = ranking.iloc[0]
        found.append(
            f"unsure: {first['configuration']} has the least mean deviation but came first in only "
            f"{first['wins']:.0%} of the replicates; scope='pooled' gives an order that does not depend "
            "on the seed."
        )
    outside = _outside_bounds(deviation, ranking)
    if len(outside):
        found.append(
            f"implausible: {_outside_text(outside, ranking)}, so this order cannot be trusted; use "
            "scope='pooled'."
        )
    return found


def no_certificate(measure: Measure) -> str:
    """Why nothing is proved by a measure that merging improves."""
    merged = "classes of the label" if measure.monotone else "values"
    return (
        f"no certificate: {measure.title} can improve when {merged} are merged, so nothing is proved about "
        "the order or the bounds."
    )


def warnings_about_tables(
    question: Question, summary: Summary, estimates: Mapping[str, Estimate], attributes: pd.DataFrame
) -> list[str]:
    """What the provider and the reader of the attributes' report should know."""
    names, statuses = attributes["attribute"].tolist(), attributes["status"].tolist()
    disclosed = (attributes["disclosed"].to_numpy() > 0.999).tolist()
    found = _disclosed(summary, [name for name, all_of_it in zip(names, disclosed, strict=True) if all_of_it])
    found += [
        f"coarsened: {name!r} was {attribute.coarsening_warning}."
        for name, attribute in summary.attributes.items()
        if attribute.coarsening is not None
    ]
    for warning, names in _by_warning(estimates).items():
        noisy = any(problem.noisy for name in names for problem in estimates[name].problems)
        found.append(f"{'wide noise' if noisy else 'not smooth'}: {_list(names)}: {warning}")
    repaired = {name: estimate.changes for name, estimate in estimates.items() if estimate.changes}
    if repaired:
        example = next(iter(repaired.values()))[0]
        found.append(
            f"repaired: the totals of {_list(repaired)} contradict each other and were changed (such as "
            f"{example}), so nothing is proved about the order or the bounds."
        )
    apart = [name for name, found in estimates.items() if not (found.common_table or found.changes)]
    if apart and proves_order(question.measure, summary):
        found.append(
            f"no common table: none was found that meets all shared totals of {_list(apart)} together; they "
            "may contradict each other, so nothing is proved about the order or the bounds."
        )
    for status in (Status.NOT_CONVERGED, Status.VIOLATED):
        if status.name in statuses:
            rows = attributes[attributes["status"] == status.name]
            miss = f"the tables of {_list(rows['attribute'])} miss known totals by up to "
            miss += f"{rows['residual'].max():.3g} records"
            if status is Status.NOT_CONVERGED:
                found.append(f"not converged: {miss}; raise max_iterations or time_limit.")
            else:
                found.append(f"totals not kept: {miss}, because {_breaks_totals(question.solver)}.")
    return found


def _by_warning(estimates: Mapping[str, Estimate]) -> dict[str, list[str]]:
    """Return what reconstructions warn about, with the attributes that it is about."""
    found: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for warning in dict.fromkeys(result.warning for result in estimate.solved if result.warning):
            found.setdefault(warning, []).append(name)
    return found


def _disclosed(summary: Summary, names: Iterable[str]) -> list[str]:
    unmasked = {name: any(map(summary.is_raw, summary.attributes[name].tables)) for name in names}
    found = []
    if any(unmasked.values()):
        found.append(
            f"disclosed: some configuration leaves {_list(n for n in unmasked if unmasked[n])} unmasked, so "
            "the summary holds the unmasked joint table with the label."
        )
    if not all(unmasked.values()):
        found.append(
            f"disclosed: the pooled views together determine the unmasked joint table of "
            f"{_list(n for n in unmasked if not unmasked[n])} and the label, although each view is masked. "
            "Share fewer configurations of these attributes where that matters."
        )
    return found


def _breaks_totals(solver: Reconstructor) -> str:
    """Why tables may miss totals without a failure, and what to use instead."""
    if not solver.capabilities.keeps_totals:
        return f"solver {solver.name!r} does not keep them; solvers that do include 'ipf' and 'integer'"
    kept = _list(rounding.name for rounding in ROUNDINGS.values() if rounding.keeps_totals)
    return f"rounding {solver.rounding!r} does not keep them; roundings that do are {kept}"


def _outside_bounds(deviation: Deviation, ranking: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose estimate is outside the proved bounds; an interval of noise proves nothing."""
    if "epsilon" in ranking:
        return ranking.iloc[:0]
    slack = NOISE * deviation.size
    pud, low, high = (ranking[name].to_numpy() for name in ("pud", "pud_low", "pud_high"))
    return ranking[(pud < low - slack) | (pud > high + slack)]


def _outside_text(outside: pd.DataFrame, ranking: pd.DataFrame) -> str:
    first = outside.iloc[0]
    proved = bounds_text(first["pud_low"], first["pud_high"], decimals_for(outside["pud_low"], 4))
    return (
        f"{len(outside)} of {len(ranking)} estimates are outside proved bounds (such as "
        f"{first['configuration']}: {first['pud']:.4g}, proved {proved})"
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
