"""Columns with too many values: numbers and times on a round grid, texts by their most frequent values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt._options import one_of, whole_number
from aegis_opt.errors import InvalidOption, SourceError
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._column import SQL_TYPES, Column
from aegis_opt.sources._engine import Records

_LEAST = 10  # values, so that some are left for a grid beside infinities and the missing value
_CLOCK = {  # microseconds
    "seconds": 1_000_000,
    "minutes": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
}
_CALENDAR = {"months": 1, "years": 1, "decades": 10, "centuries": 100}  # months, else years


@dataclass(frozen=True)
class Policy:
    """When a column has too many values, and what happens then; `aegis_opt.sources.scan` explains it."""

    max_values: int | None = None  # None: any number
    on_many_values: str = "coarsen"

    @classmethod
    def of(cls, max_values: int | None, on_many_values: str | None) -> Policy:
        """Check the options; what to do makes sense with a limit only."""
        if max_values is None:
            if on_many_values is not None:
                raise InvalidOption("on_many_values says what to do beyond max_values: give max_values too")
            return cls()
        limit = whole_number("max_values", max_values, least=_LEAST)
        if on_many_values is None:
            return cls(limit)
        return cls(limit, one_of("on_many_values", on_many_values, ("coarsen", "error")))


@dataclass(frozen=True)
class Recoding:
    """How a column is read: with all its values, or with fewer."""

    column: Column  # as it is fetched
    key: str  # SQL for the value a record is counted under
    rule: str = ""  # what becomes of the values, in words
    records: str = "{records}"  # SQL for the records, where they need preparation
    decode: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = lambda fetched: fetched


def recode(records: Records, column: Column, labels: Sequence[Column], max_values: int) -> Recoding:
    """Choose the finest coarsening of a column that has at most `max_values` values.

    Integers and reals are rounded down to a multiple of 1, 2 or 5 times a power of ten, dates and time stamps
    to whole units; of texts, the most frequent stay and the others become ``(other)``. The missing value and
    infinities stay what they are. A mask whose own limits are on the grid (buckets of width 10 on
    multiples of 5) therefore releases the same table as without coarsening.
    """
    if column.kind == "string":
        kept = max_values - 2
        rule = f"its {kept:,} most frequent values, all others as {sql.OTHER!r}"
        return Recoding(column, column.sql, rule, sql.most_frequent(column, labels, kept))
    if column.kind in ("date", "datetime"):
        return _recode_time(records, column, max_values)
    return _recode_number(records, column, max_values)


def _recode_number(records: Records, column: Column, max_values: int) -> Recoding:
    real = column.kind == "real"
    wide = column.kind == "integer" and column.cast == "STRING"  # more than 64 bits
    value = column.sql if wide else f"CAST({column.sql} AS {SQL_TYPES[column.kind]})"
    fetched = records.query(sql.extent(value, real))
    low, high = Fraction(fetched["low"][0]), Fraction(fetched["high"][0])
    bins = max_values - 3  # beside minus infinity, infinity and missing
    # Below the finest width no double differs, or the inverse of the width is none
    finest = max(Fraction(max(abs(low), abs(high))) / 2**52, Fraction(1, 10**300)) if real else Fraction(1)
    width = next(w for w in _round_widths((high - low) / bins) if w >= finest and high // w - low // w < bins)
    rule = f"multiples of {_text(width)}"
    if not real and low // width * width < -(2**63):
        raise SourceError(
            f"{column.description}: column {column.name!r} reaches down to {int(low)}, which cannot be "
            "rounded down within 64 bits: correct that value, raise max_values, or leave the column out"
        )
    if not real:
        return Recoding(column, sql.integer_bin(value, int(width)), rule)
    inverse = width < 1
    key = sql.real_bin(value, int(1 / width if inverse else width), inverse)
    return Recoding(replace(column, cast="DOUBLE"), key, rule)


def _round_widths(least: Fraction) -> Iterator[Fraction]:
    """Give 1, 2 and 5 times the powers of ten in ascending order, from about `least` up."""
    power = math.floor(math.log10(least)) if least > 0 else 0
    while True:
        for digit in (1, 2, 5):
            yield digit * Fraction(10) ** power
        power += 1


def _text(width: Fraction) -> str:
    return f"{int(width):,}" if 1 <= width < 10**15 else f"{float(width):g}"


def _recode_time(records: Records, column: Column, max_values: int) -> Recoding:
    """Choose the finest unit of which at most `max_values`, beside missing, lie between first and last."""
    clock = _CLOCK if column.kind == "datetime" else {}
    for unit, step in (clock | _CALENDAR).items():
        key = _time_key(records, column, unit)
        fetched = records.query(f"SELECT min({key}) AS low, max({key}) AS high FROM {{records}}")
        units = -(-(int(fetched["high"][0]) - int(fetched["low"][0])) // step) + 1
        if units < max_values:
            stored = "us" if unit in _CLOCK else "M" if unit == "months" else "Y"
            final = "us" if column.kind == "datetime" else "D"
            decode = partial(_moments, stored=stored, final=final)
            return Recoding(column, key, f"whole {unit}", decode=decode)
    raise SourceError(
        f"{column.description}: column {column.name!r} spans {units:,} centuries, more than "
        f"max_values={max_values}: raise max_values, or leave the column out"
    )


def _time_key(records: Records, column: Column, unit: str) -> str:
    """Return SQL for a moment as an integer: microseconds for units of the clock, else months or years."""
    if unit in _CLOCK:
        return sql.integer_bin(records.micros(column.position), _CLOCK[unit])
    day = column.sql if column.kind == "date" else sql.day_of(records.micros(column.position))
    if unit == "months":
        return sql.month(day)
    year = sql.integer_bin(f"year({day})", _CALENDAR[unit])
    return f"(CASE WHEN {year} < 1 THEN 1 ELSE {year} END - 1970)"  # there is no year 0


def _moments(fetched: npt.NDArray[Any], stored: str, final: str) -> npt.NDArray[Any]:
    moments = np.ma.getdata(fetched).astype(np.int64).view(f"datetime64[{stored}]")
    return np.ma.MaskedArray(moments.astype(f"datetime64[{final}]"), np.ma.getmaskarray(fetched))
