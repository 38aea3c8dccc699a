"""Every backend inside the advisor: distance to the truth, objective, residual and time."""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import kendalltau

import aegis_opt as ao
from aegis_opt.advisor._estimate import Scope, problems_of
from aegis_opt.sources import scan
from benchmarks.inputs import Input, folders, load, machine, true_deviation

VARIANTS: list[tuple[str, dict[str, str]]] = [
    ("ipf", {}),
    ("convex", {"norm": "l1"}),
    ("convex", {"norm": "l2"}),
    ("convex", {"norm": "linf"}),
    ("integer", {"norm": "l1"}),
    ("integer", {"norm": "l2"}),
    ("integer", {"norm": "linf"}),
    ("sampling", {}),
    ("ipf", {"rounding": "independent"}),
    ("ipf", {"rounding": "controlled"}),
    ("ipf", {"rounding": "hypergeometric"}),
]


def row(data: Input, summary: ao.Summary, solver: str, options: dict[str, str], scope: Scope) -> str:
    """Reconstruct every attribute as the advisor does, compare with the raw tables, and advise."""
    raw = scan(data.source, data.label, data.attributes).attributes
    backend = ao.get_reconstructor(solver, **options)
    distances, objectives, residuals = [], [], []
    start = time.perf_counter()
    for name in data.attributes:
        problems = problems_of(summary, name, scope, histograms=True)
        for result in backend.reconstruct_many(problems):
            distances.append(float(ao.tvd(np.asarray(result.table), raw[name].table)))
            objectives.append(result.objective)
            residuals.append(result.residual)
    tables = time.perf_counter() - start
    start = time.perf_counter()
    random = backend.is_random
    advice = ao.advise(summary, "mi", backend, scope, replicates=3 if random else None)
    advised = time.perf_counter() - start
    true = true_deviation(data, "mi")
    estimated = advice.ranking.set_index("configuration")["pud"].reindex(true.index)
    tau = kendalltau(true.round(9), estimated.round(9)).statistic
    return (
        f"{' '.join([solver, *options.values()]):<22} {scope:<7} {np.mean(distances):7.4f} "
        f"{np.mean(objectives):11.2f} {max(residuals):10.1e} {tables:8.2f}s {advised:8.2f}s "
        f"{'none' if advice.best is None else advice.best:<9} {tau:6.2f}"
    )


def main() -> None:
    """Print one row per backend and scope."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder; default: synthetic")
    parser.add_argument("--scope", choices=["single", "pooled"], action="append", help="default: single")
    arguments = parser.parse_args()
    print(machine())
    for folder in folders(arguments.data):
        data = load(folder, rows=5_000)
        summary = ao.summarize(data.source, data.label, data.configurations)
        problems = sum(len(a.tables) for a in summary.attributes.values())
        print(f"\n{data.name}: {len(data.configurations)} configurations, {problems} masked tables, mi")
        print(
            f"{'backend':<22} {'scope':<7} {'mean TVD':>7} {'objective':>11} {'residual':>10} {'tables':>9} "
            f"{'advise':>9} {'best':<9} {'tau':>6}"
        )
        for scope in arguments.scope or ["single"]:
            for solver, options in VARIANTS:
                if scope == "pooled" and not ao.available_solvers()[solver].several_views:
                    continue
                if scope == "pooled" and options.get("rounding") == "hypergeometric":
                    continue  # it draws from one view's margins; the pooled tables are not of that form
                print(row(data, summary, solver, options, scope), flush=True)


if __name__ == "__main__":
    main()
