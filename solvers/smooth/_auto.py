"""Automatic solver: maximum entropy or smoothness, whichever predicts held-out views best.

With three or more views, views are held out: each is predicted from all the others together, and from each
of the others alone, by every candidate (maximum entropy, first differences, second differences). The error
of a prediction P of a view J of N records is their total variation distance, sum abs(P - J) / 2N, plus what
sampling alone would make of it, sum sqrt(J / 2 pi) / N: below that, errors tell nothing. Views that follow
from those that predict them say nothing and are left out.

The candidates are ordered by how much they assume: maximum entropy, first differences, second differences. A
later one must have errors whose logarithm is lower on average by more than two standard errors of the paired
differences; this is the rule by which trees are pruned [2]_, with two standard errors instead of one because
predictions of the same views resemble each other.

With fewer views nothing can be held out: first differences where the attribute is ordered, which seldom lose
much. A nominal attribute has nothing to choose: maximum entropy. It is also taken where a smooth table would
need more memory than there is room for, and where half of the time limit is over before the choice is made; a
warning says so.

References
----------
.. [1] M. Stone, "Cross-validatory choice and assessment of statistical predictions", Journal of the Royal
   Statistical Society B 36 (1974).
.. [2] L. Breiman, J. Friedman, R. Olshen and C. Stone, "Classification and Regression Trees", Wadsworth
   (1984).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from aegis_opt._options import number
from aegis_opt.distances import Distance, get_distance
from aegis_opt.distances._roughness import Curves
from aegis_opt.problem._margin import FloatArray, Margin
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.base import Capabilities, Reconstructor, Solution
from aegis_opt.solvers.ipf import IPF
from aegis_opt.solvers.reconstruction import MAXIMUM_ENTROPY
from aegis_opt.solvers.smooth._smooth import Smooth
from aegis_opt.solvers.smooth._system import TooLarge

FEWEST_VIEWS = 3
MOST_VIEWS = 12  # that are held out
MOST_CELLS = 20_000  # of a table whose views are also predicted from single ones
STANDARD_ERRORS = 2.0
CHOOSING = 0.5  # of the time limit
LEAST_SECONDS = 1e-3  # that a fit is given

TOO_LATE = (
    "the time limit came before held-out views could tell which table predicts best: this is the table of "
    "maximum entropy. Allow more (time_limit), or take solver='ipf' or solver='smooth', which do not choose."
)

TOO_LARGE = (
    "a smooth table would need more memory than there is room for: this is the table of maximum entropy. "
    "Fewer views or labels leave a choice."
)
CANDIDATES: dict[str, IPF | Smooth] = {
    MAXIMUM_ENTROPY: IPF(),
    "first differences": Smooth(order=1),
    "second differences": Smooth(order=2),
}


@dataclass(frozen=True, kw_only=True)
class Auto(Reconstructor):
    """Maximum entropy, or the smoothest table by first or second differences: what predicts best.

    The reconstruction says what was chosen (`choice`) and what each candidate's predictions were off
    (`held_out`: geometric means).

    Parameters
    ----------
    time_limit : float, optional
        Seconds for the choice and the table together. The choice has half of them: where it takes longer, the
        table of maximum entropy comes back with status TIME_LIMIT.

    Examples
    --------
    >>> from aegis_opt.problem import Problem
    >>> truth = [[9, 1], [8, 2], [6, 4], [5, 5], [3, 7], [1, 9]]
    >>> views = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 1, 2]]
    >>> result = Auto().reconstruct(Problem.from_table(truth, views, positions=[1, 2, 3, 4, 5, 6]))
    >>> result.choice.endswith("differences"), sorted(result.held_out)
    (True, ['first differences', 'maximum entropy', 'second differences'])
    """

    name: ClassVar[str] = "auto"
    capabilities: ClassVar[Capabilities] = Capabilities(norms=("kl", "roughness"))

    time_limit: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_limit is not None:
            number("time_limit", self.time_limit, above=0, unit="seconds")

    @property
    def distance_norm(self) -> str:
        """What is minimised where there is nothing to hold out."""
        return "roughness"

    def solve(self, problem: Problem) -> Solution:
        """Choose by held-out views, then fit all views."""
        if Curves.of_problem(problem) is None:
            fitted = IPF(time_limit=self.time_limit).solve(problem)
            return replace(fitted, distance=get_distance("kl"), choice=MAXIMUM_ENTROPY)
        start = time.monotonic()
        limit = math.inf if self.time_limit is None else self.time_limit
        late, warning = False, ""
        try:
            best, errors = _choice(problem, start + CHOOSING * limit)
            chose = time.monotonic() - start
            solution = _candidate(best, start + limit).solve(problem)
        except (TimeoutError, TooLarge) as error:
            late = isinstance(error, TimeoutError)
            warning = TOO_LATE if late else TOO_LARGE
            best, errors = MAXIMUM_ENTROPY, {}
            chose = time.monotonic() - start
            solution = _candidate(best, start + limit).solve(problem)
        return replace(
            solution,
            distance=_candidate(best).distance,
            choice=best,
            held_out=errors,
            warning=warning or solution.warning,
            proved=solution.proved and not late,
            gap=None if late else solution.gap,
            timed_out=solution.timed_out or late,
            seconds=solution.seconds | {"choose": chose},
        )

    @property
    def distance(self) -> Distance:
        """What is minimised where there is nothing to hold out."""
        return get_distance(self.distance_norm)


def _candidate(name: str, deadline: float = math.inf) -> Reconstructor:
    """One of `CANDIDATES` with the seconds that are left until a deadline of `time.monotonic`."""
    if deadline == math.inf:
        return CANDIDATES[name]
    return replace(CANDIDATES[name], time_limit=max(deadline - time.monotonic(), LEAST_SECONDS))


def _choice(problem: Problem, deadline: float) -> tuple[str, dict[str, float]]:
    """Name of the candidate that predicts best, and the mean errors of all: see `held_out_errors`."""
    if len(problem.views) >= FEWEST_VIEWS and problem.total > 0:
        each = held_out_errors(problem, deadline)
        if each.size:
            means = np.exp(np.log(each).mean(axis=0))
            errors = dict(zip(CANDIDATES, means.tolist(), strict=True))
            return list(CANDIDATES)[simplest(np.log(each))], errors
    return "first differences", {}


def held_out_errors(problem: Problem, deadline: float = math.inf) -> FloatArray:
    """Errors of all predictions: one row per prediction, one column per candidate.

    `TimeoutError` is raised at the deadline, in seconds of `time.monotonic`.
    """
    margins = _telling(problem)
    found = []
    for known, predicted in _splits(margins, alone=problem.prior.size <= MOST_CELLS):
        views = [problem.views[margins[i][0]] for i in known]
        part = problem.with_views(views, problem.histogram)
        tables = []
        for name in CANDIDATES:
            tables.append(_candidate(name, deadline).solve(part).table)
            if time.monotonic() > deadline:  # which may have stopped the fit
                raise TimeoutError
        found += [[prediction_error(margins[i][1], table) for table in tables] for i in predicted]
    return np.array(found).reshape(len(found), len(CANDIDATES))


def simplest(errors: FloatArray) -> int:
    """First candidate (column) that is not clearly worse on average than the best one.

    Examples
    --------
    >>> simplest(np.array([[1.0, 0.9], [1.0, 1.1], [1.0, 0.9]])), simplest(np.array([[1.0, 0.5], [1.1, 0.5]]))
    (0, 1)
    """
    best = int(errors.mean(axis=0).argmin())
    for candidate in range(best):
        worse = errors[:, candidate] - errors[:, best]
        noise = worse.std(ddof=1) / math.sqrt(len(worse)) if len(worse) > 1 else 0.0
        if worse.mean() <= STANDARD_ERRORS * noise:
            return candidate
    return best


def prediction_error(margin: Margin, table: FloatArray) -> float:
    """Total variation distance of a view from what a table predicts for it, plus what sampling makes of it.

    Examples
    --------
    >>> from aegis_opt.problem import Problem
    >>> margin = Problem.from_table([[50, 0], [0, 50]], [0, 1]).margins[0]
    >>> round(prediction_error(margin, np.array([[40.0, 10.0], [10.0, 40.0]])), 3)
    0.256
    """
    moved = np.abs(margin.sums(table) - margin.totals).sum() / 2
    chance = np.sqrt(margin.totals / (2 * math.pi)).sum()
    return float((moved + chance) / margin.totals.sum())


def _telling(problem: Problem) -> list[tuple[int, Margin]]:
    """Views of more than one group with their numbers: each partition once, and not too many."""
    views = [(i, margin) for i, margin in enumerate(problem.margins) if margin.kind == "view"]
    first = {
        (np.unique(margin.rows, return_inverse=True)[1].tobytes(), margin.columns.tobytes()): (i, margin)
        for i, margin in reversed(views)
        if len(np.unique(margin.rows)) > 1
    }
    found = sorted(first.values(), key=lambda view: view[0])
    if len(found) <= MOST_VIEWS:
        return found
    by_size = sorted(found, key=lambda view: view[1].n_groups)
    chosen = np.linspace(0, len(found) - 1, MOST_VIEWS).round().astype(int)
    return [by_size[i] for i in chosen]


def _splits(views: list[tuple[int, Margin]], *, alone: bool) -> Iterator[tuple[list[int], list[int]]]:
    """Yield which views predict which: all others predict one, then each predicts the others."""
    margins = [margin for _, margin in views]
    everyone = range(len(margins))
    for i in everyone:
        others = [j for j in everyone if j != i]
        if others and not any(margins[j].implies(margins[i]) for j in others):
            yield others, [i]
    for i in everyone if alone else ():
        predicted = [j for j in everyone if j != i and not margins[i].implies(margins[j])]
        if predicted:
            yield [i], predicted
