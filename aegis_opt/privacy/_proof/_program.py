"""The least cost that the clauses allow: an integer program."""

from __future__ import annotations

from collections.abc import Sequence

from aegis_opt._interrupts import interruptible
from aegis_opt._native import cp_sat_solver
from aegis_opt.errors import CertificateError

_FEW_CLAUSES = 100  # up to which one thread is faster than the start of more


def least_cost(costs: Sequence[Sequence[int]], clauses: Sequence[Sequence[Sequence[int]]]) -> int | None:
    """Choose one candidate for each attribute so that every clause holds, at the least cost, exactly.

    Parameters
    ----------
    costs : sequence of sequences of int
        What each candidate of each attribute costs.
    clauses : sequence
        For each clause and attribute, the candidates that satisfy it; one of some attribute must be chosen.

    Returns
    -------
    int or None
        None where no choice satisfies all clauses.

    Examples
    --------
    >>> least_cost([[0, 3], [0, 2]], [[[1], [1]]])
    2
    """
    from aegis_opt._native import cp_model

    model = cp_model.CpModel()
    chosen = [[model.new_bool_var("") for _ in own] for own in costs]
    for own in chosen:
        model.add_exactly_one(own)
    distinct = {tuple(map(id, clause)): clause for clause in clauses}  # many may share their lists
    for clause in distinct.values():
        model.add_bool_or(chosen[i][a] for i, ways in enumerate(clause) for a in ways)
    model.minimize(
        sum(c * x for own, xs in zip(costs, chosen, strict=True) for c, x in zip(own, xs, strict=True))
    )
    solver = cp_sat_solver()
    solver.parameters.num_workers = 1 if len(distinct) < _FEW_CLAUSES else 8
    status = interruptible(lambda: solver.solve(model), solver.stop_search)
    if status == cp_model.INFEASIBLE:
        return None
    if status != cp_model.OPTIMAL:
        raise CertificateError(f"the integer program of the clauses was not solved ({solver.status_name()})")
    return sum(
        c
        for own, xs in zip(costs, chosen, strict=True)
        for c, x in zip(own, xs, strict=True)
        if solver.value(x)
    )
