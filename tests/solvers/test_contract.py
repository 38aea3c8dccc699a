"""Every solver x every problem of the zoo: what the interface promises holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from problem_zoo import AGE_HEALTH, YOUNG_OLD, ZOO, Case

import aegis_opt as ao
from aegis_opt.distances import distance
from aegis_opt.rounding import ROUNDINGS, round_table
from aegis_opt.solvers.registry import solver_class


def _variants() -> list[tuple[str, str | None]]:
    """Every built-in solver with every norm it declares."""
    found: list[tuple[str, str | None]] = []
    for name in ao.available_solvers():
        norms = solver_class(name).capabilities.norms
        has_option = "norm" in solver_class(name).__dataclass_fields__
        found.extend((name, norm) for norm in norms if has_option)
        if not has_option:
            found.append((name, None))
    return found


VARIANTS = _variants()


def _build(variant: tuple[str, str | None], **options: object) -> ao.solvers.base.Reconstructor:
    name, norm = variant
    return ao.get_reconstructor(name, **({"norm": norm} if norm else {}), **options)


def _refused(case: Case, able: ao.solvers.base.Capabilities) -> bool:
    return (case.several_views and not able.several_views) or (case.masked_label and not able.masked_label)


@pytest.mark.parametrize("case_name", ZOO)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_every_solver_keeps_its_promises(variant: tuple[str, str | None], case_name: str) -> None:
    case = ZOO[case_name]()
    solver = _build(variant)
    if _refused(case, solver.capabilities):
        with pytest.raises(ao.errors.InvalidOption, match=solver.name):
            solver.reconstruct(case.problem)
        return
    result = solver.reconstruct(case.problem)
    table = np.asarray(result.table)
    assert table.shape == case.truth.shape
    assert table.min() >= 0
    assert result.residual == pytest.approx(case.problem.residual(table), abs=1e-12)
    measured = solver.distance.for_problem(case.problem)
    assert result.norm == measured.name
    assert result.objective == pytest.approx(measured.value(table, case.problem.prior))
    if solver.capabilities.integer:
        assert np.array_equal(table, np.round(table))
    if solver.capabilities.keeps_totals:
        assert result.residual == 0 if solver.capabilities.integer else result.residual < 1e-6
        assert result.status is ao.Status.OPTIMAL
        assert result.optimal
    else:
        assert result.status is (ao.Status.FEASIBLE if result.residual <= 1e-6 else ao.Status.VIOLATED)
    if case.structural_zeros:
        assert not table[case.problem.prior == 0].any()
    assert {"solve", "check"} <= set(result.seconds)
    assert result.method


@pytest.mark.parametrize("case_name", [name for name in ZOO if name != "20,000 rows"])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_integer_optimum_lies_between_continuous_optimum_and_rounded_tables(
    case_name: str, norm: str
) -> None:
    case = ZOO[case_name]()
    continuous = ao.reconstruct(case.problem, "convex", norm=norm)
    exact = ao.reconstruct(case.problem, "integer", norm=norm)
    assert continuous.objective <= exact.objective * (1 + 1e-6) + 1e-6
    assert exact.objective <= distance(case.truth, case.problem.prior, norm) + 1e-9


@pytest.mark.parametrize("case_name", ZOO)
def test_two_ways_to_the_least_divergence_agree(case_name: str) -> None:
    case = ZOO[case_name]()
    fitted = ao.reconstruct(case.problem, "ipf")
    conic = ao.reconstruct(case.problem, "convex", norm="kl")
    assert conic.objective == pytest.approx(fitted.objective, rel=1e-5, abs=1e-4)
    assert np.abs(np.asarray(fitted.table) - np.asarray(conic.table)).max() < 0.05


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_pandas_names_come_back_and_inputs_stay_as_they_are(variant: tuple[str, str | None]) -> None:
    truth = pd.DataFrame(AGE_HEALTH, index=[10, 17, 43, 55, 60, 65, 75, 80], columns=list("abcde"))
    before = truth.copy()
    problem = ao.Problem.from_table(truth, YOUNG_OLD)
    result = _build(variant).reconstruct(problem)
    assert isinstance(result.table, pd.DataFrame)
    assert list(result.table.index) == list(truth.index)
    assert list(result.table.columns) == list("abcde")
    pd.testing.assert_frame_equal(truth, before)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_the_same_seed_gives_the_same_table(variant: tuple[str, str | None]) -> None:
    problem = ZOO["worked example without histogram"]().problem
    first, second = (np.asarray(_build(variant, seed=5).reconstruct(problem).table) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_several_problems_at_once_give_what_each_gives_alone(variant: tuple[str, str | None]) -> None:
    problems = [ZOO[name]().problem for name in ("worked example", "one group", "zeros", "identity mask")]
    solver = _build(variant)
    for together, problem in zip(solver.reconstruct_many(problems), problems, strict=True):
        alone = solver.reconstruct(problem)
        assert together.objective == pytest.approx(alone.objective, rel=1e-6, abs=1e-6)
        assert together.status is alone.status


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(filter(None, v)))
def test_disagreeing_totals_are_refused_or_repaired_on_request(variant: tuple[str, str | None]) -> None:
    problem = ao.Problem([ao.View([0, 0, 1], [[10, 20], [4, 4]])], histogram=[20, 40, 8])
    with pytest.raises(ao.InfeasibleProblem, match=r"30 records.*histogram has 60"):
        _build(variant).reconstruct(problem)
    result = _build(variant, on_conflict="repair").reconstruct(problem)
    assert result.changes
    assert result.status in (ao.Status.REPAIRED, ao.Status.VIOLATED)
    assert result.residual > 0


FRACTIONAL = [variant for variant in VARIANTS if not solver_class(variant[0]).capabilities.integer]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("variant", FRACTIONAL, ids=lambda v: "-".join(filter(None, v)))
def test_a_table_rounded_afterwards_is_judged_like_one_rounded_at_once(
    variant: tuple[str, str | None], rounding: str
) -> None:
    problem = ZOO["worked example"]().problem
    if rounding == "hypergeometric" and _build(variant).distance_norm != "kl":
        return  # it draws around the table of least divergence only
    solved = _build(variant).reconstruct(problem)
    for seed in range(3):
        solver = _build(variant, rounding=rounding, seed=seed)
        at_once = solver.reconstruct(problem)
        rounded = round_table(problem, solved.table, rounding, seed=seed)
        afterwards = solver.certify_rounded(problem, solved, rounded)
        for field in ("status", "objective", "residual", "optimal", "gap", "norm", "method", "changes"):
            assert getattr(afterwards, field) == getattr(at_once, field), field
        assert np.array_equal(afterwards.table, at_once.table)
        assert afterwards.seconds == solved.seconds
        kept = problem.residual(rounded) <= 1e-6
        assert afterwards.status is (ao.Status.FEASIBLE if kept else ao.Status.VIOLATED)
        broken = rounded + 1.0
        lost = ao.Status.NOT_CONVERGED if ROUNDINGS[rounding].keeps_totals else ao.Status.VIOLATED
        assert solver.certify_rounded(problem, solved, broken).status is lost


def test_a_rounded_table_is_judged_by_the_repaired_totals() -> None:
    problem = ao.Problem([ao.View([0, 0, 1], [[10, 20], [4, 4]])], histogram=[20, 40, 8])
    solver = ao.get_reconstructor("ipf", rounding="controlled", on_conflict="repair")
    solved = replace(solver, rounding=None).reconstruct(problem)
    assert solved.repaired is not None
    rounded = round_table(solved.repaired, solved.table, "controlled", seed=1)
    result = solver.certify_rounded(problem, solved, rounded)
    assert result.status is ao.Status.REPAIRED
    assert result.residual == problem.residual(rounded) > 0
    rounded[0, 0] += 1
    assert solver.certify_rounded(problem, solved, rounded).status is ao.Status.NOT_CONVERGED


def test_an_unknown_solver_norm_or_option_is_named_with_what_exists() -> None:
    problem = ZOO["one group"]().problem
    with pytest.raises(ao.UnknownSolver, match="did you mean 'ipf'"):
        ao.reconstruct(problem, "ipff")
    with pytest.raises(ao.errors.InvalidOption, match=r"l1.*l2"):
        ao.reconstruct(problem, "convex", norm="l3")
    with pytest.raises(ao.errors.InvalidOption, match=r"cannot minimise the norm 'l1'.*convex, integer"):
        ao.reconstruct(problem, "ipf", norm="l1")
    with pytest.raises(ao.errors.InvalidOption, match=r"no option 'norm'.*rounding"):
        ao.reconstruct(problem, "sampling", norm="l1")
    with pytest.raises(ao.errors.InvalidOption, match=r"unknown rounding 'floor'.*controlled"):
        ao.reconstruct(problem, "ipf", rounding="floor")
    with pytest.raises(ao.errors.InvalidOption, match="seed"):
        ao.reconstruct(problem, "ipf", seed=-1)
    with pytest.raises(ao.errors.InvalidOption, match="on_conflict"):
        ao.reconstruct(problem, "ipf", on_conflict="ignore")
