from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from aegis_opt.errors import InvalidOption
from aegis_opt.problem import Problem, View
from aegis_opt.solvers.reconstruction import Status
from aegis_opt.solvers.registry import available_solvers, get_reconstructor, reconstruct

TRUTH = np.array([[5, 1, 0], [2, 2, 2], [0, 0, 0], [3, 0, 6], [1, 7, 1]])
GROUPS = [0, 0, 0, 1, 1]


def tables(problem, seeds):
    return np.array([reconstruct(problem, "sampling", seed=seed).table for seed in range(seeds)])


def test_it_is_registered():
    assert "sampling" in available_solvers()
    assert get_reconstructor("sampling").is_random


@pytest.mark.parametrize("histogram", [True, False])
def test_the_view_is_met_exactly_by_whole_numbers(histogram):
    problem = Problem.from_table(TRUTH, GROUPS, histogram=histogram)
    for table in tables(problem, 100):
        assert np.array_equal(problem.margins[0].sums(table), problem.views[0].joint)
        assert (table == np.round(table)).all()


def test_status_says_whether_the_histogram_happens_to_hold():
    with_histogram = [
        reconstruct(Problem.from_table(TRUTH, GROUPS), "sampling", seed=seed) for seed in range(100)
    ]
    assert {result.status for result in with_histogram} <= {Status.VIOLATED, Status.FEASIBLE}
    assert sum(result.status is Status.VIOLATED for result in with_histogram) > 50
    assert all((result.residual > 0) is (result.status is Status.VIOLATED) for result in with_histogram)
    without = reconstruct(Problem.from_table(TRUTH, GROUPS, histogram=False), "sampling")
    assert without.status is Status.FEASIBLE
    assert without.residual == 0


@pytest.mark.parametrize("histogram", [True, False])
def test_each_record_draws_a_value_of_its_group_by_histogram_or_uniformly(histogram):
    problem = Problem.from_table(TRUTH, GROUPS, histogram=histogram)
    drawn = tables(problem, 500).sum(axis=0)
    rows = TRUTH.sum(axis=1)
    group = np.array([12, 12, 12, 18, 18])
    chance = rows / group if histogram else np.array([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    joint = problem.views[0].joint[GROUPS]
    for (a, y), count in np.ndenumerate(drawn):  # 15 exact tests, together at level 1e-6
        test = stats.binomtest(int(count), int(500 * joint[a, y]), chance[a]) if joint[a, y] else None
        assert count == 0 if test is None else test.pvalue > 1e-6 / 15


def test_zeros_of_the_prior_stay_zero_and_its_weights_count():
    prior = np.array([[1.0, 0.0], [3.0, 2.0]])
    problem = Problem([View([0, 0], [[40, 10]])], prior=prior)
    drawn = tables(problem, 200).sum(axis=0)
    assert drawn[0, 1] == 0
    assert stats.binomtest(int(drawn[0, 0]), 200 * 40, 0.25).pvalue > 1e-6


def test_same_seed_same_table():
    problem = Problem.from_table(TRUTH, GROUPS)
    first, second, other = (reconstruct(problem, "sampling", seed=seed).table for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(InvalidOption, match=r"view 0, group 0, label 1 is 1\.5"):
        reconstruct(Problem([View([0, 1], [[1, 1.5], [2, 2]])]), "sampling")
    with pytest.raises(InvalidOption, match="takes one view, not 2"):
        reconstruct(Problem.from_table(TRUTH, [GROUPS, [0, 1, 1, 1, 0]]), "sampling")
    with pytest.raises(InvalidOption, match="takes no masked label"):
        reconstruct(Problem.from_table(TRUTH, GROUPS, label_groups=[0, 0, 1]), "sampling")
    with pytest.raises(InvalidOption, match="whole already: leave rounding out"):
        get_reconstructor("sampling", rounding="controlled")
    with pytest.raises(InvalidOption, match="has no option 'norm'"):
        get_reconstructor("sampling", norm="l1")
