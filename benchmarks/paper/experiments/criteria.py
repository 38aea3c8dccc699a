"""What configurations can be ranked by, and how long it takes: measures, scores, models and baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aegis_opt.advisor import advise
from aegis_opt.harness import Case
from aegis_opt.masks import Configurations
from aegis_opt.scores import Model
from aegis_opt.summary import summarize
from benchmarks.paper.experiments.base import Settings
from benchmarks.paper.experiments.choices import Clock, read_frame
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
    """Rank the configurations of a data set by every criterion, each from the file on disk."""
    label, masks = case.label, case.configurations
    assert label is not None
    assert isinstance(masks, Configurations)
    seed = settings.seed

    def advised(measure: str, **shared: Any) -> Callable[[], pd.Series]:
        def work() -> pd.Series:
            advice = advise(summarize(case.source, label, masks, **shared), measure)
            order = -advice.ranking.set_index("configuration")["rank"]
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
        MASCARA: ("rows", lambda: -rowwise_mascara(read_frame(case), masks)),
    }
    advised("auto", share="scores")()  # loads what has to be loaded
    total = len(work) + 1
    for done, (method, (needs, rank)) in enumerate(work.items()):
        if settings.progress is not None:
            settings.progress(f"{case.name}: ranking by {method}", done, total)
        order, clock = _timed(rank)
        yield _ranked(method, needs, order, clock)
    if settings.progress is not None:
        settings.progress(f"{case.name}: ranking by sampling", total - 1, total)
    deviations, clock = _timed(
        lambda: rowwise_sampling(read_frame(case), label, masks, settings.measures, seed)
    )
    for measure in settings.measures:
        yield _ranked(f"sampling, {measure}", "rows", -deviations[measure], clock)


def _timed(work: Callable[[], Any]) -> tuple[Any, Clock]:
    """Run once, or three times what is quick."""
    clock = Clock()
    found = clock(work)
    if clock.seconds < _LONG:
        for _ in range(_ENOUGH - 1):
            clock(work)
    return found, clock


def _ranked(method: str, needs: str, order: pd.Series, clock: Clock) -> Ranked:
    best = order.attrs.get("best") or str(order.idxmax())
    return Ranked(method, needs, best, order, clock.seconds, clock.cpu_seconds)
