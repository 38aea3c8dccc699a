"""From a point that violates to one that violates and is as coarse as possible."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from aegis_opt.privacy._lattice._options import Options
from aegis_opt.privacy._lattice._violations import Point

Violates = Callable[[Point], bool]


def climb(options: Options, point: Point, violates: Violates) -> Point:
    """Coarsen a point that violates while it still does.

    First by price: the highest price is found at which the point still violates when every attribute is
    joined with all candidates that cost at most that much more. What is left to satisfy the clause then costs
    more. After that attribute by attribute, those first that are cheap to coarsen fully.
    """
    point = _by_price(options, point, violates)
    for attribute in _cheap_first(options, point):
        chain = options.chain(attribute, point[attribute])
        before, after = point[:attribute], point[attribute + 1 :]
        best = _coarsest(options, attribute, chain, lambda p: violates((*before, p, *after)))  # noqa: B023
        point = (*before, best, *after)
    return point


def _by_price(options: Options, point: Point, violates: Violates) -> Point:
    """Coarsen all attributes by one price, the highest at which the point still violates."""
    chains = [options.chain(attribute, start) for attribute, start in enumerate(point)]
    prices = [options.prices(attribute, start) for attribute, start in enumerate(point)]

    def at(price: float) -> Point:
        steps = [bisect_right(own, price) - 1 for own in prices]
        return tuple(chain[step] for chain, step in zip(chains, steps, strict=True))

    levels = sorted({price for own in prices for price in own})
    low, high = -1, len(levels)  # prices at which it violates and at which it does not; the point itself does
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if violates(at(levels[middle])) else (low, middle)
    return point if low < 0 else at(levels[low])


def _coarsest(options: Options, attribute: int, chain: Sequence[int], violates: Callable[[int], bool]) -> int:
    """Return a partition of an attribute that violates, above the first of a chain, which does."""
    if len(chain) == 1 or violates(chain[-1]):
        return chain[-1]
    low, high = 0, len(chain) - 1  # one that violates, one that does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if violates(chain[middle]) else (low, middle)
    best, kept = chain[low], chain[high]
    own = options.partitions[attribute]
    for later in options.by_cost[attribute]:  # beside the chain: none where the candidates are nested
        wider = own.join(best, later)
        if wider != best and own.join(wider, kept) != wider and violates(wider):
            best = wider
    return best


def _cheap_first(options: Options, point: Point) -> list[int]:
    """Order the attributes by what full coarsening costs beyond what the point has."""
    prices = []
    for attribute, (own, partition) in enumerate(zip(options.partitions, point, strict=True)):
        costs = options.costs[options.of(attribute)]
        prices.append(costs.max() - costs[own.finer(partition)].max(initial=costs.min()))
    return [int(i) for i in np.argsort(prices, kind="stable")]
