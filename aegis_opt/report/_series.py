"""The numbers behind every figure, computed once for the page and for the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt.errors import UnknownMeasure
from aegis_opt.harness import Results
from aegis_opt.harness._schema import COLUMNS, FAILED, KEYS, NO_WINNER, SKIPPED, TIMED_OUT, TableName
from aegis_opt.harness._statistics import RECONSTRUCTION, mean_time, penalised, performance_profile
from aegis_opt.measures import get_measure

TIME_SHIFT = 0.01
"""Seconds added in geometric means of times: differences far below it do not count."""
PROFILE_SHIFTS = {"seconds_total": 0.001, "tvd": 0.01}
"""Added before ratios are taken: being twice as fast as a microsecond is no merit, nor is TVD 1e-9."""

FEW = 5
"""Fewer values than this are drawn one by one: quartiles of so few say nothing."""


@dataclass(frozen=True)
class Box:
    """Distribution of TVDs: quartiles, whiskers to the last value within 1.5 interquartile ranges.

    `dots` are the values beyond the whiskers; all values where they are too few for a box.
    """

    variant: str
    histogram: bool
    n: int
    partial: bool  # not tried on all problems, so not to be compared with who was
    charged: int
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
    of: int  # what the most tried variant was tried on; only who tried as much can be on the front
    charged: int
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
    """What the advice costs: 0 where the best configuration was found, 1 as bad as choosing at random."""

    variant: str
    histogram: bool
    dataset: str
    measure: str
    share: float | None  # None: all configurations are equally good, or nothing was tried
    regret: float | None
    tau: float | None
    n: int
    charged: int
    note: str


@dataclass(frozen=True)
class Choice:
    """The winner's deviation, as the advisor estimated it and in truth."""

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
class View:
    """All figures for one data set (None: all of them together) and one scope."""

    dataset: str | None
    scope: str
    boxes: list[Box]
    points: list[Point]
    time_profile: Profile | None
    tvd_profile: Profile | None
    cells: list[Cell]
    choices: list[Choice]
    notes: dict[str, str]


def views_of(results: Results) -> list[View]:
    """Return one view per scope and data set; the first of a scope is of all data sets together.

    Parameters
    ----------
    results : Results
        With the column types of a results folder (`typed`).

    Notes
    -----
    Scopes are never mixed: a reconstruction from all views and one from a single view are different problems.
    """
    limit = results.meta["settings"].get("time_limit")
    tables = once(results.reconstructions)
    longest = longest_time(results)
    charged = penalised(tables, limit, longest=longest) if len(tables) else tables
    advice = results.advice
    charged_advice = penalised(advice, limit, longest=longest) if len(advice) else advice
    datasets = sorted({*tables["dataset"], *advice["dataset"]})
    wanted: list[str | None] = [None, *datasets] if len(datasets) > 1 else [*datasets]
    views = []
    for scope in sorted({*tables["scope"], *advice["scope"]}):
        all_cells = list(_cells(_of(advice, None, scope), _of(charged_advice, None, scope)))
        all_choices = list(_choices(_of(charged_advice, None, scope)))
        for dataset in wanted:
            tried = _of(charged, dataset, scope)
            profiles = {metric: _profile(_of(tables, dataset, scope), metric) for metric in PROFILE_SHIFTS}
            boxes = list(_boxes(tried, _of(tables, dataset, scope)))
            cells = [cell for cell in all_cells if dataset in (None, cell.dataset)]
            choices = [choice for choice in all_choices if dataset in (None, choice.dataset)]
            views.append(
                View(
                    dataset,
                    scope,
                    boxes,
                    _points(tried),
                    profiles["seconds_total"],
                    profiles["tvd"],
                    cells,
                    choices,
                    _notes(tried, _of(advice, dataset, scope), boxes, profiles, cells, choices, limit),
                )
            )
    return views


def typed(frame: pd.DataFrame, table: TableName) -> pd.DataFrame:
    """Give a table the types and order of a results folder; what is unknown is not true."""
    kinds = COLUMNS[table]
    numbers = frame.astype({name: "float64" for name, kind in kinds.items() if kind == "DOUBLE"})
    for name, kind in kinds.items():
        if kind == "BOOLEAN":
            numbers[name] = numbers[name].astype("boolean").fillna(False).astype(bool)
    return numbers.sort_values(KEYS[table], kind="stable", ignore_index=True)


def once(reconstructions: pd.DataFrame) -> pd.DataFrame:
    """One row per reconstruction: configurations that share a masked table share its numbers."""
    table = reconstructions["table"].astype(object)
    shared = table.where(table.notna(), reconstructions["configuration"])
    keys = reconstructions[["dataset", "variant", "scope", "histogram", "seed", "attribute"]]
    return reconstructions[~keys.assign(shared=shared).duplicated()]


def variants_of(results: Results) -> list[str]:
    """Return the variants, those of the plan first and in its order."""
    found = {*results.reconstructions["variant"], *results.advice["variant"]}
    planned = [name for name in results.meta["plan"].get("variants", []) if name in found]
    return [*planned, *sorted(found.difference(planned))]


def measure_title(name: str) -> tuple[str, str]:
    """Title and unit of a measure; its name where it is no longer registered."""
    try:
        measure = get_measure(name)
    except UnknownMeasure:
        return name, ""
    return measure.title, measure.unit


def longest_time(results: Results) -> float | None:
    """Return the longest time known of any run, in seconds; None where no run has one."""
    times = pd.concat([results.advice["seconds_total"], results.reconstructions["seconds_total"]])
    return _number(times[times > 0].max())


def regret_share(charged: pd.DataFrame) -> pd.Series[float]:
    """Regret in units of what a random choice loses; NaN where every configuration is as good."""
    floor = charged["pud_true_mean"] - charged["pud_true_min"]
    return (charged["regret"] / floor).where(floor > 1e-12 * charged["pud_true_max"].abs())


def count_lost(frame: pd.DataFrame) -> int:
    """Count the runs without a result: failed or timed out."""
    return int(frame["status"].isin([FAILED, TIMED_OUT]).sum())


def plural(count: int, noun: str) -> str:
    """Say how many.

    Examples
    --------
    >>> plural(1, "run"), plural(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _of(frame: pd.DataFrame, dataset: str | None, scope: str) -> pd.DataFrame:
    chosen = frame["scope"] == scope
    return frame[chosen if dataset is None else chosen & (frame["dataset"] == dataset)]


def _by_variant(frame: pd.DataFrame) -> Iterator[tuple[str, bool, pd.DataFrame]]:
    for key, part in frame.groupby(["variant", "histogram"], sort=True):
        variant, histogram = key
        yield str(variant), bool(histogram), part


def _boxes(charged: pd.DataFrame, everything: pd.DataFrame) -> Iterator[Box]:
    problem = list(RECONSTRUCTION)
    known = everything[problem].drop_duplicates()["histogram"].value_counts()
    for variant, histogram, part in _by_variant(charged):
        values = np.sort(part["tvd"].to_numpy(dtype=np.float64))
        q1, median, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
        reach = 1.5 * (q3 - q1)
        inside = values[(values >= q1 - reach) & (values <= q3 + reach)]
        dots = values if len(values) < FEW else values[(values < q1 - reach) | (values > q3 + reach)]
        low, high = float(inside.min()), float(inside.max())
        mean = float(values.mean())
        yield Box(
            variant,
            histogram,
            len(values),
            len(part[problem].drop_duplicates()) < int(known[histogram]),
            count_lost(part),
            *(low, q1, median, q3, high, mean),
            np.unique(dots.round(4)).tolist(),
        )


def _points(charged: pd.DataFrame) -> list[Point]:
    problems = list(RECONSTRUCTION)
    found = []
    for variant, histogram, part in _by_variant(charged):
        seconds = mean_time(part["seconds_total"], TIME_SHIFT)
        if np.isnan(seconds):  # nothing ran, and no time is known to charge: it has no place on the axis
            continue
        tried = len(part[problems].drop_duplicates())
        found.append((variant, histogram, tried, count_lost(part), seconds, float(part["tvd"].mean())))
    points = []
    for variant, histogram, tried, lost, seconds, tvd in found:
        rivals = [other for other in found if other[1] == histogram]
        most = max(other[2] for other in rivals)
        beaten = any(
            other[2] == most
            and other[4] <= seconds
            and other[5] <= tvd
            and (other[4], other[5]) != (seconds, tvd)
            for other in rivals
        )
        front = tried == most and not beaten
        points.append(Point(variant, histogram, tried, most, lost, seconds, tvd, front))
    return points


def _profile(frame: pd.DataFrame, metric: str) -> Profile | None:
    tried = frame[frame["status"] != SKIPPED]
    if tried.empty:
        return None
    shift = PROFILE_SHIFTS[metric]
    found = performance_profile(tried, metric, shift=shift)
    n = len(tried[list(RECONSTRUCTION)].drop_duplicates())
    shares = {str(name): found[name].round(4).tolist() for name in found}
    return Profile(metric, shift, n, found.index.to_numpy().tolist(), shares)


def _cells(all_rows: pd.DataFrame, charged: pd.DataFrame) -> Iterator[Cell]:
    shares = regret_share(charged) if len(charged) else pd.Series(dtype=float)
    for key, part in all_rows.groupby(["variant", "histogram", "dataset", "measure"], sort=True):
        variant, histogram, dataset, measure = key
        rows = charged.loc[charged.index.intersection(part.index)]
        said = _counted(part["status"])
        share = _number(shares.loc[rows.index].mean())
        if len(rows) and share is None:
            said.append("all configurations are equally good")
        lost = count_lost(rows) + int((rows["status"] == NO_WINNER).sum())
        regret, tau = _number(rows["regret"].mean()), _number(rows["tau"].mean())
        yield Cell(
            *(str(variant), bool(histogram), str(dataset), str(measure)),
            *(share, regret, tau),
            *(len(rows), lost, ", ".join(said)),
        )


def _choices(charged: pd.DataFrame) -> Iterator[Choice]:
    decided = (
        charged[charged["best"].notna() & charged["pud_best_estimated"].notna()] if len(charged) else charged
    )
    for row in decided.to_dict("records"):
        yield Choice(
            *(str(row["variant"]), bool(row["histogram"]), str(row["dataset"]), str(row["measure"])),
            *(int(row["seed"]), str(row["best"])),
            *(float(row["pud_best_estimated"]), float(row["pud_best_true"]), float(row["pud_true_min"])),
            bool(row["certified"]),
        )


def _notes(
    tried: pd.DataFrame,
    advice: pd.DataFrame,
    boxes: Sequence[Box],
    profiles: dict[str, Profile | None],
    cells: Sequence[Cell],
    choices: Sequence[Choice],
    limit: float | None,
) -> dict[str, str]:
    """One sentence under each figure: the sample and how failures are counted."""
    lost = count_lost(tried)
    time = f"the time limit of {limit:g} s" if limit is not None else "the longest time seen"
    if tried["seconds_total"].isna().any():
        time = "an unknown time, so not drawn"
    runs = plural(len(tried), "reconstruction")
    notes = {
        "tvd": f"{runs}, each masked table once."
        + _charged(lost, "TVD 1")
        + (" * not run on all problems." if any(box.partial for box in boxes) else ""),
        "pareto": f"{runs}. Times are geometric means with a shift of {TIME_SHIFT:g} s."
        + _charged(lost, f"TVD 1 and {time}"),
        "regret": f"{plural(sum(cell.n for cell in cells), 'advisor run')}, averaged over seeds."
        + _charged(
            sum(cell.charged for cell in cells), "a random choice (no winner) or the worst one (failed)"
        ),
        "ranking": _endings(advice),
        "estimate": f"{plural(len(choices), 'advisor run')} that named a winner; others are in the tables.",
    }
    for name, metric, unit in (("profile-time", "seconds_total", " s"), ("profile-tvd", "tvd", "")):
        profile = profiles[metric]
        notes[name] = f"{plural(profile.n if profile else 0, 'problem')}, averaged over seeds."
        notes[name] += f" Ratios after adding {PROFILE_SHIFTS[metric]:g}{unit}."
        notes[name] += " A failure, or a problem not tried, is never within."
    return notes


def _endings(advice: pd.DataFrame) -> str:
    """Say how many runs there are to choose from, and how those without a winner ended."""
    ended = _counted(advice["status"])
    found = plural(len(advice), "advisor run")
    return f"{found} to choose from, among them {', '.join(ended)}." if ended else f"{found} to choose from."


def _charged(count: int, cost: str) -> str:
    return f" {plural(count, 'run')} without a result charged as {cost}." if count else ""


def _counted(status: pd.Series[str]) -> list[str]:
    """Count the runs that ended without a winner, by how they ended."""
    counts = status.value_counts()
    endings = (NO_WINNER, FAILED, TIMED_OUT, SKIPPED)
    return [f"{count:,} {ending}" for ending in endings if (count := counts.get(ending, 0))]


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
