"""`TopCode`: hide the extremes, keep the rest."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Label, Mask, value_labels
from aegis_opt.masks._parameters import (
    Moment,
    Number,
    bound_text,
    domain_microseconds,
    is_temporal,
    number_or_moment,
    rank,
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
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real", "date", "datetime")

    def _normal(self) -> dict[str, Any]:
        given = {"top": self.top, "bottom": self.bottom}
        bounds: dict[str, Any] = {
            name: number_or_moment(f"the {name} of TopCode", bound)
            for name, bound in given.items()
            if bound is not None
        }
        if not bounds:
            raise MaskError("TopCode needs a top, a bottom or both: TopCode(90)")
        if len({isinstance(bound, dt.date) for bound in bounds.values()}) > 1:
            raise MaskError("top and bottom of TopCode must be both numbers or both dates")
        if len(bounds) == 2 and rank(bounds["bottom"]) >= rank(bounds["top"]):
            raise MaskError(f"the bottom of TopCode must be below its top: {self.bottom!r}, {self.top!r}")
        return bounds

    def _keys(self, domain: Domain) -> Keyed:
        dates = is_temporal(domain.kind)
        values = domain_microseconds(domain) if dates else domain.values
        for bound in (self.top, self.bottom):
            if bound is not None and isinstance(bound, dt.date) != dates:
                raise MaskError(
                    f"{self!r} does not fit values of kind {domain.kind}: "
                    f"give {'dates' if dates else 'numbers'}"
                )
        # Values ascend, so what is hidden at an end is a run of it; its key is its first value's place.
        n = len(values)
        first = 0 if self.bottom is None else int(np.searchsorted(values, rank(self.bottom), side="right"))
        last = n if self.top is None else int(np.searchsorted(values, rank(self.top), side="left"))
        keys = np.arange(n)
        keys[:first] = -1
        keys[last:] = n
        middle = value_labels(domain)[first:last]

        def labels(_: npt.NDArray[Any]) -> list[Label]:
            low = [f"<={bound_text(self.bottom)}"] if first else []
            high = [f">={bound_text(self.top)}"] if last < n else []
            return [*low, *middle, *high]

        return keys, labels
