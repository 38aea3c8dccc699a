"""A random whole table around any table, with every total exact."""

from __future__ import annotations

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.errors import RoundingImpossible
from aegis_opt.problem._elimination import eliminate
from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View
from aegis_opt.rounding._chain import Core, mix
from aegis_opt.rounding._circuits import components, swaps_suffice
from aegis_opt.rounding._conditioned import draw_given_sums
from aegis_opt.rounding._controlled import controlled
from aegis_opt.rounding._multinomial import scatter
from aegis_opt.rounding._nearest import nearest
from aegis_opt.rounding._whole import require_met, split

_MOST_CELLS = 1 << 21
"""Cells of tables that are drawn together."""

_LARGEST_CORE = 2000
"""Cells between classes, linked by totals, up to which their circuits are found by dense elimination."""


def drawn(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a whole table as if its cells were independent Poisson counts that happen to meet every total.

    With means m, the table, and over all whole tables X that meet every total,

        P(X) proportional to prod over cells of m^X / X!

    The same holds for one multinomial draw of all records, or one per row, given the totals. Cells where the
    table is 0 stay 0. Factors that a total shares, m(a, y) f(a) g(y), cancel: the distribution depends on the
    table by the odds ratios that it has inside the known totals. For the maximum-entropy table of one
    view it is the hypergeometric one of `hypergeometric`.

    Rows in the same group of every view form a *class*. On most summaries subtraction determines the label
    totals of every class (see `problem/_elimination.py`). Then classes are independent: with two labels, or
    without the histogram, the draw is direct and exact; with more labels a Markov chain redraws two labels
    at a time. Other totals need steps between classes, too, and so do classes in which some rows have cells
    of mean 0 (see `rounding/_circuits.py`). Where totals are not two-sided, the steps may not reach every
    table.

    Raises
    ------
    RoundingImpossible
        Where extra constraints exist, where no whole table is found that meets every total, or where
        too many cells stay open between classes.

    References
    ----------
    .. [1] P. Diaconis and B. Sturmfels, "Algebraic algorithms for sampling from conditional distributions",
       Annals of Statistics 26 (1998).

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> smooth = np.array([[2.5, 0.5], [0.5, 0.5], [0.0, 2.0]])
    >>> problem.residual(drawn(problem, smooth, np.random.default_rng(0)))
    0.0
    """
    one: FloatArray = draw_tables(problem, table, 1, rng)[0]
    return one


def draw_tables(problem: Problem, table: FloatArray, copies: int, rng: np.random.Generator) -> FloatArray:
    """Draw several tables, which are independent: shape (copies, n, k). Together they take less time."""
    floor, fraction = split(problem, table, "drawn")
    if problem.constraints:
        raise RoundingImpossible(
            "rounding 'drawn' keeps no extra constraints "
            f"({', '.join(c.name for c in problem.constraints)}); use rounding='nearest'"
        )
    merged, label_of = _merged_labels(problem)
    mean = floor + fraction
    folded = np.zeros(merged.shape)
    np.add.at(folded.T, label_of, mean.T)
    together = max(1, _MOST_CELLS // folded.size)
    tables = np.zeros((copies, *problem.shape))
    for first in range(0, copies, together):
        part = slice(first, min(first + together, copies))
        coarse = _draw(merged, folded, part.stop - part.start, rng)
        tables[part] = _shared_out(coarse, mean, label_of, rng)
    for one in tables:
        require_met(problem, one, "drawn")
    return tables


def _merged_labels(problem: Problem) -> tuple[Problem, IntArray]:
    """Merge the labels that no view tells apart; also the merged label of each label."""
    codes = np.stack([view.label_groups for view in problem.views])
    _, first, label_of = np.unique(codes, axis=1, return_index=True, return_inverse=True)
    label_of = label_of.reshape(-1)
    if len(first) == problem.shape[1]:
        return problem, np.arange(problem.shape[1])
    views = [View(view.groups, view.joint, view.label_groups[first]) for view in problem.views]
    return Problem(views, problem.histogram), label_of


def _draw(problem: Problem, mean: FloatArray, copies: int, rng: np.random.Generator) -> IntArray:
    """Draw tables of a problem whose labels some view tells apart."""
    classes, k = problem.refinement, problem.shape[1]
    class_mean = _summed(mean, classes)
    by_class = _of_classes(problem, classes)
    known, cores = _subtracted(by_class, class_mean)
    if problem.histogram is None:
        tables = _copied(_start(by_class, class_mean) if cores else known, copies)
        if cores:
            mix(tables, class_mean, np.arange(len(class_mean)), cores, rng)
        return _rows_of_classes(tables, mean, classes, rng)
    if not cores:
        if k == 2:
            return _two_labels(problem.histogram, known, mean, classes, copies, rng)
        problem = Problem([View(classes, known)], problem.histogram)
    alike = _with_equal_support(classes, mean, everywhere=bool(cores))
    if cores or int(alike.max()) > int(classes.max()):
        cores = _subtracted(_of_classes(problem, alike), _summed(mean, alike))[1]
    tables = _copied(_start(problem, mean), copies)
    mix(tables, mean, alike, cores, rng, blocks=classes)
    return tables


def _summed(mean: FloatArray, classes: IntArray) -> FloatArray:
    sums = np.zeros((int(classes.max()) + 1, mean.shape[1]))
    np.add.at(sums, classes, mean)
    return sums


def _with_equal_support(classes: IntArray, mean: FloatArray, *, everywhere: bool) -> IntArray:
    """Split classes into rows that are positive for the same labels: among these, any two rows can swap.

    Unless it is wanted everywhere, a class stays whole in which swaps reach every table all the same.
    """
    support = mean > 0
    mixed = np.zeros(int(classes.max()) + 1, dtype=bool)
    mixed[classes[(support != support[np.unique(classes, return_index=True)[1]][classes]).any(axis=1)]] = True
    if not everywhere:
        bits = [int.from_bytes(row) for row in np.packbits(support, axis=1)] if mixed.any() else []
        for one in np.flatnonzero(mixed).tolist():
            look_up()
            mixed[one] = not swaps_suffice(bits[row] for row in np.flatnonzero(classes == one).tolist())
    kinds = np.unique(np.where(mixed[classes][:, None], support, True), axis=0, return_inverse=True)[1]
    codes = classes * (int(kinds.max()) + 1) + kinds.reshape(-1)
    alike: IntArray = np.unique(codes, return_inverse=True)[1]
    return alike


def _copied(start: FloatArray, copies: int) -> IntArray:
    return np.repeat(start.astype(np.int64)[None], copies, axis=0)


def _of_classes(problem: Problem, classes: IntArray) -> Problem:
    """Pose the same problem for the totals of classes, one row each."""
    first = np.unique(classes, return_index=True)[1]
    records = None if problem.histogram is None else np.bincount(classes, problem.histogram)
    return Problem([View(v.groups[first], v.joint, v.label_groups) for v in problem.views], records)


def _subtracted(by_class: Problem, mean: FloatArray) -> tuple[FloatArray, list[Core]]:
    """Class totals that follow by subtraction, given that a cell of mean 0 is 0, and what stays open."""
    margins = list(independent(by_class.margins))
    cells = np.flatnonzero(mean)
    members = numbered([m.cells()[cells] for m in margins], [m.n_groups for m in margins])
    found = eliminate(members, np.concatenate([m.totals.ravel() for m in margins]))
    values = np.zeros(mean.shape)
    values.flat[cells] = found.values
    cells, members = cells[found.open_cells], members[:, found.open_cells]
    parts = components(members) if len(cells) else []
    largest = max(map(len, parts), default=0)
    if largest > _LARGEST_CORE:
        names = ", ".join(margin.name for margin in margins)
        raise RoundingImpossible(
            f"rounding 'drawn' would have to find its way through {largest:,} cells that the totals of "
            f"{names} leave open together, and has room for {_LARGEST_CORE:,}: use fewer views, or "
            "rounding='nearest'"
        )
    return values, [Core(cells[part], members[:, part]) for part in parts]


def _start(problem: Problem, mean: FloatArray) -> FloatArray:
    """Find a whole table near the mean that meets every total, with records only where the mean has some.

    It is the same for all seeds: the chain forgets it.
    """
    rng = np.random.default_rng(0)
    try:
        start = controlled(problem, mean, rng)
    except RoundingImpossible:
        start = nearest(problem, mean, rng)
    if (start[mean == 0] > 0).any():
        raise RoundingImpossible(
            "no whole table that meets every total was found among those with records only where the "
            "fractional table has them, which rounding 'drawn' draws from; use rounding='nearest'"
        )
    return start


def _two_labels(
    histogram: FloatArray,
    class_totals: FloatArray,
    mean: FloatArray,
    classes: IntArray,
    copies: int,
    rng: np.random.Generator,
) -> IntArray:
    """Draw the first label of each row from a binomial distribution, given the sum over each class."""
    n = len(mean)
    row = mean.sum(axis=1)
    chance = np.divide(mean[:, 0], row, out=np.zeros(n), where=row > 0)
    groups = (np.arange(copies)[:, None] * len(class_totals) + classes).ravel()
    records = histogram.astype(np.int64)
    sums = np.tile(class_totals[:, 0].astype(np.int64), copies)
    first = draw_given_sums(np.tile(records, copies), np.tile(chance, copies), groups, sums, rng)
    first = first.reshape(copies, n)
    return np.stack([first, records - first], axis=-1)


def _rows_of_classes(
    class_tables: IntArray, mean: FloatArray, classes: IntArray, rng: np.random.Generator
) -> IntArray:
    """Share the totals of each class and label out to its rows, in proportion to their means."""
    copies, size, k = class_tables.shape
    cells = classes[:, None] * k + np.arange(k)
    groups = np.arange(copies)[:, None, None] * (size * k) + cells
    weights = np.broadcast_to(mean, groups.shape)
    return scatter(groups.ravel(), class_tables.ravel(), weights.ravel(), rng).reshape(groups.shape)


def _shared_out(
    merged: IntArray, mean: FloatArray, label_of: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Share the records of merged labels out to the labels, in proportion to their means."""
    copies, n, k = merged.shape
    if k == mean.shape[1]:
        return merged.astype(np.float64)
    cells = np.arange(n)[:, None] * k + label_of
    groups = np.arange(copies)[:, None, None] * (n * k) + cells
    weights = np.broadcast_to(mean, groups.shape)
    shared = scatter(groups.ravel(), merged.ravel(), weights.ravel(), rng)
    return shared.reshape(groups.shape).astype(np.float64)
