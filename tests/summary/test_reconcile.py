"""Protected tables made consistent, against brute force and an independent convex program."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.summary._reconcile import reconcile


@pytest.mark.parametrize("seed", range(8))
def test_columns_are_the_nearest_whole_ones_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(-6, 9, (int(rng.integers(1, 5)), 2)) for _ in range(2)]
    found = reconcile(tables, [[], []])
    total = found[0].sum(axis=0)
    assert np.array_equal(total, found[1].sum(axis=0))
    for table, own in zip(tables, found, strict=True):
        assert (own >= 0).all()
        for y in range(2):
            counts = itertools.product(range(int(total[y]) + 1), repeat=len(table))
            least = min(((np.array(c) - table[:, y]) ** 2).sum() for c in counts if sum(c) == total[y])
            assert ((own[:, y] - table[:, y]) ** 2).sum() == least


@pytest.mark.parametrize("seed", range(8))
def test_from_the_top_down_each_step_is_the_nearest_split_of_the_one_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = 6
    table = rng.integers(-4, 7, (rows, 2))
    masks = [rng.integers(0, 3, rows), np.minimum(np.arange(rows) // 3, 1), np.zeros(rows, dtype=np.int64)]
    masks = [np.unique(groups, return_inverse=True)[1] for groups in masks]
    (found,) = reconcile([table], [masks])
    assert (found >= 0).all()
    assert found.sum(axis=0).tolist() == np.maximum(table.sum(axis=0), 0).tolist()
    blocks = [tuple(range(rows))]
    for groups in [*sorted(masks, key=lambda groups: groups.max()), np.arange(rows)]:
        finer = []
        for block in blocks:
            parts = [tuple(row for row in block if groups[row] == group) for group in range(rows)]
            parts = [part for part in parts if part]
            finer += parts
            for y in range(2):
                wanted = np.array([table[list(part), y].sum() for part in parts])
                own = np.array([found[list(part), y].sum() for part in parts])
                total = int(found[list(block), y].sum())
                splits = itertools.product(range(total + 1), repeat=len(parts))
                least = min(((np.array(c) - wanted) ** 2).sum() for c in splits if sum(c) == total)
                assert ((own - wanted) ** 2).sum() == least
        blocks = finer


def test_groups_are_unbiased_from_the_top_down_and_not_in_the_nearest_table() -> None:
    """Noise moves records from large cells to small ones; four standard errors of a mean of 400 draws."""
    rng = np.random.default_rng(0)
    truth = np.repeat([[40], [8]], 150, axis=0)
    noisy = truth + rng.geometric(0.05, (400, 300, 1)) - rng.geometric(0.05, (400, 300, 1))
    (nearest,), (fitted,) = reconcile([noisy], [[]]), reconcile([noisy], [[np.arange(300) // 150]])
    bias = [float((found[:, :150].sum(axis=1) - 6000).mean()) for found in (nearest, fitted)]
    assert abs(bias[1]) < 4 * np.sqrt(2 * 20**2 * 150 / 400)
    assert bias[0] < -400


def test_tables_are_near_those_of_a_convex_program() -> None:
    rng = np.random.default_rng(3)
    truth = rng.poisson(4, (12, 3))
    tables = [truth + rng.integers(-9, 10, truth.shape), rng.integers(-9, 10, (5, 3)) + 10]
    found = reconcile(tables, [[], []])
    for table, own in zip(tables, found, strict=True):
        x = cp.Variable(table.shape, nonneg=True)
        cost = cp.sum_squares(x - table)
        cp.Problem(cp.Minimize(cost), [cp.sum(x, axis=0) == own.sum(axis=0)]).solve(solver="CLARABEL")
        assert np.abs(np.asarray(x.value) - own).max() < 1 + 1e-6
        assert cost.value <= ((own - table) ** 2).sum() + 1e-6


def test_totals_are_the_weighted_least_squares_estimate() -> None:
    few, many = np.array([[30, 0], [10, 7]]), np.array([[1, 1]] * 8)
    expected = (few.sum(axis=0) / 2 + many.sum(axis=0) / 8) / (1 / 2 + 1 / 8)
    assert reconcile([few, many], [[], []])[0].sum(axis=0).tolist() == np.rint(expected).astype(int).tolist()


@given(st.integers(0, 10**6), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_consistent_tables_stay_as_they_are_and_replicates_do_not_mix(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.multinomial(40, np.full(12, 1 / 12), size=n).reshape(n, 4, 3)
    merged = truth.reshape(n, 2, 2, 3).sum(axis=2)
    masks = [[np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], [np.array([0, 0])]]
    for own, table in zip(reconcile([truth, merged], masks), (truth, merged), strict=True):
        assert np.array_equal(own, table)
    noisy = [truth + rng.integers(-5, 6, truth.shape), merged + rng.integers(-5, 6, merged.shape)]
    together = reconcile(noisy, masks)
    for i in range(n):
        alone = reconcile([table[i] for table in noisy], masks)
        assert all(np.array_equal(a, t[i]) for a, t in zip(alone, together, strict=True))


def test_huge_counts_of_either_sign_keep_their_totals() -> None:
    table = np.array([[2**51, -(2**51)], *[[-(2**30), 2**30]] * 2000])
    found = reconcile([table, np.array([[2**50, 5], [3, -7]])], [[], []])
    assert np.array_equal(found[0].sum(axis=0), found[1].sum(axis=0))
    assert min(own.min() for own in found) >= 0
