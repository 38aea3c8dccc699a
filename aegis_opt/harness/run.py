"""Run the units of a comparison, here or on several processes, and keep what they find."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from aegis_opt.advisor.estimate import Progress, Scope
from aegis_opt.errors import InvalidInput, InvalidOption, MissingDependency
from aegis_opt.harness.child import close_child, execute_within
from aegis_opt.harness.jobfile import job_file, load_job
from aegis_opt.harness.plan import Unit, plan_units
from aegis_opt.harness.schema import Row, Table
from aegis_opt.harness.store import Results, Store, load_results, make_meta
from aegis_opt.harness.truth import Case, Prepared, prepare
from aegis_opt.harness.variant import Variant, expand
from aegis_opt.harness.work import Job, blank_row, execute, for_configurations, pieces
from aegis_opt.measures import Measure, get_measure
from aegis_opt.solvers.base import Reconstructor

if TYPE_CHECKING:
    import os

SolverEntry = str | Mapping[str, Any] | Reconstructor | Variant


def run_comparison(
    cases: Sequence[Case],
    solvers: Sequence[SolverEntry],
    measures: Sequence[str | Measure],
    *,
    norms: Sequence[str] | None = None,
    roundings: Sequence[str | None] | None = None,
    scopes: Sequence[Scope] = ("pooled", "single"),
    histograms: Sequence[bool] = (True, False),
    seeds: Sequence[int] = (0,),
    replicates: int = 1,
    tables: Sequence[Table] = ("reconstructions", "advice"),
    n_jobs: int = 1,
    time_limit: float | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run solvers x norms x roundings x scopes x histograms x measures x seeds on every case.

    The arguments are those of `compare`; `tables` says which rows are wanted.

    Examples
    --------
    >>> from aegis_opt.datasets import worked_example
    >>> results = run_comparison([Case.of(worked_example())], ["ipf"], ["mi"], scopes=["single"])
    >>> results.reconstructions[["histogram", "tvd"]].round(4).to_dict("list")
    {'histogram': [False, True], 'tvd': [0.2853, 0.173]}
    """
    variants = expand(list(solvers), norms, roundings)
    chosen = {found.name: found for found in map(get_measure, measures)}
    _check(cases, variants, chosen, scopes, histograms, seeds, replicates, n_jobs, time_limit)
    datasets = {}
    for position, case in enumerate(cases):
        if progress is not None:
            progress(f"scanning {case.name}", position, len(cases))
        datasets[case.name] = prepare(case)
    units = plan_units(
        list(datasets.values()), variants, list(chosen), scopes, histograms, list(seeds), tables
    )
    truth = {
        (data.name, measure.name): data.true_deviation(measure)
        for data in datasets.values()
        for measure in chosen.values()
    }
    job = Job(datasets, chosen, truth, replicates, time_limit)
    meta = make_meta(
        {name: _describe(data) for name, data in datasets.items()},
        {"replicates": replicates, "time_limit": time_limit},
        {
            "variants": [str(variant) for variant in variants],
            "measures": list(chosen),
            "scopes": list(scopes),
            "histograms": list(histograms),
            "seeds": list(seeds),
        },
    )
    with ExitStack() as stack:
        folder = output or stack.enter_context(TemporaryDirectory(prefix="aegis-opt-"))
        store = Store(folder, meta)
        keys = {unit: unit.key(datasets[unit.dataset].fingerprint) for unit in units}
        missing = [unit for unit in units if not store.is_done(unit, keys[unit])]
        finished: Iterator[Unit]
        if n_jobs == 1 and time_limit is None:
            finished = (_run(job, None, store, unit, keys[unit]) for unit in missing)
        else:
            _refuse_main(variants)
            path = stack.enter_context(job_file(job))
            stack.callback(close_child)
            finished = _spread([(path, store, unit, keys[unit]) for unit in missing], n_jobs)
        done = len(units) - len(missing)
        for unit in finished:
            done += 1
            if progress is not None:
                progress(f"{unit.dataset}: {unit.variant}, {unit.scope}", done, len(units))
        return load_results(folder)


def _run(job: Job, path: Path | None, store: Store, unit: Unit, key: str) -> Unit:
    """Run a unit, write its results, return it."""
    rows: list[Row] = []
    ranking: list[Row] = []
    for piece in pieces(job, unit):
        if job.time_limit is None or path is None:
            found = execute(job, unit, piece)
        else:
            found = execute_within(path, unit, piece, job.time_limit)
        rows.append(blank_row(job, unit, piece) | found.row)
        ranking += found.ranking
    store.write(unit, key, for_configurations(job, unit, rows), ranking)
    return unit


def _run_from_file(path: Path, store: Store, unit: Unit, key: str) -> Unit:
    return _run(load_job(path), path, store, unit, key)


def _spread(tasks: list[tuple[Path, Store, Unit, str]], n_jobs: int) -> Iterator[Unit]:
    """Run tasks on `n_jobs` processes; yield each as it ends. One process needs no joblib."""
    if n_jobs == 1:
        yield from (_run_from_file(*task) for task in tasks)
        return
    try:
        from joblib import Parallel, delayed  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise MissingDependency(
            "n_jobs other than 1 needs joblib: pip install 'aegis-opt[bench]', or leave n_jobs out"
        ) from error
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_run_from_file)(*task) for task in tasks)


def _describe(data: Prepared) -> dict[str, Any]:
    summary = data.summary
    return {
        "fingerprint": data.fingerprint,
        "label": summary.label,
        "records": summary.n_records,
        "label_counts": summary.label_counts.tolist(),
        "attributes": {name: attribute.n_values for name, attribute in summary.attributes.items()},
        "configurations": list(summary.configurations),
        "seconds_summary": data.seconds,
    }


def _check(
    cases: Sequence[Case],
    variants: Sequence[Variant],
    measures: Mapping[str, Measure],
    scopes: Sequence[str],
    histograms: Sequence[bool],
    seeds: Sequence[int],
    replicates: int,
    n_jobs: int,
    time_limit: float | None,
) -> None:
    """Refuse what makes no comparison, before any work is done."""
    given = {
        "data set": cases,
        "solver": variants,
        "measure": measures,
        "scope": scopes,
        "histograms": histograms,
        "seed": seeds,
    }
    for what, values in given.items():
        if isinstance(values, str) or not isinstance(values, Iterable) or not values:
            raise InvalidInput(f"a comparison needs a list of at least one {what}, not {values!r}")
        if len(set(map(str, _names(values)))) < len(values):
            raise InvalidInput(f"a {what} is listed twice: {', '.join(map(str, _names(values)))}")
    for scope in scopes:
        if scope not in get_args(Scope):
            raise InvalidOption(f"scope must be 'pooled' or 'single', not {scope!r}")
    for histogram in histograms:
        if not isinstance(histogram, bool):
            raise InvalidOption(f"histograms are used (True) or not (False), not {histogram!r}")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InvalidOption(f"seed must be a whole number from 0 up, not {seed!r}")
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < 1:
        raise InvalidOption(f"replicates must be a whole number from 1 up, not {replicates!r}")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidOption(f"n_jobs must be a number of processes, or -1 for all cores, not {n_jobs!r}")
    if time_limit is not None and not (math.isfinite(time_limit) and time_limit > 0):
        raise InvalidOption(f"time_limit must be a positive number of seconds, not {time_limit!r}")


def _names(values: Iterable[Any]) -> list[Any]:
    return [value.name if isinstance(value, Case) else value for value in values]


def _refuse_main(variants: Sequence[Variant]) -> None:
    for variant in variants:
        if variant.backend is not None and type(variant.backend).__module__ == "__main__":
            raise InvalidOption(
                f"solver {variant.solver!r} is defined where other processes cannot import it: put its class "
                "into a module, or use n_jobs=1 without time_limit"
            )
