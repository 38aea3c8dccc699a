"""`Truncate`: keep a date's year, quarter, month, week or day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masking.base import Label, Mask

UNITS = ("year", "quarter", "month", "week", "day")


@dataclass(frozen=True)
class Truncate(Mask):
    """Dates keep their year, quarter, month, ISO 8601 week or day only.

    Masked values read ``2020``, ``2020-Q1``, ``2020-03``, ``2020-W12`` and ``2020-03-17``.

    Parameters
    ----------
    unit : {"year", "quarter", "month", "week", "day"}
        The smallest unit that is kept.

    Examples
    --------
    >>> import datetime as dt
    >>> Truncate("quarter").group(Domain.of([dt.date(2020, 3, 17), dt.date(2020, 4, 1)])).labels
    ('2020-Q1', '2020-Q2')
    """

    unit: str

    function: ClassVar[str] = "truncate"
    kinds: ClassVar[tuple[str, ...]] = ("date", "datetime")
    instead: ClassVar[str] = "use Bucketize for numbers, Prefix for strings, or convert the column to dates"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise MaskError(f"the unit of Truncate must be one of {', '.join(UNITS)}, not {self.unit!r}")

    def _keys(self, domain: Domain) -> tuple[npt.NDArray[Any], Callable[[Any], Label]]:
        if self.unit == "quarter":
            months = domain.values.astype("datetime64[M]").astype(np.int64)
            return months // 3, lambda q: f"{_text(q // 4, 'Y')}-Q{q % 4 + 1}"
        if self.unit == "week":
            days = domain.values.astype("datetime64[D]").astype(np.int64)
            return (days + 3) // 7, _week  # 1970-01-01 was a Thursday: week 0 started three days before
        code = {"year": "Y", "month": "M", "day": "D"}[self.unit]
        return domain.values.astype(f"datetime64[{code}]").astype(np.int64), lambda key: _text(key, code)


def _text(count: int, unit: str) -> str:
    return str(np.array(count).astype(f"datetime64[{unit}]"))


def _week(week: int) -> str:
    """Return the ISO 8601 name of the week `week` weeks after that of 1970-01-01."""
    thursday = 7 * week  # an ISO week belongs to the year that its Thursday is in
    year = np.datetime64(thursday, "D").astype("datetime64[Y]")
    day_of_year = thursday - int(year.astype("datetime64[D]").astype(np.int64))
    return f"{year}-W{day_of_year // 7 + 1:02d}"
