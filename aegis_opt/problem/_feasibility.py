"""Systems A x = b, x >= 0 of known totals: whether a solution exists, and which cells can be positive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem._least_violation import power_of_two
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray, negligible

if TYPE_CHECKING:
    from scipy import sparse

SUPPORT_SECONDS = (
    20.0  # for the program of `support`, without which solvers do their work as well as they can
)


def numbered(members: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Number the totals of all margins together: shape (margins, cells).

    `members` is, for each margin, the total that each cell belongs to; `sizes` is its number of totals.
    """
    offsets = np.cumsum([0, *sizes[:-1]])
    together: IntArray = np.stack(members) + offsets[:, None]
    return together


def incidence(members: Sequence[IntArray], sizes: Sequence[int]) -> sparse.csr_array:
    """Stack margins into one 0/1 matrix: row = known total, column = cell; arguments as in `numbered`."""
    from scipy import sparse

    n_margins, n_cells = len(members), len(members[0])
    # by columns, each of which has one entry per margin: nothing needs sorting
    entries = numbered(members, sizes).T.ravel()
    starts = n_margins * np.arange(n_cells + 1)
    shape = sum(sizes), n_cells
    return sparse.csc_array((np.ones(len(entries)), entries, starts), shape=shape).tocsr()


def fits(members: Sequence[IntArray]) -> bool:
    """Whether there is room for the linear program of `support`: the cells twice, and the totals."""
    from aegis_opt.problem import _linear_program

    return 3 * sum(len(member) for member in members) <= _linear_program.MOST_ENTRIES


def support(A: sparse.csr_array, b: FloatArray, seconds: float = SUPPORT_SECONDS) -> BoolArray | None:
    """Cells that are positive in some solution of A x = b, x >= 0; None where the engine finds no solution.

    `TimeoutError` is raised where it does not end within some seconds.

    One linear program finds all of them: maximise sum(s) over A (s + w) = t b, 0 <= s <= 1, w >= 0,
    t >= 1. The solutions scaled by t form a convex cone, so the optimum has s = 1 exactly on the cells that
    can be positive. b is scaled to cells of about 1; even so, noise of fractional totals can make the engine
    fail where there are solutions: whether there are, `has_solution` knows. A total of one record among
    1e10 is below the engine's tolerance, so that all its cells may seem empty: they then count as possible.
    """
    from scipy import sparse

    from aegis_opt.problem._linear_program import linprog

    n_cells = A.shape[1]
    scaled = b / power_of_two(float(np.abs(b).sum()) / max(n_cells, 1))
    equations = sparse.hstack([A, A, -scaled[:, None]], format="csr")
    cost = np.concatenate([-np.ones(n_cells), np.zeros(n_cells + 1)])
    bounds = np.zeros((2 * n_cells + 1, 2))
    bounds[:n_cells, 1] = 1.0
    bounds[n_cells:, 1] = np.inf
    bounds[-1, 0] = 1.0
    outcome = linprog(
        cost, A_eq=equations, b_eq=np.zeros(len(b)), bounds=bounds, method="highs", seconds=seconds
    )
    if outcome.status != 0:
        return None
    found: BoolArray = outcome.x[:n_cells] > 0.5
    unmet = (b > negligible(float(b.max()))) & (A @ found == 0)
    possible: BoolArray = found | (A.T @ unmet > 0)
    return possible
