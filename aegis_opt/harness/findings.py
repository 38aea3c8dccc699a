"""The norm research in words: every sentence and number is computed from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd


def write_summary(
    quality: pd.DataFrame,
    spread: pd.DataFrame,
    factors: pd.DataFrame,
    measures: Sequence[str],
    seed: int,
) -> str:
    """Write the summary of a norm research as Markdown.

    Parameters
    ----------
    quality, spread, factors : DataFrame
        As in `aegis_opt.harness.research.Research`.
    measures : sequence of str
        Of the advisor runs, stated.
    seed : int
        Of the run, stated.

    Returns
    -------
    str
        Headings, tables and conclusions.
    """
    parts = [
        "# Which norm deserves trust",
        f"Generated from {quality['family'].nunique()} synthetic families with known truth, seed {seed}, "
        "histograms known. Means over families, attributes, configurations and measures "
        f"({', '.join(measures)}).",
        "## Distance to the truth",
        _table(_overall(quality)),
        *_on_quality(quality),
        "## By family",
        "TVD to the raw table, fractional tables:",
        _table(_by_family(quality)),
        *_on_families(quality),
        "## Equally good answers",
        "Range of the mutual information over equally close tables of one attribute, as a share of the true "
        "one (mean and largest over the families). For fractional l1 and linf: at extreme optimal tables in "
        "random directions; for whole tables: over seeds of the solver. Both are lower bounds.",
        _table(_spreads(spread)),
        *_on_spread(spread),
        "## Roundings against the best whole table",
        "factor: distance from the prior over that of the closest whole table with the same totals (mean, "
        "largest); below 1 totals were broken. hypergeometric starts from the maximum-entropy table, the "
        "others from the closest fractional one.",
        _table(factors),
        *_on_factors(factors),
    ]
    return "\n\n".join(parts) + "\n"


def _overall(quality: pd.DataFrame) -> pd.DataFrame:
    keys = ["norm", "kind", "scope"]
    return quality.groupby(keys)[["tvd", "pud_error", "tau", "no_winner", "failed"]].mean().reset_index()


def _on_quality(quality: pd.DataFrame) -> list[str]:
    found = []
    overall = _overall(quality)
    for scope, title in (("single", "From one view"), ("pooled", "From all views together")):
        part = overall[overall["scope"] == scope]
        tvd, pud = _first(part.sort_values("tvd")), _first(part.sort_values("pud_error"))
        worst = _first(part.sort_values("tvd", ascending=False))
        found.append(
            f"- {title}, the least TVD is that of {tvd['norm']} ({tvd['kind']}): {tvd['tvd']:.3f}; the "
            f"largest that of {worst['norm']} ({worst['kind']}): {worst['tvd']:.3f}. The deviations are "
            f"closest with {pud['norm']} ({pud['kind']}): off by {pud['pud_error']:.0%} of the true ones."
        )
        ordered = part.dropna(subset="tau")
        if len(ordered):
            low, high = ordered["tau"].min(), ordered["tau"].max()
            found.append(f"- {title}, Kendall's tau with the true order is {low:.2f} to {high:.2f}.")
        silent = part[part["no_winner"] > 0]
        if len(silent):
            named = ", ".join(f"{r['norm']} ({r['kind']}) {r['no_winner']:.0%}" for _, r in silent.iterrows())
            found.append(f"- {title}, no winner is named in this share of the runs: {named}.")
    failed = overall[overall["failed"] > 0]
    if len(failed):
        named = ", ".join(f"{r['norm']} ({r['kind']}, {r['scope']})" for _, r in failed.iterrows())
        found.append(f"- Runs that failed, timed out or were skipped: {named}.")
    return ["\n".join(found)]


def _by_family(quality: pd.DataFrame) -> pd.DataFrame:
    part = quality[quality["kind"] == "fractional"]
    wide = part.pivot_table(index="family", columns=["scope", "norm"], values="tvd", sort=False)
    wide.columns = wide.columns.map("{0[1]}, {0[0]}".format)
    return wide.reset_index()


def _on_families(quality: pd.DataFrame) -> list[str]:
    part = quality[quality["kind"] == "fractional"]
    wins = part.loc[part.groupby(["family", "scope"])["tvd"].idxmin()]
    found = []
    for scope, rows in wins.groupby("scope"):
        counts = ", ".join(f"{norm} {count}" for norm, count in rows["norm"].value_counts().items())
        found.append(f"- Least TVD of the fractional tables, {scope}: {counts} (families).")
    return ["\n".join(found)]


def _spreads(spread: pd.DataFrame) -> pd.DataFrame:
    return spread.groupby(["norm", "kind", "scope"])["spread"].agg(["mean", "max"]).reset_index()


def _on_spread(spread: pd.DataFrame) -> list[str]:
    most = _first(spread.sort_values("spread", ascending=False))
    widest = spread.groupby(["norm", "kind"])["spread"].max().reset_index()
    unique = widest[widest["spread"] < 1e-6]
    single = [f"{r['norm']} ({r['kind']})" for _, r in unique.iterrows()]
    return [
        f"- Widest: {most['norm']} ({most['kind']}, {most['scope']}) on {most['family']}: the mutual "
        f"information ranges at least from {most['mi_low']:.3f} to {most['mi_high']:.3f} bits, the truth "
        f"being {most['mi_true']:.3f}.\n"
        f"- One answer only, to 6 digits: {', '.join(single) or 'none'}."
    ]


def _on_factors(factors: pd.DataFrame) -> list[str]:
    keeps = factors[factors["off_totals"] == 0]
    found = []
    for norm, rows in keeps.groupby("norm"):
        best = _first(rows.sort_values("factor"))
        found.append(
            f"- {norm}: of the roundings that keep all totals, {best['rounding']} comes closest, "
            f"{best['factor']:.4f} of the optimum on average, {best['largest']:.4f} at worst."
        )
    broken = factors[factors["off_totals"] > 0].groupby("rounding")["off_totals"].mean()
    for name, share in broken.items():
        found.append(f"- {name} breaks totals in {share:.0%} of its tables.")
    return ["\n".join(found)]


def _first(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(column): frame[column].iloc[0] for column in frame}


def _table(frame: pd.DataFrame) -> str:
    head = "| " + " | ".join(map(str, frame.columns)) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *lines])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)
