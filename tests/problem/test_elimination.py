"""Elimination: what follows by subtraction follows in every feasible table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import aegis_opt as ao
from aegis_opt.advisor._disclosure import disclosed_share
from aegis_opt.problem._elimination import eliminate
from aegis_opt.problem._feasibility import incidence, numbered


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray]]:
    """Whole cells, many of them 0, and the total that each belongs to in up to four margins."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, margins = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    cells = rng.poisson(1.2, n).astype(float)
    return cells, [np.unique(rng.integers(0, n, n), return_inverse=True)[1] for _ in range(margins)]


def totals_of(cells: np.ndarray, members: list[np.ndarray]) -> tuple[list[int], np.ndarray]:
    sizes = [int(member.max()) + 1 for member in members]
    return sizes, np.concatenate([np.bincount(m, cells, s) for m, s in zip(members, sizes, strict=True)])


@settings(max_examples=80, deadline=None)
@given(systems())
def test_determined_cells_have_the_same_value_in_every_solution(
    system: tuple[np.ndarray, list[np.ndarray]],
) -> None:
    cells, members = system
    sizes, totals = totals_of(cells, members)
    found = eliminate(numbered(members, sizes), totals)
    assert found.agrees
    closed = ~found.open_cells
    assert np.array_equal(found.values[closed], cells[closed])
    A = incidence(members, sizes).toarray()
    for cell in np.flatnonzero(closed):
        cost = np.eye(len(cells))[cell]
        for sign in (1, -1):
            extreme = linprog(sign * cost, A_eq=A, b_eq=totals, method="highs").x[cell]
            assert extreme == pytest.approx(cells[cell], abs=1e-7)
    assert np.array_equal(found.left, totals - A @ found.values)


@settings(max_examples=60, deadline=None)
@given(systems(), st.randoms(use_true_random=False))
def test_totals_that_contradict_each_other_are_not_taken_for_solved(
    system: tuple[np.ndarray, list[np.ndarray]], random: object
) -> None:
    cells, members = system
    sizes, totals = totals_of(cells, members)
    wrong = totals.copy()
    wrong[random.randrange(len(totals))] += 1  # type: ignore[attr-defined]
    found = eliminate(numbered(members, sizes), wrong)
    solved = not found.open_cells.any() and found.agrees
    if solved:
        assert np.array_equal(incidence(members, sizes) @ found.values, wrong)


def test_a_long_chain_is_left_to_the_solver_and_told_as_disclosed() -> None:
    """Two bucketings of width 2, one shifted by 1: subtraction frees two cells a round, from both ends."""
    n = 1200
    truth = np.random.default_rng(5).poisson(5.0, size=(n, 2)) + 1
    values = np.arange(n)
    views = [values // 2, (values + 1) // 2]
    problem = ao.Problem.from_table(truth, views, histogram=False)
    sizes, totals = totals_of(truth[:, 0].astype(float), views)
    assert not eliminate(numbered(views, sizes), totals).open_cells.any()
    assert eliminate(numbered(views, sizes), totals, least_share=0.01).open_cells.sum() == n - 2
    result = ao.reconstruct(problem)
    assert result.method != "elimination"
    assert result.status is ao.Status.OPTIMAL
    assert np.allclose(result.table, truth, atol=1e-6)  # the ends determine the whole chain
    assert disclosed_share(problem, np.asarray(result.table)) == pytest.approx(1.0)


def test_what_is_settled_counts_in_the_gap_and_one_pass_is_one_pass() -> None:
    """Large settled cells beside a few open ones: the gap is relative to all records, as the tolerance is."""
    truth = np.array([5e11, 2e11, 7e11, 14, 6, 7, 16, 9, 18, 19, 5, 0])[:, None]
    views = [[0, 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 3], [0, 1, 1, 2, 3, 2, 3, 4, 5, 4, 5, 4]]
    problem = ao.Problem.from_table(truth, views, histogram=False)
    assert ao.reconstruct(problem).status is ao.Status.OPTIMAL
    once = ao.reconstruct(problem, max_iterations=1)
    assert once.status is ao.Status.NOT_CONVERGED
    assert once.residual == ao.reconstruct(problem, max_iterations=1, accelerate=False).residual


def test_shifted_bucketings_are_solved_by_elimination_exactly() -> None:
    rng = np.random.default_rng(1)
    truth = rng.poisson(40.0, size=(60, 3))
    values = np.arange(60)
    views = [values // 5, values // 7, (values + 2) // 6]
    for histogram in (True, False):
        problem = ao.Problem.from_table(truth, views, histogram=histogram)
        quick = ao.reconstruct(problem)
        assert quick.method == "elimination"
        assert quick.status is ao.Status.OPTIMAL
        assert quick.residual < 1e-10
        plain = ao.reconstruct(problem, accelerate=False, max_iterations=5_000)
        assert np.allclose(quick.table, plain.table, atol=1e-3)


def test_fractional_totals_are_left_to_iteration() -> None:
    """Subtracting them rounds, and what is left of others might then seem to contradict each other."""
    big = [51422551.32, 17833122.09, 72015232.49]
    truth = np.array([*big, 14, 6, 7, 16, 9, 18, 19, 5, 0])[:, None]
    views = [[0, 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 3], [0, 1, 1, 2, 3, 2, 3, 4, 5, 4, 5, 4]]
    result = ao.reconstruct(ao.Problem.from_table(truth, views, histogram=False))
    assert result.method != "elimination"
    assert result.status is ao.Status.OPTIMAL


def test_noise_in_the_totals_leaves_the_fit_as_it_was() -> None:
    """Totals that disagree by less than the tolerance, but by more than rounding, are still fitted."""
    truth = np.array([[5.0, 1.0], [2.0, 3.0], [4.0, 4.0]])
    problem = ao.Problem.from_table(truth, [[0, 0, 1], [0, 1, 1]], histogram=False)
    joint = problem.views[1].joint + np.array([[4e-7, 0.0], [-4e-7, 0.0]])
    off = ao.Problem([problem.views[0], ao.View([0, 1, 1], joint)])
    result = ao.reconstruct(off, tolerance=1e-6)
    assert result.status is ao.Status.OPTIMAL
    assert np.allclose(result.table, truth, atol=1e-5)
