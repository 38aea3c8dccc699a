"""How much accuracy the pick of each criterion loses, and how well its order is that of the accuracies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from aegis_opt.harness import Case
from aegis_opt.report.charts import _theme as theme
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import restricted, trained
from benchmarks.paper.experiments.criteria import AUTO_RACE, AUTO_SCORES, AUTO_TABLES, Ranked, rankings
from benchmarks.paper.experiments.regret_page import BEST_SINGLE, MEAN, RANDOM, write_page

if TYPE_CHECKING:
    import altair as alt

CLASSIFIERS = ("lr", "svm", "rf", "nb", "hgb")
LIMITS = (  # what advice without a named measure may lose, in points
    (AUTO_SCORES, "on average", 0.6),
    (AUTO_SCORES, "on each data set", 1.5),
    (AUTO_RACE, "on average", 0.35),
    (AUTO_TABLES, "on average", 0.9),
)


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Train every configuration on repeated splits, rank them by every criterion, and compare."""
    classifiers = settings.classifiers or CLASSIFIERS
    rows, accuracies = [], []
    for given in settings.cases:
        case = restricted(given, settings.configurations)
        scores = repeated(case, classifiers, settings)
        accuracies.append(averages(scores))
        rows += [{"dataset": case.name} | judged(ranked, scores) for ranked in rankings(case, settings)]
        rows += [{"dataset": case.name} | row for row in yardsticks(scores)]
    picks = pd.DataFrame(rows)
    summary = side_by_side(picks)
    return {
        "regret": summary,
        "limits": limits(summary),
        "picks": picks,
        "spread": spread(picks, settings.repeats),
        "accuracy": pd.concat(accuracies, ignore_index=True),
    }


def repeated(case: Case, classifiers: tuple[str, ...], settings: Settings) -> pd.DataFrame:
    """Train on `settings.repeats` splits, whose seeds follow each other; columns as `trained`, and repeat."""
    return pd.concat(
        [
            trained(case, classifiers, dataclasses.replace(settings, seed=settings.seed + repeat)).assign(
                repeat=repeat
            )
            for repeat in range(settings.repeats)
        ],
        ignore_index=True,
    )


def averages(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy and log-loss over the splits, and the standard deviation of the accuracy."""
    keys = ["dataset", "configuration", "classifier"]
    found = scores.groupby(keys, sort=False).agg(
        accuracy=("accuracy", "mean"), std=("accuracy", "std"), log_loss=("log_loss", "mean")
    )
    return found.reset_index()


def judged(ranked: Ranked, scores: pd.DataFrame) -> dict[str, object]:
    """Regret of a pick and Kendall's tau of its order, with what else is known about it."""
    lost, error, by_classifier = regret(ranked.best, scores)
    accuracy, loss = (_table(scores, column) for column in ("accuracy", "log_loss"))
    return {
        "method": ranked.method,
        "needs": ranked.needs,
        "configuration": ranked.best,
        "regret": lost,
        "standard error": error,
        **{f"regret, {name}": value for name, value in by_classifier.items()},
        "tau, accuracy": mean_tau(ranked.order, accuracy),
        "tau, log-loss": mean_tau(ranked.order, -loss),
        "seconds": ranked.seconds,
        "cpu_seconds": ranked.cpu_seconds,
    }


def regret(pick: str, scores: pd.DataFrame) -> tuple[float, float, pd.Series]:
    """Accuracy points that a pick loses to the best configuration of each classifier.

    Accuracies are means over the splits. Returns the mean over the classifiers, its standard error over the
    splits (NaN for a single one), and the regret for each classifier.
    """
    accuracy = _table(scores, "accuracy")
    best = accuracy.idxmax()
    by_classifier = 100 * (accuracy.max() - accuracy.loc[pick])
    each = []
    for _, part in scores.groupby("repeat"):
        own = _table(part, "accuracy")
        values = own.to_numpy(dtype=np.float64)
        row_of = {str(name): row for row, name in enumerate(own.index)}
        rows = [row_of[str(name)] for name in best]
        each.append(100 * float((values[rows, range(len(rows))] - values[row_of[pick]]).mean()))
    error = float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("nan")
    return float(by_classifier.to_numpy(dtype=np.float64).mean()), error, by_classifier


def yardsticks(scores: pd.DataFrame) -> list[dict[str, object]]:
    """What no pick can beat, training all classifiers on all configurations included; and a random pick."""
    accuracy = _table(scores, "accuracy")
    top = str(accuracy.mean(axis=1).idxmax())
    lost, error, by_classifier = regret(top, scores)
    times = scores[scores["repeat"] == 0][["seconds", "cpu_seconds"]].sum()
    chance = 100 * (accuracy.max() - accuracy.mean())
    return [
        {
            "method": BEST_SINGLE,
            "needs": "training all",
            "configuration": top,
            "regret": lost,
            "standard error": error,
            **{f"regret, {name}": value for name, value in by_classifier.items()},
            "seconds": float(times["seconds"]),
            "cpu_seconds": float(times["cpu_seconds"]),
        },
        {
            "method": RANDOM,
            "needs": "nothing",
            "configuration": "",
            "regret": float(chance.mean()),
            **{f"regret, {name}": value for name, value in chance.items()},
            "tau, accuracy": 0.0,
            "tau, log-loss": 0.0,
        },
    ]


def mean_tau(order: pd.Series, results: pd.DataFrame) -> float:
    """Kendall's tau-b of an order with the results of each classifier, mean over those that have any."""
    from scipy.stats import kendalltau

    found = [
        kendalltau(order.reindex(results.index), results[name]).statistic
        for name in results
        if results[name].notna().all() and results[name].min() < results[name].max()
    ]
    return float(np.mean(found)) if found else float("nan")


def side_by_side(picks: pd.DataFrame) -> pd.DataFrame:
    """One row per criterion: regret on each data set and on average, mean taus, processor time on each."""
    methods = picks.drop_duplicates("method")[["method", "needs"]].set_index("method")
    datasets = list(dict.fromkeys(picks["dataset"]))

    def wide(column: str) -> pd.DataFrame:
        table = picks.set_index(["method", "dataset"])[column].unstack()  # noqa: PD010 (keeps gaps)
        return table.reindex(index=methods.index, columns=datasets)

    lost = wide("regret")
    parts = [
        methods,
        lost.assign(**{MEAN: lost.mean(axis=1)}).add_prefix("regret, "),
        wide("tau, accuracy").mean(axis=1).rename("tau, accuracy"),
        wide("tau, log-loss").mean(axis=1).rename("tau, log-loss"),
        wide("cpu_seconds").add_prefix("cpu, "),
    ]
    return pd.concat(parts, axis=1).reset_index()


def limits(summary: pd.DataFrame) -> pd.DataFrame:
    """What the advice may lose beside what it loses here."""
    lost = summary.set_index("method").filter(like="regret, ")
    means, each = lost[f"regret, {MEAN}"], lost.drop(columns=f"regret, {MEAN}").max(axis=1)
    rows = [
        {
            "method": method,
            "what": f"points lost {what}",
            "at most": limit,
            "here": means[method] if what == "on average" else each[method],
        }
        for method, what, limit in LIMITS
    ]
    table = pd.DataFrame(rows)
    return table.assign(kept=np.where(table["here"] <= table["at most"], "yes", "no"))


def spread(picks: pd.DataFrame, repeats: int) -> pd.DataFrame:
    """How far the configurations of each data set are apart, and how exact the regrets are."""
    rows = []
    for dataset, part in picks.groupby("dataset", sort=False):
        named = part.set_index("method")["regret"]
        rows.append(
            {
                "dataset": dataset,
                "splits": repeats,
                RANDOM: named[RANDOM],
                BEST_SINGLE: named[BEST_SINGLE],
                "largest standard error": part["standard error"].max(),
            }
        )
    return pd.DataFrame(rows)


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw the regret of every criterion, a panel for each data set and one for the mean."""
    import altair as alt

    table = tables["regret"].set_index("method").filter(like="regret, ")
    charts: list[alt.LayerChart | alt.FacetChart] = []
    for column in table:
        found = table[column].rename("points").reset_index()
        names = alt.Axis() if not charts else None  # the first panel names the rows of all
        base = alt.Chart(rows_of(found)).encode(
            x=alt.X("points:Q", title="points lost"), y=alt.Y("method:N", sort=None, title=None, axis=names)
        )
        auto = alt.condition(
            "indexof(datum.method, 'auto') == 0", alt.value(theme.ACCENT), alt.value(theme.OTHER)
        )
        texts = base.mark_text(align="left", dx=3, fontSize=9).encode(text=alt.Text("points:Q", format=".2f"))
        title = str(column).removeprefix("regret, ")
        charts.append(
            alt.layer(base.mark_bar().encode(color=auto), texts, title=title, width=200, height=alt.Step(18))
        )
    return panels(charts, columns=len(charts))


def _table(scores: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean of a column over the splits: configuration x classifier, both in order of appearance."""
    found = scores.groupby(["configuration", "classifier"], sort=False)[column].mean().unstack()  # noqa: PD010
    return found[list(dict.fromkeys(scores["classifier"]))]


def _lost(dataset: str, method: str) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        picks = tables["picks"]
        part = picks[(picks["dataset"] == dataset) & (picks["method"] == method)]
        return None if part.empty else float(part["regret"].iloc[0])

    return find


EXPERIMENT = Experiment(
    name="regret",
    title="accuracy lost by the pick of every measure, score and baseline",
    section="End-to-end Effectiveness, with scores that the paper does not have",
    run=run,
    draw=draw,
    page=write_page,
    takes=("measures", "classifiers", "configurations", "seed", "n_jobs", "repeats"),
    notes=(
        "Regret: accuracy points (of a hundred) that the pick loses to the best configuration of a "
        "classifier, mean over the classifiers; accuracies are means over repeated stratified 70/30 splits. "
        "The best of noisy accuracies is too high by chance, so regrets are rather too large than too small. "
        "tau: Kendall's tau-b of the order with the accuracies, and with minus the log-losses of classifiers "
        "that give probabilities, mean over the classifiers. 'best single pick' is the configuration of the "
        "highest mean accuracy: no pick for all classifiers loses less, and it takes training them all. "
        "'random pick' is the mean over the configurations. 'cpu' is processor seconds, all threads, from "
        "the file on disk to the pick, libraries loaded; Mascara and Sampling mask row by row, as the paper "
        "describes them."
    ),
    claims=tuple(
        Claim(dataset, "accuracy lost by g3, mean over classifiers, points", 0, 7, _lost(dataset, "g3"))
        for dataset in ("air_quality", "hotel", "income")
    ),
)
