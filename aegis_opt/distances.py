"""Distances between a table and its prior: the objectives of every solver, written once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from aegis_opt._options import one_of

__all__ = ["NORMS", "distance"]

NORMS = ("l1", "l2", "linf", "kl")


def distance(table: npt.ArrayLike, prior: npt.ArrayLike, norm: str) -> float:
    """Distance of a table X from a prior U.

    ======  =================================================
    "kl"    sum of X ln(X / U) - X + U, in nats x records
    "l1"    sum of abs(X - U)
    "l2"    square root of the sum of (X - U)^2
    "linf"  largest abs(X - U)
    ======  =================================================

    Examples
    --------
    >>> distance([[3.0, 1.0]], [[2.0, 2.0]], "l1"), distance([[3.0, 1.0]], [[2.0, 2.0]], "linf")
    (2.0, 1.0)
    """
    terms = cell_distances(np.asarray(table, dtype=np.float64), np.asarray(prior, dtype=np.float64), norm)
    if norm == "linf":
        return float(terms.max())
    total = float(terms.sum())
    return float(np.sqrt(total)) if norm == "l2" else total


def cell_distances(
    table: npt.NDArray[np.float64],
    prior: npt.NDArray[np.float64],
    norm: str,
    rows: npt.NDArray[np.float64] | float = 1.0,
) -> npt.NDArray[np.float64]:
    """What each cell adds to the distance: to the sum, for "l2" to its square, for "linf" to the maximum.

    With `rows`, a cell and its prior are the sums over so many equal rows, and what is returned is the sum
    (for "linf" the maximum) over these rows.

    Examples
    --------
    >>> cell_distances(np.array([6.0]), np.array([2.0]), "l2", rows=2).tolist()
    [8.0]
    """
    one_of("norm", norm, NORMS)
    if norm == "kl":
        from scipy.special import kl_div

        divergence: npt.NDArray[np.float64] = kl_div(np.maximum(table, 0.0), prior)
        return divergence
    difference = np.abs(table - prior)
    if norm == "l1":
        return difference
    if norm == "l2":
        return difference**2 / rows
    return difference / rows
