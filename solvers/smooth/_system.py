"""The equations of one step towards the smoothest table: a band along the order, factorised with pivoting.

The system is symmetric and quasi-definite [1]_, for the cells x, the scaled differences y = weights (D x +
offset) and the multipliers of the totals C x = right:

    [ curvature   D'          C' ] [  x ]
    [ D          -1/weights      ] [  y ]
    [ C                          ] [ -v ]

However close two positions are, its entries stay of moderate size, where the normal equations D' weights D
would lose all digits.

References
----------
.. [1] R. J. Vanderbei, "Symmetric quasidefinite matrices", SIAM J. Optimization 5 (1995).
.. [2] J. F. Grcar, "Matrix stretching for linear equations", Sandia report SAND90-8723 (1990).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt.errors import InvalidInput
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.solvers.smooth._quadratic import Iterate, Quadratic

if TYPE_CHECKING:
    from scipy import sparse

MOST_ENTRIES = 1e8  # of a factor: about 1.5 GB
_RIDGE = 1e-14  # subtracted from the zeros of what is factorised, as some totals follow from others
_FIRMER = 1e-9  # the same where that is not enough
_REFINEMENTS = 3
_PIECE = 8  # cells of a total in one equation


class TooLarge(InvalidInput):
    """The equations of a step would fill the memory."""


class BandSystem:
    """The equations of one step, assembled once; only the curvature of the cells changes.

    Long totals would fill a factor that is made with pivoting: they are cut into pieces, whose running sums
    become unknowns of their own ("stretching" [2]_).
    """

    def __init__(self, program: Quadratic) -> None:
        from scipy import sparse

        self.program = program
        self.n_cells, self.n_differences = len(program.target), int(program.D.shape[0])
        C, self.last = _stretched(program.C, program.place)
        self.n_unknown = int(C.shape[1])
        D = program.D.copy()
        D.resize((self.n_differences, self.n_unknown))
        blocks = [
            [sparse.eye_array(self.n_unknown), D.T, C.T],
            [D, sparse.diags_array(-1.0 / program.weights), None],
            [C, None, sparse.diags_array(np.full(C.shape[0], -_RIDGE))],
        ]
        self._require_room()
        order = np.argsort(self._places(C), kind="stable")
        self.rank = np.empty_like(order)
        self.rank[order] = np.arange(len(order))
        self.matrix = sparse.block_array(blocks, format="csr")[order][:, order].tocsc()
        self.matrix.sort_indices()
        column = np.repeat(np.arange(len(order)), np.diff(self.matrix.indptr))
        diagonal = np.flatnonzero(self.matrix.indices == column)[self.rank]
        self.matrix.data[diagonal[self.n_cells : self.n_unknown]] = 0.0
        self.diagonal = diagonal[: self.n_cells]
        self.slack = diagonal[self.n_unknown + self.n_differences :]
        self.factor: Any = None

    def _require_room(self) -> None:
        """Refuse what would fill the memory: very many labels, or totals that cut across each other."""
        program = self.program
        per_place = np.bincount(program.place)
        entries = float(4 * (self.n_cells + self.n_differences) * per_place.max(initial=0))
        if C_rows := program.C.shape[0]:
            places = program.place[program.C.indices]
            starts = program.C.indptr[:C_rows]
            span = np.maximum.reduceat(places, starts) - np.minimum.reduceat(places, starts)
            entries += 2.0 * float(span.sum()) * per_place.mean()
        if entries > MOST_ENTRIES:
            raise TooLarge(
                f"the equations of the smoothest table need a factor of about {entries:.2g} entries; there "
                f"is room for {MOST_ENTRIES:.0e}: merge labels, use fewer views, or take solver='ipf'"
            )

    def _places(self, C: sparse.csr_array) -> FloatArray:
        """Where each unknown and each equation lies along the order."""
        cells, D = self.program.place.astype(np.float64), self.program.D
        # A difference follows its first cell; a piece of a total its last one; a running sum its piece.
        padded = np.concatenate([cells, np.full(self.n_unknown - self.n_cells, -1.0)])
        first = np.minimum.reduceat(cells[D.indices], D.indptr[:-1]) if self.n_differences else np.zeros(0)
        last = np.maximum.reduceat(padded[C.indices], C.indptr[:-1]) if C.shape[0] else np.zeros(0)
        sums = np.delete(last, self.last)
        return np.concatenate([cells, sums + 0.4, first + 0.6, last + 0.3])

    def factorise(self, curvature: FloatArray) -> None:
        """Factorise the equations for this curvature of the cells."""
        from scipy.sparse.linalg import splu

        self.matrix.data[self.diagonal] = curvature
        self.matrix.data[self.slack] = -_RIDGE
        try:
            self.factor = splu(self.matrix, permc_spec="NATURAL")
        except RuntimeError:  # exactly singular
            self.matrix.data[self.diagonal] += _FIRMER
            self.matrix.data[self.slack] = -_FIRMER
            self.factor = splu(self.matrix, permc_spec="NATURAL")
            self.matrix.data[self.diagonal] = curvature
        self.matrix.data[self.slack] = 0.0

    def solve(self, cells: FloatArray) -> Iterate:
        """The point whose equations have this right-hand side in the cells."""
        return self.direction(cells, -self.program.offset, self.program.right)

    def direction(self, cells: FloatArray, differences: FloatArray, totals: FloatArray) -> Iterate:
        """Solve, and refine while that helps."""
        right = np.zeros(self.matrix.shape[0])
        n, m = self.n_unknown, self.n_unknown + self.n_differences
        in_cells, in_differences = self.rank[: self.n_cells], self.rank[n:m]
        in_totals = self.rank[m + self.last]
        right[in_cells], right[in_differences], right[in_totals] = cells, differences, totals
        found = self.factor.solve(right)
        residual = right - self.matrix @ found
        left = float(np.abs(residual).max(initial=0.0))
        enough = 1e-15 * float(np.abs(right).max(initial=0.0))
        for _ in range(_REFINEMENTS):
            if left <= enough:
                break
            better = found + self.factor.solve(residual)
            residual = right - self.matrix @ better
            worst = float(np.abs(residual).max(initial=0.0))
            if not worst < 0.5 * left:
                break
            found, left = better, worst
        return Iterate(found[in_cells], found[in_differences], -found[in_totals])


def _stretched(C: sparse.csr_array, place: IntArray) -> tuple[sparse.csr_array, IntArray]:
    """Cut rows into pieces of a few cells, with the running sums as further columns.

    The rows of a total c'x = b become c_1'x - s_1 = 0, c_2'x + s_1 - s_2 = 0, ..., c_p'x + s_{p-1} = b. Also
    return the last row of each total: its right-hand side and its multiplier are those of the total.
    """
    from scipy import sparse

    lengths = np.diff(C.indptr)
    pieces = np.maximum(-(-lengths // _PIECE), 1)
    first = np.cumsum(pieces) - pieces
    total = np.repeat(np.arange(len(lengths)), lengths)
    sorted_ = np.lexsort((place[C.indices], total))
    rows = first[total] + (np.arange(len(C.indices)) - C.indptr[:-1][total]) // _PIECE
    size = int(pieces.sum())
    inner = np.delete(np.arange(size), first + pieces - 1)  # pieces that another one follows
    sums = C.shape[1] + np.arange(len(inner))
    where = np.concatenate([rows, inner, inner + 1]), np.concatenate([C.indices[sorted_], sums, sums])
    ones = np.ones(len(inner))
    matrix = sparse.csr_array(
        (np.concatenate([C.data[sorted_], -ones, ones]), where), shape=(size, C.shape[1] + len(inner))
    )
    return matrix, first + pieces - 1
