"""How well all masked attributes together predict the label, by least squares on counts of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aegis_opt.sources._pairs import IntArray, PairCounts

if TYPE_CHECKING:
    from scipy import sparse

FloatArray = npt.NDArray[np.float64]

PENALTY = 10.0
"""The ridge penalty, lambda. Scores hardly depend on it between 1 and 100."""
CAP = 64
"""The most masked values of an attribute that a penalised fit tells apart, those pooled as one included."""

_FEWEST_SPARSE = 600  # columns from which a sparse matrix takes less time than a dense one
_LARGEST_DENSE = 4000  # unknowns of a system that is solved by factorisation


@dataclass(frozen=True, eq=False)
class Design:
    """The one-hot masked attributes of a configuration: which class of which attribute is which column."""

    pairs: PairCounts
    columns: IntArray  # of each class
    blocks: tuple[int, ...]  # columns of each attribute

    @classmethod
    def of(cls, pairs: PairCounts, groups: Sequence[IntArray], cap: int | None = None) -> Design:
        """Give each class its column; `groups[i][c]` is the masked value of class c of attribute i.

        With a cap, the `cap` - 1 most frequent masked values of an attribute stay and the others are pooled.
        """
        sizes = pairs.records.sum(axis=0)
        columns, blocks, start = [], [], 0
        for own, first in zip(groups, pairs.starts, strict=False):
            if cap is not None:
                own = most_frequent(np.bincount(own, weights=sizes[first : first + len(own)]), cap)[own]
            columns.append(start + own)
            blocks.append(int(own.max()) + 1)
            start += blocks[-1]
        return cls(pairs, np.concatenate(columns), tuple(blocks))

    @property
    def p(self) -> int:
        """Number of columns."""
        return sum(self.blocks)

    def moments(self) -> Moments:
        """Add up the counts of the classes that share a column; one entry for each fold."""
        p, n_folds = self.p, self.pairs.n_folds
        key = (self.columns * p)[self.pairs.first]
        key += self.columns[self.pairs.second]
        if self.pairs.fold is not None:
            key += (np.arange(n_folds) * (p * p))[self.pairs.fold]
        products: FloatArray = np.bincount(  # type: ignore[assignment]
            key, weights=self.pairs.counts, minlength=n_folds * p * p
        ).reshape(n_folds, p, p)
        products += products.transpose(0, 2, 1)
        diagonal = np.arange(p)
        products[:, diagonal, diagonal] = self.records()
        pairs = self.pairs
        return Moments(pairs.fold_sizes, products, self.labels(), pairs.label_sums, pairs.label_squares)

    def records(self) -> FloatArray:
        """Records per fold and column."""
        n_folds = self.pairs.n_folds
        key = np.arange(n_folds)[:, None] * self.p + self.columns
        merged: FloatArray = np.bincount(  # type: ignore[assignment]
            key.ravel(), weights=self.pairs.records.ravel(), minlength=n_folds * self.p
        )
        return merged.reshape(n_folds, self.p)

    def labels(self) -> FloatArray:
        """Sums of the label's columns per fold and column."""
        n_folds, _, k = self.pairs.labels.shape
        key = (np.arange(n_folds)[:, None, None] * self.p + self.columns[:, None]) * k + np.arange(k)
        merged: FloatArray = np.bincount(  # type: ignore[assignment]
            key.ravel(), weights=self.pairs.labels.ravel(), minlength=n_folds * self.p * k
        )
        return merged.reshape(n_folds, self.p, k)

    def normal_matrix(self) -> FloatArray | sparse.csr_array:
        """Records per pair of columns, all folds together, with a column of ones at the end.

        A matrix of many columns is sparse.
        """
        p = self.p
        sums = self.records().sum(axis=0)
        if p < _FEWEST_SPARSE:
            bordered = np.empty((p + 1, p + 1))
            bordered[:p, :p] = self.moments().total().products[0]
            bordered[p, :p] = bordered[:p, p] = sums
            bordered[p, p] = sums[: self.blocks[0]].sum()
            return bordered
        from scipy import sparse

        ends = np.full(p, p), np.arange(p)
        first = np.concatenate([self.columns[self.pairs.first], ends[0]])
        second = np.concatenate([self.columns[self.pairs.second], ends[1]])
        half = sparse.coo_array(
            (np.concatenate([self.pairs.counts, sums]), (first, second)), shape=(p + 1, p + 1)
        ).tocsr()
        return (half + half.T + sparse.diags_array([*sums, sums[: self.blocks[0]].sum()])).tocsr()


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of products of one-hot columns X and columns Y of the label, for each fold.

    Y is one-hot where the label is one of k classes, and one column where it is a number.
    """

    n: FloatArray  # folds: records
    products: FloatArray  # folds x p x p: X'X
    labels: FloatArray  # folds x p x k: X'Y
    label_sums: FloatArray  # folds x k: 1'Y
    label_squares: FloatArray  # folds x k: the diagonal of Y'Y

    @property
    def _parts(self) -> tuple[FloatArray, ...]:
        return self.n, self.products, self.labels, self.label_sums, self.label_squares

    def total(self) -> Moments:
        """All folds together."""
        return Moments(*(part.sum(axis=0, keepdims=True) for part in self._parts))

    def minus(self, other: Moments) -> Moments:
        """The records that are not among the other ones."""
        return Moments(*(part - its for part, its in zip(self._parts, other._parts, strict=True)))

    def fold(self, fold: int) -> Moments:
        """One fold alone."""
        return Moments(*(part[[fold]] for part in self._parts))


def r2_gcv(design: Design, penalty: float = PENALTY) -> float:
    r"""R-squared of ridge regression of the label, corrected by generalised cross-validation.

    With X the one-hot columns, Y the one-hot label or the number, t = Y'1, s = X'1, G = X'X - ss'/n,
    B = X'Y - st'/n and W = (G + lambda I)^-1 B,

    .. math:: 1 - \frac{RSS / (1 - df/n)^2}{TSS / (1 - 1/n)^2}, \qquad
       df = 1 + p - \lambda \operatorname{tr}(G + \lambda I)^{-1},

    where RSS = TSS - 2 tr(B'W) + tr(W'GW) and TSS = tr(Y'Y) - t't/n, which is the sum of n_y (1 - n_y/n) over
    the classes [1]_. A table of one record has no score (NaN), and neither has one whose fit has as many
    degrees of freedom as records.

    References
    ----------
    .. [1] G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a good
       ridge parameter", Technometrics 21(2), 1979.
    """
    moments = design.moments().total()
    n, G, B, tss = centred(moments)
    inverse_trace, W = _ridge(G, B, penalty)
    rss = tss - 2 * np.sum(B * W) + np.sum(W * (G @ W))
    return generalised_cross_validation(rss, tss, 1 + len(G) - penalty * inverse_trace, n)


def generalised_cross_validation(rss: float, tss: float, df: float, n: float) -> float:
    """Return R-squared of a fit with `df` degrees of freedom to n records; NaN where it has none."""
    if not (n > 1 and df < n and tss > 0):
        return float("nan")
    return float(1 - (rss / (1 - df / n) ** 2) / (tss / (1 - 1 / n) ** 2))


def r2_cv(design: Design, penalty: float = PENALTY) -> tuple[float, FloatArray]:
    r"""Cross-validated R-squared of ridge regression of the label, and its value in each fold.

    The fit leaves fold f out and is judged on it,

    .. math:: 1 - \frac{\sum_f RSS_f}{\sum_f TSS_f}, \qquad 1 - \frac{RSS_f}{TSS_f},

    where TSS_f is taken around the mean label of the other folds: class shares, or the mean number. With the
    uncentred sums M_f, B_f, s_f, n_f of the fold, and of each column y of the label its sum t_fy and its sum
    of squares q_fy, which are the same for classes, RSS_f = sum over y of q_fy - 2 (b_0 t_fy + w'B_f)
    + n_f b_0^2 + 2 b_0 s_f'w + w'M_f w: no record is needed. A fold without records, or that holds all of
    them, has no value (NaN).
    """
    moments = design.moments()
    everything = moments.total()
    n_folds = len(moments.products)
    rss, tss = np.full(n_folds, np.nan), np.full(n_folds, np.nan)
    for fold in range(n_folds):
        M, B, held = moments.products[fold], moments.labels[fold], moments.label_sums[fold]
        squares = moments.label_squares[fold]
        others = everything.minus(moments.fold(fold))
        n, n_fold = float(others.n[0]), float(moments.n[fold])
        if n == 0 or n_fold == 0:
            continue
        _, G, C, _ = centred(others)
        _, W = _ridge(G, C, penalty, trace=False)
        shares = others.label_sums[0] / n
        means = np.diagonal(others.products[0]) / n
        intercept = shares - means @ W
        sums = np.diagonal(M)
        rss[fold] = np.sum(
            squares
            - 2 * (intercept * held + np.sum(W * B, axis=0))
            + n_fold * intercept**2
            + 2 * intercept * (sums @ W)
            + np.sum(W * (M @ W), axis=0)
        )
        tss[fold] = np.sum(squares - 2 * shares * held + n_fold * shares**2)
    if not np.nansum(tss) > 0:
        return float("nan"), np.full(n_folds, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(1 - np.nansum(rss) / np.nansum(tss)), 1 - rss / tss


def r2(design: Design) -> float:
    """R-squared of least squares of the one-hot label, or of the number, on the one-hot masked attributes.

    Merging values only removes columns from the span of the attributes, so it never raises this score: its
    order of configurations is proved. For one attribute it is Goodman and Kruskal's tau, and of a number the
    correlation ratio.
    """
    return _explained(design, None)


def r2_certified(design: Design, values: FloatArray, penalty: float = PENALTY) -> float:
    """Share of the label's variation that ridge regression explains, its penalty paid.

    This is 1 - min (RSS + b' L b) / TSS, where the penalty of a column adds up over the values that it stands
    for, L_g = lambda times their number. A fit on merged values is one on the values themselves whose
    coefficients are equal, at the same penalty; so merging never raises this score either. `values` has the
    number of values of each class.
    """
    weights: FloatArray = np.bincount(design.columns, weights=values, minlength=design.p)  # type: ignore[assignment]
    return _explained(design, penalty * weights)


def _explained(design: Design, penalty: FloatArray | None) -> float:
    """1 - min (RSS + b' L b) / TSS over all linear fits with an intercept; `penalty` is the diagonal of L.

    The columns of the largest attribute never occur together, so their block of X'X is diagonal: they are
    eliminated first, however many there are.
    """
    sums = design.pairs.label_sums.sum(axis=0)
    squares = float(design.pairs.label_squares.sum())
    tss = squares - float(np.sum(sums**2)) / float(design.pairs.fold_sizes.sum())
    if not tss > 0:
        return float("nan")
    A, p = design.normal_matrix(), design.p
    right = np.vstack([design.labels().sum(axis=0), sums])
    starts = np.concatenate([[0], np.cumsum(design.blocks)])
    largest = int(np.argmax(design.blocks))
    eliminated = np.arange(starts[largest], starts[largest + 1])
    rest = np.setdiff1d(np.arange(p + 1), eliminated)
    diagonal = A.diagonal()
    if penalty is None:  # the columns of an attribute add up to the ones: the first of each is implied
        rest = np.setdiff1d(rest, [*starts[:-1], p])
        added = np.zeros(p + 1)
    else:
        added = np.append(penalty, 0.0)
    system = _NormalEquations(
        (diagonal + added)[eliminated],
        A[eliminated][:, rest],
        A[rest][:, rest],
        added[rest],
        right[eliminated],
        right[rest],
    )
    return float(1 - (squares - system.value()) / tss)


@dataclass(frozen=True, eq=False)
class _NormalEquations:
    """Normal equations [[diag(d), C], [C', E + diag(e)]] of a fit with the right-hand side (f, g)."""

    d: FloatArray
    C: FloatArray | sparse.csr_array
    E: FloatArray | sparse.csr_array
    e: FloatArray
    f: FloatArray
    g: FloatArray

    def value(self) -> float:
        """Return the right-hand side times the solution: what the fit explains of the sum of squares."""
        scaled = (
            (self.C.T / self.d).T if isinstance(self.C, np.ndarray) else self.C.multiply(1 / self.d[:, None])
        )
        known = float(np.sum(self.f**2 / self.d[:, None]))
        g = self.g - scaled.T @ self.f
        if not len(g):
            return known
        if len(g) > _LARGEST_DENSE:
            return known + self._by_conjugate_gradients(scaled, g)
        reduced = self.E - self.C.T @ scaled
        dense = reduced if isinstance(reduced, np.ndarray) else reduced.toarray()
        return known + _quadratic(dense + np.diag(self.e), g, self.E.diagonal())

    def _by_conjugate_gradients(self, scaled: FloatArray | sparse.csr_array, g: FloatArray) -> float:
        """Solve for the rest where a dense matrix would be too large; its errors count squared."""
        from scipy.sparse.linalg import LinearOperator, cg

        diagonal = np.maximum(self.E.diagonal() + self.e, 1.0)
        shape = (len(g), len(g))
        reduced = LinearOperator(
            shape, matvec=lambda x: self.E @ x + self.e * x - self.C.T @ (scaled @ x), dtype=float
        )
        jacobi = LinearOperator(shape, matvec=lambda x: x / diagonal, dtype=float)
        found = 0.0
        for column in g.T:
            x, _ = cg(reduced, column, rtol=1e-9, maxiter=2000, M=jacobi)
            found += float(2 * column @ x - x @ (reduced @ x))  # a lower bound of the exact value
        return found


def _quadratic(S: FloatArray, g: FloatArray, scale: FloatArray) -> float:
    """Return tr(g' S^+ g) for a positive semidefinite S, by a Cholesky factorisation with pivoting."""
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    tolerance = 10 * len(S) * np.finfo(float).eps * max(float(scale.max()), 1.0)
    factor, pivots, rank, _ = dpstrf(S, tol=tolerance, lower=0)
    chosen = pivots[:rank] - 1
    half = solve_triangular(factor[:rank, :rank], g[chosen], trans=1, lower=False)
    return float(np.sum(half**2))


def centred(moments: Moments) -> tuple[float, FloatArray, FloatArray, float]:
    """Return n, G = X'X - ss'/n, B = X'Y - st'/n and TSS of moments of one fold."""
    M, B, sums_of_label = moments.products[0], moments.labels[0], moments.label_sums[0]
    n = float(moments.n[0])
    sums = np.diagonal(M)
    tss = float(np.sum(moments.label_squares[0] - sums_of_label * (sums_of_label / n)))
    return n, M - np.outer(sums, sums) / n, B - np.outer(sums, sums_of_label) / n, tss


def _ridge(G: FloatArray, B: FloatArray, penalty: float, trace: bool = True) -> tuple[float, FloatArray]:
    """Return the trace of (G + lambda I)^-1, if asked for, and (G + lambda I)^-1 B."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.linalg.lapack import dpotri

    A = G + penalty * np.eye(len(G))
    factor, lower = cho_factor(A, lower=True, check_finite=False)
    W = cho_solve((factor, lower), B, check_finite=False)
    if not trace:
        return float("nan"), W
    inverse, _ = dpotri(factor, lower=1)
    return float(np.trace(inverse)), W


def most_frequent(sizes: IntArray | FloatArray, cap: int = CAP) -> IntArray:
    """Number the `cap` - 1 most frequent of some values in their order, and all others as one.

    Examples
    --------
    >>> most_frequent(np.array([1, 5, 2, 4]), cap=3).tolist()
    [2, 0, 2, 1]
    """
    if len(sizes) <= cap:
        return np.arange(len(sizes))
    kept = np.sort(np.argsort(-sizes, kind="stable")[: cap - 1])
    places = np.full(len(sizes), cap - 1)
    places[kept] = np.arange(cap - 1)
    return places
