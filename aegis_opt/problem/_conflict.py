"""Totals that contradict each other: which ones, and the nearest totals that do not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import AegisError, InfeasibleProblem
from aegis_opt.problem._consistency import (
    WAY_OUT,
    agree_to_the_record,
    direct_conflicts,
    name_cells,
    tolerance,
)
from aegis_opt.problem._feasibility import incidence
from aegis_opt.problem._irreducible import Claims, Conflict
from aegis_opt.problem._least_violation import LeastViolation, least_violation
from aegis_opt.problem._linear_program import MOST_SECONDS, require_room
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._problem import Problem

if TYPE_CHECKING:
    from scipy import sparse

LARGEST_EXPLAINED = 20_000  # cells up to which an error message computes the least repair
MOST_NAMED = 20  # conflicting totals in the text of an error
_LARGEST_NOISE = 0.1  # records up to which a repaired count can be off the whole number it stands for
_MORE_DIGITS = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-10} | dict.fromkeys(
    ("reduced_tol_gap_abs", "reduced_tol_gap_rel", "reduced_tol_feas"), 1e-10
)
_MOST_DENSE = 1_000_000  # entries of a matrix that is factorised again and again
_FAR = 1e6  # changes of a cell, in units of the contradiction, that no least-squares repair needs


def check(problem: Problem) -> None:
    """Raise `InfeasibleProblem` where totals contradict each other, naming the ones that do.

    Cheap, and finds what goes wrong in practice: two margins that disagree, and positive totals without any
    cell to hold them. Conflicts among three or more margins show when a solver finds no table.
    """
    if contradicts_itself(problem):
        raise infeasible(problem)


def contradicts_itself(problem: Problem) -> bool:
    """Whether `check` would raise."""
    return next(direct_conflicts(problem), None) is not None


def infeasible(problem: Problem) -> InfeasibleProblem:
    """Make the error that says which totals of an infeasible problem contradict each other.

    Two margins that disagree are named by what both determine. Otherwise the totals named form an
    *irreducible* set: they cannot hold together, but any of them left out, the others can. The error carries
    such a set in any case, and the least repair, unless the table is large.
    """
    small = problem.shape[0] * problem.shape[1] <= LARGEST_EXPLAINED
    direct = list(direct_conflicts(problem, pairwise=True))
    system = _System.of(problem) if small or not direct else None
    conflict = None if system is None else _conflict(system)
    if direct:
        more = f" (and {len(direct) - 3} more)" if len(direct) > 3 else ""
        text = f"the known totals disagree: {'; '.join(direct[:3])}{more}."
    elif conflict is not None and system is not None:
        names = [f"{system.names[row]} = {system.b[row]:.10g}" for row in conflict.totals]
        names += [f"constraint {problem.constraints[i].name!r}" for i in conflict.owners]
        shown = "; ".join(names[:MOST_NAMED]) + (f"; ... ({len(names)} in all)" if names[MOST_NAMED:] else "")
        text = f"no table without negative counts meets these totals together: {shown}."
    else:
        text = "no table meets all the totals."
    if conflict is not None and not conflict.irreducible:
        which = "the totals that this error carries" if direct else "them"
        text += f" Some of {which} may not be needed for that: there was no time to leave them out."
    if conflict is not None and small:
        changes = reconcile(problem, "repair").changes
        shown = "; ".join(changes[:5]) + (f"; ... ({len(changes)} in all)" if len(changes) > 5 else "")
        text += f" Least repair: {shown}."
    error = InfeasibleProblem(f"{text} {WAY_OUT}")
    if conflict is not None and system is not None:
        places = [(m.name, *place) for m in problem.margins for place in np.ndindex(m.totals.shape)]
        error.totals = tuple(places[row] for row in conflict.totals)
        error.constraints = tuple(problem.constraints[i].name for i in conflict.owners)
    return error


def _conflict(system: _System) -> Conflict | None:
    """Find the totals in conflict, where there is time for it."""
    try:
        return system.claims.conflict()
    except TimeoutError:
        return None


def is_infeasible(problem: Problem) -> bool:
    """Whether no table (of any non-negative numbers) meets all totals and constraints, if that can be shown.

    It is not shown where a linear program takes too long.
    """
    try:
        return not has_solution(problem)
    except TimeoutError:
        return False


def has_solution(problem: Problem) -> bool:
    """Whether some table (of any non-negative numbers) meets all totals and constraints.

    `TimeoutError` is raised where a linear program takes too long to tell.
    """
    system = _System.of(problem)
    found = system.least_violation()
    return found is not None and found.largest <= system.slack


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
    try:
        found = system.least_violation()
    except TimeoutError as error:
        raise AegisError(
            f"on_conflict={how!r} takes a linear program that did not end within {MOST_SECONDS:g} seconds: "
            "coarsen the attribute or the label, use fewer views of it, or correct the totals"
        ) from error
    if found is None:
        raise _impossible_constraints(problem)
    slack = tolerance(problem)
    values = found.cells
    if how == "relax" and found.largest > slack:
        values = system.least_squares(values)
    values = system.without_dust(values, slack / 10)
    noise = min(slack, _LARGEST_NOISE)
    if problem.is_integral and np.abs(values - np.round(values)).max(initial=0.0) <= noise:
        values = np.round(values)
    table = np.zeros(problem.shape)
    table.flat[system.cells] = values
    totals = [margin.sums(table) for margin in problem.margins]
    repaired = _with_totals(problem, totals)
    whole = [np.round(new) for new in totals]  # all or none: some rounded ones would contradict the others
    if problem.is_integral and all(np.abs(a - b).max() <= noise for a, b in zip(whole, totals, strict=True)):
        rounded = _with_totals(problem, whole)
        if agree_to_the_record(rounded):  # sums of many that are a little off may be one record off
            repaired, totals = rounded, whole
    changes = [
        f"{name}: {old:.10g} -> {new:.10g}"
        for margin, sums in zip(problem.margins, totals, strict=True)
        for (name, old), new in zip(_named(problem, margin), sums.ravel(), strict=True)
        if abs(old - new) > slack
    ]
    return Reconciled(repaired, tuple(changes))


def _with_totals(problem: Problem, totals: Sequence[FloatArray]) -> Problem:
    """Put other totals in place of those of each margin."""
    by_kind = list(zip([margin.kind for margin in problem.margins], totals, strict=True))
    joints = [new for kind, new in by_kind if kind == "view"]
    histogram = next((new[:, 0] for kind, new in by_kind if kind == "histogram"), None)
    return problem.with_totals(joints, histogram)


@dataclass(frozen=True, eq=False)
class _System:
    """All totals as equations A x = b over the cells that are no structural zeros, with the constraints."""

    A: sparse.csr_array
    b: FloatArray
    C: sparse.csr_array
    limits: FloatArray
    owner: IntArray  # number of the constraint that each limit comes from
    cells: IntArray
    names: list[str]
    slack: float  # violation below which totals count as met

    @classmethod
    def of(cls, problem: Problem) -> _System:
        from scipy import sparse

        require_room(len(problem.margins) * problem.prior.size)
        zeros = problem.structural_zeros
        cells = np.arange(problem.prior.size) if zeros is None else np.flatnonzero(~zeros)
        margins = problem.margins
        A = incidence([m.cells()[cells] for m in margins], [m.n_groups for m in margins])
        b = np.concatenate([margin.totals.ravel() for margin in margins])
        rows, limits, owner = [], [], []
        for i, constraint in enumerate(problem.constraints):
            coefficients = constraint.coefficients.ravel()[cells]
            for sign, limit in [(1.0, constraint.upper), (-1.0, -constraint.lower)]:
                if np.isfinite(limit):
                    rows.append(sign * coefficients)
                    limits.append(limit)
                    owner.append(i)
        C = sparse.csr_array(np.array(rows).reshape(len(rows), len(cells)))
        names = [name for margin in margins for name, _ in _named(problem, margin)]
        owners = np.array(owner, dtype=np.int64)
        return cls(A, b, C, np.array(limits, dtype=np.float64), owners, cells, names, tolerance(problem))

    @property
    def claims(self) -> Claims:
        """The same, to look for conflicts in."""
        return Claims(self.A, self.b, self.C, self.limits, self.owner, self.slack, np.arange(len(self.b)))

    def least_violation(self) -> LeastViolation | None:
        """Table that misses the totals by fewest records; None where the constraints allow none."""
        C, limits = (self.C, self.limits) if len(self.limits) else (None, None)
        return least_violation(self.A, self.b, C, limits, enough=self.slack / 100)

    def without_dust(self, values: FloatArray, least: float) -> FloatArray:
        """Take cells of no more than `least` records for empty, unless constraints would be missed by that.

        The totals of the table are to be met under the constraints, which may leave no room at all.
        """
        cleaned: FloatArray = np.where(values > least, values, 0.0)
        if len(self.limits) and (self.C @ cleaned - np.maximum(self.limits, self.C @ values) > 0).any():
            return values
        return cleaned

    def least_squares(self, start: FloatArray) -> FloatArray:
        """Table with the least sum of squared violations of all totals.

        The unknown is the change of `start`, a table that misses few records, in units of what it misses:
        however many records there are, the engine's digits are those of the contradiction.
        """
        from aegis_opt._native import cvxpy as cp

        missing = self.b - self.A @ start
        unit = float(np.abs(missing).max())
        change = cp.Variable(len(start))
        lowest = -np.minimum(start / unit, _FAR)
        limits = [change >= lowest]
        if len(self.limits):
            limits.append(self.C @ change <= np.minimum((self.limits - self.C @ start) / unit, _FAR))
        program = cp.Problem(cp.Minimize(cp.sum_squares(self.A @ change - missing / unit)), limits)
        # Clarabel, to more digits than by default; where it stalls, the slower active-set method of HiGHS
        for engine, digits in ((cp.CLARABEL, _MORE_DIGITS), (cp.CLARABEL, {}), (cp.HIGHS, {})):
            with suppress(cp.SolverError), warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)  # not taken then
                interruptible(partial(program.solve, solver=engine, **digits))
            if program.status == cp.OPTIMAL:
                best: FloatArray | None = change.value
                break
        else:
            best = self._by_active_set(missing / unit, lowest)
        if best is None:
            raise AegisError("on_conflict='relax' failed: no engine solves it; use on_conflict='repair'")
        moved: FloatArray = np.maximum(start + unit * best, 0.0)
        return moved

    def _by_active_set(self, right: FloatArray, lowest: FloatArray) -> FloatArray | None:
        """Least squares under bounds alone, of a size that dense matrices can have."""
        from scipy.optimize import lsq_linear

        if len(self.limits) or math.prod(self.A.shape) > _MOST_DENSE:
            return None
        found = lsq_linear(self.A.toarray(), right, bounds=(lowest, np.inf), method="bvls", tol=1e-14)
        best: FloatArray | None = found.x if found.success else None
        return best


def _impossible_constraints(problem: Problem) -> InfeasibleProblem:
    names = ", ".join(repr(constraint.name) for constraint in problem.constraints)
    return InfeasibleProblem(f"no table meets the extra constraints, whatever the totals: {names}")


def _named(problem: Problem, margin: Margin) -> Iterator[tuple[str, float]]:
    """Names and values of all totals of a margin, in row-major order."""
    for (group, column), total in np.ndenumerate(margin.totals):
        where = name_cells(problem, margin.rows == group, margin.columns == column)
        yield f"{margin.name} for {where}", float(total)
