"""A Markov chain over whole tables with the same totals, for several copies of a table at once.

Three kinds of moves keep every total, and the distribution of independent Poisson cells given the totals:

* two labels of every class of rows are redrawn together, given the other labels (`_conditioned`);
* cycles over three or more rows and labels of a class, which closed cells make necessary (`_lines`);
* circuits of the totals between classes, where these are not determined (`_circuits`).

The first kind reaches every table of a class that has no closed cells, and with the second every table of any
class. A tournament of the labels, in which each meets each other once, leaves little of where the
chain began: of what a table has in excess of its mean, a round in which half of the pairs of k labels meet
takes away at least half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.rounding._circuits import random_circuits
from aegis_opt.rounding._conditioned import draw_given_sums
from aegis_opt.rounding._lines import draw_steps

ROUNDS = 24
"""Least number of rounds: 2^-24 of an excess is left where a round leaves half of it."""

BASES = 48
"""Least number of random bases of the totals between classes, whose circuits are gone along."""


@dataclass(frozen=True, eq=False)
class Core:
    """Totals of classes that subtraction does not determine."""

    cells: IntArray  # positions in the table of classes, row-major
    members: IntArray  # margins x cells: the total, counted through all margins, that each cell belongs to


def mix(
    tables: IntArray,
    mean: FloatArray,
    classes: IntArray,
    cores: Sequence[Core],
    rng: np.random.Generator,
    *,
    rows_fixed: bool,
) -> None:
    """Run the chain on copies x rows x labels, in place, until the tables do not depend on their start.

    `classes` numbers the class of each row. Where the totals of the rows are not fixed, each row is a class of
    its own, and only circuits move it.
    """
    k = mean.shape[1]
    rounds = 0
    if rows_fixed and k > 1:
        rounds = max(ROUNDS, 2 * (k - 1)) if k > 2 else 1
    if cores:
        rounds = max(rounds, BASES)
    within = _Within(mean, classes, tables.sum(axis=2)[0]) if rows_fixed else None
    between = _Between(mean, classes, tables.sum(axis=2)[0]) if cores else None
    meetings = _tournaments(k, rng)
    for turn in range(rounds):
        if within is not None and k > 1:
            within.redraw(tables, *next(meetings), rng)
            if within.has_closed and k > 2:
                within.cycles(tables, 3 + turn % (k - 2), rng)
        if between is not None:
            for core in cores:
                between.circuits(tables, core, rng)


def _tournaments(k: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield disjoint pairs of labels, such that each meets each other once in a tournament, again and again.

    One label keeps its place and the others move round the table; with an odd number, one sits out.
    """
    size = k + k % 2
    while True:
        labels = rng.permutation(size)
        for turn in range(size - 1):
            seats = np.concatenate([labels[:1], np.roll(labels[1:], turn)])
            one, other = seats[: size // 2], seats[: size // 2 - 1 : -1]
            both = (one < k) & (other < k)
            yield one[both], other[both]


class _Within:
    """Moves inside classes of rows whose totals are known."""

    def __init__(self, mean: FloatArray, classes: IntArray, records: IntArray) -> None:
        movable = (records > 0) & ((mean > 0).sum(axis=1) > 1)
        movable &= (np.bincount(classes[movable], minlength=len(mean)) > 1)[classes]
        self.rows = np.flatnonzero(movable)
        self.classes = np.unique(classes[self.rows], return_inverse=True)[1]
        self.mean = mean[self.rows]
        self.log_mean = _log(self.mean)
        self.has_closed = bool((self.mean == 0).any())

    def redraw(self, tables: IntArray, ys: IntArray, zs: IntArray, rng: np.random.Generator) -> None:
        """Redraw pairs of labels in every class of every copy, given the sums of the pairs in each row."""
        if not len(self.rows) or not len(ys):
            return
        found = tables[:, self.rows]
        one, two = self.mean[:, ys], self.mean[:, zs]
        chance = np.divide(one, one + two, out=np.zeros_like(one), where=one > 0)
        trials = found[:, :, ys] + found[:, :, zs]
        copy = np.arange(len(tables))[:, None, None] * (int(self.classes.max()) + 1)
        groups = ((copy + self.classes[:, None]) * len(ys) + np.arange(len(ys))).ravel()
        sums = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        np.add.at(sums, groups, found[:, :, ys].ravel())
        spread = np.broadcast_to(chance, trials.shape).ravel()
        drawn = draw_given_sums(trials.ravel(), spread, groups, sums, rng).reshape(trials.shape)
        found[:, :, ys] = drawn
        found[:, :, zs] = trials - drawn
        tables[:, self.rows] = found

    def cycles(self, tables: IntArray, length: int, rng: np.random.Generator) -> None:
        """Go along random cycles over so many rows of a class and as many labels."""
        found = np.ascontiguousarray(tables[:, self.rows])
        copies, n, k = found.shape
        key = (np.arange(copies)[:, None] * n + self.classes).ravel()
        order = np.lexsort((rng.random(len(key)), key))
        starts = np.flatnonzero(np.append(True, key[order][1:] != key[order][:-1]))
        sizes = np.diff(np.append(starts, len(key)))
        place = np.arange(len(key)) - np.repeat(starts, sizes)
        begins = np.flatnonzero((place % length == 0) & (place + length <= np.repeat(sizes, sizes)))
        if not len(begins):
            return
        rows = order[begins + np.arange(length)[:, None]]
        labels = np.argsort(rng.random((len(begins), k)), axis=1)[:, :length].T
        index = np.concatenate([rows * k + labels, rows * k + np.roll(labels, -1, axis=0)])
        steps = np.repeat([1, -1], length)[:, None] * np.ones_like(index)
        _go(found.reshape(-1), index, steps, self.log_mean.ravel()[index % (n * k)], rng)
        tables[:, self.rows] = found


class _Between:
    """Moves along circuits of the totals of classes."""

    def __init__(self, mean: FloatArray, classes: IntArray, records: IntArray) -> None:
        self.log_mean = _log(mean)
        self.order = np.argsort(classes, kind="stable")
        self.bounds = np.searchsorted(classes[self.order], np.arange(int(classes.max()) + 2))
        weight = np.maximum(records[self.order], 1e-300)
        self.running = np.concatenate([[0.0], np.cumsum(weight)])

    def circuits(self, tables: IntArray, core: Core, rng: np.random.Generator) -> None:
        """Go along the circuits of a random basis; in each class, one row takes part, drawn by its records."""
        copies, n, k = tables.shape
        offset = np.arange(copies) * (n * k)
        flat = tables.reshape(-1)
        for moved, step in random_circuits(core.members, rng):
            classes, labels = np.divmod(core.cells[moved], k)
            concerned, place = np.unique(classes, return_inverse=True)
            cells = self._rows(concerned, copies, rng)[place] * k + labels[:, None]
            steps = np.broadcast_to(step[:, None], cells.shape)
            _go(flat, cells + offset, steps, self.log_mean.ravel()[cells], rng)

    def _rows(self, classes: IntArray, copies: int, rng: np.random.Generator) -> IntArray:
        """Draw a row of each class, for each copy, with chances proportional to the rows' records."""
        start, end = self.bounds[classes][:, None], self.bounds[classes + 1][:, None]
        low, high = self.running[start], self.running[end]
        point = low + rng.random((len(classes), copies)) * (high - low)
        place = np.searchsorted(self.running, point, side="right") - 1
        rows: IntArray = self.order[np.clip(place, start, end - 1)]
        return rows


def _go(
    flat: IntArray, index: IntArray, steps: IntArray, log_mean: FloatArray, rng: np.random.Generator
) -> None:
    """Go along several lines that have no cell in common; one with a closed cell stays where it is."""
    able = np.flatnonzero(np.isfinite(log_mean).all(axis=0))
    index, steps = index[:, able], steps[:, able]
    log_odds = (steps * log_mean[:, able]).sum(axis=0)
    flat[index] += steps * draw_steps(flat[index], steps, log_odds, rng)


def _log(mean: FloatArray) -> FloatArray:
    return np.log(mean, out=np.full(mean.shape, -np.inf), where=mean > 0)
