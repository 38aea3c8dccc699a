"""What the histograms are worth: time and accuracy of the pick with and without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.advisor import advise
from aegis_opt.summary import summarize
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables, new_figure
from benchmarks.paper.experiments.choices import judged_by_training, restricted, trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
                    advice = advise(summary, measure, seed=settings.seed, **options)  # type: ignore[arg-type]
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


def draw(tables: Tables) -> Figure:
    """Draw mean runtimes and mean accuracies per data set, with and without."""
    datasets = tables["runtime"]["dataset"].nunique()
    figure, axes = new_figure(max(10.0, 4.0 * datasets), 4.5, columns=2)
    for ax, (name, column) in zip(axes[0], (("runtime", "seconds"), ("accuracy", "accuracy")), strict=True):
        means = tables[name].pivot_table(index="dataset", columns="method", values=column)
        means.plot.bar(ax=ax, rot=0, legend=False)
        ax.set_ylabel(f"{column}, mean over measures{' and classifiers' if name == 'accuracy' else ''}")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    return figure


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
