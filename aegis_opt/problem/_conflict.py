"""Totals that contradict each other: which ones, and the nearest totals that do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import AegisError, InfeasibleProblem
from aegis_opt.problem._consistency import WAY_OUT, direct_conflicts, name_cells, tolerance
from aegis_opt.problem._feasibility import incidence
from aegis_opt.problem._least_violation import LeastViolation, least_violation
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._problem import Problem

if TYPE_CHECKING:
    from scipy import sparse

LARGEST_EXPLAINED = 20_000  # cells up to which an error message computes the least repair
_LARGEST_NOISE = 0.1  # records up to which a repaired count can be off the whole number it stands for
_MORE_DIGITS = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10} | dict.fromkeys(
    ("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-10
)
_FAR = 1e6  # changes of a cell, in units of the contradiction, that no least-squares repair needs


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
    system = _System.of(problem)
    found = system.least_violation(np.arange(len(system.b)))
    if found is None:
        raise _impossible_constraints(problem)
    suspects = np.flatnonzero(np.abs(found.multipliers) > 1e-9)
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
    >>> from aegis_opt.problem import View
    >>> problem = Problem([View([0, 0], [[3, 3]])], histogram=[2, 5])
    >>> reconcile(problem, "relax").problem.histogram.round(6).tolist()
    [1.75, 4.75]
    """
    system = _System.of(problem)
    found = system.least_violation(np.arange(len(system.b)))
    if found is None:
        raise _impossible_constraints(problem)
    slack = tolerance(problem)
    values = found.cells
    if how == "relax" and found.largest > slack:
        values = system.least_squares(values)
    values = np.where(values > slack / 10, values, 0.0)
    noise = min(slack, _LARGEST_NOISE)
    if problem.is_integral and np.abs(values - np.round(values)).max(initial=0.0) <= noise:
        values = np.round(values)
    table = np.zeros(problem.shape)
    table.flat[system.cells] = values
    totals = [margin.sums(table) for margin in problem.margins]
    whole = [np.round(new) for new in totals]  # all or none: some rounded ones would contradict the others
    if problem.is_integral and all(np.abs(a - b).max() <= noise for a, b in zip(whole, totals, strict=True)):
        totals = whole
    changes = [
        f"{name}: {old:.10g} -> {new:.10g}"
        for margin, sums in zip(problem.margins, totals, strict=True)
        for (name, old), new in zip(_named(problem, margin), sums.ravel(), strict=True)
        if abs(old - new) > slack
    ]
    by_kind = list(zip([margin.kind for margin in problem.margins], totals, strict=True))
    joints = [new for kind, new in by_kind if kind == "view"]
    histogram = next((new[:, 0] for kind, new in by_kind if kind == "histogram"), None)
    return Reconciled(problem.with_totals(joints, histogram), tuple(changes))


@dataclass(frozen=True, eq=False)
class _System:
    """All totals as equations A x = b over the cells that are no structural zeros, with the constraints."""

    A: sparse.csr_array
    b: FloatArray
    C: sparse.csr_array | None
    limits: FloatArray | None
    cells: IntArray
    names: list[str]
    slack: float  # violation below which totals count as met

    @classmethod
    def of(cls, problem: Problem) -> _System:
        from scipy import sparse

        from aegis_opt.problem._linear_program import require_room

        require_room(len(problem.margins) * problem.prior.size)
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
        return cls(A, b, C, np.array(limits) if rows else None, cells, names, tolerance(problem))

    def feasible(self, rows: IntArray) -> bool:
        """Whether some table meets the totals of these rows."""
        if len(rows) == 0:
            return True
        found = self.least_violation(rows)
        return found is not None and found.largest <= self.slack

    def least_violation(self, rows: IntArray) -> LeastViolation | None:
        """Table that misses the totals of these rows by fewest records; None where none is allowed."""
        return least_violation(self.A[rows], self.b[rows], self.C, self.limits, enough=self.slack / 100)

    def least_squares(self, start: FloatArray) -> FloatArray:
        """Table with the least sum of squared violations of all totals.

        The unknown is the change of `start`, a table that misses few records, in units of what it misses:
        however many records there are, the engine's digits are those of the contradiction.
        """
        import cvxpy as cp

        missing = self.b - self.A @ start
        unit = float(np.abs(missing).max())
        change = cp.Variable(len(start))
        limits = [change >= -np.minimum(start / unit, _FAR)]
        if self.C is not None and self.limits is not None:
            limits.append(self.C @ change <= np.minimum((self.limits - self.C @ start) / unit, _FAR))
        program = cp.Problem(cp.Minimize(cp.sum_squares(self.A @ change - missing / unit)), limits)
        # Clarabel, to more digits than by default; where it stalls, the slower active-set method of HiGHS
        for engine, digits in ((cp.CLARABEL, _MORE_DIGITS), (cp.CLARABEL, {}), (cp.HIGHS, {})):
            with suppress(cp.SolverError):
                interruptible(partial(program.solve, solver=engine, **digits))
            if program.status == cp.OPTIMAL:
                break
        else:
            raise AegisError(f"on_conflict='relax' failed ({program.status}); use on_conflict='repair'")
        moved: FloatArray = np.maximum(start + unit * change.value, 0.0)
        return moved


def _impossible_constraints(problem: Problem) -> InfeasibleProblem:
    names = ", ".join(repr(constraint.name) for constraint in problem.constraints)
    return InfeasibleProblem(f"no table meets the extra constraints, whatever the totals: {names}")


def _named(problem: Problem, margin: Margin) -> Iterator[tuple[str, float]]:
    """Names and values of all totals of a margin, in row-major order."""
    for (group, column), total in np.ndenumerate(margin.totals):
        where = name_cells(problem, margin.rows == group, margin.columns == column)
        yield f"{margin.name} for {where}", float(total)
