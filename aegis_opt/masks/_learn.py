"""Hierarchies learned from counts: the pair of groups whose merger loses least is merged, again and again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt._options import instance
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import value_labels
from aegis_opt.masks._hierarchy import Hierarchy
from aegis_opt.masks._order import Arrangement, arrange_given
from aegis_opt.masks._parameters import checked_counts

MOST_VALUES = 1000
"""Values that a hierarchy is learned for; all pairs of them are compared."""
_MOST_NAMED = 3  # values in the name of a group
Floats = npt.NDArray[np.float64]


def learn_hierarchy(
    domain: Domain, counts: npt.ArrayLike, *, order: str | Iterable[Any] | None = None
) -> Hierarchy:
    """Learn a hierarchy of values from how often they occur, or from how often with each label.

    With phi(x) = x log x, merging the groups g and h, whose counts are F(g) and F(h), loses the entropy

        phi(F(g) + F(h)) - phi(F(g)) - phi(F(h)),

    which is least for the two least frequent groups. Where F(g, y) is known for each label y, the loss is
    that of the mutual information with the label: the above less the sum over y of
    phi(F(g, y) + F(h, y)) - phi(F(g, y)) - phi(F(h, y)). Of equal losses the first counts. The levels have
    n, n/2, n/4, ... and 1 groups (rounded up).

    Parameters
    ----------
    domain : Domain
        The values, at most 1,000; the missing value stays out.
    counts : array-like of int, shape (n,) or (n, k)
        How often each value of the domain occurs; with k columns, with each label. A hierarchy that is
        learned from the label tells something about the label.
    order : {"ascending", "nominal"} or sequence, optional
        Of values that have an order, ascending or that of a list of them, only neighbours are merged. By
        default numbers and dates ascend, and all else is nominal.

    Returns
    -------
    Hierarchy
        A group is named by its values: ``blue|red``, ``blue|green|red|+2`` or, where ordered, ``blue..teal``.

    References
    ----------
    N. Slonim and N. Tishby, "Agglomerative information bottleneck", NIPS 1999.

    Examples
    --------
    >>> colours = Domain.of(["blue", "green", "red", "teal"])
    >>> [row[1] for row in learn_hierarchy(colours, [40, 50, 4, 2]).rows]
    ['blue|red|teal', 'green', 'blue|red|teal', 'blue|red|teal']
    """
    instance("domain", domain, Domain, "write Domain.of(values)")
    table = checked_counts(domain, counts)
    n = len(domain.values)
    if not 0 < n <= MOST_VALUES:
        raise MaskError(
            f"a hierarchy is learned for 1 to {MOST_VALUES:,} values, not for {n:,}: pool rare ones first, "
            "with KeepTop or PoolRare"
        )
    return learned(domain, table, arrange_given("the values", domain, order))


def learned(domain: Domain, table: npt.NDArray[np.int64], arrangement: Arrangement) -> Hierarchy:
    """Learn a hierarchy of values in their order, from counts that are checked."""
    n = len(domain.values)
    sizes: list[int] = []  # of the levels above the values themselves
    while (size := -(-(sizes[-1] if sizes else n) // 2)) > 1:
        sizes.append(size)
    rows = np.arange(n) if arrangement.rows is None else arrangement.rows[:n]
    labels = value_labels(domain)
    texts = [str(labels[row]) for row in rows]
    ordered = arrangement.order != "nominal"
    levels = [texts]
    for groups in _merged(table[rows].astype(np.float64), sizes, ordered):
        names = _names(texts, groups, ordered)
        levels.append([names[group] for group in groups])
    return Hierarchy([*zip(*levels, ["*"] * n, strict=True)])


def _merged(table: Floats, sizes: list[int], ordered: bool) -> list[npt.NDArray[np.int64]]:
    """Return the group of each value, at each level, where a group is called by its first value."""
    n = len(table)
    loss = np.full((n, n), np.inf)
    for i in range(n - 1):
        end = i + 2 if ordered else n
        loss[i, i + 1 : end] = _loss(table[i], table[i + 1 : end])
    table = table.copy()
    owner = np.arange(n)
    following = np.arange(1, n + 1)  # the next group, for ordered ones
    levels = []
    left = n
    for size in sizes:
        while left > size:
            i, j = divmod(int(np.argmin(loss)), n)  # the first of equal losses
            table[i] += table[j]
            owner[owner == j] = i
            loss[j, :] = loss[:, j] = np.inf
            if ordered:
                following[i] = following[j]
                around = [k for k in (owner[i - 1] if i else -1, following[i]) if 0 <= k < n]
            else:
                around = [k for k in np.unique(owner) if k != i]
            others = np.array(around, dtype=np.int64)
            loss[np.minimum(others, i), np.maximum(others, i)] = _loss(table[i], table[others])
            left -= 1
        levels.append(owner.copy())
    return levels


def _loss(one: Floats, others: Floats) -> Floats:
    """Return what is lost where a row is merged with each of some others; counts alone lose entropy."""
    mixed = _phi(one.sum() + others.sum(axis=1)) - _phi(one.sum()) - _phi(others.sum(axis=1))
    if others.shape[1] == 1:
        return np.asarray(mixed)
    by_label = _phi(one + others) - _phi(one) - _phi(others)
    # Rounding may make a loss of nothing negative, and the order of equal losses accidental
    return np.asarray(np.round(np.maximum(mixed - by_label.sum(axis=1), 0), 9))


def _phi(x: Any) -> Any:
    return x * np.log2(np.where(x > 0, x, 1))


def _names(texts: list[str], groups: npt.NDArray[np.int64], ordered: bool) -> dict[int, str]:
    """Name each group by its values; names stay distinct."""
    found: dict[int, str] = {}
    taken: set[str] = set()
    for group in np.unique(groups).tolist():
        members = [texts[i] for i in np.flatnonzero(groups == group)]
        if ordered and len(members) > 1:
            name = f"{members[0]}..{members[-1]}"
        else:
            more = len(members) - _MOST_NAMED
            name = "|".join([*members[:_MOST_NAMED], *([f"+{more}"] if more > 0 else [])])
        number = 1
        plain = name
        while name in taken:
            number += 1
            name = f"{plain} ({number})"
        taken.add(name)
        found[group] = name
    return found
