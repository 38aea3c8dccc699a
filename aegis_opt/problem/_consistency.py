"""Contradictions that two known totals show by themselves, without a solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from aegis_opt.errors import InvalidOption
from aegis_opt.problem._margin import FloatArray, IntArray, Margin, negligible, open_cells, refines
from aegis_opt.problem._problem import Problem

WAY_OUT = (
    "Correct the totals, or let them be adjusted: on_conflict='repair' (fewest records changed) or "
    "on_conflict='relax' (the disagreement shared by all totals)."
)

NO_WHOLE_TABLE = (
    "fractional tables meet all the totals (and extra constraints), but no whole one does, so that no "
    "records have them. Correct the totals, or keep a fractional table: solver='ipf' or 'convex' without "
    "a rounding."
)


ROUNDING = 1e-12
"""Share of a sum that is taken for rounding error: sums of floating-point numbers keep some 1e-15."""


def tolerance(problem: Problem) -> float:
    """Violation, in records, below which the totals of a problem count as met; see `negligible`.

    Where totals contradict each other, the margin of most records counts.
    """
    return negligible(max(float(margin.totals.sum()) for margin in problem.margins))


def missed(problem: Problem, table: FloatArray) -> float:
    """Largest violation of any constraint, in records, beyond rounding error: what `tolerance` judges.

    An extra constraint may have coefficients of any size, and its sum the rounding error of that. Of it,
    1e-12 of the sum of abs(coefficient * cell) does not count, the same share as of totals.
    """
    return problem.residual(table, rounding=ROUNDING)


def require_whole_totals(margins: Iterable[Margin], who: str, way_out: str) -> None:
    """Raise `InvalidOption` where a total is fractional, so that no whole table can meet it."""
    for margin in margins:
        fraction = np.abs(margin.totals - np.round(margin.totals))
        if fraction.any():
            group, column = np.argwhere(fraction == fraction.max())[0].tolist()
            raise InvalidOption(
                f"{who} needs whole totals, but {margin.describe(group, column)} is "
                f"{margin.totals[group, column]:.10g}: round it first, or use {way_out}"
            )


def direct_conflicts(problem: Problem, *, pairwise: bool = False) -> Iterator[str]:
    """Describe contradictions between two margins, and positive totals without any cell to put records in.

    Without `pairwise`, views are compared by their label totals and with the histogram only: enough to see
    cheaply that something is wrong.
    """
    margins = problem.margins
    slack = tolerance(problem)
    if pairwise:
        for one, other in combinations(margins, 2):
            yield from _disagreements(problem, one, other, join(one.rows, other.rows), slack)
    else:
        everything = np.zeros(problem.shape[0], dtype=np.int64)
        for other in margins[1:]:
            yield from _disagreements(problem, margins[0], other, everything, slack)
        views = [margin for margin in margins if margin.kind == "view"]
        for histogram in (margin for margin in margins if margin.kind == "histogram"):
            for view in views:
                yield from _disagreements(problem, view, histogram, view.rows, slack)
    yield from _impossible(problem, slack)


def agree_to_the_record(problem: Problem) -> bool:
    """Whether any two margins of whole totals agree, where `tolerance` allows many records some."""
    return all(
        next(_disagreements(problem, one, other, join(one.rows, other.rows), 0.5), None) is None
        for one, other in combinations(problem.margins, 2)
    )


def _disagreements(
    problem: Problem, one: Margin, other: Margin, rows: IntArray, slack: float
) -> Iterator[str]:
    """Compare two margins over a partition of the rows that both determine."""
    columns = join(one.columns, other.columns)
    shape = (int(rows.max()) + 1, int(columns.max()) + 1)
    left = one.folded(rows, columns, shape)
    right = other.folded(rows, columns, shape)
    for group, column in np.argwhere(np.abs(left - right) > slack):
        where = name_cells(problem, rows == group, columns == column)
        yield (
            f"{one.name} has {left[group, column]:.10g} records for {where}, "
            f"{other.name} has {right[group, column]:.10g}"
        )


def _impossible(problem: Problem, slack: float) -> Iterator[str]:
    """Positive totals all of whose cells are held at 0 by structural zeros or by other totals of 0."""
    can_hold = open_cells(problem.margins, problem.structural_zeros).astype(np.float64)
    for margin in problem.margins:
        closed = (margin.sums(can_hold) == 0) & (margin.totals > slack)
        for group, column in np.argwhere(closed):
            where = name_cells(problem, margin.rows == group, margin.columns == column)
            why = "zeros of the prior" if problem.structural_zeros is not None else "zeros of other totals"
            total = f"{margin.totals[group, column]:.10g}"
            yield f"{margin.name} has {total} records for {where}, where {why} leave no cell to hold them"


def join(one: IntArray, other: IntArray) -> IntArray:
    """Finest partition that is coarser than both: components of values that share a group in either."""
    if refines(one, other):
        return other
    if refines(other, one):
        return one
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_one, n_other = int(one.max()) + 1, int(other.max()) + 1
    graph = coo_array((np.ones(len(one)), (one, n_one + other)), shape=(n_one + n_other,) * 2)
    component = connected_components(graph, directed=False)[1][one]
    return np.unique(component, return_inverse=True)[1].astype(np.int64)


def name_cells(problem: Problem, rows: Sequence[bool], columns: Sequence[bool]) -> str:
    """Words for a block of cells: which values, and which labels unless it is all of them."""

    def listed(chosen: IntArray, names: Sequence[object] | None) -> str:
        shown = [repr(names[i]) if names is not None else str(i) for i in chosen[:4].tolist()]
        return ", ".join(shown) + (f", ... ({len(chosen)} in all)" if len(chosen) > 4 else "")

    row_ids, column_ids = np.flatnonzero(rows), np.flatnonzero(columns)
    row_names = None if problem.row_names is None else problem.row_names.tolist()
    label_names = None if problem.label_names is None else problem.label_names.tolist()
    parts = []
    if len(row_ids) < problem.shape[0]:
        parts.append(f"value {listed(row_ids, row_names)}")
    if len(column_ids) < problem.shape[1]:
        parts.append(f"label {listed(column_ids, label_names)}")
    return " and ".join(parts) or "the whole table"
