"""Presolve shared by the solvers: the same problem with fewer rows, fewer totals and no dead cells.

It is exact. Rows of the same groups, total, prior and constraint coefficients are *interchangeable*: a
convex objective has an optimum in which they are equal, and an integer one an optimum in which they differ
by at most one per cell. For the least divergence, it is enough that priors are *proportional*: scaling keeps
such rows multiples of each other. Either way they are solved as one row. A total that follows from another
margin is dropped, and a cell that a total of 0 or a structural zero empties is no variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from aegis_opt.problem._feasibility import incidence, numbered
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray, Margin, open_cells
from aegis_opt.problem._problem import Problem

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class Reduction:
    """A problem over classes of rows that are solved as one.

    Its unknown is the C x k table T of *class totals*: T[c, y] = sum of X[a, y] over the rows a of class c.
    """

    problem: Problem
    class_of: IntArray  # per row of the problem
    multiplicity: IntArray  # per class: how many rows it has
    first: IntArray  # per class: its first row
    weight: FloatArray | None  # in which proportion the rows of a class share its totals; None: equally
    margins: tuple[Margin, ...]  # the totals over classes that do not follow from each other
    prior: FloatArray  # C x k: the prior of the *first* row of the class
    allowed: BoolArray  # C x k: cells that may be positive

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
        return incidence(self.members_by_margin, self.sizes)

    @property
    def members(self) -> IntArray:
        """Known total, counted through all margins, that each allowed cell belongs to: (margins, cells)."""
        return numbered(self.members_by_margin, self.sizes)

    @cached_property
    def totals(self) -> FloatArray:
        """Right-hand side that belongs to `matrix`."""
        return np.concatenate([margin.totals.ravel() for margin in self.margins])

    @property
    def members_by_margin(self) -> list[IntArray]:
        """For each margin, the total that each allowed cell belongs to."""
        return [margin.cells()[self.cells] for margin in self.margins]

    @property
    def sizes(self) -> list[int]:
        """Number of totals of each margin."""
        return [margin.n_groups for margin in self.margins]

    def table(self, values: FloatArray) -> FloatArray:
        """Put one value per allowed cell into a C x k table."""
        table = np.zeros(self.shape)
        table.flat[self.cells] = values
        return table

    def class_prior(self) -> FloatArray:
        """Prior of the class totals: the sum over the rows of each class."""
        if self.problem.given_prior is None:
            return self.prior * self.multiplicity[:, None]
        prior = np.zeros(self.shape)
        np.add.at(prior, self.class_of, self.problem.given_prior)
        return prior

    def expand(self, class_totals: FloatArray) -> FloatArray:
        """Share class totals among the rows of each class: the full n x k table."""
        if self.weight is None:
            per_row: FloatArray = (class_totals / self.multiplicity[:, None])[self.class_of]
            return per_row
        size = np.bincount(self.class_of, self.weight, len(self.first))[self.class_of]
        share = np.divide(self.weight, size, out=np.zeros_like(self.weight), where=size > 0)
        shared: FloatArray = class_totals[self.class_of] * share[:, None]
        return shared


def reduce(
    problem: Problem,
    *,
    proportional: bool = False,
    marks: FloatArray | None = None,
    cells: BoolArray | None = None,
) -> Reduction:
    """Merge rows, drop totals that follow from others, close cells that must be 0.

    Merging proportional rows instead of interchangeable ones makes fewer classes, but is right for the least
    divergence only, and for problems without extra constraints. Rows that differ in `marks` (n x any) are
    not interchangeable, such as those whose cells have different weights. Where `cells` (n x k) are given,
    all others are known to be 0.
    """
    keys: list[FloatArray] = [*(_proportions(problem) if proportional else _values(problem))]
    if marks is not None:
        keys += [*marks.T]
    if keys:
        rows = _merged(problem, keys)
    else:  # what the groups alone tell is the same for all who ask
        rows = _MERGED.get(problem) or _MERGED.setdefault(problem, _merged(problem, keys))
    prior, allowed = problem.prior[rows.first], rows.allowed
    if cells is not None:
        allowed = allowed & cells[rows.first]
    weight = None
    if proportional:
        weight = problem.histogram
        if weight is None and problem.given_prior is not None:
            weight = problem.given_prior.sum(axis=1)
    return Reduction(
        problem, rows.class_of, rows.multiplicity, rows.first, weight, rows.margins, prior, allowed
    )


class _Merged(NamedTuple):
    """The parts of a reduction that follow from classes of rows; it does not hold the problem."""

    class_of: IntArray
    multiplicity: IntArray
    first: IntArray
    margins: tuple[Margin, ...]
    allowed: BoolArray


_MERGED: WeakKeyDictionary[Problem, _Merged] = WeakKeyDictionary()
"""Classes of rows by their groups alone, for as long as their problem is in use."""


def _merged(problem: Problem, keys: Sequence[FloatArray]) -> _Merged:
    """Merge the rows of equal groups and keys."""
    class_of, first = _classes(problem, keys)
    margins = []
    for margin in problem.margins:
        if margin.kind == "histogram":
            rows = np.arange(len(first), dtype=np.int64)
            records: FloatArray = np.bincount(class_of, margin.totals[:, 0])  # type: ignore[assignment]
            totals = records[:, None]
        else:
            rows, totals = margin.rows[first], margin.totals
        margins.append(Margin(margin.name, rows, margin.columns, totals, margin.kind))
    allowed = open_cells(margins, None if problem.structural_zeros is None else problem.prior[first] == 0)
    return _Merged(class_of, np.bincount(class_of), first, tuple(independent(margins)), allowed)


def independent(margins: Sequence[Margin]) -> Iterator[Margin]:
    """Yield the margins that do not follow from another one; of two equal ones the first."""
    # The first row of a group is the first of its group in every finer partition, too: few pairs are left
    firsts = np.packbits([_is_first(margin.rows) for margin in margins], axis=1)
    for i, margin in enumerate(margins):
        may_be_finer = np.flatnonzero((firsts & firsts[i] == firsts[i]).all(axis=1)).tolist()
        finer = (
            margins[j].implies(margin) and (j < i or not margin.implies(margins[j]))
            for j in may_be_finer
            if j != i
        )
        if not any(finer):
            yield margin


def _is_first(groups: IntArray) -> BoolArray:
    """Whether each row is the first of its group."""
    first = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    rows = np.arange(len(groups))
    first[groups[::-1]] = rows[::-1]
    is_first: BoolArray = first[groups] == rows
    return is_first


def _values(problem: Problem) -> Iterator[FloatArray]:
    """Yield what interchangeable rows have in common, beside their groups."""
    if problem.histogram is not None:
        yield problem.histogram
    if problem.given_prior is not None:
        yield from problem.given_prior.T
    for constraint in problem.constraints:
        yield from constraint.coefficients.T


def _proportions(problem: Problem) -> Iterator[FloatArray]:
    """Yield what proportional rows have in common, beside their groups."""
    if problem.given_prior is not None:
        size = problem.given_prior.sum(axis=1, keepdims=True)
        yield from np.divide(problem.given_prior, size, out=np.zeros(problem.shape), where=size > 0).T


def _classes(problem: Problem, keys: Iterable[FloatArray]) -> tuple[IntArray, IntArray]:
    """Number the classes of rows with equal groups and keys by first appearance; also the first rows."""
    code = problem.refinement
    for key in keys:
        rank = np.unique(key, return_inverse=True)[1]
        code = np.unique(code * (int(rank.max()) + 1) + rank, return_inverse=True)[1]
    first = np.zeros(int(code.max()) + 1, dtype=np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    return number[code], first[order]
