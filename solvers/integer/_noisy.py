"""Whole tables of least misfit to noisy counts, by CP-SAT and tangents.

The misfit is a sum of convex functions phi(u) of the means u = (TX)(g, y). Each is bounded from below by
tangents, whose coefficients are rounded down to whole numbers: as cells are not negative, the bounds stay
valid, and the least sum that CP-SAT proves is a bound on the misfit of every whole table (outer approximation
[1]_). Tangents at the means of the table that was found are added until its misfit equals the bound.

References
----------
.. [1] M. A. Duran and I. E. Grossmann, "An outer-approximation algorithm for a class of mixed-integer
   nonlinear programs", Math. Programming 36 (1986).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from aegis_opt.errors import AegisError, InvalidOption
from aegis_opt.problem._consistency import require_whole_totals
from aegis_opt.problem._cp_sat import WholeTables
from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._misfit import Misfit, misfit_of
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._noisy import PROVED_GAP, NoisySystem
from aegis_opt.solvers.base import Solution
from aegis_opt.solvers.ipf._em import fit_noisy

LARGEST = 500
"""Cells of a problem up to which the search is tried."""

_MOST_ROUNDS = 100
_STEPS = (0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 8.0, -8.0)
"""Where the first tangents are, in standard deviations from the mean that fits best."""

_LARGEST_COST = 2.0**50
_UNITS_PER_CUT = 1e8  # what rounding coefficients down may hide, as a share


def solve_noisy_integer(problem: Problem, kind: Misfit, seed: int, deadline: float) -> Solution:
    """Find the whole table of least misfit of a small problem with noisy views."""
    n, k = problem.shape
    if n * k > LARGEST:
        raise InvalidOption(
            f"solver 'integer' takes noisy views of up to {LARGEST} cells, and this problem has {n * k:,}: "
            "use solver='ipf' with rounding='controlled'"
        )
    require_whole_totals(problem.margins, "solver 'integer'", "solver='convex'")
    start = time.perf_counter()
    system = NoisySystem.of(problem, deadline)
    model = _Tangents(problem, system, kind, seed, deadline)
    built = time.perf_counter()
    best, least, bound, rounds = None, math.inf, 0.0, 0
    while rounds < _MOST_ROUNDS:
        try:
            found = model.search(best)
        except TimeoutError:
            break
        rounds += 1
        if found is None:
            break
        table, proved = found
        bound = max(bound, proved)
        value = misfit_of(problem, table, kind) ** (2 if kind == "l2" else 1)
        if value < least:
            best, least = table, value
        if _gap(least, bound, kind, problem.total) <= PROVED_GAP or not model.cut(table):
            break
    if best is None:
        raise AegisError(
            "CP-SAT found no whole table within the time limit; allow more, or use solver='ipf' with a "
            "rounding"
        )
    gap = _gap(least, bound, kind, problem.total)
    return Solution(
        table=best,
        method="cp-sat",
        iterations=rounds,
        proved=gap <= PROVED_GAP,
        gap=gap,
        timed_out=gap > PROVED_GAP and time.monotonic() > deadline,
        seconds={"build": built - start, "solve": time.perf_counter() - built},
        warning=system.warning,
        misfit=kind,
    )


def _gap(value: float, bound: float, kind: Misfit, records: float) -> float:
    """Gap to the least misfit, as in `aegis_opt.solvers._noisy.relative_gap`."""
    if kind == "likelihood":
        return max(value - bound, 0.0) / records if records else 0.0
    return (math.sqrt(value) - math.sqrt(min(max(bound, 0.0), value))) / max(math.sqrt(value), 1.0)


class _Tangents:
    """The CP-SAT model: whole tables that meet the totals, and lower bounds on their misfit."""

    def __init__(
        self, problem: Problem, system: NoisySystem, kind: Misfit, seed: int, deadline: float
    ) -> None:
        self.problem, self.system, self.kind = problem, system, kind
        n, k = problem.shape
        margins = problem.margins
        members = numbered([m.cells() for m in margins], [m.n_groups for m in margins])
        totals = np.concatenate([m.totals.ravel() for m in margins])
        upper = np.min([m.totals[m.rows][:, m.columns] for m in margins], axis=0)
        upper = np.where(system.table(system.open.astype(np.float64)) > 0, upper, 0.0).ravel()
        whole = np.round(totals).astype(np.int64), np.round(upper).astype(np.int64)
        self.whole = WholeTables(members, whole[0], np.zeros_like(whole[1]), whole[1], seed, deadline)
        cells = np.arange(n * k).reshape(n, k)
        self.places = system.cells(cells.astype(np.float64)).astype(np.int64)  # (B, n): the model's cells
        counted = [(block, g) for block in range(len(system.J)) for g in range(len(system.T))]
        self.counted = [place for place in counted if system.T[place[1]].any()]
        fitted = fit_noisy(system, deadline=deadline).x
        mean = np.maximum(fitted @ system.T.T, 1e-3)
        extremes = (1e-3, max(problem.total, 1.0))
        largest = max(self._phi(float(J), u) for J in system.J.ravel() for u in extremes)
        self.scale = min(
            _UNITS_PER_CUT * max(len(self.counted), 1), _LARGEST_COST / max(largest * system.J.size, 1.0)
        )
        most = int(self.scale * max(largest, 1.0) * 1.01) + 1
        self.costs: dict[tuple[int, int], Any] = {
            place: self.whole.variable(0, most) for place in self.counted
        }
        self.known: set[tuple[int, int, float]] = set()
        for block, g in self.counted:
            around = mean[block, g]
            for step in _STEPS:
                self._tangent(block, g, max(around + step * math.sqrt(around + 1.0), around / 50, 1e-2))

    def search(self, best: FloatArray | None) -> tuple[FloatArray, float] | None:
        """Table of least cost, and what every whole table's misfit is at least."""
        hints = []
        if best is not None:
            hints = list(zip(self.whole.cells, best.ravel().astype(int).tolist(), strict=True))
        found = self.whole.search(self.whole.sum(list(self.costs.values())), hints)
        if found is None:
            return None
        return found.cells.reshape(self.problem.shape).astype(np.float64), found.bound / self.scale

    def cut(self, table: FloatArray) -> bool:
        """Add tangents at the means of a table; return whether there was any new one."""
        mean = self.system.cells(table) @ self.system.T.T
        before = len(self.known)
        for block, g in self.counted:
            self._tangent(block, g, max(float(mean[block, g]), 1e-2))
        return len(self.known) > before

    def _phi(self, J: float, u: float) -> float:
        if self.kind == "l2":
            return (u - J) ** 2
        return J * math.log(J / u) - J + u if J > 0 else u

    def _tangent(self, block: int, g: int, u: float) -> None:
        """Add cost >= phi(u) + phi'(u) (mean - u), with coefficients rounded down."""
        key = (block, g, round(u, 9))
        if key in self.known:
            return
        self.known.add(key)
        J = float(self.system.J[block, g])
        slope = 2 * (u - J) if self.kind == "l2" else 1 - J / u
        constant = math.floor(self.scale * (self._phi(J, u) - slope * u))
        weights = np.floor(self.scale * slope * self.system.T[g]).astype(np.int64).tolist()
        cells = [self.whole.cells[place] for place in self.places[block].tolist()]
        below = self.whole.weighted_sum(cells, weights)
        self.whole.model.add(self.costs[block, g] >= below + constant)
