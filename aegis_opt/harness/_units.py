"""Units of work: advisor runs and reconstructions, which run anywhere and are judged by the truth."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from aegis_opt.advisor import Advice, advise
from aegis_opt.errors import InvalidOption, MissingDependency, RoundingImpossible
from aegis_opt.harness._schema import FAILED, NO_WINNER, OK, SKIPPED, Row, TableName
from aegis_opt.harness._truth import ScannedCase
from aegis_opt.harness._variant import Variant
from aegis_opt.measures import Measure, tvd
from aegis_opt.problem import Problem
from aegis_opt.solvers.reconstruction import Status

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_EQUAL = 9  # digits, relative to the largest deviation, up to which two deviations are tied


@dataclass(frozen=True)
class Unit:
    """One unit of work: an advisor run (it has a measure), or the reconstructions of one attribute.

    Its results are one file. All its randomness comes from `seed`, so they do not depend on who runs it.
    """

    dataset: str
    variant: Variant
    scope: str
    histogram: bool
    seed: int
    measure: str | None = None
    attribute: str | None = None

    @property
    def table(self) -> TableName:
        """The table of results that its rows belong to."""
        return "advice" if self.measure is not None else "reconstructions"

    def key(self, fingerprint: str) -> str:
        """Name of its file: a digest of what it is and of the data it is about."""
        parts = [
            *(fingerprint, self.dataset, str(self.variant), self.scope, self.histogram, self.seed),
            *(self.measure, self.attribute),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


class Finding(NamedTuple):
    """What one piece of a unit found: its row and, of an advisor run, the configurations in order."""

    row: Row
    ranking: tuple[Row, ...] = ()


class UnitResult(NamedTuple):
    """The rows of a unit and, of an advisor run, the configurations in order."""

    rows: list[Row]
    ranking: list[Row]


@dataclass(frozen=True, eq=False)
class Job:
    """All that a process needs to run units: the data sets, the measures, and the true deviations."""

    datasets: dict[str, ScannedCase]
    measures: dict[str, Measure]
    truth: dict[tuple[str, str], pd.Series]  # of every configuration, by data set and measure
    replicates: int


def run_unit(job: Job, unit: Unit, execute: Callable[[Unit, int | None], Finding]) -> UnitResult:
    """Run every piece of a unit by `execute`, here or in another process, and fill in what is known of it."""
    rows: list[Row] = []
    ranking: list[Row] = []
    for piece in _pieces(job, unit):
        found = execute(unit, piece)
        rows.append(_blank_row(job, unit, piece) | found.row)
        ranking += found.ranking
    return UnitResult(_for_configurations(job, unit, rows), ranking)


def _pieces(job: Job, unit: Unit) -> list[int | None]:
    """List the masked tables to reconstruct alone; [None] for all views together, or for an advisor run."""
    if unit.attribute is None or unit.scope == "pooled":
        return [None]
    return list(range(len(job.datasets[unit.dataset].summary.attributes[unit.attribute].tables)))


def _blank_row(job: Job, unit: Unit, piece: int | None) -> Row:
    """Return what is known of a row before the work: everything but the outcome."""
    summary = job.datasets[unit.dataset].summary
    row = _run_columns(unit)
    row |= {"n_records": summary.n_records, "n_labels": summary.n_classes}
    if unit.measure is not None:
        truth = job.truth[unit.dataset, unit.measure]
        return row | {
            "n_configurations": len(truth),
            "smallest_class": int(job.datasets[unit.dataset].label_counts.min()),
            "pud_true_min": float(truth.min()),
            "pud_true_mean": float(truth.mean()),
            "pud_true_max": float(truth.max()),
        }
    attribute = summary.attributes[str(unit.attribute)]
    return row | {
        "attribute": unit.attribute,
        "table": piece,
        "n_values": attribute.n_values,
        "n_groups": None if piece is None else attribute.tables[piece].n_groups,
    }


def execute(job: Job, unit: Unit, piece: int | None) -> Finding:
    """Run one piece and return what it found, whatever happens."""
    try:
        if unit.variant.is_random_choice:
            return Finding(_choose_at_random(job.truth[unit.dataset, str(unit.measure)]))
        if unit.measure is not None:
            return _advise(job, unit)
        return Finding(_reconstruct(job, unit, piece))
    except (MissingDependency, InvalidOption, RoundingImpossible) as error:
        # not installed, or not made for such problems: not a failure, but visible
        return Finding({"status": SKIPPED, "error": str(error)})
    except Exception as error:  # a solver may fail in any way, and every failure is a row
        return Finding({"status": FAILED, "error": f"{type(error).__name__}: {error}"})


def _for_configurations(job: Job, unit: Unit, rows: list[Row]) -> list[Row]:
    """Give each configuration its row: those that share a masked table share the reconstruction."""
    if unit.attribute is None:
        return rows
    if unit.scope == "pooled":
        return [row | {"configuration": "*"} for row in rows]
    chosen = job.datasets[unit.dataset].summary.configurations
    return [rows[tables[unit.attribute]] | {"configuration": name} for name, tables in chosen.items()]


@cache
def warm_up(variant: Variant) -> None:
    """Solve two tiny problems, so that imports are not counted as solving time."""
    if variant.is_random_choice:
        return
    table = [[3, 1], [0, 2], [1, 1], [2, 0]]
    for groups in ([0, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]):
        try:
            variant.reconstructor().reconstruct(Problem.from_table(table, groups))
        except Exception:  # the work itself will say what is wrong, if anything is, and be a row
            continue


def _run_columns(unit: Unit) -> Row:
    """What every row of a unit has in common."""
    variant = unit.variant
    minimises = not variant.is_random_choice and variant.kind.capabilities.norms
    return {name: getattr(unit, name) for name in ("dataset", "scope", "histogram", "seed", "measure")} | {
        "variant": str(variant),
        "solver": variant.solver,
        "norm": variant.reconstructor().distance_norm if minimises else "none",
        "rounding": variant.rounding or "none",
    }


def _choose_at_random(truth: pd.Series) -> Row:
    """The expectation over a configuration drawn at random: its order is as good as any."""
    return {
        "certified": False,
        "regret": float(truth.mean()) - float(truth.min()),
        "tau": 0.0,
        "pud_best_true": float(truth.mean()),
        "seconds_total": 0.0,
        "peak_mb": 0.0,
        "status": OK,
    }


def _advise(job: Job, unit: Unit) -> Finding:
    data, measure = job.datasets[unit.dataset], job.measures[str(unit.measure)]
    solver = unit.variant.reconstructor(unit.seed)
    warm_up(unit.variant)
    memory = PeakMemory()
    start = time.perf_counter()
    advice = advise(  # type: ignore[call-overload]
        data.summary,
        measure,
        solver,
        scope=unit.scope,
        histograms=unit.histogram,
        replicates=job.replicates if solver.is_random else None,
    )
    seconds = time.perf_counter() - start
    peak = memory.megabytes()
    truth = job.truth[unit.dataset, measure.name]
    # what no shared table describes counts as 0, as it does in `pud`
    estimated = advice.deviations.sum(axis=1, min_count=1).reindex(truth.index) / advice.deviations.shape[1]
    found: Row = {
        "best": advice.best,
        "certified": advice.certified,
        "tau": kendall_tau(estimated, truth),
        "pud_error": float((estimated - truth).abs().mean()),
        "seconds_total": seconds,
        "peak_mb": peak,
        "status": NO_WINNER,
        "error": advice.reason if advice.best is None else _missed_totals(advice),
    }
    if advice.best is not None:
        found |= {
            "regret": float(truth[advice.best] - truth.min()),
            "pud_best_estimated": float(estimated[advice.best]),
            "pud_best_true": float(truth[advice.best]),
            "status": OK,
        }
    return Finding(found, _ranking(unit, advice, truth))


def _missed_totals(advice: Advice) -> str | None:
    """Say which tables miss the totals that they should meet, in a run that names a winner."""
    missed = advice.attributes[advice.attributes["status"] == Status.NOT_CONVERGED.name]
    if missed.empty:
        return None
    names = ", ".join(map(repr, missed["attribute"]))
    return f"not converged: tables of {names} miss totals by up to {missed['residual'].max():.3g} records"


def _ranking(unit: Unit, advice: Advice, truth: pd.Series) -> tuple[Row, ...]:
    """One row per configuration, best first."""
    common = _run_columns(unit)
    columns = ["configuration", "rank", "pud", "pud_low", "pud_high"]
    places: list[Row] = advice.ranking[columns].to_dict("records")  # type: ignore[assignment]
    return tuple(common | place | {"pud_true": float(truth[place["configuration"]])} for place in places)


def kendall_tau(estimated: pd.Series, truth: pd.Series) -> float | None:
    """Kendall's tau-b of two orders; None where one is not known, or constant up to rounding noise.

    By its definition, pair by pair: orders are short, and importing scipy.stats takes longer.
    """
    scale = float(truth.max())
    if scale <= 0 or estimated.isna().any():
        return None
    x, y = ((values / scale).round(_EQUAL).to_numpy() for values in (truth, estimated))
    agreed = untied_x = untied_y = 0.0
    for i in range(len(x) - 1):
        dx, dy = np.sign(x[i + 1 :] - x[i]), np.sign(y[i + 1 :] - y[i])
        agreed += float(dx @ dy)
        untied_x += float(np.abs(dx).sum())
        untied_y += float(np.abs(dy).sum())
    if untied_x == 0 or untied_y == 0:
        return None
    return agreed / math.sqrt(untied_x * untied_y)


def _reconstruct(job: Job, unit: Unit, piece: int | None) -> Row:
    data, name = job.datasets[unit.dataset], str(unit.attribute)
    position = list(data.summary.attributes).index(name)
    seed = np.random.SeedSequence([unit.seed, position, piece or 0]).generate_state(1)[0]
    solver = unit.variant.reconstructor(int(seed))
    warm_up(unit.variant)
    memory = PeakMemory()
    start = time.perf_counter()
    problem = data.summary.problem(name, table=piece, histograms=unit.histogram)
    posed = time.perf_counter() - start
    result = solver.reconstruct(problem)
    total = time.perf_counter() - start
    peak = memory.megabytes()
    build = posed + result.seconds.get("build", 0.0)
    rounding = result.seconds.get("round", 0.0)
    return {
        "tvd": float(tvd(data.raw[name], np.asarray(result.table))),
        "objective": result.objective,
        "residual": result.residual,
        "status": result.status.name.lower().replace("_", " "),
        "method": result.method,
        "optimal": result.optimal,
        "gap": result.gap if result.gap is not None and math.isfinite(result.gap) else None,
        "seconds_build": build,
        "seconds_solve": total - build - rounding,  # whatever a solver does beside, its checks included
        "seconds_round": rounding,
        "seconds_total": total,
        "peak_mb": peak,
    }


class PeakMemory:
    """How much the resident memory of this process grew at most since the object was made.

    Linux resets its mark of the largest size on request, in microseconds. Memory that the process held before
    and uses again does not count. Other systems keep the mark of the whole process only: there it is None.
    """

    def __init__(self) -> None:
        try:
            _RESET.write_text("5")
            self._before: int | None = _kilobytes("VmRSS")
        except OSError:
            self._before = None

    def megabytes(self) -> float | None:
        """Return the growth in MiB, or None where the system cannot tell."""
        if self._before is None:
            return None
        return max(0, _kilobytes("VmHWM") - self._before) / 1024


def _kilobytes(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1])
