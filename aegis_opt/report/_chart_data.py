"""The numbers behind every figure, computed once for the page and for the saved pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._schema import SKIPPED
from aegis_opt.harness._statistics import RECONSTRUCTION, mean_time, performance_profile
from aegis_opt.report import _prepared_results as prepared
from aegis_opt.report._prepared_results import optional, plural

PROFILE_SHIFTS = {"seconds_total": 0.001, "tvd": 0.01}
"""Added before ratios are taken: being twice as fast as a microsecond is no merit, nor is TVD 1e-9."""

FEW = 5
"""Fewer values than this are drawn one by one: quartiles of so few say nothing."""

_PROBLEM = list(RECONSTRUCTION)


@dataclass(frozen=True)
class BoxStatistics:
    """Distribution of TVDs: quartiles, whiskers to the last value within 1.5 interquartile ranges.

    `dots` are the values beyond the whiskers, or all values where they are too few for a box.
    """

    variant: str
    histogram: bool
    n: int
    partial: bool  # not tried on all problems, so not comparable with variants that were
    penalised: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    mean: float
    dots: list[float]


@dataclass(frozen=True)
class Point:
    """A variant by its time and its TVD; `front` where no other is better in both."""

    variant: str
    histogram: bool
    n: int
    of: int  # problems of the most tried variant; only a variant that tried as many can be on the front
    penalised: int
    seconds: float
    tvd: float
    front: bool


@dataclass(frozen=True)
class Profile:
    """Share of the problems that each variant solves within a factor of the best one."""

    metric: str
    shift: float
    n: int
    taus: list[float]
    shares: dict[str, list[float]]


@dataclass(frozen=True)
class Cell:
    """What the advice costs: 0 where the best configuration was found, 1 where it is as bad as chance."""

    variant: str
    histogram: bool
    dataset: str
    measure: str
    share: float | None  # None: all configurations are equally good, or nothing was tried
    regret: float | None
    tau: float | None
    seconds: float | None
    n: int
    penalised: int
    note: str


@dataclass(frozen=True)
class Choice:
    """The winner's deviation, as the advisor estimated it and as it truly is."""

    variant: str
    histogram: bool
    dataset: str
    measure: str
    seed: int
    best: str
    estimated: float
    true: float
    least: float
    certified: bool


@dataclass(frozen=True)
class Selection:
    """The data of all figures for one data set (None: all of them together) and one scope."""

    dataset: str | None
    scope: str
    boxes: list[BoxStatistics]
    points: list[Point]
    time_profile: Profile | None
    tvd_profile: Profile | None
    cells: list[Cell]
    choices: list[Choice]
    notes: dict[str, str]


def selections_of(results: Results, averages: pd.DataFrame) -> list[Selection]:
    """Return one selection per scope and data set of `typed` results, that of all data sets first.

    `averages` are those of `advice_by_group`. Scopes are never mixed: a reconstruction from all views and
    one from a single view are different problems.
    """
    tables, advice = prepared.once(results.reconstructions), results.advice
    tried_advice, tried_tables = prepared.penalised_results(results)
    if len(tables):  # each problem has a number, which is quicker to count than its five names
        tables = tables.assign(problem=tables.groupby(_PROBLEM, sort=False, dropna=False).ngroup())
        tried_tables = tried_tables.assign(problem=tables["problem"])
    datasets = sorted({*tables["dataset"], *advice["dataset"]})
    wanted: list[str | None] = [None, *datasets] if len(datasets) > 1 else [*datasets]
    selections = []
    for scope in sorted({*tables["scope"], *advice["scope"]}):
        for dataset in wanted:
            everything = _select(tables, dataset, scope)
            tried = _select(tried_tables, dataset, scope)
            profiles = {metric: _profile(everything, metric) for metric in PROFILE_SHIFTS}
            boxes = list(_boxes(tried, everything))
            cells = list(_cells(_select(averages, dataset, scope)))
            choices = list(_choices(_select(tried_advice, dataset, scope)))
            notes = {
                "ranking": _ranking_note(_select(advice, dataset, scope)),
                **_advice_notes(cells, choices),
                **_reconstruction_notes(tried, boxes, profiles, prepared.time_limit(results)),
            }
            time, tvd = profiles["seconds_total"], profiles["tvd"]
            figures = Selection(dataset, scope, boxes, _points(tried), time, tvd, cells, choices, notes)
            selections.append(figures)
    return selections


def _select(frame: pd.DataFrame, dataset: str | None, scope: str) -> pd.DataFrame:
    if frame.empty:
        return frame
    chosen = frame["scope"] == scope
    return frame[chosen if dataset is None else chosen & (frame["dataset"] == dataset)]


def _by_variant(frame: pd.DataFrame) -> Iterator[tuple[str, bool, pd.DataFrame]]:
    for key, part in frame.groupby(["variant", "histogram"], sort=True):
        variant, histogram = key
        yield str(variant), bool(histogram), part


def _count_problems(frame: pd.DataFrame) -> int:
    return int(frame["problem"].nunique()) if len(frame) else 0


def _boxes(tried: pd.DataFrame, everything: pd.DataFrame) -> Iterator[BoxStatistics]:
    for variant, histogram, part in _by_variant(tried):
        values = np.sort(part["tvd"].to_numpy(dtype=np.float64))
        q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
        reach = 1.5 * (q3 - q1)
        outside = (values < q1 - reach) | (values > q3 + reach)
        inside = values[~outside]
        dots = values if len(values) < FEW else values[outside]
        yield BoxStatistics(
            *(variant, histogram, len(values)),
            _count_problems(part) < _count_problems(everything[everything["histogram"] == histogram]),
            prepared.count_failures(part),
            *(float(inside.min()), q1, median, q3, float(inside.max()), float(values.mean())),
            np.unique(dots.round(4)).tolist(),
        )


def _points(tried: pd.DataFrame) -> list[Point]:
    found = []
    for variant, histogram, part in _by_variant(tried):
        seconds, n = mean_time(part["seconds_total"], prepared.TIME_SHIFT), _count_problems(part)
        if not np.isnan(seconds):  # without any known time it has no place on the axis
            tvd = float(part["tvd"].mean())
            found.append(
                Point(variant, histogram, n, n, prepared.count_failures(part), seconds, tvd, front=False)
            )
    points = []
    for point in found:
        rivals = [other for other in found if other.histogram == point.histogram]
        most = max(other.n for other in rivals)
        beaten = any(
            other.n == most
            and (other.seconds <= point.seconds and other.tvd <= point.tvd)
            and (other.seconds, other.tvd) != (point.seconds, point.tvd)
            for other in rivals
        )
        points.append(replace(point, of=most, front=point.n == most and not beaten))
    return points


def _profile(everything: pd.DataFrame, metric: str) -> Profile | None:
    tried = everything[everything["status"] != SKIPPED]
    if tried.empty:
        return None
    shift = PROFILE_SHIFTS[metric]
    found = performance_profile(tried, metric, shift=shift)
    shares = {str(name): found[name].round(4).tolist() for name in found}
    return Profile(metric, shift, _count_problems(tried), found.index.to_numpy().tolist(), shares)


def _cells(averages: pd.DataFrame) -> Iterator[Cell]:
    if averages.empty:
        return
    order = ["variant", "histogram", "dataset", "measure"]
    for row in averages.sort_values(order).to_dict("records"):
        n, share = row["runs"] - row["skipped"], optional(row["share"])
        notes = _endings(row)
        if n and share is None:
            notes.append("all configurations are equally good")
        yield Cell(
            **{key: row[key] for key in order},
            share=share,
            regret=optional(row["regret"]),
            tau=optional(row["tau"]),
            seconds=optional(row["seconds"]),
            n=n,
            penalised=row["failed"] + row["timed_out"] + row["no_winner"],
            note=", ".join(notes),
        )


def _choices(tried: pd.DataFrame) -> Iterator[Choice]:
    named = tried[tried["best"].notna() & tried["pud_best_estimated"].notna()]
    order = ["variant", "histogram", "dataset", "measure", "seed", "best"]
    numbers = ["pud_best_estimated", "pud_best_true", "pud_true_min", "certified"]
    for row in named.to_dict("records"):
        yield Choice(*(row[key] for key in [*order, *numbers]))


def _reconstruction_notes(
    tried: pd.DataFrame,
    boxes: Sequence[BoxStatistics],
    profiles: dict[str, Profile | None],
    limit: float | None,
) -> dict[str, str]:
    """One sentence under each figure: the sample and how failures are counted."""
    failures = prepared.count_failures(tried)
    time = f"the time limit of {limit:g} s" if limit is not None else "the longest time measured"
    if tried["seconds_total"].isna().any():
        time = "an unknown time, so not drawn"
    runs = plural(len(tried), "reconstruction")
    notes = {
        "tvd": f"{runs}, each masked table once."
        + _penalty(failures, "TVD 1")
        + (" * not run on all problems." if any(box.partial for box in boxes) else ""),
        "pareto": f"{runs}. Times are geometric means with a shift of {prepared.TIME_SHIFT:g} s."
        + _penalty(failures, f"TVD 1 and {time}"),
    }
    for name, metric, unit in (("profile-time", "seconds_total", " s"), ("profile-tvd", "tvd", "")):
        profile = profiles[metric]
        notes[name] = (
            f"{plural(profile.n if profile else 0, 'problem')}, averaged over seeds. Ratios after adding "
            f"{PROFILE_SHIFTS[metric]:g}{unit}. A failure, or a problem not tried, counts as not solved."
        )
    return notes


def _advice_notes(cells: Sequence[Cell], choices: Sequence[Choice]) -> dict[str, str]:
    penalised = sum(cell.penalised for cell in cells)
    runs = plural(sum(cell.n for cell in cells), "advisor run")
    cost = "a random choice (no winner) or the worst one (failed)"
    return {
        "regret": f"{runs}, averaged over seeds." + _penalty(penalised, cost),
        "estimate": f"{plural(len(choices), 'advisor run')} that named a winner; the tables list the others.",
    }


def _ranking_note(advice: pd.DataFrame) -> str:
    """Say how many runs there are to choose from, and how those without a winner ended."""
    ended = _endings(prepared.count_endings(advice))
    found = f"{plural(len(advice), 'advisor run')} to choose from"
    return f"{found}, among them {', '.join(ended)}." if ended else f"{found}."


def _endings(counts: Mapping[Any, Any]) -> list[str]:
    return [f"{counts[column]:,} {status}" for status, column in prepared.ENDINGS.items() if counts[column]]


def _penalty(count: int, cost: str) -> str:
    return f" {plural(count, 'run')} without a result penalised as {cost}." if count else ""
