"""Totals and constraints that cannot hold together although all but any one of them can.

The multipliers of a linear program that minimises the violation single out equations whose combination is
impossible (Farkas' lemma). A deletion filter then leaves out one after the other [1]_: where the others are
still impossible, the multipliers of that program single out fewer of them; where they are not, it is needed.
Cells that belong to the same of these equations are one variable, so the programs are small.

References
----------
.. [1] J. W. Chinneck, "Feasibility and Infeasibility in Optimization", Springer 2008.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aegis_opt.problem import _linear_program
from aegis_opt.problem._least_violation import LeastViolation, least_violation
from aegis_opt.problem._margin import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

MOST_SECONDS = 5.0
"""Seconds for leaving out what is not needed; what is left then is a conflict, but perhaps not the least."""
_NO_MULTIPLIER = 1e-9


@dataclass(frozen=True, eq=False)
class Conflict:
    """Equations and limits that cannot hold together."""

    totals: IntArray  # rows of A
    owners: IntArray  # of the limits
    irreducible: bool  # whether it is shown that all but any one of them can hold


@dataclass(frozen=True, eq=False)
class Claims:
    """What is claimed about x >= 0: A x = b and C x <= limits; limits of one owner are left out together."""

    A: sparse.csr_array
    b: FloatArray
    C: sparse.csr_array
    limits: FloatArray
    owner: IntArray  # of each limit
    slack: float  # violation below which the equations count as met
    rows: IntArray  # numbers of the equations where they come from

    def conflict(self, seconds: float = MOST_SECONDS) -> Conflict | None:
        """Find an irreducible conflict; None where the equations can hold together.

        `TimeoutError` is raised where the first program takes too long, the one for all equations.
        """
        suspects = self._suspects()
        if suspects is None:
            return None
        deadline = time.monotonic() + seconds
        needed = self._chosen(*suspects)
        for row, owner in [(row, -1) for row in needed.rows] + [(-1, owner) for owner in set(needed.owner)]:
            if row not in needed.rows and owner not in needed.owner:
                continue  # left out with another one
            rest = needed._chosen(needed.rows != row, needed.owner[needed.owner != owner])
            try:
                fewer = rest._suspects(deadline - time.monotonic())
            except TimeoutError:
                return Conflict(needed.rows, np.unique(needed.owner), irreducible=False)
            if fewer is not None:
                needed = rest._chosen(*fewer)
        return Conflict(needed.rows, np.unique(needed.owner), irreducible=True)

    def _suspects(self, seconds: float = _linear_program.MOST_SECONDS) -> tuple[BoolArray, IntArray] | None:
        """Choose equations and owners of limits that are impossible together; None where all can hold."""
        found, owners = self._least_violation(seconds), np.unique(self.owner)
        if found is None:  # the limits alone are impossible
            return np.zeros(len(self.b), dtype=bool), owners
        if found.largest <= self.slack:
            return None
        pulls = np.abs(found.limit_multipliers) > _NO_MULTIPLIER
        chosen = np.abs(found.multipliers) > _NO_MULTIPLIER, np.unique(self.owner[pulls])
        if chosen[0].all() and len(chosen[1]) == len(owners):
            return chosen
        # multipliers are inexact: what they single out is taken where it is impossible indeed
        fewer = self._chosen(*chosen)._least_violation(seconds)
        if fewer is None or fewer.largest > self.slack:
            return chosen
        return np.ones(len(self.b), dtype=bool), owners

    def _least_violation(self, seconds: float) -> LeastViolation | None:
        C, limits = (self.C, self.limits) if len(self.limits) else (None, None)
        return least_violation(self.A, self.b, C, limits, enough=self.slack / 100, seconds=seconds)

    def _chosen(self, rows: BoolArray, owners: IntArray) -> Claims:
        """Keep some equations, and the limits of some owners, over as few variables as they need."""
        kept = np.isin(self.owner, owners)
        A, C = self.A[rows], self.C[kept]
        first = _distinct_columns(A, C)
        return Claims(
            A[:, first],
            self.b[rows],
            C[:, first],
            self.limits[kept],
            self.owner[kept],
            self.slack,
            self.rows[rows],
        )


def _distinct_columns(*matrices: sparse.csr_array) -> IntArray:
    """Return one column for each kind of column: those of a kind are equal in all the matrices."""
    n_columns = matrices[0].shape[1]
    kind = np.zeros(n_columns, dtype=np.int64)
    for matrix in matrices:
        columns = matrix.tocsc()
        columns.sort_indices()
        counts = np.diff(columns.indptr)
        column = np.repeat(np.arange(n_columns), counts)
        place = np.arange(len(column)) - np.repeat(columns.indptr[:-1], counts)
        values = np.unique(columns.data, return_inverse=True)[1]
        entries = columns.indices.astype(np.int64) * (int(values.max(initial=0)) + 1) + values + 1
        for i in range(int(counts.max(initial=0))):
            entry = np.zeros(n_columns, dtype=np.int64)  # 0: no such entry
            entry[column[place == i]] = entries[place == i]
            ranked = np.unique(entry, return_inverse=True)[1]
            kind = np.unique(kind * (int(ranked.max(initial=0)) + 1) + ranked, return_inverse=True)[1]
    first: IntArray = np.unique(kind, return_index=True)[1]
    return first
