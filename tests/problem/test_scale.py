"""Totals of every size: from a thousandth of a record to 1e14 records, whole and fractional."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidInput, InvalidOption
from aegis_opt.problem import LinearConstraint, Problem, View
from aegis_opt.problem._conflict import has_solution, reconcile
from aegis_opt.problem._consistency import missed
from aegis_opt.solvers.reconstruction import Status

SOLVERS: list[dict[str, Any]] = [
    {"solver": "ipf"},
    *({"solver": "convex", "norm": norm} for norm in ("l1", "l2", "linf", "kl")),
]


def three_views(records: float, seed: int) -> Problem:
    """Three views and the histogram of an 8 x 3 table of fractional counts."""
    rng = np.random.default_rng(seed)
    table = records * rng.dirichlet(np.ones(24)).reshape(8, 3)
    groups = [np.unique(rng.integers(0, 4, 8), return_inverse=True)[1] for _ in range(3)]
    return Problem.from_table(table, groups)


@pytest.mark.parametrize("options", SOLVERS, ids=lambda options: "-".join(options.values()))
@pytest.mark.parametrize("records", [1e-3, 1.0, 3e7, 1e8, 1e11, 1e14])
def test_fractional_totals_of_any_size_are_met(records: float, options: dict[str, Any]) -> None:
    for seed in range(3):
        result = ao.reconstruct(three_views(records, seed), **options)
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE), (seed, result)


@pytest.mark.parametrize("records", [1e-3, 1.0, 3e7, 1e8, 1e11, 1e14])
def test_fractional_totals_of_any_size_have_a_solution_and_need_no_repair(records: float) -> None:
    for seed in range(20):
        problem = three_views(records, seed)
        assert has_solution(problem)
        assert reconcile(problem, "repair").changes == ()
        assert reconcile(problem, "relax").changes == ()


@pytest.mark.parametrize("records", [1e-3, 1.0, 1e8, 1e11, 1e14])
def test_a_contradiction_of_a_millionth_is_found_and_repaired_whatever_the_size(records: float) -> None:
    table = records * np.random.default_rng(4).dirichlet(np.ones(6)).reshape(3, 2)
    views = [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    problem = Problem.from_table(table, views, histogram=False)
    joint = problem.views[2].joint.copy()
    joint[:, 0] += np.array([1e-6, -1e-6]) * records
    joint[:, 1] += np.array([2e-6, -2e-6]) * records
    totals = [*problem.views[:2], View(views[2], joint)]
    contradictory = Problem(totals, histogram=table.sum(axis=1))
    with pytest.raises(InfeasibleProblem, match="Least repair"):
        ao.reconstruct(contradictory)
    for how in ("repair", "relax"):
        result = ao.reconstruct(contradictory, on_conflict=how)
        assert result.status is Status.REPAIRED, (how, result)
        assert result.residual <= 4e-6 * records


def test_least_squares_shares_a_contradiction_to_more_digits_than_a_record() -> None:
    problem = Problem([View([0, 0], [[3e9, 3e9]])], histogram=[2e9, 4e9 + 1.0])
    relaxed = reconcile(problem, "relax").problem
    assert relaxed.histogram is not None
    assert relaxed.histogram == pytest.approx([2e9 - 0.25, 4e9 + 0.75], abs=1e-5)


@pytest.mark.parametrize("records", [1e-9, 1e17])
def test_totals_that_floating_point_cannot_hold_are_refused_by_name(records: float) -> None:
    with pytest.raises(InvalidInput, match=r"view 0 has .* records in all"):
        Problem([View([0], [[records, 0.0]])])
    with pytest.raises(InvalidInput, match=r"the prior has .* records in all"):
        Problem([View([0], [[1.0, 1.0]])], prior=[[records, 0.0]])


@pytest.mark.parametrize("options", SOLVERS, ids=lambda options: "-".join(options.values()))
def test_tiny_contradictory_totals_with_a_prior_raise_an_error_of_the_library(
    options: dict[str, Any],
) -> None:
    for size in (1e-6, 1e-5, 1e-3):
        views = [View([0, 0], [[size, size]]), View([0, 1], [[2 * size, 0.0], [0.0, 3 * size]])]
        with pytest.raises(AegisError):
            ao.reconstruct(Problem(views, prior=[[1.0, 2.0], [0.0, 1.0]]), **options)


def cyclic(records: int) -> Problem:
    """Whole totals that are no network: three views that overlap in a cycle."""
    table = np.random.default_rng(0).multinomial(records, np.full(12, 1 / 12)).reshape(4, 3)
    return Problem.from_table(table, [[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("records", [10**8, 10**10, 10**14])
def test_cp_sat_meets_whole_totals_of_any_size(norm: str, records: int) -> None:
    problem = cyclic(records)
    result = ao.reconstruct(problem, solver="integer", norm=norm, time_limit=20.0)
    assert result.method == "cp-sat"
    assert result.residual == 0


def test_costs_beyond_2_to_the_53_do_not_make_a_whole_problem_infeasible() -> None:
    most = LinearConstraint([[-2.0], [1.0]], upper=206078526.0)
    problem = Problem([View([0, 0], [[175061823.0]])], histogram=[0.0, 175061823.0], constraints=[most])
    result = ao.reconstruct(problem, solver="integer", norm="l1")
    assert result.table.tolist() == [[0.0], [175061823.0]]


def test_squares_that_leave_64_bits_are_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidOption, match="use norm='l1'"):
        ao.reconstruct(cyclic(10**12), solver="integer", norm="l2")


@pytest.mark.parametrize("rounding", ["nearest", "controlled", "largest-remainder"])
def test_tables_of_1e14_records_are_rounded_to_their_totals(rounding: str) -> None:
    rng = np.random.default_rng(1)
    table = rng.multinomial(10**14, rng.dirichlet(np.ones(18))).reshape(6, 3)
    prior = table.mean() * rng.uniform(0.1, 3.0, (6, 3))
    problem = Problem.from_table(
        table, [1, 1, 3, 0, 0, 2], histogram=rounding != "largest-remainder", prior=prior
    )
    assert ao.reconstruct(problem, rounding=rounding).residual == 0


def test_overlapping_views_of_1e14_records_are_rounded_by_cp_sat() -> None:
    problem = cyclic(10**14)
    assert ao.reconstruct(problem, rounding="nearest").residual == 0


@pytest.mark.parametrize("norm", ["kl", "neyman", "reverse_kl", "hellinger"])
def test_one_record_among_many_is_not_taken_for_none(norm: str) -> None:
    """A total of one record among 1e10 is below the tolerance of the program that finds empty cells."""
    truth = np.zeros((7, 3))
    truth[[0, 2, 3], 1] = 2.3e5, 4.3e9, 2e9
    truth[[1, 4, 6], 2] = 588, 14_944, 2.2e8
    truth[[2, 5], 0] = 4.3e9, 0.978
    partitions = [[0, 2, 2, 3, 3, 1, 4], [0, 2, 2, 1, 1, 2, 0], [0, 3, 4, 2, 3, 1, 4]]
    problem = ao.Problem.from_table(truth, partitions)
    assert problem.support[5, 0]
    result = ao.reconstruct(problem, "ipf", norm=norm)
    assert result.optimal
    assert np.asarray(result.table)[5, 0] == pytest.approx(0.978, abs=0.02)


@pytest.mark.parametrize("norm", ["l1", "linf", "l2", "kl"])
@pytest.mark.parametrize("records", [1e2, 1e5, 1e9])
def test_a_constraint_of_large_coefficients_may_be_missed_by_the_rounding_error_of_its_sum(norm, records):
    """A sum of 6e10 that was 8e-6 off, as it must be, was NOT_CONVERGED."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = rng.gamma(1.0, size=(8, 3)) * records
        coefficients = rng.normal(size=(8, 3)) * 1e6
        value = float((coefficients * table).sum())
        extra = ao.problem.LinearConstraint(coefficients, lower=value, upper=value, name="sum")
        groups = rng.permutation(np.arange(8) % 2)
        problem = ao.Problem.from_table(table, groups, prior=rng.gamma(1.0, size=(8, 3)) * records)
        problem = ao.Problem(problem.views, problem.histogram, prior=problem.prior, constraints=[extra])
        result = ao.reconstruct(problem, "convex", norm=norm)
        assert result.status is ao.Status.OPTIMAL
        assert result.residual == max(problem.residual(result.table), extra.violation(result.values))


def test_what_a_constraint_is_missed_by_beyond_rounding_error_counts():
    table = np.array([[4e4, 1e4], [2e4, 3e4]])
    coefficients = np.array([[1e6, 0.0], [0.0, -2e6]])
    extra = ao.problem.LinearConstraint(coefficients, upper=-2.0001e10, name="sum")
    problem = ao.Problem([ao.View([0, 1], table)], constraints=[extra])
    assert problem.residual(table) == extra.violation(table) == pytest.approx(1e6)
    assert extra.violation(table) - missed(problem, table) == pytest.approx(1e-12 * 1e11)


def test_relaxed_totals_of_many_records_agree_to_the_record() -> None:
    """Each was rounded to the whole number it was near, and their sums were a record apart."""
    first = [
        [7227329908479, 0],
        [435904565316, 0],
        [5929221400135, 0],
        [0, 0],
        [831191812562, 6502072884218],
    ]
    views = [
        ao.View([1, 1, 4, 0, 4, 3, 2], first),
        ao.View([1, 0, 0, 1, 1, 0, 0], [[7196317778013], [13784899693132]], label_groups=[0, 0]),
    ]
    repaired = ao.reconstruct(ao.Problem(views), on_conflict="relax").repaired
    assert repaired is not None
    one, other = (float(margin.totals.sum()) for margin in repaired.margins)
    assert abs(one - other) < 0.5
    assert not repaired.is_integral  # so that no rounding promises to meet them
