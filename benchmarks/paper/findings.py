"""The norm research in words: every sentence and number is computed from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
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
        As in `benchmarks.paper.research.Research`.
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
        "# Which norm comes closest to the truth",
        f"Generated from {quality['family'].nunique()} synthetic families with known truth, seed {seed}, "
        "histograms known. Means over families, attributes, configurations and measures "
        f"({', '.join(measures)}). A table that failed counts with TVD 1; pud_error and tau are means of the "
        "runs that have them.",
        "## Distance to the truth",
        as_markdown(_overall(quality)),
        *_on_quality(quality),
        "## By family",
        "TVD to the raw table, fractional tables (a failure counts 1):",
        as_markdown(_by_family(quality)),
        *_on_families(quality),
        "## Equally good answers",
        "Range of the mutual information over equally close tables of one attribute, as a share of the true "
        "one (mean and largest over the families). For fractional l1 and linf: at extreme optimal tables in "
        "random directions; for whole tables: over seeds of the solver. Both are lower bounds.",
        as_markdown(_spreads(spread)),
        *_on_spread(spread),
        "## Roundings against the best whole table",
        "factor: distance from the prior over that of the closest whole table with the same totals (mean, "
        "largest); below 1 totals were broken. hypergeometric starts from the maximum-entropy table, the "
        "others from the closest fractional one.",
        as_markdown(factors),
        *_on_factors(factors),
    ]
    return "\n\n".join(parts) + "\n"


def _overall(quality: pd.DataFrame) -> pd.DataFrame:
    """Mean over the families; failures as counts, "3 of 12"."""
    keys = ["norm", "kind", "scope"]
    groups = quality.groupby(keys)
    found = groups[["tvd", "pud_error", "tau", "no_winner"]].mean()
    counts = quality.assign(lost=(quality["failed"] * quality["runs"]).round()).groupby(keys)
    sums = counts[["lost", "runs", "tables_failed", "tables"]].sum().astype(int)
    found["runs failed"] = [f"{row.lost} of {row.runs}" for row in sums.itertuples()]
    found["tables failed"] = [f"{row.tables_failed} of {row.tables}" for row in sums.itertuples()]
    return found.reset_index()


def _on_quality(quality: pd.DataFrame) -> list[str]:
    found = []
    overall = _overall(quality)
    for scope, title in (("single", "From one view"), ("pooled", "From all views together")):
        part = overall[overall["scope"] == scope]
        worked = part[~_all_failed(part["tables failed"])]
        if worked.empty:
            found.append(f"- {title}, no table was reconstructed: nothing can be said of the norms.")
        else:
            least, largest = worked["tvd"].min(), part["tvd"].max()
            found.append(
                f"- {title}, the least TVD is that of {_tied(worked, 'tvd', least)}: {least:.3f}; the "
                f"largest that of {_tied(part, 'tvd', largest)}: {largest:.3f}."
            )
        whole = part[part["runs failed"].str.startswith("0 of ") & part["pud_error"].notna()]
        if len(whole):
            least = whole["pud_error"].min()
            among = "" if len(whole) == len(part) else "Of those whose runs all worked, the"
            found.append(
                f"- {title}. {among or 'The'} deviations are closest with "
                f"{_tied(whole, 'pud_error', least)}: off by {least:.0%} of the true ones."
            )
        else:
            found.append(f"- {title}, every norm has failed runs: their deviations are not compared.")
        ordered = part.dropna(subset="tau")
        if len(ordered):
            low, high = ordered["tau"].min(), ordered["tau"].max()
            found.append(f"- {title}, Kendall's tau with the true order is {low:.2f} to {high:.2f}.")
        silent = part[part["no_winner"] > 0]
        if len(silent):
            named = ", ".join(f"{r['norm']} ({r['kind']}) {r['no_winner']:.0%}" for _, r in silent.iterrows())
            found.append(f"- {title}, no winner is named in this share of the runs: {named}.")
    for column, title in (("tables failed", "Tables"), ("runs failed", "Advisor runs")):
        lost = overall[~overall[column].str.startswith("0 of ")]
        if len(lost):
            named = ", ".join(f"{_name(r)} {r[column]}" for _, r in lost.iterrows())
            found.append(f"- {title} that failed, timed out or were skipped: {named}.")
    never = overall[_all_failed(overall["tables failed"])]
    if len(never):
        named = ", ".join(_name(row) for _, row in never.iterrows())
        found.append(f"- Never succeeded, so nothing is known of them here: {named}.")
    return ["\n".join(found)]


def _all_failed(counts: pd.Series[str]) -> pd.Series[bool]:
    return counts.map(lambda text: len(set(text.split(" of "))) == 1)


def _name(row: pd.Series[Any]) -> str:
    return f"{row['norm']} ({row['kind']}, {row['scope']})"


def _tied(rows: pd.DataFrame, column: str, value: float) -> str:
    """Name all norms that have the value."""
    equal = rows[np.isclose(rows[column], value, rtol=1e-9, atol=1e-12)]
    return _listed([f"{row['norm']} ({row['kind']})" for _, row in equal.iterrows()])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _by_family(quality: pd.DataFrame) -> pd.DataFrame:
    part = quality[quality["kind"] == "fractional"]
    wide = part.pivot_table(index="family", columns=["scope", "norm"], values="tvd", sort=False, dropna=False)
    wide.columns = wide.columns.map("{0[1]}, {0[0]}".format)
    return wide.reset_index()


def _on_families(quality: pd.DataFrame) -> list[str]:
    part = quality[(quality["kind"] == "fractional") & (quality["tables_failed"] < quality["tables"])]
    least = part.groupby(["family", "scope"])["tvd"].transform("min")
    wins = part[np.isclose(part["tvd"], least, rtol=1e-9, atol=1e-12)]  # equal ones count each
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
        f"- No spread found, to 6 digits: {', '.join(single) or 'none'}."
    ]


def _on_factors(factors: pd.DataFrame) -> list[str]:
    keeps = factors[(factors["off_totals"] == 0) & factors["factor"].notna()]
    found = []
    for norm, rows in keeps.groupby("norm"):
        best = _first(rows.sort_values("factor"))
        equal = rows[np.isclose(rows["factor"], best["factor"], rtol=1e-9)]
        names = _listed(equal["rounding"].tolist())
        comes = "comes closest" if len(equal) == 1 else "come equally close"
        found.append(
            f"- {norm}: of the roundings that keep all totals, {names} {comes}, "
            f"{best['factor']:.4f} of the optimum on average, {equal['largest'].max():.4f} at worst."
        )
    broken = factors[factors["off_totals"] > 0].groupby("rounding")["off_totals"].mean()
    for name, share in broken.items():
        found.append(f"- {name} breaks totals in {share:.0%} of its tables.")
    counts = factors.groupby("rounding", sort=False)[["impossible", "tables"]].sum()
    for name, lost, made in counts[counts["impossible"] > 0].itertuples(name=None):
        found.append(f"- {name} was impossible for {lost} of {lost + made} tables.")
    return ["\n".join(found)]


def _first(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(column): frame[column].iloc[0] for column in frame}


def as_markdown(frame: pd.DataFrame) -> str:
    """Write a table as Markdown, numbers with four significant digits."""
    head = "| " + " | ".join(map(str, frame.columns)) + " |"
    rule = "|" + " --- |" * len(frame.columns)
    lines = ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.itertuples(index=False)]
    return "\n".join([head, rule, *lines])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4g}"
    return str(value)
