"""Noise as SQL: one uniform number per record, and the masked value that it stands for.

The uniform number is a column of its own, made before masking: a function such as random(), written several
times in one expression, would be drawn several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import InvalidOption, MaskError
from aegis_opt.masks._add_noise import AddNoise
from aegis_opt.masks._base import Label, Mask, naming
from aegis_opt.masks._noise import BITS, NoiseMask, domain_of
from aegis_opt.masks._pram import Pram
from aegis_opt.masks._randomized_response import RandomizedResponse
from aegis_opt.masks._sql._column import SqlColumn, as_text, steps
from aegis_opt.masks._sql._literals import REAL, TEXT, label_texts, label_type, literal

_MOST_CASES = 6_000  # of one SELECT: translating more of them takes long


def uniform_sql(key: str) -> str:
    """Return the uniform number of each row in DuckDB: `aegis_opt.masks._noise.uniforms`, row by row.

    Examples
    --------
    >>> import duckdb
    >>> from aegis_opt.masks._noise import uniforms
    >>> drawn = duckdb.sql(f"SELECT {uniform_sql('secret')} AS u FROM range(3)").fetchnumpy()["u"]
    >>> bool((drawn == uniforms("secret", 3)).all())
    True
    """
    row = "CAST(row_number() OVER () AS VARCHAR)"
    digits = f"substr(sha256({literal(key)} || {row}), 1, {BITS // 4})"
    return f"CAST(CAST('0x' || {digits} AS BIGINT) AS DOUBLE) / {literal(2.0**BITS)}"


def dialect_uniform_sql(mask: NoiseMask, attribute: str, dialect: str) -> str:
    """Return the uniform number of each row in a dialect; one without a generator that fits is refused."""
    seed: int | None = getattr(mask, "seed", None)
    if dialect == "duckdb":
        return uniform_sql(mask.key(attribute)) if seed is not None else "random()"
    if dialect == "spark":
        return "rand()" if seed is None else f"rand({int(mask.key(attribute)[:15], 16)})"
    if dialect in ("postgresql", "postgres"):
        if seed is None:
            return "random()"
        raise InvalidOption(
            f"attribute {attribute!r}: PostgreSQL takes a seed in a statement of its own: leave the seed of "
            "the mask out, and run SELECT setseed(...) before, in the same session"
        )
    raise InvalidOption(
        f"attribute {attribute!r}: noise is written for duckdb, spark and postgresql, not for {dialect}: "
        "mask the table with apply_configuration"
    )


def noise_kind(mask: NoiseMask) -> Kind | None:
    """Return the kind of values that a noise mask speaks of; None where it leaves that open."""
    if isinstance(mask, AddNoise):
        return "integer"
    present = [value for value in mask.listed() or () if value is not None]
    return Domain.of(present).kind if present else None


def noise_type(labels: list[Label]) -> str:
    """Return the type of noisy values."""
    sql_type = label_type(labels)
    if sql_type == TEXT:
        label_texts(labels)  # refuses masked values that text cannot tell apart
    return sql_type


def require_room(masks: Mapping[str, NoiseMask]) -> None:
    """Refuse noise that takes too many cases in one SELECT."""
    cases = 0
    for attribute, mask in masks.items():
        with naming(attribute):
            cases += n_cases(mask)
            if cases > _MOST_CASES:
                raise MaskError(
                    f"{mask!r} makes it {cases:,} cases in SQL, and there is room for {_MOST_CASES:,}: mask "
                    "the table with apply_configuration, or cut the values into groups first (Bucketize, "
                    "Generalize)"
                )


def n_cases(mask: NoiseMask) -> int:
    """Return how many cases noise takes in SQL; none before it is fitted, which is refused elsewhere."""
    if not mask.declared:
        return 0
    if isinstance(mask, AddNoise):
        return len(_added(mask)[0])
    return int(mask._matrix.size) if isinstance(mask, Pram) else len(mask.listed() or ())


def noise_sql(mask: NoiseMask, column: SqlColumn) -> str:
    """Return the noisy values of a column; a value that is not declared becomes NULL.

    Examples
    --------
    >>> column = SqlColumn("answer", "string", noise="u")
    >>> print(noise_sql(RandomizedResponse(p=0.75, domain=["no", "yes"]), column)[:60])
    CASE WHEN (answer IS NOT NULL AND answer IN ('no', 'yes')) T
    """
    if column.kind not in mask.kinds:
        raise MaskError(
            f"{mask!r} does not fit values of kind {column.kind}: it fits {', '.join(mask.kinds)}; "
            f"{mask.instead}"
        )
    return _noisy(mask, column)


@singledispatch
def _noisy(mask: Mask, column: SqlColumn) -> str:
    raise MaskError(f"{mask!r} has no SQL for {column.kind} values: mask the table with apply_configuration")


@_noisy.register
def _(mask: RandomizedResponse, column: SqlColumn) -> str:
    values, labels = domain_of(column.kind, mask.listed())
    sql_type = noise_type(labels)
    n = len(values)
    share, u = mask.replaced_share(n), column.noise
    own = column.sql
    if sql_type == TEXT and column.kind != "string":
        own = as_text(column)
    elif sql_type == REAL:
        own = column.double
    literals = _literals(labels, sql_type)
    if share == 0.0:
        drawn = own
    else:
        other = steps(f"{u} / {literal(share)} * {n}", [str(i) for i in range(1, n)], literals)
        drawn = f"CASE WHEN {u} < {literal(share)} THEN {other} ELSE {own} END"
    return _typed(f"CASE WHEN {_known(column, values)} THEN {drawn} END", sql_type)


@_noisy.register
def _(mask: AddNoise, column: SqlColumn) -> str:
    thresholds, drawn = _added(mask)
    return shifted(mask, column, steps(column.noise, list(map(literal, thresholds)), list(map(str, drawn))))


@_noisy.register
def _(mask: Pram, column: SqlColumn) -> str:
    values, labels = domain_of(column.kind, mask.listed())
    outputs: list[Label] = labels if mask.masked is None else list(mask.masked)
    sql_type = noise_type(outputs)
    literals = _literals(outputs, sql_type)
    thresholds = np.cumsum(mask._matrix, axis=0)[:-1]
    cases = []
    for a, value in enumerate(values):
        drawn = steps(column.noise, [literal(float(t)) for t in thresholds[:, a]], literals)
        is_value = f"NOT ({column.present})" if value is None else f"{column.key} = {literal(value)}"
        cases.append(f"WHEN {is_value} THEN {drawn}")
    return _typed(f"CASE {' '.join(cases)} END", sql_type)


def shifted(mask: AddNoise, column: SqlColumn, noise: str) -> str:
    """Return the values of a column with noise added, within the range of the mask.

    They are counted from its lower end, so that no sum leaves 64 bits.
    """
    low, high = mask.bounds()
    own = f"CAST(least(greatest({column.sql}, {low}), {high}) AS BIGINT) - {low}"
    within = f"{low} + least(greatest({own} + {noise}, 0), {high - low})"
    return _typed(f"CASE WHEN {column.present} THEN {within} END", "BIGINT")


def _added(mask: AddNoise) -> tuple[list[float], list[int]]:
    """Return the thresholds of a uniform number, and the noise below, between and above them.

    Of thresholds with no multiple of 2^-52 between them, which is what uniform numbers are, the first is
    enough.
    """
    width, thresholds = mask.thresholds()
    places = np.ceil(np.array(thresholds) * 2.0**BITS)
    first = np.flatnonzero(np.diff(places, prepend=0.0) > 0)
    return [thresholds[i] for i in first], [int(i) - width for i in first] + [width]


def _known(column: SqlColumn, values: list[Any]) -> str:
    """Return the condition that a value is one of those declared."""
    listed = ", ".join(literal(value) for value in values if value is not None)
    conditions = [f"({column.present} AND {column.key} IN ({listed}))"] if listed else []
    if None in values:
        conditions.append(f"NOT ({column.present})")
    return " OR ".join(conditions)


def _literals(labels: list[Label], sql_type: str) -> list[str]:
    if sql_type == TEXT:
        return [literal(text) for text in label_texts(labels)]
    real = sql_type == REAL
    return [literal(float(label) if real and label is not None else label) for label in labels]


def _typed(sql: str, sql_type: str) -> str:
    return f"CAST({sql} AS BIGINT)" if sql_type == "BIGINT" else sql
