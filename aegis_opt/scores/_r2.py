"""Scores by least squares, from counts of pairs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aegis_opt._blas import one_blas_thread
from aegis_opt.scores._base import Score, ScoreValues
from aegis_opt.scores._changes import changed_r2_gcv
from aegis_opt.scores._least_squares import CAP, Design, FloatArray, r2, r2_certified, r2_cv, r2_gcv
from aegis_opt.scores._masked_records import MaskedRecords

FOLDS = 10
"""Folds of the cross-validated score."""


@dataclass(frozen=True)
class LeastSquares(Score):
    """A score of one number for each configuration."""

    name: str
    title: str
    function: Callable[[Design, MaskedRecords], float]
    monotone: bool = False
    cap: int | None = None
    changed: Callable[[MaskedRecords], Mapping[str, FloatArray]] | None = None
    compares_labels: bool = True  # a share of the variation of the label, however many classes it has

    def of(self, masked: MaskedRecords) -> ScoreValues:
        """Score every configuration by the counts of all records."""
        pairs = masked.pairs(cap=self.cap)
        found = []
        for name in masked.configurations:
            design = masked.design(name, pairs, self.cap)
            with one_blas_thread(design.p):
                found.append(self.function(design, masked))
        return ScoreValues(np.array(found))

    def changes(self, masked: MaskedRecords) -> Mapping[str, FloatArray] | None:
        """Score every configuration with one of its masks changed, where there is a quick way."""
        return None if self.changed is None else self.changed(masked)


@dataclass(frozen=True)
class CrossValidated(Score):
    """The score of a fit on the records outside a fold, judged by the fold."""

    name: str
    title: str
    monotone: bool = False
    compares_labels: bool = True

    def of(self, masked: MaskedRecords) -> ScoreValues:
        """Score every configuration in each fold."""
        pairs = masked.pairs(FOLDS)
        found = []
        for name in masked.configurations:
            design = masked.design(name, pairs)
            with one_blas_thread(design.p):
                found.append(r2_cv(design))
        return ScoreValues(np.array([score for score, _ in found]), np.array([folds for _, folds in found]))


R2 = LeastSquares("r2", "R-squared of least squares", lambda d, _: r2(d), True)
R2_CERTIFIED = LeastSquares(
    "r2_certified",
    "R-squared of least squares with a penalty",
    lambda d, masked: r2_certified(d, masked.values_per_class),
    True,
)
R2_GCV = LeastSquares(
    "r2_gcv",
    "R-squared by generalised cross-validation",
    lambda d, _: r2_gcv(d),
    cap=CAP,
    changed=changed_r2_gcv,
)
R2_CV = CrossValidated("r2_cv", "R-squared by cross-validation")
