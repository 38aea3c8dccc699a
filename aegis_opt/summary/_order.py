"""The order of an attribute, as a summary tells it, and where its values lie."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from aegis_opt._options import one_of
from aegis_opt.domain import Kind
from aegis_opt.errors import SummaryError
from aegis_opt.masks._order import MEASURED, ORDERS, Order
from aegis_opt.problem._margin import FloatArray

_DAY = 86_400_000_000  # microseconds


def check_order(order: object, values: Sequence[Any] | None) -> None:
    """Refuse an order that there is not, and values that are not in theirs; the missing value is the last."""
    one_of("its order", order, ORDERS, error=SummaryError)
    if values is None or order == "nominal":
        return
    present = list(values[:-1] if values[-1:] == (None,) else values)
    if None in present:
        raise SummaryError("the missing value must be the last of its values")
    if order == "ascending" and not _ascends(present):
        raise SummaryError("its values must be ascending: sort them, with the rows of its tables")


def _ascends(values: Sequence[Any]) -> bool:
    try:
        return all(map(operator.lt, values, values[1:]))
    except TypeError:  # values of different types have no order
        return False


def positions_of(
    order: Order, kind: Kind, values: Sequence[Any] | None, n_values: int, missing: bool
) -> FloatArray | None:
    """Return where the values of an attribute lie; None where it is nominal.

    Ascending numbers lie where they are and dates at their day, if they are known. Otherwise positions are
    ranks: 0, 1, ... in the order of the rows. That also holds for numbers that floating point cannot tell
    apart or whose extent is beyond it. The missing value, the last, has no place: NaN.

    Examples
    --------
    >>> positions_of("ascending", "integer", (10, 17, None), 3, True)
    array([10., 17., nan])
    >>> positions_of("given", "string", None, 3, False)
    array([0., 1., 2.])
    """
    if order == "nominal":
        return None
    n_present = n_values - missing
    placed = np.full(n_values, np.nan)
    placed[:n_present] = np.arange(n_present)
    if order == "ascending" and values is not None and kind in MEASURED:
        numbers = _numbers(kind, values[:n_present])
        if _tells_apart(numbers):
            placed[:n_present] = numbers
    placed.setflags(write=False)
    return placed


def _numbers(kind: Kind, values: Sequence[Any]) -> FloatArray:
    """Return numbers as they are, and moments in days since 1970."""
    if kind in ("date", "datetime"):
        moments = np.array(values, dtype="datetime64[us]")
        return moments.astype(np.int64) / _DAY
    return np.array(values, dtype=np.float64)


def _tells_apart(numbers: FloatArray) -> bool:
    """Whether numbers increase in floating point, and all their distances are finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(numbers)
        return bool((steps > 0).all() and np.isfinite(steps.sum()))
