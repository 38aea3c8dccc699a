"""When totals are two-sided, and that flows over them are exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt._flows import cheapest_flow
from aegis_opt.problem._feasibility import incidence, numbered
from aegis_opt.problem._network import _coloured, two_sided


def test_odd_cycles_have_no_two_sides_and_even_ones_do() -> None:
    assert _coloured(np.array([0, 1, 2]), np.array([1, 2, 0]), 3) is None
    square = _coloured(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0]), 4)
    assert square is not None
    assert len(set(zip(square.left.tolist(), square.right.tolist(), strict=True))) == 4
    assert np.bincount(square.left).tolist() == np.bincount(square.right).tolist() == [2, 2]


def test_one_margin_faces_itself_and_two_face_each_other() -> None:
    one, other = np.array([0, 0, 1]), np.array([0, 1, 1])
    alone = two_sided([one], [2])
    assert alone is not None
    assert alone.left_totals.tolist() == alone.right_totals.tolist() == [0, 1]
    both = two_sided([one, other], [2, 2])
    assert both is not None
    assert (both.left_totals.tolist(), both.right_totals.tolist()) == ([0, 1], [2, 3])


def test_a_total_that_shares_its_cells_with_no_other_stands_on_both_sides() -> None:
    """Cells a b c d: a + b, c + d; a, b, c + d; a + b, c, d. Only a, b, c and d themselves are needed."""
    graph = two_sided([np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]), np.array([0, 0, 1, 2])], [2, 3, 3])
    assert graph is not None
    assert sorted(graph.left_totals.tolist()) == sorted(graph.right_totals.tolist()) == [2, 3, 6, 7]


def test_three_totals_that_cross_in_a_cell_are_not_two_sided() -> None:
    cube = np.arange(8)
    assert two_sided([cube // 4, cube // 2 % 2, cube % 2], [2, 2, 2]) is None


def test_no_cells_are_two_sided() -> None:
    none = np.zeros(0, dtype=np.int64)
    graph = two_sided([none] * 3, [2, 2, 2])
    assert graph is not None
    assert len(graph.left_totals) == len(graph.right_totals) == 0


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 4))
def test_what_the_graph_leaves_out_follows_from_what_it_keeps(seed: int, n_margins: int) -> None:
    """The rows of the kept totals span those of all totals, and each cell has one total on either side."""
    rng = np.random.default_rng(seed)
    members = [np.unique(rng.integers(0, 4, 6), return_inverse=True)[1] for _ in range(n_margins)]
    sizes = [int(index.max()) + 1 for index in members]
    graph = two_sided(members, sizes)
    if graph is None:
        return
    A = incidence(members, sizes).toarray()
    kept = np.concatenate([graph.left_totals, graph.right_totals])
    assert np.linalg.matrix_rank(A[kept]) == np.linalg.matrix_rank(A)
    totals = numbered(members, sizes)
    for total, found in ((graph.left_totals, graph.left), (graph.right_totals, graph.right)):
        assert (totals == total[found]).any(axis=0).all()
        for node, number in enumerate(total):
            assert np.array_equal(found == node, A[number].astype(bool))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_flow_of_least_cost_is_that_of_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tail, head = np.array([0, 0, 1, 1, 0]), np.array([2, 3, 2, 3, 3])
    capacity, cost = rng.integers(0, 4, 5), rng.integers(-5, 6, 5)
    supply = np.zeros(4, dtype=np.int64)
    flow = rng.integers(0, 4, 5)
    np.add.at(supply, tail, flow)
    np.add.at(supply, head, -flow)
    costs = []
    for tried in itertools.product(*(range(c + 1) for c in capacity)):
        sent = np.bincount(tail, tried, 4) - np.bincount(head, tried, 4)
        if np.array_equal(sent, supply):
            costs.append(int(np.dot(tried, cost)))
    found = cheapest_flow(tail, head, capacity, cost, supply)
    assert (found is None) == (not costs)
    if found is not None:
        assert int(found @ cost) == min(costs)


@pytest.mark.parametrize("supply", [[2, 0, -1, 0], [9, 0, -9, 0]], ids=["unbalanced", "too much"])
def test_supplies_that_no_flow_meets_give_none(supply: list[int]) -> None:
    arcs = np.array([0, 1]), np.array([2, 3]), np.array([3, 3]), np.array([1, 1])
    assert cheapest_flow(*arcs, np.array(supply)) is None
