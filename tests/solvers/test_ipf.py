"""Iterative proportional fitting: closed form, convergence that is not claimed, boundary solutions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import AGE_HEALTH, YOUNG_OLD

import aegis_opt as ao
from aegis_opt.solvers.ipf import _newton


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[np.ndarray], bool]:
    """A random table, random partitions of its rows, and whether the histogram is known."""
    n, k, views = draw(st.integers(2, 12)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.poisson(rng.gamma(0.6, 4.0, size=(n, k)))
    truth[0, 0] += 1
    groups = [np.unique(rng.integers(0, n, n), return_inverse=True)[1] for _ in range(views)]
    return truth, groups, draw(st.booleans())


def test_one_view_is_solved_in_closed_form() -> None:
    with_histogram = ao.reconstruct(ao.Problem.from_table(AGE_HEALTH, YOUNG_OLD))
    rows, joint = AGE_HEALTH.sum(axis=1), np.array([AGE_HEALTH[:3].sum(0), AGE_HEALTH[3:].sum(0)])
    expected = rows[:, None] * joint[YOUNG_OLD] / joint.sum(axis=1)[YOUNG_OLD][:, None]
    assert with_histogram.method == "closed-form"
    assert np.allclose(with_histogram.table, expected, atol=1e-12)
    without = ao.reconstruct(ao.Problem.from_table(AGE_HEALTH, YOUNG_OLD, histogram=False))
    assert without.method == "closed-form"
    assert np.allclose(without.table, joint[YOUNG_OLD] / np.array([3, 5])[YOUNG_OLD][:, None], atol=1e-12)


def test_the_worked_example_has_the_known_distance_to_the_truth() -> None:
    for histogram, expected in [(True, 0.1730), (False, 0.2853)]:
        result = ao.reconstruct(ao.Problem.from_table(AGE_HEALTH, YOUNG_OLD, histogram=histogram))
        assert ao.tvd(result.table, AGE_HEALTH) == pytest.approx(expected, abs=5e-5)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_any_consistent_problem_converges_to_the_totals(
    case: tuple[np.ndarray, list[np.ndarray], bool],
) -> None:
    truth, groups, histogram = case
    problem = ao.Problem.from_table(truth, groups, histogram=histogram)
    result = ao.reconstruct(problem)
    assert result.status is ao.Status.OPTIMAL
    assert result.residual < 1e-6
    assert result.gap is not None
    assert result.gap < 1e-6


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 1000))
def test_permuting_rows_and_labels_permutes_the_answer(
    case: tuple[np.ndarray, list[np.ndarray], bool], seed: int
) -> None:
    truth, groups, histogram = case
    rng = np.random.default_rng(seed)
    rows, labels = rng.permutation(truth.shape[0]), rng.permutation(truth.shape[1])
    plain = ao.reconstruct(ao.Problem.from_table(truth, groups, histogram=histogram)).table
    shuffled = ao.reconstruct(
        ao.Problem.from_table(truth[rows][:, labels], [g[rows] for g in groups], histogram=histogram)
    ).table
    assert np.allclose(shuffled, plain[rows][:, labels], atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from([0.25, 3.0, 1000.0]))
def test_scaling_the_counts_scales_the_answer(
    case: tuple[np.ndarray, list[np.ndarray], bool], factor: float
) -> None:
    truth, groups, histogram = case
    plain = ao.reconstruct(ao.Problem.from_table(truth, groups, histogram=histogram)).table
    scaled = ao.reconstruct(ao.Problem.from_table(truth * factor, groups, histogram=histogram)).table
    assert np.allclose(scaled, plain * factor, atol=1e-5 * factor)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_merging_proportional_rows_changes_nothing(case: tuple[np.ndarray, list[np.ndarray], bool]) -> None:
    """A prior with a different (but immaterial) scale per row keeps the rows apart in the fit."""
    truth, groups, _ = case
    problem = ao.Problem.from_table(truth, groups, histogram=True)
    scale = np.linspace(1.0, 2.0, len(truth))[:, None]
    tilted = ao.Problem(problem.views, problem.histogram, prior=scale * np.ones(truth.shape))
    assert np.allclose(ao.reconstruct(tilted).table, ao.reconstruct(problem).table, atol=1e-5)


def test_boundary_solutions_are_finished_by_newton_where_plain_scaling_is_slow() -> None:
    """x0 + x1 = 5 and x0 = 5 by another combination of totals: x1 is 0 only in the limit."""
    truth = np.array([[5, 0], [0, 3], [2, 2], [4, 1]])
    views = [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]]
    problem = ao.Problem.from_table(truth, views, histogram=False)
    plain = ao.reconstruct(problem, accelerate=False, max_iterations=60)
    assert plain.status is ao.Status.NOT_CONVERGED
    assert not plain.optimal
    assert plain.residual > 1e-6
    finished = ao.reconstruct(problem)
    assert finished.method == "newton"
    assert finished.status is ao.Status.OPTIMAL
    assert finished.residual < 1e-8
    assert finished.objective == pytest.approx(plain.objective, abs=0.2)


def test_without_room_for_a_factor_newton_finds_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 30, (60, 3))
    groups = [np.unique(rng.integers(0, 9, 60), return_inverse=True)[1] for _ in range(3)]
    problem = ao.Problem.from_table(truth, groups)
    plain = ao.reconstruct(problem)
    assert plain.method == "newton"
    monkeypatch.setattr(_newton, "QUICK_FILL", 0)
    monkeypatch.setattr(_newton, "LARGEST_FILL", 0)
    large = ao.reconstruct(problem)
    assert large.status is ao.Status.OPTIMAL
    assert np.abs(np.asarray(large.table) - plain.table).max() < 1e-7


def test_a_time_limit_ends_it_with_what_it_has() -> None:
    rng = np.random.default_rng(0)
    groups = [np.unique(rng.integers(0, 150, 1000), return_inverse=True)[1] for _ in range(3)]
    problem = ao.Problem.from_table(rng.integers(0, 9, (1000, 40)), groups)
    late = ao.reconstruct(problem, "ipf", time_limit=1e-9)
    assert late.status is ao.Status.NOT_CONVERGED
    assert late.gap is None
    assert late.iterations <= 3
    assert ao.reconstruct(problem, "ipf", time_limit=600).status is ao.Status.OPTIMAL


def test_totals_of_30_against_60_are_never_called_converged() -> None:
    problem = ao.Problem([ao.View([0, 0], [[10, 20]])], histogram=[20, 40])
    with pytest.raises(ao.InfeasibleProblem, match=r"view 0 has 30 records.*histogram has 60"):
        ao.reconstruct(problem, "ipf")


def test_impossible_zeros_are_named() -> None:
    problem = ao.Problem([ao.View([0, 0], [[10, 20]])], histogram=[10, 20], prior=[[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ao.InfeasibleProblem, match=r"20 records for label 1.*zeros of the prior"):
        ao.reconstruct(problem, "ipf")


def test_zeros_that_only_a_linear_program_finds_impossible_are_refused() -> None:
    """Each total has a cell to go to, yet rows 0 and 1 compete for column 0."""
    prior = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    problem = ao.Problem([ao.View([0, 0, 0], [[3, 3, 3]])], histogram=[3, 3, 3], prior=prior)
    with pytest.raises(ao.InfeasibleProblem, match="Least repair"):
        ao.reconstruct(problem, "ipf")


def test_a_given_prior_shapes_the_answer() -> None:
    truth = np.array([[8, 2], [2, 8]])
    problem = ao.Problem.from_table(truth, [0, 0], prior=[[4.0, 1.0], [1.0, 4.0]])
    assert np.allclose(ao.reconstruct(problem).table, truth, atol=1e-6)


def test_a_masked_label_is_spread_over_its_classes() -> None:
    truth = np.array([[4, 2, 6], [1, 3, 2]])
    problem = ao.Problem.from_table(truth, [0, 0], histogram=True, label_groups=[0, 0, 1])
    table = ao.reconstruct(problem).table
    assert np.allclose(table[:, 0], table[:, 1])
    assert table[:, :2].sum() == pytest.approx(10)


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": 0},
        {"tolerance": np.nan},
        {"max_iterations": 0},
        {"max_iterations": "many"},
        {"accelerate": "yes"},
        {"time_limit": 0},
    ],
)
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    problem = ao.Problem.from_table(AGE_HEALTH, YOUNG_OLD)
    with pytest.raises(ao.errors.InvalidOption, match=next(iter(options))):
        ao.reconstruct(problem, "ipf", **options)
