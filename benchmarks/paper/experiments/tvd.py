"""Quality of the reconstructed joint tables, with and without histograms, beside sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.harness import ComparisonSettings, run_comparison
from benchmarks.charts import panels, rows_of
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables
from benchmarks.paper.experiments.choices import restricted

if TYPE_CHECKING:
    import altair as alt

_METHODS = {
    ("ipf", "single", True): "single view +1D",
    ("ipf", "single", False): "single view -1D",
    ("sampling", "single", True): "sampling +1D",
    ("sampling", "single", False): "sampling -1D",
    ("ipf", "pooled", True): "pooled +1D",
    ("ipf", "pooled", False): "pooled -1D",
}


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Reconstruct every attribute under every configuration; one TVD per configuration: the mean."""
    cases = [restricted(case, settings.configurations) for case in settings.cases]
    parts = []
    for solver, scopes in (("ipf", ["single", "pooled"]), ("sampling", ["single"])):
        comparison = ComparisonSettings(
            solvers=[solver],
            scopes=scopes,  # type: ignore[arg-type]
            seeds=[settings.seed],
            tables=["reconstructions"],
            n_jobs=settings.n_jobs,
            progress=settings.progress,
        )
        parts.append(run_comparison(cases, comparison).reconstructions)
    rows = pd.concat(parts, ignore_index=True)
    keys = zip(rows["solver"], rows["scope"], rows["histogram"], strict=True)
    rows["method"] = [_METHODS[str(s), str(c), bool(h)] for s, c, h in keys]
    means = rows.groupby(["dataset", "method", "configuration"], as_index=False)["tvd"].mean()
    grouped = means.groupby(["dataset", "method"])["tvd"]
    table = grouped.agg(["count", "min", "median", "mean", "max"]).reset_index()
    order = list(_METHODS.values())
    table = table.sort_values(
        ["dataset", "method"], key=lambda s: s.map(order.index) if s.name == "method" else s
    )
    return {"tvd": table.reset_index(drop=True), "configurations": means}


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw a box per method over the configurations, a panel per data set."""
    import altair as alt

    means = tables["configurations"]
    shown = [name for name in _METHODS.values() if (means["method"] == name).any()]
    axis = alt.Axis(title="TVD to the raw joint table, mean over attributes")
    return panels(
        [
            alt.Chart(rows_of(part), title=str(dataset), width=300, height=alt.Step(28))
            .mark_boxplot(size=14)
            .encode(
                x=alt.X("tvd:Q", scale=alt.Scale(domain=[0, 1]), axis=axis),
                y=alt.Y("method:N", sort=shown, title=None),
            )
            for dataset, part in means.groupby("dataset", sort=False)
        ],
        columns=3,
    )


def _median(dataset: str, method: str) -> Callable[[Tables], float | None]:
    def find(tables: Tables) -> float | None:
        table = tables["tvd"]
        part = table[(table["dataset"] == dataset) & (table["method"] == method)]
        return None if part.empty else float(part["median"].iloc[0])

    return find


EXPERIMENT = Experiment(
    name="tvd",
    title="distance of reconstructed joint tables from the raw ones, over the configurations",
    section="Quality of Joint Distribution Reconstruction",
    run=run,
    draw=draw,
    takes=("configurations", "seed", "n_jobs"),
    notes=(
        "One number per configuration: the mean over its attributes. 'pooled' is one reconstruction from all "
        "configurations together, which the paper does not have. Sampling draws each record's value within "
        "its group: by the histogram (+1D) or evenly (-1D)."
    ),
    claims=tuple(
        claim
        for dataset in ("air_quality", "hotel", "income")
        for claim in (
            Claim(dataset, "median TVD, advisor +1D", 0.45, 0.50, _median(dataset, "single view +1D")),
            Claim(dataset, "median TVD, advisor -1D", 0.0, 0.55, _median(dataset, "single view -1D")),
            Claim(dataset, "median TVD, sampling", 0.80, 0.85, _median(dataset, "sampling -1D")),
        )
    ),
)
