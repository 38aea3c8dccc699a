"""What configurations can be ranked by, and how long it takes: measures, scores, models and baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt.advisor import advise
from aegis_opt.harness import Case
from aegis_opt.masks import Configurations
from aegis_opt.scores import Model
from aegis_opt.summary import summarize
from benchmarks.paper.experiments.base import Settings
from benchmarks.paper.experiments.choices import Clock, fingerprint_of, read_frame
from benchmarks.paper.rowwise import rowwise_mascara, rowwise_sampling

MEASURES = ("mi", "chi2", "g3", "chi2_corrected", "mi_loo")
SCORES = ("r2", "r2_certified", "r2_gcv", "r2_cv", "race")
AUTO_SCORES, AUTO_RACE, AUTO_TABLES = "auto, scores shared", "auto, race shared", "auto, tables only"
SAMPLED_MODEL, WHOLE_MODEL = "logistic regression, 2,000 rows each", "logistic regression, all rows"
MASCARA = "mascara"

_ENOUGH = 3  # runs of what takes less than _LONG seconds; the median counts
_LONG = 2.0


@dataclass(frozen=True, eq=False)
class Ranked:
    """How a criterion ranks the configurations of a data set.

    Parameters
    ----------
    method, needs : str
        What it is called, and what it is computed from: tables (attribute by label), pairs (of attributes)
        or rows.
    best : str
        Its pick.
    order : Series
        A number for each configuration; higher is better.
    seconds, cpu_seconds : float
        From the file on disk to the pick, libraries loaded.
    """

    method: str
    needs: str
    best: str
    order: pd.Series
    seconds: float
    cpu_seconds: float


def rankings(case: Case, settings: Settings) -> Iterator[Ranked]:
    """Rank the configurations of a data set by every criterion, each from the file on disk.

    What masks row by row takes minutes and does not change with the library, so it is kept beside the trained
    scores, with its time, where these are kept.
    """
    label, masks = case.label, case.configurations
    assert label is not None
    assert isinstance(masks, Configurations)
    seed = settings.seed

    def advised(measure: Any, **shared: Any) -> Callable[[], pd.Series]:
        def work() -> pd.Series:
            advice = advise(summarize(case.source, label, masks, **shared), measure)
            order: pd.Series = -advice.ranking.set_index("configuration")["rank"]
            order.attrs["best"] = advice.best
            return order

        return work

    def scored(measure: str, *scores: Any) -> Callable[[], pd.Series]:
        return advised(measure, share="scores", scores=list(scores))

    work: dict[str, tuple[str, Callable[[], pd.Series]]] = {
        **{name: ("tables", advised(name)) for name in MEASURES},
        **{name: ("rows" if name == "race" else "pairs", scored(name, name)) for name in SCORES},
        AUTO_SCORES: ("pairs", advised("auto", share="scores")),
        AUTO_RACE: ("rows", scored("auto", "r2_gcv", "r2_cv", "race")),
        AUTO_TABLES: ("tables", advised("auto")),
        SAMPLED_MODEL: ("rows", scored("model", Model(seed=seed))),
        WHOLE_MODEL: ("rows", scored("model", Model(rows=None, seed=seed))),
    }
    row_by_row: dict[str, Callable[[], pd.DataFrame]] = {
        MASCARA: lambda: rowwise_mascara(read_frame(case), masks).to_frame(MASCARA),
        "sampling": lambda: rowwise_sampling(
            read_frame(case), label, masks, settings.measures, seed
        ).add_prefix("sampling, "),
    }

    def tell(method: str, done: int) -> None:
        if settings.progress is not None:
            settings.progress(f"{case.name}: ranking by {method}", done, len(work) + len(row_by_row))

    advised("auto", share="scores")()  # loads what has to be loaded
    for done, (method, (needs, rank)) in enumerate(work.items()):
        tell(method, done)
        clock = Clock()
        order = clock(rank)
        if clock.seconds < _LONG:
            for _ in range(_ENOUGH - 1):
                clock(rank)
        best = order.attrs["best"]
        yield Ranked(method, needs, best, order, clock.seconds, clock.cpu_seconds)
    for done, (name, estimate) in enumerate(row_by_row.items(), start=len(work)):
        tell(name, done)
        found = _kept(name, estimate, case, settings)
        times = found["seconds"].iloc[0], found["cpu_seconds"].iloc[0]
        for method in found.columns.drop(["seconds", "cpu_seconds"]):
            yield Ranked(method, "rows", str(found[method].idxmin()), -found[method], *times)


def _kept(name: str, estimate: Callable[[], pd.DataFrame], case: Case, settings: Settings) -> pd.DataFrame:
    """Estimate and add the time, or read what an earlier run has kept."""
    path = None
    if settings.cache is not None:
        key = f"{fingerprint_of(case, read_frame(case))}-{settings.seed}-{'-'.join(settings.measures)}"
        path = settings.cache.with_name("row-by-row") / f"{case.name}-{name}-{key}.csv"
        if path.exists():
            return pd.read_csv(path, index_col=0)
    clock = Clock()
    found: pd.DataFrame = clock(estimate).assign(seconds=clock.seconds, cpu_seconds=clock.cpu_seconds)
    if path is not None:
        with atomic_path(path) as temporary:
            found.to_csv(temporary)
    return found
