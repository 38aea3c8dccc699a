"""The correlation ratio: its definition on records, merging, large numbers, tables that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.measures import available_measures, correlation_ratio


def moments(groups: np.ndarray, y: np.ndarray) -> np.ndarray:
    n = int(groups.max()) + 1
    return np.stack([np.bincount(groups, weights, minlength=n) for weights in (None, y, y * y)], axis=1)


def by_definition(groups: np.ndarray, y: np.ndarray) -> float:
    means = np.array([y[groups == g].mean() for g in groups])
    return float(np.sum((means - y.mean()) ** 2) / np.sum((y - y.mean()) ** 2))


def test_it_is_the_variance_between_groups_over_that_of_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        groups = np.unique(rng.integers(0, 7, 60), return_inverse=True)[1]
        y = rng.normal(size=60) + groups
        assert correlation_ratio(moments(groups, y)) == pytest.approx(by_definition(groups, y), abs=1e-12)
    many = [moments(np.arange(6) // k, np.array([3.0, 1, 4, 1, 5, 9])) for k in (1, 2, 3, 6)]
    found = ao.get_measure("eta2").many(many)
    assert found.tolist() == [correlation_ratio(table) for table in many]  # padded with empty rows
    assert found[0] == pytest.approx(1.0)
    assert found[-1] == 0.0


@given(st.integers(0, 2**32 - 1))
def test_merging_never_raises_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = moments(np.unique(rng.integers(0, 9, 40), return_inverse=True)[1], rng.standard_cauchy(40))
    groups = rng.integers(0, 3, len(table))
    merged = np.zeros((3, 3))
    np.add.at(merged, groups, table)
    assert correlation_ratio(merged) <= correlation_ratio(table) + 1e-12


def test_it_is_a_measure_of_numbers_alone() -> None:
    eta2 = ao.get_measure("eta2")
    assert eta2.monotone
    assert eta2.higher_is_better
    assert eta2.label_kind == "number"
    assert available_measures("number") == ("eta2",)
    assert "eta2" not in available_measures()
    with pytest.raises(ao.errors.InvalidOption, match="label_kind must be 'class' or 'number'"):
        available_measures("text")  # type: ignore[arg-type]
    with pytest.raises(ao.errors.InvalidOption, match="label_kind"):
        ao.measures.Measure("x", "x", correlation_ratio, True, True, label_kind="text")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[1, 2], [3, 4]], "three columns, but it has 2"),
        ([[-1, 0, 0]], "not negative"),
        ([[0, 0, 0]], "not all 0"),
        ([[1, np.nan, 0]], "finite"),
        ([[2, 3, 1]], "no numbers have such sums"),
    ],
)
def test_tables_that_are_none(table: list[list[float]], words: str) -> None:
    with pytest.raises(ao.errors.InvalidInput, match=words):
        correlation_ratio(table)


def test_a_number_that_is_the_same_everywhere_has_none() -> None:
    assert correlation_ratio([[2, 6.0, 18.0], [1, 3.0, 9.0]]) == 0.0
