"""How cheap a configuration with some of the candidates can be, given the clauses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis_opt.privacy._lattice._clauses import Clauses
from aegis_opt.privacy._lattice._options import FloatArray, Options
from aegis_opt.privacy._lattice._partitions import BoolArray, IntArray


@dataclass(eq=False)
class Bounded:
    """What is known about the configurations that some allowed options make."""

    allowed: BoolArray
    bound: float  # no configuration of them that satisfies the clauses costs less
    cheapest: IntArray  # the cheapest option of each attribute
    violated: IntArray  # the clauses that these do not satisfy


def bounded(options: Options, clauses: Clauses, allowed: BoolArray, upper: float) -> Bounded | None:
    """Bound the cost from below, and drop options that lead to no cost below `upper`.

    The bound is a feasible solution of the dual of the linear program that covers the clauses, found
    greedily: each violated clause in turn is charged the least extra cost that satisfies it, and that is
    taken off the extra costs of all options that satisfy it. What an option still costs beyond the bound is
    its reduced cost.

    Returns
    -------
    Bounded or None
        None where no configuration satisfies the clauses at a cost below `upper`.
    """
    allowed = allowed.copy()
    while True:
        costs = np.where(allowed, options.costs, np.inf)
        least = np.minimum.reduceat(costs, options.starts)
        extra = costs - least[options.owner]
        cheapest = _first_zero(extra, options)
        bound = float(least.sum())
        if not bound < upper:
            return None
        rows = clauses.rows
        violated = np.flatnonzero(~rows[:, cheapest].any(axis=1))
        if len(violated):
            charged = _charge(rows[violated], extra)
            if charged is None:
                return None
            bound += charged
            if not bound < upper:
                return None
        keep = allowed & (bound + extra < upper)
        if len(violated):
            _require(rows[violated], keep, options)
        if not np.logical_or.reduceat(keep, options.starts).all():
            return None
        if np.array_equal(keep, allowed):
            return Bounded(allowed, bound, cheapest, violated)
        allowed = keep


def _first_zero(extra: FloatArray, options: Options) -> IntArray:
    """Return the first option of each attribute that costs nothing extra."""
    zeros = np.flatnonzero(extra == 0)  # every attribute has one
    return zeros[np.searchsorted(zeros, options.starts)]


def _charge(rows: BoolArray, extra: FloatArray) -> float | None:
    """Charge clauses, the dearest first; `extra` becomes the reduced costs."""
    prices = np.where(rows, extra, np.inf)
    least = prices.min(axis=1)
    if np.isinf(least).any():
        return None
    total = 0.0
    while True:
        open_rows = least > 0
        if not open_rows.any():
            return total
        if not open_rows.all():
            rows, prices, least = rows[open_rows], prices[open_rows], least[open_rows]
        chosen = int(np.argmax(least))
        charge = float(least[chosen])
        total += charge
        own = rows[chosen]
        extra[own] -= charge
        prices[:, own] -= charge  # infinite where a clause has no use for the option
        least = prices.min(axis=1)


def _require(rows: BoolArray, keep: BoolArray, options: Options) -> None:
    """Where only one attribute can satisfy a clause, drop its options that do not."""
    usable = np.logical_or.reduceat(rows & keep, options.starts, axis=1)
    for clause in np.flatnonzero(usable.sum(axis=1) == 1):
        own = options.of(int(np.argmax(usable[clause])))
        keep[own] &= rows[clause][own]
