"""Every solver inside the advisor: distance to the truth, objective, residual and time."""

from __future__ import annotations

import argparse

from pandas import isna

from aegis_opt.harness import ComparisonSettings, Results, run_comparison
from aegis_opt.harness._schema import SKIPPED
from benchmarks.inputs import folders, load, machine

VARIANTS = [
    "ipf",
    *(f"convex:{norm}" for norm in ("l1", "l2", "linf")),
    *(f"integer:{norm}" for norm in ("l1", "l2", "linf")),
    "sampling",
    *(f"ipf+{rounding}" for rounding in ("independent", "controlled", "hypergeometric")),
]
_LINE = "{:<22} {:<7} {:>8} {:>11} {:>10} {:>9} {:>9} {:<9} {:>6}"


def line(results: Results, variant: str, scope: str) -> str:
    """Return what a variant's tables are like, each counted once, and what the advisor makes of them."""
    advice = results.advice.query("variant == @variant and scope == @scope").iloc[0]
    tables = results.reconstructions.query("variant == @variant and scope == @scope")
    tables = tables.drop_duplicates(["attribute", "table"])
    if advice["status"] == SKIPPED:
        return f"{variant:<22} {scope:<7} skipped: {advice['error']}"
    return _LINE.format(
        *(variant, scope, f"{tables['tvd'].mean():.4f}", f"{tables['objective'].mean():.2f}"),
        *(f"{tables['residual'].max():.1e}", f"{tables['seconds_total'].sum():.2f}s"),
        *(
            f"{advice['seconds_total']:.2f}s",
            "none" if isna(advice["best"]) else advice["best"],
            f"{advice['tau']:.2f}",
        ),
    )


def main() -> None:
    """Print one row per variant and scope."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder; default: synthetic")
    parser.add_argument("--scope", choices=["single", "pooled"], action="append", help="default: single")
    arguments = parser.parse_args()
    scopes = arguments.scope or ["single"]
    print(machine())
    for folder in folders(arguments.data):
        data = load(folder, rows=5_000)
        settings = ComparisonSettings(solvers=VARIANTS, scopes=scopes, histograms=[True], replicates=3)
        results = run_comparison([data.case], settings)
        single = results.reconstructions.query("variant == 'ipf' and scope == 'single'")
        n_tables = len(single.drop_duplicates(["attribute", "table"]))
        counted = f", {n_tables} masked tables" if n_tables else ""
        print(f"\n{data.name}: {len(data.configurations)} configurations{counted}, mi")
        print(
            _LINE.format(
                *("variant", "scope", "mean TVD", "objective", "residual", "tables", "advise", "best", "tau")
            )
        )
        for scope in scopes:
            for variant in VARIANTS:
                print(line(results, variant, scope))


if __name__ == "__main__":
    main()
