"""Advice in words and tables, as `advise` and `demo` show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aegis_opt._shown import listing, without_controls
from aegis_opt.advisor import Advice
from aegis_opt.advisor._conclusion import decimals_of as decimals_of
from aegis_opt.advisor._numbers import (
    bounds_text,
    bounds_title,
    decimals_for,
    figure_text,
    is_lower_bound,
    number_text,
    privacy_columns,
)
from aegis_opt.advisor._numbers import title_of as title_of
from aegis_opt.cli._output import bar, make_table
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.summary import AnySummary, ProtectedSummary, Summary

if TYPE_CHECKING:
    from rich.table import Table

MOST_COLUMNS = 6
"""Attributes up to which the ranking has a column for each; more have a row each, in a table of their own."""

_BAR = 16  # characters of the longest bar
_MOST_MASKS = 12  # of the winner that are named
_ATTRIBUTE, _CONFIGURATION = 30, 8  # columns of a terminal for names of attributes, and beside decimals
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
    least = ", at least" if is_lower_bound(ranking) else ""
    attributes = [
        f"{without_controls(str(name))}{least}" for name in advice.deviations.columns if by_attribute
    ]
    bounded = ranking["pud_low"].notna().any() or ranking["pud_high"].notna().any()
    replicated, compared = "wins" in ranking, "difference" in ranking
    by = advice.ranked_by
    columns = ["rank", "configuration", f"deviation{least}" if by == "pud" else "score"]
    columns += [bounds_title(ranking)] if bounded else []
    drawn = "pud_5" in ranking
    columns += ["5% to 95%" if drawn else "std", "wins"] if replicated else []
    columns += ["behind the best"] if compared else []
    columns += ["true"] if truth is not None else []
    privacy = privacy_columns(ranking)
    columns += privacy
    table = make_table(*columns, *attributes, "", left=["configuration", ""])
    longest = max(float(ranking[by].max()), 1e-300)
    for row in shown.to_dict("records"):
        name = row["configuration"]
        cells = [str(row["rank"]), name, "-" if math.isnan(row[by]) else f"{row[by]:.{decimals}f}"]
        if bounded:
            cells.append(bounds_text(row["pud_low"], row["pud_high"], decimals))
        if replicated:
            spread = f"{row['pud_std']:.{decimals}f}"
            if drawn:
                spread = bounds_text(row["pud_5"], row["pud_95"], decimals)
            cells += [spread, f"{row['wins']:.0%}"]
        if compared:
            cells.append(bounds_text(row["difference_low"], row["difference_high"], decimals))
        if truth is not None:
            cells.append(f"{truth[name]:.{decimals}f}")
        cells += [figure_text(row[column]) for column in privacy]
        if by_attribute:
            cells += [number_text(value, decimals) for value in advice.deviations.loc[name]]
        length = max(row[by], 0.0) / longest if row[by] > 0 else 0.0
        length_shown = bar(length, _BAR, ascii_only) if advice.best is not None else ""
        table.add_row(
            *map(Text, map(without_controls, cells)),
            Text(length_shown),
            style="bold green" if name in advice.tied else None,
        )
    return table


def deviation_table(advice: Advice, top: int | None, width: int) -> Table:
    """Lay out the deviation of each attribute in a row, under as many configurations as fit, best first."""
    names = list(advice.ranking["configuration"].head(top or len(advice.ranking)))
    decimals = decimals_of(advice)
    shown = names[: max(1, (width - _ATTRIBUTE) // (decimals + _CONFIGURATION))]
    hidden = len(advice.ranking) - len(shown)
    title = f"Deviation of each attribute{', at least' if is_lower_bound(advice.ranking) else ''}"
    title += f", for the first {len(shown)} of {len(advice.ranking)} configurations" if hidden else ""
    table = make_table("attribute", *map(without_controls, shown), left=["attribute"], title=title)
    for attribute, values in advice.deviations.loc[shown].T.iterrows():
        table.add_row(without_controls(str(attribute)), *(number_text(value, decimals) for value in values))
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
            number_text(row["estimate"], decimals),
            bounds_text(row["low"], row["high"], decimals),
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


def verdict(advice: Advice, summary: AnySummary) -> list[tuple[str, str]]:
    """Say which configuration won and why, how certain that is, and what to beware of."""
    best = "cannot tell" if advice.best is None else f"{advice.best}: {_masks_of(summary, advice.best)}"
    certified = "no, nothing is proved about the order"
    if advice.certified:
        shared = advice.ranking["pud_high"].notna().any()
        certified = f"yes, the order is proved.{f' {_SHARED_UNKNOWN}' if shared else ''}"
    facts = [("Best", best), ("Why", advice.reason), ("Certified", certified)]
    if advice.by_mi is not None:
        kind = "an order that is proved" if advice.by_mi.certified else "an order that is not proved"
        facts.append(("By mi", f"{advice.by_mi.best or 'no winner'} ({kind})"))
    return facts + [("Warning", warning) for warning in advice.warnings if warning != advice.reason]


def _masks_of(summary: AnySummary, configuration: str) -> str:
    """Describe the masks of a configuration, such as ``age bucketize(width=25) in 4 groups``."""
    texts = []
    for attribute in summary.attributes:
        text = f"{attribute} {spec_text(summary.spec(configuration, attribute))}"
        if isinstance(summary, Summary):
            groups = summary.masked_table(configuration, attribute).n_groups
            text += " in 1 group" if groups == 1 else f" in {groups} groups"
        texts.append(text)
    label = None if isinstance(summary, ProtectedSummary) else summary.label_spec(configuration)
    if label is not None:
        texts.insert(0, f"the label {summary.label} {spec_text(label)}")
    return listing(texts, _MOST_MASKS)
