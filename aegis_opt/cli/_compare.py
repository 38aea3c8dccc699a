"""The command `compare`: variants of the advisor on raw data, judged by the truth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from aegis_opt.cli._output import make_console, make_table, print_json, progress, show_facts, show_table
from aegis_opt.harness import Case, ComparisonSettings, Results, overview, run_comparison
from aegis_opt.harness._schema import FAILED, OK, SKIPPED, TIMED_OUT
from aegis_opt.report._prepared_results import ENDINGS, TIME_SHIFT

if TYPE_CHECKING:
    import argparse

    import pandas as pd

_SOLVERS = ("ipf", "ipf+controlled", "convex:l2", "integer:l2", "sampling", "random")
_HISTOGRAMS = {"with": [True], "without": [False], "both": [True, False]}
_MEANING = (
    "regret: what the winner truly costs above the best configuration, as a share of what a random choice "
    "costs above it (0 is the best, 1 no better than chance). tau: Kendall's, of the order found against the "
    f"true one. seconds: geometric mean of an advisor run, shifted by {TIME_SHIFT:g}. Failures and time-outs "
    "count as the worst choice, no winner as a random one; what was skipped does not count."
)


def run_compare(arguments: argparse.Namespace) -> None:
    """Run the comparison and show it in brief."""
    case = Case.of(
        arguments.source, arguments.label, arguments.configurations, arguments.name, arguments.label_bins
    )
    with progress(arguments, f"scanning {arguments.source}") as report:
        settings = ComparisonSettings(
            solvers=arguments.solver or _SOLVERS,
            measures=arguments.measure or ["mi", "chi2", "g3"],
            norms=arguments.norm,
            roundings=arguments.rounding,
            scopes=arguments.scope or ["pooled", "single"],
            histograms=_HISTOGRAMS[arguments.histograms or "both"],
            seeds=arguments.seed or [0],
            replicates=arguments.replicates or 1,
            n_jobs=arguments.jobs or 1,
            time_limit=arguments.time_limit,
            output=arguments.output,
            progress=report,
        )
        results = run_comparison([case], settings)
    lines = overview(results.advice, results.meta["settings"]["time_limit"], shift=TIME_SHIFT)
    if arguments.json:
        print_json(
            {
                "folder": arguments.output,
                "datasets": list(results.meta["datasets"]),
                "advisor_runs": len(results.advice),
                "reconstructions": len(results.reconstructions),
                "shift_seconds": TIME_SHIFT,
                "overview": lines.astype(object).where(lines.notna(), None).to_dict("records"),
                "problems": _problems(results.advice),
            }
        )
        return
    console = make_console()
    show_table(console, _table(lines))
    show_facts(console, _facts(arguments, results))


def _table(lines: pd.DataFrame) -> Any:
    table = make_table(
        *("variant", "scope", "histograms", "runs", "regret", "tau", "certified", "seconds"),
        *ENDINGS,
        left=["variant", "scope", "histograms"],
    )
    for row in lines.to_dict("records"):
        table.add_row(
            row["variant"],
            row["scope"],
            "with" if row["histogram"] else "without",
            str(row["runs"]),
            *(_number(row[name], digits) for name, digits in [("regret", 3), ("tau", 3), ("certified", 2)]),
            _number(row["seconds"], 3),
            *(str(row[name] or "-") for name in ENDINGS.values()),
        )
    return table


def _facts(arguments: argparse.Namespace, results: Results) -> list[tuple[str, str]]:
    data = ", ".join(f"{name} ({d['records']:,} records)" for name, d in results.meta["datasets"].items())
    facts = [("Data", data), ("Columns", _MEANING)]
    for problem in _problems(results.advice):
        # a run that names a winner is here because some of its tables miss totals
        heading = "Inexact" if problem["status"] == OK else problem["status"].capitalize()
        facts.append((heading, f"{problem['variant']}, {problem['scope']}: {problem['error']}"))
    found = f"{len(results.advice):,} advisor runs and {len(results.reconstructions):,} reconstructions"
    facts.append(("Results", f"{found} in {arguments.output}"))
    return facts


def _problems(advice: pd.DataFrame) -> list[dict[str, str]]:
    """List what did not run, or not as it should, once per variant and scope."""
    inexact = (advice["status"] == OK) & advice["error"].notna()
    bad = advice[advice["status"].isin([FAILED, TIMED_OUT, SKIPPED]) | inexact]
    first = bad.drop_duplicates(["variant", "status", "scope"])
    keys = ("variant", "scope", "status", "error")
    return [{key: str(row[key]) for key in keys} for row in first.to_dict("records")]


def _number(value: float, digits: int) -> str:
    return "-" if math.isnan(value) else f"{value:.{digits}f}"
