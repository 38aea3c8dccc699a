"""The presolve: fewer rows and totals, the same problem."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.problem._feasibility import support
from aegis_opt.problem._margin import Margin
from aegis_opt.problem._presolve import independent, reduce


def test_rows_of_one_group_with_one_total_are_one_class() -> None:
    truth = np.array([[1, 2], [2, 1], [3, 0], [1, 1], [0, 2]])
    problem = ao.Problem.from_table(truth, [0, 0, 0, 1, 1])
    reduction = reduce(problem)
    assert reduction.class_of.tolist() == [0, 0, 0, 1, 1]
    assert reduction.multiplicity.tolist() == [3, 2]
    assert reduction.first.tolist() == [0, 3]
    without = reduce(ao.Problem.from_table(truth, [0, 0, 0, 1, 1], histogram=False))
    assert without.shape == (2, 2)


def test_priors_totals_and_constraints_keep_rows_apart() -> None:
    truth = np.array([[1, 2], [2, 1], [3, 0], [2, 2]])
    views = ao.Problem.from_table(truth, [0, 0, 0, 0]).views
    assert reduce(ao.Problem(views)).shape[0] == 1
    assert reduce(ao.Problem(views, histogram=[3, 3, 3, 4])).shape[0] == 2
    assert reduce(ao.Problem(views, prior=[[1, 1], [1, 1], [1, 2], [1, 2]])).shape[0] == 2
    cap = ao.problem.LinearConstraint([[1, 0], [0, 0], [0, 0], [0, 0]], upper=1)
    assert reduce(ao.Problem(views, constraints=[cap])).shape[0] == 2


def test_totals_that_follow_from_finer_ones_are_dropped_only_where_they_agree() -> None:
    truth = np.array([[1, 2], [2, 1], [3, 0], [2, 2]])
    nested = ao.Problem.from_table(truth, [[0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 0, 0]], histogram=False)
    assert [margin.name for margin in independent(nested.margins)] == ["view 1"]
    same = ao.Problem.from_table(truth, [[0, 0, 1, 1], [1, 1, 0, 0]], histogram=False)
    assert [margin.name for margin in independent(same.margins)] == ["view 0"]
    contradicting = ao.Problem([same.views[0], ao.View([0, 0, 0, 0], [[9, 9]])])
    assert len(list(independent(contradicting.margins))) == 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_what_is_feasible_stays_feasible_both_ways(seed: int, histogram: bool) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    truth = rng.integers(0, 3, size=(n, k))
    truth[0, 0] += 1
    groups = [
        np.unique(rng.integers(0, 3, n), return_inverse=True)[1] for _ in range(int(rng.integers(1, 4)))
    ]
    problem = ao.Problem.from_table(truth, groups, histogram=histogram)
    reduction = reduce(problem)
    totals = np.zeros(reduction.shape)
    np.add.at(totals, reduction.class_of, truth)
    assert not totals[~reduction.allowed].any()
    assert np.allclose(reduction.matrix @ totals.ravel()[reduction.cells], reduction.totals)
    assert problem.residual(reduction.expand(totals)) < 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_linear_program_finds_every_cell_that_can_be_positive(seed: int) -> None:
    """Against brute force over all whole tables with the same totals (totals of such systems are small)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size=(4, 1))
    truth[0, 0] = 1
    groups = [np.unique(rng.integers(0, 2, 4), return_inverse=True)[1] for _ in range(2)]
    problem = ao.Problem.from_table(truth, groups, histogram=False)
    reduction = reduce(problem)
    possible = np.zeros((4, 1), dtype=bool)
    for counts in np.ndindex(*(5,) * 4):
        table = np.array(counts, dtype=float)[:, None]
        if problem.residual(table) == 0:
            possible |= table > 0
    found = support(reduction.matrix, reduction.totals)
    assert found is not None
    per_class = np.zeros(reduction.shape, dtype=bool)
    per_class.flat[reduction.cells] = found
    assert np.array_equal(per_class[reduction.class_of], possible)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=6), st.booleans())
def test_the_margins_kept_are_those_that_follow_from_no_other(partitions, histogram) -> None:
    truth = np.arange(12).reshape(6, 2)
    groups = [np.unique(partition, return_inverse=True)[1] for partition in partitions]
    margins = ao.Problem.from_table(truth, groups, histogram=histogram).margins
    kept = [
        margin.name
        for i, margin in enumerate(margins)
        if not any(
            other.implies(margin) and (j < i or not margin.implies(other))
            for j, other in enumerate(margins)
            if j != i
        )
    ]
    assert [margin.name for margin in independent(margins)] == kept


def test_many_views_are_not_compared_each_with_each(monkeypatch) -> None:
    n = 120
    groups = [(np.arange(n) + shift) // width for width in range(2, 22) for shift in range(width)]
    problem = ao.Problem.from_table(np.ones((n, 2)), groups)
    compared = 0
    implies = Margin.implies

    def counting(self: Margin, other: Margin) -> bool:
        nonlocal compared
        compared += 1
        return implies(self, other)

    monkeypatch.setattr(Margin, "implies", counting)
    list(independent(problem.margins))
    assert len(problem.margins) > 200
    assert compared < 4 * len(problem.margins)
