"""`TopCode`: hide the extremes, keep the rest."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Label, Mask, moment_texts, value_labels
from aegis_opt.masks._parameters import (
    Moment,
    Number,
    domain_microseconds,
    is_temporal,
    microseconds,
    number_or_moment,
    number_text,
)


@dataclass(frozen=True, repr=False)
class TopCode(Mask):
    """Values from `top` on become ``>=top``, values up to `bottom` ``<=bottom``; the others stay.

    Parameters
    ----------
    top : number or date, optional
        Least value that is hidden at the upper end.
    bottom : number or date, optional
        Greatest value that is hidden at the lower end; below `top`. One of the two must be given.

    Examples
    --------
    >>> TopCode(90, bottom=18).group(Domain.of([17, 18, 50, 90, 95])).labels
    ('<=18', 50, '>=90')
    """

    top: Number | Moment | str | None = None
    bottom: Number | Moment | str | None = None

    function: ClassVar[str] = "top_code"
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real", "date", "datetime")

    def __post_init__(self) -> None:
        if self.top is None and self.bottom is None:
            raise MaskError("TopCode needs a top, a bottom or both: TopCode(90)")
        for name in ("top", "bottom"):
            if getattr(self, name) is not None:
                object.__setattr__(
                    self, name, number_or_moment(f"the {name} of TopCode", getattr(self, name))
                )
        if self.top is None or self.bottom is None:
            return
        if isinstance(self.top, dt.date) != isinstance(self.bottom, dt.date):
            raise MaskError("top and bottom of TopCode must be both numbers or both dates")
        if _rank(self.bottom) >= _rank(self.top):
            raise MaskError(f"the bottom of TopCode must be below its top: {self.bottom!r}, {self.top!r}")

    def _keys(self, domain: Domain) -> Keyed:
        values = domain_microseconds(domain) if is_temporal(domain) else domain.values
        for bound in (self.top, self.bottom):
            if bound is not None and isinstance(bound, dt.date) != is_temporal(domain):
                raise MaskError(
                    f"{self!r} does not fit values of kind {domain.kind}: "
                    f"give {'dates' if is_temporal(domain) else 'numbers'}"
                )
        # Values ascend, so what is hidden at an end is a run of it; its key is its first value's place.
        n = len(values)
        first = 0 if self.bottom is None else int(np.searchsorted(values, _rank(self.bottom), side="right"))
        last = n if self.top is None else int(np.searchsorted(values, _rank(self.top), side="left"))
        keys = np.arange(n)
        keys[:first] = -1
        keys[last:] = n
        middle = value_labels(domain)[first:last]

        def labels(_: npt.NDArray[Any]) -> list[Label]:
            low = [f"<={_text(self.bottom)}"] if first else []
            high = [f">={_text(self.top)}"] if last < n else []
            return [*low, *middle, *high]

        return keys, labels


def _text(bound: Any) -> str:
    return (
        moment_texts(np.array([bound], dtype="datetime64[us]"))[0]
        if isinstance(bound, dt.date)
        else number_text(bound)
    )


def _rank(bound: Any) -> Any:
    """Return a number that bounds and values can be compared by."""
    return microseconds(bound) if isinstance(bound, dt.date) else bound
