"""What has been solved about one summary, kept for the next question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from aegis_opt.advisor._disclosure import disclosed_share
from aegis_opt.advisor._question import Scope
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.reconstruction import Reconstruction
from aegis_opt.summary import Summary

Found = TypeVar("Found")


def problems_of(summary: Summary, attribute: str, scope: Scope, histograms: bool) -> tuple[Problem, ...]:
    """Return the problems of one attribute: one from all views together, or one per masked table."""
    if scope == "pooled":
        return (summary.problem(attribute, histograms=histograms),)
    tables = range(len(summary.attributes[attribute].tables))
    return tuple(summary.problem(attribute, table=t, histograms=histograms) for t in tables)


class SolvedTables:
    """The problems posed and the tables found for one summary; none of them depends on the measure.

    Threads may share it: what one of them is working out, the others wait for. A copy in another process
    starts with nothing solved.
    """

    def __init__(self, summary: Summary) -> None:
        self.summary = summary
        self._found: dict[Hashable, Any] = {}
        self._locks: defaultdict[Hashable, Lock] = defaultdict(Lock)
        self._lock = Lock()  # of the locks

    def __reduce__(self) -> tuple[type[SolvedTables], tuple[Summary]]:
        return SolvedTables, (self.summary,)  # locks are not copied

    def problems(self, attribute: str, scope: Scope, histograms: bool) -> tuple[Problem, ...]:
        """Return `problems_of` the summary; what a problem has worked out about its totals is kept too.

        Where there is nothing to leave out, the problems with and without `histograms` are the same objects.
        """
        summary = self.summary
        classes = scope == "pooled" and bool(summary.label_masks) and summary.label_counts is not None
        histograms = histograms and (classes or summary.attributes[attribute].histogram is not None)
        return self.once(
            ("problems", attribute, scope, histograms),
            lambda: problems_of(self.summary, attribute, scope, histograms),
        )

    def solve(self, problems: tuple[Problem, ...], solver: Reconstructor) -> list[Reconstruction]:
        """Reconstruct the tables of some of the problems that `problems` returned."""
        return self.once(("tables", problems, solver), lambda: solver.reconstruct_many(problems))

    def disclosed(self, problem: Problem, result: Reconstruction) -> float:
        """Return the share of the records that the totals of one of the problems give away.

        It needs the table of most entropy; NaN where the reconstruction is not proved to be that table.
        """
        if result.norm != "kl" or not result.optimal:
            return np.nan
        return self.once(("disclosed", problem), lambda: disclosed_share(problem, result.values))

    def once(self, key: Hashable, compute: Callable[[], Found]) -> Found:
        """Return what was computed under a key before, or compute it."""
        with self._lock:
            lock = self._locks[key]
        with lock:  # of this key alone: other threads may solve other problems meanwhile
            if key not in self._found:
                self._found[key] = compute()
            found: Found = self._found[key]
        return found
