"""What the search has learned: clauses, which every configuration that satisfies the rules satisfies, too."""

from __future__ import annotations

import numpy as np

from aegis_opt.privacy._lattice._options import Options
from aegis_opt.privacy._lattice._partitions import BoolArray
from aegis_opt.privacy._lattice._violations import Point


class Clauses:
    """Points that violate, and for each the options that avoid it.

    Of a point v that violates a monotone rule, every point that refines v violates it, too. A configuration
    that satisfies the rule therefore takes, in some attribute, a candidate that does not refine v there.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.points: list[Point] = []
        self._known: set[Point] = set()
        self._rows = np.zeros((64, len(options.costs)), dtype=bool)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def rows(self) -> BoolArray:
        """For each clause, the options that satisfy it."""
        return self._rows[: len(self.points)]

    def add(self, point: Point) -> None:
        """Add the clause of a point that violates."""
        if point in self._known:
            return
        if len(self.points) == len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
        finer = [own.finer(p) for own, p in zip(self.options.partitions, point, strict=True)]
        self._rows[len(self.points)] = ~np.concatenate(finer)
        self.points.append(point)
        self._known.add(point)
