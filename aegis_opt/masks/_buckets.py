"""Masks that cut a line into buckets: `Bucketize` and `Blur`."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from aegis_opt._shown import exact, number_text, shown
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Mask
from aegis_opt.masks._parameters import (
    DAY,
    Moment,
    Number,
    bound_text,
    domain_microseconds,
    is_temporal,
    microseconds,
    moment_texts,
    number,
    number_or_moment,
    rank,
)

ON_EDGE = 4 * float(np.finfo(np.float64).eps)  # how far, relatively, a real value on an edge may be off
MOST_STEPS = 1e14  # from 0 to a value; beyond it reals are too far apart for buckets


@dataclass(frozen=True, repr=False)
class Bucketize(Mask):
    """Values become half-open buckets ``[a, b)``, of one width or between given edges.

    With a width w and an origin o, x falls into bucket floor((x - o) / w). With edges e_1 < ... < e_m the
    buckets are ``<e_1``, ``[e_1, e_2)``, ..., ``>=e_m``: the first and the last one are open-ended.
    A real value within four rounding errors of an edge counts as being on it, so that 0.3 opens the bucket
    ``[0.3, 0.4)`` of width 0.1.

    Parameters
    ----------
    width : number or timedelta, optional
        Positive; for dates a number counts days.
    origin : number or date, default 0
        An edge of the buckets of one width; for dates a number counts days since 1970-01-01.
    edges : sequence of numbers or of dates, optional
        Strictly ascending, in place of a width. Dates may be text in ISO 8601.

    Examples
    --------
    >>> Bucketize(width=10).group(Domain.of([17, 19, 20])).labels
    ('[10, 20)', '[20, 30)')
    >>> Bucketize(edges=[18, 65]).group(Domain.of([17, 18, 65])).labels
    ('<18', '[18, 65)', '>=65')
    """

    width: Number | dt.timedelta | None = None
    origin: Number | Moment | str = 0
    edges: Sequence[Number] | Sequence[Moment] | Sequence[str] | None = None

    function: ClassVar[str] = "bucketize"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real", "date", "datetime")

    def _normal(self) -> dict[str, Any]:
        if (self.width is None) == (self.edges is None):
            raise MaskError("Bucketize needs either width=10 or edges=[0, 10, 20]")
        origin = number_or_moment("the origin of Bucketize", self.origin)
        if self.edges is not None:
            if origin != 0:
                raise MaskError("Bucketize takes an origin with a width only: put it among the edges")
            return {"origin": origin, "edges": _check_edges(self.edges)}
        if not isinstance(self.width, dt.timedelta):
            return {"origin": origin, "width": number("the width of Bucketize", self.width, positive=True)}
        if self.width <= dt.timedelta(0):
            raise MaskError(f"the width of Bucketize must be positive, not {self.width!r}")
        return {"origin": origin}

    @classmethod
    def from_spec(cls, parameters: Mapping[str, Any], base: Path | None = None) -> Mask:
        """Build the mask; a duration is written by its parts, such as ``{"days": 7}``."""
        width = parameters.get("width")
        if isinstance(width, Mapping):
            if not width or not set(width) <= {"days", "seconds", "microseconds"}:
                raise MaskError(
                    f"a duration has days, seconds, microseconds ({{'days': 7}}), not {shown(dict(width))}"
                )
            parts = {unit: number(f"the {unit} of a width", part) for unit, part in width.items()}
            try:
                parameters = {**parameters, "width": dt.timedelta(**parts)}
            except OverflowError:
                raise MaskError(
                    f"the width {shown(dict(width))} is no duration that can separate dates"
                ) from None
        return super().from_spec(parameters, base)

    def _keys(self, domain: Domain) -> Keyed:
        if self.edges is not None:
            return self._between_edges(domain)
        return self._of_dates(domain) if is_temporal(domain.kind) else self._of_numbers(domain)

    def edge_labels(self) -> list[str]:
        """Return the masked values below, between and above the edges."""
        texts = [bound_text(edge) for edge in cast("tuple[Any, ...]", self.edges)]
        between = [f"[{a}, {b})" for a, b in itertools.pairwise(texts)]
        return [f"<{texts[0]}", *between, f">={texts[-1]}"]

    def microsecond_steps(self) -> tuple[int, int]:
        """Return the width and the origin of buckets of dates, in microseconds; 0 <= origin < width."""
        width, origin = self.width, self.origin
        if isinstance(width, dt.timedelta):
            wide = width // dt.timedelta(microseconds=1)
        else:
            wide = _days(cast("Number", width))
        if not 0 < wide < 2**62:
            raise MaskError(f"the width of {self!r} is no duration that can separate dates")
        start = microseconds(origin) if isinstance(origin, dt.date) else _days(cast("Number", origin))
        return wide, start % wide

    def _between_edges(self, domain: Domain) -> Keyed:
        edges = cast("tuple[Any, ...]", self.edges)
        dates = is_temporal(domain.kind)
        if dates != isinstance(edges[0], dt.date):
            wanted = "dates" if dates else "numbers"
            raise MaskError(f"{self!r} does not fit values of kind {domain.kind}: give {wanted} as edges")
        thresholds = np.array(edges, dtype="datetime64[us]" if dates else None)
        labels = self.edge_labels()
        keys = np.searchsorted(thresholds, domain.values, side="right")
        return keys, lambda distinct: [labels[k] for k in distinct]

    def _of_numbers(self, domain: Domain) -> Keyed:
        if isinstance(self.width, dt.timedelta) or isinstance(self.origin, dt.date):
            raise MaskError(f"{self!r} is made for dates but the values are numbers: give numbers")
        width, origin = cast("Number", self.width), cast("Number", self.origin)
        if isinstance(width, int) and isinstance(origin, int):
            origin %= width
        keys = _whole_steps(domain, width, origin, self)
        w, o = exact(width), exact(origin)

        def labels(distinct: npt.NDArray[np.int64]) -> list[str]:
            if isinstance(width, int) and isinstance(origin, int):
                starts = [origin + k * width for k in distinct.tolist()]
                return [f"[{start}, {start + width})" for start in starts]
            return [f"[{number_text(o + k * w)}, {number_text(o + (k + 1) * w)})" for k in distinct.tolist()]

        return keys, labels

    def _of_dates(self, domain: Domain) -> Keyed:
        width, origin = self.microsecond_steps()
        keys = _integer_steps(domain_microseconds(domain), width, origin)

        def labels(distinct: npt.NDArray[np.int64]) -> list[str]:
            starts = origin + distinct * width
            first, end = (moment_texts(s.astype("datetime64[us]")) for s in (starts, starts + width))
            return [f"[{a}, {b})" for a, b in zip(first, end, strict=True)]

        return keys, labels


@dataclass(frozen=True, repr=False)
class Blur(Mask):
    """Numbers are rounded to the nearest multiple of a width, halves upwards.

    x becomes w * floor(x / w + 1/2); the masked value is that number.

    Parameters
    ----------
    width : number
        Positive.

    Examples
    --------
    >>> Blur(10).group(Domain.of([14, 15, 24, 25])).labels
    (10, 20, 30)
    """

    width: Number

    function: ClassVar[str] = "blur"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real")
    instead: ClassVar[str] = "use Truncate for dates, Prefix for strings, or Suppress"

    def _normal(self) -> dict[str, Any]:
        return {"width": number("the width of Blur", self.width, positive=True)}

    def _keys(self, domain: Domain) -> Keyed:
        width = self.width
        if domain.kind == "integer" and isinstance(width, int):
            quotient, rest = np.divmod(domain.values, width)
            keys = quotient + (2 * rest >= width)
            return keys, lambda distinct: [k * width for k in distinct.tolist()]
        keys = _whole_steps(domain, width, -width / 2, self)
        if isinstance(width, int):
            return keys, lambda distinct: [k * width for k in distinct.tolist()]
        w = exact(width)
        return keys, lambda distinct: [float(k * w) for k in distinct.tolist()]


def _days(days: Number) -> int:
    """Return days in whole microseconds, exactly however many they are."""
    return round(Fraction(days) * DAY)


def _integer_steps(values: npt.NDArray[np.int64], width: int, origin: int) -> npt.NDArray[np.int64]:
    """Return floor((values - origin) / width) for 0 <= origin < width; the difference might overflow."""
    quotient, rest = np.divmod(values, width)
    return quotient - (rest < origin)


def _whole_steps(domain: Domain, width: Number, origin: Number, mask: Mask) -> npt.NDArray[np.int64]:
    """Return floor((values - origin) / width); a real value on an edge up to rounding is on it."""
    if domain.kind == "integer" and isinstance(width, int) and isinstance(origin, int):
        return _integer_steps(domain.values, width, origin)
    values = domain.values.astype(np.float64)
    with np.errstate(over="ignore"):  # an overflow is caught by the next check
        steps = (values - origin) / width
        size = np.maximum(np.abs(values), abs(origin)) / width
    if not np.all(size < MOST_STEPS):
        worst = domain.values[np.argmax(size)].item()
        raise MaskError(
            f"{mask!r} cannot tell steps apart at the value {worst!r}: "
            "take a larger width, or Bucketize with edges"
        )
    nearest = np.rint(steps)
    on_edge = np.abs(steps - nearest) <= ON_EDGE * np.maximum(size, 1)
    return np.where(on_edge, nearest, np.floor(steps)).astype(np.int64)


def _check_edges(edges: Any) -> tuple[Number | Moment, ...]:
    if isinstance(edges, str) or not hasattr(edges, "__iter__"):
        raise MaskError(f"the edges of Bucketize must be a list of numbers or of dates, not {shown(edges)}")
    checked: list[Any] = [number_or_moment("an edge of Bucketize", edge) for edge in edges]
    if not checked:
        raise MaskError("Bucketize needs at least one edge; to make one group of everything use Suppress")
    if len({isinstance(edge, dt.date) for edge in checked}) > 1:
        raise MaskError("the edges of Bucketize must be all numbers or all dates")
    for before, edge in itertools.pairwise(checked):
        if rank(edge) <= rank(before):
            raise MaskError(f"the edges of Bucketize must ascend strictly: {edge!r} does not; sort them")
    return tuple(checked)
