"""The domain of an attribute: its distinct values, typed and in a fixed order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import InvalidInput

__all__ = ["KINDS", "Domain", "Kind"]

Kind = Literal["integer", "real", "boolean", "date", "datetime", "string"]
KINDS: tuple[str, ...] = get_args(Kind)

_DTYPES: dict[str, str] = {
    "integer": "int64",
    "real": "float64",
    "boolean": "bool",
    "date": "datetime64[D]",
    "datetime": "datetime64[us]",
    "string": "object",
}


@dataclass(frozen=True, eq=False)
class Domain:
    """Distinct values of one attribute, ascending, with the missing value (if any) last.

    NULL, NaN, NaT and None are one and the same *missing* value. It is a value of its own: it has a row
    in every table, and every mask says what becomes of it.

    Parameters
    ----------
    kind : {"integer", "real", "boolean", "date", "datetime", "string"}
        Type of the values; it decides which masks fit.
    values : ndarray
        The present values, ascending and distinct.
    missing : bool
        Whether the missing value occurs.

    Examples
    --------
    >>> domain = Domain.of([43, 10, None, 17])
    >>> domain.kind, len(domain), domain.to_list()
    ('integer', 4, [10, 17, 43, None])
    """

    kind: Kind
    values: npt.NDArray[Any]
    missing: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(f"unknown kind of domain {self.kind!r}; known: {', '.join(KINDS)}")
        values = np.array(self.values, dtype=_DTYPES[self.kind])
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, values: Iterable[object]) -> Domain:
        """Build the domain of Python or NumPy scalars: drop duplicates, find the kind, sort."""
        present = [_plain(v) for v in values]
        missing = any(v is None for v in present)
        distinct = {v for v in present if v is not None}
        kind = _kind_of(distinct)
        if kind == "real":
            distinct = {float(v) for v in distinct}
        return cls(kind, np.array(sorted(distinct), dtype=_DTYPES[kind]), missing)

    def __len__(self) -> int:
        return len(self.values) + int(self.missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return (
            self.kind == other.kind
            and self.missing == other.missing
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are integers or reals."""
        return self.kind in ("integer", "real")

    def to_list(self) -> list[Any]:
        """Return the values as Python scalars, the missing one as None at the end."""
        return [*self.values.tolist(), *([None] if self.missing else [])]


def _plain(value: Any) -> Any:
    """A NumPy or pandas scalar as the Python scalar it stands for; anything missing as None."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64) or hasattr(value, "to_pydatetime"):
        stamp = np.datetime64(value, "us")
        return None if np.isnat(stamp) else stamp.astype(dt.datetime)
    if isinstance(value, np.generic):
        value = value.item()
    return None if value != value else value  # NaN is the one scalar that differs from itself


def _kind_of(values: set[Any]) -> Kind:
    types = {type(v) for v in values}
    if types <= {bool} and types:
        return "boolean"
    if types <= {int}:
        return "integer"
    if types <= {int, float}:
        return "real"
    if types <= {dt.date}:
        return "date"
    if types <= {dt.datetime}:
        return "datetime"
    if types <= {str}:
        return "string"
    names = ", ".join(sorted(t.__name__ for t in types))
    raise InvalidInput(f"values of mixed or unsupported types ({names}): convert the column to one type")
