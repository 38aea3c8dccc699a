"""Large problems take bounded memory: another method where it will do, else an error with the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import InvalidInput
from aegis_opt.problem import _linear_program, _symmetric
from aegis_opt.problem._presolve import reduce


def crossing(n: int = 60, k: int = 5) -> ao.Problem:
    """Three views whose groups cut across each other, and the histogram."""
    rng = np.random.default_rng(0)
    groups = [np.unique(rng.integers(0, n // 4, n), return_inverse=True)[1] for _ in range(3)]
    return ao.Problem.from_table(rng.integers(1, 50, (n, k)), groups)


def test_totals_that_would_fill_a_factor_are_solved_by_conjugate_gradients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    factorised = ao.reconstruct(crossing(), "ipf")
    monkeypatch.setattr(_symmetric, "QUICK_FILL", 0)
    monkeypatch.setattr(_symmetric, "_factorised", None)
    result = ao.reconstruct(crossing(), "ipf")
    assert result.method == factorised.method == "newton"
    assert result.status is ao.Status.OPTIMAL
    assert np.allclose(result.table, factorised.table, atol=1e-7)


def test_the_fill_is_small_for_chains_and_large_for_groups_that_cross(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_symmetric, "QUICK_FILL", 0)
    n = 4000
    rng = np.random.default_rng(0)
    table = np.ones((n, 1))
    fills = []
    for groups in ([np.arange(n) // 5, (np.arange(n) + 2) // 7], [rng.integers(0, n // 3, n) for _ in "ab"]):
        partitions = [np.unique(group, return_inverse=True)[1] for group in groups]
        A = reduce(ao.Problem.from_table(table, partitions, histogram=False)).matrix
        fills.append(_symmetric.largest_fill((A @ A.T).tocsc()))
    assert fills[0] < 20 * n
    assert fills[1] > 100 * n


def test_contradictions_that_there_is_no_room_to_explain_are_refused_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_linear_program, "MOST_ENTRIES", 10)
    people = pd.DataFrame({"age": np.arange(60) % 12, "y": np.arange(60) % 7 % 3})
    masks = {"a": {"age": ao.Bucketize(width=3)}, "b": {"age": ao.Bucketize(width=4)}}
    summary = ao.summarize(people, "y", masks)
    assert ao.advise(summary).best is not None  # where no program is needed, none is refused
    problem = ao.Problem([ao.View([0, 0, 1], [[1, 2], [3, 4]]), ao.View([0, 1, 1], [[9, 2], [3, 4]])])
    with pytest.raises(InvalidInput, match=r"a linear program of 12 coefficients.*coarsen.*scope='single'"):
        ao.reconstruct(problem, "ipf", on_conflict="repair")


def test_cells_that_must_be_0_stay_where_there_is_no_room_to_find_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (12, 3)) * rng.integers(0, 9, (12, 3))
    problem = ao.Problem.from_table(table, [np.arange(12) % 4, np.arange(12) // 4, np.arange(12) % 5])
    monkeypatch.setattr(_linear_program, "MOST_ENTRIES", 120)
    result = ao.reconstruct(problem, "ipf")
    assert result.residual < 1e-6
