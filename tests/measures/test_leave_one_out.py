"""Leave-one-out mutual information, against a loop over the records."""

from __future__ import annotations

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt.measures import mutual_information, mutual_information_loo


def by_records(table: np.ndarray) -> float:
    """Predict each record by the others of its row, one by one."""
    total, bits = table.sum(), 0.0
    shares = table.sum(axis=0) / total
    for row in table:
        for label, count in enumerate(row):
            for _ in range(int(count)):
                others = row.copy()
                others[label] -= 1
                predicted = (others[label] + shares[label]) / (others.sum() + 1)
                bits += np.log2(predicted / shares[label])
    return bits / total


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_mean_over_the_records(seed: int) -> None:
    table = np.random.default_rng(seed).integers(0, 5, (6, 3))
    assert mutual_information_loo(table) == pytest.approx(by_records(table), abs=1e-12)


def test_unique_values_earn_nothing_where_plain_information_calls_them_perfect() -> None:
    table = np.eye(2, dtype=int)[np.arange(40) % 2]
    assert mutual_information(table) == 1
    assert mutual_information_loo(table) == 0


def test_many_records_per_value_make_it_the_plain_one() -> None:
    table = np.random.default_rng(0).integers(10_000, 50_000, (5, 3))
    assert mutual_information_loo(table) == pytest.approx(mutual_information(table), abs=1e-4)


def test_misleading_rows_count_against_it() -> None:
    assert mutual_information_loo([[1, 1], [1, 1], [1, 1]]) < 0


def test_fractional_counts_are_refused() -> None:
    with pytest.raises(ao.errors.InvalidInput, match=r"mi_loo.* cell \[0, 1\] holds 1.5: round the table"):
        mutual_information_loo([[1, 1.5], [2, 1]])
