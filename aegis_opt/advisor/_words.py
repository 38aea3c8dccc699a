"""What the advisor says: the reason for its answer, and warnings, in whole sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._deviation import NOISE, Deviation
from aegis_opt.advisor._estimate import Estimate
from aegis_opt.advisor._question import Question
from aegis_opt.measures import Measure
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.reconstruction import Status
from aegis_opt.summary import Summary

DEGENERATE = (
    "degenerate estimate: the reconstructed tables make each attribute independent of the label inside every "
    "masked group, so the estimated deviation is 0 for every configuration whatever the data, and its order "
    "would be rounding noise. Use scope='pooled' (order proved for monotone measures), or whole tables: "
    "rounding='controlled' or 'hypergeometric', or solver='integer'."
)


def reason(measure: Measure, deviation: Deviation, *, certified: bool) -> str:
    """Why the winner won."""
    pud, winner = deviation.pud, deviation.tied[0]
    word = "highest" if measure.higher_is_better else "lowest"
    if deviation.by_score:
        score = float(deviation.score[deviation.configurations.index(winner)])
        return (
            f"{winner} has the {word} mean {measure.title} of the masked attributes: {score:.4g}, while a "
            f"random choice has {deviation.score.mean():.4g} on average; "
            + (
                "merging values never improves that measure, so this is the order of the true deviation."
                if certified
                else "the order is not proved."
            )
        )
    gain = float(pud.mean() - pud.min())
    saved = f"its deviation is {pud.min():.4g}, {gain:.4g} less than that of a random choice"
    if certified:
        return (
            f"{winner} keeps the {word} mean {measure.title} of the masked attributes; merging "
            f"values never improves that measure, so this is the order of the true deviation; {saved}."
        )
    return f"{winner} has the least estimated deviation; the order is not proved; {saved}."


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
    shown = ", ".join(equivalent[1:6]) + (", ..." if len(equivalent) > 6 else "")
    text = f"close: {equivalent[0]} and {others} cannot be told apart by these records ({shown})"
    if coarseness:
        text += f"; the coarsest of them is {max(equivalent, key=coarseness.__getitem__)}"
    return [f"{text}."]


def warning_about_chance(measure: Measure, attributes: Sequence[str]) -> str:
    """Say which attributes owe more than half of a measure to chance."""
    return (
        f"chance: more than half of the {measure.title} of {_list(attributes)} would be there with shuffled "
        "labels, too, because most values have few records; mi_loo and r2_gcv do not count it."
    )


def warnings_about_order(
    measure: Measure, deviation: Deviation, ranking: pd.DataFrame, *, certified: bool
) -> list[str]:
    """What a reader of the first place should know."""
    found = []
    tied = deviation.tied
    if len(tied) > 1:
        shown = ", ".join(tied[:5]) + (", ..." if len(tied) > 5 else "")
        found.append(f"tie: {len(tied)} configurations share the first place ({shown}).")
    if "wins" in ranking and not certified and ranking["wins"].iloc[0] < 0.5:
        first = ranking.iloc[0]
        found.append(
            f"unsure: {first['configuration']} has the least mean deviation but came first in only "
            f"{first['wins']:.0%} of the replicates; scope='pooled' gives an order that does not depend "
            "on the seed."
        )
    slack = NOISE * deviation.size
    outside = ranking[
        (ranking["pud"] < ranking["pud_low"] - slack) | (ranking["pud"] > ranking["pud_high"] + slack)
    ]
    if len(outside):
        first = outside.iloc[0]
        proved = f"{first['pud_low']:.4g} to {first['pud_high']:.4g}"
        found.append(
            f"implausible: {len(outside)} of {len(ranking)} estimates are outside proved bounds "
            f"(such as {first['configuration']}: {first['pud']:.4g}, proved {proved}), so this order "
            "cannot be trusted; use scope='pooled'."
        )
    if not measure.monotone:
        found.append(
            f"no certificate: {measure.title} can improve when values are merged, so nothing is "
            "proved about the order or the bounds."
        )
    return found


def warnings_about_tables(
    question: Question, summary: Summary, estimates: Mapping[str, Estimate], attributes: pd.DataFrame
) -> list[str]:
    """What the provider and the reader of the attributes' report should know."""
    found = _disclosed(summary, attributes.loc[attributes["disclosed"] > 0.999, "attribute"])
    found += [
        f"coarsened: {name!r} was {attribute.coarsening_warning}."
        for name, attribute in summary.attributes.items()
        if attribute.coarsening is not None
    ]
    for warning, names in _by_warning(estimates).items():
        found.append(f"not smooth: {_list(names)}: {warning}")
    repaired = {name: estimate.changes for name, estimate in estimates.items() if estimate.changes}
    if repaired:
        example = next(iter(repaired.values()))[0]
        found.append(
            f"repaired: the totals of {_list(repaired)} contradict each other and were changed (such as "
            f"{example}), so nothing is proved about the order or the bounds."
        )
    apart = [name for name, found in estimates.items() if not (found.common_table or found.changes)]
    if apart and question.measure.monotone:
        found.append(
            f"no common table: none was found that meets all masked tables of {_list(apart)} together; they "
            "may contradict each other, so nothing is proved about the order or the bounds."
        )
    missed = {
        status: attributes[attributes["status"] == status.name]
        for status in (Status.NOT_CONVERGED, Status.VIOLATED)
    }
    for status, rows in missed.items():
        if len(rows):
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
    unmasked = {
        name: any(table.keeps_every_value for table in summary.attributes[name].tables) for name in names
    }
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


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
