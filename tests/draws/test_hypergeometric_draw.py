"""The sampler's distribution: exact probabilities where they can be listed, moments and digits where not."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import stats

from aegis_opt._draws._hypergeometric import _LogRatio, _mode, draw_hypergeometric, draw_large
from aegis_opt.problem import Problem, View
from aegis_opt.rounding import round_table

LEVEL = 1e-4  # of each statistical test here; the seeds are fixed
DRAWS = 40_000

POPULATIONS = [  # good, bad, sample: both methods, and every symmetry that is used to reduce the problem
    (1, 1, 1),
    (3, 4, 2),
    (10, 10, 10),
    (30, 20, 45),
    (100, 200, 150),
    (400, 300, 350),
    (1000, 5000, 700),
    (2000, 1000, 2500),
    (300_000, 100_000, 391_000),
    (3, 2 * 10**12, 10**12),  # few outcomes of a large population
]


def drawn(good: int, bad: int, sample: int, seed: int) -> np.ndarray:
    counts = np.full((3, DRAWS), [[good], [bad], [sample]])
    return draw_large(counts[0], counts[1], counts[2], np.random.default_rng(seed))


def exact_chances(good: int, bad: int, sample: int) -> np.ndarray:
    """Probabilities of all outcomes from the least one up, by their recurrence."""
    k = np.arange(max(0, sample - bad), min(sample, good))
    steps = np.log((good - k) * (sample - k) / ((k + 1.0) * (bad - sample + k + 1.0)))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logs - logs.max())
    return chances / chances.sum()


def deviation_of(good: int, population: int, sample: int) -> float:
    """Standard deviation of the number of good ones."""
    share = good / population
    return float(np.sqrt(sample * share * (1.0 - share) * (population - sample) / (population - 1)))


@pytest.mark.parametrize(("good", "bad", "sample"), POPULATIONS)
def test_outcomes_are_as_frequent_as_their_exact_probabilities(good: int, bad: int, sample: int):
    found = drawn(good, bad, sample, seed=1)
    low, high = max(0, sample - bad), min(sample, good)
    assert low <= found.min()
    assert found.max() <= high
    chance = exact_chances(good, bad, sample)
    counts = np.bincount(found - low, minlength=len(chance))
    frequent = chance * DRAWS >= 5
    expected = np.append(chance[frequent], chance[~frequent].sum()) * DRAWS
    observed = np.append(counts[frequent], counts[~frequent].sum())
    filled = expected > 1e-9
    assert observed[~filled].sum() == 0
    expected = expected[filled] * DRAWS / expected[filled].sum()
    assert stats.chisquare(observed[filled], expected).pvalue > LEVEL


@pytest.mark.parametrize("population", [10**9, 10**12, 10**15])
@pytest.mark.parametrize(("good_share", "sample_share"), [(1 / 3, 1 / 7), (0.9, 0.6), (1e-6, 0.5)])
def test_four_moments_of_large_populations(population: int, good_share: float, sample_share: float):
    good, sample = int(population * good_share), int(population * sample_share)
    found = drawn(good, population - good, sample, seed=3)
    centre = good * sample // population
    offset = good * sample % population / population  # what the whole centre lacks to the mean
    deviation = deviation_of(good, population, sample)
    z = (found - centre - offset) / deviation
    skewness = (1 - 2 * good / population) * (1 - 2 * sample / population) / deviation
    errors = [
        z.mean() * np.sqrt(DRAWS),
        ((z**2).mean() - 1.0) * np.sqrt(DRAWS / 2),
        ((z**3).mean() - skewness) * np.sqrt(DRAWS / 15),
        ((z**4).mean() - 3.0) * np.sqrt(DRAWS / 96),
    ]
    assert np.abs(errors).max() < stats.norm.isf(LEVEL / 8)


@pytest.mark.parametrize(
    ("good", "bad", "sample"), [(5000, 7000, 3000), (10**8, 10**8, 10**6), (40, 10**8, 10**7)]
)
def test_agrees_with_numpy_where_numpy_works(good: int, bad: int, sample: int):
    ours = drawn(good, bad, sample, seed=5)
    theirs = np.random.default_rng(6).hypergeometric(good, bad, sample, DRAWS)
    assert stats.ks_2samp(ours, theirs).pvalue > LEVEL


def log_factorial(count: int) -> Decimal:
    """Stirling's series to more than 40 digits, for counts from 1e5 up."""
    x = Decimal(count) + 1
    half_log_two_pi = Decimal("0.918938533204672741780329736405617639861397473637783412817")
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7) + 1 / (1188 * x**9)
    return (x - Decimal("0.5")) * x.ln() - x + half_log_two_pi + series


@pytest.mark.parametrize("population", [10**7, 10**9, 10**12, 9 * 10**15])
def test_log_probabilities_have_all_digits_far_from_the_mode(population: int):
    good, sample = population // 3, population // 7
    few, size, taken = (np.array([count]) for count in (good, population, sample))
    mode, remainder = _mode(few, size, taken)
    ratio = _LogRatio(few, size, taken, mode, remainder)
    m, deviation = int(mode[0]), deviation_of(good, population, sample)
    with localcontext() as context:
        context.prec = 60

        def log_chance(k: int) -> Decimal:
            parts = (k, good - k, sample - k, population - good - sample + k)
            return -sum((log_factorial(part) for part in parts), Decimal(0))

        for sigmas in (-9, -2, 0.01, 1, 6):
            j = round(sigmas * deviation)
            exact = float(log_chance(m + j) - log_chance(m))
            found = float(ratio(np.array([0]), np.array([float(j)]))[0])
            assert found == pytest.approx(exact, rel=1e-12, abs=1e-14)


def test_small_and_large_populations_mix_in_one_call():
    good, bad, sample = np.array([2, 0, 10**12]), np.array([0, 3, 10**12]), np.array([1, 2, 2 * 10**12])
    assert draw_hypergeometric(good, bad, sample, np.random.default_rng(0)).tolist() == [1, 0, 10**12]


@pytest.mark.parametrize("label_groups", [None, [0, 0, 1]])
def test_rounding_1e12_records_lays_out_none_of_them(label_groups: list[int] | None):
    records = np.random.default_rng(0).multinomial(10**12, np.full(60, 1 / 60)).reshape(20, 3)
    problem = Problem.from_table(records, np.arange(20) // 5, label_groups=label_groups)
    groups = problem.views[0].groups
    joint = problem.margins[0].totals[groups][:, problem.margins[0].columns]
    sizes = problem.margins[0].sums(np.ones((20, 3)))[groups][:, problem.margins[0].columns] / 5
    block = np.bincount(groups, problem.histogram)[groups]
    mean = joint / sizes * (problem.histogram / block)[:, None]
    tracemalloc.start()
    rounded = round_table(problem, mean, "hypergeometric", seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.residual(rounded) == 0
    assert peak < 1_000_000
    deviations = (rounded - mean) / np.sqrt(mean)
    assert np.abs(deviations).max() < 6  # as records in random order, not as floor and ceil


def test_rounding_1e12_records_without_histogram_lays_out_none_of_them():
    problem = Problem([View([0, 0, 1], [[3e11, 2e11], [4e11, 1e11]])])
    mean = np.array([[1.5e11, 1e11], [1.5e11, 1e11], [4e11, 1e11]])
    tracemalloc.start()
    rounded = round_table(problem, mean, "hypergeometric", seed=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.residual(rounded) == 0
    assert peak < 1_000_000
