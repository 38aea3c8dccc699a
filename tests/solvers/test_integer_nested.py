"""Partly nested views: the exact solver takes them as a flow, with the optimum of every other way to it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_integer_engines import NORMS, brute_force

from aegis_opt.distances import distance
from aegis_opt.errors import InfeasibleProblem, InvalidOption
from aegis_opt.problem._presolve import independent, reduce
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View
from aegis_opt.solvers.integer._flow import sides
from aegis_opt.solvers.integer._integer import Integer


def partly_nested(
    rng: np.random.Generator, n_views: int, *, histogram: bool, largest: int = 4, k: int | None = None
) -> Problem:
    """Views each of which is coarse in a block of rows of its own, and one of two partitions in the others.

    No view follows from another, yet the coarse totals follow from finer ones. With the histogram, a block
    has one partition: the histogram is the other side.
    """
    k = int(rng.integers(2, 4)) if k is None else k
    sizes = rng.integers(2, 4, n_views)
    block = np.repeat(np.arange(n_views), sizes)
    n_rows = len(block)
    truth = rng.integers(0, largest + 1, size=(n_rows, k)) * (rng.random((n_rows, k)) < 0.8)
    truth[0, 0] += 1
    place = np.arange(n_rows) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    halves, others = place % 2, (place > 0) * rng.integers(1, 3, n_rows)
    views = []
    for coarse in range(n_views):
        choice = rng.integers(1, 2 if histogram else 3, n_views)
        choice[coarse] = 0
        code = np.choose(choice[block], [np.zeros(n_rows, dtype=np.int64), halves, others])
        views.append(np.unique(block * 10 + code, return_inverse=True)[1])
    prior = rng.integers(1, 8, size=truth.shape) / 2 if rng.random() < 0.5 else None
    return Problem.from_table(truth, views, histogram=histogram, prior=prior)


def test_the_cases_are_what_they_claim_to_be() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_views, histogram = 3 + seed % 2, seed % 4 > 1
        problem = partly_nested(rng, n_views, histogram=histogram)
        assert len(list(independent(problem.margins))) == n_views + histogram


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 4), st.booleans(), st.sampled_from(NORMS))
def test_flow_and_cp_sat_prove_the_same_optimum(seed: int, n_views: int, histogram: bool, norm: str) -> None:
    rng = np.random.default_rng(seed)
    problem = partly_nested(rng, n_views, histogram=histogram)
    flow = Integer(norm=norm, seed=seed).reconstruct(problem)
    search = Integer(norm=norm, engine="cp-sat", seed=seed).reconstruct(problem)
    assert (flow.method, search.method) == ("flow", "cp-sat")
    assert flow.optimal
    assert search.optimal
    assert flow.residual == 0.0
    assert flow.objective == pytest.approx(search.objective, abs=1e-9)
    least = [distance(result.table, problem.prior, "l2") for result in (flow, search)]
    assert least[0] == pytest.approx(least[1], abs=1e-9)  # how ties are broken


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 4), st.booleans(), st.sampled_from(NORMS))
def test_no_whole_table_is_closer(seed: int, n_views: int, histogram: bool, norm: str) -> None:
    rng = np.random.default_rng(seed)
    problem = partly_nested(rng, n_views, histogram=histogram, largest=1, k=1 + histogram)
    result = Integer(norm=norm, engine="flow").reconstruct(problem)
    if problem.histogram is None:
        least = brute_force(problem, norm)
    else:  # the first label's counts determine the second's
        columns = np.array(list(product(*(range(int(r) + 1) for r in problem.histogram))), dtype=float)
        tables = np.stack([columns, problem.histogram - columns], axis=2)
        least = min(distance(t, problem.prior, norm) for t in tables if problem.residual(t) == 0)
    assert result.objective == pytest.approx(least, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 4), st.booleans(), st.sampled_from(NORMS))
def test_any_views_are_solved_by_flow_exactly_where_they_are_two_sided(
    seed: int, n_views: int, histogram: bool, norm: str
) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, size=(5, 2))
    truth[0, 0] += 1
    views = [np.unique(rng.integers(0, 4, 5), return_inverse=True)[1] for _ in range(n_views)]
    problem = Problem.from_table(truth, views, histogram=histogram)
    result = Integer(norm=norm).reconstruct(problem)
    search = Integer(norm=norm, engine="cp-sat").reconstruct(problem)
    assert result.method == ("flow" if sides(reduce(problem)) is not None else "cp-sat")
    assert result.optimal
    assert result.residual == 0.0
    assert result.objective == pytest.approx(search.objective, abs=1e-9)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("engine", ["auto", "flow", "cp-sat"])
def test_a_total_that_contradicts_its_parts_is_refused(engine: str, norm: str) -> None:
    """View 2 has 4 and 2 records where the finer totals of the other views say 3 and 3."""
    views = [
        View([0, 0, 1, 2], [[3], [1], [2]]),
        View([0, 1, 2, 2], [[1], [2], [3]]),
        View([0, 0, 1, 1], [[4], [2]]),
    ]
    with pytest.raises(InfeasibleProblem, match="view 2 has 4"):
        Integer(norm=norm, engine=engine).solve(Problem(views))
    agreeing = Problem([*views[:2], View([0, 0, 1, 1], [[3], [3]])])
    assert Integer(norm=norm, engine=engine).reconstruct(agreeing).residual == 0.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_changed_totals_are_met_or_refused_never_missed(seed: int, histogram: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = partly_nested(rng, 3, histogram=histogram)
    changed = int(rng.integers(3))
    views = []
    for i, view in enumerate(problem.views):
        joint = view.joint.copy()
        if i == changed and len(joint) > 1:  # a record moves between groups; the label totals stay
            y = int(rng.integers(joint.shape[1]))
            source = int(np.argmax(joint[:, y]))
            joint[source, y] -= joint[source, y] > 0
            joint[(source + 1) % len(joint), y] += view.joint[source, y] > 0
        views.append(View(view.groups, joint))
    moved = Problem(views, problem.histogram, problem.given_prior)
    outcomes: list[object] = []
    for engine in ("auto", "cp-sat"):
        try:
            result = Integer(engine=engine).reconstruct(moved)
        except InfeasibleProblem:
            outcomes.append(None)
        else:
            assert result.residual == 0.0
            outcomes.append(round(result.objective, 9))
    assert outcomes[0] == outcomes[1]


def test_a_constraint_or_crossing_views_are_named_as_obstacles() -> None:
    cube = np.arange(8)
    crossing = Problem.from_table(np.ones((8, 2)), [cube // 4, cube // 2 % 2, cube % 2], histogram=False)
    with pytest.raises(InvalidOption, match="view 0, view 1, view 2 overlap"):
        Integer(engine="flow").reconstruct(crossing)
