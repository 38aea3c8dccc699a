"""The tables of the page: what every variant achieved, and every run that has no result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness._statistics import RECONSTRUCTION, mean_time, overview, penalised
from aegis_opt.report._series import TIME_SHIFT, longest_time, once, regret_share

Kind = Literal["text", "category", "count", "number", "share", "bar", "seconds"]


@dataclass(frozen=True)
class Column:
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
    columns: list[Column]
    rows: list[list[Any]]


_DATASET = Column("dataset", "data set", "category")
_RUN = [
    Column("variant", "variant", "text", "solver:norm+rounding[options]"),
    Column("scope", "scope", "category", "all views together (pooled), or each configuration alone (single)"),
    Column("histogram", "histograms", "category", "whether the 1-D histograms were used"),
]
_SECONDS = Column("seconds", "time", "seconds", f"geometric mean with a shift of {TIME_SHIFT:g} s, per run")
_LOST = [
    Column("failed", "failed", "count", "charged, not dropped"),
    Column("timed_out", "timed out", "count", "charged, not dropped"),
    Column("skipped", "skipped", "count", "not tried: not installed, or not made for such problems"),
]
_REGRET = Column(
    "share", "regret / random", "bar", "0: the best configuration was chosen; 1: as bad as choosing at random"
)
_TAU = Column(
    "tau", "tau", "number", "Kendall's, estimated against true order; mean of the runs that have one"
)


def page_tables(results: Results) -> list[PageTable]:
    """Return the tables of a comparison, in the order of the page."""
    limit = results.meta["settings"].get("time_limit")
    longest = longest_time(results)
    tables = []
    if len(results.advice):
        tables += [_overview(results.advice, limit, longest), _advice(results.advice, limit, longest)]
    if len(results.reconstructions):
        tables.append(_reconstructions(results.reconstructions, limit, longest))
    return [*tables, _without_result(results)]


def _overview(advice: pd.DataFrame, limit: float | None, longest: float | None) -> PageTable:
    columns = [
        *_RUN,
        Column("regret", _REGRET.title, "bar", _REGRET.help),
        _TAU,
        Column("certified", "certified", "share", "of the runs: the order was proved"),
        _SECONDS,
        Column("runs", "runs", "count"),
        Column("no_winner", "no winner", "count", "charged as a choice at random"),
        *_LOST,
    ]
    found = overview(advice, limit, shift=TIME_SHIFT, longest=longest)
    note = (
        "Complete advisor runs over all data sets, measures and seeds. Failures are charged in the means of "
        "regret and time; tau is averaged over the runs that have one."
    )
    return _table("overview", "Advice by variant", note, columns, found)


def _advice(advice: pd.DataFrame, limit: float | None, longest: float | None) -> PageTable:
    groups = ["dataset", "measure", "variant", "scope", "histogram"]
    charged = penalised(advice, limit, longest=longest)
    charged["share"] = regret_share(charged)
    rows = []
    for key, everything in advice.groupby(groups, sort=True):
        part = charged.loc[charged.index.intersection(everything.index)]
        rows.append(
            dict(zip(groups, key, strict=True))
            | {
                "best": _winners(everything["best"]),
                "certified": int(everything["certified"].sum()),
                "regret": part["regret"].mean(),
                "share": part["share"].mean(),
                "tau": part["tau"].mean(),
                "pud_error": part["pud_error"].mean(),
                "pud_true_min": everything["pud_true_min"].mean(),
                "pud_true_mean": everything["pud_true_mean"].mean(),
                "seconds": _mean_time(part),
                "runs": len(everything),
            }
            | _lost(everything, NO_WINNER, FAILED, TIMED_OUT, SKIPPED)
        )
    columns = [
        _DATASET,
        Column("measure", "measure", "category"),
        *_RUN,
        Column("best", "winner", "text", "over the seeds, how often where they differ"),
        Column("certified", "certified", "count", "runs whose order was proved"),
        Column(
            "regret",
            "regret",
            "number",
            "true deviation of the winner minus the least, in the measure's unit",
        ),
        _REGRET,
        _TAU,
        Column("pud_error", "PUD error", "number", "mean of abs(estimated - true) over the configurations"),
        Column("pud_true_min", "least PUD", "number", "true deviation of the best configuration"),
        Column("pud_true_mean", "random PUD", "number", "true deviation of a configuration drawn at random"),
        _SECONDS,
        Column("runs", "runs", "count", "seeds"),
        Column("no_winner", "no winner", "count", "charged as a choice at random"),
        *_LOST,
    ]
    note = (
        "One line per data set, measure and variant, averaged over seeds. Failures are charged in the means "
        "of regret and time; tau and PUD error are averaged over the runs that have them."
    )
    return _table("advice", "Advice in detail", note, columns, pd.DataFrame(rows))


def _reconstructions(reconstructions: pd.DataFrame, limit: float | None, longest: float | None) -> PageTable:
    groups = ["dataset", "variant", "scope", "histogram"]
    frame = once(reconstructions)
    charged = penalised(frame, limit, longest=longest)
    problem = list(RECONSTRUCTION)
    same = ["dataset", "scope", "histogram"]
    known = Counter(frame[problem].drop_duplicates()[same].itertuples(index=False, name=None))
    rows = []
    for key, everything in frame.groupby(groups, sort=True):
        part = charged.loc[charged.index.intersection(everything.index)]
        problems = known[key[0], key[2], key[3]]
        rows.append(
            dict(zip(groups, key, strict=True))
            | {
                "ran_on": f"{part.groupby(problem).ngroups:,} of {problems:,}",
                "mean": part["tvd"].mean(),
                "median": part["tvd"].median(),
                "residual": part["residual"].max(),
                "seconds": _mean_time(part),
                "optimal": part["optimal"].mean(),
                "peak": part["peak_mb"].max(),
                "runs": len(everything),
            }
            | _lost(everything, FAILED, TIMED_OUT, SKIPPED)
        )
    columns = [
        _DATASET,
        *_RUN,
        Column("ran_on", "ran on", "text", "problems tried, of those of all variants; failures included"),
        Column(
            "mean", "mean TVD", "bar", "total variation distance to the raw joint table; a failure counts 1"
        ),
        Column("median", "median TVD", "bar", "a failure counts 1"),
        Column(
            "residual", "worst residual", "number", "largest violation of a known total, in records, verified"
        ),
        _SECONDS,
        Column("optimal", "optimal", "share", "of the runs: proved to be closest to the prior"),
        Column("peak", "peak MiB", "number", "largest growth of resident memory"),
        Column(
            "runs", "runs", "count", "masked tables and seeds; a table that configurations share counts once"
        ),
        *_LOST,
    ]
    note = (
        "Single tables against the raw ones. Failures are charged in the means of TVD and time. Where a "
        "variant did not run on all problems, its means are of those it ran on: compare with care."
    )
    return _table("reconstructions", "Reconstructions", note, columns, pd.DataFrame(rows))


def _without_result(results: Results) -> PageTable:
    """List the runs that failed, timed out, were skipped or named no winner, by reason."""
    groups = ["status", "variant", "dataset", "scope", "histogram", "error"]
    parts = []
    for kind, frame, about in (
        ("advice", results.advice, "measure"),
        ("reconstruction", once(results.reconstructions), "attribute"),
    ):
        lost = frame[frame["status"].isin([FAILED, TIMED_OUT, SKIPPED, NO_WINNER])]
        kept = lost[groups].assign(kind=kind, about=lost[about])
        parts.append(kept.astype(object).where(kept.notna(), ""))
    rows = []
    for key, part in pd.concat(parts).groupby([*groups, "kind"], sort=True):
        named = dict(zip([*groups, "kind"], key, strict=True))
        rows.append(named | {"about": ", ".join(sorted(set(part["about"]))), "runs": len(part)})
    columns = [
        Column("status", "status", "category"),
        Column("kind", "kind", "category"),
        _DATASET,
        *_RUN,
        Column("about", "measures or attributes", "text"),
        Column("runs", "runs", "count"),
        Column("error", "reason", "text"),
    ]
    note = "Nothing is left out silently: each of these is counted above, or says why it was not tried."
    keys = [column.key for column in columns]
    return _table("without-result", "Runs without a result", note, columns, pd.DataFrame(rows, columns=keys))


def _table(name: str, title: str, note: str, columns: list[Column], frame: pd.DataFrame) -> PageTable:
    rows = [
        [_plain(value) for value in row]
        for row in frame[[column.key for column in columns]].itertuples(index=False)
    ]
    return PageTable(name, title, note, columns, rows)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return value


def _winners(best: pd.Series[Any]) -> str | None:
    counts = best.value_counts()
    if len(counts) < 2:
        return str(counts.index[0]) if len(counts) else None
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _mean_time(charged: pd.DataFrame) -> float:
    return mean_time(charged["seconds_total"], TIME_SHIFT)


def _lost(frame: pd.DataFrame, *statuses: str) -> dict[str, int]:
    counts = frame["status"].value_counts()
    return {status.replace(" ", "_"): int(counts.get(status, 0)) for status in statuses}
