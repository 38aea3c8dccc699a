"""Values of the measures: the worked example, other implementations, records one by one, limits."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency, entropy
from scipy.stats.contingency import association
from sklearn.metrics import mutual_info_score

from aegis_opt.measures import (
    available_measures,
    chi_square,
    chi_square_corrected,
    cramers_v,
    cramers_v_corrected,
    g1_error,
    g2_error,
    g3_error,
    g3_loo_error,
    get_measure,
    goodman_kruskal_tau,
    mutual_information,
    mutual_information_corrected,
    theils_u,
)

AGE_HEALTH = np.array(
    [
        [0, 0, 0, 1, 3],
        [0, 0, 0, 4, 8],
        [0, 0, 1, 2, 1],
        [2, 8, 10, 8, 2],
        [4, 6, 9, 1, 0],
        [2, 3, 5, 0, 0],
        [2, 5, 3, 0, 0],
        [5, 3, 2, 0, 0],
    ]
)
YOUNG_OLD = np.array([AGE_HEALTH[:3].sum(axis=0), AGE_HEALTH[3:].sum(axis=0)])

small_tables = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 4)).filter(lambda F: F.sum() > 0)
)
full_tables = st.tuples(st.integers(2, 6), st.integers(2, 4)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(1, 50))
)


def records(F: np.ndarray) -> list[tuple[int, int]]:
    return [(a, y) for (a, y), count in np.ndenumerate(F) for _ in range(count)]


def leave_one_out(F: np.ndarray) -> float:
    everyone = records(F)
    right = 0.0
    for i, (a, y) in enumerate(everyone):
        others = everyone[:i] + everyone[i + 1 :]
        votes = Counter(v for b, v in others if b == a) or Counter(v for _, v in others)
        winners = [v for v, n in votes.items() if n == max(votes.values())]
        right += (y in winners) / max(len(winners), 1)
    return 1 - right / len(everyone)


@pytest.mark.parametrize(
    ("table", "mi", "g3", "chi2"),
    [(AGE_HEALTH, 0.6396, 0.53, 85.963), (YOUNG_OLD, 0.4176, 0.59, 58.635)],
    ids=["raw", "masked"],
)
def test_worked_example(table: np.ndarray, mi: float, g3: float, chi2: float) -> None:
    assert round(mutual_information(table), 4) == mi
    assert round(g3_error(table), 4) == g3
    assert round(chi_square(table), 3) == chi2


@settings(max_examples=50, deadline=None)
@given(full_tables)
def test_agrees_with_scipy_and_sklearn(F: np.ndarray) -> None:
    bits = mutual_info_score(None, None, contingency=F) / math.log(2)
    chi2 = chi2_contingency(F, correction=False)
    np.testing.assert_allclose(mutual_information(F), bits, atol=1e-12)
    np.testing.assert_allclose(chi_square(F), chi2.statistic, atol=1e-9)
    np.testing.assert_allclose(chi_square_corrected(F), chi2.statistic - chi2.dof, atol=1e-9)
    np.testing.assert_allclose(cramers_v(F), association(F, method="cramer"), atol=1e-9)
    np.testing.assert_allclose(theils_u(F), bits / entropy(F.sum(axis=0), base=2), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(small_tables)
def test_dependency_errors_agree_with_records_one_by_one(F: np.ndarray) -> None:
    everyone = records(F)
    clashes = [(t, u) for t, u in product(everyone, repeat=2) if t[0] == u[0] and t[1] != u[1]]
    kept = sum(max(Counter(y for b, y in everyone if b == a).values()) for a in {a for a, _ in everyone})
    mixed = {t[0] for t, _ in clashes}
    assert g1_error(F) == pytest.approx(len(clashes) / len(everyone) ** 2, abs=1e-12)
    assert g2_error(F) == pytest.approx(sum(a in mixed for a, _ in everyone) / len(everyone), abs=1e-12)
    assert g3_error(F) == pytest.approx(1 - kept / len(everyone), abs=1e-12)
    assert g3_loo_error(F) == pytest.approx(leave_one_out(F), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(small_tables)
def test_tau_is_the_gini_share_explained(F: np.ndarray) -> None:
    n, q = F.sum(axis=1), F.sum(axis=0) / F.sum()
    guessed = sum((F[a] ** 2).sum() / n[a] for a in np.flatnonzero(n)) / F.sum()
    blind = (q**2).sum()
    expected = 0.0 if blind == 1 else (guessed - blind) / (1 - blind)
    assert goodman_kruskal_tau(F) == pytest.approx(expected, abs=1e-12)


def test_miller_madow_corrects_each_entropy() -> None:
    F = AGE_HEALTH

    def corrected(counts: np.ndarray) -> float:
        present = counts[counts > 0]
        return float(entropy(present, base=2) + (len(present) - 1) / (2 * F.sum() * math.log(2)))

    expected = corrected(F.sum(axis=1)) + corrected(F.sum(axis=0)) - corrected(F.ravel())
    assert mutual_information_corrected(F) == pytest.approx(expected, abs=1e-12)


def test_bergsma_by_hand() -> None:
    # chi2 = 100 * 0.6^2 = 36; phi2 = 0.36 - 1/99; both corrected sizes are 2 - 1/99.
    assert cramers_v_corrected([[40, 10], [10, 40]]) == pytest.approx(
        math.sqrt((0.36 - 1 / 99) / (1 - 1 / 99))
    )


def test_bergsma_of_less_than_one_record_is_zero() -> None:
    assert cramers_v_corrected([[0.4, 0.1], [0.1, 0.4]]) == 0
    assert cramers_v_corrected([[0.2, 0], [0, 0.2]]) == 0


def test_corrected_measures_have_almost_no_bias_where_the_plain_ones_do() -> None:
    rng = np.random.default_rng(0)
    # 1,000 independent tables of 200 records, 10 values and 2 labels: nothing to find in any of them.
    stack = rng.multinomial(200, np.full(20, 1 / 20), size=1000).reshape(-1, 10, 2)
    assert mutual_information(stack).mean() > 0.03
    assert abs(mutual_information_corrected(stack).mean()) < 0.003
    assert chi_square(stack).mean() > 8
    assert abs(chi_square_corrected(stack).mean()) < 0.5
    assert g3_error(stack).mean() < 0.45
    assert abs(g3_loo_error(stack).mean() - 0.5) < 0.01


def test_values_that_occur_once_look_perfect_to_g3_and_useless_to_its_leave_one_out_form() -> None:
    unique = np.repeat(np.eye(2), [60, 40], axis=0)
    assert g3_error(unique) == 0
    assert g3_loo_error(unique) == pytest.approx(0.4)
    assert cramers_v(unique) == 1
    assert cramers_v_corrected(unique) == 0
    assert chi_square_corrected(unique) == pytest.approx(1)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[0.7, 0.3], [4, 0]], 0.3 / 5),  # at most one record in the row: the table predicts it
        ([[0.6, 0.6], [4, 0]], 1.2 / 5.2),  # more than one record: each half is outvoted by the other
        ([[2.5, 1.5 + 1e-13]], 1 - 1.25 / 4),  # a lead of one record but for rounding: a tie
        ([[2.5, 1.25]], 1.25 / 3.75),
        ([[1, 0]], 1.0),  # nothing to predict the only record from
    ],
)
def test_leave_one_out_of_fractional_counts(table: list[list[float]], expected: float) -> None:
    assert g3_loo_error(table) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", available_measures())
@pytest.mark.parametrize("table", [[[3, 5, 4]], [[3, 5, 4], [0, 0, 0]], [[7, 0], [2, 0], [3, 0]]])
def test_one_row_or_one_label_tells_nothing(name: str, table: list[list[int]]) -> None:
    measure = get_measure(name)
    if name == "mi_loo":  # a record that is left out of its only row is predicted a little worse
        assert -1 < measure(table) <= 0
    elif measure.higher_is_better:
        assert measure(table) == 0
    elif np.count_nonzero(np.sum(table, axis=0)) == 1:
        assert measure(table) == 0  # nothing to get wrong
    else:
        assert measure(table) > 0


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, (1, 4), elements=st.floats(0, 1e12)).filter(lambda F: F.sum() > 0))
def test_one_row_gives_exactly_zero(F: np.ndarray) -> None:
    assert mutual_information(F) == 0
    assert chi_square(F) == 0


@pytest.mark.parametrize("name", available_measures())
def test_extreme_counts_stay_finite(name: str) -> None:
    measure = get_measure(name)
    for F in ([[1e-320, 1], [1, 1e-320]], [[1e300, 1], [1, 1e300]], [[1e-300, 0], [1e300, 1]], [[1e-9, 0]]):
        assert math.isfinite(measure(np.ceil(F) if measure.whole_counts else F))


def test_mutual_information_keeps_its_digits_with_large_counts() -> None:
    # Two rows that lean by delta: I = 2 delta^2 / ln 2 + 4 delta^4 / (3 ln 2) + ...
    delta = 1e-3
    half = np.array([0.5 + delta, 0.5 - delta])
    expected = (2 * delta**2 + 4 * delta**4 / 3) / math.log(2)
    assert mutual_information(np.array([half, half[::-1]]) * 1e12) == pytest.approx(expected, abs=1e-15)


@settings(max_examples=50, deadline=None)
@given(arrays(np.float64, 3, elements=st.floats(1, 1e12)), arrays(np.float64, 4, elements=st.floats(1, 1e12)))
def test_independent_tables_give_zero_and_never_less(rows: np.ndarray, columns: np.ndarray) -> None:
    assert 0 <= mutual_information(np.outer(rows, columns)) < 1e-14
    assert 0 <= theils_u(np.outer(rows, columns)) <= 1
