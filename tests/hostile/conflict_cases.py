"""Totals that contradict each other: the explanation names such that all but any one of them can hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from families import family
from random_problems import Known, Wishes, contradicted, random_known
from workers import crowding

import aegis_opt as ao
from aegis_opt.errors import InfeasibleProblem
from aegis_opt.problem import LinearConstraint, Problem, View

CLEARLY = 1e-5  # share of the records that a contradiction has, beside the noise of linear programs


def named_constraints(known: Known) -> Problem:
    """The problem with a name for each constraint."""
    constraints = [
        LinearConstraint(c, low, high, str(i)) for i, (c, low, high) in enumerate(known.constraints)
    ]
    views = [View(groups, joint, labels) for groups, labels, joint in known.views]
    return Problem(views, known.histogram, known.prior, constraints=constraints)


@family(seconds=0.15)
def explained_conflicts_are_irreducible(seed: int) -> None:
    """The totals and constraints named contradict each other; any one left out, the others do not."""
    rng = np.random.default_rng(seed)
    whole = bool(rng.random() < 0.7)
    known, _ = random_known(rng, Wishes(whole=whole, least=1.0, most=1e6, views=4))
    for _ in range(int(rng.integers(1, 4))):
        known = contradicted(rng, known, whole)
    least = known.least_changes()
    solver = "convex" if known.constraints else ("ipf", "convex")[rng.integers(2)]
    error: InfeasibleProblem | None = None
    try:
        ao.reconstruct(named_constraints(known), solver)
    except InfeasibleProblem as raised:
        error = raised
    if least > CLEARLY * known.records:
        assert error is not None, least
    if error is None or least <= CLEARLY * known.records:
        return
    text, totals = str(error), set(error.totals)
    assert len(totals) == len(error.totals) > 0, text
    assert totals <= set(known.places()), totals
    cut_off = "may not be needed" in text  # after five seconds, which is much where nothing else runs
    assert not cut_off or crowding() > 1.5, text
    if "these totals together" in text and len(totals) + len(error.constraints) <= 20:
        assert text.split(" Least repair")[0].count(" = ") == len(totals), text
    kept = replace(known, constraints=[known.constraints[int(name)] for name in error.constraints])
    slack = 1e-7 * known.records
    assert kept.least_changes(totals) > slack, (error.totals, error.constraints, kept)
    if cut_off:
        return
    for place in totals:
        left = kept.least_changes(totals - {place})
        assert left <= slack, (place, left, error.totals, kept)
    for i in range(len(kept.constraints)):
        others = replace(kept, constraints=kept.constraints[:i] + kept.constraints[i + 1 :])
        assert others.least_changes(totals) <= slack, (i, error.totals, kept)
