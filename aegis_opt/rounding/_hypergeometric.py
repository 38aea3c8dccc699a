"""A random whole table with exact totals, for the max-entropy solution of one view."""

from __future__ import annotations

import numpy as np

from aegis_opt._draws import deal
from aegis_opt.errors import InvalidOption, RoundingImpossible
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._multinomial import draw_records
from aegis_opt.rounding._whole import looseness, split


def hypergeometric(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a table as if the records of each group had got their labels in random order.

    With the histogram r and a view J, the labels of each group g are shuffled over its records, which is a
    multivariate hypergeometric draw per row [1]_: every total is met, and the mean is r_a J(g, y) / J(g).
    Without the histogram, the row totals are unknown: each record of J(g, y) falls on one of the group's
    values, uniformly and independently, so the view is met and the mean is J(g, y) / size of g. Masked labels
    are drawn uniformly from the labels they stand for.

    These means are the max-entropy solution, and the fractional table serves only to check that it is
    that one: cells may leave floor and ceil, and vary as real counts do.

    Raises
    ------
    InvalidOption
        Where the fractional table is another one (another prior or norm): the draw would be biased.
    RoundingImpossible
        Where views overlap, or extra constraints exist.

    References
    ----------
    .. [1] W. M. Patefield, "Algorithm AS 159: an efficient method of generating random R x C tables with
       given row and column totals", Applied Statistics 30 (1981).

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> fractional = np.array([[2.25, 0.75], [0.75, 0.25], [0.0, 2.0]])
    >>> problem.residual(hypergeometric(problem, fractional, np.random.default_rng(0)))
    0.0
    """
    split(problem, table, "hypergeometric")
    margins = list(independent(problem.margins))
    with_histogram = len(margins) == 2 and margins[1].kind == "histogram"
    if problem.constraints or not (len(margins) == 1 or with_histogram):
        names = ", ".join([m.name for m in margins] + [c.name for c in problem.constraints])
        raise RoundingImpossible(
            "rounding 'hypergeometric' keeps the totals of one view (or nested ones) and the histogram, not "
            f"of {names} together; use rounding='controlled' or 'nearest'"
        )
    sizes = margins[0].sums(np.ones(problem.shape))[margins[0].rows][:, margins[0].columns]
    mean = margins[0].totals[margins[0].rows][:, margins[0].columns] / sizes
    if with_histogram:
        mean *= _share(margins[0], margins[1].totals[:, 0])[:, None]
    off = float(np.abs(mean - table).max())
    if off > looseness(problem):
        raise InvalidOption(
            "rounding 'hypergeometric' draws around the max-entropy solution for the uniform prior, but a "
            f"cell of this table is {off:.3g} records away from it (another prior or norm?); "
            "use rounding='controlled', which is unbiased for any table"
        )
    if not with_histogram:
        return draw_records(margins[0], np.ones(problem.shape), rng)
    return _shuffle(margins[0], margins[1].totals[:, 0].astype(np.int64), rng)


def _share(view: Margin, histogram: FloatArray) -> FloatArray:
    """Records of each row, relative to the mean over its group; 0 in empty groups."""
    records = np.bincount(view.rows, weights=histogram, minlength=len(view.totals))
    rows = np.bincount(view.rows, minlength=len(view.totals))
    mean = (records / np.maximum(rows, 1))[view.rows]
    return np.divide(histogram, mean, out=np.zeros(len(histogram)), where=mean > 0)


def _shuffle(view: Margin, histogram: IntArray, rng: np.random.Generator) -> FloatArray:
    """Share each group's labels out to its rows as if they had been shuffled over the records."""
    drawn = deal(view.rows, view.totals.astype(np.int64), histogram, rng)
    if view.totals.shape[1] == len(view.columns):
        return drawn[:, view.columns].astype(np.float64)
    return _unmasked(view, drawn, rng)


def _unmasked(view: Margin, drawn: IntArray, rng: np.random.Generator) -> FloatArray:
    """Draw the label of each record of a masked label, uniformly from those that it stands for."""
    table = np.zeros((len(drawn), len(view.columns)))
    for masked in range(drawn.shape[1]):
        labels = np.flatnonzero(view.columns == masked)
        if len(labels):
            table[:, labels] = rng.multinomial(drawn[:, masked], np.full(len(labels), 1.0 / len(labels)))
    return table
