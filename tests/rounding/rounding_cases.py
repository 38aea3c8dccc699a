"""Small problems with a fractional table that meets their totals, and brute force over whole tables."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

from aegis_opt.problem import Problem, View
from aegis_opt.problem._feasibility import incidence


def max_entropy(problem: Problem) -> np.ndarray:
    """Closed form of one view for the uniform prior, with or without histogram."""
    view = problem.views[0]
    joint = view.joint[view.groups]
    if problem.histogram is None:
        return joint / np.bincount(view.groups)[view.groups][:, None]
    records = np.bincount(view.groups, weights=problem.histogram)[view.groups]
    return problem.histogram[:, None] * joint / np.maximum(records, 1)[:, None]


def equations(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """All totals as A x = b."""
    A = incidence([m.cells() for m in problem.margins], [m.n_groups for m in problem.margins])
    return A.toarray(), np.concatenate([m.totals.ravel() for m in problem.margins])


def inner_point(problem: Problem, truth: np.ndarray, seed: int, vertices: int = 3) -> np.ndarray:
    """Mix the true table with random vertices of the feasible set."""
    rng = np.random.default_rng(seed)
    A, b = equations(problem)
    costs = rng.normal(size=(vertices, A.shape[1]))
    points = [linprog(cost, A_eq=A, b_eq=b, bounds=(0, None)).x for cost in costs]
    points.append(np.asarray(truth, dtype=float).ravel())
    return np.maximum(rng.dirichlet(np.ones(len(points))) @ np.array(points), 0).reshape(problem.shape)


def whole_tables(problem: Problem, low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """Every whole table within bounds that meets all totals, by enumeration."""
    ranges = [range(int(a), int(b) + 1) for a, b in zip(low.ravel(), high.ravel(), strict=True)]
    tables = np.array(list(product(*ranges)), dtype=float)
    A, b = equations(problem)
    met = (tables @ A.T == b).all(axis=1)
    return list(tables[met].reshape(-1, *problem.shape))


def random_case(
    n: int, k: int, n_groups: int, seed: int, *, histogram: bool = True
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return a problem from a random table, the max-entropy table, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(rng.gamma(0.7, 3.0, size=(n, k)))
    groups = rng.permutation(np.arange(n) % n_groups)
    problem = Problem.from_table(truth, groups, histogram=histogram)
    return problem, max_entropy(problem), truth


def nested_case(seed: int, *, histogram: bool) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Two nested views; the finer one decides."""
    fine, fractional, truth = random_case(9, 3, 4, seed, histogram=histogram)
    groups = fine.views[0].groups
    problem = Problem.from_table(truth, [groups // 2, groups], histogram=histogram)
    return problem, fractional, truth


def masked_label_case(seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """One view of a masked label, with the histogram."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(2.0, size=(7, 4))
    groups, labels = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 0, 1])
    problem = Problem.from_table(truth, groups, label_groups=labels)
    joint = problem.views[0].joint
    share = problem.histogram / joint.sum(axis=1)[groups]
    return problem, share[:, None] * joint[groups][:, labels] / 2, truth


ODD_TRIANGLES = Problem(
    # Values a1 a2 a3 b1 b2 b3 of one label: a1 + a2 = a2 + a3 = a3 + a1 = 1 has only the solution 1/2.
    [
        View([0, 0, 2, 1, 1, 2], [[1], [1], [1]]),
        View([2, 0, 0, 2, 1, 1], [[1], [1], [1]]),
        View([0, 2, 0, 1, 2, 1], [[1], [1], [1]]),
    ]
)

OUTSIDE_CEILINGS = Problem(
    # Meets its totals in whole numbers, but not in floors and ceilings of the table below.
    [
        View([1, 2, 1, 0, 1, 1, 2], [[1], [5], [2]]),
        View([2, 2, 1, 0, 0, 0, 1], [[3], [3], [2]]),
        View([1, 0, 0, 1, 1, 0, 1], [[2], [6]]),
    ]
)
OUTSIDE_CEILINGS_TABLE = np.array([[1.5], [0.5], [1.5], [1.0], [2.0], [0.0], [1.5]])
