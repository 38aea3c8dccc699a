"""The table that misses known totals by as few records as possible: a linear program, to rounding error.

A linear engine meets equations up to an absolute tolerance (1e-7 for HiGHS), which is less than the rounding
noise of 1e14 records and more than the totals of 1e-9 records. So the program is scaled to cells of about 1,
and then solved again around the table found, magnified so that what is missing is about 1 ([1]_): every
round gains some seven digits, until totals are met as well as floating-point numbers can.

References
----------
.. [1] A. M. Gleixner, D. E. Steffy and K. Wolter, "Iterative refinement for linear programming", INFORMS
   Journal on Computing 28 (2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.errors import AegisError
from aegis_opt.problem._linear_program import MOST_SECONDS, linprog
from aegis_opt.problem._margin import FloatArray

if TYPE_CHECKING:
    from scipy import sparse

_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class LeastViolation:
    """A table x >= 0 with the least sum of abs(A x - b), and the multipliers of equations and limits."""

    cells: FloatArray
    largest: float  # the largest abs(A x - b), or violation of a limit
    multipliers: FloatArray
    limit_multipliers: FloatArray


def least_violation(
    A: sparse.csr_array,
    b: FloatArray,
    C: sparse.csr_array | None = None,
    limits: FloatArray | None = None,
    *,
    enough: float = 0.0,
    seconds: float = MOST_SECONDS,
) -> LeastViolation | None:
    """Minimise the sum of abs(A x - b) over x >= 0 with C x <= limits; None where no x is within the limits.

    It ends early where no total is missed by more than `enough`. `TimeoutError` is raised where a program has
    not ended after some `seconds`.

    Examples
    --------
    >>> from scipy import sparse
    >>> found = least_violation(sparse.csr_array(np.array([[1.0, 1.0], [1.0, 0.0]])), np.array([2.0, 5.0]))
    >>> found.largest
    3.0
    """
    from scipy import sparse

    n_totals, n_cells = A.shape
    identity = sparse.eye_array(n_totals)
    cost = np.concatenate([np.zeros(n_cells), np.ones(2 * n_totals)])
    equations = sparse.hstack([A, identity, -identity], format="csr")
    bounds = np.zeros((n_cells + 2 * n_totals, 2))
    bounds[:, 1] = np.inf
    wide = None
    if C is not None:
        wide = sparse.hstack([C, sparse.csr_array((C.shape[0], 2 * n_totals))], format="csr")
    cells, missing, spare = np.zeros(n_cells), b, limits
    unit = power_of_two(float(b.sum()) / max(n_cells, 1))
    best: LeastViolation | None = None
    for _ in range(_ROUNDS):
        bounds[:n_cells, 0] = -cells / unit
        outcome = linprog(
            cost,
            A_eq=equations,
            b_eq=missing / unit,
            A_ub=wide,
            b_ub=None if spare is None else spare / unit,
            bounds=bounds,
            method="highs",
            seconds=seconds,
        )
        if outcome.status != 0:
            break
        cells = np.maximum(cells + unit * outcome.x[:n_cells], 0.0)
        missing = b - A @ cells
        largest = float(np.abs(missing).max(initial=0.0))
        if C is not None and limits is not None:
            spare = limits - C @ cells
            largest = max(largest, -float(spare.min()))
        improved = best is None or largest < 0.5 * best.largest
        if best is None or largest < best.largest:
            best = LeastViolation(cells, largest, outcome.eqlin.marginals, outcome.ineqlin.marginals)
        if largest <= enough or not improved:
            break
        unit = power_of_two(largest)
    if best is None and outcome.status != 2:
        raise AegisError(
            f"the linear program for the least violation of the totals failed: {outcome.message}"
        )
    return best


def power_of_two(size: float) -> float:
    """Return a power of two about as large as `size`: dividing by it rounds nothing."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0
