"""Engines of the convex solver: they agree, and what they cannot do is refused with a way out."""

from __future__ import annotations

from collections import OrderedDict

import cvxpy as cp
import numpy as np
import pytest
from problem_zoo import ZOO

import aegis_opt as ao
from aegis_opt.distances import NORMS, get_distance
from aegis_opt.problem import LinearConstraint
from aegis_opt.solvers import _totals
from aegis_opt.solvers._reduced import reduced
from aegis_opt.solvers.convex import _models as convex_models
from aegis_opt.solvers.convex._convex import Convex
from aegis_opt.solvers.convex._engines import ENGINES, installed_engines
from aegis_opt.solvers.convex._stack import stack

PAIRS = [
    (norm, engine)
    for norm in ("l1", "linf", "l2", "kl")
    for engine in installed_engines(get_distance(norm).program)
]


def test_what_counts_as_installed_is_what_cvxpy_finds() -> None:
    assert set(installed_engines()) == set(cp.installed_solvers()) & set(ENGINES)
    assert {"CLARABEL", "HIGHS", "OSQP", "SCS", "SCIPY", "GLOP", "PDLP"} <= set(installed_engines())


@pytest.mark.parametrize(("norm", "engine"), PAIRS)
def test_every_engine_returns_the_same_table(norm: str, engine: str) -> None:
    for name in ("worked example", "structural zeros"):
        problem = ZOO[name]().problem
        expected = Convex(norm=norm).reconstruct(problem)
        result = Convex(norm=norm, engine=engine.lower()).reconstruct(problem)
        assert result.residual < 1e-6
        assert result.method.startswith(engine)
        assert result.objective == pytest.approx(expected.objective, rel=1e-4)
        assert np.allclose(result.table, expected.table, atol=0.02)


def test_an_unknown_engine_is_refused_with_the_installed_ones() -> None:
    with pytest.raises(ao.errors.InvalidOption, match=r"unknown engine 'SIMPLEX'.*CLARABEL, HIGHS"):
        Convex(norm="l1", engine="SIMPLEX")


@pytest.mark.parametrize(
    ("norm", "engine"), [("l2", "GLOP"), ("l2", "PDLP"), ("kl", "HIGHS"), ("kl", "OSQP")]
)
def test_an_engine_that_cannot_do_the_norm_is_refused(norm: str, engine: str) -> None:
    with pytest.raises(
        ao.errors.InvalidOption, match=rf"{engine} cannot minimise the norm '{norm}'.*CLARABEL"
    ):
        Convex(norm=norm, engine=engine)


def test_an_engine_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aegis_opt.solvers.convex._engines.find_spec", lambda name: None)
    with pytest.raises(ao.errors.MissingDependency, match="pip install Mosek"):
        Convex(norm="kl", engine="MOSEK")
    with pytest.raises(ao.errors.MissingDependency, match="pip install gurobipy"):
        Convex(norm="l1", engine="gurobi")


@pytest.mark.parametrize("bad", [0, -1.0, float("nan"), float("inf"), True, "fast"])
@pytest.mark.parametrize("option", ["time_limit", "tolerance"])
def test_limits_must_be_positive_numbers(option: str, bad: object) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=f"{option} must be a positive number"):
        ao.get_reconstructor("convex", **{option: bad})


def test_limits_that_an_engine_does_not_have_are_refused() -> None:
    with pytest.raises(ao.errors.InvalidOption, match=r"SCIPY has no time limit.*HIGHS"):
        Convex(norm="l1", engine="SCIPY", time_limit=1.0)
    with pytest.raises(ao.errors.InvalidOption, match=r"PDLP has no tolerance.*CLARABEL"):
        Convex(norm="l1", engine="PDLP", tolerance=1e-8)


def test_other_wrong_options_are_refused() -> None:
    with pytest.raises(ao.errors.InvalidOption, match=r"unknown norm 'l3'; known: chi2.*, linf"):
        Convex(norm="l3")
    with pytest.raises(ao.errors.InvalidOption, match="tie_break must be 'l2' or 'none'"):
        Convex(norm="l1", tie_break="kl")  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_a_time_limit_is_kept_and_reported(norm: str) -> None:
    problem = ZOO["20,000 rows"]().problem
    result = Convex(norm=norm, engine="CLARABEL", time_limit=1e-6).reconstruct(problem)
    assert result.status is ao.Status.TIME_LIMIT
    assert not result.optimal
    assert result.residual < 1e-6
    best = Convex(norm=norm).reconstruct(problem).objective
    assert result.objective * (1 - result.gap) <= best * (1 + 1e-6)


def test_an_optimum_proved_after_the_time_limit_counts_as_proved() -> None:
    problem = ZOO["20,000 rows"]().problem
    result = Convex(norm="kl", time_limit=1e-6).reconstruct(problem)
    assert result.status is ao.Status.OPTIMAL
    assert np.allclose(result.table, ao.reconstruct(problem, "ipf").table, atol=1e-8)


def test_a_generous_time_limit_and_a_tolerance_change_nothing() -> None:
    problem = ZOO["worked example"]().problem
    for norm in ("l1", "l2", "linf", "kl"):
        plain = Convex(norm=norm).reconstruct(problem)
        limited = Convex(norm=norm, engine="CLARABEL", time_limit=60.0, tolerance=1e-9).reconstruct(problem)
        assert limited.status is ao.Status.OPTIMAL
        assert np.allclose(limited.table, plain.table, atol=1e-4)


def test_an_engine_that_gives_up_is_named_with_others_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convex_models, "_solve", lambda *_: ("solver_error", 0.0))
    problem = ao.Problem.from_table([[3, 1], [1, 8]], [0, 0])
    with pytest.raises(ao.AegisError, match=r"HIGHS gave up .*solver_error.*so did CLARABEL.*try.*'GLOP'"):
        Convex(norm="l1").reconstruct(problem)
    with pytest.raises(ao.AegisError, match=r"CLARABEL gave up .*solver_error.*'OSQP'"):
        Convex(norm="huber", engine="CLARABEL").reconstruct(problem)


def test_engines_that_were_tried_are_not_named_as_others_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """It said to try SCS, which had been tried."""
    monkeypatch.setattr(convex_models, "_solve", lambda *_: ("solver_error", 0.0))
    monkeypatch.setattr(Convex, "_has_derivatives", False)
    monkeypatch.setattr("aegis_opt.solvers.convex._convex.installed_engines", lambda _: ("CLARABEL", "SCS"))
    problem = ao.Problem.from_table([[3, 1], [1, 8]], [0, 0])
    with pytest.raises(ao.AegisError, match=r"CLARABEL gave up .*, and so did SCS; another norm may help"):
        Convex(norm="neyman").reconstruct(problem)
    with pytest.raises(ao.AegisError, match=r"CLARABEL gave up .* try engine='SCS'"):
        Convex(norm="neyman", engine="CLARABEL").reconstruct(problem)


@pytest.mark.parametrize("norm", ["lp=6", "neyman", "reverse_kl", "hellinger"])
def test_a_prior_far_larger_than_the_totals_beside_an_extra_constraint(norm: str) -> None:
    """Of 1e6 times the totals, every engine gave up on all problems of lp=6 and on most of neyman."""
    optimal = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = rng.gamma(1.0, size=(8, 3))
        coefficients = rng.integers(-2, 3, table.shape)
        value = float((coefficients * table).sum())
        at_most = ao.problem.LinearConstraint(coefficients, upper=value, name="at most")
        groups = [rng.permutation(np.arange(8) % size) for size in (3, 3, 4)]
        posed = ao.Problem.from_table(table, groups)
        prior = rng.gamma(1.0, size=table.shape) * 1e6
        problem = ao.Problem(posed.views, posed.histogram, prior=prior, constraints=[at_most])
        result = Convex(norm=norm).reconstruct(problem)
        assert result.status in (ao.Status.OPTIMAL, ao.Status.FEASIBLE)
        assert result.gap is not None
        optimal += result.optimal
    assert optimal >= 5


@pytest.mark.parametrize("norm", ["l2", "chi2", "hellinger", "neyman"])
def test_newtons_method_does_what_an_engine_that_gives_up_does_not(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = ZOO["overlapping views"]().problem
    by_engine = Convex(norm=norm).reconstruct(problem)
    monkeypatch.setattr(convex_models, "_solve", lambda *_: ("solver_error", 0.0))
    monkeypatch.setattr(convex_models, "_MODELS", OrderedDict())  # one compiled before holds its solution
    alone = Convex(norm=norm).reconstruct(problem)
    assert (alone.method, alone.status) == ("newton", ao.Status.OPTIMAL)
    assert alone.objective == pytest.approx(by_engine.objective, rel=1e-9)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_other_totals_of_the_same_structure_reuse_the_compiled_program(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    built = []
    build = convex_models._build
    monkeypatch.setattr(convex_models, "_build", lambda form, data: built.append(form) or build(form, data))
    monkeypatch.setattr(convex_models, "_MODELS", convex_models._MODELS.__class__())
    groups = [0, 0, 0, 1, 1]
    for _ in range(3):
        truth = 10 * np.arange(1, 6)[:, None] + rng.integers(1, 9, size=(5, 3))  # all row sums differ
        prior = rng.uniform(1, 9, size=truth.shape)
        problem = ao.Problem.from_table(truth, groups, prior=prior)
        result = Convex(norm=norm).reconstruct(problem)
        assert result.status is ao.Status.OPTIMAL
    forms = ["l2"] if norm == "l2" else [norm, "bounded"]
    assert built == forms


def test_the_cache_of_compiled_programs_is_bounded() -> None:
    for n in range(2, convex_models.CACHE_SIZE + 5):
        Convex(norm="l2").reconstruct(ao.Problem.from_table(np.eye(n) + 1, np.zeros(n, dtype=int)))
    assert len(convex_models._MODELS) <= convex_models.CACHE_SIZE


@pytest.mark.parametrize("norm", NORMS)
def test_any_multipliers_give_a_lower_bound(norm: str) -> None:
    rng = np.random.default_rng(11)
    for name in ("worked example", "overlapping views", "structural zeros", "non-uniform prior", "zeros"):
        case = ZOO[name]()
        distance = get_distance(norm).for_problem(case.problem)
        data = stack([reduced(case.problem, distance)], [distance])
        least = Convex(norm=norm).reconstruct(case.problem).objective
        for spread in (0.01, 0.3, 3.0):
            for _ in range(20):
                y = rng.normal(0, spread, size=len(data.right))
                assert data.reported(data.bounds(y))[0] <= least + 1e-6


def test_against_the_clock_large_matrices_are_not_multiplied_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ZOO["overlapping views"]().problem
    plain = Convex(norm="l2").reconstruct(problem)
    monkeypatch.setattr(_totals, "_QUICK_PRODUCT", 0)
    limited = Convex(norm="l2", time_limit=60.0).reconstruct(problem)
    assert limited.status is ao.Status.OPTIMAL
    assert np.abs(np.asarray(limited.table) - plain.table).max() < 1e-8


def test_scs_takes_over_where_no_other_engine_solves_a_steep_distance() -> None:
    """A feasible problem with a sixth power and an interval whose ends are near failed in Clarabel."""
    joint = [[0.0010828636267795062, 0.0008889523100787454, 0.0016501523950369855, 0.001323783358276835]]
    prior = [[0.03416008868105809, 0.008187039366155975, 0.02962065248233209, 0.004559388170721689]]
    bounds = [
        ([[1.0, 2.0, -1.0, -2.0]], -0.0014418966163438308, np.inf),
        ([[2.0, -1.0, 2.0, -1.0]], 0.002758721206260195, 0.00374787154429461),
        ([[1.0, -2.0, 1.0, 1.0]], 0.0017843195909186288, 0.0027734699289530436),
    ]
    problem = ao.Problem(
        [ao.View([0], joint)],
        prior=prior,
        constraints=[LinearConstraint(np.array(c), low, high) for c, low, high in bounds],
    )
    found = ao.reconstruct(problem, solver="convex", norm="lp=6")
    assert found.optimal
    assert np.allclose(found.table, joint)


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.filterwarnings("ignore:ties are not broken")
def test_an_engine_that_ends_with_an_unknown_status_is_followed_by_others(norm: str) -> None:
    """cvxpy has no word for the status UNKNOWN of HiGHS: `ValueError`."""
    rng = np.random.default_rng(13)
    table = rng.integers(1, 6, (5, 3)).astype(float)
    prior = np.round(rng.integers(1, 20, (5, 3)) * 10.0 ** rng.integers(1, 12, (5, 3)))
    problem = ao.Problem.from_table(table, [0, 1, 1, 1, 1], prior=prior)
    result = ao.reconstruct(problem, solver="convex", norm=norm)  # type: ignore[arg-type]
    assert result.status in (ao.Status.OPTIMAL, ao.Status.FEASIBLE)
    assert result.residual < 1e-6


def test_what_was_solved_before_is_no_answer_of_an_engine_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A compiled program is kept, and with it the values of the problem that it solved last."""
    table = np.array([[3.0, 1.0], [2.0, 5.0], [4.0, 4.0]])
    for_both = {"solver": "convex", "norm": "l1", "engine": "HIGHS", "tie_break": "none"}
    ao.reconstruct(ao.Problem.from_table(table, [0, 0, 1], prior=np.ones((3, 2))), **for_both)  # type: ignore[arg-type]
    monkeypatch.setattr(convex_models, "_solve", lambda *_: ("solver_error", 0.0))
    other = ao.Problem.from_table(table[::-1], [0, 0, 1], prior=np.ones((3, 2)))
    with pytest.raises(ao.AegisError, match="gave up"):
        ao.reconstruct(other, **for_both)  # type: ignore[arg-type]
