"""The candidates of all attributes in one row, with what each costs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aegis_opt.privacy._lattice._partitions import BoolArray, IntArray, Partitions
from aegis_opt.privacy._lattice._violations import Point

FloatArray = npt.NDArray[np.float64]


class Options:
    """One option for each candidate of each attribute.

    Parameters
    ----------
    partitions : sequence of Partitions
        Those of each attribute.
    costs : ndarray of float
        What each option costs: whole numbers whose sums doubles hold exactly, so that every comparison of the
        search is exact.
    """

    def __init__(self, partitions: Sequence[Partitions], costs: FloatArray) -> None:
        self.partitions, self.costs = partitions, costs
        sizes = [own.n_candidates for own in partitions]
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.owner: IntArray = np.repeat(np.arange(len(sizes)), sizes)
        self.by_cost = [np.argsort(costs[self.of(i)], kind="stable").tolist() for i in range(len(partitions))]
        self._chains: dict[tuple[int, int], tuple[list[int], list[float]]] = {}
        self._joined: dict[tuple[int, bytes], int] = {}

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.starts)

    def of(self, attribute: int) -> slice:
        """Return the options of an attribute."""
        start = int(self.starts[attribute])
        return slice(start, start + self.partitions[attribute].n_candidates)

    def point(self, options: IntArray) -> Point:
        """Return one option of each attribute as a point."""
        return tuple((options - self.starts).tolist())

    def cost(self, point: Point) -> float:
        """Return the sum of the costs of a point whose partitions are candidates."""
        return float(self.costs[self.starts + np.array(point)].sum())

    def coarsest(self, allowed: BoolArray) -> Point:
        """Return the join of the allowed candidates of each attribute: all their combinations refine it."""
        found = []
        for i, own in enumerate(self.partitions):
            mine = allowed[self.of(i)]
            key = i, mine.tobytes()
            if key not in self._joined:
                self._joined[key] = own.join_of(np.flatnonzero(mine))
            found.append(self._joined[key])
        return tuple(found)

    def chain(self, attribute: int, start: int) -> list[int]:
        """Return ever coarser partitions: `start` joined with the candidates in the order of their costs."""
        return self._chain(attribute, start)[0]

    def prices(self, attribute: int, start: int) -> list[float]:
        """Return what each step of the chain costs more than the dearest candidate that refines `start`."""
        return self._chain(attribute, start)[1]

    def _chain(self, attribute: int, start: int) -> tuple[list[int], list[float]]:
        key = attribute, start
        if key not in self._chains:
            own, costs = self.partitions[attribute], self.costs[self.of(attribute)]
            now = costs[own.finer(start)].max(initial=costs.min())
            chain, prices = [start], [0.0]
            for candidate in self.by_cost[attribute]:
                wider = own.join(chain[-1], candidate)
                if wider != chain[-1]:
                    chain.append(wider)
                    prices.append(max(0.0, float(costs[candidate] - now)))
            self._chains[key] = chain, prices
        return self._chains[key]
