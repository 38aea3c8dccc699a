"""Time against the number of rows, attributes and configurations, split into what is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pandas as pd

from aegis_opt.advisor import advise
from aegis_opt.report.charts import _theme as theme
from aegis_opt.summary import summarize
from benchmarks.charts import panels, rows_of
from benchmarks.paper.datasets import scalability
from benchmarks.paper.experiments.base import Claim, Experiment, Settings, Tables

if TYPE_CHECKING:
    import altair as alt

_BASE = {"n_rows": 100_000, "n_attributes": 50, "n_configurations": 50}
_VARIED = {
    "n_rows": (100_000, 250_000, 500_000, 1_000_000),
    "n_attributes": (50, 100, 150, 200, 250),
    "n_configurations": (10, 20, 30, 40, 50),
}
_SMALL_BASE = {"n_rows": 2_000, "n_attributes": 4, "n_configurations": 4}
_SMALL = {"n_rows": (1_000, 2_000), "n_attributes": (2, 4), "n_configurations": (2, 4)}
_PHASES = ("scan and mask", "reconstruct", "utility")


def run(settings: Settings) -> dict[str, pd.DataFrame]:
    """Vary one size at a time, the others as in the base case."""
    base, varied = (_SMALL_BASE, _SMALL) if settings.small else (_BASE, _VARIED)
    steps = [(name, size) for name, sizes in varied.items() for size in sizes]
    rows = []
    tiny = scalability(100, 2, 10, 2)
    advise(summarize(tiny.frame, tiny.label, tiny.configurations), "mi")  # loads what has to be loaded
    for done, (name, size) in enumerate(steps):
        if settings.progress is not None:
            settings.progress(f"{name} = {size:,}", done, len(steps))
        sizes = base | {name: size}
        data = scalability(**sizes, n_values=200, seed=settings.seed)
        start = time.perf_counter()
        summary = summarize(data.frame, data.label, data.configurations, histograms=True)
        scanned = time.perf_counter() - start
        advice = advise(summary, "mi")
        utility = advice.seconds["measure"] + advice.seconds["rank"]
        rows.append(
            {"varied": name, **sizes}
            | {"scan and mask": scanned, "reconstruct": advice.seconds["reconstruct"], "utility": utility}
            | {"seconds": time.perf_counter() - start}
        )
    return {"runtime": pd.DataFrame(rows)}


def draw(tables: Tables) -> alt.ConcatChart:
    """Draw stacked times against each size."""
    import altair as alt

    table = tables["runtime"]
    charts = []
    for name, part in table.groupby("varied", sort=False):
        sized = part[[str(name), *_PHASES]].rename(columns={str(name): "size"})
        long = sized.melt(id_vars=["size"], var_name="phase", value_name="seconds")
        charts.append(
            alt.Chart(rows_of(long), width=260, height=220)
            .mark_area()
            .encode(
                x=alt.X("size:Q", title=str(name).removeprefix("n_")),
                y=alt.Y("seconds:Q", stack=True),
                color=alt.Color(
                    "phase:N", sort=list(_PHASES), title=None, scale=alt.Scale(range=list(theme.HUES[:3]))
                ),
            )
        )
    return panels(charts, columns=3)


def _million(tables: Tables) -> float | None:
    table = tables["runtime"]
    part = table.loc[(table["varied"] == "n_rows") & (table["n_rows"] == 1_000_000), "seconds"]
    return None if part.empty else float(part.iloc[0])


EXPERIMENT = Experiment(
    name="scalability",
    title="time against rows, attributes and configurations",
    section="Framework Efficiency",
    run=run,
    draw=draw,
    takes=("seed", "small"),
    needs_data=False,
    notes="From a frame in memory. The scan reads every row once, whatever the number of configurations.",
    claims=(Claim("*", "1,000,000 rows: seconds", 400, float("inf"), _million),),
)
