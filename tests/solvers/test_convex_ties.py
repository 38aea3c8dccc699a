"""Which of the many optimal tables of l1 and linf is returned, and how far apart they are."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from problem_zoo import ZOO
from scipy import sparse
from scipy.optimize import linprog

import aegis_opt as ao
from aegis_opt.analysis._optimal_range import optimal_extreme, optimal_range
from aegis_opt.distances import distance
from aegis_opt.problem import LinearConstraint
from aegis_opt.problem._feasibility import incidence
from aegis_opt.solvers.convex._convex import Convex
from aegis_opt.solvers.convex._stack import Bounds, Stack

NAMES = [
    "worked example",
    "one group",
    "overlapping views",
    "masked label",
    "structural zeros",
    "non-uniform prior",
]


def _equations(problem: ao.Problem) -> tuple[sparse.csr_array, np.ndarray]:
    margins = problem.margins
    A = incidence([m.cells() for m in margins], [m.n_groups for m in margins])
    return A, np.concatenate([m.totals.ravel() for m in margins])


def _open(problem: ao.Problem) -> np.ndarray:
    zeros = problem.structural_zeros
    return np.ones(np.prod(problem.shape), bool) if zeros is None else ~zeros.ravel()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_tie_break_is_the_least_l2_among_the_optimal_tables(norm: str, name: str) -> None:
    problem = ZOO[name]().problem
    result = Convex(norm=norm).reconstruct(problem)
    A, b = _equations(problem)
    u = problem.prior.ravel()
    x = cp.Variable(len(u), nonneg=True)
    away = cp.norm1(x - u) if norm == "l1" else cp.norm_inf(x - u)
    constraints = [A @ x == b, away <= result.objective * (1 + 1e-7), cp.multiply(~_open(problem), x) == 0]
    plain = cp.Problem(cp.Minimize(cp.sum_squares(x - u)), constraints)
    plain.solve(solver="CLARABEL")
    assert distance(result.table, problem.prior, "l2") ** 2 == pytest.approx(plain.value, rel=1e-4)
    assert np.allclose(np.asarray(result.table).ravel(), x.value, atol=0.05)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_without_tie_break_the_distance_is_the_same(norm: str) -> None:
    for name in NAMES:
        problem = ZOO[name]().problem
        tied = Convex(norm=norm, tie_break="none").reconstruct(problem)
        assert tied.status is ao.Status.OPTIMAL
        assert tied.objective == pytest.approx(Convex(norm=norm).reconstruct(problem).objective, rel=1e-6)


def test_the_table_does_not_depend_on_what_was_solved_before() -> None:
    problem = ZOO["worked example"]().problem
    other = ao.Problem.from_table(ZOO["worked example"]().truth[:, ::-1], problem.views[0].groups)
    for norm in ("l1", "l2", "linf", "kl"):
        first = Convex(norm=norm).reconstruct(problem).table
        Convex(norm=norm).reconstruct(other)
        assert np.array_equal(first, Convex(norm=norm).reconstruct(problem).table)


def _full_range(problem: ao.Problem, norm: str, best: float) -> tuple[np.ndarray, np.ndarray]:
    """Cell ranges by linear programs in x and epigraph variables on the unreduced problem."""
    A, b = _equations(problem)
    u = problem.prior.ravel()
    n = len(u)
    slack = best * (1 + 1e-9) + 1e-9
    eye = sparse.eye_array(n)
    rows = sparse.vstack([sparse.hstack([eye, -eye]), sparse.hstack([-eye, -eye])])
    sums = sparse.csr_array(np.concatenate([np.zeros(n), np.ones(n)])[None, :])
    top = slack if norm == "linf" else None
    ends = []
    for sign in (1.0, -1.0):
        values = []
        for cell in range(n):
            cost = np.zeros(2 * n)
            cost[cell] = sign
            outcome = linprog(
                cost,
                A_ub=sparse.vstack([rows, sums]) if norm == "l1" else rows,
                b_ub=np.concatenate([u, -u, [slack] if norm == "l1" else []]),
                A_eq=sparse.hstack([A, sparse.csr_array(A.shape)]),
                b_eq=b,
                bounds=[(0, None if is_open else 0) for is_open in _open(problem)] + [(0, top)] * n,
            )
            assert outcome.status == 0
            values.append(sign * outcome.fun)
        ends.append(np.array(values).reshape(problem.shape))
    return ends[0], ends[1]


@pytest.mark.parametrize("name", ["one group", "structural zeros", "overlapping views without histogram"])
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_ranges_are_those_of_the_full_problem(norm: str, name: str) -> None:
    problem = ZOO[name]().problem
    low, high = optimal_range(problem, norm)
    expected = _full_range(problem, norm, Convex(norm=norm).reconstruct(problem).objective)
    assert np.allclose(low, expected[0], atol=1e-5)
    assert np.allclose(high, expected[1], atol=1e-5)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_interchangeable_rows_may_differ_within_the_optimal_tables(norm: str) -> None:
    # Two rows of one group share 6 and 2 records; the prior is 2 each.
    problem = ao.Problem([ao.View([0, 0], [[6.0, 2.0]])])
    low, high = optimal_range(problem, norm)
    width = 2.0 if norm == "l1" else 0.0
    assert np.allclose(high - low, width, atol=1e-6)
    table = Convex(norm=norm).reconstruct(problem).table
    assert (low <= table + 1e-6).all()
    assert (table <= high + 1e-6).all()


def test_ranges_of_a_unique_optimum_are_points_and_only_asked_cells_are_given() -> None:
    problem = ZOO["worked example"]().problem
    table = Convex(norm="l2").reconstruct(problem).table
    low, high = optimal_range(problem, "l2", cells=[(0, 1), (7, 4)])
    assert np.isnan(low).sum() == table.size - 2
    assert low[7, 4] == high[7, 4] == pytest.approx(table[7, 4])
    assert np.allclose(optimal_extreme(problem, "l2", np.ones(problem.shape)), table)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_extreme_tables_are_optimal_and_reach_the_end_of_the_range(norm: str) -> None:
    problem = ZOO["worked example"]().problem
    direction = np.zeros(problem.shape)
    direction[3, 2] = 1.0
    extreme = optimal_extreme(problem, norm, direction)
    assert problem.residual(extreme) < 1e-6
    best = Convex(norm=norm).reconstruct(problem).objective
    assert distance(extreme, problem.prior, norm) == pytest.approx(best, rel=1e-6)
    assert extreme[3, 2] == pytest.approx(optimal_range(problem, norm, cells=[(3, 2)])[1][3, 2])


def test_wrong_cells_and_directions_are_named() -> None:
    problem = ZOO["one group"]().problem
    with pytest.raises(ao.errors.InvalidInput, match=r"cell \(0, 9\) is outside the 7 x 2 table"):
        optimal_range(problem, "l1", cells=[(0, 9)])
    with pytest.raises(ao.errors.InvalidInput, match="direction"):
        optimal_extreme(problem, "l1", [1.0, 2.0])


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_a_second_program_that_loses_the_optimum_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, norm: str
) -> None:
    table = np.random.default_rng(3).poisson(20.0, (6, 3))
    problem = ao.Problem.from_table(table, [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 0, 0]])
    first = Convex(norm=norm, tie_break="none").reconstruct(problem)

    def no_bounds(data: Stack, cells: np.ndarray, *_: object) -> Bounds:
        return np.zeros_like(cells), np.full_like(cells, data.right.sum())

    monkeypatch.setattr(Stack, "optimal_bounds", no_bounds)  # as multipliers without any digit would have it
    result = Convex(norm=norm).reconstruct(problem)
    assert result.objective == pytest.approx(first.objective, rel=1e-9)


@pytest.mark.parametrize("seed", [38, 122, 274, 540, 618, 620])
def test_breaking_ties_under_extra_constraints_keeps_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.poisson(rng.choice([5, 20, 60]), (6, 3))
    groups = [np.unique(rng.integers(0, 3, 6), return_inverse=True)[1] for _ in range(rng.integers(1, 3))]
    known = ao.Problem.from_table(table, groups, histogram=bool(rng.random() < 0.5))
    coefficients = rng.integers(-3, 4, (6, 3))
    value = float((coefficients * table).sum())
    low, high = value - float(rng.integers(0, 3)), value + float(rng.integers(0, 30))
    problem = ao.Problem(
        known.views, known.histogram, constraints=[LinearConstraint(coefficients, low, high)]
    )
    first = Convex(norm="l1", tie_break="none").reconstruct(problem)
    assert Convex(norm="l1").reconstruct(problem).objective == pytest.approx(first.objective, rel=1e-6)


def test_a_face_narrower_than_the_tolerance_of_the_linear_program_is_not_called_empty() -> None:
    """A row of 25 among 2.4e9 records is 1e-8 of them, which the program's first look takes for no room."""
    view = ao.View([0, 0, 0], [[49, 2400615784]])
    problem = ao.Problem([view], histogram=[25, 1064617850, 1335997958])
    low, high = optimal_range(problem, "l1")
    table = np.asarray(ao.reconstruct(problem, "convex", norm="l1").table)
    slack = 1e-6 * problem.total
    assert (low - slack <= table).all()
    assert (table <= high + slack).all()
    assert (high[0] <= 25 + 1e-6).all()


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_where_ties_cannot_be_broken_the_closest_table_comes_with_a_warning(norm: str) -> None:
    """Clarabel calls the program infeasible where a prior is ten million times as large as the cells."""
    rng = np.random.default_rng(3)
    table, prior = rng.integers(1, 100, (3, 2)), rng.integers(1, 20, (3, 2))
    problems = [ao.Problem.from_table(table, [0, 0, 1], prior=prior * scale) for scale in (1, 1e8, 10)]
    found = Convex(norm=norm).reconstruct_many(problems)
    assert all(result.optimal for result in found)
    assert [bool(result.warning) for result in found] == [False, True, False]
    assert "ties are not broken" in found[1].warning
    for result, problem in zip(found, problems, strict=True):
        alone = Convex(norm=norm, tie_break="none").reconstruct(problem)
        assert result.objective == pytest.approx(alone.objective, rel=1e-9)
