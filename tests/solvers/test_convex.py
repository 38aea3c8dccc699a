"""The convex solver: its optima against closed forms and independent formulations of the full problem."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_zoo import ZOO
from scipy import sparse
from scipy.optimize import linprog

import aegis_opt as ao
from aegis_opt.distances import distance
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._feasibility import incidence
from aegis_opt.solvers.convex._convex import Convex

NORMS = ("l1", "l2", "linf", "kl")
SMALL = [name for name in ZOO if name != "20,000 rows"]


def _equations(problem: ao.Problem) -> tuple[sparse.csr_array, np.ndarray]:
    """All totals of the unreduced problem, on all cells."""
    margins = problem.margins
    A = incidence([m.cells() for m in margins], [m.n_groups for m in margins])
    return A, np.concatenate([m.totals.ravel() for m in margins])


def _upper(problem: ao.Problem) -> np.ndarray:
    """Upper bounds of all cells: 0 for structural zeros."""
    zeros = problem.structural_zeros
    return np.full(np.prod(problem.shape), np.inf) if zeros is None else np.where(zeros.ravel(), 0.0, np.inf)


def _plain_optimum(problem: ao.Problem, norm: str) -> float:
    """Least distance by cvxpy on the unreduced problem, written as in the textbook."""
    A, b = _equations(problem)
    u = problem.prior.ravel()
    x = cp.Variable(len(u), nonneg=True)
    objective = {
        "l1": lambda: cp.norm1(x - u),
        "l2": lambda: cp.norm2(x - u),
        "linf": lambda: cp.norm_inf(x - u),
        "kl": lambda: cp.sum(cp.kl_div(x, np.maximum(u, 1e-300))),
    }[norm]()
    closed = np.isfinite(_upper(problem))
    constraints = [A @ x == b, *([x[np.flatnonzero(closed)] == 0] if closed.any() else [])]
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL"))


def _linprog_optimum(problem: ao.Problem, norm: str) -> float:
    """Least l1 or linf distance as a linear program in x and epigraph variables, by scipy."""
    A, b = _equations(problem)
    u = problem.prior.ravel()
    n = len(u)
    E = sparse.eye_array(n) if norm == "l1" else sparse.csr_array(np.ones((n, 1)))
    epigraph = E.shape[1]
    outcome = linprog(
        np.concatenate([np.zeros(n), np.ones(epigraph)]),
        A_ub=sparse.vstack(
            [sparse.hstack([sparse.eye_array(n), -E]), sparse.hstack([-sparse.eye_array(n), -E])]
        ),
        b_ub=np.concatenate([u, -u]),
        A_eq=sparse.hstack([A, sparse.csr_array((A.shape[0], epigraph))]),
        b_eq=b,
        bounds=[*((0, top) for top in _upper(problem)), *[(0, None)] * epigraph],
    )
    assert outcome.status == 0
    return float(outcome.fun)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A small table of counts and a partition of its rows."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    table = np.array(draw(st.lists(st.integers(0, 9), min_size=n * k, max_size=n * k))).reshape(n, k)
    groups = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    return table, np.unique(groups, return_inverse=True)[1]


few = settings(max_examples=15, deadline=None)


@pytest.mark.parametrize("norm", NORMS)
def test_without_histogram_every_row_of_a_group_gets_an_equal_share(norm: str) -> None:
    joint = np.array([[6.0, 3.0], [1.0, 2.0]])
    problem = ao.Problem([ao.View([0, 1, 0, 0], joint)])
    expected = np.array([[2.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 1.0]])
    result = Convex(norm=norm).reconstruct(problem)
    assert np.allclose(result.table, expected, atol=1e-7)
    assert result.optimal


@pytest.mark.parametrize("norm", NORMS)
def test_groups_of_one_row_are_known_exactly(norm: str) -> None:
    truth = np.array([[3, 0, 1], [0, 5, 2], [4, 4, 4]])
    result = Convex(norm=norm).reconstruct(ao.Problem.from_table(truth, [0, 1, 2]))
    assert np.allclose(result.table, truth, atol=1e-7)


@pytest.mark.parametrize("norm", NORMS)
def test_a_feasible_prior_is_its_own_reconstruction(norm: str) -> None:
    truth = np.array([[3.0, 1.0], [2.0, 5.0], [4.0, 0.5]])
    result = Convex(norm=norm).reconstruct(ao.Problem.from_table(truth, [0, 0, 1], prior=truth))
    assert result.objective < 1e-6
    assert np.allclose(result.table, truth, atol=1e-5)


def test_l2_of_a_free_block_adds_row_and_column_corrections() -> None:
    # Without active bounds the least-squares table with given margins is row mean + column mean - mean.
    truth = np.array([[10, 12, 14], [9, 14, 10], [11, 11, 12.0]])
    result = Convex(norm="l2").reconstruct(ao.Problem.from_table(truth, [0, 0, 0]))
    expected = truth.mean(axis=1)[:, None] + truth.mean(axis=0)[None, :] - truth.mean()
    assert np.allclose(result.table, expected, atol=1e-10)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_linear_norms_reach_the_optimum_of_an_independent_linear_program(norm: str, name: str) -> None:
    problem = ZOO[name]().problem
    result = Convex(norm=norm).reconstruct(problem)
    assert result.objective == pytest.approx(_linprog_optimum(problem, norm), rel=1e-7, abs=1e-7)
    assert result.gap < 1e-7


@pytest.mark.parametrize("name", SMALL)
def test_l2_meets_the_optimality_conditions_of_the_full_problem(name: str) -> None:
    # 2 (x - u) = A'y on positive cells and >= A'y on cells at 0, for some y; a linear program finds it.
    problem = ZOO[name]().problem
    A, _ = _equations(problem)
    x = Convex(norm="l2").reconstruct(problem).table.ravel()
    gradient = 2 * (x - problem.prior.ravel())
    open_cells = np.isinf(_upper(problem))
    positive, zero = open_cells & (x > 1e-7), open_cells & (x <= 1e-7)
    signs = [(A.T[positive], gradient[positive]), (-A.T[positive], -gradient[positive])]
    signs.append((A.T[zero], gradient[zero]))
    rows = sparse.vstack([matrix for matrix, _ in signs])
    outcome = linprog(
        np.concatenate([np.zeros(A.shape[0]), [1.0]]),
        A_ub=sparse.hstack([rows, -np.ones((rows.shape[0], 1))]),
        b_ub=np.concatenate([right for _, right in signs]),
        bounds=[(None, None)] * A.shape[0] + [(0, None)],
    )
    assert outcome.status == 0
    assert outcome.fun < 1e-6


@pytest.mark.parametrize("name", ["worked example", "overlapping views", "structural zeros", "masked label"])
@pytest.mark.parametrize("norm", NORMS)
def test_presolve_changes_nothing(norm: str, name: str) -> None:
    problem = ZOO[name]().problem
    assert Convex(norm=norm).reconstruct(problem).objective == pytest.approx(
        _plain_optimum(problem, norm), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("norm", NORMS)
@few
@given(given_table=tables(), histogram=st.booleans())
def test_random_problems_are_solved_to_proved_optimality(
    norm: str, given_table: tuple[np.ndarray, np.ndarray], histogram: bool
) -> None:
    table, groups = given_table
    problem = ao.Problem.from_table(table, groups, histogram=histogram)
    result = Convex(norm=norm).reconstruct(problem)
    assert result.status is ao.Status.OPTIMAL
    assert result.residual < 1e-6
    assert result.objective <= distance(table, problem.prior, norm) + 1e-6
    if table.any():
        assert result.objective == pytest.approx(_plain_optimum(problem, norm), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("norm", NORMS)
@few
@given(given_table=tables(), seed=st.integers(0, 99))
def test_permuted_rows_permute_the_table(
    norm: str, given_table: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    table, groups = given_table
    order = np.random.default_rng(seed).permutation(len(table))
    straight = Convex(norm=norm).reconstruct(ao.Problem.from_table(table, groups)).table
    permuted = Convex(norm=norm).reconstruct(ao.Problem.from_table(table[order], groups[order])).table
    assert np.allclose(permuted, straight[order], atol=1e-3)


@pytest.mark.parametrize("norm", NORMS)
@few
@given(given_table=tables(), factor=st.sampled_from([0.01, 7.0, 1e5]))
def test_scaled_counts_scale_the_table(
    norm: str, given_table: tuple[np.ndarray, np.ndarray], factor: float
) -> None:
    table, groups = given_table
    one = Convex(norm=norm).reconstruct(ao.Problem.from_table(table, groups))
    many = Convex(norm=norm).reconstruct(ao.Problem.from_table(factor * table, groups))
    assert np.allclose(many.table, factor * one.table, atol=1e-4 * factor)
    assert many.residual < 1e-6


@pytest.mark.parametrize("norm", NORMS)
def test_extra_constraints_hold_and_bind(norm: str) -> None:
    truth = np.array([[8, 2], [1, 9], [5, 5], [3, 3]])
    first = np.zeros((4, 2))
    first[0, 0] = 1.0
    both = np.zeros((4, 2))
    both[[1, 2], 1] = [2.0, -1.0]
    free = ao.Problem.from_table(truth, [0, 0, 0, 1])
    problem = ao.Problem(
        free.views,
        free.histogram,
        constraints=[
            LinearConstraint(first, lower=8.0, name="many"),
            LinearConstraint(both, upper=11.5),
            LinearConstraint(both, lower=11.5, upper=11.5),
        ],
    )
    result = Convex(norm=norm).reconstruct(problem)
    assert result.status is ao.Status.OPTIMAL
    assert result.residual < 1e-6
    assert result.table[0, 0] >= 8 - 1e-6
    assert result.objective > Convex(norm=norm).reconstruct(free).objective + 0.1


@pytest.mark.parametrize("norm", ["l2", "kl"])
def test_a_prior_within_the_constraints_is_the_optimum_itself(norm: str) -> None:
    """An engine's table was taken as it came: sums of squares right to 1e-10 leave cells off by 1e-5."""
    at_most = LinearConstraint([[0], [1], [0], [-1]], upper=0)
    result = ao.reconstruct(
        ao.Problem([ao.View([0, 0, 0, 0], [[1]])], constraints=[at_most]), "convex", norm=norm
    )
    assert result.status is ao.Status.OPTIMAL
    assert np.abs(np.asarray(result.table) - 0.25).max() < 1e-15


def test_under_constraints_the_optimum_is_exact() -> None:
    """By hand: x = (6, 2) has to sum to 8 with x2 - x1 >= 2, and of the four that do not bind none counts."""
    loose = [LinearConstraint([[1], [0]], upper=limit) for limit in (4, 5, 6, 7)]
    apart = LinearConstraint([[-1], [1]], lower=2)
    result = ao.reconstruct(
        ao.Problem([ao.View([0, 0], [[8]])], prior=[[6], [2]], constraints=[*loose, apart]), "convex"
    )
    assert result.status is ao.Status.OPTIMAL
    assert np.abs(np.asarray(result.table).ravel() - [3, 5]).max() < 1e-14


def test_constraints_that_nothing_meets_are_named_infeasible() -> None:
    problem = ao.Problem(
        [ao.View([0, 0], [[4.0, 4.0]])],
        constraints=[LinearConstraint([[1, 0], [1, 0]], lower=5, name="five")],
    )
    with pytest.raises(ao.InfeasibleProblem, match="constraint 'five'"):
        Convex(norm="l1").reconstruct(problem)


def test_views_that_agree_in_pairs_but_not_together_are_infeasible() -> None:
    # Three yes/no questions: first and second mostly agree, second and third too, first and third do not.
    answers = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    same, other = np.array([[5.0], [1], [1], [5]]), np.array([[1.0], [5], [5], [1]])
    views = [
        ao.View(answers[:, one] * 2 + answers[:, two], joint)
        for one, two, joint in [(0, 1, same), (1, 2, same), (0, 2, other)]
    ]
    good = ao.Problem.from_table([[3, 0], [0, 1]], [0, 0])
    for norm in NORMS:
        with pytest.raises(ao.InfeasibleProblem, match=r"meets these totals together: view 0.*on_conflict"):
            Convex(norm=norm).reconstruct_many([good, ao.Problem(views), good])


def test_totals_that_agree_up_to_rounding_error_are_reconciled() -> None:
    row_sums = np.array([1.0, 3.0, 3.0, 4.0]) + 1e-8 * np.array([1, 3, -2, 5])
    problem = ao.Problem([ao.View([0, 0, 1, 1], [[3.0, 1.0], [2.0, 5.0]])], histogram=row_sums)
    for norm in NORMS:
        result = Convex(norm=norm).reconstruct(problem)
        assert result.status is ao.Status.OPTIMAL
        assert result.residual < 1e-7


@pytest.mark.parametrize("norm", NORMS)
def test_a_stack_gives_each_problem_what_it_gets_alone(norm: str) -> None:
    problems = [ZOO[name]().problem for name in SMALL]
    problems.append(ao.Problem([ao.View([0, 0], [[0.0, 0.0]])], prior=[[1.0, 2.0], [3.0, 4.0]]))  # no cells
    together = Convex(norm=norm).reconstruct_many(problems)
    for problem, result in zip(problems, together, strict=True):
        alone = Convex(norm=norm).reconstruct(problem)
        assert result.status is alone.status is ao.Status.OPTIMAL
        assert result.objective == pytest.approx(alone.objective, rel=1e-6, abs=1e-6)
        if norm != "kl":
            assert np.allclose(np.asarray(result.table), np.asarray(alone.table), atol=1e-5)


def test_problems_of_very_different_size_are_all_solved_accurately() -> None:
    rng = np.random.default_rng(0)
    problems = [
        ao.Problem.from_table(size * rng.integers(1, 9, size=(8, 3)), [0, 0, 0, 0, 1, 1, 1, 1])
        for size in (1, 10**3, 10**6)
    ]
    for norm in NORMS:
        for result in Convex(norm=norm).reconstruct_many(problems):
            assert result.status is ao.Status.OPTIMAL
            assert result.residual < 1e-6


def test_a_long_column_is_solved_in_well_under_its_full_size() -> None:
    case = ZOO["20,000 rows"]()
    for norm in NORMS:
        result = Convex(norm=norm).reconstruct(case.problem)
        assert result.status is ao.Status.OPTIMAL
        assert result.residual < 1e-6
        assert result.gap < 1e-7
        assert {"build", "model", "solve", "polish", "check"} <= set(result.seconds)


@pytest.mark.parametrize("records", [1e6, 2e9, 1e13])
def test_the_huber_distance_of_many_records_is_solved(records: float) -> None:
    """Beside cells of 1e8 records, squares of up to one record made every engine call it infeasible."""
    rng = np.random.default_rng(50179)
    truth = records * rng.dirichlet(np.ones(24)).reshape(8, 3)
    groups = [np.unique(rng.integers(0, 4, 8), return_inverse=True)[1] for _ in range(3)]
    result = ao.reconstruct(ao.Problem.from_table(truth, groups), "convex", norm="huber")
    assert result.status is ao.Status.OPTIMAL


@pytest.mark.parametrize("norm", ["reverse_kl", "chi2", "neyman", "hellinger", "lp=1.5", "huber"])
@pytest.mark.parametrize("records", [1e-2, 1e4, 1e12])
def test_every_distance_takes_constraints_whatever_the_unit_of_the_counts(norm: str, records: float) -> None:
    """Written in records, the costs of 1e12 of them made engines call what has solutions infeasible."""
    rng = np.random.default_rng(60030)
    truth = records * rng.dirichlet(np.ones(12)).reshape(4, 3)
    first = np.zeros((4, 3))
    first[0, 0] = 1.0
    known = ao.Problem.from_table(truth, [0, 0, 1, 1])
    limit = LinearConstraint(first, lower=0.9 * truth[0, 0], upper=1.1 * truth[0, 0])
    problem = ao.Problem(known.views, known.histogram, constraints=[limit])
    result = ao.reconstruct(problem, "convex", norm=norm)
    assert result.status in (ao.Status.OPTIMAL, ao.Status.FEASIBLE)


def test_roughness_without_positions_is_the_divergence_with_all_its_means() -> None:
    """Where engines give up on 9e13 fractional records, Newton's method finds the divergence alone."""
    rng = np.random.default_rng(80013)
    truth = 10 ** rng.uniform(7, 14) * rng.dirichlet(np.ones(24)).reshape(8, 3)
    groups = [np.unique(rng.integers(0, rng.integers(1, 9), 8), return_inverse=True)[1] for _ in range(3)]
    problem = ao.Problem.from_table(truth, groups)
    rough, plain = (ao.reconstruct(problem, "convex", norm=norm) for norm in ("roughness", "kl"))
    assert rough.status is plain.status
    assert np.array_equal(rough.table, plain.table)
