"""The smoothest table: against an independent model, and what it must not depend on."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.solvers.smooth import Smooth
from aegis_opt.solvers.smooth._smooth import RESOLUTION


def _derivative(x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Divided differences as a dense matrix, and the length that each stands for; written out by order."""
    x = (x - x[0]) / (x[-1] - x[0])
    h = np.diff(x)
    first = (np.eye(len(x))[1:] - np.eye(len(x))[:-1]) / h[:, None]
    if order == 1:
        return first, h
    between = (h[1:] + h[:-1]) / 2
    second = (first[1:] - first[:-1]) / between[:, None]
    if order == 2:
        return second, between
    apart = (between[1:] + between[:-1]) / 2
    return (second[1:] - second[:-1]) / apart[:, None], apart


def _roughness(problem: ao.Problem, table: Any, weights: dict[int, float]) -> Any:
    """Roughness of a table, or of a cvxpy variable, along the positions of a problem."""
    n = problem.shape[0]
    r = np.full(n, problem.total / n) if problem.histogram is None else problem.histogram
    x = np.asarray(problem.positions)
    rows = np.argsort(x)
    rows = rows[~np.isnan(x[rows]) & (r[rows] > 0)]
    found = 0.0
    for order, weight in weights.items():
        if len(rows) <= order:
            continue
        D, length = _derivative(x[rows], order)
        scaled = np.sqrt(weight * length)[:, None] * D / r[rows]
        square = cp.sum_squares if isinstance(table, cp.Expression) else lambda z: float((z**2).sum())
        found = found + square(scaled @ table[rows])
    return found


def _least_roughness(problem: ao.Problem, weights: dict[int, float], unit: float) -> float:
    """Least roughness by a plain model, in units of about that: third differences are large numbers."""
    X = cp.Variable(problem.shape, nonneg=True)
    constraints = []
    for margin in problem.margins:
        for g, y in np.ndindex(margin.totals.shape):
            cells = np.outer(margin.rows == g, margin.columns == y).astype(float)
            if cells.any():
                constraints.append(cp.sum(cp.multiply(cells, X)) == margin.totals[g, y])
    if problem.structural_zeros is not None:
        constraints.append(cp.multiply(problem.structural_zeros.astype(float), X) == 0)
    program = cp.Problem(cp.Minimize(_roughness(problem, X, weights) / unit), constraints)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert program.status in ("optimal", "optimal_inaccurate")
    return float(program.value) * unit


def _random_problem(rng: np.random.Generator, *, skewed: bool) -> ao.Problem:
    n, k = int(rng.integers(4, 14)), int(rng.integers(2, 5))
    truth = rng.poisson(rng.gamma(1.0, 6.0, size=(n, k)))
    truth[0, 0] += 1
    prior = None
    if rng.random() < 0.3:
        zeros = (truth == 0) & (rng.random((n, k)) < 0.5)
        prior = np.where(zeros, 0.0, 1.0)
    views = []
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.7:
            views.append(np.cumsum(rng.random(n) < 0.3))
        else:
            views.append(rng.integers(0, 3, n))
    views = [np.unique(view, return_inverse=True)[1] for view in views]
    labels = np.minimum(np.arange(k), 1) if rng.random() < 0.25 else None
    x = np.sort(rng.choice(100, n, replace=False)).astype(float)
    if skewed and rng.random() < 0.5:
        x = np.exp(x / 20)
    return ao.Problem.from_table(
        truth, views, histogram=bool(rng.random() < 0.6), prior=prior, label_groups=labels, positions=x
    )


@pytest.mark.parametrize(
    "options",
    [
        {"order": 1},
        {"order": 2},
        {"order": 3},
        {"order": (1, 2), "weights": (100.0, 1.0)},
    ],
    ids=["first", "second", "third", "both"],
)
def test_no_feasible_table_of_an_independent_model_is_smoother(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    solver = Smooth(**options)
    roughness = solver.distance
    orders = options["order"] if isinstance(options["order"], tuple) else (options["order"],)
    weights = dict(zip(orders, options.get("weights", (1.0,)), strict=True))
    for _ in range(50):
        problem = _random_problem(rng, skewed=3 not in orders)  # what the engine of the model can solve
        result = solver.reconstruct(problem)
        assert result.status is ao.Status.OPTIMAL
        assert result.residual < 1e-9
        assert result.objective == pytest.approx(
            _roughness(problem, result.table, weights), rel=1e-8, abs=1e-9
        )
        resolution = RESOLUTION * roughness.of_a_wave
        least = _least_roughness(problem, weights, max(result.objective, resolution))
        assert abs(result.objective - least) <= 1e-6 * max(least, resolution)


def test_values_without_records_lie_between_their_neighbours() -> None:
    truth = np.array([[8, 2], [0, 0], [5, 5], [0, 0], [2, 8], [1, 9]])
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    groups = np.array([0, 0, 0, 1, 1, 1])
    full = ao.Problem.from_table(truth, groups, positions=x)
    kept = truth.sum(axis=1) > 0
    short = ao.Problem.from_table(truth[kept], groups[kept], positions=x[kept])
    table = Smooth().reconstruct(full).table
    assert not table[~kept].any()
    assert np.allclose(table[kept], Smooth().reconstruct(short).table)


@pytest.mark.parametrize("histogram", [True, False])
def test_the_order_of_rows_and_labels_does_not_matter(histogram: bool) -> None:
    rng = np.random.default_rng(3)
    truth = rng.poisson(6.0, size=(12, 3))
    index = pd.Index(np.arange(12) ** 2, name="age")
    views = [np.arange(12) // 4, (np.arange(12) + 2) // 4]
    first = ao.Problem.from_table(pd.DataFrame(truth, index=index), views, histogram=histogram)
    rows, labels = rng.permutation(12), rng.permutation(3)
    shuffled = pd.DataFrame(truth, index=index).iloc[rows, labels]
    second = ao.Problem.from_table(shuffled, [view[rows] for view in views], histogram=histogram)
    expected = Smooth(order=2).reconstruct(first).table
    found = Smooth(order=2).reconstruct(second).table
    assert np.allclose(found.loc[expected.index, expected.columns], expected, atol=1e-7)


def test_more_records_or_other_units_of_the_positions_change_nothing_else() -> None:
    rng = np.random.default_rng(4)
    truth = rng.poisson(6.0, size=(15, 2))
    groups, x = np.arange(15) // 5, np.sort(rng.random(15))
    table = Smooth().reconstruct(ao.Problem.from_table(truth, groups, positions=x)).table
    more = Smooth().reconstruct(ao.Problem.from_table(truth * 1000.0, groups, positions=x)).table
    other = Smooth().reconstruct(ao.Problem.from_table(truth, groups, positions=40 + 1e4 * x)).table
    mirrored = ao.Problem.from_table(truth[::-1], groups[::-1], positions=-x[::-1])
    assert np.allclose(more, 1000 * table)
    assert np.allclose(other, table)
    assert np.allclose(Smooth().reconstruct(mirrored).table, table[::-1])


def test_ranks_are_positions_one_step_apart() -> None:
    truth = np.random.default_rng(0).poisson(9.0, size=(10, 2))
    groups = np.arange(10) // 5
    wide = ao.Problem.from_table(truth, groups, positions=2.0 ** np.arange(10))
    even = ao.Problem.from_table(truth, groups, positions=np.arange(10))
    ranked = Smooth(positions="ranks").reconstruct(wide).table
    assert np.allclose(ranked, Smooth().reconstruct(even).table)
    assert not np.allclose(ranked, Smooth().reconstruct(wide).table, atol=0.1)


def test_the_entropy_term_leads_from_the_smoothest_table_to_that_of_maximum_entropy() -> None:
    truth = np.random.default_rng(1).poisson(9.0, size=(12, 3))
    problem = ao.Problem.from_table(truth, np.arange(12) // 4, positions=np.arange(12))
    entropy = ao.get_reconstructor("ipf").reconstruct(problem).table
    far = [
        np.abs(Smooth(entropy=weight).reconstruct(problem).table - entropy).max()
        for weight in (0.0, 1e2, 1e4, 1e7)
    ]
    assert far == sorted(far, reverse=True)
    assert far[0] > 0.1
    assert far[-1] < 1e-3


def test_equally_smooth_tables_are_decided_by_maximum_entropy() -> None:
    """One group, second differences: every line through the mean is smooth, the flat one is chosen."""
    truth = np.array([[9, 1], [7, 3], [5, 5], [2, 8]])
    problem = ao.Problem.from_table(truth, [0, 0, 0, 0], positions=[1, 2, 3, 4])
    result = Smooth(order=2).reconstruct(problem)
    assert result.status is ao.Status.OPTIMAL
    assert np.allclose(result.table, ao.reconstruct(problem).table, atol=1e-6)


def test_a_value_without_a_place_keeps_what_maximum_entropy_gives_it() -> None:
    truth = np.array([[9, 1], [7, 3], [5, 5], [2, 8], [6, 1]])
    problem = ao.Problem.from_table(truth, [0, 0, 1, 1, 1], positions=[1, 2, 3, 4, np.nan])
    entropy, smooth = ao.reconstruct(problem).table, Smooth().reconstruct(problem).table
    assert np.allclose(smooth[4], entropy[4])
    assert not np.allclose(smooth[:4], entropy[:4], atol=0.1)
    assert problem.residual(smooth) < 1e-9


@pytest.mark.parametrize(
    ("positions", "said"),
    [(None, "nominal"), ([1.0, 2.0, np.nan, np.nan], "fewer than three"), ([np.nan] * 4, "fewer than three")],
)
def test_without_an_order_it_is_the_table_of_maximum_entropy_and_says_so(
    positions: list[float] | None, said: str
) -> None:
    truth = np.array([[9, 1], [7, 3], [5, 5], [2, 8]])
    problem = ao.Problem.from_table(truth, [0, 0, 0, 1], positions=positions)
    for solver in ("smooth", "auto"):
        result = ao.get_reconstructor(solver).reconstruct(problem)
        assert result.choice == "maximum entropy"
        assert result.norm == "kl"
        assert np.allclose(result.table, ao.reconstruct(problem).table)
    with pytest.warns(UserWarning, match=said):
        ao.reconstruct(problem, "smooth")


def test_two_values_have_nothing_to_be_smooth_between() -> None:
    problem = ao.Problem.from_table([[9, 1], [2, 8]], [0, 0], positions=[0, 1])
    result = Smooth().reconstruct(problem)
    assert "fewer than three values" in result.warning
    assert np.allclose(result.table, ao.reconstruct(problem).table)


def test_a_view_that_keeps_every_value_leaves_nothing_to_solve() -> None:
    truth = np.random.default_rng(2).poisson(5.0, size=(9, 3))
    result = Smooth().reconstruct(ao.Problem.from_table(truth, np.arange(9), positions=np.arange(9)))
    assert np.array_equal(result.table, truth)
    assert result.method == "elimination"


def test_neighbours_a_millionth_apart_are_no_trouble() -> None:
    rng = np.random.default_rng(7)
    x = np.cumsum(10.0 ** rng.uniform(-6, 0, 200))
    truth = rng.poisson(4.0, size=(200, 2)) + np.array([1, 0])
    for order in (1, 2):
        result = Smooth(order=order).reconstruct(
            ao.Problem.from_table(truth, np.arange(200) // 25, positions=x)
        )
        assert result.status is ao.Status.OPTIMAL


def test_a_time_limit_returns_a_table_that_meets_the_totals() -> None:
    rng = np.random.default_rng(8)
    truth = rng.poisson(rng.gamma(0.3, 5.0, size=(3000, 4)))
    truth[:, 0] += 1
    problem = ao.Problem.from_table(truth, np.arange(3000) // 300, positions=np.arange(3000))
    start = time.monotonic()
    result = Smooth(order=2, time_limit=1e-3).reconstruct(problem)
    assert time.monotonic() - start < 2
    assert result.status is ao.Status.TIME_LIMIT
    assert result.residual < 1e-6
    assert result.gap is not None
    assert result.gap > 1e-6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": 0}, "order"),
        ({"order": 4}, "order"),
        ({"order": (1, 1)}, "each once"),
        ({"order": ()}, "each once"),
        ({"order": "2"}, "order"),
        ({"order": (1, 2), "weights": (1.0,)}, "1 weights for 2 orders"),
        ({"order": (1, 2), "weights": (1.0, -1.0)}, "weights"),
        ({"entropy": -1.0}, "entropy"),
        ({"entropy": float("nan")}, "entropy"),
        ({"positions": "middle"}, "values"),
        ({"time_limit": 0}, "time_limit"),
        ({"norm": "l2"}, "no option 'norm'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=said):
        ao.get_reconstructor("smooth", **options)


def test_lists_are_taken_as_the_command_line_gives_them() -> None:
    solver = ao.get_reconstructor("smooth", order=[1, 2], weights=[100, 1])
    assert solver == Smooth(order=(1, 2), weights=(100, 1))
    assert len({solver, solver}) == 1
    assert solver.distance_norm == "roughness=100x1+2"


def test_the_convex_solver_finds_the_same_table() -> None:
    rng = np.random.default_rng(9)
    for order in (1, 2):
        truth = rng.poisson(6.0, size=(10, 3))
        views = [np.arange(10) // 5, (np.arange(10) + 2) // 5]
        problem = ao.Problem.from_table(truth, views, positions=np.sort(rng.random(10)))
        smooth = Smooth(order=order).reconstruct(problem)
        convex = ao.reconstruct(problem, "convex", norm=f"roughness={order}")
        assert convex.norm == smooth.norm
        assert convex.objective == pytest.approx(smooth.objective, rel=1e-6)
        assert np.allclose(convex.table, smooth.table, atol=1e-4)


def test_a_step_that_takes_too_long_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock was looked at between the steps only."""
    truth = np.random.default_rng(0).integers(1, 9, (12, 2))
    problem = ao.Problem.from_table(truth, np.arange(12) // 4, positions=np.arange(12))
    released = threading.Event()
    monkeypatch.setattr(Smooth, "_smoothest", lambda *_: released.wait(60))
    result = Smooth(time_limit=0.01).reconstruct(problem)
    released.set()
    assert result.status is ao.Status.TIME_LIMIT
    assert result.gap is None
    assert np.array_equal(result.table, ao.reconstruct(problem).table)
