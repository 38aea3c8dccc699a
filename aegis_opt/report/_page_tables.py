"""The tables of the page: what every variant achieved, and every run that has no result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._statistics import RECONSTRUCTION, mean_time, overview
from aegis_opt.report import _prepared_results as prepared
from aegis_opt.report._prepared_results import TIME_SHIFT

Kind = Literal["text", "category", "count", "number", "share", "bar", "seconds"]


@dataclass(frozen=True)
class TableColumn:
    """A column: `kind` says how its values are written; a category has a menu to filter by."""

    key: str
    title: str
    kind: Kind = "number"
    help: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table of the page, its rows in the order of its columns."""

    id: str
    title: str
    note: str
    columns: list[TableColumn]
    rows: list[list[Any]]


_RUN = [
    TableColumn("variant", "variant", "text", "solver:norm+rounding[options]"),
    TableColumn("scope", "scope", "category", "all views together (pooled), or each configuration (single)"),
    TableColumn("histogram", "histograms", "category", "whether the 1-D histograms were used"),
]
_DATASET = TableColumn("dataset", "data set", "category")
_RUNS = TableColumn("runs", "runs", "count")
_TIME = TableColumn("seconds", "time", "seconds", f"geometric mean per run, with a shift of {TIME_SHIFT:g} s")
_SHARE = TableColumn("share", "regret / random", "bar", "0: the best configuration; 1: no better than chance")
_TAU = TableColumn("tau", "tau", help="Kendall's, estimated against true order; mean where there is one")
_NO_WINNER = TableColumn("no_winner", "no winner", "count", "penalised as a choice at random")
_FAILURES = [
    TableColumn("failed", "failed", "count", "penalised, not left out"),
    TableColumn("timed_out", "timed out", "count", "penalised, not left out"),
    TableColumn("skipped", "skipped", "count", "not tried: not installed, or not made for such problems"),
]


def page_tables(results: Results, averages: pd.DataFrame) -> list[PageTable]:
    """Return the tables in the order of the page; `averages` are those of `advice_by_group`."""
    tables = [_overview(results), _advice(averages)] if len(results.advice) else []
    if len(results.reconstructions):
        tables.append(_reconstructions(results))
    return [*tables, _without_result(results)]


def _overview(results: Results) -> PageTable:
    columns = [
        *(*_RUN, _SHARE, _TAU),
        TableColumn("certified", "certified", "share", "share of the runs whose order was proved"),
        *(_TIME, _RUNS, _NO_WINNER, *_FAILURES),
    ]
    limit, longest = prepared.time_limit(results), prepared.longest_time(results)
    found = overview(results.advice, limit, shift=TIME_SHIFT, longest=longest)
    note = (
        "Complete advisor runs over all data sets, measures and seeds. Failures are penalised in the means "
        "of regret and time; tau is averaged over the runs that have one."
    )
    return _table("overview", "Advice by variant", note, columns, found.rename(columns={"regret": "share"}))


def _advice(averages: pd.DataFrame) -> PageTable:
    columns = [
        _DATASET,
        TableColumn("measure", "measure", "category"),
        *_RUN,
        TableColumn("best", "winner", "text", "over the seeds, with counts where they differ"),
        TableColumn("certified", "certified", "count", "runs whose order was proved"),
        TableColumn("regret", "regret", help="true deviation of the winner minus the least, in its unit"),
        *(_SHARE, _TAU),
        TableColumn("pud_error", "PUD error", help="mean of abs(estimated - true) over the configurations"),
        TableColumn("pud_true_min", "least PUD", help="true deviation of the best configuration"),
        TableColumn("pud_true_mean", "random PUD", help="expected true deviation of a random choice"),
        *(_TIME, _RUNS, _NO_WINNER, *_FAILURES),
    ]
    note = (
        "One line per data set, measure and variant, averaged over seeds. Failures are penalised in the "
        "means of regret and time; tau and PUD error are averaged over the runs that have them."
    )
    return _table("advice", "Advice in detail", note, columns, averages)


def _reconstructions(results: Results) -> PageTable:
    groups = ["dataset", "variant", "scope", "histogram"]
    frame = prepared.once(results.reconstructions)
    _, penalised = prepared.penalised_results(results)
    problem = list(RECONSTRUCTION)
    same = ["dataset", "scope", "histogram"]
    known = Counter(frame[problem].drop_duplicates()[same].itertuples(index=False, name=None))
    rows = []
    for key, everything in frame.groupby(groups, sort=True):
        part = penalised.loc[penalised.index.intersection(everything.index)]
        rows.append(
            dict(zip(groups, key, strict=True))
            | {
                "ran_on": f"{part.groupby(problem).ngroups:,} of {known[key[0], key[2], key[3]]:,}",
                "mean": part["tvd"].mean(),
                "median": part["tvd"].median(),
                "residual": part["residual"].max(),
                "seconds": mean_time(part["seconds_total"], TIME_SHIFT),
                "optimal": part["optimal"].mean(),
                "peak": part["peak_mb"].max(),
                "runs": len(everything),
            }
            | prepared.count_endings(everything)
        )
    columns = [
        *(_DATASET, *_RUN),
        TableColumn("ran_on", "ran on", "text", "problems tried of those of all variants; failures included"),
        TableColumn("mean", "mean TVD", "bar", "distance to the raw joint table; a failure counts 1"),
        TableColumn("median", "median TVD", "bar", "a failure counts 1"),
        TableColumn("residual", "worst residual", help="largest violation of a total, in records, verified"),
        _TIME,
        TableColumn("optimal", "optimal", "share", "share of the runs proved to be closest to the prior"),
        TableColumn("peak", "peak MiB", help="largest growth of resident memory"),
        TableColumn("runs", "runs", "count", "masked tables and seeds; a shared table counts once"),
        *_FAILURES,
    ]
    note = (
        "Single tables against the raw ones. Failures are penalised in the means of TVD and time. Where a "
        "variant did not run on all problems, its means cover only those it ran on: compare with care."
    )
    return _table("reconstructions", "Reconstructions", note, columns, pd.DataFrame(rows))


def _without_result(results: Results) -> PageTable:
    """List the runs that failed, timed out, were skipped or named no winner, by reason."""
    groups = ["status", "variant", "dataset", "scope", "histogram", "error"]
    parts = []
    for kind, frame, about in (
        ("advice", results.advice, "measure"),
        ("reconstruction", prepared.once(results.reconstructions), "attribute"),
    ):
        lost = frame[frame["status"].isin(list(prepared.ENDINGS))]
        kept = lost[groups].assign(kind=kind, about=lost[about])
        parts.append(kept.astype(object).where(kept.notna(), ""))
    rows = []
    for key, part in pd.concat(parts).groupby([*groups, "kind"], sort=True):
        named = dict(zip([*groups, "kind"], key, strict=True))
        rows.append(named | {"about": ", ".join(sorted(set(part["about"]))), "runs": len(part)})
    columns = [
        TableColumn("status", "status", "category"),
        TableColumn("kind", "kind", "category"),
        *(_DATASET, *_RUN),
        TableColumn("about", "measures or attributes", "text"),
        _RUNS,
        TableColumn("error", "reason", "text"),
    ]
    note = "Nothing is left out silently: each of these is counted above, or says why it was not tried."
    keys = [column.key for column in columns]
    return _table("without-result", "Runs without a result", note, columns, pd.DataFrame(rows, columns=keys))


def _table(name: str, title: str, note: str, columns: list[TableColumn], frame: pd.DataFrame) -> PageTable:
    found = frame[[column.key for column in columns]].itertuples(index=False)
    return PageTable(name, title, note, columns, [[_plain(value) for value in row] for row in found])


def _plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value
