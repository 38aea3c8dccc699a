"""Noise and rounding: their distributions against exact probabilities, their budgets, what is refused."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import aegis_opt as ao
from aegis_opt.privacy import AppliedProtection, ControlledRounding, DifferentialPrivacy

LEVEL = 1e-6  # of the chi-square tests: a sound sampler fails one run in a million
ZEROS = np.zeros((5000, 4), dtype=np.int64)


def probabilities(applied: AppliedProtection, support: np.ndarray) -> np.ndarray:
    """The exact probabilities, from the formulas of the documentation."""
    if applied.method == "geometric":
        q = np.exp(-1 / applied.scale)
        return (1 - q) / (1 + q) * q ** np.abs(support)
    wide = np.arange(-2000, 2001)
    return np.exp(-(support**2) / (2 * applied.scale**2)) / np.exp(-(wide**2) / (2 * applied.scale**2)).sum()


def check_distribution(drawn: np.ndarray, applied: AppliedProtection) -> None:
    support = np.arange(-8, 9)
    exact = probabilities(applied, support)
    observed = np.array([(drawn == z).sum() for z in support])
    expected = exact * drawn.size
    rest = drawn.size - observed.sum(), drawn.size - expected.sum()
    assert chisquare([*observed, rest[0]], [*expected, rest[1]]).pvalue > LEVEL


@pytest.mark.parametrize("mechanism", ["geometric", "gaussian"])
@pytest.mark.parametrize("seed", [None, 5])
def test_noise_has_its_exact_distribution(mechanism: Any, seed: int | None) -> None:
    (drawn,), applied = DifferentialPrivacy(1.3, mechanism, seed=seed).apply([ZEROS])
    check_distribution(drawn.ravel(), applied)
    assert applied.seeded == (seed is not None)
    assert applied.private == (seed is None)
    assert drawn.std() == pytest.approx(applied.standard_deviation, rel=0.05)


def test_budgets_compose_over_attributes() -> None:
    _, one = DifferentialPrivacy(0.5, seed=0).apply([ZEROS])
    _, four = DifferentialPrivacy(0.5, seed=0).apply([ZEROS] * 4)
    assert (one.scale, four.scale) == pytest.approx((2.0, 8.0), rel=1e-9)
    assert four.epsilon_of_change == pytest.approx(1.0)
    _, normal = DifferentialPrivacy(0.5, "gaussian", delta=1e-5, seed=0).apply([ZEROS])
    _, four = DifferentialPrivacy(0.5, "gaussian", delta=1e-5, seed=0).apply([ZEROS] * 4)
    assert four.scale == pytest.approx(2 * normal.scale, rel=1e-6)  # by the square root of the number
    assert "0.125 for each" in DifferentialPrivacy(0.5, seed=0).apply([ZEROS] * 4)[1].budget()


@pytest.mark.parametrize("mechanism", ["geometric", "gaussian"])
def test_the_loss_of_one_record_is_within_the_budget(mechanism: Any) -> None:
    """By the definition: the sum over all outcomes of what exp(epsilon) times the other chance lacks."""
    _, applied = DifferentialPrivacy(0.7, mechanism, seed=0).apply([ZEROS])
    support = np.arange(-400, 401)
    with_record, without = (probabilities(applied, support - shift) for shift in (1, 0))
    for one, other in ((with_record, without), (without, with_record)):
        lacking = np.maximum(one - np.exp(applied.epsilon) * other, 0).sum()
        assert lacking <= applied.delta + 1e-15


def test_rounding_is_unbiased_and_keeps_label_totals_together() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 13, (7, 3))
    coarse = np.array([table[:4].sum(axis=0), table[4:].sum(axis=0)])
    draws, totals = [], []
    for seed in range(1200):
        (fine, merged), _ = ControlledRounding(5, seed=seed).apply([table, coarse])
        assert not (fine % 5).any()
        assert (np.abs(fine - table) < 5).all()
        assert np.array_equal(fine.sum(axis=0), merged.sum(axis=0))
        assert (np.abs(fine.sum(axis=0) - table.sum(axis=0)) < 5).all()
        draws.append(fine)
        totals.append(fine.sum(axis=0))
    for drawn, truth in ((np.array(draws), table), (np.array(totals), table.sum(axis=0))):
        # five standard errors of a mean of 1,200, of variables within 5 of each other
        assert np.abs(drawn.mean(axis=0) - truth).max() < 5 * 2.5 / np.sqrt(1200)
        assert np.array_equal(drawn.std(axis=0) == 0, truth % 5 == 0)  # multiples stay


def test_rounding_without_a_seed_differs_between_calls() -> None:
    table = np.full((200, 2), 3)
    first, second = (ControlledRounding(7).apply([table])[0][0] for _ in range(2))
    assert not np.array_equal(first, second)


def test_errors_of_a_rounding_are_those_of_counts_with_all_remainders() -> None:
    applied = AppliedProtection("rounding", 5, 1)
    drawn = applied.errors(np.random.default_rng(1), (40_000,))
    support = np.arange(-4, 5)
    exact = (5 - np.abs(support)) / 25
    assert chisquare([(drawn == z).sum() for z in support], exact * drawn.size).pvalue > LEVEL
    assert drawn.std() == pytest.approx(applied.standard_deviation, rel=0.02)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DifferentialPrivacy(0), "epsilon must be a positive number"),
        (lambda: DifferentialPrivacy(-1.0), "epsilon must be a positive number"),
        (lambda: DifferentialPrivacy(float("nan")), "epsilon"),
        (lambda: DifferentialPrivacy("1"), "epsilon"),  # type: ignore[arg-type]
        (lambda: DifferentialPrivacy(1.0, "laplace"), "mechanism must be 'geometric' or 'gaussian'"),  # type: ignore[arg-type]
        (lambda: DifferentialPrivacy(1.0, delta=1e-6), "no delta"),
        (lambda: DifferentialPrivacy(1.0, "gaussian", delta=0.0), "delta"),
        (lambda: ControlledRounding(1), "base must be a whole number from 2"),
        (lambda: ControlledRounding(2.5), "base"),  # type: ignore[arg-type]
    ],
)
def test_wrong_protections_are_refused(make: Any, named: str) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=named):
        make()


def test_without_opendp_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "opendp":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ao.errors.MissingDependency, match=r"pip install 'aegis-opt\[privacy\]'"):
        DifferentialPrivacy(1.0).apply([ZEROS])


def test_false_statements_of_a_budget_are_refused() -> None:
    with pytest.raises(ao.errors.SummaryError, match="costs an epsilon of 2, not 1"):
        AppliedProtection("geometric", 1.0, 2, 1.0, 2.0, 0.0)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"epsilon": 1.0, "epsilon_of_change": 0.5, "delta": 1e-6}, "epsilon of a change, 0.5, is below"),
        ({"epsilon": 1e-9, "epsilon_of_change": 1e-9, "delta": 0.0}, "Gaussian noise has a delta above 0"),
    ],
)
def test_budgets_that_cannot_be_are_refused(stated: dict[str, float], words: str) -> None:
    with pytest.raises(ao.errors.SummaryError, match=words):
        AppliedProtection("gaussian", 5.0, 1, **stated)  # type: ignore[arg-type]
