"""What shuffled labels give, against shuffling them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

import aegis_opt as ao
from aegis_opt.measures import available_measures, chance_share, expected_by_chance, get_measure


def all_shuffles(table: np.ndarray, measure: str) -> float:
    """The mean over every order of the labels."""
    rows = np.repeat(np.arange(len(table)), table.sum(axis=1))
    labels = np.repeat(np.arange(table.shape[1]), table.sum(axis=0))
    values = []
    for order in set(itertools.permutations(labels.tolist())):
        shuffled = np.zeros_like(table)
        np.add.at(shuffled, (rows, np.array(order)), 1)
        values.append(get_measure(measure)(shuffled))
    return float(np.mean(values))


@pytest.mark.parametrize("measure", ["mi", "chi2"])
@pytest.mark.parametrize(
    "table", [[[2, 1], [1, 2], [0, 1]], [[1, 0], [0, 1], [1, 1]], [[2, 0, 1], [0, 2, 1]]]
)
def test_closed_forms_are_the_mean_over_all_shuffles(measure: str, table: list[list[int]]) -> None:
    F = np.array(table)
    assert expected_by_chance(measure, F) == pytest.approx(all_shuffles(F, measure), abs=1e-12)


@pytest.mark.parametrize("measure", available_measures())
def test_every_measure_agrees_with_shuffled_records(measure: str) -> None:
    rng = np.random.default_rng(0)
    F = rng.integers(0, 6, (8, 3))
    rows, labels = np.repeat(np.arange(8), F.sum(axis=1)), np.repeat(np.arange(3), F.sum(axis=0))
    values = []
    for _ in range(2000):
        shuffled = np.zeros_like(F)
        np.add.at(shuffled, (rows, rng.permutation(labels)), 1)
        values.append(get_measure(measure)(shuffled))
    error = 5 * np.std(values) * np.sqrt(1 / 2000 + 1 / 50)  # five standard errors of the difference
    assert expected_by_chance(measure, F) == pytest.approx(np.mean(values), abs=error)


def test_many_records_take_no_time_and_keep_their_digits() -> None:
    rows = np.array([3e8, 4e8, 3e8])
    F = np.round(np.outer(rows, [0.5, 0.3, 0.2]))
    freedom = 4 / (2 * np.log(2) * F.sum())  # the first term of the bias of independent tables
    assert expected_by_chance("mi", F) == pytest.approx(freedom, rel=1e-3)


def added_up(rows: list[int], labels: list[int]) -> float:
    """Mutual information under shuffled labels, by the probabilities of another library."""
    n, total = sum(rows), 0.0
    for r, label in itertools.product(rows, labels):
        c = np.arange(1, min(r, label) + 1)
        total += float(np.sum(hypergeom.pmf(c, n, label, r) * c * np.log2(n * c / (r * label))))
    return total / n


@pytest.mark.parametrize("few", [2, 30, 400])
def test_rows_of_few_and_of_many_records_give_the_exact_expectation(few: int) -> None:
    rows, labels = [few, 3 * few, 20_000], [15_000, 5_000 + 4 * few]
    F = np.outer(rows, labels) // sum(rows)  # any table with such totals
    F[-1] += np.array(labels) - F.sum(axis=0)
    assert expected_by_chance("mi", F) == pytest.approx(
        added_up(F.sum(axis=1).tolist(), F.sum(axis=0).tolist()), rel=1e-9
    )


@pytest.mark.parametrize("records", [10**10, 10**12, 2**52])
@pytest.mark.parametrize("measure", ["mi", "chi2", "g3", "gk_tau"])
def test_chance_of_any_number_of_records_is_known_at_once(measure: str, records: int) -> None:
    """A file may claim 2^52 records; tables were added up over, or drawn for, every possible count."""
    F = np.array([[records // 4, records // 8], [records // 9, records // 5], [3, 1]])
    assert 0 <= chance_share(measure, F) < 1e-3


def test_few_records_among_many_keep_their_digits() -> None:
    """Each of m single records tells log2(1 / share of its label), however many others there are."""
    many, m = 10**12, 40
    F = np.vstack([np.tile([1, 0], (m // 2, 1)), np.tile([0, 1], (m // 2, 1)), [[many, many]]])
    single = m / (2 * many + m)  # each tells one bit, and so does their part of the large row
    assert expected_by_chance("mi", F) == pytest.approx(single, rel=1e-6)


def test_the_share_is_all_for_unique_values_and_none_for_many_records() -> None:
    unique = np.eye(2, dtype=int)[np.arange(50) % 2]
    assert chance_share("mi", unique) == pytest.approx(1)
    assert chance_share("g3", unique) == pytest.approx(1)
    assert chance_share("mi", [[9000, 1000], [1000, 9000]]) < 0.001
    assert chance_share("g3", [[9000, 1000], [1000, 9000]]) < 0.05
    assert chance_share("mi", [[5, 5]]) == 0
    assert chance_share("mi", [[1, 0], [0, 1]]) == pytest.approx(1)  # two records


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(ao.errors.InvalidInput, match="whole counts"):
        expected_by_chance("mi", [[0.5, 1], [1, 1]])
