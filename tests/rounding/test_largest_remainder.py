from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding_cases import inner_point, max_entropy, nested_case, random_case

from aegis_opt.problem import Problem
from aegis_opt.rounding import round_table


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_view_totals_are_kept_and_cells_go_to_floor_or_ceil(seed, n, k, histogram):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(2.0, size=(n, k))
    problem = Problem.from_table(truth, rng.integers(0, 2, n), histogram=histogram)
    table = max_entropy(problem)
    rounded = round_table(problem, table, "largest-remainder", seed=seed)
    assert np.array_equal(problem.margins[0].sums(rounded), problem.views[0].joint)
    assert (np.abs(rounded - table) < 1).all()


def test_the_largest_fractions_are_raised():
    problem = Problem.from_table([[1, 0], [1, 1], [1, 2]], [0, 0, 0], histogram=False)
    table = [[1.1, 1.4], [1.3, 0.9], [0.6, 0.7]]
    expected = [[1, 1], [1, 1], [1, 1]]
    assert round_table(problem, table, "largest-remainder").tolist() == expected


def test_the_finer_of_nested_views_is_kept_and_so_is_the_coarser():
    problem, table, _ = nested_case(3, histogram=False)
    assert problem.residual(round_table(problem, table, "largest-remainder")) == 0


def test_the_histogram_is_not_kept():
    problem, table, _ = random_case(40, 5, 2, 3)
    assert problem.residual(round_table(problem, table, "largest-remainder")) > 0


def test_without_histogram_it_is_as_near_as_nearest():
    problem, _, truth = random_case(30, 3, 4, 5, histogram=False)
    table = inner_point(problem, truth, 1)
    near, remainder = (round_table(problem, table, m) for m in ("nearest", "largest-remainder"))
    assert np.abs(near - table).sum() == pytest.approx(np.abs(remainder - table).sum(), abs=1e-5)
