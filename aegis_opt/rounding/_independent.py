"""Independent randomized rounding, as in the Aegis paper."""

from __future__ import annotations

import numpy as np

from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem


def independent(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Round each cell up with probability equal to its fraction, independently of all others.

    Unbiased cell by cell, but no total is kept: a sum of m cells is off by about sqrt(m) / 2 records
    [1]_.

    References
    ----------
    .. [1] P. Raghavan and C. D. Thompson, "Randomized rounding: a technique for provably good algorithms
       and algorithmic proofs", Combinatorica 7 (1987).
    """
    del problem  # the one method that looks at the cells alone
    floor = np.floor(table)
    rounded: FloatArray = floor + (rng.random(table.shape) < table - floor)
    return rounded
