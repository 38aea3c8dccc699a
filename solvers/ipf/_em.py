"""Most likely tables of noisy counts: expectation maximisation, finished by an interior-point method.

Each pass of expectation maximisation [1]_ (known as Richardson-Lucy deconvolution [2]_) multiplies every cell
by the mean, over the masked values it can become, of how much more of them were counted than expected:

    X(a, y) <- X(a, y) sum over g of T(g, a) J(g, y) / (TX)(g, y).

Label totals hold after the first pass, and the likelihood never falls. It converges slowly where the noise is
wide, and where cells tend to 0. A primal-dual interior-point method (Newton steps on the optimality
conditions, x z = mu with mu falling to 0; [3]_) then finishes, all labels together. It also takes the exact
totals of other views and the histogram, which the passes do not.

References
----------
.. [1] A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM
   algorithm", J. Roy. Statist. Soc. B 39 (1977).
.. [2] L. B. Lucy, "An iterative technique for the rectification of observed distributions", Astron. J. 79
   (1974).
.. [3] S. J. Wright, Primal-Dual Interior-Point Methods, SIAM (1997).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from aegis_opt._blas import one_blas_thread
from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.problem._conflict import infeasible, is_infeasible
from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._noisy import PROVED_GAP, NoisySystem, relative_gap
from aegis_opt.solvers.base import Solution

FIRST_PASSES = 20  # of expectation maximisation, before the interior-point method takes over
ENOUGH = 1e-13  # nats per record: below is rounding error
_MOST_STEPS = 100
_MOST_FLOATS = 2**22  # of the matrices that are solved together
_TO_THE_BOUND = 0.995  # share of the way to the nearest bound that a step goes
_RIDGE = 1e-13  # relative: exact totals follow from each other, and so may columns of the channel
_STALLED = 12  # steps without progress


def solve_noisy(problem: Problem, max_iterations: int, accelerate: bool, deadline: float) -> Solution:
    """Find the most likely table of a problem with noisy views."""
    start = time.perf_counter()
    system = NoisySystem.of(problem, deadline)
    built = time.perf_counter()
    with one_blas_thread(system.T.shape[1]):
        fit = fit_noisy(system, max_iterations, accelerate=accelerate, deadline=deadline)
    table = system.table(fit.x)
    missed = problem.residual(table) > tolerance(problem)
    if missed and time.monotonic() < deadline and is_infeasible(problem):
        raise infeasible(problem)
    gap = relative_gap(system, fit.x, "likelihood", fit.v)
    return Solution(
        table=table,
        method="em",
        iterations=fit.iterations,
        proved=gap <= PROVED_GAP,
        gap=gap,
        timed_out=gap > PROVED_GAP and time.monotonic() > deadline,
        seconds={"build": built - start, "solve": time.perf_counter() - built},
        misfit="likelihood",
        warning=system.warning,
    )


@dataclass(frozen=True, eq=False)
class NoisyFit:
    """Fitted cells (B, n), multipliers of the exact totals where they were used, and the passes and steps."""

    x: FloatArray
    v: FloatArray | None
    iterations: int


def fit_noisy(
    system: NoisySystem, max_iterations: int = 10_000, *, accelerate: bool = True, deadline: float = math.inf
) -> NoisyFit:
    """Fit the cells of a system."""
    if system.A is None:
        return most_likely(
            system.T,
            system.J,
            system.rights,
            system.open,
            system.rows,
            max_iterations=max_iterations,
            accelerate=accelerate,
            deadline=deadline,
        )
    x, v, steps = _fit_coupled(system, system.J, max_iterations, deadline)
    return NoisyFit(x, v[0], steps)


def fit_draws(system: NoisySystem, drawn: FloatArray) -> FloatArray:
    """Fit the cells (D, B, n) of a system to each of many draws (D, B, M) of its noisy counts."""
    draws, (blocks, n) = len(drawn), system.open.shape
    if system.A is None:
        rights, opened = np.tile(system.rights, (draws, 1)), np.tile(system.open, (draws, 1))
        flat = drawn.reshape(-1, drawn.shape[2])
        return most_likely(system.T, flat, rights, opened, system.rows).x.reshape(draws, blocks, n)
    size = max(1, _MOST_FLOATS // (blocks * n * max(n, len(system.T), system.A.shape[1])))
    parts = [drawn[first : first + size] for first in range(0, draws, size)]
    fitted = [_fit_coupled(system, part.reshape(-1, part.shape[2]))[0] for part in parts]
    return np.concatenate(fitted).reshape(draws, blocks, n)


def _fit_coupled(
    system: NoisySystem, J: FloatArray, max_iterations: int = 10_000, deadline: float = math.inf
) -> tuple[FloatArray, FloatArray, int]:
    """Fit coupled blocks to several J (D B, M); return cells (D B, n), multipliers (D, R) and steps."""
    assert system.A is not None
    draws = len(J) // len(system.open)
    opened, start = np.tile(system.open, (draws, 1)), np.tile(_interior_start(system), (draws, 1))
    totals = _AllTotals(system.A, system.b / system.records, system.open, draws)
    x, v, steps = _interior_point(
        system.T, J / system.records, start, opened, totals, max_iterations, deadline
    )
    return x * system.records, v, steps


def most_likely(
    T: FloatArray,
    J: FloatArray,
    rights: FloatArray,
    opened: BoolArray | None = None,
    rows: FloatArray | None = None,
    *,
    max_iterations: int = 10_000,
    accelerate: bool = True,
    deadline: float = math.inf,
) -> NoisyFit:
    """Most likely cells x (B, n) of noisy counts J (B, M) under exact totals: rows (R, n) x = rights (B, R).

    The blocks, rows of J, are independent problems with one channel T (M, n), whose columns have the same
    sum. The first exact total is that of all cells, by default the only one.

    Examples
    --------
    >>> T = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> most_likely(T, np.array([[60.0, 40.0]]), np.array([[100.0]])).x.round(6).tolist()
    [[70.0, 30.0]]
    """
    n = T.shape[1]
    opened = np.ones((len(J), n), dtype=bool) if opened is None else opened
    rows = np.ones((1, n)) if rows is None else rows
    totals = rights[:, 0]
    found, multipliers, most = np.zeros((len(J), n)), np.zeros(rights.shape), 0
    todo = np.flatnonzero((totals > 0) & (J.sum(axis=1) > 0))
    size = max(1, _MOST_FLOATS // (n * max(n, len(T))))
    for first in range(0, len(todo), size):
        part = todo[first : first + size]
        shares, cells = J[part] / totals[part, None], opened[part]
        even = cells / cells.sum(axis=1, keepdims=True)
        x, passes, limit = even, 0, 0
        if len(rows) == 1:  # other totals do not hold after a pass
            limit = min(FIRST_PASSES, max_iterations) if accelerate else max_iterations
            x, passes = _maximise_expectation(T, shares, x, limit, deadline)
        if passes == limit < max_iterations and time.monotonic() < deadline:
            known = _BlockTotals(rows, rights[part] / totals[part, None], cells)
            x = 0.9 * x + 0.1 * even
            x, v, steps = _interior_point(T, shares, x, cells, known, max_iterations - passes, deadline)
            multipliers[part] = v
            passes += steps
        if len(rows) == 1:
            x = x / x.sum(axis=1, keepdims=True)
        found[part] = x * totals[part, None]
        most = max(most, passes)
    return NoisyFit(found, multipliers if len(rows) > 1 else None, most)


def _maximise_expectation(
    T: FloatArray, J: FloatArray, x: FloatArray, passes: int, deadline: float
) -> tuple[FloatArray, int]:
    """Passes of expectation maximisation, until no record can become more likely; also how many."""
    weight = J.sum(axis=1, keepdims=True)  # the number of views that tell about a block
    for done in range(passes):
        look_for_ctrl_c()
        grown = _ratio(J, x @ T.T) @ T / weight
        if float(np.where(x > 0, grown, 0.0).max()) - 1.0 <= ENOUGH or time.monotonic() > deadline:
            return x, done
        x = x * grown
    return x, passes


class _BlockTotals:
    """Equations rows x = rights of each block, the first one of all cells, which sum to 1."""

    def __init__(self, rows: FloatArray, rights: FloatArray, cells: BoolArray) -> None:
        self.rows, self.rights, self.cells, self.coupled = rows, rights, cells, 1
        self.A = rows[None] * cells[:, None, :]
        self.start = np.zeros(rights.shape)

    def keep(self, chosen: BoolArray) -> _BlockTotals:
        """The same for some of the blocks."""
        return _BlockTotals(self.rows, self.rights[chosen], self.cells[chosen])

    def priced(self, v: FloatArray) -> FloatArray:
        """A'v."""
        priced: FloatArray = (v @ self.rows) * self.cells
        return priced

    def missing(self, x: FloatArray) -> FloatArray:
        """Return what is missing: b - A x."""
        left: FloatArray = self.rights - (x * self.cells) @ self.rows.T
        return left

    def solve(self, H: FloatArray, right: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve H dx + A'dv = right, A dx = missing, by Schur complements, which can be singular."""
        both = np.linalg.solve(H, np.concatenate([right[:, :, None], self.A.transpose(0, 2, 1)], axis=2))
        free, toward = both[:, :, 0], both[:, :, 1:]
        needed = (self.A @ free[:, :, None])[:, :, 0] - missing
        schur = self.A @ toward
        if schur.shape[1] == 1:
            dv = needed / schur[:, :, 0]
        else:
            place = np.arange(schur.shape[1])
            ridged = schur.copy()
            ridged[:, place, place] += _RIDGE * schur[:, place, place].max(axis=1, keepdims=True)
            found = np.linalg.solve(ridged, needed[:, :, None])
            for _ in range(2):  # what the ridge leaves
                found = found + np.linalg.solve(ridged, needed[:, :, None] - schur @ found)
            dv = np.asarray(found[:, :, 0], dtype=np.float64)
        return free - (toward @ dv[:, :, None])[:, :, 0], dv

    def shortfall(self, g: FloatArray, x: FloatArray, v: FloatArray) -> FloatArray:
        """Bound, for each block, on how much more likely a record can become."""
        if len(self.rows) == 1:
            best = np.where(self.cells, g, -np.inf).max(axis=1)
        else:
            over = np.where(self.cells, g - v @ self.rows, 0.0).max(axis=1)
            best = (v * self.rights).sum(axis=1) + np.maximum(over, 0.0)
        bound: FloatArray = np.abs(best - (g * x).sum(axis=1)) + np.abs(self.missing(x)).max(axis=1)
        return bound

    def shared(self, values: FloatArray) -> FloatArray:
        """Values of the blocks, (B, 1), as they are."""
        return values


class _AllTotals:
    """All exact totals, over all blocks of a draw together; several draws are independent problems."""

    def __init__(self, A: FloatArray, b: FloatArray, cells: BoolArray, draws: int) -> None:
        self.A = A * cells[:, None, :]  # (B, R, n)
        self.b = b
        self.cells = cells
        self.coupled = len(A)
        self.across = np.ascontiguousarray(self.A.transpose(1, 0, 2)).reshape(len(b), -1)  # (R, B n)
        self.start = np.zeros((draws, len(b)))

    def keep(self, chosen: BoolArray) -> _AllTotals:
        """The same for some of the draws; all blocks of a draw end together."""
        return _AllTotals(self.A, self.b, self.cells, int(chosen.sum()) // self.coupled)

    def priced(self, v: FloatArray) -> FloatArray:
        """A'v."""
        priced: FloatArray = (v @ self.across).reshape(-1, self.cells.shape[1])
        return priced

    def missing(self, x: FloatArray) -> FloatArray:
        """Return what is missing: b - A x."""
        left: FloatArray = self.b - x.reshape(-1, self.across.shape[1]) @ self.across.T
        return left

    def solve(self, H: FloatArray, right: FloatArray, missing: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve H dx + A'dv = right, A dx = missing, by the Schur complement, which can be singular."""
        draws, (total, unknowns) = len(missing), self.across.shape
        transposed = np.tile(self.A.transpose(0, 2, 1), (draws, 1, 1))
        both = np.linalg.solve(H, np.concatenate([right[:, :, None], transposed], axis=2))
        both = both.reshape(draws, unknowns, total + 1)
        free, toward = both[:, :, 0], both[:, :, 1:]
        schur = self.across @ toward
        needed = (free @ self.across.T - missing)[:, :, None]
        place = np.arange(total)
        ridged = schur.copy()
        ridged[:, place, place] += _RIDGE * schur[:, place, place].max(axis=1, keepdims=True)
        dv = np.linalg.solve(ridged, needed)
        for _ in range(2):  # what the ridge leaves
            dv = dv + np.linalg.solve(ridged, needed - schur @ dv)
        return (free - (toward @ dv)[:, :, 0]).reshape(right.shape), np.asarray(dv[:, :, 0])

    def shortfall(self, g: FloatArray, x: FloatArray, v: FloatArray) -> FloatArray:
        """Bound on how much more likely a record can become, the same for all blocks of a draw."""
        inside = np.where(self.cells.ravel(), (g - self.priced(v)).reshape(len(v), -1), 0.0)
        over = np.maximum(inside.max(axis=1), 0.0)
        gained = (g * x).reshape(len(v), -1).sum(axis=1)
        bound = np.abs(v @ self.b - gained) + over + np.abs(self.missing(x)).max(axis=1)
        return np.repeat(bound, self.coupled)

    def shared(self, values: FloatArray) -> FloatArray:
        """The least value of all blocks of a draw, for each."""
        return np.repeat(values.reshape(-1, self.coupled).min(axis=1), self.coupled)[:, None]


def _interior_point(
    T: FloatArray,
    J: FloatArray,
    x: FloatArray,
    opened: BoolArray,
    totals: _BlockTotals | _AllTotals,
    max_steps: int,
    deadline: float,
) -> tuple[FloatArray, FloatArray, int]:
    """Minimise -sum of J log(Tx) under totals, from positive x; return cells, multipliers, steps.

    Cells that are closed take no part. Returned is, for each block, the best point that was found.
    """
    diagonal = np.arange(T.shape[1])
    v, z = totals.start, np.where(opened, 1.0, 0.0)
    found, found_v = np.where(opened, x, 0.0), totals.start.copy()
    least, stalled = np.full(len(x), np.inf), np.zeros(len(x), dtype=np.int64)
    left, x = np.arange(len(x)), found.copy()
    for step in range(min(max_steps, _MOST_STEPS)):
        look_for_ctrl_c()
        mean = x @ T.T
        ratio = _ratio(J, mean)
        g = ratio @ T
        shortfall = totals.shortfall(g, x, v)
        stalled[left] = np.where(shortfall < 0.9 * least[left], 0, stalled[left] + 1)
        better = shortfall < least[left]
        found[left[better]], least[left[better]] = x[better], shortfall[better]
        first = better[:: totals.coupled]
        found_v[left[better][:: totals.coupled] // totals.coupled] = v[first]
        goes_on = (least[left] > ENOUGH) & (stalled[left] <= _STALLED)
        if not goes_on.any() or time.monotonic() > deadline:
            return found, found_v, step
        if not goes_on.all():
            left, x, z, J, opened = left[goes_on], x[goes_on], z[goes_on], J[goes_on], opened[goes_on]
            v, mean, ratio, g, totals = (
                v[goes_on[:: totals.coupled]],
                mean[goes_on],
                ratio[goes_on],
                g[goes_on],
                totals.keep(goes_on),
            )
        H = (T.T[None] * _ratio(ratio, mean)[:, None, :]) @ T
        H *= opened[:, :, None] & opened[:, None, :]
        safe = np.where(opened, x, 1.0)
        least_slope = _RIDGE * H[:, diagonal, diagonal].max(axis=1, keepdims=True)  # where T is singular
        H[:, diagonal, diagonal] += np.where(opened, np.maximum(z / safe, least_slope), 1.0)
        dual = np.where(opened, g - totals.priced(v) + z, 0.0)
        missing = totals.missing(x)
        count = opened.sum(axis=1, keepdims=True)
        mu = _centre(x * z, count, totals)
        # predictor: straight to the solution; corrector: as far towards the centre as that falls short
        dx, _ = totals.solve(H, np.where(opened, dual - z, 0.0), missing)
        dz = np.where(opened, -z - z * dx / safe, 0.0)
        ahead = (x + _reach(x, dx, totals) * dx) * (z + _reach(z, dz, totals) * dz)
        centre = mu * np.clip(_centre(ahead, count, totals) / np.maximum(mu, 1e-300), 0.0, 1.0) ** 3
        product = centre - x * z - dx * dz
        dx, dv = totals.solve(H, np.where(opened, dual + product / safe, 0.0), missing)
        dz = np.where(opened, (product - z * dx) / safe, 0.0)
        primal, dual_step = (
            np.minimum(1.0, _TO_THE_BOUND * _reach(now, change, totals)) for now, change in ((x, dx), (z, dz))
        )
        x, z = x + np.where(opened, primal * dx, 0.0), z + dual_step * dz
        v = v + dual_step[:: totals.coupled] * dv
    return found, found_v, min(max_steps, _MOST_STEPS)


def _centre(product: FloatArray, count: FloatArray, totals: _BlockTotals | _AllTotals) -> FloatArray:
    """Mean of x z over the open cells of each block, or of all of a draw where blocks are coupled."""
    sums, counts = (values.reshape(-1, totals.coupled).sum(axis=1) for values in (product.sum(axis=1), count))
    mean: FloatArray = np.repeat(sums / counts, totals.coupled)[:, None]
    return mean


def _reach(now: FloatArray, change: FloatArray, totals: _BlockTotals | _AllTotals) -> FloatArray:
    """Longest step of each block, (B, 1), up to a full one, that leaves everything positive."""
    falling = change < 0
    ratio = np.where(falling, -now / np.where(falling, change, -1.0), np.inf).min(axis=1, keepdims=True)
    return totals.shared(np.minimum(ratio, 1.0 / _TO_THE_BOUND))


def _ratio(counts: FloatArray, mean: FloatArray) -> FloatArray:
    """Divide counts by their mean; 0 where there are no counts."""
    return np.divide(counts, mean, out=np.zeros_like(mean), where=counts > 0)


def _interior_start(system: NoisySystem) -> FloatArray:
    """Positive cells of one record in all."""
    cells = system.open.astype(np.float64)
    return cells / max(float(cells.sum()), 1.0)
