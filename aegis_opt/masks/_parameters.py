"""Checks and normal forms of mask parameters, and the texts masked values are labelled with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt import _options
from aegis_opt._options import any_array
from aegis_opt._shown import number_text, shown
from aegis_opt.domain import Domain, Kind, plain
from aegis_opt.errors import MaskError

Number = int | float
Moment = dt.date | dt.datetime
DAY = 86_400_000_000  # microseconds
_EPOCH = dt.datetime(1970, 1, 1)


def number(what: str, value: Any, *, positive: bool = False) -> Number:
    """Return a finite number of 64 bits, as an int when it is whole."""
    _options.number(what, value, above=0 if positive else None, error=MaskError)
    value = plain(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        value = int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise MaskError(f"{what} must fit into 64 bits, not {value!r}; write it as a float")
    if positive and value >= 2**62:  # twice a width must still fit into 64 bits
        raise MaskError(f"{what} must be below 2**62, not {value!r}")
    return value  # type: ignore[no-any-return]


def number_or_moment(what: str, value: Any) -> Number | Moment:
    """Return a finite number, a date or a datetime; text is read as ISO 8601."""
    if isinstance(value, str):
        text = value
        try:
            value = dt.date.fromisoformat(text) if len(text) <= 10 else dt.datetime.fromisoformat(text)
        except ValueError:
            raise MaskError(
                f"{what} must be a number or a date such as 2020-12-31 (ISO 8601), not {shown(text)}"
            ) from None
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        raise MaskError(f"{what} must have no time zone, as the columns have none; got {value!r}")
    moment = plain(value)
    return moment if isinstance(moment, dt.date) else number(what, value)


def microseconds(moment: Moment) -> int:
    """Return the microseconds from 1970-01-01 to `moment`."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    return (moment - _EPOCH) // dt.timedelta(microseconds=1)


def is_temporal(kind: Kind) -> bool:
    """Tell whether values of a kind are dates or datetimes."""
    return kind in ("date", "datetime")


def domain_microseconds(domain: Domain) -> npt.NDArray[np.int64]:
    """Return dates or datetimes as microseconds since 1970-01-01."""
    return domain.values.astype("datetime64[us]").astype(np.int64)


def moment_texts(moments: npt.NDArray[Any]) -> list[str]:
    """Return dates or datetimes in ISO 8601, without a time of day when it is midnight."""
    texts: list[str] = np.datetime_as_string(moments).tolist()
    return [text.removesuffix(".000000").removesuffix("T00:00:00") for text in texts]


def bound_text(bound: Any) -> str:
    """Return a number or a moment as masked values show it."""
    if isinstance(bound, dt.date):
        return moment_texts(np.array([bound], dtype="datetime64[us]"))[0]
    return number_text(bound)


def rank(bound: Any) -> Any:
    """Return a number that bounds and values, numbers or moments, can be compared by."""
    return microseconds(bound) if isinstance(bound, dt.date) else bound


def checked_counts(domain: Domain, counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return how often each value of a domain occurs, one row per value; there may be a column per label."""
    table = any_array("counts", counts, error=MaskError)
    fits = table.ndim in (1, 2) and len(table) == len(domain) and table.size and table.dtype.kind in "iu"
    if not fits or (table < 0).any():
        raise MaskError(
            f"counts must be whole numbers from 0 up, one (or one row) for each of the {len(domain)} values "
            f"of the domain, not an array of shape {table.shape} and type {table.dtype}"
        )
    return table.reshape(len(domain), -1).astype(np.int64)


def short_list(values: Sequence[Any], at_most: int = 4) -> str:
    """Return the text of a tuple; of a long one its first values, and how many there are."""
    if len(values) <= at_most:
        return repr(tuple(values))
    return f"({', '.join(map(repr, values[: at_most - 1]))}, ... {len(values)} in all)"


def some(values: Iterable[Any], at_most: int = 5) -> str:
    """List the first values, and say how many more there are."""
    listed = list(values)
    more = f" and {len(listed) - at_most} more" if len(listed) > at_most else ""
    return ", ".join(map(shown, listed[:at_most])) + more
