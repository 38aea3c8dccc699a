"""The exact integer solver: what it promises about tables, ties, options and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View
from aegis_opt.solvers.integer._integer import Integer
from aegis_opt.solvers.reconstruction import Status
from aegis_opt.solvers.registry import reconstruct

NORMS = ("l1", "l2", "linf")


def _table(seed, n, k, mean=3.0):
    return np.random.default_rng(seed).poisson(mean, size=(n, k))


def _assert_proved(result, method):
    assert result.method == method
    assert result.status is Status.OPTIMAL
    assert result.residual == 0.0
    assert result.gap == pytest.approx(0.0, abs=1e-9)
    assert np.array_equal(result.table, np.round(result.table))
    assert result.table.min() >= 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("table", "groups", "histogram"),
    [
        pytest.param(_table(0, 12, 3), np.zeros(12, int), True, id="one group"),
        pytest.param(_table(1, 12, 3), np.zeros(12, int), False, id="one group, no histogram"),
        pytest.param(_table(2, 6, 2), np.arange(6), True, id="identity mask"),
        pytest.param(_table(3, 6, 2), [0, 1, 1, 1, 2, 3], True, id="singleton groups"),
        pytest.param(_table(4, 9, 1), [0, 0, 0, 1, 1, 1, 2, 2, 2], True, id="1 label"),
        pytest.param(_table(5, 15, 50), np.arange(15) % 3, True, id="50 labels"),
        pytest.param(_table(6, 8, 3) * [[1, 0, 1]], np.arange(8) // 4, True, id="an empty label"),
        pytest.param(
            _table(7, 8, 3) * (np.arange(8) > 3)[:, None], np.arange(8) // 4, True, id="an empty group"
        ),
        pytest.param(np.zeros((4, 2)), [0, 0, 1, 1], True, id="no records"),
        pytest.param(_table(8, 12, 2), [np.arange(12) // 2, np.arange(12) // 4], True, id="nested views"),
        pytest.param(_table(9, 12, 2), [np.arange(12) // 4, np.arange(12) % 3], False, id="two views"),
    ],
)
def test_at_most_two_margins_are_solved_by_a_proved_flow(table, groups, histogram, norm):
    _assert_proved(Integer(norm=norm).reconstruct(Problem.from_table(table, groups, histogram)), "flow")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(
            Problem.from_table(_table(1, 12, 2), [np.arange(12) // 4, np.arange(12) % 3], True),
            id="overlapping views and histogram",
        ),
        pytest.param(
            Problem.from_table(
                _table(2, 8, 3), [np.arange(8) // 4, np.arange(8) % 2, np.arange(8) // 2 % 2], False
            ),
            id="three views",
        ),
        pytest.param(
            Problem(
                [
                    View([0, 0, 0, 1, 1, 1], [[4, 9], [6, 6]], [0, 1, 1]),
                    View([0, 1, 0, 1, 0, 1], [[5, 7, 2], [5, 2, 4]]),
                ],
                [4, 4, 5, 3, 5, 4],
            ),
            id="masked label",
        ),
        pytest.param(
            Problem(
                [View([0, 0, 0, 1, 1], [[5, 5], [3, 4]])],
                constraints=[LinearConstraint([[1, 0.5]] + [[0, 0]] * 4, lower=4.2, name="heavy first row")],
            ),
            id="extra constraint",
        ),
    ],
)
def test_everything_else_is_solved_and_proved_by_cp_sat(problem, norm):
    _assert_proved(Integer(norm=norm).reconstruct(problem), "cp-sat")


def test_the_extra_constraint_is_met_by_the_least_sufficient_amount():
    constraint = LinearConstraint([[1, 0], [0, 0]], lower=4.5, upper=7)
    result = reconstruct(Problem([View([0, 0], [[8, 4]])], constraints=[constraint]), "integer", norm="l2")
    assert result.table[:, 0].tolist() == [5, 3]
    assert result.table[:, 1].tolist() == [2, 2]


@pytest.mark.parametrize("norm", NORMS)
def test_structural_zeros_stay_zero_and_a_prior_is_followed(norm):
    prior = np.array([[0.0, 4.0], [5.0, 0.0], [1.0, 1.0]])
    result = Integer(norm=norm).reconstruct(Problem([View([0, 0, 0], [[6, 5]])], prior=prior))
    assert result.table.tolist() == [[0, 4], [5, 0], [1, 1]]
    assert result.objective == 0.0
    assert result.optimal


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("histogram", [True, False])
@pytest.mark.parametrize("prior", [None, "random"])
def test_counts_of_a_million_are_proved_by_the_window(norm, histogram, prior):
    rng = np.random.default_rng(5)
    table = rng.integers(0, 4, size=(12, 3)) * rng.integers(1, 10**6, size=(12, 3))
    given_prior = None if prior is None else rng.random(table.shape) * 10**6
    problem = Problem.from_table(table, np.arange(12) // 6, histogram, given_prior)
    _assert_proved(Integer(norm=norm).reconstruct(problem), "flow")


def test_cp_sat_proves_large_counts_by_cutting_costs_finer():
    table = np.array([[900, 10], [400, 700], [0, 350], [120, 80]])
    problem = Problem.from_table(table, [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], False)
    flow, search = (Integer(engine=engine).reconstruct(problem) for engine in ("flow", "cp-sat"))
    _assert_proved(search, "cp-sat")
    assert search.objective == pytest.approx(flow.objective, rel=1e-12)
    assert search.iterations > 2


def test_cp_sat_breaks_ties_where_its_objective_is_a_fraction_below_a_whole_number():
    """Such as 6.999999999999999 for 7, which is proved all the same, so that ties are to be broken."""
    problem = Problem([View([0, 0], [[6, 3, 2]])], histogram=[9, 2])
    search = Integer(norm="linf", engine="cp-sat").reconstruct(problem)
    assert search.iterations == 4  # a table, the closest, the least l2 among the closest, the seed
    assert search.optimal


@pytest.mark.parametrize("engine", ["flow", "cp-sat"])
@pytest.mark.parametrize("norm", NORMS)
def test_the_seed_breaks_ties_and_nothing_else(engine, norm):
    problem = Problem([View([0] * 6 + [1] * 4, [[3, 4], [5, 1]])])
    solver = [Integer(engine=engine, norm=norm, seed=seed) for seed in range(6)]
    results = [s.reconstruct(problem) for s in solver]
    assert np.array_equal(results[3].table, solver[3].reconstruct(problem).table)
    assert len({r.table.tobytes() for r in results}) > 3
    assert len({round(r.objective, 12) for r in results}) == 1
    assert len({round(float(np.square(r.table - problem.prior).sum()), 9) for r in results}) == 1


def test_odd_records_favour_no_row():
    problem = Problem([View([0] * 4, [[1, 2]])])
    mean = np.mean([Integer(seed=seed).reconstruct(problem).table for seed in range(400)], axis=0)
    # four standard errors of a share of 400 draws
    assert np.abs(mean - [0.25, 0.5]).max() < 4 * np.sqrt(0.25 / 400)


def test_ties_between_classes_are_shared_rather_than_given_to_one_class():
    """Rows of 1 and rows of 3 may hold the odd records of either label at the same cost."""
    problem = Problem([View([0] * 80, [[80, 80]])], histogram=[1] * 40 + [3] * 40)
    first = [Integer(seed=seed).reconstruct(problem).table[:40, 0].sum() for seed in range(20)]
    assert 0 < min(first) < max(first) < 40


@pytest.mark.parametrize("norm", NORMS)
def test_merging_rows_changes_no_objective(norm):
    table = _table(11, 20, 2, mean=1.5)
    groups = np.arange(20) // 10
    merged = Problem.from_table(table, groups)
    always_true = [  # different coefficients make every row a class of its own
        LinearConstraint(np.outer(np.arange(20) == a, [1, 1]), upper=10**6) for a in range(20)
    ]
    apart = Problem(merged.views, merged.histogram, constraints=always_true)
    one, other = (Integer(norm=norm).reconstruct(p) for p in (merged, apart))
    assert (one.method, other.method) == ("flow", "cp-sat")
    assert one.objective == pytest.approx(other.objective, rel=1e-9)


def test_a_column_of_20000_values_has_the_objective_of_the_unmerged_problem():
    rng = np.random.default_rng(0)
    totals = np.minimum(rng.zipf(2.2, size=20_000), 200)
    first = rng.binomial(totals, 0.7)
    table = np.stack([first, totals - first], axis=1)
    groups = rng.integers(0, 50, size=20_000)
    merged = Problem.from_table(table, groups)
    _assert_proved(result := Integer().reconstruct(merged), "flow")
    # distinct constants per row leave all l2 distances between rows of the same total as they were
    uniform = merged.prior[0, 0]
    rows = uniform + np.arange(20_000) * 2.0**-20
    apart = Integer().reconstruct(
        Problem(merged.views, merged.histogram, prior=np.stack([rows, rows], axis=1))
    )
    assert apart.optimal
    assert np.square(apart.table - uniform).sum() == pytest.approx(result.objective**2, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(NORMS), st.booleans())
def test_permuting_rows_or_labels_permutes_the_problem_only(seed, norm, histogram):
    rng = np.random.default_rng(seed)
    n, k = rng.integers(2, 9), rng.integers(1, 4)
    table, groups, prior = rng.poisson(2, (n, k)), rng.integers(0, 3, n), rng.integers(1, 5, (n, k)) / 2
    rows, labels = rng.permutation(n), rng.permutation(k)
    plain = Problem.from_table(table, groups, histogram, prior)
    moved = Problem.from_table(table[rows][:, labels], groups[rows], histogram, prior[rows][:, labels])
    one, other = (Integer(norm=norm).reconstruct(p) for p in (plain, moved))
    assert one.objective == pytest.approx(other.objective, abs=1e-9)


def test_the_phases_are_timed():
    assert {"build", "solve", "split", "check"} <= set(
        Integer().reconstruct(Problem.from_table([[1]], [0])).seconds
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"norm": "neyman"}, "'integer' cannot minimise the norm 'neyman'; solvers that can: ipf, convex"),
        ({"engine": "simplex"}, "'auto', 'flow' or 'cp-sat'"),
        ({"time_limit": 0}, "positive"),
        ({"time_limit": float("nan")}, "positive"),
        ({"time_limit": "1 s"}, "positive"),
        ({"gap": 0.1}, "no option 'gap'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(InvalidOption, match=words):
        reconstruct(Problem.from_table([[1]], [0]), "integer", **options)


def test_the_flow_says_why_it_cannot_take_a_problem_and_what_can():
    three = Problem.from_table(_table(1, 12, 2), [np.arange(12) // 4, np.arange(12) % 3], True)
    with pytest.raises(InvalidOption, match=r"view 0, view 1, histogram.*engine='cp-sat'"):
        reconstruct(three, "integer", engine="flow")
    extra = Problem([View([0], [[1]])], constraints=[LinearConstraint([[1]], upper=2, name="cap")])
    with pytest.raises(InvalidOption, match="'cap'"):
        reconstruct(extra, "integer", engine="flow")


def test_fractional_totals_are_named():
    with pytest.raises(InvalidOption, match=r"view 0, group 1, label 0 is 2\.5.*'convex'"):
        reconstruct(Problem([View([0, 1], [[1, 2], [2.5, 0]])]), "integer")


def test_coefficients_without_a_small_denominator_are_named():
    problem = Problem(
        [View([0, 0], [[3]])], constraints=[LinearConstraint([[np.pi], [1]], upper=9, name="pi")]
    )
    with pytest.raises(InvalidOption, match=r"'pi' has the coefficient 3\.14"):
        reconstruct(problem, "integer")


@pytest.mark.parametrize("engine", ["flow", "cp-sat"])
@pytest.mark.parametrize("norm", NORMS)
def test_totals_that_structural_zeros_make_impossible_are_infeasible(engine, norm):
    """Each total has an open cell, but rows 0 and 1 share the only one that both may use."""
    prior = [[1, 0, 0], [1, 0, 0], [1, 1, 1]]
    problem = Problem([View([0, 0, 0], [[3, 2, 2]])], histogram=[2, 2, 3], prior=prior)
    with pytest.raises(InfeasibleProblem, match="meets these totals together"):
        reconstruct(problem, "integer", engine=engine, norm=norm)


def test_constraints_that_exclude_every_table_are_infeasible():
    impossible = LinearConstraint([[1, 1], [1, 1]], lower=100, name="too much")
    with pytest.raises(InfeasibleProblem):
        reconstruct(Problem([View([0, 0], [[3, 4]])], constraints=[impossible]), "integer")


def _hard():
    return Problem.from_table(
        _table(4, 120, 4, mean=6), [np.arange(120) // 10, np.arange(120) % 11, np.arange(120) % 7], True
    )


def test_a_time_limit_too_short_for_any_table_says_so():
    with pytest.raises(AegisError, match=r"no table within time_limit=0\.001"):
        reconstruct(_hard(), "integer", time_limit=0.001)


def test_a_time_limit_returns_the_best_table_with_its_gap():
    """Ten knapsack constraints: tables are easy to find, the best one is hard to prove."""
    rng = np.random.default_rng(0)
    prior = rng.integers(1, 9, size=(60, 2)).astype(float)
    weights = rng.integers(10, 200, size=(10, 60, 2))
    knapsacks = [LinearConstraint(w, upper=np.floor(0.98 * (w * prior).sum())) for w in weights]
    view = View(np.zeros(60, dtype=int), prior.sum(axis=0, keepdims=True))
    result = reconstruct(
        Problem([view], prior=prior, constraints=knapsacks), "integer", norm="l1", time_limit=3
    )
    assert result.status is Status.TIME_LIMIT
    assert not result.optimal
    assert result.residual == 0.0
    assert 0.0 < result.gap <= 1.0
