"""Distances between a table and its prior: the objectives of every solver, computed in one place."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import kl_div

from aegis_opt.errors import InvalidOption

__all__ = ["NORMS", "distance"]

Norm = Literal["kl", "l1", "l2", "linf"]
NORMS: tuple[str, ...] = get_args(Norm)


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
    X, U = np.asarray(table, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if norm == "kl":
        return float(kl_div(np.maximum(X, 0.0), U).sum())
    difference = np.abs(X - U)
    if norm == "l1":
        return float(difference.sum())
    if norm == "l2":
        return float(np.sqrt((difference**2).sum()))
    if norm == "linf":
        return float(difference.max())
    raise InvalidOption(f"unknown norm {norm!r}; known: {', '.join(NORMS)}")
