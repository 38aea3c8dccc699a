"""Totals that contradict each other: which ones, and the nearest totals that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from aegis_opt.errors import InfeasibleProblem
from aegis_opt.problem._consistency import WAY_OUT, direct_conflicts, name_cells, tolerance
from aegis_opt.problem._feasibility import incidence
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View

if TYPE_CHECKING:
    from scipy import sparse

LARGEST_EXPLAINED = 20_000  # cells up to which an error message computes the least repair


def check(problem: Problem) -> None:
    """Raise `InfeasibleProblem` where totals contradict each other, naming the ones that do.

    Cheap, and finds what goes wrong in practice: two margins that disagree, and positive totals without any
    cell to hold them. Conflicts among three or more margins show when a solver finds no table.
    """
    if next(direct_conflicts(problem), None) is not None:
        raise InfeasibleProblem(explain(problem))


def explain(problem: Problem) -> str:
    """Say which totals of an infeasible problem contradict each other, and what the least repair is.

    Two margins that disagree are named by what both determine. Otherwise the totals named form an
    *irreducible* set: they cannot hold together, but any of them left out, the others can.
    """
    direct = list(direct_conflicts(problem, pairwise=True))
    if direct:
        more = f" (and {len(direct) - 3} more)" if len(direct) > 3 else ""
        text = f"the known totals disagree: {'; '.join(direct[:3])}{more}."
    else:
        names = irreducible_conflict(problem)
        text = f"no table without negative counts meets these totals together: {'; '.join(names)}."
    if problem.shape[0] * problem.shape[1] <= LARGEST_EXPLAINED:
        changes = reconcile(problem, "repair").changes
        shown = "; ".join(changes[:5]) + (f"; ... ({len(changes)} in all)" if len(changes) > 5 else "")
        text += f" Least repair: {shown}."
    return f"{text} {WAY_OUT}"


def has_solution(problem: Problem) -> bool:
    """Whether some table (of any non-negative numbers) meets all totals and constraints."""
    system = _System.of(problem)
    return system.feasible(np.arange(len(system.b)))


def irreducible_conflict(problem: Problem) -> list[str]:
    """Name totals (and constraints) that cannot hold together although all but any one of them can.

    The multipliers of a linear program that minimises the total violation single out totals whose combination
    is impossible (Farkas' lemma); a deletion filter then drops those that are not needed [1]_.

    References
    ----------
    .. [1] J. W. Chinneck, "Feasibility and Infeasibility in Optimization", Springer 2008.
    """
    from scipy import sparse

    from aegis_opt.problem._linear_program import linprog

    system = _System.of(problem)
    n_totals, n_cells = system.A.shape
    identity = sparse.eye_array(n_totals)
    outcome = linprog(
        np.concatenate([np.zeros(n_cells), np.ones(2 * n_totals)]),
        A_eq=sparse.hstack([system.A, identity, -identity], format="csr"),
        b_eq=system.b,
        A_ub=system.wide_limits(2 * n_totals),
        b_ub=system.limits,
        method="highs",
    )
    if outcome.status == 2:
        raise _impossible_constraints(problem)
    suspects = np.flatnonzero(np.abs(outcome.eqlin.marginals) > 1e-9)
    needed = list(suspects)
    for suspect in suspects:
        rest = [row for row in needed if row != suspect]
        if not system.feasible(np.array(rest, dtype=np.int64)):
            needed = rest
    names = [f"{system.names[row]} = {system.b[row]:.10g}" for row in needed]
    return names + [f"constraint {c.name!r}" for c in problem.constraints]


@dataclass(frozen=True, eq=False)
class Reconciled:
    """A problem with consistent totals, and what was changed to get there."""

    problem: Problem
    changes: tuple[str, ...]


def reconcile(problem: Problem, how: Literal["repair", "relax"]) -> Reconciled:
    """Replace contradictory totals by the nearest ones that some table meets.

    "repair" changes as few records as possible (least sum of absolute changes), so most totals stay as they
    are; "relax" is the limit of quadratic penalties on all violations (least sum of squared changes), so the
    disagreement is shared. Structural zeros and extra constraints are kept.

    Examples
    --------
    >>> problem = Problem([View([0, 0], [[3, 3]])], histogram=[2, 5])
    >>> reconcile(problem, "relax").problem.histogram.round(6).tolist()
    [1.75, 4.75]
    """
    import cvxpy as cp

    system = _System.of(problem)
    x = cp.Variable(system.A.shape[1], nonneg=True)
    miss = system.A @ x - system.b
    limits = [] if system.C is None else [system.C @ x <= system.limits]
    if how == "repair":
        cp.Problem(cp.Minimize(cp.norm1(miss)), limits).solve(solver=cp.HIGHS)
    else:
        cp.Problem(cp.Minimize(cp.sum_squares(miss)), limits).solve(solver=cp.CLARABEL)
    if x.value is None:
        raise _impossible_constraints(problem)
    values = np.where(x.value > 1e-7, x.value, 0.0)
    if problem.is_integral and np.abs(values - np.round(values)).max() < 1e-6:
        values = np.round(values)
    table = np.zeros(problem.shape)
    table.flat[system.cells] = values
    totals = [margin.sums(table) for margin in problem.margins]
    slack = tolerance(problem)
    whole = [np.round(new) for new in totals]  # all or none: some rounded ones would contradict the others
    if problem.is_integral and all(np.abs(a - b).max() <= slack for a, b in zip(whole, totals, strict=True)):
        totals = whole
    changes = [
        f"{name}: {old:.10g} -> {new:.10g}"
        for margin, found in zip(problem.margins, totals, strict=True)
        for (name, old), new in zip(_named(problem, margin), found.ravel(), strict=True)
        if abs(old - new) > slack
    ]
    found = list(zip([margin.kind for margin in problem.margins], totals, strict=True))
    joints = [new for kind, new in found if kind == "view"]
    views = zip(problem.views, joints, strict=True)
    consistent = Problem(
        [View(view.groups, new, view.label_groups) for view, new in views],
        next((new[:, 0] for kind, new in found if kind == "histogram"), None),
        problem.given_prior,
        row_names=problem.row_names,
        label_names=problem.label_names,
        constraints=problem.constraints,
    )
    return Reconciled(consistent, tuple(changes))


@dataclass(frozen=True, eq=False)
class _System:
    """All totals as equations A x = b over the cells that are no structural zeros, with the constraints."""

    A: sparse.csr_array
    b: FloatArray
    C: sparse.csr_array | None
    limits: FloatArray | None
    cells: IntArray
    names: list[str]

    @classmethod
    def of(cls, problem: Problem) -> _System:
        from scipy import sparse

        zeros = problem.structural_zeros
        cells = np.arange(problem.prior.size) if zeros is None else np.flatnonzero(~zeros)
        margins = problem.margins
        A = incidence([m.cells()[cells] for m in margins], [m.n_groups for m in margins])
        b = np.concatenate([margin.totals.ravel() for margin in margins])
        rows, limits = [], []
        for constraint in problem.constraints:
            coefficients = constraint.coefficients.ravel()[cells]
            for sign, limit in [(1.0, constraint.upper), (-1.0, -constraint.lower)]:
                if np.isfinite(limit):
                    rows.append(sign * coefficients)
                    limits.append(limit)
        C = sparse.csr_array(np.array(rows)) if rows else None
        names = [name for margin in margins for name, _ in _named(problem, margin)]
        return cls(A, b, C, np.array(limits) if rows else None, cells, names)

    def wide_limits(self, extra: int) -> Any:
        """The constraints' matrix with `extra` columns of zeros for slack variables."""
        if self.C is None:
            return None
        from scipy import sparse

        return sparse.hstack([self.C, sparse.csr_array((self.C.shape[0], extra))], format="csr")

    def feasible(self, rows: IntArray) -> bool:
        """Whether some table meets the totals of these rows."""
        if len(rows) == 0:
            return True
        from aegis_opt.problem._linear_program import linprog

        A, b = self.A[rows], self.b[rows]
        outcome = linprog(np.zeros(A.shape[1]), A_eq=A, b_eq=b, A_ub=self.C, b_ub=self.limits, method="highs")
        return int(outcome.status) != 2


def _impossible_constraints(problem: Problem) -> InfeasibleProblem:
    names = ", ".join(repr(constraint.name) for constraint in problem.constraints)
    return InfeasibleProblem(f"no table meets the extra constraints, whatever the totals: {names}")


def _named(problem: Problem, margin: Margin) -> Iterator[tuple[str, float]]:
    """Names and values of all totals of a margin, in row-major order."""
    for (group, column), total in np.ndenumerate(margin.totals):
        where = name_cells(problem, margin.rows == group, margin.columns == column)
        yield f"{margin.name} for {where}", float(total)
