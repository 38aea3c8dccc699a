"""Results prepared for tables and figures: typed, each masked table once, failures penalised."""

from __future__ import annotations

from typing import Any

import pandas as pd

from aegis_opt.errors import UnknownMeasure
from aegis_opt.harness import Results, penalised
from aegis_opt.harness._schema import COLUMNS, FAILED, KEYS, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.harness._statistics import mean_time, share_of_random_loss
from aegis_opt.measures import get_measure

TIME_SHIFT = 0.01
"""Seconds added in geometric means of times: differences far below it do not count."""

ENDINGS = {status: status.replace(" ", "_") for status in (NO_WINNER, FAILED, TIMED_OUT, SKIPPED)}
"""How a run without a winner ends, and the column that counts such runs."""


def typed(results: Results) -> Results:
    """Give every table the types and the order of a results folder; a missing truth value is False."""
    frames = {}
    for table, kinds in COLUMNS.items():
        numbers = {name: "float64" for name, kind in kinds.items() if kind == "DOUBLE"}
        frame = getattr(results, table).astype(numbers)
        for name in (name for name, kind in kinds.items() if kind == "BOOLEAN"):
            frame[name] = frame[name].astype("boolean").fillna(False).astype(bool)
        frames[table] = frame.sort_values(KEYS[table], kind="stable", ignore_index=True)
    return Results(**frames, meta=results.meta)


def penalised_results(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the advice and the reconstructions that were tried, with failures penalised.

    Advice gets a column `share`: the regret in units of what a random choice loses, NaN where every
    configuration is equally good. Each masked table is reconstructed `once`.
    """
    limit, longest = time_limit(results), longest_time(results)
    advice = penalised(results.advice, limit, longest=longest)
    tables = penalised(once(results.reconstructions), limit, longest=longest)
    return advice.assign(share=share_of_random_loss(advice)), tables


def once(reconstructions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per reconstruction: configurations that share a masked table share its numbers."""
    table = reconstructions["table"].astype(object)
    shared = table.where(table.notna(), reconstructions["configuration"])
    keys = reconstructions[["dataset", "variant", "scope", "histogram", "seed", "attribute"]]
    return reconstructions[~keys.assign(shared=shared).duplicated()]


def advice_by_group(results: Results) -> pd.DataFrame:
    """Return one row per data set, measure, variant, scope and use of histograms, averaged over seeds."""
    groups = ["dataset", "measure", "variant", "scope", "histogram"]
    tried, _ = penalised_results(results)
    if results.advice.empty:
        return pd.DataFrame()
    flags = {column: results.advice["status"] == status for status, column in ENDINGS.items()}
    everything = results.advice.assign(**flags).groupby(groups, sort=True)
    part = tried.groupby(groups, sort=True)
    found = pd.DataFrame(
        {"best": everything["best"].agg(_winners), "certified": everything["certified"].sum()}
    )
    found = found.join(part[["regret", "share", "tau", "pud_error"]].mean())
    found = found.join(everything[["pud_true_min", "pud_true_mean"]].mean())
    found = found.join(
        part["seconds_total"].agg(lambda times: mean_time(times, TIME_SHIFT)).rename("seconds")
    )
    found["runs"] = everything.size()
    return found.join(everything[[*flags]].sum()).reset_index()


def _winners(best: pd.Series[Any]) -> str | None:
    counts = best.value_counts()
    if len(counts) < 2:
        return str(counts.index[0]) if len(counts) else None
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def count_endings(frame: pd.DataFrame) -> dict[str, int]:
    """Count the runs without a winner, by column of `ENDINGS`."""
    counts = frame["status"].value_counts()
    return {column: int(counts.get(status, 0)) for status, column in ENDINGS.items()}


def count_failures(frame: pd.DataFrame) -> int:
    """Count the runs that failed or timed out."""
    return int(frame["status"].isin([FAILED, TIMED_OUT]).sum())


def time_limit(results: Results) -> float | None:
    """Return the time limit of the comparison, in seconds."""
    limit: float | None = results.meta["settings"].get("time_limit")
    return limit


def longest_time(results: Results) -> float | None:
    """Return the longest time known of any run, in seconds; None where no run has one."""
    times = pd.concat([results.advice["seconds_total"], results.reconstructions["seconds_total"]])
    return optional(times[times > 0].max())


def variants_of(results: Results) -> list[str]:
    """Return the variants, those of the plan first and in its order."""
    found = {*results.reconstructions["variant"], *results.advice["variant"]}
    planned = [name for name in results.meta["plan"].get("variants", []) if name in found]
    return [*planned, *sorted(found.difference(planned))]


def measure_title(name: str) -> tuple[str, str]:
    """Return title and unit of a measure; its name where it is no longer registered."""
    try:
        measure = get_measure(name)
    except UnknownMeasure:
        return name, ""
    return measure.title, measure.unit


def optional(value: Any) -> float | None:
    """Return a number, or None for a gap."""
    return None if pd.isna(value) else float(value)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: 1 run, 1,200 runs."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
