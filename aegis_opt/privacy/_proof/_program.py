"""The least cost that the clauses allow: an integer program."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aegis_opt._interrupts import interruptible
from aegis_opt._native import cp_sat_solver
from aegis_opt.errors import CertificateError

_FEW_CLAUSES = 100  # up to which one thread is faster than the start of more


def least_cost(
    costs: Sequence[Sequence[int]],
    clauses: Sequence[Sequence[NDArray[np.int64]]],
    rejected: Sequence[Sequence[int | None]] = (),
    end: float = float("inf"),
) -> int | None:
    """Choose one candidate for each attribute so that every clause holds, at the least cost, exactly.

    Parameters
    ----------
    costs : sequence of sequences of int
        What each candidate of each attribute costs.
    clauses : sequence
        For each clause and attribute, the candidates that satisfy it; one of some attribute must be chosen.
    rejected : sequence
        Choices that are forbidden: a candidate of each attribute, None for one that may be any.
    end : float, optional
        When to give up, by `time.monotonic`.

    Returns
    -------
    int or None
        None where no choice satisfies all clauses.

    Raises
    ------
    TimeoutError
        If that takes too long.

    Examples
    --------
    >>> second = np.array([1])
    >>> least_cost([[0, 3], [0, 2]], [[second, second]])
    2
    >>> least_cost([[0, 3], [0, 2]], [[second, second]], [[0, 1]])
    3
    """
    from aegis_opt._native import cp_model

    model = cp_model.CpModel()
    chosen = [[model.new_bool_var("") for _ in own] for own in costs]
    for own in chosen:
        model.add_exactly_one(own)
    distinct = {tuple(map(id, clause)): clause for clause in clauses}  # many may share their lists
    for clause in distinct.values():
        model.add_bool_or([chosen[i][a] for i, ways in enumerate(clause) for a in ways.tolist()])
        _seconds_left(end)
    for point in rejected:
        model.add_bool_or([~chosen[i][a] for i, a in enumerate(point) if a is not None])
    model.minimize(
        sum(c * x for own, xs in zip(costs, chosen, strict=True) for c, x in zip(own, xs, strict=True))
    )
    solver = cp_sat_solver()
    solver.parameters.num_workers = 1 if len(distinct) + len(rejected) < _FEW_CLAUSES else 8
    left = _seconds_left(end)
    if left is not None:
        solver.parameters.max_time_in_seconds = left
    status = interruptible(lambda: solver.solve(model), solver.stop_search, seconds=left)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        if left is not None and status in (cp_model.UNKNOWN, cp_model.FEASIBLE):
            raise TimeoutError
        raise CertificateError(f"the integer program of the clauses was not solved ({status.name})")
    return sum(
        c
        for own, xs in zip(costs, chosen, strict=True)
        for c, x in zip(own, xs, strict=True)
        if solver.value(x)
    )


def _seconds_left(end: float) -> float | None:
    """Return how many seconds are left, None for any number."""
    if end == float("inf"):
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
