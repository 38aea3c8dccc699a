"""Masks that are rules, as SQL that is exact for every value, also one that was never seen.

Written once, in DuckDB's dialect; other dialects are translations (see `aegis_opt.masks._sql._select`).
"""

from __future__ import annotations

from decimal import Decimal
from functools import singledispatch
from typing import cast

import numpy as np

from aegis_opt._shown import exact
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Identity, Mask, Suppress
from aegis_opt.masks._buckets import MOST_STEPS, ON_EDGE, Blur, Bucketize
from aegis_opt.masks._frequent import OTHER, FrequentValues
from aegis_opt.masks._generalize import Generalize, ranges_of
from aegis_opt.masks._microaggregate import Microaggregate
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._parameters import Number, bound_text, domain_microseconds, is_temporal
from aegis_opt.masks._sql._column import SqlColumn, against, as_text, step_labels, steps
from aegis_opt.masks._sql._literals import REAL, label_texts, label_type, literal
from aegis_opt.masks._sql._noise import noise_sql
from aegis_opt.masks._text import EraseDigits, Prefix
from aegis_opt.masks._top_code import TopCode
from aegis_opt.masks._truncate import Truncate
from aegis_opt.sources._names import quoted_text

_MOST_CASES = 4096  # steps; beyond it a text with one case per step is worse than a lookup


def rule_sql(mask: Mask, column: SqlColumn) -> str | None:
    """Return the masked values of a column as an SQL expression; None if there is none for what is known.

    It gives what `mask.group` gives, but writes a number that stays what it is among masked values that are
    text (`TopCode`) as the engine does. `Identity` leaves the column alone, its type included.

    Examples
    --------
    >>> rule_sql(Prefix(3), SqlColumn("zip", "string"))
    "CASE WHEN zip IS NOT NULL THEN CASE WHEN length(zip) <= 3 THEN zip ELSE substr(zip, 1, 3) || '*' END END"
    """
    if isinstance(mask, Suppress):
        return "'*'"
    if isinstance(mask, Identity):
        return column.sql
    if isinstance(mask, Generalize) and mask.ranges is None:
        return None
    if isinstance(mask, NoiseMask):
        return noise_sql(mask, column)
    mask.group(column.known)  # for its checks
    rule = _rule(mask, column)
    return None if rule is None else f"CASE WHEN {column.present} THEN {rule} END"


@singledispatch
def _rule(mask: Mask, column: SqlColumn) -> str | None:  # noqa: ARG001
    """Return the masked value of a value that is not missing."""
    return None


@_rule.register
def _(mask: Prefix, column: SqlColumn) -> str | None:
    if column.kind == "string":
        return _cut(column.sql, mask.length)
    text = f"CAST({column.sql} AS VARCHAR)"
    return f"CASE WHEN {column.sql} < 0 THEN {_cut(text, mask.length + 1)} ELSE {_cut(text, mask.length)} END"


def _cut(text: str, length: int) -> str:
    return f"CASE WHEN length({text}) <= {length} THEN {text} ELSE substr({text}, 1, {length}) || '*' END"


@_rule.register
def _(mask: EraseDigits, column: SqlColumn) -> str | None:
    whole = column.sql if column.kind == "integer" else f"CAST(floor(abs({column.double})) AS BIGINT)"
    text = f"replace(CAST({whole} AS VARCHAR), '-', '')"
    digits = min(mask.digits, 20)  # no 64-bit number has more
    zeros = "0" * digits
    erased = (
        f"CASE WHEN length({text}) <= {digits} THEN substr('{zeros}', 1, length({text})) "
        f"ELSE substr({text}, 1, length({text}) - {digits}) || '{zeros}' END"
    )
    if mask.keep_sign:
        erased = f"CASE WHEN {column.sql} < 0 THEN '-' ELSE '' END || {erased}"
    if column.kind == "integer":
        return erased
    return f"CASE WHEN abs({column.double}) < {literal(2.0**63)} THEN {erased} END"


@_rule.register
def _(mask: Truncate, column: SqlColumn) -> str | None:
    _check_years(mask, column)
    if mask.unit == "quarter":
        quarter = f"CAST(CAST(extract(quarter FROM {column.sql}) AS BIGINT) AS VARCHAR)"
        return f"strftime({column.sql}, '%Y') || '-Q' || {quarter}"
    if mask.unit == "week":  # an ISO week belongs to the year that its Thursday is in
        year = f"strftime(date_trunc('week', {column.sql}) + INTERVAL 3 DAY, '%Y')"
        week = f"CAST(CAST(extract(week FROM {column.sql}) AS BIGINT) AS VARCHAR)"
        return f"{year} || '-W' || lpad({week}, 2, '0')"
    pattern = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}[mask.unit]
    return f"strftime({column.sql}, '{pattern}')"


@_rule.register
def _(mask: TopCode, column: SqlColumn) -> str | None:
    _check_years(mask, column)
    cases = ""
    if mask.bottom is not None:
        values, (bottom,) = against(column, [mask.bottom])
        cases += f"WHEN {values} <= {bottom} THEN '<={bound_text(mask.bottom)}' "
    if mask.top is not None:
        values, (top,) = against(column, [mask.top])
        cases += f"WHEN {values} >= {top} THEN '>={bound_text(mask.top)}' "
    return f"CASE {cases}ELSE {as_text(column)} END"


@_rule.register
def _(mask: Bucketize, column: SqlColumn) -> str | None:
    if mask.edges is not None:
        values, thresholds = against(column, mask.edges)
        return step_labels(values, thresholds, mask.edge_labels())
    if is_temporal(column.kind):
        return _buckets_of_time(mask, column)
    width, origin = cast("Number", mask.width), cast("Number", mask.origin)
    if isinstance(width, int) and isinstance(origin, int):
        origin %= width
        if column.kind == "integer":
            x = column.whole(3 * width)
            start = f"{x} - ({x} % {width} + {2 * width - origin}) % {width}"
            return f"'[' || CAST({start} AS VARCHAR) || ', ' || CAST({start} + {width} AS VARCHAR) || ')'"
    step = _step(column, width, origin)
    start_text, end_text = (_multiple(f"({step} + {i})", width, origin) for i in (0, 1))
    if start_text is None or end_text is None:
        return None
    return _within_steps(column, width, origin, f"'[' || {start_text} || ', ' || {end_text} || ')'")


@_rule.register
def _(mask: Blur, column: SqlColumn) -> str | None:
    width = mask.width
    if column.kind == "integer" and isinstance(width, int):
        rounded = cast("tuple[int, ...]", mask.group(column.known).labels)
        if any(not -(2**63) <= number < 2**63 for number in rounded if number is not None):
            raise MaskError(f"{mask!r} rounds beyond 64 bits: cut the extremes off with TopCode")
        x = column.whole(3 * width)
        rest = f"(({x} % {width} + {width}) % {width})"
        up = f"CASE WHEN 2 * {rest} >= {width} THEN {width} ELSE 0 END"
        return f"CAST({x} - {rest} + {up} AS BIGINT)"
    multiple = _multiple(_step(column, width, -width / 2), width, 0)
    if multiple is None:
        return None
    return _within_steps(column, width, -width / 2, f"CAST({multiple} AS DOUBLE)")


@_rule.register
def _(mask: FrequentValues, column: SqlColumn) -> str | None:
    kept = mask.kept(column.kind)
    other = quoted_text(OTHER)
    if not kept:
        return other
    if column.kind == "real":  # engines write reals in different ways
        texts = map(quoted_text, cast("list[str]", label_texts(kept)))
        cases = [f"WHEN {column.key} = {literal(v)} THEN {t}" for v, t in zip(kept, texts, strict=True)]
        return f"CASE {' '.join(cases)} ELSE {other} END"
    listed = ", ".join(map(literal, kept))
    return f"CASE WHEN {column.sql} IN ({listed}) THEN {as_text(column)} ELSE {other} END"


@_rule.register
def _(mask: Microaggregate, column: SqlColumn) -> str | None:
    edges, labels = mask.groups()
    if len(labels) > _MOST_CASES:
        return None
    x, thresholds = against(column, edges)
    sql_type = label_type(labels)
    if sql_type == REAL:
        labels = [float(cast("Number", label)) for label in labels]
    masked = steps(x, thresholds, [literal(label) for label in labels])
    return f"CAST({masked} AS BIGINT)" if sql_type == "BIGINT" else masked  # else as narrow as can be


@_rule.register
def _(mask: Generalize, column: SqlColumn) -> str | None:
    if column.domain is None or cast("int", mask.ranges) > _MOST_CASES:
        return None
    known = column.domain
    if not len(known.values):
        return "NULL"
    _check_years(mask, column)
    starts, labels_of = ranges_of(known, cast("int", mask.ranges))
    used = np.flatnonzero(np.append(starts[1:] != starts[:-1], True))  # of equal starts the last one counts
    labels = cast("list[str]", labels_of(used))
    x, thresholds = against(column, starts[used].tolist())
    return step_labels(x, thresholds[1:], labels)  # a value beyond an end belongs to the range there


def _buckets_of_time(mask: Bucketize, column: SqlColumn) -> str | None:
    """Return the buckets from the least to the greatest known value; NULL for a value in none of them."""
    if column.domain is None:
        return None
    if not len(column.domain.values):
        return "NULL"
    _check_years(mask, column)
    width, origin = mask.microsecond_steps()
    low, high = (int(stamp) for stamp in domain_microseconds(column.domain)[[0, -1]])
    steps = range((low - origin) // width, (high - origin) // width + 2)
    if len(steps) > _MOST_CASES:
        return None
    starts = np.array([origin + k * width for k in steps], dtype="datetime64[us]")
    labels = cast("tuple[str, ...]", mask.group(Domain("datetime", starts[:-1])).labels)
    x, thresholds = against(column, starts.tolist())
    inside = f"{x} >= {thresholds[0]} AND {x} < {thresholds[-1]}"
    return f"CASE WHEN {inside} THEN {step_labels(x, thresholds[1:-1], labels)} END"


def _step(column: SqlColumn, width: Number, origin: Number) -> str:
    """Return floor((x - origin) / width) of reals; a value on an edge up to rounding is on it."""
    x, w = column.double, literal(float(width))
    steps = f"(({x} - {literal(float(origin))}) / {w})" if origin else f"({x} / {w})"
    nearest = f"floor({steps} + {literal(0.5)})"
    allowed = f"{literal(ON_EDGE)} * greatest({_size(column, width, origin)}, {literal(1.0)})"
    step = f"CASE WHEN abs({steps} - {nearest}) <= {allowed} THEN {nearest} ELSE floor({steps}) END"
    return f"CAST({step} AS BIGINT)"


def _size(column: SqlColumn, width: Number, origin: Number) -> str:
    """Return the size of the numbers that a step is computed from, in steps."""
    x = f"abs({column.double})"
    return f"{f'greatest({x}, {literal(abs(float(origin)))})' if origin else x} / {literal(float(width))}"


def _within_steps(column: SqlColumn, width: Number, origin: Number, masked: str) -> str:
    """Return the masked value where steps can be told apart, else NULL."""
    return f"CASE WHEN {_size(column, width, origin)} < {literal(MOST_STEPS)} THEN {masked} END"


def _multiple(step: str, width: Number, origin: Number) -> str | None:
    """Return the text of origin + step * width in decimals, or None where engines would differ."""
    w, o = (exact(n).normalize() for n in (width, origin))
    scale = max(0, *(-cast("int", n.as_tuple().exponent) for n in (w, o)))
    both_whole = isinstance(width, int) and isinstance(origin, int)
    # More decimals, or more digits, are written with an exponent by the mask or by some engine
    if scale > 6 or not (both_whole or w * 10**15 + abs(o) < 10**20):
        return None
    product = f"CAST({step} AS DECIMAL(16, 0)) * {_decimal(w, scale)}"
    if origin:
        product += f" + {_decimal(o, scale)}"
    text = f"CAST({product} AS VARCHAR)"
    return f"rtrim(rtrim({text}, '0'), '.')" if scale else text


def _decimal(number: Decimal, scale: int) -> str:
    """Return a decimal in the narrowest type, for products of narrow ones are fast."""
    digits = max(scale, len(str(int(abs(number).scaleb(scale)))))
    return f"CAST('{number:f}' AS DECIMAL({digits}, {scale}))"


def _check_years(mask: Mask, column: SqlColumn) -> None:
    """Refuse years before 1 and after 9999, which engines write each in its own way."""
    if not is_temporal(column.kind) or not len(column.known.values):
        return
    first, last = column.known.values[[0, -1]].astype("datetime64[Y]").astype(np.int64) + 1970
    if first < 1 or last > 9999:
        raise MaskError(
            f"{mask!r} writes the years 1 to 9999, but the values reach from {first} to {last}: correct them"
        )
