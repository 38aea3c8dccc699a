"""Roughness: its formula, and what it is bound to."""

from __future__ import annotations

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt.distances import Roughness, Weighted, get_distance
from aegis_opt.distances._roughness import differences


def test_first_and_second_order_are_the_written_formulas() -> None:
    rng = np.random.default_rng(0)
    x, p = np.sort(rng.random(9)) * 40, rng.random(9)
    unit = (x - x[0]) / (x[-1] - x[0])
    h = np.diff(unit)
    d = np.diff(p) / h
    written = {
        1: (np.diff(p) ** 2 / h).sum(),
        2: (np.diff(d) ** 2 / ((h[1:] + h[:-1]) / 2)).sum(),
    }
    for order, expected in written.items():
        D, weights = differences(x, order)
        assert weights @ (D @ p) ** 2 == pytest.approx(expected)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_polynomial_of_lower_degree_is_not_rough(order: int) -> None:
    x = np.sort(np.random.default_rng(1).random(12))
    D, weights = differences(np.arange(12.0), order)
    assert weights @ (D @ np.arange(12.0) ** (order - 1)) ** 2 == pytest.approx(0, abs=1e-9)
    D, weights = differences(x, order)
    assert weights @ (D @ np.ones(12)) ** 2 == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_many_values_tell_the_integral_of_the_squared_derivative(order: int) -> None:
    x = np.sort(np.random.default_rng(2).random(4000))
    x[0], x[-1] = 0.0, 1.0
    D, weights = differences(np.linspace(0, 1, 2001), order)
    wave = np.sin(2 * np.pi * np.linspace(0, 1, 2001))
    assert weights @ (D @ wave) ** 2 == pytest.approx(Roughness(order).of_a_wave, rel=1e-2)


def test_it_is_bound_to_histogram_and_positions() -> None:
    truth = np.array([[4, 0], [1, 1], [2, 6]])
    problem = ao.Problem.from_table(truth, [0, 0, 1], positions=[0.0, 1.0, 4.0])
    p = truth[:, 0] / truth.sum(axis=1)
    expected = 2 * ((p[1] - p[0]) ** 2 / 0.25 + (p[2] - p[1]) ** 2 / 0.75)
    assert get_distance("roughness").for_problem(problem).value(truth, truth) == pytest.approx(expected)
    without = ao.Problem.from_table(truth, [0, 0, 1], histogram=False, positions=[0.0, 1.0, 4.0])
    q = truth / (14 / 3)
    expected = ((q[1] - q[0]) ** 2 / 0.25 + (q[2] - q[1]) ** 2 / 0.75).sum()
    assert get_distance("roughness").for_problem(without).value(truth, truth) == pytest.approx(expected)


def test_names_tell_orders_and_weights() -> None:
    assert get_distance("roughness=2").name == "roughness=2"
    assert Roughness((1, 2), (100, 1)).name == "roughness=100x1+2"
    assert Roughness(positions="ranks").name == "roughness of ranks"
    assert Roughness(2) == get_distance("roughness=2") != get_distance("roughness")
    with pytest.raises(ao.errors.InvalidOption, match="order"):
        get_distance("roughness=1.5")
    with pytest.raises(ao.errors.InvalidOption, match="takes no weights"):
        Weighted("roughness", [[1.0]])
