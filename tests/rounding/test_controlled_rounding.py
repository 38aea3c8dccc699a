from __future__ import annotations

import numpy as np
import pytest
from rounding_cases import ODD_TRIANGLES, inner_point, random_case
from scipy import stats

from aegis_opt.errors import InvalidInput, InvalidOption, RoundingImpossible
from aegis_opt.problem import LinearConstraint, Problem, View
from aegis_opt.rounding import round_table


def test_a_table_whose_only_cycle_has_six_cells_goes_one_way_or_the_other_equally_often():
    table = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
    problem = Problem([View([0, 0, 0], [[1, 1, 1]])], histogram=[1, 1, 1])
    clockwise = sum(round_table(problem, table, "controlled", seed=seed)[0, 0] for seed in range(300))
    assert stats.binomtest(int(clockwise), 300, 0.5).pvalue > 1e-6


def test_structural_zeros_stay_zero():
    truth = np.array([[3, 0, 2], [0, 4, 1], [2, 2, 3], [1, 0, 5]])
    prior = np.where(truth > 0, 1.0, 0.0)
    problem = Problem.from_table(truth, [0, 0, 0, 0], prior=prior)
    table = np.array([[2.5, 0, 2.5], [0, 3.75, 1.25], [2.25, 2.25, 2.5], [1.25, 0, 4.75]])
    assert problem.residual(table) == 0
    for seed in range(50):
        assert problem.residual(round_table(problem, table, "controlled", seed=seed)) == 0


def test_noise_below_the_tolerance_of_solvers_does_not_break_totals():
    problem, table, _ = random_case(500, 5, 5, 20)
    noisy = np.maximum(table + np.random.default_rng(0).uniform(-1e-7, 1e-7, table.shape), 0)
    for method in ("controlled", "nearest"):
        assert problem.residual(round_table(problem, noisy, method)) == 0


def test_views_that_are_nested_in_places_and_equal_in_others_are_rounded():
    # Groups 0..2 of the first view are merged by the second; its groups 3 and 4 refine the first's 3.
    first = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3, 3])
    second = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
    truth = np.random.default_rng(3).poisson(2.5, size=(10, 3))
    problem = Problem.from_table(truth, [first, second])
    table = inner_point(problem, truth, 3)
    assert (np.abs(table - np.round(table)) > 1e-6).sum() > 10
    for seed in range(100):
        rounded = round_table(problem, table, "controlled", seed=seed)
        assert problem.residual(rounded) == 0
        assert (np.abs(rounded - table) < 1).all()


def test_three_overlapping_views_are_refused_with_the_way_out():
    with pytest.raises(RoundingImpossible, match=r"view 0, view 1, view 2 overlap.*rounding='nearest'"):
        round_table(ODD_TRIANGLES, np.full((6, 1), 0.5), "controlled")


def test_two_overlapping_views_with_histogram_are_refused():
    truth = np.random.default_rng(1).poisson(2.0, size=(6, 3))
    problem = Problem.from_table(truth, [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0]])
    table = inner_point(problem, truth, 0)
    with pytest.raises(RoundingImpossible, match="view 0, view 1, histogram"):
        round_table(problem, table, "controlled")


def test_extra_constraints_are_refused_by_name():
    view = View([0, 0], [[1, 1]])
    problem = Problem([view], constraints=[LinearConstraint([[1, 1], [0, 0]], upper=1, name="first value")])
    for method in ("controlled", "hypergeometric"):
        with pytest.raises(RoundingImpossible, match="first value"):
            round_table(problem, np.full((2, 2), 0.5), method)


@pytest.mark.parametrize("method", ["largest-remainder", "controlled", "nearest", "hypergeometric"])
def test_fractional_totals_are_named(method):
    problem = Problem([View([0, 1, 1], [[3, 1], [2.5, 2]])])
    with pytest.raises(InvalidOption, match=r"view 0, group 1, label 0 is 2\.5"):
        round_table(problem, [[3, 1], [1.25, 1], [1.25, 1]], method)


@pytest.mark.parametrize("method", ["largest-remainder", "controlled", "nearest", "hypergeometric"])
def test_a_table_that_misses_its_totals_is_refused(method):
    problem, table, _ = random_case(8, 2, 3, 1)
    table[0, 0] += 0.01
    with pytest.raises(InvalidInput, match=r"0\.01 records off"):
        round_table(problem, table, method)


def test_bad_arguments_are_named():
    problem, table, _ = random_case(8, 2, 3, 1)
    with pytest.raises(InvalidOption, match="unknown rounding 'up'; known: independent"):
        round_table(problem, table, "up")
    with pytest.raises(InvalidOption, match="seed must be a whole number from 0 up, not -1"):
        round_table(problem, table, "controlled", seed=-1)
    with pytest.raises(InvalidInput, match=r"the table is \(7, 2\)"):
        round_table(problem, table[1:], "controlled")
    with pytest.raises(InvalidInput, match="NaN"):
        round_table(problem, np.full((8, 2), np.nan), "independent")
