"""Estimates of the unmasked measure of every attribute, from pooled views or from one view at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from aegis_opt.errors import InfeasibleProblem
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding import round_table
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.reconstruction import Reconstruction
from aegis_opt.sources import Progress as Progress
from aegis_opt.summary import AttributeSummary, Summary

Scope = Literal["pooled", "single"]


@dataclass(frozen=True, eq=False)
class Estimate:
    """The unmasked measure of one attribute as the reconstructions have it.

    `values[r, t]` belongs to replicate r and masked table t; pooled estimates are the same for every t.
    """

    values: FloatArray
    reconstructions: tuple[Reconstruction, ...]
    problems: tuple[Problem, ...]


def problems_of(summary: Summary, attribute: str, scope: Scope, histograms: bool) -> tuple[Problem, ...]:
    """Return the problems of one attribute: one from all views together, or one per masked table."""
    if scope == "pooled":
        key = ("problem", attribute, histograms)
        if key not in summary.solved:  # what it has worked out about its totals serves every measure
            summary.solved[key] = summary.problem(attribute, histograms=histograms)
        return (summary.solved[key],)
    tables = range(len(summary.attributes[attribute].tables))
    return tuple(summary.problem(attribute, table=t, histograms=histograms) for t in tables)


def estimate(
    summary: Summary,
    measure: Measure,
    solver: Reconstructor,
    scope: Scope,
    replicates: int,
    histograms: bool,
    progress: Progress | None = None,
) -> dict[str, Estimate]:
    """Reconstruct every attribute and measure the tables.

    A deterministic solver runs once, and only its rounding is repeated; a random solver runs once per
    replicate. Every (replicate, attribute, table) has a seed of its own, derived from the solver's.
    """
    found: dict[str, Estimate] = {}
    for position, (name, attribute) in enumerate(summary.attributes.items()):
        if progress is not None:
            progress(f"reconstructing {name}", position, len(summary.attributes))
        problems = problems_of(summary, name, scope, histograms)
        try:
            tables, reconstructions = _replicates(summary, name, problems, solver, position, replicates)
        except InfeasibleProblem as error:
            raise InfeasibleProblem(f"attribute {name!r}: {error}") from error
        values = measure.many([table for replicate in tables for table in replicate])
        values = values.reshape(replicates, len(problems))
        if scope == "pooled":
            values = np.repeat(values, len(attribute.tables), axis=1)
        found[name] = Estimate(values, tuple(reconstructions), problems)
    return found


def is_determined(attribute: AttributeSummary, table: int) -> bool:
    """Whether a masked table is as fine as the attribute itself, so that it determines F(A, Y)."""
    masked = attribute.tables[table]
    return len(np.unique(masked.groups)) == len(masked.groups)


def _replicates(
    summary: Summary,
    name: str,
    problems: Sequence[Problem],
    solver: Reconstructor,
    position: int,
    replicates: int,
) -> tuple[list[list[FloatArray]], list[Reconstruction]]:
    """Tables of every replicate, and the reconstructions of the first."""
    if solver.capabilities.random:
        rounds = [
            [
                replace(solver, seed=_seed(solver.seed, r, position, t)).reconstruct(problem)
                for t, problem in enumerate(problems)
            ]
            for r in range(replicates)
        ]
        return [[np.asarray(result.table) for result in results] for results in rounds], rounds[0]
    exact = _solve_once(summary, name, problems, replace(solver, rounding=None, seed=0))
    plain = [np.asarray(result.table) for result in exact]
    if solver.rounding is None:
        return [plain] * replicates, exact
    rounded = [
        [
            round_table(problem, table, solver.rounding, seed=_seed(solver.seed, r, position, t))
            for t, (problem, table) in enumerate(zip(problems, plain, strict=True))
        ]
        for r in range(replicates)
    ]
    return rounded, exact


def _solve_once(
    summary: Summary, name: str, problems: Sequence[Problem], solver: Reconstructor
) -> list[Reconstruction]:
    """Solve, or take what an earlier call on the same summary found: tables do not depend on the measure."""
    key = (name, solver, len(problems), problems[0].histogram is None, len(problems[0].views))
    if key not in summary.solved:
        summary.solved[key] = solver.reconstruct_many(problems)
    found: list[Reconstruction] = summary.solved[key]
    return found


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
