"""The score of every configuration with one of its masks exchanged for another, or removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis_opt._blas import one_blas_thread
from aegis_opt.scores._least_squares import PENALTY, Design, FloatArray, centred, generalised_cross_validation
from aegis_opt.scores._masked_records import MaskedRecords, Refinement
from aegis_opt.sources._pairs import IntArray, PairCounts


def changed_r2_gcv(masked: MaskedRecords, penalty: float = PENALTY) -> dict[str, FloatArray]:
    r"""Return `r2_gcv` of each configuration after each change of one mask.

    With A = G + lambda I split into the columns of the other attributes and those of the one whose mask
    changes, :math:`A = \begin{pmatrix} A_0 & C \\ C' & D \end{pmatrix}`, every change has the same
    :math:`H = A_0^{-1}`, and with :math:`T = HC`, :math:`S = D - C'T`, :math:`W_{00} = HB_0` the fit is

    .. math:: W_1 = S^{-1}(B_1 - C'W_{00}), \quad W_0 = W_{00} - TW_1, \quad
       \operatorname{tr} A^{-1} = \operatorname{tr} H + \operatorname{tr} S^{-1}(I + T'T).

    H is a part of the inverse of A, with the columns of the attribute eliminated: one factorisation for a
    configuration, and then only systems as large as one attribute.

    Returns
    -------
    dict of str to ndarray, shape (configurations, masks + 1)
        For each attribute, the score under each of its masks, and in the last column without a mask.
    """
    pairs = masked.pairs()
    starts = pairs.starts.tolist()
    candidates: dict[bytes | None, list[_Candidates]] = {}  # by masked label
    records: FloatArray = pairs.records[0].astype(float)
    rows = []
    for name in masked.configurations:
        label = masked.label_key(name)
        if label not in candidates:
            by_label: FloatArray = masked.with_masked_label(name, pairs).labels[0].astype(float)
            candidates[label] = [
                _Candidates.of(own, start, by_label[start : start + size], records[start : start + size])
                for own, start, size in zip(masked.capped, starts, pairs.sizes, strict=False)
            ]
        design = masked.design(name, pairs)
        with one_blas_thread(design.p):
            rows.append(_of_configuration(design, pairs, candidates[label], penalty))
    return {name: np.stack([row[i] for row in rows]) for i, name in enumerate(masked.groupings)}


@dataclass(frozen=True, eq=False)
class _Candidates:
    """The masked values of one attribute under all its masks, one mask after the other."""

    start: int  # the number of the attribute's first class
    indicator: FloatArray  # classes x masked values of all masks
    labels: FloatArray  # masked values x columns of the label: their sums
    totals: FloatArray  # records of each masked value
    begins: IntArray  # the first masked value of each mask, and at the end their number

    @classmethod
    def of(cls, refinement: Refinement, start: int, by_label: FloatArray, records: FloatArray) -> _Candidates:
        sizes = [int(groups.max()) + 1 for groups in refinement.groups]
        begins = np.concatenate([[0], np.cumsum(sizes)])
        indicator = np.zeros((len(by_label), int(begins[-1])))
        for groups, begin in zip(refinement.groups, begins, strict=False):
            indicator[np.arange(len(groups)), begin + groups] = 1.0
        return cls(start, indicator, indicator.T @ by_label, indicator.T @ records, begins)


def _of_configuration(
    design: Design, pairs: PairCounts, candidates: list[_Candidates], penalty: float
) -> list[FloatArray]:
    """Return the scores after every change, for each attribute."""
    from scipy.linalg import cho_factor, cho_solve

    moments = design.moments()
    n, G, B, tss = centred(moments)
    p = len(G)
    label_sums = moments.label_sums[0]
    sums = np.diagonal(moments.products[0])
    factor = cho_factor(G + penalty * np.eye(p), lower=True, check_finite=False)
    K: FloatArray = cho_solve(factor, np.eye(p), check_finite=False)
    W = K @ B
    crossed = _crossed(design, pairs)
    found, end = [], 0
    for candidate, size in zip(candidates, design.blocks, strict=True):
        begin, end = end, end + size
        classes = slice(candidate.start, candidate.start + len(candidate.indicator))
        totals = candidate.totals
        C = crossed[:, classes] @ candidate.indicator - np.outer(sums / n, totals)
        C[begin:end] = 0.0
        # H C = K C - K_oa K_aa^-1 K_ao C, with o the other columns and a the attribute's own
        removed = np.linalg.solve(K[begin:end, begin:end], K[begin:end])
        T, W_others = K @ C, W - removed.T @ W[begin:end]
        T -= removed.T @ T[begin:end]
        T[begin:end] = W_others[begin:end] = 0.0
        trace = float(np.trace(K) - np.sum(removed * K[begin:end]))
        B_others = B.copy()
        B_others[begin:end] = 0.0
        rest = _Others(n, tss, p - size, trace, W_others, T, C, B_others, penalty)
        right = candidate.labels - np.outer(totals, label_sums) / n
        found.append(
            np.array(
                [
                    rest.score(slice(first, last), totals[first:last], right[first:last])
                    for first, last in zip(candidate.begins[:-1], candidate.begins[1:], strict=True)
                ]
            )
        )
    return found


def _crossed(design: Design, pairs: PairCounts) -> FloatArray:
    """Records per column of a configuration and class of another attribute."""
    n_classes = len(design.columns)
    table: FloatArray = np.bincount(  # type: ignore[assignment]
        np.concatenate(
            [
                design.columns[pairs.first] * n_classes + pairs.second,
                design.columns[pairs.second] * n_classes + pairs.first,
            ]
        ),
        weights=np.concatenate([pairs.counts, pairs.counts]),
        minlength=design.p * n_classes,
    )
    return table.reshape(design.p, n_classes)


class _Others:
    """The fit on all attributes but one, to which that one is added under any mask."""

    def __init__(
        self,
        n: float,
        tss: float,
        p: int,  # columns of the others
        trace: float,  # of H
        W: FloatArray,  # H B_0
        T: FloatArray,  # H C, where C has the columns of all masks
        C: FloatArray,
        B: FloatArray,  # B_0
        penalty: float,
    ) -> None:
        self.n, self.tss, self.p, self.trace, self.penalty = n, tss, p, trace, penalty
        self.C, self.T = C, T
        self.CW, self.TW = C.T @ W, T.T @ W
        self.explained, self.squares = np.vdot(B, W), np.vdot(W, W)

    def score(self, columns: slice, totals: FloatArray, right: FloatArray) -> float:
        """Return the score with the columns of one mask, their records and their B_1."""
        from scipy.linalg.lapack import dposv

        C, T = self.C[:, columns], self.T[:, columns]
        size, k = right.shape
        rest = right - self.CW[columns]
        S = totals[:, None] * (totals / -self.n) - C.T @ T
        TT = T.T @ T
        both = np.empty((size, k + size), order="F")
        both[:, :k], both[:, k:] = rest, TT
        diagonal = np.arange(size)
        S[diagonal, diagonal] += totals + self.penalty
        both[diagonal, k + diagonal] += 1.0
        _, solved, _ = dposv(S, both, lower=1)
        W1 = solved[:, :k]
        trace = self.trace + float(solved[diagonal, k + diagonal].sum())
        explained = self.explained + np.vdot(rest, W1)
        squares = self.squares + np.vdot(W1, TT @ W1 + W1 - 2 * self.TW[columns])
        rss = float(self.tss - explained - self.penalty * squares)
        df = 1 + self.p + size - self.penalty * trace
        return generalised_cross_validation(rss, self.tss, df, self.n)
