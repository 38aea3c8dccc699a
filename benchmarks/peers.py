"""Other libraries on jobs that they share with this one: a fit, least squares, a masked column."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

import aegis_opt as ao
from aegis_opt.harness._other_libraries import PEERS
from benchmarks.inputs import machine

Table = npt.NDArray[np.float64]


def problem_of(n_values: int, n_groups: int, n_labels: int, seed: int = 0) -> ao.Problem:
    """Make a random table, and what a masked view and the histogram say of it."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(rng.gamma(1.0, 20.0, (n_values, n_labels)))
    return ao.Problem.from_table(table, np.sort(np.arange(n_values) % n_groups))


def quadratic_program(problem: ao.Problem) -> Callable[[], Table]:
    """Return the least squares problem as qpsolvers takes it, ready to be solved by Clarabel."""
    import qpsolvers

    (view,), histogram = problem.views, problem.histogram
    (n, k), groups = problem.shape, np.asarray(view.groups)
    rows = sparse.kron(sparse.eye(n), np.ones((1, k)))
    merge = sparse.coo_matrix((np.ones(n), (groups, np.arange(n))), shape=(len(view.joint), n))
    equations = sparse.vstack([rows, sparse.kron(merge, sparse.eye(k))]).tocsc()
    totals = np.concatenate([np.asarray(histogram), np.asarray(view.joint).ravel()])
    prior = np.full(n * k, problem.total / (n * k))

    def solve() -> Table:
        found = qpsolvers.solve_qp(
            sparse.eye(n * k).tocsc(), -prior, A=equations, b=totals, lb=np.zeros(n * k), solver="clarabel"
        )
        return np.asarray(found).reshape(n, k)

    return solve


def residual(problem: ao.Problem, table: Table) -> float:
    """Return the largest violation of a total, in records."""
    (view,) = problem.views
    merged = np.zeros(np.shape(view.joint))
    np.add.at(merged, np.asarray(view.groups), table)
    by_row = np.abs(table.sum(axis=1) - np.asarray(problem.histogram)).max()
    return float(max(by_row, np.abs(merged - np.asarray(view.joint)).max()))


def masking(rows: int) -> dict[str, Callable[[], Any]]:
    """Return the same column masked by a hierarchy, in two libraries."""
    from anjana.anonymity.utils.utils import apply_hierarchy

    frame = ao.datasets.clinic(rows).frame[["age"]]
    values = sorted(frame["age"].unique().tolist())
    hierarchy = ao.Hierarchy([[value, value // 10 * 10, "*"] for value in values])
    levels = {0: np.array(values), 1: np.array(values) // 10 * 10}  # numbers: text of pandas 3 is refused
    mask = {"age": ao.Generalize(hierarchy=hierarchy, level=1)}
    return {
        "aegis-opt": lambda: ao.apply_configuration(frame, mask),
        "anjana": lambda: apply_hierarchy(frame["age"].to_numpy(), levels, 1),
    }


def median_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Time some work, after one call that loads what has to be loaded."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print seconds, how exactly the totals hold, and ratios to this library."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=7, help="measurements of each (default 7)")
    repeats = parser.parse_args().repeats
    print(machine())
    rows: list[dict[str, object]] = []
    problem = problem_of(200, 20, 5)
    fits: dict[str, Callable[[], Table]] = {
        "aegis-opt": lambda: np.asarray(ao.reconstruct(problem, "ipf").table),
        **{
            name: lambda name=name: np.asarray(PEERS[name]().reconstruct(problem).table)  # type: ignore[misc]
            for name in ("ipfn", "humanleague", "sinkhorn")
        },
    }
    squares: dict[str, Callable[[], Table]] = {
        "aegis-opt": lambda: np.asarray(ao.reconstruct(problem, "ipf", norm="l2").table),
        "qpsolvers (Clarabel)": quadratic_program(problem),
    }
    for job, works in {"fit, least divergence": fits, "fit, least squares": squares}.items():
        own, best = median_seconds(works["aegis-opt"], repeats), works["aegis-opt"]()
        for name, work in works.items():
            seconds = own if name == "aegis-opt" else median_seconds(work, repeats)
            found = work()
            exact = {"off": residual(problem, found), "apart": float(np.abs(found - best).max())}
            rows.append({"job": job, "library": name, "ms": 1000 * seconds, "ratio": seconds / own} | exact)
    masks = masking(20_000)
    own = median_seconds(masks["aegis-opt"], repeats)
    for name, masked in masks.items():
        seconds = own if name == "aegis-opt" else median_seconds(masked, repeats)
        rows.append(
            {"job": "mask 20,000 rows", "library": name, "ms": 1000 * seconds, "ratio": seconds / own}
        )
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda x: f"{x:.3g}", na_rep=""))


if __name__ == "__main__":
    main()
