"""One question to a space: the cheapest configuration that satisfies some rules with some suppression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from aegis_opt.privacy._base import PrivacyRule, allowed_records
from aegis_opt.privacy._lattice._branch import Branching
from aegis_opt.privacy._lattice._clauses import Clauses
from aegis_opt.privacy._lattice._options import Options
from aegis_opt.privacy._lattice._space import Space
from aegis_opt.privacy._lattice._violations import Point, Violations


@dataclass(eq=False)
class Task:
    """Rules and a limit of suppression for a space.

    The search is over the quasi-identifiers. Other attributes take their cheapest candidate.

    Attributes
    ----------
    pruning : Violations
        The test of the rules that are monotone, by which whole parts of the lattice are left out.
    others : Violations or None
        The test of all rules, where some are not monotone.
    """

    space: Space
    rules: tuple[PrivacyRule, ...]
    suppression: float
    seed: int = 0
    options: Options = field(init=False)
    pruning: Violations = field(init=False)
    others: Violations | None = field(init=False)
    clauses: Clauses = field(init=False)
    limit: int = field(init=False)

    def __post_init__(self) -> None:
        space, quasi = self.space, self.space.quasi
        whole = Options(space.partitions, space.units)
        units = [space.units[whole.of(i)] for i in quasi]
        partitions = [space.partitions[i] for i in quasi]
        self.options = Options(partitions, np.concatenate(units))
        self._free = [order[0] for order in whole.by_cost]
        self.limit = allowed_records(self.suppression, space.rows.n_records)
        monotone = [
            rule for rule in self.rules if (rule.monotone_with_suppression if self.limit else rule.monotone)
        ]
        self.pruning = self._violations(monotone)
        self.others = None if len(monotone) == len(self.rules) else self._violations(self.rules)
        self.clauses = Clauses(self.options)

    def _violations(self, rules: Sequence[PrivacyRule]) -> Violations:
        rows = self.space.rows.only(self.space.quasi)
        return Violations(rows, self.options.partitions, rules, self.limit, self.seed, self.space.order)

    @property
    def checks(self) -> int:
        """Number of configurations and other points that were tested."""
        return self.pruning.tests + (0 if self.others is None else self.others.tests)

    @property
    def everything(self) -> Violations:
        """The test of all rules."""
        return self.pruning if self.others is None else self.others

    def branching(self, excluded: Iterable[Point] = ()) -> Branching:
        """Return a search that knows the clauses so far."""
        return Branching(self.options, self.pruning, self.clauses, self.others, frozenset(excluded))

    def whole(self, point: Point) -> Point:
        """Return the candidates of all attributes for those of the quasi-identifiers."""
        chosen = list(self._free)
        for i, candidate in zip(self.space.quasi, point, strict=True):
            chosen[i] = candidate
        return tuple(chosen)

    def quasi(self, point: Point) -> Point:
        """Return the candidates of the quasi-identifiers among those of all attributes."""
        return tuple(point[i] for i in self.space.quasi)

    def mean(self, units: float) -> float:
        """Return the mean loss over all attributes for a sum of units over the quasi-identifiers."""
        starts = Options(self.space.partitions, self.space.units).starts
        free = sum(
            float(self.space.units[starts[i] + candidate])
            for i, candidate in enumerate(self._free)
            if i not in self.space.quasi
        )
        return self.space.in_measure(units + free)


Report = Callable[[str, int, int], None]


def reporter(task: Task, progress: Report) -> Callable[[Branching], None]:
    """Return what tells people how far a search is: the best so far, the bound, the gap and the tests."""

    def report(branching: Branching) -> None:
        bound = task.mean(branching.lower)
        if branching.best is None:
            progress(f"none found yet, bound {bound:.6f}, {task.checks:,} tests", 0, 0)
            return
        cost = task.mean(branching.upper)
        gap = relative_gap(cost, bound)
        text = f"best {cost:.6f}, bound {bound:.6f}, gap {gap:.2%}, {task.checks:,} tests"
        progress(text, max(0, round(100 * (1 - gap))), 100)

    return report


def relative_gap(cost: float, bound: float) -> float:
    """Return by how much of itself a cost may be above the least, at most.

    Examples
    --------
    >>> relative_gap(0.5, 0.25)
    0.5
    """
    return 0.0 if cost <= bound else min((cost - bound) / abs(cost), 1.0) if cost else 1.0
