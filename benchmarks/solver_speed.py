"""How fast the solvers are, each against the natural yardstick, side by side in one run.

* flow against cp-sat: the exact l2, l1 and linf optimum of a 200 x 2 table in 20 groups, and of one in three
  partly nested views.
* exact integers in every distance, and other distances in ipf, against plain IPF: a 21,648 x 2 column in 50
  groups.
* convex norms against the raw engine's own time on the reduced problem, once compiled.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import aegis_opt as ao
from aegis_opt.problem._presolve import reduce
from benchmarks.inputs import machine


def median_seconds(job: Callable[[], object], repeats: int) -> float:
    """Median wall time of a job, after one run that loads what it needs."""
    job()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def column(n: int, k: int, groups: int, seed: int = 0, *, mean: float) -> ao.Problem:
    """A random column of n values in contiguous groups of random sizes, with its histogram."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(rng.gamma(1.0, mean, size=(n, k)))
    truth[truth.sum(axis=1) == 0, 0] = 1
    cuts = np.sort(rng.choice(np.arange(1, n), groups - 1, replace=False))
    return ao.Problem.from_table(truth, np.searchsorted(cuts, np.arange(n), side="right"))


def partly_nested_views(n: int, k: int, width: int, seed: int = 0, *, mean: float) -> ao.Problem:
    """Three views of a random column, each coarse in a third of its values of its own, with the histogram.

    None of them follows from another, but each coarse total follows from the finer ones of the other two.
    """
    rng = np.random.default_rng(seed)
    truth = rng.poisson(rng.gamma(1.0, mean, size=(n, k)))
    truth[truth.sum(axis=1) == 0, 0] = 1
    values, third = np.arange(n), np.arange(n) * 3 // n
    fine, coarse = values // width, values // (4 * width)
    views = [
        np.unique(np.where(third == i, n + coarse, fine) + 2 * n * third, return_inverse=True)[1]
        for i in range(3)
    ]
    return ao.Problem.from_table(truth, views)


def flow_against_cp_sat(repeats: int, title: str, problem: ao.Problem) -> None:
    """Print both times and that they reach the same optimum."""
    print(f"\nexact integers, {title}: flow against cp-sat")
    print(f"{'norm':<6} {'flow':>10} {'cp-sat':>10} {'ratio':>8}  objectives")
    for norm in ("l1", "l2", "linf"):
        quick = ao.get_reconstructor("integer", norm=norm, engine="flow")
        flow = median_seconds(partial(quick.reconstruct, problem), repeats)
        start = time.perf_counter()
        slow = ao.reconstruct(problem, "integer", norm=norm, engine="cp-sat")
        cp_sat = time.perf_counter() - start
        fast = quick.reconstruct(problem)
        print(
            f"{norm:<6} {flow * 1e3:8.2f}ms {cp_sat:9.2f}s {cp_sat / flow:7.0f}x  "
            f"{fast.objective:.6f} {slow.objective:.6f} both proved: {fast.optimal and slow.optimal}"
        )


def distances_against_ipf(repeats: int) -> None:
    """Print the time of each distance, in whole numbers and in fractions, as a multiple of plain IPF's."""
    problem = column(21_648, 2, 50, mean=0.75)
    print(f"\n21,648 x 2 in 50 groups ({reduce(problem).shape[0]} classes of equal rows)")
    ipf = median_seconds(partial(ao.reconstruct, problem, "ipf"), repeats)
    print(f"{'ipf (closed form)':<20} {ipf * 1e3:8.2f}ms")
    names = ["integer " + norm for norm in ao.available_solvers()["integer"].norms]
    names += ["ipf " + norm for norm in ao.available_solvers()["ipf"].norms if norm != "kl"]
    for name in names:
        solver, norm = name.split()
        chosen = ao.get_reconstructor(solver, norm=norm)
        seconds = median_seconds(partial(chosen.reconstruct, problem), repeats)
        gap = chosen.reconstruct(problem).gap
        print(f"{name:<20} {seconds * 1e3:8.2f}ms  {seconds / ipf:6.1f}x of ipf  gap {gap:.0e}")


def convex_against_engine(repeats: int) -> None:
    """Print a compiled solve of the reduced problem as a multiple of what the engine itself reports.

    "solve" is the engine's own time, "reduced" adds what cvxpy and the polishing need on the reduced problem,
    "whole" also the presolve and the check of the full table.
    """
    problem = column(21_648, 2, 50, mean=0.75)
    print("\nconvex norms on the same column, once compiled: against the engine's own time")
    print(f"{'norm':<6} {'first call':>11} {'whole':>10} {'reduced':>10} {'engine':>10} {'ratio':>7}  method")
    for norm in ("l1", "l2", "linf", "kl"):
        solver = ao.get_reconstructor("convex", norm=norm)
        start = time.perf_counter()
        solver.reconstruct(problem)
        first = time.perf_counter() - start
        results = [solver.reconstruct(problem) for _ in range(repeats)]
        whole = statistics.median(sum(result.seconds.values()) for result in results)
        engine = statistics.median(result.seconds["solve"] for result in results)
        phases = ("model", "solve", "polish")
        reduced = statistics.median(sum(result.seconds[p] for p in phases) for result in results)
        print(
            f"{norm:<6} {first * 1e3:9.1f}ms {whole * 1e3:8.1f}ms {reduced * 1e3:8.1f}ms "
            f"{engine * 1e3:8.1f}ms {reduced / engine:6.2f}x  {results[0].method}, "
            f"residual {results[0].residual:.0e}"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    print(machine())
    flow_against_cp_sat(repeats, "200 x 2 in 20 groups", column(200, 2, 20, mean=5.0))
    nested = partly_nested_views(240, 2, 5, mean=5.0)
    flow_against_cp_sat(repeats, "240 x 2 in three partly nested views", nested)
    distances_against_ipf(repeats)
    convex_against_engine(repeats)


if __name__ == "__main__":
    main()
