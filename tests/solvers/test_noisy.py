"""Tables fitted to noisy counts: known answers, brute force, another formulation, and certificates."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.problem._misfit import misfit_of
from aegis_opt.solvers._noisy import NoisySystem, relative_gap
from aegis_opt.solvers.ipf import _em
from aegis_opt.solvers.ipf._em import fit_draws, fit_noisy, most_likely


def randomized_response(n: int, epsilon: float) -> np.ndarray:
    T = np.ones((n, n)) + np.eye(n) * (np.exp(epsilon) - 1)
    return T / T.sum(axis=0)


def noisy_counts(table: np.ndarray, T: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    drawn = [[rng.multinomial(cell, T[:, a]) for cell in row] for a, row in enumerate(table)]
    return np.sum(drawn, axis=0).T.astype(np.float64)


def random_channel(rng: np.random.Generator, n: int) -> np.ndarray:
    if rng.random() < 0.4:
        return randomized_response(n, float(rng.choice([0.5, 1.0, 2.0])))
    m = n + int(rng.integers(0, 3))
    return rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 3.0])), size=n).T


def random_table(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    table = rng.poisson(rng.gamma(0.5, 30, size=(n, k)))
    table[0] += 1
    return table


def test_counts_as_expected_give_the_table_back() -> None:
    table = np.array([[10.0, 40.0], [30.0, 0.0], [20.0, 5.0]])
    T = randomized_response(3, 1.0)
    problem = ao.Problem([ao.View(joint=T @ table, channel=T)])
    for options in ({"solver": "ipf"}, {"solver": "convex"}, {"solver": "convex", "misfit": "l2"}):
        result = ao.reconstruct(problem, **options)
        np.testing.assert_allclose(result.table, table, atol=1e-4)  # flat at the cell that is 0
        assert result.status.name == "OPTIMAL"
        assert result.objective < 1e-6
    assert ao.reconstruct(problem).method == "em"


def test_randomised_response_is_solved_by_filling() -> None:
    """Independent formula: x_a = max(0, (J_a / v - b N) / (t - b)), with v such that the sum is N."""
    rng = np.random.default_rng(5)
    T = randomized_response(12, 0.7)
    t, b = T[0, 0], T[1, 0]
    J = noisy_counts(random_table(rng, 12, 1), T, rng)[:, 0]
    N = J.sum()
    low, high = 1e-6, 1e6
    for _ in range(200):
        v = np.sqrt(low * high)
        x = np.maximum(0.0, (J / v - b * N) / (t - b))
        low, high = (v, high) if x.sum() > N else (low, v)
    result = ao.reconstruct(ao.Problem([ao.View(joint=J[:, None], channel=T)]))
    assert (x == 0).any()
    np.testing.assert_allclose(result.table[:, 0], x, atol=1e-6)


@pytest.mark.parametrize("label_groups", [None, [0, 0, 1]])
@pytest.mark.parametrize("room", [1, 2**22])
def test_draws_that_are_fitted_together_are_fitted_as_each_alone(
    room: int, label_groups: list[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a histogram couples the labels of a draw, and where it does not; one draw needs fewer steps."""
    rng = np.random.default_rng(3)
    T, table = randomized_response(6, 1.5), random_table(rng, 6, 3)
    joint = noisy_counts(table, T, rng)
    if label_groups is not None:
        joint = np.stack([joint[:, :2].sum(axis=1), joint[:, 2]], axis=1)
    view = ao.View(joint=joint, label_groups=label_groups, channel=T)
    monkeypatch.setattr(_em, "_MOST_FLOATS", room)
    for histogram in (None, table.sum(axis=1)):
        system = NoisySystem.of(ao.Problem([view], histogram))
        drawn = np.stack([system.J, *(rng.permuted(system.J, axis=1) for _ in range(4))])
        fitted = fit_draws(system, drawn)
        for J, cells in zip(drawn, fitted, strict=True):
            alone = fit_noisy(replace(system, J=J))
            # how labels of a group share its records is not determined
            expected, found = alone.x @ system.T.T, cells @ system.T.T
            np.testing.assert_allclose(found, expected, atol=1e-5 * table.sum())
            assert relative_gap(replace(system, J=J), cells, "likelihood", alone.v) < 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_em_and_convex_find_the_same_table(seed: int) -> None:
    """With exact views and the histogram or without: to 1e-5 of the records, each with its own gap."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    T, table = random_channel(rng, n), random_table(rng, n, k)
    views = [ao.View(joint=noisy_counts(table, T, rng), channel=T)]
    if seed % 4 == 1:
        groups = rng.integers(0, 2, size=n)
        joint = np.zeros((2, k))
        np.add.at(joint, groups, table)
        views.append(ao.View(groups, joint))
    if seed % 4 == 3:
        T = random_channel(rng, n)
        views.append(ao.View(joint=noisy_counts(table, T, rng), channel=T))
    problem = ao.Problem(views, table.sum(axis=1) if seed % 4 == 2 else None)
    em, convex = ao.reconstruct(problem), ao.reconstruct(problem, solver="convex")
    assert em.gap < 1e-9
    assert convex.gap < 1e-9
    assert em.optimal
    assert convex.optimal
    assert max(em.residual, convex.residual) < 1e-6
    assert np.abs(em.table - convex.table).max() <= 1e-5 * table.sum()
    l2 = ao.reconstruct(problem, solver="convex", misfit="l2")
    assert l2.optimal
    assert l2.norm == "l2"
    assert l2.objective <= misfit_of(problem, em.table, "l2") + 1e-6
    assert em.objective <= misfit_of(problem, l2.table, "likelihood") + 1e-6


def test_two_hundred_random_channels_are_fitted_to_a_small_gap() -> None:
    """Gap in nats per record; none is above 1e-6, and the status says so."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(200):
        n, k = int(rng.integers(2, 25)), int(rng.integers(1, 4))
        T = random_channel(rng, n)
        problem = ao.Problem([ao.View(joint=noisy_counts(random_table(rng, n, k), T, rng), channel=T)])
        result = ao.reconstruct(problem)
        assert result.gap is not None
        assert result.optimal == (result.gap <= 1e-6)
        gaps.append(result.gap)
    assert max(gaps) < 1e-6


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_gap_bounds_what_is_left(seed: int) -> None:
    """Of any table, however bad: its misfit minus the gap is at most the least misfit."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    T, table = random_channel(rng, n), random_table(rng, n, k)
    views = [ao.View(joint=noisy_counts(table, T, rng), channel=T)]
    problem = ao.Problem(views, table.sum(axis=1) if seed % 2 else None)
    system = NoisySystem.of(problem)
    some = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()  # meets histogram and label totals
    for kind in ("likelihood", "l2"):
        best = ao.reconstruct(problem, solver="convex", misfit=kind)
        gap = relative_gap(system, system.cells(some), kind)
        value = misfit_of(problem, some, kind)
        unit = problem.total if kind == "likelihood" else max(value, 1.0)
        assert value - gap * unit <= best.objective + 1e-7 * max(1.0, value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("misfit", ["likelihood", "l2"])
def test_whole_tables_are_those_of_brute_force(seed: int, misfit: str) -> None:
    rng = np.random.default_rng(seed)
    T = rng.dirichlet(np.ones(3), size=3).T
    table = rng.poisson(2.5, size=(3, 2)) + np.eye(3, 2, dtype=int)
    problem = ao.Problem([ao.View(joint=noisy_counts(table, T, rng), channel=T)])
    columns = [
        [np.array(c, dtype=float) for c in product(range(total + 1), repeat=3) if sum(c) == total]
        for total in table.sum(axis=0).tolist()
    ]
    least = min(misfit_of(problem, np.column_stack(pair), misfit) for pair in product(*columns))
    result = ao.reconstruct(problem, solver="integer", misfit=misfit)
    assert (result.method, result.status.name, result.residual) == ("cp-sat", "OPTIMAL", 0.0)
    assert result.objective == pytest.approx(least, rel=1e-5, abs=1e-5)
    assert np.array_equal(result.table, np.round(result.table))


def test_a_masked_label_and_structural_zeros_are_taken() -> None:
    rng = np.random.default_rng(3)
    table = random_table(rng, 5, 3)
    table[2, 1] = 0
    T = randomized_response(5, 1.5)
    joint = noisy_counts(table, T, rng)
    merged = np.column_stack([joint[:, 0] + joint[:, 1], joint[:, 2]])
    prior = np.ones((5, 3))
    prior[2, 1] = 0
    views = [ao.View(joint=merged, label_groups=[0, 0, 1], channel=T), ao.View([0, 1, 1, 1, 0], _by(table))]
    problem = ao.Problem(views, prior=prior)
    em, convex = ao.reconstruct(problem), ao.reconstruct(problem, solver="convex")
    assert em.optimal
    assert convex.optimal
    assert em.table[2, 1] == convex.table[2, 1] == 0
    assert em.objective == pytest.approx(convex.objective, abs=1e-6)
    zeros = ao.Problem([ao.View(joint=joint, channel=T)], prior=prior)
    assert ao.reconstruct(zeros).table[2, 1] == 0
    assert ao.reconstruct(zeros).optimal


def _by(table: np.ndarray) -> np.ndarray:
    return np.array([table[[0, 4]].sum(axis=0), table[1:4].sum(axis=0)])


def test_plain_expectation_maximisation_rises_to_the_same_table() -> None:
    T = randomized_response(4, 2.0)
    J = T @ np.array([[50.0], [20.0], [20.0], [10.0]])
    problem = ao.Problem([ao.View(joint=J, channel=T)])
    values = [
        ao.reconstruct(problem, accelerate=False, max_iterations=i).objective for i in (1, 2, 5, 20, 500)
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 1e-9
    stopped = ao.reconstruct(problem, accelerate=False, max_iterations=2)
    assert not stopped.optimal
    assert stopped.status.name == "FEASIBLE"
    assert stopped.gap > 1e-6


def test_many_columns_are_fitted_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    T = randomized_response(6, 1.0)
    J = rng.multinomial(300, rng.dirichlet(np.ones(6)), size=30).astype(float)
    J[3] = 0
    together = most_likely(T, J, J.sum(axis=1, keepdims=True)).x
    for one, row in zip(J[:, None], together, strict=True):
        np.testing.assert_allclose(most_likely(T, one, one.sum(axis=1, keepdims=True)).x[0], row, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"solver": "smooth"}, "takes no noisy views; those that do: 'ipf'"),
        ({"solver": "auto"}, "takes no noisy views"),
        ({"solver": "sampling"}, "takes no noisy views"),
        ({"solver": "convex", "norm": "l1"}, "leave norm out"),
        ({"solver": "ipf", "norm": "l2"}, "leave norm out"),
        ({"solver": "integer", "norm": "l1"}, "leave norm out"),
        ({"solver": "integer", "engine": "flow"}, "engine 'flow' takes no noisy views"),
        ({"solver": "ipf", "rounding": "hypergeometric"}, "views of this problem are noisy"),
        ({"solver": "ipf", "rounding": "drawn"}, "views of this problem are noisy"),
        ({"solver": "convex", "misfit": "l1"}, "misfit must be 'likelihood' or 'l2'"),
    ],
)
def test_what_noisy_views_do_not_go_with_is_refused(options: dict[str, object], text: str) -> None:
    T = randomized_response(3, 1.0)
    problem = ao.Problem([ao.View(joint=[[8, 3], [4, 6], [3, 9]], channel=T)])
    with pytest.raises(ao.AegisError, match=text):
        ao.reconstruct(problem, **options)


def test_a_misfit_needs_a_noisy_view_and_constraints_none() -> None:
    exact = ao.Problem([ao.View([0, 1], [[3, 1], [0, 2]])])
    for solver in ("convex", "integer"):
        with pytest.raises(ao.errors.InvalidOption, match="this one has none"):
            ao.reconstruct(exact, solver=solver, misfit="l2")
    limit = ao.problem.LinearConstraint(np.ones((2, 2)), upper=9)
    noisy = ao.Problem([ao.View(joint=[[3, 1], [0, 2]], channel=np.eye(2))], constraints=[limit])
    with pytest.raises(ao.errors.InvalidOption, match="extra linear constraints"):
        ao.reconstruct(noisy, solver="convex")
    with pytest.raises(ao.errors.InvalidOption, match="up to 500 cells"):
        ao.reconstruct(
            ao.Problem([ao.View(joint=np.ones((501, 1)), channel=randomized_response(501, 3.0))]),
            solver="integer",
        )


def test_roundings_keep_the_label_totals() -> None:
    rng = np.random.default_rng(2)
    T = randomized_response(5, 1.0)
    problem = ao.Problem([ao.View(joint=noisy_counts(random_table(rng, 5, 2), T, rng), channel=T)])
    for rounding in ("controlled", "nearest", "largest-remainder"):
        result = ao.reconstruct(problem, rounding=rounding, seed=1)
        assert result.residual == 0
        assert np.array_equal(result.table, np.round(result.table))


def test_what_people_read_speaks_of_the_misfit() -> None:
    result = ao.reconstruct(ao.Problem([ao.View(joint=[[8, 3], [4, 6]], channel=[[0.8, 0.2], [0.2, 0.8]])]))
    assert "fits the noisy counts better" in result._repr_html_()
    assert "prior" not in result._repr_html_()
