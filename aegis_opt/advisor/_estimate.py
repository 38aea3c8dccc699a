"""The measure of every unmasked attribute, estimated by tables reconstructed from the shared ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.advisor._labels import proves_order
from aegis_opt.advisor._question import Question
from aegis_opt.advisor._question import Scope as Scope
from aegis_opt.advisor._solved import SolvedTables
from aegis_opt.errors import InfeasibleProblem, InvalidInput, RoundingImpossible
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding import round_tables
from aegis_opt.solvers.ipf import IPF
from aegis_opt.solvers.reconstruction import MAXIMUM_ENTROPY, Reconstruction, Status
from aegis_opt.sources import Progress as Progress

MOST_CELLS = 1 << 20  # of tables that are made to be measured: 8 MB
BEST_TO_WORST = (
    Status.OPTIMAL,
    Status.FEASIBLE,
    Status.TIME_LIMIT,
    Status.REPAIRED,
    Status.VIOLATED,
    Status.NOT_CONVERGED,
)

MET = (Status.OPTIMAL, Status.FEASIBLE, Status.TIME_LIMIT)


@dataclass(frozen=True, eq=False)
class Estimate:
    """The unmasked measure of one attribute, and the tables it was measured on."""

    values: FloatArray  # replicates x masked tables; in pooled scope the same for every masked table
    problems: tuple[Problem, ...]  # one in pooled scope, else one per masked table
    solved: tuple[Reconstruction, ...]  # of each problem, before rounding: what is proved rests on these
    status: Status  # the worst of all tables that were measured, after rounding
    residual: float  # the largest of all tables that were measured, after rounding
    common_table: bool  # whether a table is known to meet all shared totals as they are; see `_common_table`

    @property
    def changes(self) -> tuple[str, ...]:
        """Totals that were changed because they contradict each other."""
        return tuple(change for result in self.solved for change in result.changes)

    @property
    def chosen(self) -> str:
        """What a solver with a choice chose; see `Reconstruction.choice`."""
        return ", ".join(sorted({result.choice for result in self.solved}))

    @property
    def gain(self) -> float:
        """By how much the choice predicts held-out views better than maximum entropy: 0.25 is a quarter.

        The mean over the tables that were chosen by held-out views; NaN where there are none.
        """
        gains = [
            1 - result.held_out[result.choice] / worst
            if (worst := result.held_out[MAXIMUM_ENTROPY]) > 0
            else 0.0
            for result in self.solved
            if result.held_out
        ]
        return float(np.mean(gains)) if gains else float("nan")


def measure_each(measure: Measure, tables: Mapping[str, Iterable[npt.NDArray[Any]]]) -> dict[str, FloatArray]:
    """Measure the tables of every attribute, many at a time: calls cost more than tables.

    Tables that an iterator makes are measured and let go before they fill the memory.
    """
    values: list[FloatArray] = []
    sizes = dict.fromkeys(tables, 0)
    waiting: list[npt.NDArray[Any]] = []
    cells = 0
    for name, found in tables.items():
        for table in found:
            sizes[name] += 1
            waiting.append(table)
            cells += table.size
            if cells > MOST_CELLS:
                values.append(measure.each(waiting))
                waiting, cells = [], 0
    values.append(measure.each(waiting))
    ends = np.cumsum([*sizes.values()])[:-1]
    return dict(zip(tables, np.split(np.concatenate(values), ends), strict=True))


def estimate(
    solved: SolvedTables, question: Question, progress: Progress | None = None
) -> dict[str, Estimate]:
    """Reconstruct every attribute and measure the tables."""
    attributes = solved.summary.attributes
    found: dict[str, Estimate] = {}
    for position, (name, attribute) in enumerate(attributes.items()):
        if progress is not None:
            progress(f"reconstructing {name}", position, len(attributes))
        problems = solved.problems(name, question.scope, question.histograms)
        try:
            before, used = _reconstruct(solved, problems, question, position)
        except (InfeasibleProblem, InvalidInput, RoundingImpossible) as error:
            named = type(error)(f"attribute {name!r}: {error}")
            vars(named).update(vars(error))  # such as the totals in conflict
            raise named from error
        values = _measured(question.measure, [result.values for result in used])
        values = values.reshape(question.replicates, len(problems))
        if question.scope == "pooled":
            values = np.repeat(values, len(attribute.tables), axis=1)
        found[name] = Estimate(
            values,
            problems,
            tuple(before),
            status=max((result.status for result in used), key=BEST_TO_WORST.index),
            residual=max(result.residual for result in used),
            common_table=_common_table(solved, question, name, before),
        )
    return found


def _common_table(
    known: SolvedTables, question: Question, attribute: str, solved: Sequence[Reconstruction]
) -> bool:
    """Whether one table meets all shared totals: what is proved about an attribute is about such a table.

    Views that were taken apart from each other, histograms that were left out, and tables that miss totals do
    not show it. The quickest solver then looks for a table of all that is shared. Nobody asks where the
    measure proves no order.
    """
    if not proves_order(question.measure, known.summary) or any(result.changes for result in solved):
        return False
    shared = known.problems(attribute, "pooled", True)
    used = known.problems(attribute, question.scope, question.histograms)
    if used is shared and solved[0].status in MET:
        return True
    try:
        return known.solve(shared, IPF())[0].status in MET
    except (InfeasibleProblem, InvalidInput):  # there is none, or no room to look for it
        return False


def _measured(measure: Measure, tables: Sequence[FloatArray]) -> FloatArray:
    """Measure tables; NaN where one is fractional and the measure is for whole counts."""
    if not measure.whole_counts:
        return measure.many(tables)
    whole = [np.round(table) for table in tables]
    fits = [i for i in range(len(tables)) if np.abs(tables[i] - whole[i]).max() < 1e-6]
    values = np.full(len(tables), np.nan)
    values[fits] = measure.many([whole[i] for i in fits])  # of the others, rounding may leave no record
    return values


def _reconstruct(
    known: SolvedTables, problems: tuple[Problem, ...], question: Question, position: int
) -> tuple[list[Reconstruction], list[Reconstruction]]:
    """Solve the problems of one attribute; return what was solved, and the tables to use, after rounding.

    A deterministic solver runs once, and only its rounding is repeated; a random solver runs once per
    replicate. Every (replicate, attribute, table) has a seed of its own, derived from the solver's. The
    tables to use are those of the first replicate, then those of the second, and so on.
    """
    solver = question.solver
    seeds = [
        [_seed(solver.seed, replicate, position, t) for t in range(len(problems))]
        for replicate in range(question.replicates)
    ]
    if solver.capabilities.random:
        drawn = [
            known.solve((problem,), replace(solver, seed=seed))[0]
            for row in seeds
            for problem, seed in zip(problems, row, strict=True)
        ]
        return drawn[: len(problems)], drawn
    solved = known.solve(problems, replace(solver, rounding=None, seed=0))
    if solver.rounding is None:
        return solved, solved
    rounded = []
    for problem, result, of_table in zip(problems, solved, zip(*seeds, strict=True), strict=True):
        tables = round_tables(result.repaired or problem, result.table, solver.rounding, of_table)
        if result.values.any() and not all(table.any() for table in tables):
            raise RoundingImpossible(
                f"rounding {solver.rounding!r} left a table without records, which has no measure: use one "
                "that keeps the number of records, such as 'largest-remainder', or none"
            )
        rounded.append([solver.certify_rounded(problem, result, table) for table in tables])
    return solved, [result for row in zip(*rounded, strict=True) for result in row]


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1)[0])
