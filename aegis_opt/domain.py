"""The domain of an attribute: its distinct values, typed and in a fixed order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import flag, one_of
from aegis_opt._shown import shown
from aegis_opt.errors import InvalidInput

__all__ = ["KINDS", "Domain", "Kind"]

Kind = Literal["integer", "real", "boolean", "date", "datetime", "string"]
KINDS: tuple[str, ...] = get_args(Kind)

# Kind -> how NumPy holds its values, and the types of Python that make it
_TYPES: dict[Kind, tuple[str, set[type]]] = {
    "integer": ("int64", {int}),
    "real": ("float64", {int, float}),
    "boolean": ("bool", {bool}),
    "date": ("datetime64[D]", {dt.date}),
    "datetime": ("datetime64[us]", {dt.datetime}),
    "string": ("object", {str}),
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
        one_of("the kind of a domain", self.kind, KINDS)
        try:
            values = np.array(self.values, dtype=_TYPES[self.kind][0])
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"the values of a domain are not of the kind {self.kind}: {error}") from error
        if values.ndim != 1:
            raise InvalidInput(f"the values of a domain must be a list, not an array of {values.ndim} axes")
        missing = flag("missing", self.missing)
        values.setflags(write=False)
        vars(self).update(values=values, missing=missing)  # the way into a frozen dataclass

    @classmethod
    def of(cls, values: Iterable[object]) -> Domain:
        """Build the domain of Python, NumPy or pandas scalars; their kind follows from their types."""
        try:
            plain_values = {plain(value) for value in values}
        except TypeError:
            raise InvalidInput(
                f"the values of a domain must be a list of numbers, texts or dates, not {shown(values)}"
            ) from None
        present = plain_values - {None}
        kind = _kind_of(present)
        try:
            array = np.array(list(present), dtype=_TYPES[kind][0])
        except OverflowError:
            raise InvalidInput("integers beyond 64 bits (signed): make them text, or real") from None
        return cls(kind, _distinct(kind, array)[0], None in plain_values)

    @classmethod
    def encode(
        cls, kind: Kind, present: npt.NDArray[Any], missing: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], Domain]:
        """Find the domain of many values of one kind.

        Parameters
        ----------
        kind : str
            Their kind.
        present : ndarray
            The values that are not missing, in order.
        missing : ndarray of bool
            Which of all the values are missing.

        Returns
        -------
        codes : ndarray of int64
            The place of each of all the values in the domain.
        domain : Domain
            NaN counts as missing, and -0.0 as 0.0.

        Examples
        --------
        >>> codes, domain = Domain.encode("integer", np.array([17, 10]), np.array([False, True, False]))
        >>> codes.tolist(), domain.to_list()
        ([1, 2, 0], [10, 17, None])
        """
        if kind == "real":
            nan = np.isnan(present)
            missing = missing.copy()
            missing[~missing] = nan
            present = present[~nan]
        distinct, own_codes = _distinct(kind, present)
        codes = np.full(len(missing), len(distinct), dtype=np.int64)
        codes[~missing] = own_codes
        return codes, cls(kind, distinct, bool(missing.any()))

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

    def to_list(self) -> list[Any]:
        """Return the values as Python scalars, the missing one as None at the end."""
        return [*self.values.tolist(), *([None] if self.missing else [])]


def plain(value: Any) -> Any:
    """Return the Python scalar that a NumPy or pandas scalar stands for; None for anything missing.

    A moment with a time zone becomes the same moment in UTC, without a zone.
    """
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")  # nanoseconds would come out as a plain integer
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, pd.Timestamp):
        value = value.to_pydatetime(warn=False)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        try:
            value = value.astimezone(dt.UTC).replace(tzinfo=None)
        except OverflowError:
            raise InvalidInput(
                f"the moment {value} is in UTC beyond the years 1 to 9999: correct it"
            ) from None
    return None if isinstance(value, float) and np.isnan(value) else value


def _distinct(kind: Kind, present: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the distinct values of an array, ascending, and the place of each value among them."""
    if kind == "string":
        codes, texts = pd.factorize(np.asarray(present, dtype=object), sort=True)
        return np.asarray(texts, dtype=object), codes
    return np.unique(present + 0.0 if kind == "real" else present, return_inverse=True)  # -0.0 is 0.0


def _kind_of(values: set[Any]) -> Kind:
    types = {type(v) for v in values}
    for kind, (_, accepted) in _TYPES.items():  # no values at all are integers
        if types <= accepted:
            return kind
    names = ", ".join(sorted(t.__name__ for t in types))
    raise InvalidInput(f"values of mixed or unsupported types ({names}): convert them to one type")
