"""Configurations that make the table k-anonymous, found by `anjana` along generalisation hierarchies.

Each configuration draws some attributes to keep as quasi-identifiers; anjana raises their levels until every
combination of released values occurs k times or more, without suppressing records. The other attributes are
suppressed, so that the k-anonymity holds for the whole release; it is counted again here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt.advisor import Advisor
from aegis_opt.errors import AegisError, InvalidInput, UnknownColumn
from aegis_opt.masks import Configurations, Generalize, Identity, Mask, Suppress
from aegis_opt.measures import get_measure
from aegis_opt.report.charts import _theme as theme
from aegis_opt.summary import summarize
from benchmarks.charts import panels, rows_of
from benchmarks.paper.anonymisation import Ladders, require_anjana
from benchmarks.paper.exhaustive import SplitError, train_and_score
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import judged_by_training, read_frame, restricted

if TYPE_CHECKING:
    import altair as alt

K = 5
KEPT = 3  # quasi-identifiers of a configuration
_DRAWN = 12  # configurations, unless the settings say otherwise
_CLASSIFIERS = ("sgd", "rf")
_UNMASKED = "unmasked"


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Build k-anonymous configurations of every data set, advise, and train."""
    require_anjana()
    accuracies, built = [], []
    classifiers = settings.classifiers or _CLASSIFIERS
    for given in settings.cases:
        label = given.label or str(restricted(given, None).label)
        frame = read_frame(given)
        if label not in frame:
            raise UnknownColumn("column", label, map(str, frame.columns))
        wanted = settings.configurations or _DRAWN
        try:
            masks, sizes = anonymous_configurations(frame, label, wanted, settings.seed, settings.hierarchies)
        except InvalidInput as error:
            raise InvalidInput(f"data set {given.name!r}: {error}") from error
        summary = summarize(frame, label, masks, histograms=True)
        advisor = Advisor(summary)
        rows = []
        for measure in settings.measures:
            advice = advisor.advise(get_measure(measure))
            rows.append({"method": "advisor", "measure": measure, "configuration": advice.best})
        options: dict[str, Any] = {"seed": settings.seed, "n_jobs": settings.n_jobs}
        plain = Configurations({_UNMASKED: dict.fromkeys(summary.attributes, Identity())})
        try:
            scores = train_and_score(frame, label, masks, classifiers, progress=settings.progress, **options)
            whole = train_and_score(frame, label, plain, classifiers, **options)
        except SplitError as error:
            raise SplitError(f"data set {given.name!r}: {error}") from error
        accuracies.append(judged_by_training(pd.DataFrame(rows), scores).assign(dataset=given.name))
        for name, accuracy in whole.set_index("classifier")["accuracy"].items():
            row = {"method": _UNMASKED, "measure": "none", "configuration": None, "classifier": name}
            accuracies.append(pd.DataFrame([row | {"accuracy": accuracy, "dataset": given.name}]))
        built.append(sizes.assign(dataset=given.name))
    accuracy = pd.concat(accuracies, ignore_index=True)
    return {"accuracy": accuracy, "configurations": pd.concat(built, ignore_index=True)}


def anonymous_configurations(
    frame: pd.DataFrame, label: str, n: int, seed: int, hierarchies: Path | None, k: int = K
) -> tuple[Configurations, pd.DataFrame]:
    """Draw quasi-identifiers and let anjana generalise them until the release is k-anonymous.

    Returns
    -------
    configurations : Configurations
        At most n, distinct; draws that only full suppression makes k-anonymous are left out.
    sizes : DataFrame
        configuration, kept attributes with their levels, and k, counted from the masked rows.
    """
    ladders = Ladders(frame, label, hierarchies)
    rng = np.random.default_rng(seed)
    found: dict[str, dict[str, Mask]] = {}
    rows = []
    seen = set()
    size = min(KEPT, max(len(ladders.of) - 1, 1))  # of all attributes together there is one draw only
    for _ in range(20 * n):
        if len(found) == n:
            break
        kept = sorted(rng.choice(list(ladders.of), size=size, replace=False).tolist())
        if tuple(kept) in seen:
            continue
        seen.add(tuple(kept))
        raised = ladders.raised_by_anjana(kept, k)
        if raised is None or all(raised[0][name] == ladders.of[name].n_levels - 1 for name in kept):
            continue
        reached, released = raised
        title = f"k{k}-{len(found) + 1:02d}"
        found[title] = {
            name: Generalize(hierarchy=ladders.of[name], level=reached[name]) if name in kept else Suppress()
            for name in ladders.of
        }
        least = int(released.groupby(kept, observed=True).size().min())
        if least < k:
            raise AegisError(f"anjana's release of {', '.join(kept)} has a group of {least} rows, not {k}")
        shown = ", ".join(f"{name} level {reached[name]}" for name in kept)
        rows.append({"configuration": title, "kept": shown, "k": least})
    if len(found) < 2:
        raise InvalidInput(
            f"fewer than two {k}-anonymous configurations: bring more rows, attributes or hierarchies"
        )
    return Configurations(found, label=label), pd.DataFrame(rows)


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw the accuracy per classifier: unmasked, the best configuration, the advisor's, the mean."""
    import altair as alt

    accuracy = tables["accuracy"]
    names = (accuracy["method"] + " " + accuracy["measure"]).str.removesuffix(" none")
    charts = []
    for (dataset, classifier), part in accuracy.assign(name=names).groupby(
        ["dataset", "classifier"], sort=False
    ):
        base = alt.Chart(rows_of(part)).encode(y=alt.Y("name:N", sort=None, title=None))
        bars = base.mark_bar(color=theme.ACCENT).encode(x=alt.X("accuracy:Q", scale=alt.Scale(zero=True)))
        texts = base.mark_text(align="left", dx=3).encode(
            x="accuracy:Q", text=alt.Text("accuracy:Q", format=".3f")
        )
        mean = (
            alt.Chart(rows_of(part[["mean"]].mean().to_frame().T))
            .mark_rule(strokeDash=[2, 3])
            .encode(x="mean:Q")
        )
        title = f"{dataset}, {classifier} (dotted: mean of all)"
        charts.append(alt.layer(bars, texts, mean, title=title, width=240, height=alt.Step(20)))
    return panels(charts, columns=accuracy["classifier"].nunique())


def _lost(classifier: str, measure: str) -> Any:
    def find(tables: Tables) -> float | None:
        table = tables["accuracy"]
        part = table[
            (table["dataset"] == "air_quality")
            & (table["classifier"] == classifier)
            & (table["measure"] == measure)
        ]
        return None if part.empty else 100 * float((part["best"] - part["accuracy"]).mean())

    return find


EXPERIMENT = Experiment(
    name="k-anonymity",
    title=f"accuracy on {K}-anonymous configurations",
    section="Effectiveness on k-anonymization-based configurations",
    run=run,
    draw=draw,
    needs_configurations=False,
    takes=("measures", "classifiers", "configurations", "seed", "n_jobs", "hierarchies"),
    notes=(
        "The paper does not say which quasi-identifiers and hierarchies it used: here each configuration "
        f"keeps {KEPT} attributes, raised along the hierarchies given (or made: intervals of width 5, 10, "
        "20, ...) until no combination is rarer than k, and suppresses the others; no record is suppressed."
    ),
    claims=(
        Claim("air_quality", "sgd accuracy lost by advisor chi2, points", 2, 2, _lost("sgd", "chi2")),
        Claim("air_quality", "rf accuracy lost by advisor g3, points", 0, 0, _lost("rf", "g3")),
    ),
)
