"""End-to-end runtime, and accuracy of the configuration that each method picks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.report.charts import _theme as theme
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import (
    ADVISOR,
    EXHAUSTIVE,
    MASCARA,
    SAMPLING,
    exhaustive_times,
    judged_by_training,
    restricted,
    timed_picks,
    trained,
)

if TYPE_CHECKING:
    import altair as alt

_CLASSIFIERS = ("lr", "svm", "rf", "sgd", "nb")
_NOTES = (
    "Times are from the file on disk to the winner, libraries loaded; training is on one thread. 'row by "
    "row' masks the rows by every configuration, as tools without summaries do, and is what the paper "
    "describes; 'from one scan' works from counts (Mascara's estimate is the same; Sampling draws by the "
    "histogram there, and evenly row by row, as the paper does). 'times the advisor' divides by the time of "
    "the advisor for the same measure (its slowest where the method has none). 'cpu' is processor time, "
    "which other work on the machine disturbs less. The paper's times are of another machine: compare ratios."
)


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Time every method on every data set and train all configurations."""
    return run_with(settings, settings.classifiers or _CLASSIFIERS)


def run_with(settings: Settings, classifiers: tuple[str, ...]) -> dict[str, pd.DataFrame]:
    """Run with given classifiers: tables `runtime` and `accuracy`."""
    runtimes, accuracies = [], []
    for given in settings.cases:
        case = restricted(given, settings.configurations)
        scores = trained(case, classifiers, settings)
        picks = timed_picks(case, settings)
        times = pd.concat([picks, exhaustive_times(scores).assign(dataset=case.name)], ignore_index=True)
        runtimes.append(_relative(times))
        accuracies.append(judged_by_training(picks, scores).assign(dataset=case.name))
    accuracy = pd.concat(accuracies, ignore_index=True)
    first = ["dataset", "classifier", "method", "measure"]
    runtime = pd.concat(runtimes, ignore_index=True)
    return {
        "runtime": runtime.drop(columns="configuration"),
        "picks": side_by_side(accuracy),
        "accuracy": accuracy[[*first, *(c for c in accuracy if c not in first)]],
    }


def side_by_side(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of each pick, a column per classifier, then the best and the mean over the configurations."""
    keys = ["dataset", "method", "measure", "configuration"]
    rows = accuracy[accuracy["method"] != EXHAUSTIVE].fillna({"configuration": "no winner"})
    order = pd.MultiIndex.from_frame(rows[keys].drop_duplicates())
    wide = rows.pivot(index=keys, columns="classifier", values="accuracy")  # noqa: PD010 (keeps gaps)
    picked = wide.reindex(order)
    picked = picked[list(dict.fromkeys(rows["classifier"]))]
    parts = [picked.reset_index()]
    for name in ("best", "mean"):
        level = accuracy.pivot_table(index="dataset", columns="classifier", values=name, sort=False)
        parts.append(level.reset_index().assign(method=f"{name} of all", measure="none"))
    table = pd.concat(parts, ignore_index=True).sort_values("dataset", kind="stable", ignore_index=True)
    return table[[*keys, *picked.columns]].rename_axis(columns=None)


def _relative(runtime: pd.DataFrame) -> pd.DataFrame:
    """Add how many times the advisor's time each method takes, by the wall and by the processor."""
    ours = runtime[runtime["method"] == ADVISOR].set_index("measure")
    for column, ratio in (("seconds", "times the advisor"), ("cpu_seconds", "times, cpu")):
        base = runtime["measure"].map(ours[column]).fillna(ours[column].max())
        runtime = runtime.assign(**{ratio: runtime[column] / base})
    return runtime


def seconds_of(dataset: str, method: str, measure: str | None = None) -> Callable[[Tables], float | None]:
    """Look up a runtime; the mean over measures where none is given."""
    return _lookup("runtime", "seconds", dataset, method, measure)


def ratio_of(dataset: str, method: str) -> Callable[[Tables], float | None]:
    """Look up how many times longer than the advisor a method takes; the mean over measures."""
    return _lookup("runtime", "times the advisor", dataset, method, None)


def accuracy_of(
    dataset: str, classifier: str, method: str, measure: str | None = None
) -> Callable[[Tables], float | None]:
    """Look up the accuracy of a method's pick."""
    return _lookup("accuracy", "accuracy", dataset, method, measure, classifier)


def loss_of(dataset: str, classifier: str, measure: str) -> Callable[[Tables], float | None]:
    """How much accuracy the advisor's pick lacks to the best, in points of a hundred."""

    def find(tables: Tables) -> float | None:
        ours = accuracy_of(dataset, classifier, ADVISOR, measure)(tables)
        best = accuracy_of(dataset, classifier, EXHAUSTIVE)(tables)
        return None if ours is None or best is None else 100 * (best - ours)

    return find


def _lookup(
    table: str,
    column: str,
    dataset: str,
    method: str,
    measure: str | None,
    classifier: str | None = None,
) -> Callable[[Tables], float | None]:
    wanted = {"dataset": dataset, "method": method, "measure": measure, "classifier": classifier}

    def find(tables: Tables) -> float | None:
        found = tables[table]
        for key, value in wanted.items():
            if value is not None:
                found = found[found[key] == value]
        return float(found[column].mean()) if len(found) else None

    return find


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw runtimes (logarithmic) above accuracies (dots beside a bar from the mean to the best)."""
    runtime, accuracy = tables["runtime"], tables["accuracy"]
    datasets = list(dict.fromkeys(runtime["dataset"]))
    charts = [_runtime_chart(runtime[runtime["dataset"] == dataset], str(dataset)) for dataset in datasets]
    charts += [_accuracy_chart(accuracy[accuracy["dataset"] == dataset]) for dataset in datasets]
    return panels(charts, columns=len(datasets))


def _runtime_chart(part: pd.DataFrame, title: str) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    seconds = part.groupby("method", sort=False)["seconds"].mean().sort_values().reset_index()
    texts = [f"{value:,.0f} s" if value >= 1000 else f"{value:.3g} s" for value in seconds["seconds"]]
    ours = seconds["method"].astype(str).str.startswith(ADVISOR)
    base = alt.Chart(rows_of(seconds.assign(text=texts, ours=ours))).encode(
        x=alt.X("seconds:Q", scale=alt.Scale(type="log", padding=30), title="seconds, mean over measures"),
        y=alt.Y("method:N", sort=None, title=None),
    )
    colour = alt.condition("datum.ours", alt.value(theme.ACCENT), alt.value(theme.OTHER))
    dots = base.mark_point(size=70).encode(color=colour)
    names = base.mark_text(align="left", dx=8).encode(text="text:N")
    return alt.layer(dots, names, title=title, width=360, height=alt.Step(20))


def _accuracy_chart(part: pd.DataFrame) -> alt.LayerChart | alt.FacetChart:
    import altair as alt

    colours = {ADVISOR: theme.HUES[0], SAMPLING: theme.HUES[1], MASCARA: theme.HUES[2]}
    picked = part[part["method"].isin(list(colours))]
    ends = part.groupby("classifier", sort=False)[["mean", "best"]].first().reset_index()
    x = alt.X("classifier:N", sort=None, title=None, axis=alt.Axis(labelAngle=0))
    title = "accuracy; bar: from the mean to the best of all"
    y = alt.Y("mean:Q", scale=alt.Scale(zero=False), title=title)
    bars = alt.Chart(rows_of(ends)).mark_bar(size=40, color="#C9CED6").encode(x=x, y=y, y2="best:Q")
    dots = (
        alt.Chart(rows_of(picked))
        .mark_point(size=60)
        .encode(
            x=x,
            xOffset=alt.XOffset("measure:N", sort=None),
            y=alt.Y("accuracy:Q", scale=alt.Scale(zero=False), title=title),
            color=alt.Color(
                "method:N", title=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))
            ),
            shape=alt.Shape("measure:N", sort=None, title=None),
        )
    )
    return alt.layer(bars, dots, width=360, height=260)


_INF = float("inf")
EXPERIMENT = Experiment(
    name="end-to-end",
    title="runtime and accuracy of the configuration picked, per classifier and measure",
    section="Overall Efficiency and Effectiveness",
    run=run,
    draw=draw,
    takes=("measures", "classifiers", "configurations", "seed", "n_jobs"),
    notes=_NOTES,
    claims=(
        Claim("air_quality", "advisor, seconds", 6.0, 6.5, seconds_of("air_quality", ADVISOR)),
        Claim("air_quality", "sampling / advisor, time", 2.5, 2.5, ratio_of("air_quality", SAMPLING)),
        Claim("air_quality", "mascara / advisor, time", 4.0, 4.5, ratio_of("air_quality", MASCARA)),
        Claim(
            "air_quality",
            "exhaustive lr / advisor, time",
            19.0,
            19.3,
            ratio_of("air_quality", "exhaustive, lr"),
        ),
        Claim(
            "air_quality",
            "exhaustive svm / advisor, time",
            12,
            12,
            ratio_of("air_quality", "exhaustive, svm"),
        ),
        Claim(
            "air_quality", "exhaustive rf / advisor, time", 9, 9, ratio_of("air_quality", "exhaustive, rf")
        ),
        Claim("hotel", "exhaustive lr / advisor, time", 7, _INF, ratio_of("hotel", "exhaustive, lr")),
        Claim("hotel", "exhaustive svm / advisor, time", 160, _INF, ratio_of("hotel", "exhaustive, svm")),
        Claim("income", "exhaustive sgd / advisor, time", 2, 2, ratio_of("income", "exhaustive, sgd")),
        Claim("income", "exhaustive rf / advisor, time", 2, 2, ratio_of("income", "exhaustive, rf")),
        Claim("income", "exhaustive svm / advisor, time", 9, 9, ratio_of("income", "exhaustive, svm")),
        Claim(
            "air_quality",
            "lr accuracy, advisor g3",
            0.81,
            0.81,
            accuracy_of("air_quality", "lr", ADVISOR, "g3"),
        ),
        Claim(
            "air_quality",
            "lr accuracy, sampling g3",
            0.82,
            0.82,
            accuracy_of("air_quality", "lr", SAMPLING, "g3"),
        ),
        Claim(
            "air_quality",
            "lr accuracy, sampling chi2",
            0.53,
            0.53,
            accuracy_of("air_quality", "lr", SAMPLING, "chi2"),
        ),
        Claim("air_quality", "lr accuracy, best", 0.84, 0.84, accuracy_of("air_quality", "lr", EXHAUSTIVE)),
        Claim("air_quality", "nb accuracy, mascara", 0.73, 0.73, accuracy_of("air_quality", "nb", MASCARA)),
        Claim("air_quality", "nb accuracy, best", 0.79, 0.79, accuracy_of("air_quality", "nb", EXHAUSTIVE)),
        Claim("income", "lr accuracy, advisor g3", 0.83, 0.83, accuracy_of("income", "lr", ADVISOR, "g3")),
        Claim("income", "svm accuracy, advisor g3", 0.83, 0.83, accuracy_of("income", "svm", ADVISOR, "g3")),
        Claim("income", "rf accuracy, advisor mi", 0.81, 0.81, accuracy_of("income", "rf", ADVISOR, "mi")),
        Claim("income", "rf accuracy, best", 0.83, 0.83, accuracy_of("income", "rf", EXHAUSTIVE)),
        Claim("income", "sgd accuracy, advisor", 0.81, 0.81, accuracy_of("income", "sgd", ADVISOR)),
        Claim("income", "sgd accuracy, best", 0.85, 0.85, accuracy_of("income", "sgd", EXHAUSTIVE)),
        *(
            Claim(
                dataset,
                f"{classifier} accuracy lost by advisor g3, points",
                0,
                7,
                loss_of(dataset, classifier, "g3"),
            )
            for dataset in ("air_quality", "hotel", "income")
            for classifier in ("lr", "svm", "rf", "sgd")
        ),
    ),
)
