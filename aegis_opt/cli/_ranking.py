"""Advice in words and tables, as `advise` and `demo` show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aegis_opt._shown import without_controls
from aegis_opt.advisor import Advice, Criterion
from aegis_opt.cli._output import bar, make_table
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.measures import Measure
from aegis_opt.report._numbers import decimals_for
from aegis_opt.summary import ScoreSummary, Summary

if TYPE_CHECKING:
    from rich.table import Table

_BAR = 16  # characters of the longest bar
_SHARED_UNKNOWN = (
    "The bounds come from one unknown that all configurations share: they move together, so their overlap "
    "does not blur the order."
)


def ranking_table(
    advice: Advice,
    top: int | None,
    *,
    ascii_only: bool,
    by_attribute: bool = False,
    truth: Mapping[str, float] | None = None,
) -> Table:
    """Lay out the first `top` places (all where None), the winner in bold.

    `by_attribute` adds a column per attribute, and `truth` one of the true deviations.
    """
    from rich.text import Text

    ranking = advice.ranking
    shown = ranking.head(len(ranking) if top is None else top)
    decimals = decimals_of(advice)
    attributes = [without_controls(str(name)) for name in advice.deviations.columns if by_attribute]
    bounded = ranking["pud_low"].notna().any() or ranking["pud_high"].notna().any()
    replicated, compared = "wins" in ranking, "difference" in ranking
    by = advice.ranked_by
    columns = ["rank", "configuration", "deviation" if by == "pud" else "score"]
    columns += ["proved bounds"] if bounded else []
    drawn = "pud_5" in ranking
    columns += ["5% to 95%" if drawn else "std", "wins"] if replicated else []
    columns += ["behind the best"] if compared else []
    columns += ["true"] if truth is not None else []
    table = make_table(*columns, *attributes, "", left=["configuration", ""])
    longest = max(float(ranking[by].max()), 1e-300)
    for row in shown.to_dict("records"):
        name = row["configuration"]
        cells = [str(row["rank"]), name, "-" if math.isnan(row[by]) else f"{row[by]:.{decimals}f}"]
        if bounded:
            cells.append(_bounds(row["pud_low"], row["pud_high"], decimals))
        if replicated:
            spread = f"{row['pud_std']:.{decimals}f}"
            if drawn:
                spread = _bounds(row["pud_5"], row["pud_95"], decimals)
            cells += [spread, f"{row['wins']:.0%}"]
        if compared:
            cells.append(_bounds(row["difference_low"], row["difference_high"], decimals))
        if truth is not None:
            cells.append(f"{truth[name]:.{decimals}f}")
        cells += [f"{value:.{decimals}f}" for value in advice.deviations.loc[name]] if by_attribute else []
        length = max(row[by], 0.0) / longest if row[by] > 0 else 0.0
        length_shown = bar(length, _BAR, ascii_only) if advice.best is not None else ""
        table.add_row(
            *map(Text, map(without_controls, cells)),
            Text(length_shown),
            style="bold green" if name in advice.tied else None,
        )
    return table


def attribute_table(advice: Advice) -> Table:
    """Lay out what was found about each unmasked attribute."""
    decimals = decimals_of(advice)
    table = make_table(
        *("attribute", "values", "masked tables", "unmasked (estimate)", "proved bounds", "given away"),
        left=["attribute"],
        title=f"Attributes: {advice.criterion.title} with the label",
    )
    for row in advice.attributes.to_dict("records"):
        table.add_row(
            without_controls(row["attribute"]),
            f"{row['values']:,}",
            str(row["masked_tables"]),
            f"{row['estimate']:.{decimals}f}",
            _bounds(row["low"], row["high"], decimals),
            "-" if math.isnan(row["disclosed"]) else f"{row['disclosed']:.0%}",
        )
    return table


def explanation_table(advice: Advice, configuration: str | None) -> Table:
    """Lay out what each mask of a configuration costs; `Change` beside it names the mask to take instead."""
    explained = advice.explain(configuration)
    by = "" if advice.changes is None else advice.changes.criterion.name
    table = make_table(
        *("attribute", "mask", "cost", "best change", "chance"),
        left=["attribute", "mask"],
        title=f"What each mask of {without_controls(configuration or str(advice.best))} costs, by {by}",
    )
    decimals = max(4, decimals_for(explained["cost"].abs(), 4))
    for row in explained.to_dict("records"):
        cost, gain = (
            "-" if math.isnan(row[column]) else f"{row[column]:+.{decimals}f}" for column in ("cost", "gain")
        )
        chance = "-" if math.isnan(row["chance"]) else f"{row['chance']:.0%}"
        table.add_row(without_controls(row["attribute"]), without_controls(row["mask"]), cost, gain, chance)
    return table


def verdict(advice: Advice, summary: Summary | ScoreSummary) -> list[tuple[str, str]]:
    """Say which configuration won and why, how certain that is, and what to beware of."""
    best = "cannot tell" if advice.best is None else f"{advice.best}: {_masks_of(summary, advice.best)}"
    certified = "no, nothing is proved about the order"
    if advice.certified:
        shared = advice.ranking["pud_high"].notna().any()
        certified = f"yes, the order is proved.{f' {_SHARED_UNKNOWN}' if shared else ''}"
    facts = [("Best", best), ("Why", advice.reason), ("Certified", certified)]
    if advice.by_mi is not None:
        facts.append(("By mi", f"{advice.by_mi.best} (an order that is proved)"))
    return facts + [("Warning", warning) for warning in advice.warnings if warning != advice.reason]


def _masks_of(summary: Summary | ScoreSummary, configuration: str) -> str:
    """Describe the masks of a configuration, such as ``age bucketize(width=25) in 4 groups``."""
    texts = []
    for attribute in summary.attributes:
        text = f"{attribute} {spec_text(summary.spec(configuration, attribute))}"
        if isinstance(summary, Summary):
            groups = summary.masked_table(configuration, attribute).n_groups
            text += " in 1 group" if groups == 1 else f" in {groups} groups"
        texts.append(text)
    return ", ".join(texts)


def title_of(measure: Measure | Criterion) -> str:
    """Name a measure with its unit, such as ``mutual information (bits)``."""
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def decimals_of(advice: Advice) -> int:
    """Decimals of the deviations or scores shown."""
    return decimals_for(advice.ranking[advice.ranked_by], advice.criterion.digits)


def _bounds(low: float, high: float, decimals: int) -> str:
    if math.isnan(low) and math.isnan(high):
        return "-"
    ends = ["?" if math.isnan(end) else f"{end:.{decimals}f}" for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"
