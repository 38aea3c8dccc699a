"""Records of each total dropped into its cells with replacement."""

from __future__ import annotations

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.problem._margin import FloatArray, IntArray, Margin


def draw_records(margin: Margin, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a cell for each record of each total, independently, with chances proportional to `weights`.

    That is one multinomial draw per total. The totals are whole, and some cell of each positive one has a
    positive weight.

    Examples
    --------
    >>> margin = Margin("view 0", np.array([0, 0, 1]), np.array([0]), np.array([[9.0], [2.0]]))
    >>> table = draw_records(margin, np.ones((3, 1)), np.random.default_rng(0))
    >>> margin.sums(table).ravel().tolist()
    [9.0, 2.0]
    """
    totals = margin.totals.ravel().astype(np.int64)
    return scatter(margin.cells(), totals, weights.ravel(), rng).reshape(weights.shape).astype(np.float64)


def scatter(groups: IntArray, totals: IntArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Share the records of each group out to its members, with chances proportional to their weights.

    A block of members is cut into two halves, and the records of the first half are a binomial draw. Every
    round cuts all blocks of all groups, until each is one member.
    """
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(totals) + 1))
    running = np.concatenate([[0.0], np.cumsum(weights[order])])
    start, end = bounds[:-1], bounds[1:]
    filled = (end > start) & (totals > 0)
    start, end, records = start[filled], end[filled], totals[filled]
    drawn = np.zeros(len(groups), dtype=np.int64)
    while len(start):
        look_up()
        single = end - start == 1
        drawn[order[start[single]]] = records[single]
        start, end, records = start[~single], end[~single], records[~single]
        middle = (start + end) // 2
        whole = running[end] - running[start]
        part = np.divide(running[middle] - running[start], whole, out=np.zeros(len(start)), where=whole > 0)
        first = rng.binomial(records, np.clip(part, 0.0, 1.0))
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        records = np.concatenate([first, records - first])
        some = records > 0
        start, end, records = start[some], end[some], records[some]
    return drawn
