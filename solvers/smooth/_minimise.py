"""The smoothest table by an interior-point method and active sets.

A predictor-corrector method [1]_ finds which bounds hold with equality; solving the equations with these
bounds fixed then gives the optimum to rounding error (an active-set step, repeated while a bound turns out
to be on the wrong side). Often no bound matters, or few do: active-set steps alone are tried first.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optimization 2
   (1992).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.solvers.smooth._quadratic import Iterate, Quadratic
from aegis_opt.solvers.smooth._system import BandSystem

MOST_STEPS = 80
LEAST_GAP = 1e-9  # relative, at which the interior-point method stops
SETTLED_GAP = 1e-7  # relative, at which an active-set step is believed
_FIXED = 1e12  # curvature that holds a cell at its bound
_FIRST_TRY = 6  # active-set steps before the interior-point method
_POLISHING = 12  # active-set steps after it
_PATIENCE = 15  # steps without progress
_LEAST_ROOM = 1e-15  # below an upper bound: what rounding can tell


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the method ended: the point, which method it was, its steps, whether the clock stopped it."""

    point: Iterate
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
    first = _active_set(program, BandSystem(program), nowhere, _FIRST_TRY, late)
    if first.solved and _settles(program, first.point, floor / unit):
        return Outcome(first.point.scaled(unit), "active-set", first.steps)
    if late():
        return Outcome(first.point.scaled(unit), "active-set", first.steps, timed_out=True)
    # Where totals enforce a rough table, that is the size of things
    unit = max(unit, given.value(first.point.x) / len(start))
    program = given.in_units_of(unit)
    system = BandSystem(program)
    inner = _interior_point(program, system, start, floor / unit, late)
    last = _active_set(program, system, inner.sides, _POLISHING, late)
    steps = first.steps + inner.steps + last.steps
    exact = last.solved and _settles(program, last.point, floor / unit)
    point = last.point if exact else inner.point
    return Outcome(point.scaled(unit), "interior-point", steps, inner.timed_out)


def _settles(program: Quadratic, point: Iterate, floor: float) -> bool:
    """Whether a point is optimal to enough digits."""
    value = program.value(point.x)
    missed = np.abs(program.C @ point.x - program.right).max(initial=0.0)
    return value - program.bound(point) <= SETTLED_GAP * max(value, floor) and bool(missed <= 1e-9)


@dataclass(eq=False)
class _Tried:
    point: Iterate
    steps: int
    solved: bool


def _active_set(
    program: Quadratic, system: BandSystem, sides: Any, most: int, late: Callable[[], bool]
) -> _Tried:
    """Fix cells at their bounds (-1 lower, 1 upper), solve for the others, and correct which are fixed.

    Steps are repeated while each changes fewer cells than the one before.
    """
    upper = np.where(np.isfinite(program.upper), program.upper, 0.0)
    changes = np.inf
    point = Iterate(np.zeros(len(sides)), np.zeros(system.n_differences), np.zeros(len(program.right)))
    for step in range(1, most + 1):
        if late():
            return _Tried(point, step - 1, solved=False)
        held = np.where(sides > 0, upper, 0.0)
        fixed = sides != 0
        system.factorise(np.where(fixed, _FIXED, program.pull))
        # Cells are counted from their bounds: 1e12 times a bound would drown what they press against it
        differences, totals = -program.offset - program.D @ held, program.right - program.C @ held
        pulled = np.where(fixed, 0.0, program.pull * program.target)
        point = system.direction(pulled, differences, totals)
        slope = program.reduced_costs(point)
        if fixed.any():  # once more, as the bounds give way by as much as cells press against them
            point = system.direction(np.where(fixed, slope, pulled), differences, totals)
        point = Iterate(held + point.x, point.y, point.v)
        slope = program.reduced_costs(point)
        x = point.x
        point = Iterate(np.where(fixed, held, x), point.y, point.v)
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
            return _Tried(Iterate(x, point.y, point.v), step, solved=True)
        if moved >= changes and moved > 2:
            return _Tried(point, step, solved=False)
        changes, sides = moved, corrected
    return _Tried(point, most, solved=False)


@dataclass(eq=False)
class _Inner:
    point: Iterate
    steps: int
    sides: Any
    timed_out: bool = False


def _interior_point(
    program: Quadratic, system: BandSystem, start: FloatArray, floor: float, late: Callable[[], bool]
) -> _Inner:
    """Mehrotra's predictor-corrector method from inside the bounds."""
    upper, bounded = program.upper, np.isfinite(program.upper)
    system.factorise(program.pull + 1.0)
    point = system.solve(program.pull * program.target + start)
    least = max(1e-2 * float(start.mean()), 1e-6 * float(program.cap.mean()))
    x = np.maximum(point.x, least)
    x = np.where(bounded, np.minimum(x, np.where(bounded, upper, 1.0) - least), x)
    point = Iterate(x, point.y, point.v)
    slope = program.reduced_costs(point)
    least = max(float(np.abs(slope).mean()), 1e-8)
    low = np.maximum(slope, 0.0) + least
    high = np.where(bounded, np.maximum(-slope, 0.0) + least, 0.0)
    pairs = len(x) + int(bounded.sum())
    best, stalled, steps = np.inf, 0, 0
    timed_out = False
    while steps < MOST_STEPS:
        x = point.x
        room = np.where(bounded, np.maximum(upper - x, _LEAST_ROOM), 1.0)
        missed = program.right - program.C @ x
        value = program.value(x)
        gap = (value - program.bound(point)) / max(abs(value), floor)
        if gap <= LEAST_GAP and np.abs(missed).max(initial=0.0) <= 1e-10:
            break
        stalled = stalled + 1 if gap >= 0.9 * best else 0
        best = min(best, gap)
        timed_out = late()
        if timed_out or stalled > _PATIENCE:
            break
        steps += 1
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
        point = Iterate(x + length * along.x, point.y + length * along.y, point.v + length * along.v)
        low, high = low + length * d_low, high + length * d_high
    room = np.where(bounded, upper - point.x, np.inf)
    sides = np.where(point.x < low, -1, np.where(room < high, 1, 0)).astype(np.int8)
    return _Inner(point, steps, sides, timed_out)


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
