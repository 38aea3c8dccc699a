"""The SQL of counting, written once in the words that DuckDB and Spark share.

``{records}`` stands for the records; an engine puts its own name for them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aegis_opt._nan import grouped_real, is_nan
from aegis_opt.sources._column import Column

OTHER = "(other)"


def group_counts(
    columns: Sequence[Column],
    keys: Sequence[str],
    records: str = "{records}",
    sums: Mapping[str, str] | None = None,
) -> str:
    """Count the records per combination of `keys`, one SQL expression per column, and add up others."""
    grouped = ", ".join(f"{key} AS {column.sql}" for column, key in zip(columns, keys, strict=True))
    added = "".join(f", sum({expression}) AS {name}" for name, expression in (sums or {}).items())
    selected = ", ".join([*(_cast(column) for column in columns), "n", *(sums or {})])
    counted = f"SELECT {grouped}, count(*) AS n{added} FROM {records} GROUP BY {', '.join(keys)}"
    return f"SELECT {selected} FROM ({counted}) AS g"


def _cast(column: Column) -> str:
    return column.sql if column.cast is None else f"CAST({column.sql} AS {column.cast}) AS {column.sql}"


def approximate_distinct(columns: Sequence[Column]) -> str:
    """Estimate the number of distinct values of each column, within some percent, in little memory."""
    wanted = ", ".join(f"approx_count_distinct({column.sql}) AS {column.sql}" for column in columns)
    return f"SELECT {wanted} FROM {{records}}"


def distinct_in_sample(column: Column, n: int) -> str:
    """Count the distinct values of a column among any `n` records, missing ones left out."""
    return (
        f"SELECT count(DISTINCT {column.sql}) AS n FROM (SELECT {column.sql} FROM {{records}} LIMIT {n}) AS s"
    )


def exact_distinct(column: Column) -> str:
    """Count the distinct values of a column, missing ones (NULL, NaN) left out."""
    value = column.sql
    if column.kind == "real":
        value = grouped_real(value)
    return f"SELECT count(DISTINCT {value}) AS n FROM {{records}}"


def extent(value: str, real: bool) -> str:
    """Find the least and the greatest value of an expression, as text; infinities and NaN left out."""
    if real:
        value = f"CASE WHEN {is_nan(f'{value} - {value}')} THEN NULL ELSE {value} END"  # inf - inf is NaN
    return (
        f"SELECT CAST(min({value}) AS STRING) AS low, CAST(max({value}) AS STRING) AS high FROM {{records}}"
    )


def integer_bin(value: str, width: int) -> str:
    """Round an integer expression down to a multiple of `width`, exactly: % alone keeps the sign."""
    return f"({value} - (({value} % {width}) + {width}) % {width})"


def real_bin(value: str, width: int, inverse: bool) -> str:
    """Round a real expression down to a multiple of `width`, or of 1/`width`, which no double is exactly."""
    step = f"CAST({float(width)!r} AS DOUBLE)"
    floor = f"floor({value} * {step}) / {step}" if inverse else f"floor({value} / {step}) * {step}"
    return (
        f"CASE WHEN {is_nan(f'{value} - {value}')} THEN {value} ELSE {floor} END"  # NaN and infinities stay
    )


def month(day: str) -> str:
    """Give the number of months from January 1970 to a date."""
    return f"((year({day}) - 1970) * 12 + month({day}) - 1)"


def day_of(micros: str) -> str:
    """Give the date, in UTC, of microseconds since 1970."""
    midnight = integer_bin(micros, 86_400_000_000)
    return f"(DATE '1970-01-01' + CAST({midnight} / 86400000000 AS INT))"  # exact: a multiple


def most_frequent(column: Column, others: Sequence[Column], n: int) -> str:
    """Give records with the `n` most frequent values of a text column (ties: first ones), others as one."""
    value = f"CAST({column.sql} AS STRING)"
    kept = (
        f"SELECT {value} AS kept FROM {{records}} WHERE {column.sql} IS NOT NULL GROUP BY {value} "
        f"ORDER BY count(*) DESC, {value} LIMIT {n}"
    )
    chosen = f"CASE WHEN {column.sql} IS NULL OR kept IS NOT NULL THEN {value} ELSE '{OTHER}' END"
    beside = "".join(f", {other.sql}" for other in others)
    return (
        f"(SELECT {chosen} AS {column.sql}{beside} FROM {{records}} "
        f"LEFT JOIN ({kept}) AS k ON {value} = kept) AS capped"
    )
