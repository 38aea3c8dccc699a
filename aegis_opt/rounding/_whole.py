"""What the roundings share: checks before and after, the split into floor and fraction, the network."""

from __future__ import annotations

import numpy as np

from aegis_opt.errors import InvalidInput
from aegis_opt.problem._consistency import missed, require_whole_totals, tolerance
from aegis_opt.problem._feasibility import incidence
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._network import TwoSided, two_sided
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem

RESIDUAL = 1e-4
"""The least `looseness`, in records: far below the half record at which a rounding would go wrong."""

_CORRECTIONS = 2  # the second one removes what the first one's rounding left

SNAP = 1e-9
"""Distance to a whole number below which a cell counts as whole."""


def looseness(problem: Problem) -> float:
    """Violation of a total, in records, up to which a table counts as one to round."""
    return max(RESIDUAL, tolerance(problem))


def split(problem: Problem, table: FloatArray, method: str) -> tuple[FloatArray, FloatArray]:
    """Write a table as floor + fraction, which is 0 or at least `SNAP` away from 0 and 1.

    Fractional totals are refused, and so are tables that miss a total or an extra constraint.
    """
    require_whole_totals(
        problem.margins, f"rounding {method!r}", "rounding='independent', which keeps no total"
    )
    residual = missed(problem, table)
    if residual > looseness(problem):
        raise InvalidInput(
            f"rounding {method!r} needs a table that meets the totals, but this one is {residual:.3g} "
            "records off: solve with a smaller tolerance or more iterations, or use rounding='independent'"
        )
    clean = np.maximum(table, 0.0)
    if problem.structural_zeros is not None:
        clean[problem.structural_zeros] = 0.0
    if residual > RESIDUAL and not problem.constraints:
        clean = _moved_to_totals(problem, clean)
    floor = np.floor(clean + SNAP)
    fraction = clean - floor
    fraction[fraction < SNAP] = 0.0
    return floor, fraction


def _moved_to_totals(problem: Problem, table: FloatArray) -> FloatArray:
    """Remove what noise of very many records leaves of a violation: the least change relative to the cells.

    A table of 1e14 records counts as meeting its totals when it is 100 records off, but rounding needs one
    that is less than half a record off.
    """
    from scipy.sparse.linalg import lsqr

    margins = list(independent(problem.margins))
    A = incidence([margin.cells() for margin in margins], [margin.n_groups for margin in margins])
    totals = np.concatenate([margin.totals.ravel() for margin in margins])
    x = table.ravel().copy()
    for _ in range(_CORRECTIONS):
        weight = np.sqrt(x)
        missing = totals - A @ x
        x = np.maximum(x + weight * lsqr(A * weight, missing, atol=1e-12, btol=1e-12)[0], 0.0)
    return x.reshape(table.shape)


def sides(problem: Problem, cells: IntArray) -> TwoSided | None:
    """Two sides of the totals over some cells (row-major positions), or None where there are none.

    Where there are two, a table of floors and ceilings that keeps every total always exists.
    """
    margins = list(independent(problem.margins))
    return two_sided([margin.cells()[cells] for margin in margins], [margin.n_groups for margin in margins])


def require_met(problem: Problem, rounded: FloatArray, method: str) -> FloatArray:
    """Return `rounded`; raise where noise in the fractional table made the rounding miss a total."""
    residual = problem.residual(rounded)
    if residual > 0:
        raise InvalidInput(
            f"rounding {method!r} came out {residual:g} records off, because the fractional table meets its "
            "totals too loosely: solve with a smaller tolerance"
        )
    return rounded
