"""A Markov chain over whole tables with the same totals, for several copies of a table at once.

Two kinds of moves keep every total, and the distribution of independent Poisson cells given the totals:

* two labels of every block of rows are redrawn together, given the other labels (`_conditioned`);
* circuits of the totals between classes of rows, where these are not determined (`_circuits`).

The first kind reaches every table of a block in which all rows are positive for the same labels, the second
the other tables. In a tournament each label meets each other one once. A round of it, in which all labels
meet one other, takes away at least half of what tables with normal deviations have in excess of their mean:
the sum of squares over the labels of a row falls by the share of pairs that meet, k / (2 (k - 1)) for even k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.rounding._circuits import random_circuits
from aegis_opt.rounding._conditioned import draw_given_sums
from aegis_opt.rounding._lines import draw_steps

ROUNDS = 24
"""Least number of rounds: 2^-24 of an excess is left where a round leaves half of it."""

BASES = 48
"""Least number of random bases of the totals between classes, whose circuits are gone along."""

LINES = 64
"""Rows of a class, at most, that one circuit goes through at once."""


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
    blocks: IntArray | None = None,
) -> None:
    """Run the chain on copies x rows x labels, in place, until the tables do not depend on their start.

    `classes` numbers the class of each row, to which the cores refer. `blocks` numbers coarser classes, where
    the totals of the rows are known; where they are not, each row is a class of its own, and only circuits
    move it.
    """
    k = mean.shape[1]
    rounds = BASES if cores else 0
    records = tables[0].sum(axis=1)
    within = None
    if blocks is not None and k > 1:
        within = _Within(mean, blocks, records)
        rounds = max(rounds, ROUNDS, 2 * (k - 1))
    between = _Between(mean, classes, records) if cores else None
    meetings = _tournaments(k, rng)
    for _ in range(rounds):
        look_up()
        if within is not None:
            within.redraw(tables, *next(meetings), rng)
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
    """Moves inside blocks of rows whose totals are known."""

    def __init__(self, mean: FloatArray, blocks: IntArray, records: IntArray) -> None:
        movable = (records > 0) & ((mean > 0).sum(axis=1) > 1)
        movable &= (np.bincount(blocks[movable], minlength=len(mean)) > 1)[blocks]
        self.rows = np.flatnonzero(movable)
        self.blocks = np.unique(blocks[self.rows], return_inverse=True)[1]
        self.mean = mean[self.rows]

    def redraw(self, tables: IntArray, ys: IntArray, zs: IntArray, rng: np.random.Generator) -> None:
        """Redraw pairs of labels in every block of every copy, given the sums of the pairs in each row."""
        if not len(self.rows):
            return
        found = tables[:, self.rows]
        one, two = self.mean[:, ys], self.mean[:, zs]
        chance = np.divide(one, one + two, out=np.zeros_like(one), where=one > 0)
        first = found[:, :, ys]
        trials = first + found[:, :, zs]
        copy = np.arange(len(tables))[:, None, None] * (int(self.blocks.max()) + 1)
        groups = ((copy + self.blocks[:, None]) * len(ys) + np.arange(len(ys))).ravel()
        sums = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        np.add.at(sums, groups, first.ravel())
        chances = np.broadcast_to(chance, trials.shape).ravel()
        drawn = draw_given_sums(trials.ravel(), chances, groups, sums, rng).reshape(trials.shape)
        found[:, :, ys] = drawn
        found[:, :, zs] = trials - drawn
        tables[:, self.rows] = found


class _Between:
    """Moves along circuits of the totals of classes."""

    def __init__(self, mean: FloatArray, classes: IntArray, records: IntArray) -> None:
        self.log_mean = np.log(mean, out=np.full(mean.shape, -np.inf), where=mean > 0)
        order = np.argsort(classes, kind="stable")
        self.rows = np.split(order, np.cumsum(np.bincount(classes))[:-1])
        self.records = np.maximum(records, 1e-9)

    def circuits(self, tables: IntArray, core: Core, rng: np.random.Generator) -> None:
        """Go along the circuits of a random basis, in several rows of each class at once.

        Which rows of its classes a circuit goes through is drawn anew, those with many records first.
        """
        copies, n, k = tables.shape
        flat = tables.reshape(-1)
        for moved, step in random_circuits(core.members, rng):
            look_up()
            classes, labels = np.divmod(core.cells[moved], k)
            concerned, place = np.unique(classes, return_inverse=True)
            lines = min(LINES, *(len(self.rows[c]) for c in concerned))
            rows = np.stack([self._some_rows(c, copies, lines, rng) for c in concerned])[place]
            cells = rows * k + labels[:, None, None]
            index = cells + (np.arange(copies) * (n * k))[:, None]
            size = (len(step), copies * lines)
            steps = np.broadcast_to(step[:, None], size)
            log_odds = (steps * self.log_mean.ravel()[cells].reshape(size)).sum(axis=0)
            index = index.reshape(size)
            flat[index] += steps * draw_steps(flat[index], steps, log_odds, rng)

    def _some_rows(self, of: int, copies: int, lines: int, rng: np.random.Generator) -> IntArray:
        """Draw different rows of a class for each copy, those with many records more likely and first."""
        rows = self.rows[of]
        if len(rows) == 1:
            return np.broadcast_to(rows, (copies, 1))
        key = rng.standard_exponential((copies, len(rows))) / self.records[rows]
        some: IntArray = rows[np.argsort(key, axis=1)[:, :lines]]
        return some
