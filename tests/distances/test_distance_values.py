"""What each distance is: its formula, its derivative, and what solvers take from them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.distances import (
    L2,
    NORMS,
    Distance,
    Huber,
    Lp,
    SeparableDistance,
    Weighted,
    distance,
    get_distance,
)
from aegis_opt.distances._cells import CellCosts

SEPARABLE = [*(name for name in NORMS if get_distance(name).separable), "lp=1.1", "lp=4", "huber=7"]
X, U = np.array([[3.0, 0.5], [1.0, 4.0]]), np.array([[2.0, 2.0], [1.0, 0.5]])
EXPECTED = {
    "kl": sum(x * np.log(x / u) - x + u for x, u in zip(X.flat, U.flat, strict=True)),
    "reverse_kl": sum(u * np.log(u / x) - u + x for x, u in zip(X.flat, U.flat, strict=True)),
    "chi2": sum((x - u) ** 2 / u for x, u in zip(X.flat, U.flat, strict=True)),
    "neyman": sum((x - u) ** 2 / x for x, u in zip(X.flat, U.flat, strict=True)),
    "hellinger": sum((x**0.5 - u**0.5) ** 2 for x, u in zip(X.flat, U.flat, strict=True)),
    "l1": 1 + 1.5 + 3.5,
    "l2": (1 + 1.5**2 + 3.5**2) ** 0.5,
    "linf": 3.5,
    "lp=3": (1 + 1.5**3 + 3.5**3) ** (1 / 3),
    "huber=1.2": 0.5 + 1.2 * (1.5 - 0.6) + 1.2 * (3.5 - 0.6),
}


@pytest.mark.parametrize("norm", EXPECTED)
def test_the_value_is_that_of_the_formula(norm: str) -> None:
    assert distance(X, U, norm) == pytest.approx(EXPECTED[norm])
    assert distance(U, U, norm) == 0


def test_every_distance_of_the_package_has_an_expected_value() -> None:
    assert {name.partition("=")[0] for name in EXPECTED} == set(NORMS) - {
        "roughness"
    }  # see test_roughness.py


@pytest.mark.parametrize("norm", NORMS)
def test_a_cell_of_0_is_infinitely_far_or_not_as_the_distance_says(norm: str) -> None:
    found = get_distance(norm)
    assert np.isfinite(found.value([[0.0, 2.0]], [[1.0, 1.0]])) == found.finite_at_zero
    assert found.value([[0.0, 1.0]], [[0.0, 1.0]]) == 0  # a structural zero costs nothing


@given(
    st.sampled_from(SEPARABLE),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.floats(-3.0, 3.0),
)
def test_cost_derivative_inverse_conjugate_and_step_belong_together(
    norm: str, x: float, u: float, slope: float
) -> None:
    found = get_distance(norm)
    assert isinstance(found, SeparableDistance)
    at, prior, slopes = np.array([x]), np.array([u]), np.array([slope])
    h = 1e-5 * min(x, 1.0)
    numeric = (found.cost(at + h, prior) - found.cost(at - h, prior)) / (2 * h)
    if abs(x - u) > 2 * h and abs(abs(x - u) - getattr(found, "delta", np.inf)) > 2 * h:  # no kink
        assert found.derivative(at, prior) == pytest.approx(numeric, rel=1e-4, abs=1e-4)
    best = found.inverse(slopes, prior)
    assert (best >= 0).all()
    conjugate = found.conjugate(slopes, prior)
    # Fenchel's inequality, with equality at the inverse
    assert conjugate[0] >= slope * x - found.cost(at, prior)[0] - 1e-9 * (1 + abs(slope) * x + u)
    if np.isfinite(best).all():
        reached = slope * best - found.cost(best, prior)
        assert conjugate == pytest.approx(reached, rel=1e-9, abs=1e-9 * (1 + u + best[0]))
    if found.finite_at_zero:
        b = np.floor(at)
        step = found.cost(b + 1, prior) - found.cost(b, prior)
        assert found.step(b, prior) == pytest.approx(step, rel=1e-7, abs=1e-7 * (1 + step[0] ** 2))


@pytest.mark.parametrize("norm", SEPARABLE)
def test_m_rows_cost_m_times_one_row_and_units_change_nothing_else(norm: str) -> None:
    rng = np.random.default_rng(0)
    found = get_distance(norm)
    assert isinstance(found, SeparableDistance)
    u, x = rng.gamma(2.0, 3.0, size=(2, 40))
    plain = CellCosts(found, u, np.ones(40))
    several = CellCosts(found, u, np.full(40, 5.0), weights=2.0, scale=3.0, unit=7.0)
    assert several.cost(5 * x / 3) == pytest.approx(10 * plain.cost(x) / 7)
    slopes = several.derivative(5 * x / 3)
    if found.strictly_convex:
        assert several.inverse(slopes) == pytest.approx(5 * x / 3, rel=1e-6)
    assert several.conjugate(slopes) == pytest.approx(slopes * (5 * x / 3) - several.cost(5 * x / 3))


@pytest.mark.parametrize("norm", [norm for norm in NORMS if norm != "roughness"])
def test_weights_multiply_the_cost_of_each_cell(norm: str) -> None:
    found, weights = get_distance(norm), np.array([[1.0, 2.0], [3.0, 4.0]])
    weighted = Weighted(norm, weights)
    if isinstance(found, SeparableDistance):
        expected = float(found.of_sum((weights * found.cost(X, U)).sum()))
    else:
        expected = float((weights * abs(X - U)).max())
    assert weighted.value(X, U) == pytest.approx(expected)
    assert Weighted(norm, np.ones((2, 2))).value(X, U) == pytest.approx(found.value(X, U))
    assert Weighted(norm, [1.0, 2.0]).value(X, U) == Weighted(norm, [[1, 2], [1, 2]]).value(X, U)
    flags = ("separable", "strictly_convex", "smooth", "finite_at_zero", "symmetric", "program")
    assert all(getattr(weighted, flag) == getattr(found, flag) for flag in flags)


def test_distances_are_equal_where_their_parameters_are_and_survive_pickling() -> None:
    some: list[Distance] = [Lp(1.5), Lp(3), L2(), Huber(2), Weighted("l2", [1, 2]), Weighted("l2", [1, 3])]
    assert len({*some, Lp(1.5), Huber(2.0), Weighted("l2", [1.0, 2.0])}) == len(some)
    for found in some:
        assert pickle.loads(pickle.dumps(found)) == found
    assert Weighted("l2", [1, 2]).name != Weighted("l2", [1, 3]).name
    assert Weighted("l2", [1, 2], name="mine").name == "mine"
    assert Lp(2).name == "lp=2" != L2().name == "l2"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Lp(1), "above 1, not 1: for p = 1 use the norm 'l1'"),
        (lambda: Lp(0.5), "above 1"),
        (lambda: Lp(float("nan")), "p must be a number"),
        (lambda: Huber(0), "delta must be a positive number of records, not 0"),
        (lambda: Weighted("l2", [1, -1]), "weights must be positive numbers, not -1"),
        (lambda: Weighted("l2", [1, 0]), "not 0: a cell of weight 0 could hold anything"),
        (lambda: Weighted("l2", [1, np.nan]), "weights must be positive numbers, not nan"),
        (lambda: Weighted("l2", [1, np.inf]), "weights must be positive numbers, not inf"),
        (lambda: Weighted("l2", "heavy"), "weights must be an array of numbers"),
        (lambda: Weighted("l2", 2.0), "one or two axes"),
        (lambda: Weighted("l3", [1, 2]), "unknown norm 'l3'"),
        (lambda: Weighted(Weighted("l2", [1, 2]), [1, 2]), "takes no weights"),
        (lambda: Weighted("l2", [1, 2, 3]).value(X, U), r"of shape \(3,\), the table of \(2, 2\)"),
    ],
)
def test_wrong_parameters_and_weights_are_refused(make: object, words: str) -> None:
    with pytest.raises(ao.errors.InvalidInput, match=words):
        make()  # type: ignore[operator]
