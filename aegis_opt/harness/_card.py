"""What the results of a comparison show of themselves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt._display import FEW, Card
from aegis_opt._shown import listing
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness._statistics import overview

if TYPE_CHECKING:
    from aegis_opt.harness._results import Results


def card_of(results: Results) -> Card:
    """Describe results: who loses least, then the variants by that."""
    runs, tables = len(results.advice), len(results.reconstructions)
    title = f"Results: {runs:,} advisor runs and {tables:,} rows of reconstructions"
    datasets = listing(list(results.meta["datasets"]))
    calls = [
        ("results.advice", "has a row per advisor run"),
        ('ao.report.write_report(results, "report.html")', "writes the page with all figures"),
    ]
    if results.advice.empty:
        return Card(title=f"{title} on {datasets}", conclusion="No advisor has run.", calls=calls)
    lines = overview(results.advice, results.meta["settings"].get("time_limit"))
    lines = lines.sort_values(["regret", "seconds"], kind="stable", ignore_index=True)
    rows = [
        [
            str(row["variant"]),
            str(row["scope"]),
            "with" if row["histogram"] else "without",
            _number(row["regret"], 3),
            _number(row["tau"], 3),
            _number(row["seconds"], 3),
            str(row["runs"]),
        ]
        for row in lines.head(FEW).to_dict("records")
    ]
    return Card(
        title=f"{title} on {datasets}",
        conclusion=_conclusion(lines),
        why="regret: what the winner truly costs above the best configuration, as a share of what a random "
        "choice costs above it. tau: Kendall's, of the order found against the true one.",
        columns=["variant", "scope", "histograms", "regret", "tau", "seconds", "runs"],
        rows=rows,
        left=["variant", "scope", "histograms"],
        more=f"{len(lines) - FEW:,} more by aegis_opt.harness.overview." if len(lines) > FEW else "",
        warnings=_warnings(results),
        calls=calls,
    )


def _conclusion(lines: pd.DataFrame) -> str:
    first = lines.iloc[0]
    if math.isnan(first["regret"]):
        return "No variant can be named: no run was tried where there is a choice."
    how = f"{first['scope']}, {'with' if first['histogram'] else 'without'} histograms"
    tied = int((lines["regret"] <= first["regret"]).sum()) - 1
    others = (
        f" {tied:,} others lose as little." if tied > 1 else " Another one loses as little." if tied else ""
    )
    return (
        f"{first['variant']} ({how}) loses least: {first['regret']:.1%} of what a random choice loses, in "
        f"{_number(first['seconds'], 3)} s a run.{others}"
    )


def _warnings(results: Results) -> list[str]:
    status = results.advice["status"].value_counts()
    told = {
        NO_WINNER: "named no winner, and count as a random choice",
        FAILED: "failed, and count as the worst choice",
        TIMED_OUT: "took too long, and count as the worst choice",
        SKIPPED: "were skipped, and do not count",
    }
    return [f"{status[name]:,} advisor runs {text}." for name, text in told.items() if status.get(name, 0)]


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
