"""Sparse symmetric systems, factorised so that Ctrl-C and a time limit end it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from aegis_opt._interrupts import interruptible
from aegis_opt.problem._margin import FloatArray

if TYPE_CHECKING:
    from scipy import sparse

_LARGEST_AT_ONCE = 1000  # equations up to which a factorisation takes less than a second


def solve_symmetric(matrix: sparse.csc_array, right: FloatArray, deadline: float = math.inf) -> FloatArray:
    """Solve a system with a positive definite matrix; `TimeoutError` at the deadline (`time.monotonic`)."""
    from scipy.sparse.linalg import splu

    def solve() -> FloatArray:
        # A symmetric order of elimination: a general one takes five times as long where views overlap.
        options = {"SymmetricMode": True}
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        solution: FloatArray = factor.solve(right)
        return solution

    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if len(right) <= _LARGEST_AT_ONCE:
        return solve()
    return interruptible(solve, seconds=None if left == math.inf else left)
