"""Every distance in every solver that takes it, against models that share no code with the library.

Continuous tables: a plain cvxpy model of the full problem, many problems side by side. Whole tables: all of
them, enumerated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt.distances import Distance, Weighted, get_distance
from aegis_opt.problem import _support
from aegis_opt.solvers.registry import solver_class

FORMULAS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    # what a cell adds: in numpy, and in cvxpy
    "kl": (
        lambda x, u: np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / u), 0) - x + u,
        lambda x, u: _cvxpy().rel_entr(x, u) - x + u,
    ),
    "reverse_kl": (
        lambda x, u: u * np.log(u / x) - u + x,
        lambda x, u: _cvxpy().multiply(u, np.log(u) - _cvxpy().log(x)) - u + x,
    ),
    "chi2": (lambda x, u: (x - u) ** 2 / u, lambda x, u: _cvxpy().multiply(1 / u, (x - u) ** 2)),
    "neyman": (
        lambda x, u: (x - u) ** 2 / x,
        lambda x, u: x - 2 * u + _cvxpy().multiply(u**2, _cvxpy().inv_pos(x)),
    ),
    "hellinger": (
        lambda x, u: (np.sqrt(x) - np.sqrt(u)) ** 2,
        lambda x, u: x + u - 2 * _cvxpy().multiply(np.sqrt(u), _cvxpy().sqrt(x)),
    ),
    "l1": (lambda x, u: abs(x - u), lambda x, u: _cvxpy().abs(x - u)),
    "l2": (lambda x, u: (x - u) ** 2, lambda x, u: (x - u) ** 2),
    "lp=1.5": (lambda x, u: abs(x - u) ** 1.5, lambda x, u: _cvxpy().power(_cvxpy().abs(x - u), 1.5)),
    "lp=3": (lambda x, u: abs(x - u) ** 3, lambda x, u: _cvxpy().power(_cvxpy().abs(x - u), 3)),
    "huber=2": (
        lambda x, u: np.where(abs(x - u) <= 2, (x - u) ** 2 / 2, 2 * (abs(x - u) - 1)),
        lambda x, u: _cvxpy().huber(x - u, 2) / 2,
    ),
}
POWERS = {"l2": 2.0, "lp=1.5": 1.5, "lp=3": 3.0}
N_PROBLEMS = 50


def _cvxpy() -> Any:
    import cvxpy

    return cvxpy


def _problem(rng: np.random.Generator, *, rows: int, largest: int, least: int) -> ao.Problem:
    """Up to three random views, perhaps with a histogram and a prior, of counts from `least` up."""
    n, k = int(rng.integers(2, rows + 1)), int(rng.integers(2, 4))
    truth = rng.integers(least, largest + 1, size=(n, k))
    truth[0, 0] += 1
    views = [rng.integers(0, max(2, n // 2), size=n) for _ in range(rng.integers(1, 4))]
    views = [np.unique(view, return_inverse=True)[1] for view in views]
    prior = None if rng.random() < 0.5 else rng.gamma(1.0, 5.0, size=(n, k)) + 0.1
    return ao.Problem.from_table(truth, views, histogram=bool(rng.random() < 0.5), prior=prior)


def _weights(problem: ao.Problem, rng: np.random.Generator) -> np.ndarray:
    return rng.gamma(2.0, 1.0, size=problem.shape) + 0.1


def _equations(problem: ao.Problem) -> tuple[np.ndarray, np.ndarray]:
    """All totals of a problem, by its views and histogram."""
    n, k = problem.shape
    rows, totals = [], []
    for view in problem.views:
        for g, y in np.ndindex(view.joint.shape):
            rows.append(((view.groups == g)[:, None] & (np.arange(k) == y)).ravel())
            totals.append(view.joint[g, y])
    if problem.histogram is not None:
        for a in range(n):
            rows.append(np.repeat(np.arange(n) == a, k))
            totals.append(problem.histogram[a])
    return np.array(rows, dtype=float), np.array(totals)


def _least(problems: list[ao.Problem], norm: str, weights: list[np.ndarray]) -> list[float]:
    """Least distance of each problem whose cells may all be positive, from one cvxpy program for all."""
    import cvxpy as cp

    parts, constraints, values = [], [], []
    for problem, w in zip(problems, weights, strict=True):
        A, b = _equations(problem)
        unit = problem.total / A.shape[1]
        t = cp.Variable(A.shape[1], nonneg=True)
        constraints.append(A @ t == b / unit)
        u = problem.prior.ravel()
        if norm == "linf":
            values.append(cp.max(cp.multiply(w.ravel(), cp.abs(unit * t - u))))
            parts.append(values[-1] / unit)
        else:
            values.append(cp.sum(cp.multiply(w.ravel(), FORMULAS[norm][1](unit * t, u))))
            parts.append(values[-1] / unit ** POWERS.get(norm, 1.0))
    program = cp.Problem(cp.Minimize(cp.sum(cp.hstack(parts))), constraints)
    program.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return [max(float(value.value), 0.0) ** (1 / POWERS.get(norm, 1.0)) for value in values]


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # it stops at 1e-10 or as close as it can
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("norm", [*FORMULAS, "linf"])
def test_continuous_tables_are_as_close_as_those_of_a_plain_model(norm: str, weighted: bool) -> None:
    rng = np.random.default_rng([ord(letter) for letter in norm])
    problems = [
        _problem(rng, rows=7, largest=15, least=1) for _ in range(N_PROBLEMS // (5 if weighted else 1))
    ]
    weights = [_weights(p, rng) if weighted else np.ones(p.shape) for p in problems]
    least = _least(problems, norm, weights)
    for solver in ("ipf", "convex"):
        if not solver_class(solver).takes(get_distance(norm)):
            continue
        if weighted:
            results = [
                ao.reconstruct(p, solver, norm=Weighted(norm, w))
                for p, w in zip(problems, weights, strict=True)
            ]
        else:
            results = ao.get_reconstructor(solver, norm=norm).reconstruct_many(problems)
        for result, best in zip(results, least, strict=True):
            assert result.status is ao.Status.OPTIMAL, result
            assert result.residual < 1e-8
            assert result.objective == pytest.approx(best, rel=1e-6, abs=1e-6)


def _whole_tables(problem: ao.Problem) -> np.ndarray:
    A, b = _equations(problem)
    most = [int(b[A[:, cell] > 0].min()) for cell in range(A.shape[1])]
    every = np.array(list(itertools.product(*(range(m + 1) for m in most))), dtype=float)
    return every[(every @ A.T == b).all(axis=1)]


@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
@pytest.mark.parametrize(
    "norm", [*(name for name in FORMULAS if name not in ("reverse_kl", "neyman")), "linf"]
)
def test_whole_tables_are_the_closest_of_all(norm: str, engine: str) -> None:
    rng = np.random.default_rng([ord(letter) for letter in norm])
    tried = 0
    while tried < (N_PROBLEMS if engine == "auto" else 8):
        problem = _problem(rng, rows=3, largest=2, least=0)
        if problem.shape[0] * problem.shape[1] > 6:
            continue
        tried += 1
        tables, u = _whole_tables(problem), problem.prior.ravel()
        distance: str | Distance = norm
        w = np.ones(len(u))
        if norm == "linf":
            distances = abs(tables - u).max(axis=1)
        else:
            if tried % 3 == 0:
                w = _weights(problem, rng).ravel()
                distance = Weighted(norm, w.reshape(problem.shape))
            distances = (w * FORMULAS[norm][0](tables, u)).sum(axis=1) ** (1 / POWERS.get(norm, 1.0))
        result = ao.reconstruct(problem, "integer", norm=distance, engine=engine)
        assert result.status is ao.Status.OPTIMAL, result
        assert result.gap is not None
        assert result.gap <= 1e-6
        assert result.objective == pytest.approx(distances.min(), rel=1e-9, abs=1e-9)
        # of the closest, one of least l2
        closest = tables[distances <= distances.min() * (1 + 1e-9) + 1e-12]
        least = ((closest - u) ** 2).sum(axis=1).min()
        assert ((result.table.ravel() - u) ** 2).sum() == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("norm", ["kl", "chi2", "hellinger", "lp=1.5", "lp=3", "huber=100"])
def test_wide_cells_are_solved_by_cutting_costs_finer(norm: str) -> None:
    """Cells of thousands of records: few arcs at first, exact ones around the optimum at last."""
    truth = np.random.default_rng(2).gamma(0.5, 3000.0, size=(8, 3)).round()
    problem = ao.Problem.from_table(truth, [0, 0, 0, 1, 1, 1, 2, 2])
    exact = ao.reconstruct(problem, "integer", norm=norm)
    fractional = ao.reconstruct(problem, "convex", norm=norm)
    assert exact.status is ao.Status.OPTIMAL
    assert exact.method == "flow"
    assert fractional.objective <= exact.objective * (1 + 1e-7)
    assert exact.objective <= fractional.objective * (1 + 1e-4)


def test_cells_that_no_table_can_fill_do_not_count_where_0_is_infinitely_far() -> None:
    """Of three views, two together empty a cell that no total of 0 empties."""
    problem = ao.Problem(
        [ao.View([0, 0, 1], [[2, 1], [1, 1]]), ao.View([0, 1, 1], [[2, 0], [1, 2]])], histogram=[2, 1, 2]
    )
    support = problem.support
    assert support.tolist() == [[True, False], [False, True], [True, True]]
    for norm, cost in (("reverse_kl", FORMULAS["reverse_kl"][0]), ("neyman", FORMULAS["neyman"][0])):
        for solver in ("ipf", "convex"):
            result = ao.reconstruct(problem, solver, norm=norm)
            assert result.status is ao.Status.OPTIMAL
            x, u = np.asarray(result.table)[support], problem.prior[support]
            assert result.objective == pytest.approx(cost(x, u).sum())
        rounded = ao.reconstruct(problem, "ipf", norm=norm, rounding="controlled")
        assert rounded.residual == 0
        with pytest.raises(ao.errors.InvalidOption, match=f"cannot minimise the norm '{norm}'"):
            ao.reconstruct(problem, "integer", norm=norm)


def test_where_cp_sat_would_take_too_many_parts_the_way_out_is_told() -> None:
    truth = 1000 * np.array([[30_000, 1], [2, 20_000], [5_000, 7]])
    problem = ao.Problem.from_table(truth, [[0, 0, 1], [0, 1, 1], [0, 1, 0]])
    with pytest.raises(ao.errors.InvalidOption, match=r"'hellinger' needs \d+ costs.*'convex' with rounding"):
        ao.reconstruct(problem, "integer", norm="hellinger", engine="cp-sat")


def test_weights_of_another_shape_are_refused_by_every_solver() -> None:
    problem = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    for solver in ("ipf", "convex", "integer"):
        with pytest.raises(ao.errors.InvalidInput, match=r"shape \(2, 2\), the table of \(3, 2\)"):
            ao.reconstruct(problem, solver, norm=Weighted("l2", np.ones((2, 2))))


def test_rows_of_different_weights_are_not_solved_as_one() -> None:
    problem = ao.Problem.from_table([[4, 0], [2, 2]], [0, 0], histogram=False)
    heavy = Weighted("l2", [[1.0, 1.0], [3.0, 3.0]])
    for solver in ("ipf", "convex"):
        table = np.asarray(ao.reconstruct(problem, solver, norm=heavy).table)
        # totals 6 and 2, prior 2: differences are shared 3 to 1
        assert table == pytest.approx(np.array([[3.5, 0.5], [2.5, 1.5]]))


class Steepness(Distance):
    """Sum of squared differences of neighbouring rows' deviations: no sum over cells, order matters."""

    name = "steepness"
    smooth = True
    program = "quadratic"

    def value(self, table: Any, prior: Any) -> float:
        return float((np.diff(np.asarray(table) - prior, axis=0) ** 2).sum())

    def expression(self, x: Any, u: Any) -> Any:
        cp = _cvxpy()
        return cp.sum_squares(cp.diff(x - u, axis=0))


class RowNorms(Distance):
    """Sum of the lengths of the rows' deviations: no sum over cells, but rows may be exchanged."""

    name = "row-norms"
    symmetric = True

    def value(self, table: Any, prior: Any) -> float:
        return float(np.linalg.norm(np.asarray(table) - prior, axis=1).sum())

    def expression(self, x: Any, u: Any) -> Any:
        cp = _cvxpy()
        return cp.sum(cp.norm(x - u, 2, axis=1))


@pytest.mark.parametrize("distance", [Steepness(), RowNorms()], ids=str)
def test_a_distance_of_the_whole_table_is_minimised_and_certified(distance: Distance) -> None:
    import cvxpy as cp

    rng = np.random.default_rng(8)
    problems = [_problem(rng, rows=7, largest=15, least=1) for _ in range(8)]
    for problem, result in zip(
        problems, ao.get_reconstructor("convex", norm=distance).reconstruct_many(problems), strict=True
    ):
        A, b = _equations(problem)
        x = cp.Variable(problem.shape, nonneg=True)
        program = cp.Problem(
            cp.Minimize(distance.expression(x, problem.prior)), [A @ cp.vec(x, order="C") == b]
        )
        least = program.solve(solver="CLARABEL")
        assert result.objective == pytest.approx(least, rel=1e-5, abs=1e-5)
        assert result.residual < 1e-8
        assert result.gap is not None
        # a kink at the optimum has many tangents, and not every one proves it
        assert result.gap < (1e-5 if distance.smooth else 1.0)
        assert result.optimal == (result.gap <= 1e-6)
    with pytest.raises(ao.errors.InvalidOption, match="solvers that can: convex"):
        ao.reconstruct(problem, "integer", norm=distance)


@pytest.mark.parametrize("norm", ["hellinger", "neyman", "reverse_kl"])
def test_without_time_to_find_empty_cells_the_others_count_as_possible(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = [ao.View([0, 0, 1], [[2, 1], [1, 1]]), ao.View([0, 1, 1], [[2, 0], [1, 2]])]
    problem = ao.Problem(views, histogram=[2, 1, 2])
    hurried = ao.reconstruct(problem, "ipf", norm=norm, time_limit=1e-9)
    assert not hurried.optimal  # nor is it an error
    assert problem.support.sum() == 4  # which no time limit of a solver changes
    monkeypatch.setattr(_support, "SUPPORT_SECONDS", 0.0)
    other = ao.Problem(views, histogram=[2, 1, 2])
    assert other.support.sum() == 5
    assert ao.reconstruct(other, "ipf", norm=norm, max_iterations=100).residual < 0.1


def test_noisy_views_beside_exact_ones_keep_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_support, "SUPPORT_SECONDS", 0.0)
    channel = np.full((3, 3), 0.25) + np.eye(3) / 4
    problem = ao.Problem(
        [ao.View([0, 0, 1], [[2, 1], [1, 1]]), ao.View(joint=[[1, 1], [1, 0], [1, 1]], channel=channel)],
        histogram=[2, 1, 2],
    )
    for solver in ("ipf", "convex"):
        assert ao.reconstruct(problem, solver, time_limit=30.0).residual < 1e-6
