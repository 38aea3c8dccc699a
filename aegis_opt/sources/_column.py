"""A column under count: its kind, how it is fetched, and how its values become a domain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import SourceError

SQL_TYPES: dict[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "string": "STRING",
}
"""The SQL type that holds the values of a kind, in the words that DuckDB and Spark share."""

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE_INTEGERS = ("UBIGINT", "HUGEINT", "UHUGEINT")
# SQL type -> kind, and what the groups are cast to: after grouping there are far fewer rows. Numbers that a
# cast could change or refuse are fetched as text, which Python reads exactly.
_KINDS: dict[str, tuple[Kind, str | None]] = {
    **dict.fromkeys(_INTEGERS, ("integer", "BIGINT")),
    **dict.fromkeys(_WIDE_INTEGERS, ("integer", "STRING")),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ("real", "DOUBLE")),
    "BOOLEAN": ("boolean", None),
    "DATE": ("date", None),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), ("datetime", None)),
    **dict.fromkeys(("TIMESTAMP_NTZ", "TIMESTAMP WITH TIME ZONE"), ("datetime", None)),  # fetched as UTC
    **dict.fromkeys(
        ("VARCHAR", "CHAR", "STRING", "ENUM", "UUID", "TIME", "TIME_NS", "JSON"), ("string", "STRING")
    ),
    **dict.fromkeys(('"NULL"', "VOID"), ("string", "STRING")),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")


def kind_of(sql_type: str) -> tuple[Kind, str | None] | None:
    """Return the kind of a SQL type and what to cast its groups to; None if there is nothing to count."""
    if decimal := _DECIMAL.fullmatch(sql_type):
        precision, scale = map(int, decimal.groups())
        if scale == 0:
            return "integer", "BIGINT" if precision <= 18 else "STRING"
        return "real", "DOUBLE" if precision <= 15 else "STRING"  # a double holds any 15 digits
    return _KINDS.get(sql_type if sql_type.endswith("]") else sql_type.partition("(")[0])


@dataclass(frozen=True)
class Column:
    """A column of the records."""

    name: str
    position: int  # c<position> in SQL
    kind: Kind
    cast: str | None  # the SQL type that groups are cast to
    description: str  # of the source

    @classmethod
    def of(cls, name: str, position: int, sql_type: str, description: str) -> Column:
        """Find the kind of a column by the type that an engine reports."""
        found = kind_of(sql_type.upper())
        if found is None:
            raise SourceError(
                f"{description}: column {name!r} is of type {sql_type}, which has no values to count "
                "(integers, reals, decimals, booleans, dates, time stamps and text have): "
                "leave it out, or cast it to text"
            )
        return cls(name, position, *found, description)

    @property
    def sql(self) -> str:
        """The column's name in SQL."""
        return f"c{self.position}"

    def encode(self, fetched: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], Domain]:
        """Return the place of each value in the domain, and the domain; see `Domain.encode`."""
        missing = np.ma.getmaskarray(fetched)
        present = self._typed(np.ma.getdata(fetched)[~missing])
        codes, domain = Domain.encode(self.kind, present, missing)
        # A column of nothing but missing values has no type
        return codes, domain if len(domain.values) else Domain("string", np.array([]), domain.missing)

    def _typed(self, present: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Read numbers that were fetched as text, and refuse what a domain cannot hold."""
        if self.kind == "datetime" and (present != present.astype("datetime64[us]")).any():
            raise SourceError(
                f"{self.description}: column {self.name!r} has time stamps finer than a microsecond: "
                "round them first"
            )
        if self.cast != "STRING" or self.kind == "string":
            return present
        if self.kind == "real":
            return present.astype(np.float64)
        try:
            return np.array([int(text) for text in present], dtype=np.int64)
        except OverflowError as error:
            raise SourceError(
                f"{self.description}: column {self.name!r} holds integers beyond 64 bits (signed): "
                "cast it to text if they are identifiers, or to real"
            ) from error
