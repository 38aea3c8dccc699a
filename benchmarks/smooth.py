"""How much closer smooth tables are to the truth than those of maximum entropy, and what they cost.

With `--data`, for each data set: single views with histograms, quantile groups of ordered attributes, and
all views together with the choice by held-out views. Without, the same quantile groups on skewed synthetic
columns. Then the seconds of a 1,000-value column and, with `--data`, of the column with most values, side
by side with Clarabel on the full problem.

The ratio is that of total variation distances to the raw table: below 1, smoothness is closer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.solvers.base import Reconstructor
from benchmarks.inputs import Input, folders, load, machine

FEWEST_VALUES = 5  # of an attribute whose values count as ordered
MOST_GROUPS = (3, 5, 8)
ORDERED = {"income": ("age", "education_num", "hours_per_week")}  # the others are codes, or nearly unique
SMOOTH = {"first": ao.get_reconstructor("smooth"), "second": ao.get_reconstructor("smooth", order=2)}


@dataclass(frozen=True)
class Case:
    """A table and what is known about it."""

    name: str
    truth: pd.DataFrame
    problem: ao.Problem

    def distance(self, solver: Reconstructor) -> float:
        """Total variation distance of a reconstructed table to the truth."""
        return self.distance_of(solver.reconstruct(self.problem))

    def distance_of(self, result: ao.Reconstruction) -> float:
        """Total variation distance of a table to the truth."""
        return float(ao.tvd(self.truth.to_numpy(), np.asarray(result.table)))


def raw_tables(data: Input) -> dict[str, pd.DataFrame]:
    """Joint tables of the numeric attributes with the label."""
    frame = data.frame
    return {
        name: pd.crosstab(frame[name], frame[data.label])
        for name in data.attributes
        if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].nunique() >= FEWEST_VALUES
    }


def single_views(data: Input) -> Iterator[Case]:
    """Every masked view of more than one group that does not keep every value, once per configuration."""
    for name, truth in raw_tables(data).items():
        if name in ORDERED.get(data.name, (name,)):
            domain = ao.domain.Domain.of(data.frame[name])
            for label, masks in data.configurations.items():
                if name in masks:
                    groups = masks[name].group(domain).groups
                    if 1 < len(np.unique(groups)) < len(truth):
                        yield Case(f"{name} in {label}", truth, ao.Problem.from_table(truth, groups))


def quantile_views(tables: dict[str, pd.DataFrame]) -> Iterator[Case]:
    """Each attribute in 3, 5 and 8 groups of about equally many records."""
    for name, truth in tables.items():
        share = truth.sum(axis=1).cumsum().to_numpy() / truth.to_numpy().sum()
        for size in MOST_GROUPS:
            groups = np.minimum(((share - 1e-12) * size).astype(int), size - 1)
            groups = np.unique(groups, return_inverse=True)[1]
            if 1 < groups.max() + 1 < len(truth):
                yield Case(f"{name} in {size}", truth, ao.Problem.from_table(truth, groups))


def pooled_views(data: Input) -> Iterator[Case]:
    """All views of an attribute together."""
    summary = ao.summarize(data.frame, data.label, data.configurations, histograms=True)
    for name, truth in raw_tables(data).items():
        problem = summary.problem(name)
        yield Case(name, truth, ao.Problem(problem.views, problem.histogram, positions=truth.index))


def synthetic_tables(seed: int = 0, n: int = 400, records: int = 20_000) -> dict[str, pd.DataFrame]:
    """Skewed columns with outliers, and label shares of several shapes along them."""
    rng = np.random.default_rng(seed)
    values = {
        "normal": rng.normal(0, 1, records),
        "exponential": rng.exponential(1.0, records),
        "lognormal": rng.lognormal(0, 1.5, records),
        "outliers": np.where(
            rng.random(records) < 0.01, 100 * rng.random(records), rng.normal(0, 1, records)
        ),
        "two peaks": rng.normal(np.where(rng.random(records) < 0.5, -3, 3), 1, records),
    }
    shapes: dict[str, Callable[[Any], Any]] = {
        "logistic": lambda rank: 1 / (1 + np.exp(-6 * (rank - 0.5))),
        "wave": lambda rank: 0.5 + 0.4 * np.sin(9 * rank),
        "step": lambda rank: np.where(rank < 0.55, 0.2, 0.7),
        "none": lambda rank: np.full(len(rank), 0.3),
    }
    tables = {}
    for column, x in values.items():
        x = np.round(x * n / 8)
        rank = pd.Series(x).rank(pct=True).to_numpy()
        for shape, chance in shapes.items():
            y = rng.random(records) < chance(rank)
            tables[f"{column}, {shape}"] = pd.crosstab(pd.Series(x, name="x"), pd.Series(y, name="y"))
    return tables


def ratios(title: str, cases: list[Case]) -> None:
    """Print the mean distances, their ratio, and the mean and the worst of the cases' own ratios."""
    entropy = np.array([case.distance(ao.get_reconstructor("ipf")) for case in cases])
    counted = entropy > 1e-3  # below, there is nothing to gain
    print(f"\n{title}: {len(cases)} cases, maximum entropy {entropy.mean():.4f}")
    print(f"{'solver':<8} {'distance':>9} {'ratio':>6} {'mean of ratios':>15} {'worst':>6}  case")
    for name, solver in SMOOTH.items():
        found = np.array([case.distance(solver) for case in cases])
        each = found[counted] / entropy[counted]
        worst = [case.name for case, count in zip(cases, counted, strict=True) if count][int(each.argmax())]
        ratio = found.sum() / entropy.sum()
        print(f"{name:<8} {found.mean():9.4f} {ratio:6.3f} {each.mean():15.3f} {each.max():6.2f}  {worst}")


def choices(data: Input) -> None:
    """Print what held-out views choose for each attribute, and whether that is right."""
    print(f"\n{data.name}, all views together: distance to the truth, and what held-out views choose")
    line = "{:<30} {:>6} {:>8} {:>8} {:>8}  {:<19} {:>7} {:>6} {:>6}"
    print(line.format("attribute", "values", "entropy", "first", "second", "chosen", "gain", "right", "s"))
    right, sums = [], np.zeros(2)
    for case in pooled_views(data):
        start = time.perf_counter()
        result = ao.get_reconstructor("auto").reconstruct(case.problem)
        seconds = time.perf_counter() - start
        entropy = case.distance(ao.get_reconstructor("ipf"))
        by_order = [case.distance(solver) for solver in SMOOTH.values()]
        chosen = case.distance_of(result)
        sums += chosen, entropy
        other = by_order[0] if result.choice == "maximum entropy" else entropy
        held_out, differ = result.held_out, bool(abs(chosen - other) > 0.02 * max(chosen, other))
        verdict = ""
        if held_out and len(case.truth) >= 20 and differ and max(chosen, other) > 1e-3:
            verdict = "yes" if chosen < other else "no"
            right.append(verdict == "yes")
        gain = 1 - held_out[result.choice] / held_out["maximum entropy"] if held_out else np.nan
        numbers = [f"{value:.4f}" for value in (entropy, *by_order)]
        cells = (
            case.name,
            len(case.truth),
            *numbers,
            result.choice,
            f"{gain:.2f}",
            verdict,
            f"{seconds:.1f}",
        )
        print(line.format(*cells), flush=True)
    print(f"right: {sum(right)} of {len(right)}; mean distance {sums[0] / sums[1]:.3f} of maximum entropy's")


def seconds_of(problem: ao.Problem, title: str, *, clarabel: bool) -> None:
    """Print the time of the smooth solver, and of Clarabel on the full problem."""
    solver = ao.get_reconstructor("smooth")
    times = []
    for _ in range(5):
        start = time.perf_counter()
        result = solver.reconstruct(problem)
        times.append(time.perf_counter() - start)
    line = f"{title}: smooth {min(times):.3f} s (median {np.median(times):.3f}), {result.status.name}"
    if clarabel:
        from cvxpy import SolverError

        start = time.perf_counter()
        try:
            value = clarabel_roughness(problem)
        except SolverError as error:
            value = float("nan")
            line += f" [{error}]"
        took = time.perf_counter() - start
        line += f"; Clarabel {took:.2f} s, {took / np.median(times):.0f} times as long; "
        line += f"roughness {result.objective:.6g} and {value:.6g}"
    print(line, flush=True)


def clarabel_roughness(problem: ao.Problem) -> float:
    """Least roughness by first differences of the full problem, modelled in cvxpy without the library."""
    import cvxpy as cp
    from scipy import sparse

    n, k = problem.shape
    r, x = np.asarray(problem.histogram), np.asarray(problem.positions)
    h = np.diff(x) / (x[-1] - x[0])
    p = cp.Variable((n, k), nonneg=True)
    constraints = [cp.sum(p, axis=1) == 1]
    for view in problem.views:
        S = sparse.csr_array((r, (view.groups, np.arange(n))), shape=(len(view.joint), n))
        size = np.maximum(np.asarray(S.sum(axis=1)).ravel(), 1.0)[:, None]
        constraints.append((S / size) @ p == view.joint / size)
    steps = cp.multiply(np.repeat(1 / np.sqrt(h)[:, None], k, axis=1), p[1:] - p[:-1])
    program = cp.Problem(cp.Minimize(cp.sum_squares(steps)), constraints)
    program.solve(solver=cp.CLARABEL)
    return float(program.value)


def many_values(n: int, groups: int, seed: int = 0) -> ao.Problem:
    """A column of n values with two labels in groups of equally many values."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(10 * n, n, replace=False)).astype(float)
    share = 0.5 + 0.45 * np.sin(x / n)
    records = rng.poisson(20, n) + 1
    first = rng.binomial(records, share)
    truth = np.stack([first, records - first], axis=1)
    return ao.Problem.from_table(truth, np.arange(n) * groups // n, positions=x)


def widest(data: Input, groups: int = 50) -> tuple[str, ao.Problem]:
    """The numeric attribute with most values, in groups of about equally many records."""
    name, truth = max(raw_tables(data).items(), key=lambda item: len(item[1]))
    share = truth.sum(axis=1).cumsum().to_numpy() / truth.to_numpy().sum()
    parts = np.unique(((share - 1e-12) * groups).astype(int), return_inverse=True)[1]
    return f"{data.name}, {name} ({len(truth)} values, {groups} groups)", ao.Problem.from_table(truth, parts)


def main() -> None:
    """Print the ratios and the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    parser.add_argument("--skip", nargs="*", default=(), choices=("single", "quantiles", "pooled", "speed"))
    arguments = parser.parse_args()
    print(machine())
    ratios("synthetic columns in quantile groups", list(quantile_views(synthetic_tables())))
    inputs = [load(folder) for folder in folders(arguments.data)] if arguments.data else []
    for data in inputs:
        if "single" not in arguments.skip:
            ratios(f"{data.name}, single views with histograms", list(single_views(data)))
        if "quantiles" not in arguments.skip:
            few = {name: table for name, table in raw_tables(data).items() if len(table) <= 2000}
            ratios(f"{data.name} in quantile groups", list(quantile_views(few)))
        if "pooled" not in arguments.skip:
            choices(data)
    if "speed" not in arguments.skip:
        print()
        seconds_of(many_values(1000, 50), "1,000 values, 50 groups", clarabel=True)
        for data in inputs:
            name, problem = widest(data)
            seconds_of(problem, name, clarabel=True)


if __name__ == "__main__":
    main()
