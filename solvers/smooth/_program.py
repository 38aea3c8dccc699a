"""The quadratic program of the smoothest table: its cells, its totals, and the way back to a table.

The unknowns are the label shares p(y | a) = X(a, y) / r(a) of the values that have a place in the order and
records. Cells that a total of 0 or a structural zero empties, and cells that follow from totals by
subtraction, are no unknowns. Values without a place keep what the table of maximum entropy gives them. With
two labels and a histogram, p(1 | a) = 1 - p(0 | a), and only the shares of the first label are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.distances._roughness import Curves, Roughness
from aegis_opt.problem._elimination import eliminate
from aegis_opt.problem._feasibility import numbered
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray, Margin, open_cells
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.smooth._quadratic import Quadratic

if TYPE_CHECKING:
    from scipy import sparse

LARGEST_EXACT = 2.0**53  # whole numbers below are subtracted without rounding


@dataclass(frozen=True, eq=False)
class SmoothProgram:
    """A quadratic program, and the table that its solution stands for."""

    quadratic: Quadratic
    table: FloatArray  # n x k, in records, with 0 in the unknown cells
    cells: IntArray  # row-major positions of the unknown cells
    records: FloatArray  # r(a) of each unknown cell
    mirrored: IntArray | None  # with two labels: cells that hold the rest of their row

    def start(self, table: FloatArray) -> FloatArray:
        """Shares of the unknown cells in a table."""
        shares: FloatArray = table.ravel()[self.cells] / self.records
        return shares

    def filled(self, shares: FloatArray) -> FloatArray:
        """Table with these shares in the unknown cells."""
        table = self.table.copy()
        table.flat[self.cells] = shares * self.records
        if self.mirrored is not None:
            table.flat[self.mirrored] = (1.0 - shares) * self.records
        return table


def smooth_program(
    problem: Problem, curves: Curves, roughness: Roughness, entropy: float, fitted: FloatArray
) -> SmoothProgram:
    """Pose the program; `fitted` is the table of maximum entropy, `entropy` the weight of the pull to it."""
    n, k = problem.shape
    records = np.zeros(n)
    records[curves.rows] = curves.records
    place = np.zeros(n, dtype=np.int64)
    place[curves.rows] = np.arange(len(curves.rows))
    unknown = open_cells(problem.margins, problem.structural_zeros) & (records > 0)[:, None]
    table = np.where(records[:, None] > 0, 0.0, fitted)
    equations = _KnownTotals.of(problem, unknown.ravel(), table)
    equations.settle()
    table, unknown = equations.table.reshape(n, k), equations.unknown.reshape(n, k)
    mirrored = None
    A, b = equations.system()
    if k == 2 and problem.histogram is not None:
        both = unknown[:, 0]  # one of the two known: so is the other, from the row's total
        A, b = _without_last_label(A, b, unknown, records)
        cells = np.flatnonzero(both) * 2
        mirrored = cells + 1
    else:
        cells = np.flatnonzero(unknown)
    row = cells // k
    upper = np.full(len(cells), np.inf if mirrored is None else 1.0)
    double = 1.0 if mirrored is None else 2.0  # both labels are equally rough
    scaled = _in_shares(A, b, records[row])
    D, offset, weights, constant = _differences(curves, roughness, table, unknown, mirrored is not None)
    pull = double * entropy * records[row] / problem.total
    cap = np.minimum(_caps(problem, cells) / records[row], upper)
    quadratic = Quadratic(
        D=D,
        offset=offset,
        weights=double * weights,
        pull=pull,
        target=fitted.ravel()[cells] / records[row],
        C=scaled[0],
        right=scaled[1],
        upper=upper,
        cap=cap,
        place=place[row],
        constant=double * constant,
    )
    return SmoothProgram(quadratic, table, cells, records[row], mirrored)


@dataclass(eq=False)
class _KnownTotals:
    """Totals over the unknown cells, in records: matrix (totals x n k cells) and right-hand side."""

    matrix: sparse.csr_array
    right: FloatArray
    unknown: BoolArray  # per cell, row-major
    table: FloatArray  # values of the known cells

    @classmethod
    def of(cls, problem: Problem, unknown: BoolArray, table: FloatArray) -> _KnownTotals:
        from scipy import sparse

        rows, columns, right = [], [], []
        size = 0
        for members, totals in _totals(problem):
            chosen = np.flatnonzero(members >= 0)
            rows.append(size + members[chosen])
            columns.append(chosen)
            right.append(totals)
            size += len(totals)
        where = np.concatenate(rows), np.concatenate(columns)
        matrix = sparse.csr_array((np.ones(len(where[0])), where), shape=(size, unknown.size))
        known = table.ravel().copy()
        return cls(matrix, np.concatenate(right) - matrix @ known, unknown.copy(), known)

    def settle(self) -> None:
        """Compute the cells that are alone in a total, until there are none."""
        while True:
            counts = self.matrix @ self.unknown.astype(np.float64)
            alone = np.flatnonzero(counts == 1)
            if not len(alone):
                return
            part = self.matrix[alone].tocoo()
            inside = self.unknown[part.col]
            cells, first = np.unique(part.col[inside], return_index=True)
            values = np.maximum(self.right[alone][part.row[inside]][first], 0.0)
            self.table[cells] = values
            self.unknown[cells] = False
            change = np.zeros(len(self.unknown))
            change[cells] = values
            self.right = self.right - self.matrix @ change

    def system(self) -> tuple[sparse.csr_array, FloatArray]:
        """The equations that have unknown cells, over these alone."""
        left = self.matrix[:, np.flatnonzero(self.unknown)].tocsr()
        used = np.diff(left.indptr) > 0
        return left[used], self.right[used]


def _totals(problem: Problem) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield what is known: the total that each cell belongs to (or -1), and the totals.

    Totals of several views often give those of their common refinement by subtraction; these are local and
    independent of each other, where the views' own totals overlap.
    """
    n, k = problem.shape
    classes = problem.refinement
    n_classes = int(classes.max()) + 1
    first = np.zeros(n_classes, dtype=np.int64)
    first[classes[::-1]] = np.arange(n)[::-1]
    merged = []
    for margin in problem.margins:
        if margin.kind == "view":
            merged.append(Margin(margin.name, margin.rows[first], margin.columns, margin.totals))
        else:
            sums = np.bincount(classes, margin.totals[:, 0], n_classes).astype(np.float64)
            rows = np.arange(n_classes, dtype=np.int64)
            merged.append(Margin("", rows, margin.columns, sums[:, None], "histogram"))
    kept = list(independent(merged))
    members = [margin.cells() for margin in kept]
    totals = np.concatenate([margin.totals.ravel() for margin in kept])
    sizes = [margin.n_groups for margin in kept]
    is_open = np.ones(n_classes * k, dtype=bool)
    left = totals
    exact = len(problem.views) == 1 or (problem.is_integral and problem.total < LARGEST_EXACT)
    if exact:
        found = eliminate(numbered(members, sizes), totals)
        if found.agrees:
            is_open, left = found.open_cells, found.left
            yield _settled(classes, found.values, is_open, k, whole_rows=problem.histogram is not None)
    for margin, member, rest in zip(kept, members, np.split(left, np.cumsum(sizes)[:-1]), strict=True):
        if margin.kind == "view" and is_open.any():
            of_class = np.where(is_open, member, -1).reshape(n_classes, k)
            yield of_class[classes].ravel(), rest
    if problem.histogram is not None:
        yield np.repeat(np.arange(n), k), problem.histogram


def _settled(
    classes: IntArray, values: FloatArray, is_open: BoolArray, k: int, *, whole_rows: bool
) -> tuple[IntArray, FloatArray]:
    """Totals of the refinement that subtraction gives, without those that follow from whole rows."""
    settled = ~is_open.reshape(-1, k)
    if whole_rows:  # the last label's total follows where the others are known
        settled[settled.all(axis=1), k - 1] = False
    number = np.where(settled, np.cumsum(settled.ravel()).reshape(settled.shape) - 1, -1)
    return number[classes].ravel(), values[settled.ravel()]


def _without_last_label(
    A: sparse.csr_array, b: FloatArray, unknown: BoolArray, records: FloatArray
) -> tuple[sparse.csr_array, FloatArray]:
    """Substitute X(a, 1) = r(a) - X(a, 0) in equations over the unknown cells, which come in pairs."""
    pairs = np.flatnonzero(unknown[:, 0])
    one, other = A[:, 0::2], A[:, 1::2]
    reduced = (one - other).tocsr()
    reduced.eliminate_zeros()
    used = np.diff(reduced.indptr) > 0
    return reduced[used], (b - other @ records[pairs])[used]


def _in_shares(
    A: sparse.csr_array, b: FloatArray, records: FloatArray
) -> tuple[sparse.csr_array, FloatArray]:
    """Equations for shares instead of records, each scaled to a largest coefficient of 1."""
    from scipy import sparse

    shares = (A @ sparse.diags_array(records)).tocsr()
    if not shares.shape[0]:
        return shares, b
    largest = np.maximum.reduceat(np.abs(shares.data), shares.indptr[:-1])
    return (sparse.diags_array(1.0 / largest) @ shares).tocsr(), b / largest


def _differences(
    curves: Curves, roughness: Roughness, table: FloatArray, unknown: BoolArray, first_only: bool
) -> tuple[sparse.csr_array, FloatArray, FloatArray, float]:
    """Differences of the unknown cells' curves: matrix, offset by known cells, weights, known roughness."""
    from scipy import sparse

    D, weights = roughness.differences(curves)
    labels = 1 if first_only else table.shape[1]
    open_here = unknown[curves.rows, :labels]
    number = np.full((*unknown.shape[:1], labels), -1)
    # numbered as the unknown cells are: row-major over the table
    chosen = unknown[:, :labels]
    number[chosen] = np.arange(int(chosen.sum()))
    number = number[curves.rows]
    known = table[curves.rows, :labels] / curves.records[:, None]
    offset = (D @ np.where(open_here, 0.0, known)).ravel()
    entries = D.tocoo()
    rows = entries.row[:, None] * labels + np.arange(labels)
    columns = number[entries.col]
    values = np.broadcast_to(entries.data[:, None], rows.shape)
    inside = columns >= 0
    matrix = sparse.csr_array(
        (values[inside], (rows[inside], columns[inside])), shape=(D.shape[0] * labels, int(chosen.sum()))
    )
    every = np.repeat(weights, labels)
    used = np.diff(matrix.indptr) > 0
    return matrix[used], offset[used], every[used], float(every[~used] @ offset[~used] ** 2)


def _caps(problem: Problem, cells: IntArray) -> FloatArray:
    """Records that a cell cannot exceed: the least total that it belongs to."""
    caps = [margin.totals.ravel()[margin.cells()[cells]] for margin in problem.margins]
    least: FloatArray = np.minimum.reduce(caps)
    return least
