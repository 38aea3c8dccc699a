"""Convex quadratic programs with bands of differences, solved by an interior-point method.

The program is

    minimise  sum_i weights_i (D x + offset)_i^2 + sum_j pull_j (x_j - target_j)^2
    subject to  C x = right,  0 <= x <= upper.

A predictor-corrector method [1]_ finds which bounds hold with equality; solving the equations with these
bounds fixed then gives the optimum to rounding error (an active-set step, repeated while a bound turns out to
be on the wrong side). Each step solves one symmetric quasi-definite system [2]_ for x, the scaled differences
y = weights (D x + offset) and the multipliers of C: however close two positions are, its entries stay of
moderate size, where the normal equations D' weights D would lose all digits. Sorted along the order it is a
band, which is factorised with pivoting.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optimization 2
   (1992).
.. [2] R. J. Vanderbei, "Symmetric quasidefinite matrices", SIAM J. Optimization 5 (1995).
.. [3] J. F. Grcar, "Matrix stretching for linear equations", Sandia report SAND90-8723 (1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

MOST_STEPS = 80
LEAST_GAP = 1e-9  # relative, at which the interior-point method stops
SETTLED_GAP = 1e-7  # relative, at which an active-set step is believed
_RIDGE = 1e-14  # subtracted from the zeros of what is factorised, as some totals follow from others
_FIXED = 1e12  # curvature that holds a cell at its bound
_FIRMER = 1e-9  # the same where that is not enough
_REFINEMENTS = 3
_PIECE = 8  # cells of a total in one equation
_LEAST_ROOM = 1e-15  # below an upper bound: what rounding can tell
_POLISHING = 12  # active-set steps
_FIRST_TRY = 6  # active-set steps before the interior-point method: often no bound matters


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The program; see the module."""

    D: sparse.csr_array
    offset: FloatArray
    weights: FloatArray
    pull: FloatArray
    target: FloatArray
    C: sparse.csr_array
    right: FloatArray
    upper: FloatArray  # infinite where nothing but C bounds a cell
    cap: FloatArray  # a value that no feasible cell exceeds
    place: IntArray  # of each cell along the order: where its equations lie in the band
    constant: float = 0.0  # roughness that no cell changes

    def in_units_of(self, unit: float) -> Quadratic:
        """The same program with its objective divided by `unit`."""
        return replace(
            self, weights=self.weights / unit, pull=self.pull / unit, constant=self.constant / unit
        )

    def value(self, x: FloatArray) -> float:
        """Objective."""
        rough = self.weights @ (self.D @ x + self.offset) ** 2
        return float(rough + self.pull @ (x - self.target) ** 2 + self.constant)

    def bound(self, point: Point) -> float:
        """Lower bound of the objective over all feasible x, from the multipliers y and v of any point.

        weights z^2 >= 2 y z - y^2 / weights for any y, and the pull is at least its tangent at x; what is
        left is linear, and at least -cap where a coefficient is negative.
        """
        x, y, v = point.x, point.y, point.v
        slope = 2.0 * self.reduced_costs(point)
        moved = x - self.target
        fixed = 2.0 * (y @ self.offset) - (y**2) @ (1.0 / self.weights)
        fixed += self.pull @ (moved**2 - 2.0 * moved * x) + 2.0 * (v @ self.right)
        return float(fixed + np.minimum(slope, 0.0) @ self.cap + self.constant)

    def reduced_costs(self, point: Point) -> FloatArray:
        """Half the derivative of the Lagrangian by each cell."""
        found: FloatArray = (
            self._D_transposed @ point.y + self.pull * (point.x - self.target) - self._C_transposed @ point.v
        )
        return found

    @cached_property
    def _D_transposed(self) -> sparse.csr_array:
        return self.D.T.tocsr()

    @cached_property
    def _C_transposed(self) -> sparse.csr_array:
        return self.C.T.tocsr()


@dataclass(frozen=True, eq=False)
class Point:
    """Cells, scaled differences, multipliers of the totals."""

    x: FloatArray
    y: FloatArray
    v: FloatArray

    def scaled(self, unit: float) -> Point:
        """The same cells, of a program whose objective is `unit` times as large."""
        return Point(self.x, unit * self.y, unit * self.v)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the method ended: the point, which method it was, its steps, whether the clock stopped it."""

    point: Point
    method: str
    steps: int
    timed_out: bool = False


def minimise(
    given: Quadratic, start: FloatArray, *, unit: float, floor: float, late: Callable[[], bool]
) -> Outcome:
    """Minimise from cells `start`, which meet C x = right about.

    `unit` is the curvature of the objective along smooth changes of x: what is to be resolved. Gaps are
    relative to `floor` or more. When it is `late`, the point reached so far is returned.
    """
    nowhere = np.zeros(len(start), dtype=np.int8)
    program = given.in_units_of(unit)
    first = _active_set(program, _System(program), nowhere, _FIRST_TRY, late)
    if first.solved and _settles(program, first.point, floor / unit):
        return Outcome(first.point.scaled(unit), "active-set", first.steps)
    # Where totals enforce a rough table, that is the size of things
    unit = max(unit, given.value(first.point.x) / len(start))
    program = given.in_units_of(unit)
    system = _System(program)
    inner = _interior_point(program, system, start, floor / unit, late)
    last = _active_set(program, system, inner.sides, _POLISHING, late)
    steps = first.steps + inner.steps + last.steps
    exact = last.solved and _settles(program, last.point, floor / unit)
    point = last.point if exact else inner.point
    return Outcome(point.scaled(unit), "interior-point", steps, inner.timed_out)


def _settles(program: Quadratic, point: Point, floor: float) -> bool:
    """Whether a point is optimal to enough digits."""
    value = program.value(point.x)
    missed = np.abs(program.C @ point.x - program.right).max(initial=0.0)
    return value - program.bound(point) <= SETTLED_GAP * max(value, floor) and bool(missed <= 1e-9)


@dataclass(eq=False)
class _Tried:
    point: Point
    steps: int
    solved: bool


def _active_set(
    program: Quadratic, system: _System, sides: Any, most: int, late: Callable[[], bool]
) -> _Tried:
    """Fix cells at their bounds (-1 lower, 1 upper), solve for the others, and correct which are fixed.

    Steps are repeated while each changes fewer cells than the one before.
    """
    upper = np.where(np.isfinite(program.upper), program.upper, 0.0)
    changes = np.inf
    point = Point(held := np.zeros(len(sides)), np.zeros(system.n_differences), np.zeros(len(program.right)))
    for step in range(1, most + 1):
        if late():
            return _Tried(point, step - 1, solved=False)
        held = np.where(sides > 0, upper, 0.0)
        fixed = sides != 0
        system.factorise(np.where(fixed, _FIXED, program.pull))
        point = system.solve(np.where(fixed, _FIXED * held, program.pull * program.target))
        slope = program.reduced_costs(point)
        point = system.solve(np.where(fixed, _FIXED * held + slope, program.pull * program.target))
        slope = program.reduced_costs(point)
        x = point.x
        point = Point(np.where(fixed, held, x), point.y, point.v)
        noise = 1e-12 * max(float(np.abs(slope).max(initial=0.0)), 1e-300)
        corrected = np.where(sides < 0, np.where(slope < -noise, 0, -1), 0)
        corrected = np.where(sides > 0, np.where(slope > noise, 0, 1), corrected)
        corrected = np.where(~fixed & (x < -1e-13), -1, corrected)
        corrected = np.where(~fixed & (x > program.upper + 1e-13), 1, corrected).astype(np.int8)
        moved = int((corrected != sides).sum())
        if moved == 0:
            missed = program.right - program.C @ point.x
            x = point.x + system.direction(np.zeros(len(x)), np.zeros(len(point.y)), missed).x
            x = np.where(fixed, held, np.clip(x, 0.0, program.upper))
            return _Tried(Point(x, point.y, point.v), step, solved=True)
        if moved >= changes and moved > 2:
            return _Tried(point, step, solved=False)
        changes, sides = moved, corrected
    return _Tried(point, most, solved=False)


@dataclass(eq=False)
class _Inner:
    point: Point
    steps: int
    sides: Any
    timed_out: bool = False


def _interior_point(
    program: Quadratic, system: _System, start: FloatArray, floor: float, late: Callable[[], bool]
) -> _Inner:
    """Mehrotra's predictor-corrector method from inside the bounds."""
    upper, bounded = program.upper, np.isfinite(program.upper)
    system.factorise(program.pull + 1.0)
    point = system.solve(program.pull * program.target + start)
    least = 1e-2 * float(start.mean())
    x = np.maximum(point.x, least)
    x = np.where(bounded, np.minimum(x, np.where(bounded, upper, 1.0) - least), x)
    point = Point(x, point.y, point.v)
    slope = program.reduced_costs(point)
    least = max(float(np.abs(slope).mean()), 1e-8)
    low = np.maximum(slope, 0.0) + least
    high = np.where(bounded, np.maximum(-slope, 0.0) + least, 0.0)
    pairs = len(x) + int(bounded.sum())
    best, stalled = np.inf, 0
    step = 0
    timed_out = False
    for step in range(MOST_STEPS):
        x = point.x
        room = np.where(bounded, np.maximum(upper - x, _LEAST_ROOM), 1.0)
        missed = program.right - program.C @ x
        value = program.value(x)
        gap = (value - program.bound(point)) / max(abs(value), floor)
        if gap <= LEAST_GAP and np.abs(missed).max(initial=0.0) <= 1e-10:
            break
        stalled = stalled + 1 if gap >= 0.9 * best else 0
        best = min(best, gap)
        if stalled > 15:
            break
        if late():
            timed_out = True
            break
        mean = float(low @ x + high @ room) / pairs
        slope = program.reduced_costs(point) - low + high
        loose = program.D @ x + program.offset - point.y / program.weights
        system.factorise(program.pull + low / x + high / room)
        along = system.direction(-slope - low + high, -loose, missed)
        d_low, d_high = -low - low * along.x / x, (-high + high * along.x / room) * bounded
        length = min(1.0, _longest(x, along.x, room, bounded), _longest_dual(low, d_low, high, d_high))
        after = (low + length * d_low) @ (x + length * along.x)
        after += (high + length * d_high) @ np.where(bounded, room - length * along.x, 0.0)
        centre = mean * (max(float(after), 0.0) / pairs / mean) ** 3
        toward_low = centre - along.x * d_low
        toward_high = np.where(bounded, centre + along.x * d_high, 0.0)
        right = -slope - low + high + toward_low / x - toward_high / room
        along = system.direction(right, -loose, missed)
        d_low = (toward_low - low * along.x) / x - low
        d_high = np.where(bounded, (toward_high + high * along.x) / room - high, 0.0)
        length = min(_longest(x, along.x, room, bounded), _longest_dual(low, d_low, high, d_high))
        length = min(1.0, 0.995 * length)
        point = Point(x + length * along.x, point.y + length * along.y, point.v + length * along.v)
        low, high = low + length * d_low, high + length * d_high
    room = np.where(bounded, upper - point.x, np.inf)
    sides = np.where(point.x < low, -1, np.where(room < high, 1, 0)).astype(np.int8)
    return _Inner(point, step, sides, timed_out)


def _longest(x: FloatArray, dx: FloatArray, room: FloatArray, bounded: BoolArray) -> float:
    """Longest step that keeps cells within their bounds."""
    down = float((-dx / x).max(initial=0.0))
    up = float(np.where(bounded, dx / room, 0.0).max(initial=0.0))
    return 1.0 / max(down, up, 1e-300)


def _longest_dual(low: FloatArray, d_low: FloatArray, high: FloatArray, d_high: FloatArray) -> float:
    """Longest step that keeps the multipliers of the bounds positive."""
    shrink = float((-d_low / low).max(initial=0.0))
    fall = float(np.where(high > 0, -d_high / np.where(high > 0, high, 1.0), 0.0).max(initial=0.0))
    return 1.0 / max(shrink, fall, 1e-300)


class _System:
    """The equations of one step, assembled once; only the curvature of the cells changes.

    Long totals would fill a factor that is made with pivoting: they are cut into pieces, whose running sums
    become unknowns of their own ("stretching" [3]_).
    """

    def __init__(self, program: Quadratic) -> None:
        from scipy import sparse

        self.program = program
        self.n_cells, self.n_differences = len(program.target), int(program.D.shape[0])
        C, self.last = _stretched(program.C, program.place)
        self.n_unknown = int(C.shape[1])
        D = program.D.copy()
        D.resize((self.n_differences, self.n_unknown))
        blocks = [
            [sparse.eye_array(self.n_unknown), D.T, C.T],
            [D, sparse.diags_array(-1.0 / program.weights), None],
            [C, None, sparse.diags_array(np.full(C.shape[0], -_RIDGE))],
        ]
        order = np.argsort(self._places(C), kind="stable")
        self.rank = np.empty_like(order)
        self.rank[order] = np.arange(len(order))
        self.matrix = sparse.block_array(blocks, format="csr")[order][:, order].tocsc()
        self.matrix.sort_indices()
        column = np.repeat(np.arange(len(order)), np.diff(self.matrix.indptr))
        diagonal = np.flatnonzero(self.matrix.indices == column)[self.rank]
        self.matrix.data[diagonal[self.n_cells : self.n_unknown]] = 0.0
        self.diagonal = diagonal[: self.n_cells]
        self.slack = diagonal[self.n_unknown + self.n_differences :]
        self.factor: Any = None

    def _places(self, C: sparse.csr_array) -> FloatArray:
        """Where each unknown and each equation lies along the order."""
        cells, D = self.program.place.astype(np.float64), self.program.D
        # A difference follows its first cell; a piece of a total its last one; a running sum its piece.
        padded = np.concatenate([cells, np.full(self.n_unknown - self.n_cells, -1.0)])
        first = np.minimum.reduceat(cells[D.indices], D.indptr[:-1]) if self.n_differences else np.zeros(0)
        last = np.maximum.reduceat(padded[C.indices], C.indptr[:-1]) if C.shape[0] else np.zeros(0)
        sums = np.delete(last, self.last)
        return np.concatenate([cells, sums + 0.4, first + 0.6, last + 0.3])

    def factorise(self, curvature: FloatArray) -> None:
        """Factorise the equations for this curvature of the cells."""
        from scipy.sparse.linalg import splu

        self.matrix.data[self.diagonal] = curvature
        self.matrix.data[self.slack] = -_RIDGE
        try:
            self.factor = splu(self.matrix, permc_spec="NATURAL")
        except RuntimeError:  # exactly singular
            self.matrix.data[self.diagonal] += _FIRMER
            self.matrix.data[self.slack] = -_FIRMER
            self.factor = splu(self.matrix, permc_spec="NATURAL")
            self.matrix.data[self.diagonal] = curvature
        self.matrix.data[self.slack] = 0.0

    def solve(self, cells: FloatArray) -> Point:
        """The point whose equations have this right-hand side in the cells."""
        return self.direction(cells, -self.program.offset, self.program.right)

    def direction(self, cells: FloatArray, differences: FloatArray, totals: FloatArray) -> Point:
        """Solve, and refine while that helps."""
        right = np.zeros(self.matrix.shape[0])
        n, m = self.n_unknown, self.n_unknown + self.n_differences
        in_cells, in_differences = self.rank[: self.n_cells], self.rank[n:m]
        in_totals = self.rank[m + self.last]
        right[in_cells], right[in_differences], right[in_totals] = cells, differences, totals
        found = self.factor.solve(right)
        residual = right - self.matrix @ found
        left = float(np.abs(residual).max(initial=0.0))
        for _ in range(_REFINEMENTS):
            better = found + self.factor.solve(residual)
            residual = right - self.matrix @ better
            worst = float(np.abs(residual).max(initial=0.0))
            if not worst < 0.5 * left:
                break
            found, left = better, worst
        return Point(found[in_cells], found[in_differences], -found[in_totals])


def _stretched(C: sparse.csr_array, place: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """Cut rows into pieces of a few cells, with the running sums as further columns.

    The rows of a total c'x = b become c_1'x - s_1 = 0, c_2'x + s_1 - s_2 = 0, ..., c_p'x + s_{p-1} = b. Also
    return the last row of each total: its right-hand side and its multiplier are those of the total.
    """
    from scipy import sparse

    lengths = np.diff(C.indptr)
    pieces = np.maximum(-(-lengths // _PIECE), 1)
    first = np.cumsum(pieces) - pieces
    total = np.repeat(np.arange(len(lengths)), lengths)
    sorted_ = np.lexsort((place[C.indices], total))
    rows = first[total] + (np.arange(len(C.indices)) - C.indptr[:-1][total]) // _PIECE
    size = int(pieces.sum())
    inner = np.delete(np.arange(size), first + pieces - 1)  # pieces that another one follows
    sums = C.shape[1] + np.arange(len(inner))
    where = np.concatenate([rows, inner, inner + 1]), np.concatenate([C.indices[sorted_], sums, sums])
    ones = np.ones(len(inner))
    matrix = sparse.csr_array(
        (np.concatenate([C.data[sorted_], -ones, ones]), where), shape=(size, C.shape[1] + len(inner))
    )
    return matrix, first + pieces - 1
