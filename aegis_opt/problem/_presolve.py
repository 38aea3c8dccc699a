"""Presolve shared by the backends: the same problem with fewer rows, fewer totals and no dead cells.

It is exact. Rows of the same groups, total, prior and constraint coefficients are interchangeable, so a
convex objective has an optimum in which they are equal, and an integer one an optimum in which they differ
by at most one per cell: they are solved as one row with a multiplicity. A total that follows from another
margin is dropped, and a cell that a total of 0 or a structural zero empties is no variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from aegis_opt.problem._feasibility import incidence, numbered
from aegis_opt.problem._margin import FloatArray, IntArray, Margin
from aegis_opt.problem._problem import Problem


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem over classes of interchangeable rows.

    Its unknown is the C x k table T of *class totals*: T[c, y] = sum of X[a, y] over the rows a of class c.

    Attributes
    ----------
    problem : Problem
        The full problem.
    class_of : int array, shape (n,)
        The class of each row.
    multiplicity : int array, shape (C,)
        How many rows each class has.
    first : int array, shape (C,)
        One row of each class.
    margins : tuple of Margin
        The totals over classes that do not follow from each other.
    prior : float array, shape (C, k)
        The prior of *one* row of the class.
    allowed : bool array, shape (C, k)
        Cells that may be positive.
    """

    problem: Problem
    class_of: IntArray
    multiplicity: IntArray
    first: IntArray
    margins: tuple[Margin, ...]
    prior: FloatArray
    allowed: npt.NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of classes and number of labels."""
        return self.prior.shape

    @cached_property
    def cells(self) -> IntArray:
        """Row-major positions of the allowed cells: the variables."""
        return np.flatnonzero(self.allowed)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """0/1 matrix of known totals (rows) by allowed cells (columns), in the order of `margins`."""
        return incidence(self._members, self._sizes)

    @property
    def members(self) -> IntArray:
        """Known total, counted through all margins, that each allowed cell belongs to: (margins, cells)."""
        return numbered(self._members, self._sizes)

    @cached_property
    def totals(self) -> FloatArray:
        """Right-hand side that belongs to `matrix`."""
        return np.concatenate([margin.totals.ravel() for margin in self.margins])

    @property
    def _members(self) -> list[IntArray]:
        return [margin.cells()[self.cells] for margin in self.margins]

    @property
    def _sizes(self) -> list[int]:
        return [margin.n_groups for margin in self.margins]

    def table(self, values: FloatArray) -> FloatArray:
        """Put one value per allowed cell into a C x k table."""
        table = np.zeros(self.shape)
        table.flat[self.cells] = values
        return table

    def expand(self, class_totals: FloatArray) -> FloatArray:
        """Spread class totals evenly over the rows of each class: the full n x k table."""
        per_row: FloatArray = (class_totals / self.multiplicity[:, None])[self.class_of]
        return per_row


def reduce(problem: Problem) -> Reduction:
    """Merge interchangeable rows, drop totals that follow from others, close cells that must be 0."""
    class_of = _classes(problem)
    n_classes = int(class_of.max()) + 1
    multiplicity = np.bincount(class_of, minlength=n_classes)
    first = np.zeros(n_classes, dtype=np.int64)
    first[class_of[::-1]] = np.arange(len(class_of))[::-1]
    margins = []
    for margin in problem.margins:
        if margin.name == "histogram":
            rows = np.arange(n_classes, dtype=np.int64)
            totals = margin.totals[first] * multiplicity[:, None]
        else:
            rows, totals = margin.rows[first], margin.totals
        margins.append(Margin(margin.name, rows, margin.columns, totals))
    prior = problem.prior[first]
    allowed = np.ones(prior.shape, dtype=bool)
    if problem.structural_zeros is not None:
        allowed &= prior > 0
    for margin in margins:
        allowed &= (margin.totals > 0)[margin.rows][:, margin.columns]
    kept = tuple(independent(margins))
    return Reduction(problem, class_of, multiplicity, first, kept, prior, allowed)


def independent(margins: Sequence[Margin]) -> Iterator[Margin]:
    """Yield the margins that do not follow from another one; of two equal ones the first."""
    for i, margin in enumerate(margins):
        finer = (
            other.implies(margin) and (j < i or not margin.implies(other))
            for j, other in enumerate(margins)
            if j != i
        )
        if not any(finer):
            yield margin


def _classes(problem: Problem) -> IntArray:
    """Give each class of interchangeable rows a number, in order of first appearance."""
    keys: list[npt.NDArray[np.float64]] = []
    if problem.histogram is not None:
        keys.append(problem.histogram)
    if problem.given_prior is not None:
        keys.extend(problem.given_prior.T)
    for constraint in problem.constraints:
        keys.extend(constraint.coefficients.T)
    code = problem.refinement
    for key in keys:
        rank = np.unique(key, return_inverse=True)[1]
        code = np.unique(code * (int(rank.max()) + 1) + rank, return_inverse=True)[1]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return order[inverse].astype(np.int64)
