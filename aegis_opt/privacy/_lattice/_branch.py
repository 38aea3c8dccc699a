"""Best-first branch and bound over the candidates, which learns a clause from every point that violates."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from aegis_opt.privacy._lattice._bound import Bounded, bounded
from aegis_opt.privacy._lattice._clauses import Clauses
from aegis_opt.privacy._lattice._climb import Violates, climb
from aegis_opt.privacy._lattice._options import Options
from aegis_opt.privacy._lattice._partitions import BoolArray
from aegis_opt.privacy._lattice._violations import Point, Violations

_REPORT_SECONDS = 0.2  # between reports of progress


@dataclass
class Branching:
    """The search for the cheapest configuration that satisfies the rules.

    A node of the tree is a set of allowed options. Nodes are taken in the order of their bounds. Where the
    coarsest point of a node violates, so do all its configurations: the node ends with a clause. Where its
    cheapest configuration satisfies all clauses, it is tested: if it satisfies the rules, no configuration
    that is left is cheaper, and else a clause is learned. Other nodes are divided by a violated clause.

    Attributes
    ----------
    violations : Violations
        The test of the rules that are monotone.
    others : Violations, optional
        The test of all rules where some are not monotone: a configuration that fails it excludes only itself.
    best, upper : Point or None, float
        The cheapest configuration found, and its cost.
    lower : float
        No configuration costs less; equal to `upper` at the end.
    rejected : list of Point
        The configurations that only `others` refused.
    """

    options: Options
    violations: Violations
    clauses: Clauses
    others: Violations | None = None
    excluded: frozenset[Point] = frozenset()
    best: Point | None = None
    upper: float = math.inf
    lower: float = -math.inf
    rejected: list[Point] = field(default_factory=list)
    interrupted: bool = False

    def solve(
        self,
        seconds: float | None = None,
        report: Callable[[Branching], None] | None = None,
    ) -> bool:
        """Search until the best configuration is proved, or time is up or Ctrl-C is pressed.

        Parameters
        ----------
        seconds : float, optional
            The time to take. The first bound is always computed.
        report : callable, optional
            Told now and then how far the search is.

        Returns
        -------
        bool
            Whether the search came to its end.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C while no configuration is known that satisfies the rules.
        """
        end = None if seconds is None else time.monotonic() + seconds
        said = time.monotonic()
        try:
            for lower in self._steps():
                self.lower = max(self.lower, min(lower, self.upper))
                now = time.monotonic()
                if report is not None and now - said > _REPORT_SECONDS:
                    report(self)
                    said = now
                if end is not None and now > end:
                    return False
        except KeyboardInterrupt:
            if self.best is None:
                raise
            self.interrupted = True
            return False
        self.lower = self.upper
        return True

    def _steps(self) -> Iterator[float]:
        """Work through the tree; yield a lower bound of the cost after each step."""
        heap: list[tuple[float, int, int, Bounded]] = []
        numbers = itertools.count()

        def push(allowed: BoolArray) -> None:
            node = bounded(self.options, self.clauses, allowed, self.upper)
            if node is not None:
                heapq.heappush(heap, (node.bound, next(numbers), len(self.clauses), node))

        everything = np.ones(len(self.options.costs), dtype=bool)
        push(everything)
        if not heap:
            return
        yield heap[0][0]
        yield from (heap[0][0] for _ in self._descend(coarse_candidates(self.options)))
        while heap and heap[0][0] < self.upper:
            yield heap[0][0]
            _, _, seen, node = heapq.heappop(heap)
            if seen < len(self.clauses):  # what was learned meanwhile may move it back
                push(node.allowed)
                continue
            if not node.bound < self.upper:
                continue
            coarsest = self.options.coarsest(node.allowed)
            if self.violations.at(coarsest):
                self._learn(coarsest, self.violations.at)
            elif len(node.violated):
                for child in self._halves(node):
                    push(child)
            else:
                for child in self._leaf(node):
                    push(child)

    def _leaf(self, node: Bounded) -> Iterator[BoolArray]:
        """Test the cheapest configuration of a node; yield what is still to be searched of it."""
        point = self.options.point(node.cheapest)
        if point in self.excluded:
            yield from self._without(node)
        elif self.violations.at(point):
            self._learn(point, self.violations.at)
            yield node.allowed
        elif self.violations.exact(point):  # random numbers had merged classes
            self._learn(point, self.violations.exact)
            yield node.allowed
        elif self.others is not None and self.others.exact(point):
            self.rejected.append(point)
            yield from self._without(node)
        else:
            self._keep(point)

    def _keep(self, point: Point) -> None:
        """Take a configuration that satisfies the rules, if it is cheaper."""
        cost = self.options.cost(point)
        if cost < self.upper:
            self.best, self.upper = point, cost

    def _learn(self, point: Point, violates: Violates) -> None:
        self.clauses.add(climb(self.options, point, violates))

    def _halves(self, node: Bounded) -> Iterator[BoolArray]:
        """Divide a node by a violated clause with few ways out: take the cheapest of them, or do not."""
        rows = self.clauses.rows[node.violated]
        usable = np.logical_or.reduceat(rows & node.allowed, self.options.starts, axis=1)
        row = rows[int(np.argmin(usable.sum(axis=1)))]
        costs = np.where(row & node.allowed, self.options.costs, np.inf)
        extra = np.minimum.reduceat(costs, self.options.starts) - self.options.costs[node.cheapest]
        own = self.options.of(int(np.argmin(extra)))
        for way in (row, ~row):
            child = node.allowed.copy()
            child[own] &= way[own]
            yield child

    def _without(self, node: Bounded) -> Iterator[BoolArray]:
        """Divide a node into nodes that have all its configurations but the cheapest [1]_.

        References
        ----------
        .. [1] E. L. Lawler, "A procedure for computing the K best solutions to discrete optimization
           problems", Management Science 18, 1972.
        """
        left = node.allowed
        for i, option in enumerate(node.cheapest):
            child = left.copy()
            child[option] = False
            own = self.options.of(i)
            if child[own].any():
                yield child
            left = left.copy()
            left[own] = False
            left[option] = True

    def _descend(self, point: Point) -> Iterator[None]:
        """Make a configuration cheaper as long as it satisfies the rules, by the largest saving first."""
        if self._fails(point):
            return
        self._keep(point)
        open_attributes = list(range(self.options.n_attributes))
        while open_attributes:
            yield
            savings = {i: self._next_cheaper(i, point[i]) for i in open_attributes}
            open_attributes = [i for i in open_attributes if savings[i] is not None]
            if not open_attributes:
                break
            i = max(open_attributes, key=lambda i: savings[i][0])  # type: ignore[index]
            cheaper = (*point[:i], savings[i][1], *point[i + 1 :])  # type: ignore[index]
            if self._fails(cheaper):
                open_attributes.remove(i)
            else:
                point = cheaper
                self._keep(point)

    def _next_cheaper(self, attribute: int, candidate: int) -> tuple[float, int] | None:
        """Return the next cheaper candidate of an attribute, and what it saves."""
        costs, order = self.options.costs[self.options.of(attribute)], self.options.by_cost[attribute]
        cheaper = [c for c in order if costs[c] < costs[candidate]]
        return (float(costs[candidate] - costs[cheaper[-1]]), cheaper[-1]) if cheaper else None

    def _fails(self, point: Point) -> bool:
        if point in self.excluded or self.violations.at(point) or self.violations.exact(point):
            return True
        return self.others is not None and self.others.exact(point)


def coarse_candidates(options: Options) -> Point:
    """Return the candidate of each attribute with the fewest groups; of several the cheapest."""
    return tuple(
        min(order, key=own.n_groups) for own, order in zip(options.partitions, options.by_cost, strict=True)
    )
