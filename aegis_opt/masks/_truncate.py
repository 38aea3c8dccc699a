"""`Truncate`: keep a date's year, quarter, month, week or day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._options import one_of
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Mask

Unit = Literal["year", "quarter", "month", "week", "day"]
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, repr=False)
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

    unit: Unit

    function: ClassVar[str] = "truncate"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("date", "datetime")
    instead: ClassVar[str] = "use Bucketize for numbers, Prefix for strings, or convert the column to dates"

    def _normal(self) -> dict[str, Any]:
        return {"unit": one_of("the unit of Truncate", self.unit, UNITS, error=MaskError)}

    def _keys(self, domain: Domain) -> Keyed:
        if self.unit == "quarter":
            months = domain.values.astype("datetime64[M]").astype(np.int64)
            return months // 3, _quarters
        if self.unit == "week":
            days = domain.values.astype("datetime64[D]").astype(np.int64)
            return (days + 3) // 7, _weeks  # 1970-01-01 was a Thursday: week 0 started three days before
        code = {"year": "Y", "month": "M", "day": "D"}[self.unit]
        return domain.values.astype(f"datetime64[{code}]").astype(np.int64), lambda keys: _texts(keys, code)


def _texts(counts: npt.NDArray[np.int64], unit: str) -> list[str]:
    texts: list[str] = np.datetime_as_string(counts.astype(f"datetime64[{unit}]")).tolist()
    return texts


def _quarters(quarters: npt.NDArray[np.int64]) -> list[str]:
    years = _texts(quarters // 4, "Y")
    return [f"{year}-Q{quarter % 4 + 1}" for year, quarter in zip(years, quarters.tolist(), strict=True)]


def _weeks(weeks: npt.NDArray[np.int64]) -> list[str]:
    """Return the ISO 8601 names of the weeks counted from that of 1970-01-01."""
    thursdays = 7 * weeks  # an ISO week belongs to the year that its Thursday is in
    years = thursdays.astype("datetime64[D]").astype("datetime64[Y]")
    numbers = (thursdays - years.astype("datetime64[D]").astype(np.int64)) // 7 + 1
    return [f"{year}-W{week:02d}" for year, week in zip(np.datetime_as_string(years), numbers, strict=True)]
