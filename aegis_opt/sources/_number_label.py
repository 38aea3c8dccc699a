"""A label that is a number: records, sums and sums of squares take the place of counts by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.sources._column import Column
from aegis_opt.sources._engine import Fetched, Records
from aegis_opt.sources._label_bins import sql_number
from aegis_opt.sources._label_view import (
    LabelView,
    check_finite,
    check_no_missing,
    one_value,
    require_numeric,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_EXACT = 2**53  # integers up to which every one is a double
_NUMBER = LabelView("number")


@dataclass(frozen=True, eq=False)
class NumberLabel:
    """How the numbers y of a label are added up: as z = (y - centre) / scale, about -2 to 2.

    The centre is about their mean, so that sums of squares lose no digits to it however far from 0 the
    numbers lie. The scale is a power of two, so that dividing by it is exact. Shares of the sum of squares do
    not depend on either.
    """

    label: str
    is_integer: bool
    large: bool  # whether there are integers that no double holds
    centre: float  # an integer, for integers
    scale: float

    @classmethod
    def of_values(cls, source: str, label: str, domain: Domain, counts: IntArray) -> NumberLabel:
        """Find centre and scale for a label whose distinct values are at hand, with their counts."""
        require_numeric(source, label, domain.kind, _NUMBER)
        check_no_missing(source, label, int(counts[-1]) if domain.missing else 0)
        low, high = domain.values[0].item(), domain.values[-1].item()
        rough = cls._around(source, label, low, high)
        return rough.around_mean(low, high, float(rough.scaled(domain.values) @ counts) / int(counts.sum()))

    @classmethod
    def of_records(cls, records: Records, column: Column) -> NumberLabel:
        """Find centre and scale for the label of open records by queries."""
        source = records.description
        require_numeric(source, column.name, column.kind, _NUMBER)
        value = sql_number(column)
        found = records.query(
            f"SELECT count(*) AS n, count({value}) AS present, min({value}) AS low, max({value}) AS high "
            "FROM {records}"
        )
        n, present = int(found["n"][0]), int(found["present"][0])
        if n:  # else the counts say that there are no records
            check_no_missing(source, column.name, n - present)
        low, high = (found[end][0].item() if n else float(end == "high") for end in ("low", "high"))
        rough = cls._around(source, column.name, low, high)
        if not n:
            return rough
        mean = records.query(f"SELECT avg({rough.sql(column)}) AS mean FROM {{records}}")["mean"][0]
        return rough.around_mean(low, high, float(mean))

    @classmethod
    def _around(cls, source: str, label: str, low: float, high: float) -> NumberLabel:
        """Take the middle between the ends for the centre."""
        check_finite(source, label, low, high)
        if low == high:
            raise one_value(source, label, low)
        is_integer = isinstance(low, int)
        middle = (int(low) + int(high)) // 2 if is_integer else low / 2 + high / 2
        large = is_integer and max(abs(low), abs(high)) > _EXACT
        return cls(label, is_integer, large, middle, _power_of_two(high - middle, middle - low))

    def around_mean(self, low: float, high: float, mean: float) -> NumberLabel:
        """Move the centre to the mean, which is given in terms of this centre and scale."""
        offset = mean * self.scale
        if self.is_integer:
            centre: float = int(self.centre) + round(offset)
        else:
            centre = min(max(self.centre + offset, low), high)
        reach = max(high - centre, centre - low)
        if not math.isfinite(reach):  # numbers near the largest that there are, on both sides of 0
            return self
        return NumberLabel(self.label, self.is_integer, self.large, centre, _power_of_two(reach))

    def scaled(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return z for numbers y."""
        if self.large:
            exact = values.astype(object) - int(self.centre)
            return exact.astype(np.float64) / self.scale
        return (values.astype(np.float64) - self.centre) / self.scale

    def sql(self, column: Column) -> str:
        """Return the SQL for z."""
        if self.large:
            difference = (
                f"CAST(CAST({column.sql} AS DECIMAL(38, 0)) - CAST('{int(self.centre)}' AS DECIMAL(38, 0)) "
                "AS DOUBLE)"
            )
        else:
            difference = f"(CAST({column.sql} AS DOUBLE) - CAST('{float(self.centre)!r}' AS DOUBLE))"
        return f"({difference} / CAST('{self.scale!r}' AS DOUBLE))"

    def numbers(self, domain: Domain) -> Numbers:
        """Return what the values of a domain count as."""
        return Numbers(domain.values.astype(np.float64), self.scaled(domain.values), self.scale)


@dataclass(frozen=True, eq=False)
class Numbers:
    """The distinct numbers of a label."""

    values: FloatArray  # as they are
    scaled: FloatArray  # (value - centre) / scale
    scale: float

    def moments(self, groups: IntArray, label: IntArray, n_groups: int) -> FloatArray:
        """Return records, sum and sum of squares of z for each group of records."""
        z = self.scaled[label]
        return moments_of(groups, [np.ones(len(z)), z, z * z], n_groups)


def moments_of(groups: IntArray, columns: Sequence[npt.NDArray[Any]], n_groups: int) -> FloatArray:
    """Add up columns by group; groups x columns."""
    added = [
        np.bincount(groups, weights=np.asarray(column, dtype=np.float64), minlength=n_groups)
        for column in columns
    ]
    return np.stack(added, axis=1)


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """The column of a label that is a number."""

    column: Column
    number: NumberLabel

    @property
    def key(self) -> str:
        """SQL for the value of a record."""
        return self.column.sql

    @property
    def selected(self) -> str:
        """SQL that fetches the value."""
        cast = self.column.cast
        return self.key if cast is None else f"CAST({self.key} AS {cast}) AS {self.column.sql}"

    def coded(self, fetched: Fetched) -> tuple[IntArray, Numbers]:
        """Return the place of each number among the distinct ones, and these."""
        codes, domain = self.column.encode(fetched[self.column.sql])
        return codes, self.number.numbers(domain)


def _power_of_two(*reaches: float) -> float:
    """Return the power of two that the largest of some numbers is from 1 to 2 times of."""
    return math.ldexp(1.0, math.frexp(float(max(reaches)))[1] - 1)
