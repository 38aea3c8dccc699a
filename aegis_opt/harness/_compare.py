"""Compare solvers, norms and roundings inside the full advisor."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from aegis_opt._options import instance, list_of
from aegis_opt._progress import Progress, reporting
from aegis_opt.advisor._estimate import Scope
from aegis_opt.datasets import Dataset
from aegis_opt.distances import Distance, NormName
from aegis_opt.errors import InvalidInput
from aegis_opt.harness._processes import Finished, run_in_processes
from aegis_opt.harness._results import Results, ResultsFolder, load_results, make_meta, results_of
from aegis_opt.harness._settings import ComparisonSettings, distinct
from aegis_opt.harness._truth import Case, ScannedCase, scan_case
from aegis_opt.harness._units import Job, Unit, execute, run_unit
from aegis_opt.harness._variant import SolverEntry
from aegis_opt.measures import Measure, MeasureName
from aegis_opt.rounding import RoundingName
from aegis_opt.sources._label_view import LabelBinsOption

_LOG = logging.getLogger(__name__)


def compare(
    source: object,
    label: str | None = None,
    configurations: Any = None,
    solvers: Sequence[SolverEntry] = ("ipf",),
    measures: Sequence[MeasureName | Measure] = ("mi",),
    *,
    norms: Sequence[NormName | Distance] | None = None,
    roundings: Sequence[RoundingName | None] | None = None,
    scopes: Sequence[Scope] = ("pooled", "single"),
    histograms: Sequence[bool] = (True, False),
    seeds: Sequence[int] = (0,),
    replicates: int = 1,
    n_jobs: int = 1,
    time_limit: float | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str | None = None,
    label_bins: LabelBinsOption = None,
    progress: Progress | bool | None = None,
) -> pd.DataFrame:
    """Run variants of the advisor on raw data and judge each by the truth, which an advisor never sees.

    Every combination of solver (with norm and rounding), scope, histograms, measure and seed is a complete
    run of the advisor. Failures and time-outs are rows too; a solver that is not installed or cannot take
    the problem is a row with status "skipped".

    Parameters
    ----------
    source : path, DataFrame, ..., Dataset or sequence of Dataset
        As `summarize` takes it, with `label` and `configurations`; or data sets that bring their own.
    label, configurations
        As in `summarize`.
    solvers, measures, norms, roundings, scopes, histograms, seeds, replicates, n_jobs, time_limit, output
        As in `aegis_opt.harness.ComparisonSettings`. A results folder (`output`) also holds each single
        reconstruction (`compare_reconstructions`).
    name : str, optional
        Of the data set in the results; by default that of the file, its folder, or the `Dataset`.
    label_bins : int or sequence of float, optional
        Make classes of a label of numbers, as `summarize` does.
    progress : bool or callable, optional
        True shows how far the work is: a bar in a terminal or a notebook, else a line every few seconds. A
        function is called with (what, done, of how many).

    Returns
    -------
    DataFrame
        One row per advisor run, of the whole results folder if there is one, sorted; among its columns
        dataset, solver, norm, rounding, scope, histogram, measure, seed, best, certified, regret (true PUD
        of the winner minus the least), tau (Kendall's, against the true order), pud_true_mean (what a random
        choice costs), seconds_total and status ("ok", "no winner", "failed", "timed out", "skipped").

    Examples
    --------
    >>> from aegis_opt.datasets import clinic
    >>> found = compare(clinic(500), solvers=["ipf", "random"], scopes=["pooled"], histograms=[True])
    >>> found[["variant", "certified", "status"]].to_dict("list")
    {'variant': ['ipf', 'random'], 'certified': [True, False], 'status': ['ok', 'ok']}
    """
    settings = ComparisonSettings(
        solvers=solvers,
        measures=measures,
        norms=norms,
        roundings=roundings,
        scopes=scopes,
        histograms=histograms,
        seeds=seeds,
        replicates=replicates,
        n_jobs=n_jobs,
        time_limit=time_limit,
        output=output,
        tables=["advice"] if output is None else ["advice", "reconstructions"],
    )
    return _run_shown(_cases(source, label, configurations, name, label_bins), settings, progress).advice


def compare_reconstructions(
    source: object,
    label: str | None = None,
    configurations: Any = None,
    solvers: Sequence[SolverEntry] = ("ipf",),
    *,
    norms: Sequence[NormName | Distance] | None = None,
    roundings: Sequence[RoundingName | None] | None = None,
    scopes: Sequence[Scope] = ("pooled", "single"),
    histograms: Sequence[bool] = (True, False),
    seeds: Sequence[int] = (0,),
    n_jobs: int = 1,
    time_limit: float | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str | None = None,
    label_bins: LabelBinsOption = None,
    progress: Progress | bool | None = None,
) -> pd.DataFrame:
    """Reconstruct every masked table with every variant and compare with the raw joint table.

    Parameters
    ----------
    source, label, configurations, solvers, norms, roundings, scopes, histograms, seeds, n_jobs, time_limit, \
output, name, label_bins, progress
        As in `compare`.

    Returns
    -------
    DataFrame
        One row per configuration ("*" for all together) and attribute; among its columns tvd (to the raw
        table), objective, residual (verified from the problem), status, method, optimal, gap, and seconds to
        build, solve and round. Configurations with the same masked table (column table) share its numbers.

    Examples
    --------
    >>> from aegis_opt.datasets import worked_example
    >>> found = compare_reconstructions(worked_example(), solvers=["ipf", "integer:l2"], histograms=[True])
    >>> found["status"].unique().tolist()
    ['optimal']
    """
    settings = ComparisonSettings(
        solvers=solvers,
        norms=norms,
        roundings=roundings,
        scopes=scopes,
        histograms=histograms,
        seeds=seeds,
        n_jobs=n_jobs,
        time_limit=time_limit,
        output=output,
        tables=["reconstructions"],
    )
    return _run_shown(
        _cases(source, label, configurations, name, label_bins), settings, progress
    ).reconstructions


def _run_shown(
    cases: Sequence[Case], settings: ComparisonSettings, progress: Progress | bool | None
) -> Results:
    """Run a comparison and show how far it is, where that is wanted."""
    with reporting(progress, "comparing") as report:
        return run_comparison(cases, replace(settings, progress=report))


def _cases(source: Any, *about: Any) -> list[Case]:
    """Return the cases that a caller means: one source, one data set, or several data sets."""
    if not isinstance(source, list | tuple) or not all(isinstance(one, Dataset | Case) for one in source):
        return [Case.of(source, *about)]
    if any(given is not None for given in about):
        raise InvalidInput(
            "several data sets bring their own label, configurations and name, and no label_bins: omit those"
        )
    return [Case.of(one) for one in source]


def run_comparison(cases: Sequence[Case], settings: ComparisonSettings) -> Results:
    """Run solvers x norms x roundings x scopes x histograms x measures x seeds on every case.

    Examples
    --------
    >>> from aegis_opt.datasets import worked_example
    >>> settings = ComparisonSettings(solvers=["ipf"], scopes=["single"])
    >>> results = run_comparison([Case.of(worked_example())], settings)
    >>> results.reconstructions[["histogram", "tvd"]].round(4).to_dict("list")
    {'histogram': [False, True], 'tvd': [0.2853, 0.173]}
    """
    settings = instance("settings", settings, ComparisonSettings, "write ComparisonSettings(...)").checked()
    cases = list_of("cases", cases, Case, "aegis_opt.harness.Case.of(source, ...) gives one")
    distinct("data sets", [case.name for case in cases])
    datasets = {}
    for position, case in enumerate(cases):
        if settings.progress is not None:
            settings.progress(f"scanning {case.name}", position, len(cases))
        datasets[case.name] = scan_case(case)
    measures = settings.measures_by_name
    truth = {
        (data.name, name): data.true_deviation(measure)
        for data in datasets.values()
        for name, measure in measures.items()
    }
    job = Job(datasets, measures, truth, settings.replicates)
    meta = _meta(datasets, settings)
    units = list(_units(datasets, settings))
    _LOG.info("comparing on %s: %d units of work", ", ".join(datasets), len(units))
    if settings.output is None:
        with closing(_run(job, units, len(units), settings)) as finished:
            return results_of(finished, meta)
    folder = ResultsFolder(settings.output, meta)
    with folder.writing():
        missing = [unit for unit in units if not folder.is_done(unit)]
        with closing(_run(job, missing, len(units), settings)) as finished:
            for unit, result in finished:
                folder.write(unit, result)
    return load_results(settings.output)


def _units(datasets: dict[str, ScannedCase], settings: ComparisonSettings) -> Iterator[Unit]:
    """List the units in a fixed order; the first seed is enough where the tables do not depend on it."""
    for data in datasets.values():
        for variant in settings.variants:
            choice = variant.is_random_choice
            used = settings.seeds if not choice and variant.reconstructor().is_random else settings.seeds[:1]
            for scope in settings.scopes:
                for histogram in settings.histograms:
                    for seed in used:
                        unit = partial(Unit, data.name, variant, scope, histogram, seed)
                        if "advice" in settings.tables:
                            yield from (unit(measure=name) for name in settings.measures_by_name)
                        if "reconstructions" in settings.tables and not choice:
                            yield from (unit(attribute=name) for name in data.summary.attributes)


def _run(job: Job, units: Sequence[Unit], total: int, settings: ComparisonSettings) -> Finished:
    """Run units, in other processes if there are several or a limit; report each once its result is taken."""
    finished: Finished = ((unit, run_unit(job, unit, partial(execute, job))) for unit in units)
    if settings.n_jobs > 1 or settings.time_limit is not None:
        finished = run_in_processes(job, units, settings.n_jobs, settings.time_limit)
    with closing(finished):
        for done, (unit, result) in enumerate(finished, start=total - len(units) + 1):
            yield unit, result
            if settings.progress is not None:
                settings.progress(f"{unit.dataset}: {unit.variant}, {unit.scope}", done, total)


def _meta(datasets: dict[str, ScannedCase], settings: ComparisonSettings) -> dict[str, Any]:
    """Describe the comparison: its data sets, settings and plan."""
    described = {
        name: {
            "fingerprint": data.fingerprint,
            "label": data.summary.label,
            "records": data.summary.n_records,
            "label_counts": data.label_counts.tolist(),
            "attributes": {name: a.n_values for name, a in data.summary.attributes.items()},
            "configurations": list(data.summary.configurations),
            "seconds_summary": data.seconds,
        }
        for name, data in datasets.items()
    }
    plan = {
        "variants": [str(variant) for variant in settings.variants],
        "measures": list(settings.measures_by_name),
        "scopes": list(settings.scopes),
        "histograms": list(settings.histograms),
        "seeds": list(settings.seeds),
    }
    return make_meta(described, {"replicates": settings.replicates, "time_limit": settings.time_limit}, plan)
