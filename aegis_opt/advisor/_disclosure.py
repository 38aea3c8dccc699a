"""How much of the unmasked joint table the pooled views give away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._echelon import NOISE, dense_system, reduce_rows
from aegis_opt.problem._elimination import eliminate
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import Reduction, reduce
from aegis_opt.problem._problem import Problem

LEAST = 0.1  # of the tolerance of the totals: what a cell holds that some feasible table has records in
LARGEST_CORE = 64  # cells up to which the null space of what elimination leaves open is computed


def disclosed_share(problem: Problem, table: FloatArray) -> float:
    """Share of the records that lie in cells of F(A, Y) which the known totals determine.

    A cell is determined when every feasible table has the same count there. The maximum-entropy table is
    positive wherever any feasible table is, so only its positive cells can vary. Cells are found by
    elimination (a total with one open cell determines it) and, where at most 64 cells stay open, by the null
    space of the totals; beyond that the share is a lower bound. `table` is the maximum-entropy reconstruction
    from all views.

    Examples
    --------
    >>> F = np.array([[3, 0], [0, 1], [0, 2]])
    >>> both = Problem.from_table(F, [[0, 0, 1], [0, 1, 1]])
    >>> disclosed_share(both, F.astype(float))
    1.0
    """
    reduction = reduce(problem)
    totals = np.zeros(reduction.shape)
    np.add.at(totals, reduction.class_of, table)
    values = totals.ravel()[reduction.cells]
    least = LEAST * tolerance(problem)
    fixed = _determined(reduction, values, least)
    # the total of a class of several rows says nothing about one of them, unless they have one label only,
    # and as many records each as the histogram tells
    alone = reduction.multiplicity == 1
    if problem.histogram is not None:
        alone |= (totals > least).sum(axis=1) == 1
    alone = np.repeat(alone, reduction.shape[1])[reduction.cells]
    return float(values[fixed & alone].sum() / max(problem.total, 1e-300))


def _determined(reduction: Reduction, values: FloatArray, least: float) -> npt.NDArray[np.bool_]:
    """Cells whose value follows from the totals, given which cells are positive in some feasible table."""
    open_cells = values > least
    members = reduction.members[:, open_cells]
    # the totals of the values themselves, which agree whatever has been repaired
    weights = np.tile(values[open_cells], len(members))
    totals: FloatArray = np.bincount(members.ravel(), weights, len(reduction.totals))  # type: ignore[assignment]
    still = eliminate(members, totals, noise=least / 2).open_cells
    if 0 < still.sum() <= LARGEST_CORE:
        still[still] = ~_fixed_by_rank(members[:, still])
    open_cells[open_cells] = still
    return ~open_cells


def _fixed_by_rank(members: IntArray) -> npt.NDArray[np.bool_]:
    """Cells that the totals fix together: those that no vector of their null space moves.

    Gauss-Jordan elimination of the 0/1 matrix: a cell is fixed if its equation has no free cell.
    """
    system = dense_system(members)
    pivots = reduce_rows(system)
    fixed = np.zeros(members.shape[1], dtype=bool)
    free = np.delete(system[: len(pivots)], pivots, axis=1)
    fixed[pivots] = np.abs(free).max(axis=1, initial=0.0) < NOISE
    return fixed
