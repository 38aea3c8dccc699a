"""A column in SQL: its values compared, cut at thresholds and written as text."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis_opt._nan import is_nan
from aegis_opt.domain import Domain, Kind
from aegis_opt.masks._parameters import is_temporal
from aegis_opt.masks._sql._literals import literal
from aegis_opt.sources._names import quoted_text

_IN_A_ROW = 16  # cases that are tried one after the other; more of them are halved first


@dataclass(frozen=True)
class SqlColumn:
    """A column that SQL masks, given the SQL for its values.

    Its domain holds the values as far as they are known. A rule needs only their extent: the least, the
    greatest and, of reals that are not all whole, one that is not.
    """

    sql: str
    kind: Kind
    domain: Domain | None = None
    assumed: bool = False  # whether the kind is a guess: what is taken for integers may be reals, too
    noise: str = "u"  # the SQL for a uniform number of each record, where a mask adds noise

    @property
    def present(self) -> str:
        """The condition that a value is not missing."""
        may_be_nan = self.kind == "real" or (self.kind == "integer" and self.assumed)
        real = f" AND NOT {is_nan(self.double)}" if may_be_nan else ""
        return f"{self.sql} IS NOT NULL{real}"

    @property
    def double(self) -> str:
        """The values as reals."""
        return f"CAST({self.sql} AS DOUBLE)"

    @property
    def key(self) -> str:
        """The values in the type in which they are looked up."""
        return self.double if self.kind == "real" else self.sql

    @property
    def known(self) -> Domain:
        """The known values, maybe none."""
        return Domain(self.kind, np.array([])) if self.domain is None else self.domain

    def whole(self, margin: int) -> str:
        """The integers in a type in which `margin` can be added or subtracted without overflow."""
        if self.domain is not None and len(self.domain.values):
            low, high = (int(v) for v in self.domain.values[[0, -1]])
            if margin < 2**63 and low - margin >= -(2**63) and high + margin < 2**63:
                return f"CAST({self.sql} AS BIGINT)"
        return f"CAST({self.sql} AS DECIMAL(38, 0))"


def against(column: SqlColumn, bounds: Sequence[Any]) -> tuple[str, list[str]]:
    """Return the values and the bounds in types in which they compare as NumPy compares them."""
    if is_temporal(column.kind):
        moments = [b if isinstance(b, dt.datetime) else dt.datetime(b.year, b.month, b.day) for b in bounds]
        return f"CAST({column.sql} AS TIMESTAMP)", [literal(moment) for moment in moments]
    if column.kind == "integer" and all(isinstance(bound, int) for bound in bounds):
        return column.sql, [literal(bound) for bound in bounds]
    return column.double, [literal(float(bound)) for bound in bounds]


def step_labels(x: str, thresholds: Sequence[str], labels: Sequence[str]) -> str:
    """Return labels[i] for the values from thresholds[i - 1] up to, but without, thresholds[i]."""
    return steps(x, thresholds, [quoted_text(label) for label in labels])


def steps(x: str, thresholds: Sequence[str], masked: Sequence[str]) -> str:
    """Return the same of masked values that are SQL already."""
    if len(thresholds) > _IN_A_ROW:
        middle = len(thresholds) // 2
        below = steps(x, thresholds[:middle], masked[: middle + 1])
        above = steps(x, thresholds[middle + 1 :], masked[middle + 1 :])
        return f"CASE WHEN {x} < {thresholds[middle]} THEN {below} ELSE {above} END"
    if not thresholds:
        return masked[0]
    cases = [f"WHEN {x} < {edge} THEN {value}" for edge, value in zip(thresholds, masked, strict=False)]
    return f"CASE {' '.join(cases)} ELSE {masked[-1]} END"


def as_text(column: SqlColumn) -> str:
    """Return values that stay what they are as text."""
    if column.kind == "date":
        return f"strftime({column.sql}, '%Y-%m-%d')"
    if column.kind == "datetime":
        stamp = f"strftime({column.sql}, '%Y-%m-%d') || 'T' || strftime({column.sql}, '%H:%M:%S.%f')"
        return f"regexp_replace({stamp}, '(T00:00:00)?[.]000000$', '')"
    if column.kind == "real":
        return f"CAST({column.double} + {literal(0.0)} AS VARCHAR)"  # -0.0 is 0.0
    return f"CAST({column.sql} AS VARCHAR)"
