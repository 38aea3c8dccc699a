"""What each rounding keeps, whether it is unbiased, and how far it is from the exact integer optimum.

The *empirical approximation factor* of a rounding is the distance of its table from the prior, divided by
that of the closest whole table with the same totals. Below 1 it shows that the rounding broke totals.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import aegis_opt as ao
from aegis_opt.distances import distance
from benchmarks.inputs import machine

NORMS = ("l1", "l2", "linf")


def problem_of(seed: int, n: int, k: int, groups: int) -> ao.Problem:
    """A random problem with histogram."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(rng.gamma(1.0, 4.0, size=(n, k)))
    truth[truth.sum(axis=1) == 0, 0] = 1
    return ao.Problem.from_table(truth, np.arange(n) * groups // n)


def quality(problems: list[ao.Problem], seeds: int) -> None:
    """Print one row per rounding: broken totals, bias, approximation factors."""
    print(f"\n{len(problems)} problems of shape {problems[0].shape}, {seeds} seeds each")
    factors = "".join(f"{'factor ' + norm:>13}" for norm in NORMS)
    print(f"{'rounding':<20} {'tables off':>11} {'largest miss':>13} {'bias (z)':>9} {factors}")
    best = {
        norm: [ao.reconstruct(problem, "integer", norm=norm).objective for problem in problems]
        for norm in NORMS
    }
    starts = {
        norm: [np.asarray(ao.reconstruct(p, "convex", norm=norm).table) for p in problems] for norm in NORMS
    }
    fitted = [np.asarray(ao.reconstruct(problem, "ipf").table) for problem in problems]
    for name, rounding in ao.rounding.ROUNDINGS.items():
        repeats = seeds if rounding.random else 1
        broken, miss, worst_z = 0, 0.0, 0.0
        for problem, table in zip(problems, fitted, strict=True):
            rounded = np.stack(
                [ao.rounding.round_table(problem, table, name, seed=s) for s in range(repeats)]
            )
            residuals = np.array([problem.residual(one) for one in rounded])
            broken += int((residuals > 1e-9).sum())
            miss = max(miss, float(residuals.max()))
            if repeats > 1:
                spread = rounded.std(axis=0, ddof=1) / np.sqrt(repeats)
                difference = np.abs(rounded.mean(axis=0) - table)
                varied = spread > 0
                worst_z = max(worst_z, float((difference[varied] / spread[varied]).max(initial=0.0)))
        ratios = []
        for norm in NORMS:
            found = []
            for problem, table, least in zip(problems, starts[norm], best[norm], strict=True):
                if name == "hypergeometric":  # draws around the maximum-entropy table only
                    table = np.asarray(ao.reconstruct(problem, "ipf").table)
                whole = [
                    ao.rounding.round_table(problem, table, name, seed=s) for s in range(min(repeats, 20))
                ]
                found += [distance(one, problem.prior, norm) / least for one in whole]
            ratios.append(float(np.mean(found)))
        share = broken / (len(problems) * repeats)
        shown = "".join(f"{ratio:13.4f}" for ratio in ratios)
        z = f"{worst_z:9.2f}" if repeats > 1 else f"{'-':>9}"
        print(f"{name:<20} {share:11.1%} {miss:13.0f} {z} {shown}")


def speed() -> None:
    """Print the time of each rounding of a 20,000 x 5 table."""
    problem = problem_of(0, 20_000, 5, 50)
    table = np.asarray(ao.reconstruct(problem, "ipf").table)
    print("\n20,000 x 5 in 50 groups, one table")
    for name in ao.rounding.ROUNDINGS:
        ao.rounding.round_table(problem, table, name, seed=0)
        start = time.perf_counter()
        whole = ao.rounding.round_table(problem, table, name, seed=1)
        seconds = time.perf_counter() - start
        print(f"{name:<20} {seconds * 1e3:8.1f}ms  residual {problem.residual(whole):.0f}")


def main() -> None:
    """Print quality and speed of every rounding."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=1000)
    arguments = parser.parse_args()
    print(machine())
    quality([problem_of(seed, 30, k, 4) for seed, k in enumerate([3, 3, 3])], arguments.seeds)
    speed()


if __name__ == "__main__":
    main()
