"""Other distances than the divergence, by what finishes proportional fitting: Newton on the dual."""

from __future__ import annotations

import math
import time

import numpy as np

from aegis_opt.distances import Distance, SeparableDistance
from aegis_opt.problem._conflict import infeasible, is_infeasible
from aegis_opt.problem._consistency import tolerance as tolerance_of
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._dual import maximise_dual
from aegis_opt.solvers._reduced import cell_costs, closed_cost, has_barrier, reduced
from aegis_opt.solvers._totals import largest, move_to_totals
from aegis_opt.solvers.base import Solution

PROVED_GAP = 1e-6


def solve_separable(
    problem: Problem, distance: Distance, tolerance: float, max_steps: int, deadline: float = math.inf
) -> Solution:
    """Minimise a smooth, strictly convex, separable distance that is bound to the problem.

    The gap is that between the distance and its bound by weak duality, relative to the distance, or to a
    millionth of the records where it is less than that.
    """
    start = time.perf_counter()
    # a cell that must be 0 would need an infinite multiplier where the cost has a barrier there
    cells = problem.support if has_barrier(distance) else None
    reduction = reduced(problem, distance, cells)
    costs = cell_costs(reduction, distance)
    A, b = reduction.matrix, reduction.totals
    built = time.perf_counter()
    v, x, steps = maximise_dual(
        A, b, costs, np.zeros(len(b)), tolerance=tolerance, max_steps=max_steps, deadline=deadline
    )
    missed = largest(b - A @ x)
    x = move_to_totals(A, b, x, np.zeros_like(x), np.full_like(x, np.inf), deadline)
    if missed > tolerance_of(problem) and time.monotonic() < deadline and is_infeasible(problem):
        raise infeasible(problem)
    assert isinstance(distance.base, SeparableDistance)
    constant = closed_cost(reduction, distance)
    bound = float(v @ b) - float(costs.conjugate(A.T @ v).sum())
    reached, least = distance.base.of_sum(np.array([costs.cost(x).sum(), bound]) + constant)
    gap = max(float(reached - least), 0.0) / max(float(reached), 1e-6 * problem.total, 1e-300)
    return Solution(
        table=reduction.expand(reduction.table(x)),
        method="newton",
        iterations=steps,
        proved=gap <= PROVED_GAP,
        gap=gap,
        seconds={"build": built - start, "solve": time.perf_counter() - built},
    )
