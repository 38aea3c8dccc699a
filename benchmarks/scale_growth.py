"""Growth with rows, attributes and configurations, beside what the paper reports."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

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
PAPER_ROWS = (  # rows, seconds, marker, what the paper says
    (1_000_000, 400, "^", "paper, CPUs: more than 400 s"),
    (10_000_000, 740, "*", "paper, with a GPU: masking"),
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


def _short(size: int) -> str:
    """Write 100000 as 100K."""
    for unit, word in ((10**6, "M"), (10**3, "K")):
        if size >= unit:
            return f"{size // unit}{word}"
    return str(size)


def _draw(found: pd.DataFrame, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(found["varied"].unique())
    figure, axes = plt.subplots(1, len(kinds), figsize=(4 * len(kinds), 3.4), layout="constrained")
    for axis, varied in zip(axes, kinds, strict=True):
        runs = found[found["varied"] == varied]
        for phase, style in zip(PHASES, ("o-", "s-", "^-", "k--"), strict=True):
            slope = _slope(runs["size"], runs[phase])
            axis.loglog(runs["size"], runs[phase], style, markersize=4, label=f"{phase} (slope {slope:.2f})")
        if varied == "rows":
            for rows, seconds, marker, words in PAPER_ROWS:
                axis.loglog(rows, seconds, marker, color="grey", label=words)
        axis.set_xticks(runs["size"], [_short(size) for size in runs["size"]])
        axis.minorticks_off()
        axis.set_xlabel(f"number of {varied}")
        axis.grid(visible=True, which="major", alpha=0.3)
        low, high = axis.get_ylim()
        axis.set_ylim(low, high * (high / low) ** 0.35)  # room for the legend
        axis.legend(fontsize="x-small", loc="upper left", ncols=2)
    axes[0].set_ylabel("seconds")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"\nDrawn in {path}")
