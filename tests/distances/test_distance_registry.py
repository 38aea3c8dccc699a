"""Distances by name, and what a distance of one's own must keep to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt import _plugins
from aegis_opt.distances import (
    L2,
    Distance,
    Lp,
    SeparableDistance,
    available_distances,
    get_distance,
    register_distance,
)
from aegis_opt.distances import _registry as registry


class Halved(L2):
    """Half of the squares: a distance as someone else would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "halved"
        self.degree: float | None = 2.0

    def of_sum(self, total: Any) -> Any:
        return total / 2


class Concave(Halved):
    def cost(self, x: Any, u: Any) -> Any:
        return np.sqrt(np.abs(x - u))


class WrongDerivative(Halved):
    def derivative(self, x: Any, u: Any) -> Any:
        return x - u


class WrongInverse(Halved):
    def inverse(self, slope: Any, u: Any) -> Any:
        return np.maximum(u + slope, 0.0)


class WrongDegree(Halved):
    def __init__(self) -> None:
        super().__init__()
        self.degree = 1.0


class NotStrict(Halved):
    def __init__(self) -> None:
        super().__init__()
        self.degree = None

    def cost(self, x: Any, u: Any) -> Any:
        return np.maximum(np.abs(x - u) - 1.0, 0.0)

    def derivative(self, x: Any, u: Any) -> Any:
        return np.sign(x - u) * (np.abs(x - u) > 1)

    def inverse(self, slope: Any, u: Any) -> Any:
        return np.where(slope > 1, np.inf, np.where(slope < -1, 0.0, np.maximum(u + np.sign(slope), 0.0)))


class InfiniteAtZero(Halved):
    finite_at_zero = False


class NotAtPrior(Halved):
    def cost(self, x: Any, u: Any) -> Any:
        return (x - u) ** 2 + 1.0


class ConcaveTable(Distance):
    name = "concave-table"

    def value(self, table: Any, prior: Any) -> float:
        return -float(np.abs(np.asarray(table) - prior).max())

    def expression(self, x: Any, u: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def untouched() -> Iterator[None]:
    before = dict(registry._DISTANCES)
    yield
    registry._DISTANCES.clear()
    registry._DISTANCES.update(before)
    registry._made.cache_clear()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Concave(), "'halved' is not convex"),
        (ConcaveTable(), "'concave-table' is not convex"),
        (WrongDerivative(), "`derivative` is not the derivative of `cost`"),
        (WrongInverse(), "`inverse` is not the inverse of `derivative`"),
        (WrongDegree(), "`degree` is another one"),
        (NotStrict(), "not strictly convex, as it says"),
        (InfiniteAtZero(), "`finite_at_zero` does not agree"),
        (NotAtPrior(), "at its prior is not 0"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Distance) else "",
)
def test_a_distance_that_is_not_what_it_says_is_refused_where_it_is_used(wrong: Distance, words: str) -> None:
    problem = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    for use in (get_distance, lambda norm: ao.reconstruct(problem, "convex", norm=norm)):
        with pytest.raises(ao.errors.InvalidInput, match=words):
            use(wrong)  # type: ignore[operator]


def test_names_carry_parameters() -> None:
    assert get_distance("lp=1.5") == Lp(1.5) == get_distance("lp=1.50")
    assert get_distance("huber=2").name == "huber=2"
    assert get_distance(L2()) == get_distance("l2")
    assert set(available_distances()) >= {"kl", "lp", "huber"}


@pytest.mark.parametrize(
    ("norm", "words"),
    [
        ("hellingr", "did you mean 'hellinger'"),
        ("lp=", "parameter p of the norm 'lp' must be a number, as in 'lp=1.5', not 'lp='"),
        ("lp=x", "not 'lp=x'"),
        ("lp=1", "for p = 1 use the norm 'l1'"),
        ("l2=3", "has no parameter: write 'l2', not 'l2=3'"),
        ("", "unknown norm ''"),
        (7, "unknown norm 7.*Give a name or a Distance"),
        (None, "unknown norm None"),
    ],
)
def test_a_name_that_means_nothing_is_refused(norm: Any, words: str) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=words):
        get_distance(norm)


@pytest.mark.usefixtures("untouched")
def test_a_registered_distance_is_known_by_its_name() -> None:
    register_distance("halved", Halved)
    problem = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    for solver in ("ipf", "convex", "integer"):
        found = ao.reconstruct(problem, solver, norm="halved")
        plain = ao.reconstruct(problem, solver, norm="l2")
        assert found.norm == "halved"
        assert found.optimal
        assert found.objective == pytest.approx(plain.objective**2 / 2)
        assert np.allclose(found.table, plain.table)
    with pytest.raises(ao.errors.InvalidInput, match="'halved' is taken"):
        register_distance("halved", Halved)


@pytest.mark.usefixtures("untouched")
def test_what_cannot_be_registered_is_told() -> None:
    with pytest.raises(ao.errors.InvalidInput, match="neither a Distance nor a class of them"):
        register_distance("three", 3)  # type: ignore[arg-type]
    with pytest.raises(ao.errors.InvalidInput, match="letters, digits"):
        register_distance("a b", Halved)
    with pytest.raises(ao.errors.InvalidInput, match="not convex"):
        register_distance("concave", Concave())
    register_distance("other", Halved)
    with pytest.raises(ao.AegisError, match="'other' calls itself 'halved'"):
        get_distance("other")


def test_a_broken_offer_of_another_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    group = registry.ENTRY_POINT_GROUP
    offers = [
        EntryPoint("missing", "no_such_module:Thing", group),
        EntryPoint("number", "math:pi", group),
        EntryPoint("twice", "math:pi", group),
        EntryPoint("twice", "math:e", group),
    ]
    monkeypatch.setattr(_plugins, "entry_points", lambda group: offers)
    monkeypatch.setattr(_plugins, "_listed", cache(_plugins._listed.__wrapped__))
    for name, words in [
        ("missing", "'no_such_module:Thing' cannot be loaded"),
        ("number", "neither a Distance nor a class"),
        ("twice", r"offered more than once \(math:pi, math:e\)"),
    ]:
        with pytest.raises(ao.AegisError, match=words):
            get_distance(name)
    assert "missing" in available_distances()


def test_flags_decide_which_solver_takes_what() -> None:
    from aegis_opt.solvers.base import solvers_for

    class Kinked(SeparableDistance):
        name = "kinked"

        def cost(self, x: Any, u: Any) -> Any:
            return np.abs(x - u) / u

        def derivative(self, x: Any, u: Any) -> Any:
            return np.sign(x - u) / u

        def inverse(self, slope: Any, u: Any) -> Any:
            return np.where(slope * u > 1, np.inf, np.where(slope * u < -1, 0.0, u))

        def cell_expression(self, x: Any, u: Any) -> Any:
            import cvxpy as cp

            return cp.multiply(1 / u, cp.abs(x - u))

    assert list(solvers_for(get_distance(Kinked()))) == ["convex", "integer"]
    prior = [[2.0, 1.0], [1.0, 3.0], [1.0, 1.0]]
    problem = ao.Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1], prior=prior)
    continuous = ao.reconstruct(problem, "convex", norm=Kinked())
    exact = ao.reconstruct(problem, "integer", norm=Kinked())
    assert continuous.optimal
    assert exact.optimal
    assert continuous.objective <= exact.objective + 1e-9
    same = ao.reconstruct(problem, "convex", norm=ao.distances.Weighted("l1", 1 / np.array(prior)))
    assert continuous.objective == pytest.approx(same.objective)
