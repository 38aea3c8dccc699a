"""Masks that make sense on a domain, and how much each one hides."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._options import instance, number
from aegis_opt._shown import exact
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Grouping, Identity, Mask, Suppress
from aegis_opt.masks._buckets import Blur, Bucketize
from aegis_opt.masks._frequent import KeepTop, PoolRare
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._learn import learned
from aegis_opt.masks._order import Arrangement, arrange_given
from aegis_opt.masks._parameters import checked_counts, is_temporal
from aegis_opt.masks._text import EraseDigits, Prefix
from aegis_opt.masks._top_code import TopCode
from aegis_opt.masks._truncate import UNITS, Truncate

Strength = Literal["light", "medium", "strong"]
"""How much a mask hides, in words."""
_STRENGTHS = {"light": 0.2, "medium": 0.5, "strong": 0.8}

COMMON = 5
"""How often a value occurs that a proposed mask names: a rarer one may give persons away."""
_MOST_LEARNED = 100  # values of which a hierarchy is proposed, which every mask of its lists


def information_loss(grouping: Grouping) -> float:
    """Return 1 - log(G) / log(n) for G groups of n values: 0 when all stay apart, 1 when all are merged.

    A domain of one value loses nothing.

    Examples
    --------
    >>> information_loss(Grouping([0, 0, 1, 1], ("low", "high")))
    0.5
    """
    n = len(instance("grouping", grouping, Grouping, "aegis_opt.masks.group_attribute gives one"))
    return 0.0 if n <= 1 else 1.0 - math.log(grouping.n_groups) / math.log(n)


def candidate_masks(
    domain: Domain,
    *,
    strength: Strength | float | None = None,
    counts: npt.ArrayLike | None = None,
    order: str | Iterable[Any] | None = None,
) -> tuple[Mask, ...]:
    """Return sensible masks for a domain, no two of which give the same groups.

    Parameters
    ----------
    domain : Domain
        The values to mask.
    strength : {"light", "medium", "strong"} or float in [0, 1], optional
        Sort the candidates by how close their information loss, 1 - log(G)/log(n), is to this.
    counts : array-like of int, shape (n,) or (n, k), optional
        How often each value occurs. Numbers are then cut at quantiles, too; of categories the most frequent
        values are kept and the others pooled, or they are merged by a hierarchy learned from the counts, or
        they stay. With k columns, one per label, hierarchies are learned from the label. No value of a
        category that occurs fewer than 5 times is named or kept.
    order : {"ascending", "nominal"} or sequence, optional
        The order of the values, as in `Configurations`. Nominal ones, and those in the order of a list, are
        categories; of the latter only neighbours are merged by a hierarchy. By default numbers and dates
        ascend, and all else is nominal.

    Returns
    -------
    tuple of Mask
        Suppress first unless sorted. Masks that leave all values apart are left out, but for `Identity` of
        categories whose counts are known; if nothing else is left (a domain of one value), the only
        candidate is `Identity`.

    Examples
    --------
    >>> candidate_masks(Domain.of(["a1", "a2", "b1"]))
    (Suppress(), Prefix(length=1))
    >>> candidate_masks(Domain.of(["a", "b", "c", "d"]), counts=[60, 20, 11, 9])[1]
    KeepTop(n=2, values=('a', 'b'))
    """
    instance("domain", domain, Domain, "write Domain.of(values)")
    arrangement = arrange_given("the domain", domain, order)
    known = Known(arrangement, None if counts is None else checked_counts(domain, counts))
    found = distinct_candidates(domain, known)
    if strength is not None:
        wanted = strength_value(strength)
        found.sort(key=lambda pair: abs(information_loss(pair[1]) - wanted))
    return tuple(mask for mask, _ in found)


def strength_value(strength: str | float) -> float:
    """Return a strength, in words or as a number, as a number from 0 to 1."""
    if isinstance(strength, str) and strength in _STRENGTHS:
        return _STRENGTHS[strength]
    words = ", ".join(map(repr, _STRENGTHS))
    return number(f"strength, if none of {words},", strength, least=0, most=1)


class Known(NamedTuple):
    """What is known of a column beside its values."""

    arrangement: Arrangement
    counts: npt.NDArray[np.int64] | None = None  # how often each value occurs: one column, or one per label


def _proposals(domain: Domain, known: Known) -> list[Mask]:
    """Return masks that are sensible for the kind of the domain; some may coincide or not fit."""
    if not len(domain.values):
        return []
    categories = known.arrangement.order != "ascending" or domain.kind in ("string", "boolean")
    of_counts: list[Mask] = [] if known.counts is None else _counted(domain, known, categories)
    if domain.kind == "boolean":
        return of_counts
    if domain.kind == "string":
        longest = max(map(len, domain.values))
        return [*of_counts, *(Prefix(length) for length in range(1, min(longest, 6)))]
    if categories:
        return of_counts
    ranges: list[Mask] = [Generalize(ranges=m) for m in (2, 3, 4, 5, 10)]
    ninetieth = domain.values[(9 * len(domain.values)) // 10].item()
    if is_temporal(domain.kind):
        return [*ranges, *(Truncate(unit) for unit in UNITS), TopCode(ninetieth)]
    low, high = domain.values[0].item(), domain.values[-1].item()
    # Beyond 1e18, or with infinite values, no width is exact enough to be proposed.
    widths = [_round_number((high - low) / buckets) for buckets in (20, 8, 4)] if high - low < 1e18 else []
    widths = [width for width in dict.fromkeys(widths) if width > 0]
    both_signs = low < 0 < high
    return [
        *ranges,
        *(EraseDigits(digits, keep_sign=both_signs) for digits in (1, 2, 3)),
        *(Bucketize(width=width) for width in widths),
        *(Blur(width) for width in widths),
        *(Blur(10.0**-places) for places in _fewer_decimals(domain)),
        *([TopCode(ninetieth)] if math.isfinite(ninetieth) else []),
        *of_counts,
    ]


def _counted(domain: Domain, known: Known, categories: bool) -> list[Mask]:
    """Return the masks that follow from counts."""
    table = cast("npt.NDArray[np.int64]", known.counts)
    counts = table.sum(axis=1)
    present = counts[: len(domain.values)]
    if not categories:
        return [] if is_temporal(domain.kind) else _quantiles(domain, present)
    common = int((present >= COMMON).sum())
    least = sorted({COMMON, *(math.ceil(counts.sum() * share) for share in (0.01, 0.05))})
    masks: list[Mask] = [
        *(KeepTop(n).fitted(domain, counts) for n in (2, 3, 5, 10, 20) if n <= common),
        *(PoolRare(count).fitted(domain, counts) for count in least if count >= COMMON),
    ]
    if counts.min() >= COMMON:  # these masks name, or leave, every value
        masks.append(Identity())
        if 2 < len(domain.values) <= _MOST_LEARNED:
            hierarchy = learned(domain, table, known.arrangement)
            masks += [Generalize(hierarchy=hierarchy, level=i) for i in range(1, hierarchy.n_levels - 1)]
    return masks


def _quantiles(domain: Domain, counts: npt.NDArray[np.int64]) -> list[Mask]:
    """Return buckets of about equally many records, between round numbers."""
    values = domain.values
    if not np.isfinite(values.astype(np.float64)).all() or abs(values.astype(np.float64)).max() > 1e15:
        return []
    reached = np.cumsum(counts) / max(counts.sum(), 1)
    masks: list[Mask] = []
    for parts in (4, 10):
        places = np.searchsorted(reached, np.arange(1, parts) / parts)
        cuts = np.unique(values[np.minimum(places + 1, len(values) - 1)]).astype(np.float64)
        if len(cuts) < 2:
            continue
        step = exact(_round_number(float(np.diff(cuts).min()) / 2))
        whole = domain.kind == "integer"
        if step <= 0 or (whole and step < 1):
            step = exact(1)
        edges = sorted({float(math.floor(exact(cut) / step) * step) for cut in cuts.tolist()})
        masks.append(Bucketize(edges=edges))
    return masks


def _fewer_decimals(domain: Domain) -> range:
    """Return how many decimal places reals can be rounded to, below those that they have; at most 3."""
    if domain.kind != "real" or not np.isfinite(domain.values).all():
        return range(0)
    most = max(-cast("int", exact(value).normalize().as_tuple().exponent) for value in domain.values.tolist())
    return range(min(max(most, 0), 4))


def _round_number(width: float) -> float:
    """Return the greatest of 1, 2, 5, 10, 20, 50, ... times a power of ten that is at most `width`."""
    if width <= 0:
        return 0.0
    power = math.floor(math.log10(width))
    factor = max((f for f in (1, 2, 5) if f * 10.0**power <= width), default=1)
    return float(f"{factor}e{power}")


def distinct_candidates(
    domain: Domain,
    known: Known,
    include_suppress: bool = True,
    include_identity: bool = True,
) -> list[tuple[Mask, Grouping]]:
    """Return the candidates with their groups; the first mask that gives certain groups stands for them."""
    n = len(domain)
    found: dict[bytes, tuple[Mask, Grouping]] = {}
    for mask in [Suppress(), *_proposals(domain, known)]:
        try:
            grouping = mask.group(domain)
        except MaskError:  # such as equal ranges of infinite values: no candidate for this domain
            continue
        merges_all = grouping.n_groups == 1
        keeps_all = grouping.n_groups == n and not (isinstance(mask, Identity) and include_identity)
        if not keeps_all and (include_suppress or not merges_all):
            found.setdefault(grouping.groups.tobytes(), (mask, grouping))
    return list(found.values()) or [(Identity(), Identity().group(domain))]
