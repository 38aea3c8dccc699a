"""What pooled views give away, against the range of every cell over all feasible tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import aegis_opt as ao
from aegis_opt.advisor._disclosure import disclosed_share
from aegis_opt.problem._feasibility import incidence


@settings(max_examples=40, deadline=None)
@example(3848, 1, True)  # two values of equal counts in a group of one label
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_the_share_is_that_of_the_cells_which_cannot_vary(seed: int, views: int, histogram: bool) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    truth = rng.poisson(1.5, size=(n, k))
    truth[0, 0] += 1
    groups = [np.unique(rng.integers(0, n, n), return_inverse=True)[1] for _ in range(views)]
    problem = ao.Problem.from_table(truth, groups, histogram=histogram)
    A = incidence([m.cells() for m in problem.margins], [m.n_groups for m in problem.margins]).toarray()
    b = np.concatenate([m.totals.ravel() for m in problem.margins])
    given_away = 0
    for cell, count in enumerate(truth.ravel()):
        cost = np.eye(truth.size)[cell]
        least, most = (linprog(sign * cost, A_eq=A, b_eq=b, method="highs").x[cell] for sign in (1, -1))
        given_away += int(count) if most - least < 1e-7 else 0
    table = np.asarray(ao.reconstruct(problem).table)
    assert disclosed_share(problem, table) == pytest.approx(given_away / truth.sum(), abs=1e-6)


def test_a_bridge_between_cycles_is_determined_although_no_total_has_one_open_cell() -> None:
    """Two 2 x 2 blocks that cannot be told inside, joined by a cell that their sums determine."""
    truth = np.array([[1, 2, 0, 0], [2, 1, 3, 0], [0, 0, 2, 1], [0, 0, 1, 2]])
    prior = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=float)
    problem = ao.Problem.from_table(truth, [0, 0, 0, 0], prior=prior)
    table = np.asarray(ao.reconstruct(problem).table)
    assert disclosed_share(problem, table) == pytest.approx(3 / 15)
