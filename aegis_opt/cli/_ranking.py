"""Advice in words and tables, as `advise` and `demo` show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aegis_opt._shown import without_controls
from aegis_opt.advisor import Advice
from aegis_opt.cli._output import bar, make_table
from aegis_opt.measures import Measure, get_measure
from aegis_opt.report._advice_figure import decimals_for
from aegis_opt.summary import Summary

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
    replicated = "wins" in ranking
    columns = ["rank", "configuration", "deviation"]
    columns += ["proved bounds"] if bounded else []
    columns += ["std", "wins"] if replicated else []
    columns += ["true"] if truth is not None else []
    table = make_table(*columns, *attributes, "", left=["configuration", ""])
    longest = max(float(ranking["pud"].max()), 1e-300)
    for row in shown.to_dict("records"):
        name = row["configuration"]
        cells = [str(row["rank"]), name, f"{row['pud']:.{decimals}f}"]
        if bounded:
            cells.append(_bounds(row["pud_low"], row["pud_high"], decimals))
        if replicated:
            cells += [f"{row['pud_std']:.{decimals}f}", f"{row['wins']:.0%}"]
        if truth is not None:
            cells.append(f"{truth[name]:.{decimals}f}")
        cells += [f"{value:.{decimals}f}" for value in advice.deviations.loc[name]] if by_attribute else []
        drawn = bar(row["pud"] / longest, _BAR, ascii_only) if advice.best is not None else ""
        table.add_row(
            *map(Text, map(without_controls, cells)),
            Text(drawn),
            style="bold green" if name in advice.tied else None,
        )
    return table


def attribute_table(advice: Advice) -> Table:
    """Lay out what was found about each unmasked attribute."""
    decimals = decimals_of(advice)
    table = make_table(
        *("attribute", "values", "masked tables", "unmasked (estimate)", "proved bounds", "given away"),
        left=["attribute"],
        title=f"Attributes: {get_measure(advice.measure).title} with the label",
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


def verdict(advice: Advice, summary: Summary) -> list[tuple[str, str]]:
    """Say which configuration won and why, how certain that is, and what to beware of."""
    best = "cannot tell" if advice.best is None else f"{advice.best}: {_masks_of(summary, advice.best)}"
    certified = "no, nothing is proved about the order"
    if advice.certified:
        certified = f"yes, the order is proved. {_SHARED_UNKNOWN}"
    facts = [("Best", best), ("Why", advice.reason), ("Certified", certified)]
    return facts + [("Warning", warning) for warning in advice.warnings if warning != advice.reason]


def _masks_of(summary: Summary, configuration: str) -> str:
    """Describe the masks of a configuration, such as ``age bucketize(width=25) in 4 groups``."""
    texts = []
    for attribute in summary.attributes:
        table = summary.masked_table(configuration, attribute)
        spec: dict[str, Any] = dict(table.spec)
        function = spec.pop("function")
        simple = [f"{k}={v}" for k, v in spec.items() if isinstance(v, str | int | float)]
        given = f"({', '.join(simple)})" if simple else ""
        groups = "1 group" if table.n_groups == 1 else f"{table.n_groups} groups"
        texts.append(f"{attribute} {function}{given} in {groups}")
    return ", ".join(texts)


def title_of(measure: Measure) -> str:
    """Name a measure with its unit, such as ``mutual information (bits)``."""
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def decimals_of(advice: Advice) -> int:
    """Decimals of the deviations shown."""
    return decimals_for(advice.ranking["pud"], get_measure(advice.measure).digits)


def _bounds(low: float, high: float, decimals: int) -> str:
    if math.isnan(low) and math.isnan(high):
        return "-"
    ends = ["?" if math.isnan(end) else f"{end:.{decimals}f}" for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"
