"""Tables of least misfit to noisy counts, modelled in cvxpy with the channel as a linear map.

The misfit is minus the logarithm of the likelihood (an exponential-cone program) or the sum of squares (a
quadratic one), under all exact totals. What the engine returns is moved to the totals, and an active-set
Newton method on the cells that are positive takes the last digits; the table with the smaller gap by our own
arithmetic (`NoisySystem.shortfall`) is returned.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from aegis_opt._interrupts import interruptible, look_for_ctrl_c
from aegis_opt.errors import AegisError
from aegis_opt.problem._conflict import infeasible, is_infeasible
from aegis_opt.problem._consistency import missed, tolerance
from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.problem._misfit import Misfit
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._noisy import PROVED_GAP, NoisySystem, relative_gap
from aegis_opt.solvers._totals import move_to_totals
from aegis_opt.solvers.base import Solution

MORE_DIGITS = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}
"""Options of Clarabel: what it stops at where nothing else is asked for."""

LARGEST_POLISHED = 2_000  # cells that are coupled, up to which Newton's method takes the last digits
_STEPS = 200
_EMPTY = 1e-7  # share of a block: less in a cell is taken for 0, to begin with
_RIDGE = 1e-14


def solve_noisy_convex(
    problem: Problem, kind: Misfit, engine: str, options: Mapping[str, Any], deadline: float
) -> Solution:
    """Find the table of least misfit of a problem with noisy views."""
    start = time.perf_counter()
    system = NoisySystem.of(problem, deadline)
    A, b = _equations(system)
    built = time.perf_counter()
    x, status, iterations = _run(system, A, b, kind, engine, options)
    solved = time.perf_counter()
    if x is None:
        if is_infeasible(problem):
            raise infeasible(problem)
        raise AegisError(
            f"engine {engine} gave up (status {status!r}) on a problem with noisy views; try solver='ipf'"
        )
    x = _met(system, A, b, x, deadline)
    gap = relative_gap(system, x, kind)
    polished = _polished(system, A, b, x, kind, deadline)
    if polished is not None:
        better = _met(system, A, b, polished[0], deadline)
        better_gap = relative_gap(system, better, kind, polished[1])
        if better_gap < gap:
            x, gap = better, better_gap
    table = system.table(x)
    off = missed(problem, table) > tolerance(problem)
    if off and time.monotonic() < deadline and is_infeasible(problem):
        raise infeasible(problem)
    return Solution(
        table=table,
        method=engine,
        iterations=iterations,
        proved=gap <= PROVED_GAP,
        gap=gap,
        timed_out=gap > PROVED_GAP and time.monotonic() > deadline,
        seconds={
            "build": built - start,
            "solve": solved - built,
            "polish": time.perf_counter() - solved,
        },
        warning=system.warning,
        misfit=kind,
    )


def _equations(system: NoisySystem) -> tuple[FloatArray, FloatArray]:
    """All exact totals A x = b over the cells of all blocks, one after the other."""
    if system.A is not None:
        return np.concatenate(list(system.A), axis=1), system.b
    return np.asarray(np.kron(np.eye(len(system.open)), system.rows), dtype=np.float64), system.rights.ravel()


def _run(
    system: NoisySystem,
    A: FloatArray,
    b: FloatArray,
    kind: Misfit,
    engine: str,
    options: Mapping[str, Any],
) -> tuple[FloatArray | None, str, int]:
    """Solve the program in shares of all records; return the cells, the engine's status and iterations."""
    from scipy import sparse

    from aegis_opt._native import cvxpy as cp

    unit = system.records or 1.0
    x = cp.Variable(system.open.shape, nonneg=True)
    mean = x @ system.T.T
    J = system.J / unit
    if kind == "l2":
        misfit = cp.sum_squares(mean - J)
    else:
        seen = J > 0
        misfit = -cp.sum(cp.multiply(J[seen], cp.log(mean[seen]))) if seen.any() else cp.sum(mean)
    limits = [sparse.csr_array(A) @ cp.vec(x, order="C") == b / unit]
    if not system.open.all():
        limits.append(x[~system.open] == 0)
    program = cp.Problem(cp.Minimize(misfit), limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about accuracy, which is judged here
            interruptible(partial(program.solve, solver=engine, **options))
    except cp.SolverError:
        return None, "solver error", 0
    steps = 0 if program.solver_stats is None else int(program.solver_stats.num_iters or 0)
    if x.value is None or not np.isfinite(x.value).all():
        return None, str(program.status), steps
    return np.where(system.open, np.maximum(x.value, 0.0), 0.0) * unit, str(program.status), steps


def _met(system: NoisySystem, A: FloatArray, b: FloatArray, x: FloatArray, deadline: float) -> FloatArray:
    """Move cells that nearly meet the totals to them."""
    if system.A is None and len(system.rows) == 1:
        sums = x.sum(axis=1)
        scaled: FloatArray = (
            x * np.divide(system.totals, sums, out=np.zeros_like(sums), where=sums > 0)[:, None]
        )
        return scaled
    from scipy import sparse

    upper = np.where(system.open.ravel(), np.inf, 0.0)
    moved = move_to_totals(sparse.csr_array(A), b, x.ravel(), np.zeros(x.size), upper, deadline)
    return moved.reshape(x.shape)


def _polished(
    system: NoisySystem, A: FloatArray, b: FloatArray, x: FloatArray, kind: Misfit, deadline: float
) -> tuple[FloatArray, FloatArray | None] | None:
    """Take the last digits by Newton's method; also the multipliers. None where there is no room."""
    if system.A is None:
        done, multipliers = np.zeros_like(x), np.zeros_like(system.rights)
        for i in np.flatnonzero(system.totals > 0).tolist():
            done[i], multipliers[i] = _active_set(
                system.T, system.J[i], system.rows, system.rights[i], x[i], system.open[i], kind, deadline
            )
        return done, None if len(system.rows) == 1 else multipliers
    if x.size > LARGEST_POLISHED:
        return None
    T = np.asarray(np.kron(np.eye(len(x)), system.T), dtype=np.float64)
    cells, v = _active_set(T, system.J.ravel(), A, b, x.ravel(), system.open.ravel(), kind, deadline)
    return cells.reshape(x.shape), v


def _active_set(
    T: FloatArray,
    J: FloatArray,
    A: FloatArray,
    b: FloatArray,
    x: FloatArray,
    opened: BoolArray,
    kind: Misfit,
    deadline: float,
) -> tuple[FloatArray, FloatArray]:
    """Newton steps on the cells that are positive, or want to be, under A x = b; cells and multipliers."""
    unit = max(float(x.sum()), 1e-300)
    J, b, x = J / unit, b / unit, x / unit
    x = np.where(opened & (x > _EMPTY), x, 0.0)
    free = x > 0
    v = np.zeros(len(b))
    # A likelihood and a sum of squares in shares: the derivative of the former has no unit
    for _ in range(_STEPS):
        look_for_ctrl_c()
        if time.monotonic() > deadline:
            break
        mean = T @ x
        if kind == "likelihood":
            if (mean[J > 0] <= 0).any():
                break
            ratio = np.divide(J, mean, out=np.zeros_like(J), where=J > 0)
            weight = np.divide(ratio, mean, out=np.zeros_like(J), where=J > 0)
            g = ratio @ T
        else:
            weight, g = np.full(len(J), 2.0), 2 * (J - mean) @ T
        F = T[:, free]
        H = (F.T * weight) @ F
        H[np.diag_indices_from(H)] += _RIDGE * max(float(np.diag(H).max(initial=0.0)), 1e-300)
        rows = A[:, free]
        system = np.block([[H, rows.T], [rows, np.zeros((len(b), len(b)))]])
        right = np.concatenate([g[free], b - A @ x])
        answer = np.linalg.lstsq(system, right, rcond=1e-14)[0]
        dx, v = answer[: free.sum()], answer[free.sum() :]
        falling = dx < 0
        ratios = np.where(falling, -x[free] / np.where(falling, dx, -1.0), np.inf)
        reach = min(1.0, float(ratios.min(initial=np.inf)))
        moved = np.maximum(x[free] + reach * dx, 0.0)
        if reach < 1.0:
            moved[ratios <= reach] = 0.0
        x = x.copy()
        x[free] = moved
        wants = g - v @ A
        wants[~opened] = -np.inf
        settled = reach == 1.0 and float(np.abs(dx).max(initial=0.0)) <= 1e-15
        if settled:
            grow = ~free & (wants > 1e-13)
            if not grow.any():
                break
            grow &= wants == wants[grow].max()
            free = free | grow
        elif reach < 1.0:
            free = free & (x > 0)
    scale = 1.0 if kind == "likelihood" else unit
    return x * unit, v * scale
