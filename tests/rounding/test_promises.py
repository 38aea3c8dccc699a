"""What `controlled`, `nearest` and `hypergeometric` promise, over 1,000 seeds and random problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding_cases import equations, inner_point, masked_label_case, max_entropy, nested_case, random_case
from scipy import stats

from aegis_opt._interrupts import until
from aegis_opt.errors import AegisError
from aegis_opt.problem import Problem
from aegis_opt.rounding import ROUNDINGS, round_table, round_tables
from aegis_opt.solvers.ipf import IPF

SEEDS = 1000
FEW_SEEDS = 100  # where every table is judged by itself, and no frequency is estimated
LEVEL = 1e-6  # of each test on all its cells together: the chance that a correct rounding fails it


def overlapping_pair(seed):
    """Two views that are not nested, without the histogram."""
    truth = np.random.default_rng(seed).poisson(2.0, size=(8, 3))
    problem = Problem.from_table(truth, [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 2, 2]], histogram=False)
    return problem, inner_point(problem, truth, seed), truth


ONE_VIEW = {
    "2 labels": lambda: random_case(8, 2, 3, 1),
    "3 labels": lambda: random_case(8, 3, 2, 2),
    "5 labels": lambda: random_case(12, 5, 2, 3),
    "2 labels, no histogram": lambda: random_case(8, 2, 3, 4, histogram=False),
    "5 labels, no histogram": lambda: random_case(12, 5, 2, 5, histogram=False),
    "nested views": lambda: nested_case(6, histogram=True),
    "nested views, no histogram": lambda: nested_case(17, histogram=False),
    "masked label": lambda: masked_label_case(8),
}
TWO_SIDED = ONE_VIEW | {"two overlapping views": lambda: overlapping_pair(9)}


def over_seeds(problem, table, method, seeds=SEEDS):
    return np.array(round_tables(problem, table, method, range(seeds)))


def assert_totals_met(problem, rounded):
    A, b = equations(problem)
    assert (rounded.reshape(len(rounded), -1) @ A.T == b).all()
    assert (rounded == np.round(rounded)).all()
    assert (rounded >= 0).all()
    assert problem.residual(rounded[0]) == 0


@pytest.mark.parametrize("fewest_squares", [1, 50], ids=["squares first", "walk only"])
@pytest.mark.parametrize("case", TWO_SIDED)
def test_controlled_meets_all_totals_within_floor_and_ceil_without_bias_over_1000_seeds(
    case, fewest_squares, monkeypatch
):
    monkeypatch.setattr("aegis_opt.rounding._controlled._FEWEST_SQUARES", fewest_squares)
    problem, table, _ = TWO_SIDED[case]()
    rounded = over_seeds(problem, table, "controlled")
    assert_totals_met(problem, rounded)
    assert (np.abs(rounded - table) < 1).all()
    fraction = table - np.floor(table)
    open_cells = np.argwhere((fraction > 1e-9) & (fraction < 1 - 1e-9))
    assert len(open_cells) > 5
    for a, y in open_cells:
        raised = int((rounded[:, a, y] > table[a, y]).sum())
        chance = stats.binomtest(raised, SEEDS, fraction[a, y]).pvalue
        assert chance > LEVEL / len(open_cells), f"cell {a}, {y}: {raised} of {SEEDS} at {fraction[a, y]}"


@pytest.mark.parametrize("case", TWO_SIDED)
def test_nearest_meets_all_totals_within_floor_and_ceil_and_is_never_farther_than_controlled(case):
    problem, table, _ = TWO_SIDED[case]()
    rounded = over_seeds(problem, table, "nearest", FEW_SEEDS)
    assert_totals_met(problem, rounded)
    assert (np.abs(rounded - table) < 1).all()
    deviations = np.abs(rounded - table).sum(axis=(1, 2))
    assert np.ptp(deviations) < 1e-5  # the seed chooses among equally near tables only
    others = over_seeds(problem, table, "controlled", 50)
    assert deviations.max() <= np.abs(others - table).sum(axis=(1, 2)).min() + 1e-5


@pytest.mark.parametrize("case", ONE_VIEW)
def test_hypergeometric_meets_all_totals_and_has_the_max_entropy_mean_over_1000_seeds(case):
    problem, table, _ = ONE_VIEW[case]()
    rounded = over_seeds(problem, table, "hypergeometric")
    assert_totals_met(problem, rounded)
    spread = rounded.std(axis=0, ddof=1)
    fixed = spread == 0
    assert np.allclose(rounded[0][fixed], table[fixed])
    z = np.abs(rounded.mean(axis=0) - table)[~fixed] / (spread[~fixed] / np.sqrt(SEEDS))
    assert z.size > 5
    assert z.max() < stats.norm.isf(LEVEL / 2 / z.size)


def test_independent_rounding_is_unbiased_but_breaks_margins_in_nearly_every_table():
    problem, table, _ = random_case(12, 5, 2, 3)
    rounded = over_seeds(problem, table, "independent", FEW_SEEDS)
    broken = np.mean([problem.residual(whole) > 0 for whole in rounded])
    assert broken > 0.99
    assert (np.abs(rounded - table) < 1).all()


@st.composite
def problems(draw):
    n, k = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    cells = draw(st.lists(st.integers(0, 9), min_size=n * k, max_size=n * k))
    groups = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    truth = np.array(cells).reshape(n, k)
    partitions = [groups] if draw(st.booleans()) else [np.minimum(groups, 1), groups]
    problem = Problem.from_table(truth, partitions, histogram=draw(st.booleans()))
    finest = Problem.from_table(truth, groups, histogram=problem.histogram is not None)
    share = draw(st.floats(0, 1))
    return problem, share * truth + (1 - share) * max_entropy(finest), max_entropy(finest)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32))
def test_promises_hold_on_random_problems(case, seed):
    problem, table, closest = case
    for method in ("controlled", "nearest"):
        rounded = round_table(problem, table, method, seed=seed)
        assert problem.residual(rounded) == 0
        assert (np.abs(rounded - table) < 1).all()
    assert problem.residual(round_table(problem, closest, "hypergeometric", seed=seed)) == 0


@pytest.mark.parametrize("method", ROUNDINGS)
def test_same_seed_same_table_and_the_input_is_not_modified(method):
    problem, table, _ = random_case(30, 4, 3, 11)
    table.setflags(write=False)
    given_table = table.copy()
    first = round_table(problem, table, method, seed=5)
    assert np.array_equal(first, round_table(problem, table, method, seed=5))
    assert np.array_equal(table, given_table)
    others = [round_table(problem, table, method, seed=seed) for seed in range(6, 12)]
    if method in ("independent", "controlled", "hypergeometric"):
        assert any(not np.array_equal(first, other) for other in others)


@pytest.mark.parametrize("method", [m for m in ROUNDINGS if ROUNDINGS[m].keeps_totals])
@pytest.mark.parametrize("histogram", [True, False])
def test_a_20000_by_5_table_is_rounded_exactly(method, histogram):
    problem, table, _ = random_case(20_000, 5, 50, 12, histogram=histogram)
    assert problem.residual(round_table(problem, table, method, seed=1)) == 0


@pytest.mark.parametrize("method", ROUNDINGS)
def test_a_whole_table_stays_as_it_is_and_empty_rows_and_groups_do_no_harm(method):
    problem = Problem.from_table([[0, 0], [4, 0], [0, 0], [0, 0]], [0, 0, 1, 1])
    table = max_entropy(problem)
    assert np.array_equal(round_table(problem, table, method), table)


@pytest.mark.parametrize(
    ("method", "case"),
    [
        ("controlled", "5 labels"),
        ("nearest", "5 labels"),
        ("drawn", "5 labels"),
        ("drawn", "5 labels, no histogram"),
        ("hypergeometric", "5 labels"),
    ],
)
def test_every_rounding_that_can_be_long_looks_at_the_clock(method, case):
    """Looking there, it hears Ctrl-C in other threads, too, which once took half a minute."""
    problem, table, _ = ONE_VIEW[case]()
    with until(0.0), pytest.raises(TimeoutError):
        ROUNDINGS[method].function(problem, table, np.random.default_rng(0))


@pytest.mark.parametrize("method", ROUNDINGS)
def test_a_rounding_without_time_says_so_and_names_the_ways_out(method):
    problem, table, _ = ONE_VIEW["5 labels"]()
    with pytest.raises(AegisError, match=rf"{method}' made no whole .*time_limit.*rounding=None.*another"):
        round_table(problem, table, method, time_limit=1e-9)
    assert problem.residual(round_table(problem, table, "controlled", time_limit=600)) == 0


def test_a_rounding_has_what_the_solver_leaves_of_its_time_limit_but_at_least_a_second(monkeypatch):
    problem, _, _ = ONE_VIEW["5 labels"]()
    given = []

    def noted(problem, table, method, *, seed, time_limit):
        given.append(time_limit)
        return round_table(problem, table, method, seed=seed)

    monkeypatch.setattr("aegis_opt.solvers.base.round_table", noted)
    for limit in (None, 1e-9, 600.0):
        IPF(rounding="controlled", time_limit=limit).reconstruct(problem)
    assert given[:2] == [None, 1.0]
    assert 500 < given[2] < 600
