"""Largest-remainder rounding: the totals of one view kept, nothing else promised."""

from __future__ import annotations

import numpy as np

from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._whole import split


def largest_remainder(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Round down, then give the missing records of each total to the cells with the largest fractions.

    Kept exactly: the totals of the finest view (the first one that does not follow from another), hence
    also those of every view coarser than it. Not kept: the histogram, overlapping views, extra constraints.
    Each cell goes to its floor or ceil, with the least sum of absolute changes that the kept totals allow;
    known as Hamilton's method for seats in a parliament. Only ties are drawn at random: in row order they
    would put the odd records of all labels into the same rows and invent a correlation.

    Examples
    --------
    >>> problem = Problem.from_table([[1, 0], [1, 1], [1, 2]], [0, 0, 0], histogram=False)
    >>> fractional = np.array([[1.0, 1.4], [1.3, 0.9], [0.7, 0.7]])
    >>> largest_remainder(problem, fractional, np.random.default_rng(0)).tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    floor, fraction = split(problem, table, "largest-remainder")
    margin = next(independent(problem.margins))
    missing = (margin.totals - margin.sums(floor)).ravel()
    cells = np.flatnonzero(fraction)
    total = margin.cells()[cells]
    order = np.lexsort((rng.random(len(cells)), -fraction.flat[cells], total))
    total = total[order]
    starts = np.searchsorted(total, np.arange(len(missing)))
    rank = np.arange(len(cells)) - starts[total]
    floor.flat[cells[order]] += rank < missing[total]
    return floor
