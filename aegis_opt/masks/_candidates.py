"""Masks that make sense on a domain, and how much each one hides."""

from __future__ import annotations

import math

from aegis_opt._options import number
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Grouping, Identity, Mask, Suppress
from aegis_opt.masks._buckets import Blur, Bucketize
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._parameters import is_temporal
from aegis_opt.masks._text import EraseDigits, Prefix
from aegis_opt.masks._top_code import TopCode
from aegis_opt.masks._truncate import UNITS, Truncate

_STRENGTHS = {"light": 0.2, "medium": 0.5, "strong": 0.8}


def information_loss(grouping: Grouping) -> float:
    """Return 1 - log(G) / log(n) for G groups of n values: 0 when all stay apart, 1 when all are merged.

    A domain of one value loses nothing.

    Examples
    --------
    >>> information_loss(Grouping([0, 0, 1, 1], ("low", "high")))
    0.5
    """
    n = len(grouping)
    return 0.0 if n <= 1 else 1.0 - math.log(grouping.n_groups) / math.log(n)


def candidate_masks(domain: Domain, *, strength: str | float | None = None) -> tuple[Mask, ...]:
    """Return sensible masks for a domain, no two of which give the same groups.

    Parameters
    ----------
    domain : Domain
        The values to mask.
    strength : {"light", "medium", "strong"} or float in [0, 1], optional
        Sort the candidates by how close their information loss, 1 - log(G)/log(n), is to this.

    Returns
    -------
    tuple of Mask
        Suppress first unless sorted. Masks that leave all values apart are left out; if nothing else is
        left (a domain of one value), the only candidate is `Identity`.

    Examples
    --------
    >>> candidate_masks(Domain.of(["a1", "a2", "b1"]))
    (Suppress(), Prefix(length=1))
    """
    found = distinct_candidates(domain)
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


def _proposals(domain: Domain) -> list[Mask]:
    """Return masks that are sensible for the kind of the domain; some may coincide or not fit."""
    if domain.kind == "boolean" or not len(domain.values):
        return []
    if domain.kind == "string":
        longest = max(map(len, domain.values))
        return [Prefix(length) for length in range(1, min(longest, 6))]
    ranges: list[Mask] = [Generalize(ranges=m) for m in (2, 3, 4, 5, 10)]
    ninetieth = domain.values[(9 * len(domain.values)) // 10].item()
    if is_temporal(domain.kind):
        return [*ranges, *(Truncate(unit) for unit in UNITS), TopCode(ninetieth)]
    low, high = domain.values[0].item(), domain.values[-1].item()
    # Beyond 1e18, or with infinite values, no width is exact enough to be proposed.
    widths = [_round_number((high - low) / buckets) for buckets in (20, 8, 4)] if high - low < 1e18 else []
    widths = [width for width in dict.fromkeys(widths) if width > 0]
    return [
        *ranges,
        *(EraseDigits(digits) for digits in (1, 2, 3)),
        *(Bucketize(width=width) for width in widths),
        *(Blur(width) for width in widths),
        *([TopCode(ninetieth)] if math.isfinite(ninetieth) else []),
    ]


def _round_number(width: float) -> float:
    """Return the greatest of 1, 2, 5, 10, 20, 50, ... times a power of ten that is at most `width`."""
    if width <= 0:
        return 0.0
    power = math.floor(math.log10(width))
    factor = max((f for f in (1, 2, 5) if f * 10.0**power <= width), default=1)
    return float(f"{factor}e{power}")


def distinct_candidates(domain: Domain, include_suppress: bool = True) -> list[tuple[Mask, Grouping]]:
    """Return the candidates with their groups; the first mask that gives certain groups stands for them."""
    n = len(domain)
    found: dict[bytes, tuple[Mask, Grouping]] = {}
    for mask in [Suppress(), *_proposals(domain)]:
        try:
            grouping = mask.group(domain)
        except MaskError:  # such as equal ranges of infinite values: no candidate for this domain
            continue
        merges_all = grouping.n_groups == 1
        if grouping.n_groups < n and (include_suppress or not merges_all):
            found.setdefault(grouping.groups.tobytes(), (mask, grouping))
    return list(found.values()) or [(Identity(), Identity().group(domain))]
