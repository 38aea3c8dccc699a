"""What each method picks and how long it takes, from the file on disk to the winner."""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt.advisor import advise
from aegis_opt.errors import InvalidInput
from aegis_opt.harness import Case
from aegis_opt.harness._truth import scan_case
from aegis_opt.masks import Configurations, load_configurations
from aegis_opt.measures import get_measure
from aegis_opt.release import apply_configuration
from aegis_opt.summary import Summary, summarize
from benchmarks.paper.exhaustive import MAX_CATEGORIES, SplitError, train_and_score
from benchmarks.paper.experiments.base import Settings
from benchmarks.paper.mascara import mascara_scores
from benchmarks.paper.rowwise import rowwise_mascara, rowwise_sampling

ADVISOR = "advisor"
ADVISOR_PAPER = "advisor, single view, rounded"
SAMPLING, SAMPLING_FAST = "sampling, row by row", "sampling, from one scan"
MASCARA, MASCARA_FAST = "mascara, row by row", "mascara, from one scan"
EXHAUSTIVE = "exhaustive"

_FORM = 2  # of a file of trained scores: the second one has the log-loss
_REPEATS = 3  # of what takes seconds; the median counts


class Clock:
    """Median time of what it runs: on the wall, and of the processor, which other work disturbs less."""

    def __init__(self) -> None:
        self._times: list[tuple[float, float]] = []

    def __call__(self, work: Callable[[], Any]) -> Any:
        """Run, and note the times."""
        start, cpu = time.perf_counter(), time.process_time()
        result = work()
        self._times.append((time.perf_counter() - start, time.process_time() - cpu))
        return result

    @property
    def seconds(self) -> float:
        """Median wall time."""
        return statistics.median(wall for wall, _ in self._times)

    @property
    def cpu_seconds(self) -> float:
        """Median processor time, all threads of this process."""
        return statistics.median(cpu for _, cpu in self._times)


def restricted(case: Case, most: int | None) -> Case:
    """Return the case with its configurations loaded and the label named, and only the first of them."""
    given = case.configurations
    if given is None:
        raise InvalidInput(f"data set {case.name!r} has no configurations: pass some")
    if not isinstance(given, Configurations):
        given = Configurations(given) if isinstance(given, dict) else load_configurations(given)  # type: ignore[arg-type]
    label = case.label or given.label
    if label is None:
        raise InvalidInput(f"data set {case.name!r}: neither the call nor the configurations name a label")
    kept = {name: given[name] for name in list(given)[:most]}
    order = {name: rule for name, rule in given.order.items() if any(name in one for one in kept.values())}
    return dataclasses.replace(case, label=label, configurations=Configurations(kept, label, order))


def read_frame(case: Case) -> pd.DataFrame:
    """Read the rows of a case into a pandas frame."""
    if isinstance(case.source, pd.DataFrame):
        return case.source
    rows = apply_configuration(case.source, {})
    if not isinstance(rows, pd.DataFrame):  # polars, Arrow; Spark; DuckDB
        convert = next(name for name in ("to_pandas", "toPandas", "df") if hasattr(rows, name))
        rows = getattr(rows, convert)()
    frame: pd.DataFrame = rows
    return frame


def timed_picks(case: Case, settings: Settings) -> pd.DataFrame:
    """Let every method pick, each from scratch; imports are loaded before the clock starts.

    Methods that take seconds run three times, and the median counts.

    Returns
    -------
    DataFrame
        method, measure ("none" where the method has none), configuration, seconds, cpu_seconds. Sampling row
        by row draws once for all measures, whose evaluation is a small part of its time.
    """
    seed, label, masks = settings.seed, case.label, case.configurations
    assert label is not None
    assert isinstance(masks, Configurations)
    rows: list[dict[str, Any]] = []

    def add(method: str, measure: str, pick: Any, clock: Clock) -> None:
        times = {"seconds": clock.seconds, "cpu_seconds": clock.cpu_seconds}
        rows.append({"method": method, "measure": measure, "configuration": pick} | times)

    def advised(method: str, **options: Any) -> None:
        for measure in settings.measures:
            clock = Clock()
            for _ in range(_REPEATS):
                advice = clock(lambda m=measure: advise(_scan(case), get_measure(m), **options))  # type: ignore[misc]
            add(method, measure, advice.best, clock)

    advise(_scan(case), get_measure(settings.measures[0]))  # loads what has to be loaded
    advised(ADVISOR)
    advised(ADVISOR_PAPER, scope="single", rounding="independent", seed=seed, replicates=1)
    advised(SAMPLING_FAST, scope="single", solver="sampling", seed=seed, replicates=1)
    clock = Clock()
    for _ in range(_REPEATS):
        scores = clock(lambda: mascara_scores(_scan(case)))
    add(MASCARA_FAST, "none", scores.idxmin(), clock)
    clock = Clock()
    scores = clock(lambda: rowwise_mascara(read_frame(case), masks))
    add(MASCARA, "none", scores.idxmin(), clock)
    clock = Clock()
    deviations = clock(lambda: rowwise_sampling(read_frame(case), label, masks, settings.measures, seed))
    for measure in settings.measures:
        add(SAMPLING, measure, deviations[measure].idxmin(), clock)
    found = pd.DataFrame(rows)
    found.insert(0, "dataset", case.name)
    return found


def trained(case: Case, classifiers: tuple[str, ...], settings: Settings) -> pd.DataFrame:
    """Scores of every configuration and classifier; those in the cache are not trained again.

    Cached scores belong to the same data, configurations, seed and encoding; their times are those of the
    run that trained them.
    """
    label, masks = case.label, case.configurations
    assert label is not None
    assert isinstance(masks, Configurations)
    frame = read_frame(case)
    parts = []
    fingerprint = "" if settings.cache is None else fingerprint_of(case, frame)
    for name in classifiers:
        path = None
        if settings.cache is not None:
            key = f"{fingerprint}-{settings.seed}-{MAX_CATEGORIES}-{_FORM}"
            path = settings.cache / f"{case.name}-{name}-{key}.csv"
            if path.exists():
                parts.append(pd.read_csv(path))
                continue
        try:
            scores = train_and_score(
                frame,
                label,
                masks,
                [name],
                seed=settings.seed,
                n_jobs=settings.n_jobs,
                progress=settings.progress,
            )
        except SplitError as error:
            raise SplitError(f"data set {case.name!r}: {error}") from error
        parts.append(scores)
        if path is not None:
            with atomic_path(path) as temporary:
                scores.to_csv(temporary, index=False)
    return pd.concat(parts, ignore_index=True).assign(dataset=case.name)


def fingerprint_of(case: Case, frame: pd.DataFrame) -> str:
    """Digest of the tables and of the rows: tables do not tell how attributes go together."""
    rows = pd.util.hash_pandas_object(frame.astype(str), index=False).to_numpy()
    digest = hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]
    return f"{scan_case(case).fingerprint}{digest}"


def judged_by_training(picks: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each pick per classifier, next to the best and the mean over all configurations.

    Parameters
    ----------
    picks : DataFrame
        Columns method, measure and configuration (None: no winner).
    scores : DataFrame
        As `train_and_score` returns them.

    Returns
    -------
    DataFrame
        Also a row per classifier for the exhaustive baseline, which picks the best by definition.
    """
    rows = []
    for classifier, part in scores.groupby("classifier", sort=False):
        accuracy = part.set_index("configuration")["accuracy"]
        top: dict[str, Any] = {
            "method": EXHAUSTIVE,
            "measure": "none",
            "configuration": accuracy.idxmax(),
        }
        picked: list[dict[str, Any]] = picks[list(top)].to_dict("records")  # type: ignore[assignment]
        for pick in [*picked, top]:
            known = pick["configuration"] in accuracy.index
            rows.append(
                pick
                | {
                    "classifier": classifier,
                    "accuracy": accuracy[pick["configuration"]] if known else float("nan"),
                    "best": accuracy.max(),
                    "mean": accuracy.mean(),
                }
            )
    return pd.DataFrame(rows)


def exhaustive_times(scores: pd.DataFrame) -> pd.DataFrame:
    """Time to mask, train and score all configurations, per classifier and for all of them together."""
    columns = ["seconds", "cpu_seconds"]
    spent = scores.groupby("classifier", sort=False)[columns].sum()
    spent.loc["all"] = spent.sum()
    titles = [f"{EXHAUSTIVE}, {name}" for name in spent.index]
    return spent.reset_index(drop=True).assign(method=titles, measure="none")


def _scan(case: Case) -> Summary:
    return summarize(case.source, case.label, case.configurations, histograms=True)
