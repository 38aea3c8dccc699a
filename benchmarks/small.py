"""A small complete comparison on synthetic data: every solver, norm and rounding, and other libraries.

A random choice is the baseline. Two cores run it in a few minutes. It writes a results folder, which
`aegis-opt report` shows as a page; a run that was stopped is continued.
"""

from __future__ import annotations

import argparse
import sys
import time

import pandas as pd

from aegis_opt import datasets
from aegis_opt.harness import PEERS, Case, ComparisonSettings, overview, run_comparison
from benchmarks.inputs import machine
from benchmarks.paper.datasets import scalability

VARIANTS = [
    "ipf",
    *(
        f"ipf+{rounding}"
        for rounding in ("independent", "largest-remainder", "controlled", "hypergeometric", "nearest")
    ),
    *(f"convex:{norm}" for norm in ("l1", "l2", "linf")),
    *(f"integer:{norm}" for norm in ("l1", "l2", "linf")),
    "sampling",
    *PEERS,
    "random",
]
SHIFT = 0.01  # seconds, of the geometric mean of times


def main() -> None:
    """Run the comparison, print it in brief."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--output", default="out/bench", metavar="DIR", help="results folder")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds per run (default 30)")
    arguments = parser.parse_args()
    start = time.perf_counter()
    made = (
        datasets.worked_example(),
        datasets.clinic(2000),
        scalability(3000, n_attributes=4, n_values=30, n_configurations=6),
    )
    settings = ComparisonSettings(
        solvers=VARIANTS,
        measures=["mi", "chi2", "g3"],
        n_jobs=arguments.jobs,
        time_limit=arguments.time_limit,
        output=arguments.output,
        progress=_progress if sys.stderr.isatty() else None,
    )
    results = run_comparison([Case.of(data) for data in made], settings)
    print(machine())
    with pd.option_context("display.width", 200, "display.max_columns", None, "display.max_rows", None):
        print(overview(results.advice, arguments.time_limit, shift=SHIFT).round(3).to_string(index=False))
    print(
        f"{len(results.advice)} advisor runs and {len(results.reconstructions)} reconstructions in "
        f"{arguments.output}, {time.perf_counter() - start:.0f} s"
    )


def _progress(what: str, done: int, total: int) -> None:
    print(f"\r{done}/{total} {what:<60.60}", end="" if done < total else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
