"""Growth with rows, attributes and configurations, beside what the paper reports."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.charts import panels, save_png
from benchmarks.scale_data import draw_configurations, library, make_parquet

ROWS, ATTRIBUTES, CONFIGURATIONS = 100_000, 50, 50  # unless varied; with growing rows: 10 attributes
PHASES = ("scan", "merge", "advise", "total")
PAPER = """\
The paper's own numbers, from its section on efficiency (another machine and other attributes: to be put
beside these, not divided by them):
  rows            1M rows: more than 400 s on CPUs, over half of it masking; no more rows in reasonable time.
                  On a server with a GPU: masking from under 20 s at 100K to about 740 s at 10M rows,
                  reconstruction 15-20% of it, measures up to 53 s; linear.
  attributes      50 to 250: "increases steadily", dominated by masking.
  configurations  10 to 50: "approximately linearly", dominated by masking."""
PAPER_ROWS = (  # rows, seconds, what the paper says
    (1_000_000, 400, "paper, CPUs: more than 400 s"),
    (10_000_000, 740, "paper, with a GPU: masking"),
)


def growth(arguments: argparse.Namespace) -> None:
    """Print times and slopes as tables, and draw them."""
    found = pd.DataFrame(_runs(arguments))
    print("Growth of summarize + advise (mutual information), seconds:")
    for varied, runs in found.groupby("varied", sort=False):
        print(f"\n  {varied:>14}" + "".join(f"{phase:>10}" for phase in PHASES))
        for _, run in runs.iterrows():
            print(f"  {run['size']:>14,}" + "".join(f"{run[phase]:10.3f}" for phase in PHASES))
        slopes = [_slope(runs["size"], runs[phase]) for phase in PHASES]
        print(f"  {'slope':>14}" + "".join(f"{slope:10.2f}" for slope in slopes))
    print(f"\n(slope of log time over log size: 1 is linear, 0 is constant)\n\n{PAPER}")
    _draw(found, arguments.picture)


def _runs(arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    rows = [n for n in (100_000, 1_000_000, 10_000_000, 100_000_000) if n <= arguments.max_rows]
    sizes = {
        "rows": [(n, n, 10, CONFIGURATIONS) for n in rows],
        "attributes": [(n, ROWS, n, CONFIGURATIONS) for n in (50, 100, 150, 200, 250)],
        "configurations": [(n, ROWS, ATTRIBUTES, n) for n in (10, 20, 50, 100, 200, 500)],
    }
    library(make_parquet(arguments.work, 1000, 2), draw_configurations(2, 2))  # imports
    for varied, runs in sizes.items():
        for size, n_rows, n_attributes, n_configurations in runs:
            path = make_parquet(arguments.work, n_rows, n_attributes)
            configurations = draw_configurations(n_attributes, n_configurations)
            timed = [library(path, configurations, ["mi"]) for _ in range(arguments.repeats)]
            medians = {phase: statistics.median(run[phase] for run in timed) for phase in PHASES}
            yield {"varied": varied, "size": size, **medians}


def _slope(sizes: pd.Series, seconds: pd.Series) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _draw(found: pd.DataFrame, path: Path) -> None:
    import altair as alt

    from aegis_opt.report.charts import _theme as theme
    from aegis_opt.report.charts._figure import values

    charts = []
    for varied, runs in found.groupby("varied", sort=False):
        rows = [
            {
                "size": size,
                "seconds": seconds,
                "phase": f"{phase} (slope {_slope(runs['size'], runs[phase]):.2f})",
            }
            for phase in PHASES
            for size, seconds in zip(runs["size"], runs[phase], strict=True)
        ]
        if varied == "rows":
            rows += [{"size": n, "seconds": seconds, "phase": words} for n, seconds, words in PAPER_ROWS]
        names = list(dict.fromkeys(row["phase"] for row in rows))
        looks = {
            "color": alt.Color("phase:N", sort=names, title=None, scale=alt.Scale(range=list(theme.HUES))),
            "shape": alt.Shape("phase:N", sort=names, title=None, scale=alt.Scale(range=list(theme.SHAPES))),
        }
        base = alt.Chart(values(rows)).encode(
            x=alt.X(
                "size:Q",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(title=f"number of {varied}", values=runs["size"].tolist(), format="~s"),
            ),
            y=alt.Y("seconds:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format=".3~g", tickCount=5)),
        )
        dots = base.mark_point(filled=True, size=40).encode(**looks)
        charts.append(alt.layer(base.mark_line().encode(color=looks["color"]), dots, width=260, height=240))
    save_png(
        panels(charts, columns=len(charts)).resolve_scale(color="independent", shape="independent"), path
    )
    print(f"\nDrawn in {path}")
