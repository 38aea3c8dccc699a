"""What each rounding keeps, whether it is unbiased, and how far it is from the exact integer optimum.

The *empirical approximation factor* of a rounding is the distance of its table from the prior, divided by
that of the closest whole table with the same totals. Below 1 it shows that the rounding broke totals.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.distances import NormName, distance
from aegis_opt.errors import RoundingImpossible
from aegis_opt.rounding import ROUNDINGS
from benchmarks.inputs import machine

NORMS: tuple[NormName, ...] = ("l1", "l2", "linf")


def problem_of(seed: int, n: int, k: int, groups: int) -> ao.Problem:
    """A random problem with histogram."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(rng.gamma(1.0, 4.0, size=(n, k)))
    truth[truth.sum(axis=1) == 0, 0] = 1
    return ao.Problem.from_table(truth, np.arange(n) * groups // n)


def approximation_factors(problems: Sequence[ao.Problem], repeats: int) -> pd.DataFrame:
    """Compare rounded tables with the closest whole table, per norm and rounding.

    Each rounding starts from the closest fractional table, "hypergeometric" from the one of greatest entropy,
    which is the only one it draws around.

    Returns
    -------
    DataFrame
        norm, rounding, factor (mean), largest, off_totals (share of the tables), tables, impossible (counts).
    """
    rows = []
    even = [np.asarray(ao.reconstruct(problem, "ipf").table) for problem in problems]
    for norm in NORMS:
        best = [float(ao.reconstruct(problem, "integer", norm=norm).objective) for problem in problems]
        nearest = [np.asarray(ao.reconstruct(problem, "convex", norm=norm).table) for problem in problems]
        for name, rounding in ROUNDINGS.items():
            starts = even if name == "hypergeometric" else nearest
            ratios, off, impossible = [], [], 0
            for problem, least, table in zip(problems, best, starts, strict=True):
                for seed in range(repeats if rounding.random else 1):
                    try:
                        whole = ao.rounding.round_table(problem, table, name, seed=seed)
                    except RoundingImpossible:
                        impossible += 1
                        continue
                    off.append(problem.residual(whole) > 1e-9)
                    if least > 0:
                        ratios.append(distance(whole, problem.prior, norm) / least)
            rows.append(
                {
                    "norm": norm,
                    "rounding": name,
                    "factor": float(np.mean(ratios)) if ratios else float("nan"),
                    "largest": float(np.max(ratios)) if ratios else float("nan"),
                    "off_totals": float(np.mean(off)) if off else float("nan"),
                    "tables": len(off),
                    "impossible": impossible,
                }
            )
    return pd.DataFrame(rows)


def quality(problems: list[ao.Problem], seeds: int) -> None:
    """Print one row per rounding: broken totals, bias, approximation factors."""
    print(f"\n{len(problems)} problems of shape {problems[0].shape}, {seeds} seeds each")
    titles = "".join(f"{'factor ' + norm:>13}" for norm in NORMS)
    print(f"{'rounding':<20} {'tables off':>11} {'largest miss':>13} {'bias (z)':>9} {titles}")
    factors = approximation_factors(problems, min(seeds, 20)).set_index(["rounding", "norm"])["factor"]
    fitted = [np.asarray(ao.reconstruct(problem, "ipf").table) for problem in problems]
    for name, rounding in ROUNDINGS.items():
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
                error = rounded.std(axis=0, ddof=1) / np.sqrt(repeats)
                difference = np.abs(rounded.mean(axis=0) - table)
                varied = error > 0
                worst_z = max(worst_z, float((difference[varied] / error[varied]).max(initial=0.0)))
        share = broken / (len(problems) * repeats)
        shown = "".join(f"{factors[name, norm]:13.4f}" for norm in NORMS)
        z = f"{worst_z:9.2f}" if repeats > 1 else f"{'-':>9}"
        print(f"{name:<20} {share:11.1%} {miss:13.0f} {z} {shown}")


def speed() -> None:
    """Print the time of each rounding of a 20,000 x 5 table."""
    problem = problem_of(0, 20_000, 5, 50)
    table = np.asarray(ao.reconstruct(problem, "ipf").table)
    print("\n20,000 x 5 in 50 groups, one table")
    for name in ROUNDINGS:
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
