"""What cannot be told apart: intervals of paired differences between configurations."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aegis_opt.scores._least_squares import FloatArray


def half_widths(differences: FloatArray, level: float = 0.95) -> FloatArray:
    r"""Half the width of the interval of each mean of paired fold differences.

    With K folds the interval is :math:`\bar d \pm t_{K-1}\, s \sqrt{1/K + 1/(K-1)}`, where the second term
    allows for the records that the fits have in common [1]_.

    Parameters
    ----------
    differences : ndarray, shape (..., K)
        Differences of two scores in each fold.
    level : float
        Of confidence.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    """
    from scipy.special import stdtrit

    k = differences.shape[-1]
    t = float(stdtrit(k - 1, (1 + level) / 2))
    widths: FloatArray = t * differences.std(axis=-1, ddof=1) * np.sqrt(1 / k + 1 / (k - 1))
    return widths


def differences_to(folds: FloatArray, winner: int, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """How far each configuration is behind the winner, and half the width of the interval of that.

    `folds` has a row for each configuration. Folds in which any of them has no value are left out; with fewer
    than two left, no difference is known and the interval is infinite. A configuration that has no values at
    all is at no known distance (NaN).
    """
    known = np.asarray(np.isfinite(folds).any(axis=1))
    usable = np.isfinite(folds[known]).all(axis=0)
    if usable.sum() < 2:
        return np.full(len(folds), np.nan), np.where(known, np.inf, np.nan)
    paired = folds[winner, usable] - folds[:, usable]
    means: FloatArray = paired.mean(axis=1)
    return means, half_widths(paired, level)


def indistinguishable(folds: FloatArray, winner: int, level: float = 0.95) -> npt.NDArray[np.bool_]:
    """Which configurations the folds cannot tell apart from the winner; the winner is one of them."""
    behind, width = differences_to(folds, winner, level)
    return np.isinf(width) | (behind <= width)
