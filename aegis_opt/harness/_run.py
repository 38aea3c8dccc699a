"""Run the units of a comparison, here or on several processes, and keep what they find."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np

from aegis_opt.advisor._estimate import Progress, Scope
from aegis_opt.errors import InvalidInput, InvalidOption, MissingDependency
from aegis_opt.harness._child import close_child, execute_within
from aegis_opt.harness._jobfile import job_file, load_job
from aegis_opt.harness._plan import Unit, plan_units
from aegis_opt.harness._schema import Row, Table
from aegis_opt.harness._store import Results, Store, check_folder, load_results, make_meta
from aegis_opt.harness._truth import Case, Prepared, prepare
from aegis_opt.harness._variant import Variant, expand
from aegis_opt.harness._work import Job, blank_row, execute, for_configurations, pieces
from aegis_opt.measures import Measure, get_measure
from aegis_opt.solvers.base import Reconstructor

SolverEntry = str | Mapping[str, Any] | Reconstructor | Variant

_ONE = {
    "data sets": "data set",
    "solvers": "solver",
    "measures": "measure",
    "norms": "norm",
    "roundings": "rounding",
    "scopes": "scope",
    "histograms": "choice (True, False)",
    "seeds": "seed",
}
_LARGEST_SEED = 2**63 - 1  # what a column of whole numbers holds
_LONGEST = 7 * 24 * 3600  # seconds that a time limit may have: a timer takes no more than some centuries


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
    cases, solvers, measures = (
        _listed("data sets", cases),
        _listed("solvers", solvers),
        _listed("measures", measures),
    )
    norms = None if norms is None else _distinct("norms", _listed("norms", norms))
    roundings = None if roundings is None else _distinct("roundings", _listed("roundings", roundings))
    variants = expand(solvers, norms, roundings)
    named = [get_measure(measure) for measure in measures]
    _distinct("measures", [measure.name for measure in named])
    _distinct("data sets", [case.name for case in cases])
    chosen = {measure.name: measure for measure in named}
    scopes = _distinct("scopes", _listed("scopes", scopes))
    for scope in scopes:
        if scope not in get_args(Scope):
            raise InvalidOption(f"scope must be 'pooled' or 'single', not {scope!r}")
    histograms = _distinct("histograms", [_truth(value) for value in _listed("histograms", histograms)])
    seeds = _distinct("seeds", [_whole("seed", seed, 0, _LARGEST_SEED) for seed in _listed("seeds", seeds)])
    replicates = _whole("replicates", replicates, 1)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidOption(f"n_jobs must be a number of processes, or -1 for all cores, not {n_jobs!r}")
    time_limit = _seconds(time_limit)
    if output is not None:
        if not isinstance(output, str | os.PathLike) or not os.fspath(output):
            raise InvalidOption(f"output must name a folder, not {output!r}: leave it out to write none")
        check_folder(output)
    datasets = {}
    for position, case in enumerate(cases):
        if progress is not None:
            progress(f"scanning {case.name}", position, len(cases))
        datasets[case.name] = prepare(case)
    units = plan_units(list(datasets.values()), variants, list(chosen), scopes, histograms, seeds, tables)
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
            "scopes": scopes,
            "histograms": histograms,
            "seeds": seeds,
        },
    )
    with ExitStack() as stack:
        folder = output
        if folder is None:
            folder = stack.enter_context(TemporaryDirectory(prefix="aegis-opt-"))
        store = Store(folder, meta)
        stack.enter_context(store.writing())
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


def _listed(what: str, values: Any) -> list[Any]:
    """Return what a caller lists; refuse one thing in place of a list, and a list of nothing."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} must be a list, such as [{values!r}], not {values!r}")
    found = list(values)
    if not found:
        raise InvalidInput(f"{what} must be a list of at least one {_ONE[what]}, not {values!r}")
    return found


def _distinct(what: str, values: list[Any]) -> list[Any]:
    """Return the values; refuse one that is there twice."""
    texts = [str(value) for value in values]
    if len(set(texts)) < len(texts):
        raise InvalidInput(f"a {_ONE[what]} is listed twice: {', '.join(texts)}")
    return values


def _truth(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidOption(f"histograms are used (True) or not (False), not {value!r}")
    return bool(value)


def _whole(what: str, value: Any, least: int, most: int | None = None) -> int:
    """Return a whole number of any type that is one, such as numpy's."""
    try:
        number = least - 1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or (most is not None and number > most):
        span = f"from {least} up" if most is None else f"from {least} to {most}"
        raise InvalidOption(f"{what} must be a whole number {span}, not {value!r}")
    return number


def _seconds(limit: Any) -> float | None:
    """Return a time limit as a number of seconds."""
    if limit is None:
        return None
    number = isinstance(limit, Real) and not isinstance(limit, bool)
    if not number or not 0 < limit <= _LONGEST:
        raise InvalidOption(
            f"time_limit must be a positive number of seconds, at most {_LONGEST} (a week), not {limit!r}: "
            "leave it out for no limit"
        )
    return float(limit)


def _refuse_main(variants: Sequence[Variant]) -> None:
    for variant in variants:
        if variant.backend is not None and type(variant.backend).__module__ == "__main__":
            raise InvalidOption(
                f"solver {variant.solver!r} is defined where other processes cannot import it: put its class "
                "into a module, or use n_jobs=1 without time_limit"
            )
