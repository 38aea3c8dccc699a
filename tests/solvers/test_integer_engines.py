"""The engines of the exact integer solver against brute force, scipy's MILP solver, and each other."""

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import aegis_opt as ao
from aegis_opt.distances import distance
from aegis_opt.errors import InvalidOption
from aegis_opt.problem._constraint import LinearConstraint as Constraint
from aegis_opt.problem._feasibility import incidence
from aegis_opt.problem._presolve import reduce
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.integer._costs import Squares, target
from aegis_opt.solvers.integer._flow import certificate, improved, network, sides
from aegis_opt.solvers.integer._integer import Integer, split

NORMS = ("l1", "l2", "linf")


def random_problem(rng, most_rows=6, most_labels=3, largest=4):
    """One view with or without histogram, or two views; any kind of prior, with structural zeros."""
    n, k = rng.integers(1, most_rows + 1), rng.integers(1, most_labels + 1)
    table = rng.integers(0, largest + 1, size=(n, k)) * (rng.random((n, k)) < 0.8)
    table[0, 0] += 1
    kind = rng.integers(3)
    groups = rng.integers(0, 3, size=n)
    prior = None
    if rng.random() < 0.6:
        prior = (
            rng.random((n, k)) * 3 if rng.random() < 0.5 else rng.integers(0, 4, size=(n, k)).astype(float)
        )
        prior[table > 0] += 0.5 * (rng.random() < 0.5) + (prior[table > 0] == 0)
    views = [groups, rng.integers(0, 2, size=n)] if kind == 2 else groups
    return Problem.from_table(table, views, histogram=bool(kind == 1), prior=prior)


def brute_force(problem, norm):
    """Least distance over all integer tables that meet the totals."""
    n, k = problem.shape
    bound = np.full((n, k), np.inf)
    for margin in problem.margins:
        bound = np.minimum(bound, margin.totals[margin.rows][:, margin.columns])
    if problem.structural_zeros is not None:
        bound[problem.structural_zeros] = 0
    ranges = [range(int(b) + 1) for b in bound.ravel()]
    tables = (np.array(cells, dtype=float).reshape(n, k) for cells in itertools.product(*ranges))
    return min(distance(t, problem.prior, norm) for t in tables if problem.residual(t) == 0)


@pytest.mark.parametrize("engine", ["flow", "cp-sat"])
@pytest.mark.parametrize("norm", NORMS)
def test_no_integer_table_is_closer(engine, norm):
    rng = np.random.default_rng(3)
    for _ in range(12):
        problem = random_problem(rng, most_rows=3, most_labels=2, largest=2)
        result = Integer(norm=norm, engine=engine).reconstruct(problem)
        assert result.optimal
        assert result.objective == pytest.approx(brute_force(problem, norm), abs=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_flow_and_cp_sat_prove_the_same_optimum_on_200_problems(norm):
    rng = np.random.default_rng(NORMS.index(norm))
    for seed in range(200):
        problem = random_problem(rng)
        flow, search = (
            Integer(norm=norm, engine=engine, seed=seed).reconstruct(problem) for engine in ("flow", "cp-sat")
        )
        assert flow.optimal
        assert search.optimal
        assert flow.residual == search.residual == 0.0
        assert flow.objective == pytest.approx(search.objective, abs=1e-9)
        # the stated tie-break: least l2 among the optimal tables
        least = [distance(result.table, problem.prior, "l2") for result in (flow, search)]
        assert least[0] == pytest.approx(least[1], abs=1e-9)


def milp_optimum(problem, norm):
    """Independent formulation over single rows: l1 and linf directly, l2 by unit slopes."""
    n_cells = problem.prior.size
    A = incidence([m.cells() for m in problem.margins], [m.n_groups for m in problem.margins])
    totals = np.concatenate([m.totals.ravel() for m in problem.margins])
    u, eye = problem.prior.ravel(), sparse.eye_array(n_cells)
    if norm == "l2":
        depth = int(totals.max())
        slopes = (2 * np.arange(depth)[None, :] + 1 - 2 * u[:, None]).ravel()
        equal = LinearConstraint(A @ sparse.kron(eye, np.ones((1, depth))), totals, totals)
        outcome = milp(slopes, constraints=equal, bounds=Bounds(0, 1), integrality=np.ones(n_cells * depth))
        return np.sqrt(outcome.fun + (u**2).sum())
    n_bounds = n_cells if norm == "l1" else 1
    spread = eye if norm == "l1" else np.ones((n_cells, 1))
    constraints = [
        LinearConstraint(sparse.hstack([A, sparse.coo_array((A.shape[0], n_bounds))]), totals, totals),
        LinearConstraint(sparse.hstack([eye, -spread]), -np.inf, u),
        LinearConstraint(sparse.hstack([eye, spread]), u, np.inf),
    ]
    cost = np.concatenate([np.zeros(n_cells), np.ones(n_bounds)])
    return milp(cost, constraints=constraints, integrality=np.arange(len(cost)) < n_cells).fun


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("histogram", [True, False])
def test_scipy_milp_agrees_on_a_middling_table(norm, histogram):
    rng = np.random.default_rng(8)
    problem = Problem.from_table(rng.poisson(3, size=(24, 3)), np.arange(24) // 6, histogram)
    assert Integer(norm=norm).reconstruct(problem).objective == pytest.approx(
        milp_optimum(problem, norm), rel=1e-7
    )


@pytest.mark.parametrize("norm", NORMS)
def test_scipy_milp_agrees_on_overlapping_views(norm):
    rng = np.random.default_rng(9)
    views = [np.arange(12) // 4, np.arange(12) % 3]
    problem = Problem.from_table(rng.poisson(2, size=(12, 2)), views, True, rng.integers(1, 8, (12, 2)) / 2)
    result = Integer(norm=norm).reconstruct(problem)
    assert result.method == "cp-sat"
    assert result.objective == pytest.approx(milp_optimum(problem, norm), rel=1e-7)


def test_the_certificate_refuses_a_table_with_a_profitable_exchange():
    problem = Problem.from_table([[30, 10], [5, 25]], [0, 0])
    reduction = reduce(problem)
    net = network(reduction, sides(reduction))
    cost = Squares.of(reduction, target(reduction, 2.0**30), exact_layers=6)
    *_, (best, potentials) = improved(net, cost)
    assert potentials is not None
    assert certificate(net, cost, best + np.array([2, -2, -2, 2])) is None


def test_a_window_around_the_wrong_centre_moves_until_it_is_proved(monkeypatch):
    rng = np.random.default_rng(1)
    problem = Problem.from_table(rng.poisson(10**5, (6, 3)) * rng.integers(0, 3, (6, 3)), np.zeros(6, int))
    right = Integer().reconstruct(problem)
    monkeypatch.setattr("aegis_opt.solvers.integer._flow._fractional_optimum", lambda net, cost: net.lower)
    wrong = Integer().reconstruct(problem)
    assert right.iterations < wrong.iterations
    assert wrong.optimal
    assert wrong.objective == pytest.approx(right.objective, rel=1e-14)


@pytest.mark.parametrize("histogram", [True, False])
def test_splitting_rounds_down_or_up_and_keeps_row_totals(histogram):
    rng = np.random.default_rng(2)
    table = np.repeat(rng.permutation([3, 4, 0, 2])[None, :], 7, axis=0)
    truth = np.concatenate([rng.permuted(table, axis=1), rng.permuted(2 * table[:5], axis=1)])
    problem = Problem.from_table(truth, np.zeros(12, int), histogram)
    reduction = reduce(problem)
    totals = np.stack([truth[reduction.class_of == c].sum(axis=0) for c in range(reduction.shape[0])])
    for seed in range(50):
        rows = split(reduction, totals.astype(float), np.random.default_rng(seed))
        even = reduction.expand(totals)
        assert problem.residual(rows) == 0.0
        assert ((np.floor(even) <= rows) & (rows <= np.ceil(even))).all()


def test_the_flow_is_at_least_a_hundred_times_faster_than_cp_sat():
    rng = np.random.default_rng(1)
    problem = Problem.from_table(rng.poisson(10, size=(200, 2)), np.arange(200) // 10)
    seconds = {}
    for engine, repeats in (("flow", 5), ("cp-sat", 1)):
        Integer(engine=engine).solve(Problem.from_table([[1]], [0]))  # load the engine
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            Integer(engine=engine).solve(problem)
            times.append(time.perf_counter() - start)
        seconds[engine] = min(times)
    assert seconds["cp-sat"] > 100 * seconds["flow"]


def test_a_prior_of_many_digits_does_not_keep_cp_sat_from_a_small_table() -> None:
    """Rounded to 2^-40 of a record, this prior gave coefficients beside which no table came in a minute."""
    prior = [
        [1.98494464, 0.21441197, 2.75759681],
        [2.5360607, 2.48361088, 2.65596136],
        [2.94592947, 1.50002218, 2.36309966],
    ]
    limit = ao.problem.LinearConstraint([[-2, -1, -1], [1, -2, 1], [-1, 1, 1]], lower=-5)
    problem = ao.Problem([ao.View([0, 0, 0], [[5, 1, 3]])], [3, 4, 2], prior, constraints=[limit])
    result = ao.reconstruct(problem, "integer", norm="linf", time_limit=30.0, seed=40007)
    assert result.status is ao.Status.OPTIMAL
    assert result.objective == pytest.approx(1.94592947)


def test_a_constraint_on_billions_of_records_leaves_a_table_that_is_found() -> None:
    """CP-SAT found none in 30 seconds while it also minimised the distance."""
    coefficients = [[2, 2, 1, -2], [0, 0, -1, 1], [0, -1, -2, 1], [2, 0, 2, 0]]
    problem = ao.Problem(
        views=[
            ao.View(
                [0, 0, 1, 0], [[2815364455, 2100268624, 581899798, 271877962], [0, 46274573, 0, 3352597730]]
            )
        ],
        histogram=[3473412449, 738598720, 3398872303, 1557399670],
        constraints=[Constraint(coefficients, lower=10058464916, upper=10600406698)],
    )
    found = ao.reconstruct(problem, "integer", norm="l1", time_limit=20.0)
    assert found.residual == 0
    assert found.status in (ao.Status.OPTIMAL, ao.Status.TIME_LIMIT)


def test_linf_with_a_given_prior_and_a_constraint_is_found_at_once() -> None:
    """A sum of distances to this prior has coefficients of 28 bits, beside which CP-SAT found no table."""
    prior = np.array(
        [
            [1.12683908, 0.93781969, 2.99800915],
            [1.93808409, 0.13115962, 1.1614377],
            [3.23944577, 0.27905108, 2.68562628],
        ]
    )
    constraint = Constraint([[2, 0, -1], [-1, 1, 1], [-2, 0, -1]], lower=1, upper=3)
    problem = ao.Problem(
        views=[ao.View([0, 0, 0], [[1, 6, 3]])], histogram=[4, 4, 2], prior=prior, constraints=[constraint]
    )
    found = ao.reconstruct(problem, "integer", norm="linf", time_limit=10.0, seed=1100807)
    assert found.is_optimal
    every = list(itertools.product(range(7), repeat=3))
    rows = ([row for row in every if sum(row) == total] for total in (4, 4, 2))
    tables = map(np.array, itertools.product(*rows))
    least = min(
        float(np.abs(table - prior).max())
        for table in tables
        if (table.sum(axis=0) == [1, 6, 3]).all() and constraint.violation(table) == 0
    )
    assert found.objective == pytest.approx(least, rel=1e-9)


def test_the_rounding_of_a_prior_a_thousandth_of_a_record_away_is_no_gap() -> None:
    """Half a unit of 2^-28 is 2e-6 of this distance: the only table within the constraint was not proved."""
    problem = ao.Problem(
        [ao.View([0], [[1, 0]])],
        [1],
        [[0.99903597, 0.0]],
        constraints=[Constraint([[2, 1]], lower=1, upper=3)],
    )
    found = ao.reconstruct(problem, "integer", norm="l1", engine="cp-sat")
    assert found.is_optimal
    assert found.gap is not None
    assert 0 < found.gap < 1e-6


def in_few_groups(rng: np.random.Generator) -> tuple[Problem, float]:
    """Many records in one view of few groups of up to 2e5 rows; and the least linf, in closed form.

    Without a histogram, the best whole table shares each count as evenly as whole numbers allow.
    """
    n, k, m = int(10 ** rng.uniform(2, 5.3)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    rows = np.arange(n)
    groups = rows % m if rng.random() < 0.5 else np.minimum(rows, m - 1)
    joint = np.floor(10 ** rng.uniform(12, 15.9) * rng.dirichlet(np.full(m * k, rng.choice([0.1, 1]))))
    joint = joint.reshape(m, k)
    prior = Fraction(int(joint.sum()), n * k)
    ends = [
        int(count) // int(size) + up
        for counts, size in zip(joint, np.bincount(groups), strict=True)
        for count in counts
        for up in (0, int(count % size > 0))
    ]
    return Problem([ao.View(groups, joint)]), float(max(abs(end - prior) for end in ends))


def test_linf_is_exact_where_records_times_cells_leave_64_bits() -> None:
    rng = np.random.default_rng(5)
    for _ in range(15):
        problem, least = in_few_groups(rng)
        result = Integer(norm="linf").reconstruct(problem)
        assert result.optimal
        assert result.residual == 0
        assert result.objective == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("on_conflict", ["raise", "repair", "relax"])
@pytest.mark.parametrize("engine", ["auto", "cp-sat"])
def test_crossing_views_of_1e14_records_in_65536_rows_are_feasible(engine: str, on_conflict: str) -> None:
    n, records = 2**16, 2.0**47
    table = np.zeros((n, 2))
    table[[0, 3], 0] = records
    table[4:, 1] = 1
    table[5, 1] = 2
    views = [np.full(n, 2) for _ in range(2)]
    views[0][:4], views[1][:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    problem = Problem.from_table(table, views, histogram=False)
    result = ao.reconstruct(problem, "integer", norm="linf", engine=engine, on_conflict=on_conflict)
    assert result.optimal
    assert not result.changes
    assert np.asarray(result.table)[:4, 0].tolist() == [records / 2] * 4


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_cp_sat_proves_the_optimum_of_9e15_records_in_crossing_views(norm: str) -> None:
    """l1 in 64 bits takes a coarser prior than N / (n k), and the gap accounts for it."""
    n, records = 1200, 9007199254740881
    table = np.ones((n, 2))
    table[0, 0] = records - 2 * n + 1
    views = [np.arange(n) // 100, (np.arange(n) + 50) // 100]
    problem = Problem.from_table(table, views)
    search, flow = (
        Integer(norm=norm, engine="cp-sat").reconstruct(each)
        for each in (problem, Problem.from_table(table, np.zeros(n, int)))
    )
    assert search.optimal
    assert search.residual == 0
    assert search.objective == pytest.approx(flow.objective, rel=1e-9)


@pytest.mark.parametrize("engine", ["flow", "cp-sat"])
def test_sums_that_leave_64_bits_are_refused_with_a_way_out_that_works(engine: str) -> None:
    prior = np.random.default_rng(0).uniform(0.5, 2, (3000, 2))
    problem = Problem([ao.View(np.zeros(3000, int), [[4361923625641001, 4305546052236736]])], prior=prior)
    with pytest.raises(InvalidOption, match=r"64-bit numbers.*solver='convex' without a rounding"):
        Integer(norm="l1", engine=engine).reconstruct(problem)
    assert ao.reconstruct(problem, "convex", norm="l2").residual < 100


def test_sums_beyond_64_bits_are_no_warning_in_the_network() -> None:
    """Each of 3000 cells may hold all of 9e15 records, as long as the bound on the distance is wide."""
    prior = np.random.default_rng(0).uniform(0.5, 2, (3000, 2))
    problem = Problem([ao.View(np.zeros(3000, int), [[4361923625641001, 4305546052236736]])], prior=prior)
    result = Integer(norm="linf").reconstruct(problem)
    assert result.optimal
    assert result.residual == 0


def test_overlapping_views_of_very_many_records_have_a_table_that_is_found() -> None:
    """Through ranges of 50 bits CP-SAT found none in five seconds."""
    rng = np.random.default_rng(7002471)
    n = int(10 ** rng.uniform(2, 5))
    rng.integers(2, 4, size=2)
    groups = rng.integers(0, rng.integers(1, 4), size=(3, n))
    groups[:, :3] = np.arange(3)
    patterns = np.unique(groups, axis=1)
    records = 10 ** rng.uniform(9, 15.9)
    truth = np.floor(records * rng.dirichlet(np.full(patterns.shape[1] * 2, 0.3))).reshape(-1, 2)
    truth[0, 0] += 1
    views = []
    for known, of in zip(groups, patterns, strict=True):
        joint = np.zeros((3, 2))
        np.add.at(joint, of, truth)
        views.append(ao.View(known, joint))
    result = ao.reconstruct(ao.Problem(views), "integer", norm="l1", time_limit=5.0)
    assert result.status in (ao.Status.OPTIMAL, ao.Status.TIME_LIMIT)
    assert result.residual == 0
