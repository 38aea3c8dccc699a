"""Noise in DuckDB that one expression would be too long for: by lookups and a search in a list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import MaskError
from aegis_opt.masks._add_noise import AddNoise
from aegis_opt.masks._base import Grouping, Label, Mask
from aegis_opt.masks._noise import FloatArray, NoiseMask, domain_of
from aegis_opt.masks._pram import Pram
from aegis_opt.masks._randomized_response import RandomizedResponse
from aegis_opt.masks._sql._column import SqlColumn
from aegis_opt.masks._sql._literals import literal
from aegis_opt.masks._sql._lookup import Lookup
from aegis_opt.masks._sql._noise import n_cases, noise_sql, noise_type, shifted
from aegis_opt.sources._names import quoted_text

_MOST_CASES = 64  # of one expression: more of them take longer to plan, and are no faster than a search
_MOST_THRESHOLDS = 2**20  # of a column: they are written as text


@dataclass(frozen=True, eq=False)
class Draw:
    """How noise is drawn in steps, each a column of its own, named after the column of uniform numbers.

    1. `own`, the place of the value among those that are declared, and `listed`, the thresholds.
    2. `drawn`, the place of the masked value, by the uniform number of the record.
    3. The masked value.
    """

    noise: str  # the column of uniform numbers
    own_places: Lookup | None  # None where the noise does not depend on the value
    thresholds: FloatArray | None  # shape (values, masked values - 1), each row ascending; None without any
    place: str  # the SQL of `drawn`
    masked: Lookup | str  # what is looked up for `drawn`, or computed from it

    @property
    def own(self) -> str:
        """The column of the places of the values."""
        return _own(self.noise)

    @property
    def listed(self) -> str:
        """The column of the list of all thresholds, those of one value after those of another."""
        return _listed(self.noise)

    @property
    def drawn(self) -> str:
        """The column of the places of the masked values."""
        return _drawn(self.noise)

    def listed_sql(self) -> str:
        """Return the list of all thresholds."""
        return _split(self._listed_text())

    def listed_query(self) -> str:
        """Return the query of the same list, as `t`; as a constant it would take several times its memory."""
        return f"SELECT {_split('s.t')} AS t FROM (VALUES ({self._listed_text()})) AS s(t)"

    def _listed_text(self) -> str:
        assert self.thresholds is not None
        return quoted_text(",".join(map(repr, self.thresholds.ravel().tolist())))


def drawn_column(mask: NoiseMask, column: SqlColumn) -> str | Draw:
    """Return how DuckDB draws the noisy values of a column: by an expression if that is short, else in steps.

    Examples
    --------
    >>> column = SqlColumn("age", "integer", noise="u")
    >>> type(drawn_column(AddNoise("geometric", scale=2.0, low=0, high=9), column)).__name__
    'str'
    >>> type(drawn_column(AddNoise("geometric", scale=99.0, low=0, high=9999), column)).__name__
    'Draw'
    """
    if n_cases(mask) <= _MOST_CASES or column.kind not in mask.kinds:
        return noise_sql(mask, column)
    draw = _draw(mask, column)
    if draw.thresholds is not None and draw.thresholds.size > _MOST_THRESHOLDS:
        raise MaskError(
            f"{mask!r} takes {draw.thresholds.size:,} thresholds, and there is room for "
            f"{_MOST_THRESHOLDS:,}: cut the values into groups first (Bucketize, Generalize)"
        )
    return draw


@singledispatch
def _draw(mask: Mask, column: SqlColumn) -> Draw:
    raise MaskError(f"{mask!r} has no SQL for {column.kind} values")


@_draw.register
def _(mask: AddNoise, column: SqlColumn) -> Draw:
    width, thresholds = mask.thresholds()
    u = column.noise
    return Draw(
        noise=u,
        own_places=None,
        thresholds=np.array(thresholds)[None, :],
        place=_at_most(u, _listed(u), "0", len(thresholds)),
        masked=shifted(mask, column, f"{_drawn(u)} - {width}"),
    )


@_draw.register
def _(mask: Pram, column: SqlColumn) -> Draw:
    values, labels = domain_of(column.kind, mask.listed())
    thresholds = np.cumsum(mask._matrix, axis=0)[:-1].T
    length, u = thresholds.shape[1], column.noise
    found = _at_most(u, _listed(u), f"{_own(u)} * {length}", length)
    return Draw(
        noise=u,
        own_places=_places(column.kind, values),
        thresholds=thresholds,
        place=f"CASE WHEN {_own(u)} IS NOT NULL THEN {found} END",
        masked=_at(labels if mask.masked is None else list(mask.masked)),
    )


@_draw.register
def _(mask: RandomizedResponse, column: SqlColumn) -> Draw:
    values, labels = domain_of(column.kind, mask.listed())
    n, u = len(values), column.noise
    share = mask.replaced_share(n)
    own, other = _own(u), f"least(CAST(floor({u} / {literal(share)} * {n}) AS BIGINT), {n - 1})"
    is_replaced = f"{own} IS NOT NULL AND {u} < {literal(share)}"
    return Draw(
        noise=u,
        own_places=_places(column.kind, values),
        thresholds=None,
        place=own if share == 0.0 else f"CASE WHEN {is_replaced} THEN {other} ELSE {own} END",
        masked=_at(labels),
    )


def _split(text: str) -> str:
    return f"CAST(string_split({text}, ',') AS DOUBLE[])"


def _own(noise: str) -> str:
    return f"{noise}_own"


def _listed(noise: str) -> str:
    return f"{noise}_listed"


def _drawn(noise: str) -> str:
    return f"{noise}_drawn"


def _at_most(x: str, listed: str, start: str, length: int) -> str:
    """Return how many of `length` ascending entries of a list, after the first `start`, are at most x.

    That is a bisection. Its steps are powers of two, the largest first: the count grows by each step after
    which the last entry that is counted is still at most x.
    """
    steps = [0] + [2**i for i in reversed(range(length.bit_length()))]
    within = f"n + s <= {length} AND list_extract({listed}, {start} + n + s) <= {x}"
    return f"list_reduce({steps}, lambda n, s: CASE WHEN {within} THEN n + s ELSE n END)"


def _places(kind: Kind, values: list[Any]) -> Lookup:
    """Look up the places of values in a list of them; a column of integers holds no others."""
    places = {value: place for place, value in enumerate(values)}
    missing = places.pop(None, None)
    present = sorted(v for v in places if kind != "integer" or (v == v // 1 and -(2**63) <= v < 2**63))
    ordered = [places[value] for value in present] + ([] if missing is None else [missing])
    domain = Domain(kind, np.array(present, dtype=object), missing is not None)
    return Lookup(domain, Grouping(np.arange(len(ordered)), tuple(ordered)), "BIGINT")


def _at(labels: list[Label]) -> Lookup:
    """Look up the masked values of a list by their places; the missing one is what is not found."""
    places = [place for place, label in enumerate(labels) if label is not None]
    grouping = Grouping(np.arange(len(places)), tuple(labels[place] for place in places))
    return Lookup(Domain("integer", np.array(places, dtype=np.int64)), grouping, noise_type(labels))
