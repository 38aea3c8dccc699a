"""What the shared totals of one attribute tell about its raw joint table with the label."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.disclosure._cell_bounds import BoolArray, IntArray, cell_bounds
from aegis_opt.errors import InfeasibleProblem
from aegis_opt.problem import Problem
from aegis_opt.problem._conflict import check, infeasible
from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._presolve import Reduction, reduce
from aegis_opt.summary import AttributeSummary, Summary

NAMES_VALUES = ("identity", "top_code", "keep_top", "pool_rare", "microaggregate")
"""Masks that release some values as they are."""


@dataclass(frozen=True, eq=False)
class TableBounds:
    """The range of every cell of a raw joint table that agrees with all shared totals."""

    low: IntArray  # values x labels
    high: IntArray
    exact: BoolArray  # whether whole tables have both ends

    @property
    def pinned(self) -> BoolArray:
        """Cells whose count is known."""
        return np.asarray(self.low == self.high)

    def small(self, below: int) -> BoolArray:
        """Cells whose count is known, and small without being 0."""
        return self.pinned & (self.low > 0) & (self.low < below)

    @property
    def pinned_records(self) -> int:
        """Records in cells whose count is known."""
        return int(self.low[self.pinned].sum())


def attribute_bounds(summary: Summary, attribute: str, tables: Collection[int] | None = None) -> TableBounds:
    """Bound the raw joint table of an attribute by its masked tables, or some of them, and its histogram.

    Parameters
    ----------
    summary : Summary
        What is shared.
    attribute : str
        Which attribute.
    tables : collection of int, optional
        The masked tables to use; by default all.

    Raises
    ------
    InfeasibleProblem
        If the tables contradict each other.
    """
    shared = summary.attributes[attribute]
    chosen = [t for i, t in enumerate(shared.tables) if tables is None or i in tables]
    return table_bounds(Problem(summary.views(chosen), histogram=shared.histogram))


def table_bounds(problem: Problem) -> TableBounds:
    """Bound every cell of a table of whole numbers by its known totals.

    Rows that share all their groups, and their total where the histogram is known, cannot be told apart: they
    are bounded as one class, with T records of a label in m rows. Without a histogram, one row of several has
    0 to T of them. With r records in each row, it has max(0, T - (m - 1) r) to min(r, T).

    Examples
    --------
    >>> found = table_bounds(Problem.from_table([[3, 1], [1, 1], [0, 2]], [0, 0, 1], histogram=False))
    >>> found.low.tolist(), found.high.tolist()
    ([[0, 0], [0, 0], [0, 2]], [[4, 2], [4, 2], [0, 2]])
    """
    check(problem)
    reduction = reduce(problem)
    low, high = np.zeros(reduction.shape, dtype=np.int64), np.zeros(reduction.shape, dtype=np.int64)
    exact = np.ones(reduction.shape, dtype=bool)
    if len(reduction.cells):
        try:
            low, high, exact = _class_bounds(reduction)
        except InfeasibleProblem as error:
            raise infeasible(problem) from error
    several = (reduction.multiplicity > 1)[:, None]
    if problem.histogram is None:
        low = np.where(several, 0, low)
    else:
        each = problem.histogram[reduction.first].astype(np.int64)[:, None]
        others = (reduction.multiplicity - 1)[:, None] * each
        low = np.where(several, np.maximum(0, low - others), low)
        high = np.minimum(each, high)
    rows: npt.NDArray[np.int64] = reduction.class_of
    return TableBounds(low[rows], high[rows], exact[rows])


def _class_bounds(reduction: Reduction) -> tuple[IntArray, IntArray, BoolArray]:
    """Bound the records of each class and label.

    With two labels and a histogram, one label has what the other leaves: the views of one label are enough,
    and have the form of a network more often.
    """
    low, high = np.zeros(reduction.shape, dtype=np.int64), np.zeros(reduction.shape, dtype=np.int64)
    exact = np.ones(reduction.shape, dtype=bool)
    views = [margin for margin in reduction.margins if margin.kind == "view"]
    by_label = all(margin.totals.shape[1] == 2 for margin in views)
    if reduction.problem.histogram is None or reduction.shape[1] != 2 or not views or not by_label:
        found = cell_bounds(reduction.members, reduction.totals)
        for part, values in ((low, found.low), (high, found.high), (exact, found.exact)):
            part.flat[reduction.cells] = values
        return low, high, exact
    records = reduction.problem.histogram[reduction.first] * reduction.multiplicity
    members = numbered([margin.rows for margin in views], [len(margin.totals) for margin in views])
    totals = np.concatenate([margin.totals[:, 0] for margin in views])
    allowed = reduction.allowed
    found = cell_bounds(
        members, totals, np.where(allowed[:, 1], 0.0, records), np.where(allowed[:, 0], records, 0.0)
    )
    whole = records.astype(np.int64)
    low, high = (
        np.stack(pair, axis=1) for pair in ((found.low, whole - found.high), (found.high, whole - found.low))
    )
    return low, high, np.stack([found.exact, found.exact], axis=1)


def values_in_clear(attribute: AttributeSummary) -> bool:
    """Whether values are listed, named by a mask, or released as they are."""
    if attribute.values is not None:
        return True
    return any(mask_names_values(table.spec) for table in attribute.tables)


def mask_names_values(spec: Mapping[str, Any]) -> bool:
    """Whether a mask, as configuration files write it, shows values of the attribute."""
    return spec["function"] in NAMES_VALUES or any(spec.get(key) for key in ("mapping", "hierarchy"))
