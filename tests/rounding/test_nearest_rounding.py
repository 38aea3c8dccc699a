from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding_cases import (
    ODD_TRIANGLES,
    OUTSIDE_CEILINGS,
    OUTSIDE_CEILINGS_TABLE,
    equations,
    inner_point,
    max_entropy,
    whole_tables,
)
from scipy.optimize import Bounds, LinearConstraint, milp

from aegis_opt import problem as ap
from aegis_opt.errors import InvalidOption, RoundingImpossible
from aegis_opt.problem import Problem
from aegis_opt.rounding import round_table


def deviation(table, rounded):
    return float(np.abs(rounded - table).sum())


def least_deviation(problem, table):
    """Least l1 change to floors and ceilings under all totals, by an integer program in another library."""
    A, b = equations(problem)
    floor = np.floor(table + 1e-9).ravel()
    fraction = np.clip(table.ravel() - floor, 0, None)
    upper = np.where(fraction > 1e-9, 1.0, 0.0)
    due = b - A @ floor
    found = milp(
        1 - 2 * fraction,
        constraints=LinearConstraint(A, due, due),
        integrality=upper,
        bounds=Bounds(0, upper),
    )
    return None if found.x is None else found.fun + fraction.sum()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 4), st.booleans())
def test_flow_reaches_the_optimum_of_an_integer_program(seed, n, k, histogram):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(2.0, size=(n, k))
    problem = Problem.from_table(truth, rng.integers(0, 2, n), histogram=histogram)
    share = rng.random()
    table = share * truth + (1 - share) * max_entropy(problem)
    rounded = round_table(problem, table, "nearest", seed=seed)
    assert deviation(table, rounded) == pytest.approx(least_deviation(problem, table), abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_cp_sat_reaches_the_optimum_of_an_integer_program_for_overlapping_views(seed):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(1.5, size=(6, 2))
    problem = Problem.from_table(truth, [rng.integers(0, 2, 6), rng.integers(0, 3, 6), rng.integers(0, 2, 6)])
    table = inner_point(problem, truth, seed)
    rounded = round_table(problem, table, "nearest", seed=seed)
    assert problem.residual(rounded) == 0
    least = least_deviation(problem, table)
    if least is not None:
        assert deviation(table, rounded) == pytest.approx(least, abs=1e-4)


def test_where_no_floors_and_ceilings_meet_the_totals_the_nearest_whole_table_is_found():
    problem, table = OUTSIDE_CEILINGS, OUTSIDE_CEILINGS_TABLE
    assert problem.residual(table) == 0
    assert whole_tables(problem, np.floor(table), np.ceil(table)) == []
    all_tables = whole_tables(problem, np.zeros(table.shape), np.full(table.shape, 5))
    rounded = round_table(problem, table, "nearest")
    assert problem.residual(rounded) == 0
    assert deviation(table, rounded) == pytest.approx(min(deviation(table, whole) for whole in all_tables))
    with pytest.raises(RoundingImpossible, match="rounding='nearest'"):
        round_table(problem, table, "controlled")


def test_totals_that_no_whole_table_meets_are_reported():
    with pytest.raises(
        RoundingImpossible, match="no table of whole numbers meets all totals of view 0, view 1"
    ):
        round_table(ODD_TRIANGLES, np.full((6, 1), 0.5), "nearest")


def test_an_effort_limit_is_reported_and_the_totals_are_met_all_the_same(monkeypatch):
    rng = np.random.default_rng(200)
    truth = rng.poisson(2.0, size=(200, 3))
    problem = Problem.from_table(truth, [rng.integers(0, 8, 200) for _ in range(4)])
    table = inner_point(problem, truth, 0)
    monkeypatch.setattr("aegis_opt.rounding._nearest_cp_sat._EFFORT", 1.0)
    with pytest.warns(UserWarning, match="effort limit: the table is .* the nearest at least"):
        rounded = round_table(problem, table, "nearest")
    assert problem.residual(rounded) == 0
    monkeypatch.setattr("aegis_opt.rounding._nearest_cp_sat._EFFORT", 0.0)
    with pytest.raises(RoundingImpossible, match="does not mean that there is none"):
        round_table(problem, table, "nearest")


def test_extra_constraints_are_kept():
    view = ap.View([0, 0, 0], [[1, 2]])
    bound = ap.LinearConstraint([[1, 0], [1, 0], [0, 0]], upper=0.9, name="first two")
    problem = Problem([view], histogram=[1, 1, 1], constraints=[bound])
    table = np.array([[0.45, 0.55], [0.45, 0.55], [0.1, 0.9]])
    assert round_table(problem, table, "nearest").tolist() == [[0, 1], [0, 1], [1, 0]]


def test_fractional_coefficients_are_scaled_to_whole_ones():
    """Of the two halves at most 0.6 together, so at most one record may go there."""
    bound = ap.LinearConstraint([[0.5, 0.5], [0, 0]], upper=0.6, name="halves")
    problem = Problem([ap.View([0, 0], [[1, 1]])], constraints=[bound])
    for seed in range(5):
        rounded = round_table(problem, [[0.6, 0.6], [0.4, 0.4]], "nearest", seed=seed)
        assert rounded.sum(axis=1).tolist() == [1, 1]


def test_constraints_count_the_cells_that_are_whole_already():
    bound = ap.LinearConstraint([[1.5, 1.0], [0, 0], [0, 0]], upper=3.5, name="first row")
    problem = Problem([ap.View([0, 0, 0], [[4, 2]])], constraints=[bound])
    table = [[2.0, 0.5], [1.0, 0.75], [1.0, 0.75]]
    assert round_table(problem, table, "nearest").tolist() == [[2, 0], [1, 1], [1, 1]]


def test_coefficients_without_a_small_denominator_are_refused_by_name():
    bound = ap.LinearConstraint([[np.pi, 0], [0, 0]], upper=2, name="pi")
    problem = Problem([ap.View([0, 0], [[1, 1]])], constraints=[bound])
    with pytest.raises(InvalidOption, match=r"'pi' has the coefficient 3\.14.*denominators up to 1000"):
        round_table(problem, np.full((2, 2), 0.5), "nearest")


@pytest.mark.parametrize("method", ["nearest", "largest-remainder"])
def test_ties_are_broken_by_the_seed_and_not_by_row_order(method):
    problem = Problem([ap.View([0, 0, 0, 0], [[1, 1]])])
    rounded = [round_table(problem, np.full((4, 2), 0.25), method, seed=seed) for seed in range(200)]
    together = np.mean([(table.sum(axis=1) == 2).any() for table in rounded])
    assert 0.1 < together < 0.4  # 1/4 where the two labels' records fall independently
    assert (np.mean(rounded, axis=0) > 0.1).all()
