"""Checks and normal forms of mask parameters, and the texts masked values are labelled with."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError

Number = int | float
Moment = dt.date | dt.datetime
DAY = 86_400_000_000  # microseconds
_EPOCH = dt.datetime(1970, 1, 1)


def scalar(value: Any) -> Any:
    """Return a NumPy scalar as the Python one it stands for, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def number(what: str, value: Any, *, positive: bool = False) -> Number:
    """Return a finite number, as an int when it is whole."""
    value = scalar(value)
    wanted = f"{what} must be a {'positive ' if positive else ''}finite number"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MaskError(f"{wanted}, not {value!r}")
    if not math.isfinite(value) or (positive and value <= 0):
        raise MaskError(f"{wanted}, not {value!r}")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise MaskError(f"{what} must fit into 64 bits, not {value!r}; write it as a float")
    if positive and value >= 2**62:  # twice a width must still fit into 64 bits
        raise MaskError(f"{what} must be below 2**62, not {value!r}")
    return value  # type: ignore[no-any-return]


def integer(what: str, value: Any, least: int, most: int | None = None) -> int:
    """Return an integer within bounds; neither a bool nor a float is one."""
    value = scalar(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise MaskError(f"{what} must be an integer >= {least}, not {value!r}")
    if most is not None and value > most:
        raise MaskError(f"{what} must be at most {most}, not {value!r}")
    return value


def number_or_moment(what: str, value: Any) -> Number | Moment:
    """Return a finite number, a date or a datetime; text is read as ISO 8601."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        text = value
        try:
            value = dt.date.fromisoformat(text) if len(text) <= 10 else dt.datetime.fromisoformat(text)
        except ValueError:
            raise MaskError(
                f"{what} must be a number or a date such as 2020-12-31 (ISO 8601), not {text!r}"
            ) from None
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            raise MaskError(f"{what} must have no time zone, as the columns have none; got {value!r}")
        return dt.datetime(*value.timetuple()[:6], value.microsecond)  # a pandas Timestamp is one, too
    if isinstance(value, dt.date):
        return value
    return number(what, value)


def microseconds(moment: Moment) -> int:
    """Return the microseconds from 1970-01-01 to `moment`."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def is_temporal(domain: Domain) -> bool:
    """Tell whether the values are dates or datetimes."""
    return domain.kind in ("date", "datetime")


def domain_microseconds(domain: Domain) -> npt.NDArray[np.int64]:
    """Return dates or datetimes as microseconds since 1970-01-01."""
    return domain.values.astype("datetime64[us]").astype(np.int64)


def exact(value: Number) -> Decimal:
    """Return the decimal number that a person would write for `value`."""
    return Decimal(repr(value))


def number_text(value: Number | Decimal) -> str:
    """Return a number in plain decimal notation, without trailing zeros."""
    decimal = (value if isinstance(value, Decimal) else exact(value)).normalize()
    if decimal == 0:
        return "0"
    return f"{decimal:f}" if -7 <= decimal.adjusted() <= 20 else str(decimal)


def some(values: Iterable[Any], at_most: int = 5) -> str:
    """List the first values, and say how many more there are."""
    listed = list(values)
    more = f" and {len(listed) - at_most} more" if len(listed) > at_most else ""
    return ", ".join(map(repr, listed[:at_most])) + more
