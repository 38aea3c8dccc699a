"""Which cells of a problem some feasible table makes positive."""

from __future__ import annotations

import math
import time
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._feasibility import SUPPORT_SECONDS, fits, support
from aegis_opt.problem._margin import BoolArray, FloatArray, open_cells
from aegis_opt.problem._presolve import Reduction, reduce

if TYPE_CHECKING:
    from scipy import sparse

    from aegis_opt.problem._problem import Problem


def support_of(problem: Problem) -> BoolArray:
    """Cells (n x k) that are positive in some feasible table.

    One view leaves every cell possible that neither a total of 0 nor a structural zero empties: sharing
    each of its totals in proportion to the histogram meets all totals. Otherwise a linear program tells;
    where there is no room or no time for it, or no feasible table, the others count as possible.
    """
    try:
        return _possible_cells(problem, SUPPORT_SECONDS)
    except TimeoutError:
        return open_cells(problem.margins, problem.structural_zeros)


def with_support(problem: Problem, deadline: float) -> Problem:
    """Return a problem whose support is known by a deadline, in seconds of `time.monotonic`.

    Half of the time is left for what needs the support. Where the rest is too short, it is a copy of which
    every cell counts as possible that no total of 0 empties: the problem itself may be asked again.
    """
    if deadline == math.inf or "support" in vars(problem):
        return problem
    seconds = min(SUPPORT_SECONDS, (deadline - time.monotonic()) / 2)
    known = problem
    try:
        cells = _possible_cells(problem, seconds)
    except TimeoutError:
        known, cells = copy(problem), open_cells(problem.margins, problem.structural_zeros)
    vars(known)["support"] = cells
    return known


def _possible_cells(problem: Problem, seconds: float) -> BoolArray:
    """Cells that are positive in some feasible table; `TimeoutError` where that takes longer."""
    reduction = reduce(problem)
    possible = reduction.allowed.copy()
    simple = len(problem.views) == 1 and problem.structural_zeros is None and not problem.constraints
    if not simple and len(reduction.cells) and fits(reduction.members_by_margin):
        found = support(*_system(reduction), seconds=seconds)
        if found is not None:
            possible.flat[reduction.cells] = found[: len(reduction.cells)]
    cells: BoolArray = possible[reduction.class_of]
    return cells


def _system(reduction: Reduction) -> tuple[sparse.csr_array, FloatArray]:
    """Equations of the totals and, with slacks, of the extra constraints."""
    from scipy import sparse

    A, b = reduction.matrix, reduction.totals
    rows, slacks, bounds = [], [], []
    for constraint in reduction.problem.constraints:
        # a class shares its coefficients, so one row's apply to the class total
        coefficients = constraint.coefficients[reduction.first].ravel()[reduction.cells]
        sides = [(constraint.lower, -1.0), (constraint.upper, 1.0)]
        if constraint.lower == constraint.upper:
            sides = [(constraint.lower, 0.0)]
        for bound, slack in sides:
            if np.isfinite(bound):
                rows.append(coefficients)
                slacks.append(slack)
                bounds.append(bound)
    if not rows:
        return A, b
    matrix = sparse.bmat(
        [[A, None], [sparse.csr_array(np.array(rows)), sparse.diags_array(np.array(slacks))]], format="csr"
    )
    return sparse.csr_array(matrix), np.concatenate([b, bounds])
