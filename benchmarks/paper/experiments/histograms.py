"""What the histograms are worth: time and accuracy of the pick with and without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.advisor import advise
from aegis_opt.report.charts import _theme as theme
from aegis_opt.summary import summarize
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import judged_by_training, restricted, trained

if TYPE_CHECKING:
    import altair as alt

_CLASSIFIERS = ("lr", "svm", "sgd", "nb")
_METHODS = {
    "advisor": {"scope": "pooled"},
    "advisor, single view, rounded": {"scope": "single", "rounding": "independent", "replicates": 1},
}


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Advise with and without histograms and train every configuration."""
    runtimes, accuracies = [], []
    for given in settings.cases:
        case = restricted(given, settings.configurations)
        scores = trained(case, settings.classifiers or _CLASSIFIERS, settings)
        rows = []
        for histograms in (True, False):
            for method, options in _METHODS.items():
                for measure in settings.measures:
                    start = time.perf_counter()
                    summary = summarize(case.source, case.label, case.configurations, histograms)
                    advice = advise(summary, measure, seed=settings.seed, **options)  # type: ignore[arg-type, call-overload]
                    rows.append(
                        {
                            "method": f"{method} {'+1D' if histograms else '-1D'}",
                            "measure": measure,
                            "configuration": advice.best,
                            "seconds": time.perf_counter() - start,
                        }
                    )
        picks = pd.DataFrame(rows)
        runtimes.append(picks.assign(dataset=case.name))
        accuracies.append(judged_by_training(picks, scores).assign(dataset=case.name))
    return {
        "runtime": pd.concat(runtimes, ignore_index=True),
        "accuracy": pd.concat(accuracies, ignore_index=True),
    }


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw mean runtimes and mean accuracies per data set, with and without."""
    import altair as alt

    charts = []
    for name, column in (("runtime", "seconds"), ("accuracy", "accuracy")):
        means = tables[name].groupby(["dataset", "method"], sort=False)[[column]].mean().reset_index()
        over = f"{column}, mean over measures{' and classifiers' if name == 'accuracy' else ''}"
        charts.append(
            alt.Chart(rows_of(means), width=alt.Step(16), height=260)
            .mark_bar()
            .encode(
                x=alt.X("dataset:N", title=None, axis=alt.Axis(labelAngle=0)),
                xOffset=alt.XOffset("method:N", sort=None),
                y=alt.Y(f"{column}:Q", title=over),
                color=alt.Color("method:N", sort=None, title=None, scale=alt.Scale(range=list(theme.HUES))),
            )
        )
    return panels(charts, columns=2)


def _extra_seconds(tables: Tables) -> float | None:
    """Slowest relative change by histograms, percent, over data sets."""
    wide = tables["runtime"].pivot_table(index="dataset", columns="method", values="seconds")
    return float((100 * (wide["advisor +1D"] / wide["advisor -1D"] - 1)).max())


def _gain(dataset: str, classifier: str | None = None) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        table = tables["accuracy"]
        part = table[table["dataset"] == dataset]
        if classifier is not None:
            part = part[part["classifier"] == classifier]
        with_, without = (part.loc[part["method"] == f"advisor {d}", "accuracy"] for d in ("+1D", "-1D"))
        return None if with_.empty or without.empty else 100 * float(with_.mean() - without.mean())

    return find


EXPERIMENT = Experiment(
    name="histograms",
    title="time and accuracy with and without histograms",
    section="Impact of Availability of Data Summaries",
    run=run,
    draw=draw,
    takes=("measures", "classifiers", "configurations", "seed", "n_jobs"),
    notes=(
        "The default advisor's order is that of the true deviation with or without histograms, so its pick, "
        "and with it the accuracy, cannot depend on them; in the paper's single-view procedure they can "
        "matter."
    ),
    claims=(
        Claim("*", "time added by histograms, percent, most", 0, 15, _extra_seconds),
        Claim("air_quality", "svm accuracy gained by histograms, points", 0, 2, _gain("air_quality", "svm")),
        Claim("hotel", "accuracy gained by histograms, points", 0, 100, _gain("hotel")),
        Claim("income", "accuracy gained by histograms, points", 0, 100, _gain("income")),
    ),
)
