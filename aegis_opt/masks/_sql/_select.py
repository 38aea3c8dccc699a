"""A configuration as the SELECT that masks a table, in several dialects of SQL."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from aegis_opt._json import check_text
from aegis_opt._options import list_of, mapping_of, whole_number
from aegis_opt._shown import shown
from aegis_opt.domain import KINDS, Domain, Kind
from aegis_opt.errors import ConfigurationError, InvalidOption, MissingDependency, UnknownColumn, UnknownName
from aegis_opt.masks._base import Identity, Mask, Suppress, naming
from aegis_opt.masks._buckets import Blur, Bucketize
from aegis_opt.masks._frequent import FrequentValues
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._microaggregate import Microaggregate
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._sql._column import SqlColumn
from aegis_opt.masks._sql._lookup import Lookup, listed_domain, masked_column
from aegis_opt.masks._sql._noise import dialect_uniform_sql, noise_kind, require_room
from aegis_opt.masks._text import EraseDigits, Prefix
from aegis_opt.masks._top_code import TopCode
from aegis_opt.masks._truncate import Truncate
from aegis_opt.sources._names import quoted

if TYPE_CHECKING:
    from sqlglot import exp

Dialect = Literal["duckdb", "spark", "postgresql", "postgres", "snowflake"]
"""The dialects of SQL that a configuration is written in."""
DIALECTS = {
    "duckdb": "duckdb",
    "spark": "spark",
    "postgresql": "postgres",
    "postgres": "postgres",
    "snowflake": "snowflake",
}


def select_sql(
    configuration: Mapping[str, Mask],
    dialect: Dialect = "duckdb",
    table: str = "source",
    columns: Sequence[str] | None = None,
    domains: Mapping[str, Domain | Kind] | None = None,
    *,
    suppress_below: int | None = None,
    quasi_identifiers: Iterable[str] | None = None,
) -> str:
    """Write the SELECT that masks a table.

    Parameters
    ----------
    configuration : Configuration or mapping of str to Mask
        The masks.
    dialect : {"duckdb", "spark", "postgresql", "snowflake"}
        What to write it in.
    table : str
        The table to mask, as that dialect names it (``schema.people``). For Spark also a name in braces,
        which ``session.sql(text, people=frame)`` replaces by a DataFrame.
    columns : sequence of str, optional
        What to select, in order: the masked attributes and any others, which stay as they are. By default
        the masked attributes only.
    domains : mapping of str to Domain or str, optional
        What is known of the masked columns, as `aegis_opt.source_domains` reads it. The kind (``"integer"``)
        is enough for most masks. Ranges follow from the least and the greatest value, so `Generalize` with
        ranges needs a domain, as do buckets of dates and masks of other packages. Of a column that is not
        named here, the kind is what the mask speaks of: text for `Prefix`, times for `Truncate`, the values
        listed for a mapping, and else numbers, whole or not, up to 2^53; NaN is missing.

    suppress_below : int, optional
        Leave out the records of classes with fewer records than this. Records whose quasi-identifiers are all
        equal after masking form a class. In a column that is not masked, values that are written in
        different ways are different ones, such as NaN and NULL, or 0.0 and -0.0.
    quasi_identifiers : sequence of str, optional
        The columns that an attacker may know; by default the masked attributes.

    Returns
    -------
    str
        For every value the masked value that `Mask.group` gives. A value that a mapping or hierarchy does
        not list, or that cannot be masked, becomes NULL; one beyond all ranges belongs to the nearest one.

    Raises
    ------
    InvalidOption
        If a mask needs to know more about its column.

    Examples
    --------
    >>> masks = {"name": Suppress(), "zip": Prefix(3)}
    >>> print(select_sql(masks, "postgresql", "people", domains={"zip": "string"}))
    SELECT
      '*' AS "name",
      CASE
        WHEN NOT "zip" IS NULL
        THEN CASE
          WHEN LENGTH("zip") <= 3
          THEN "zip"
          ELSE SUBSTRING("zip" FROM 1 FOR 3) || '*'
        END
      END AS "zip"
    FROM people
    """
    if not isinstance(configuration, Mapping):
        raise ConfigurationError(
            f"a configuration is a mapping of attributes to masks, not {type(configuration).__name__}"
        )
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        raise UnknownName("SQL dialect", dialect, DIALECTS)
    columns = list(configuration) if columns is None else _names(columns)
    called = f" {name!r}" if (name := getattr(configuration, "name", "")) else ""
    if not columns:
        raise ConfigurationError(f"the configuration{called} masks nothing: name the columns to select")
    for attribute in configuration:
        if attribute not in columns:
            raise UnknownColumn("column", attribute, columns, f"The configuration{called} masks it.")
    known = {} if domains is None else mapping_of("domains", domains, "map columns to domains or kinds")
    noise: dict[str, tuple[str, str]] = {}
    for name, mask in configuration.items():
        if isinstance(mask, NoiseMask):
            noise[name] = _unused(f"noise_{len(noise)}", columns), dialect_uniform_sql(mask, name, dialect)
    require_room({name: mask for name, mask in configuration.items() if isinstance(mask, NoiseMask)})
    masked = {
        name: _masked(mask, name, known.get(name), quoted(noise[name][0]) if name in noise else "")
        for name, mask in configuration.items()
    }
    suppression = None
    if suppress_below is not None:
        k = whole_number("suppress_below", suppress_below, least=1)
        asked = quasi_identifier_names(quasi_identifiers, configuration, columns)
        suppression = k, _keys(asked, configuration)
    elif quasi_identifiers is not None:
        raise InvalidOption("quasi_identifiers are about suppression: pass suppress_below=k, too")
    return _translated(columns, masked, dialect, table, list(noise.values()), suppression)


def _keys(names: Iterable[str], configuration: Mapping[str, Mask]) -> list[str]:
    """Return what records are grouped by.

    Values that stay what they are may be equal and yet look different, such as 0.0 and -0.0, or 1.0 and 1.00.
    """
    keys = []
    for name in names:
        keys.append(quoted(name))
        if isinstance(configuration.get(name, Identity()), Identity):
            keys.append(f"CAST({quoted(name)} AS VARCHAR)")
    return keys


def _unused(name: str, columns: Sequence[str]) -> str:
    """Return a name that none of some columns has."""
    while any(name == column.lower() for column in columns):
        name += "_"
    return name


def quasi_identifier_names(
    quasi_identifiers: Iterable[str] | None, masked: Iterable[str], names: Sequence[str]
) -> tuple[str, ...]:
    """Return the quasi-identifiers, by default the masked attributes."""
    named = masked if quasi_identifiers is None else quasi_identifiers
    found = tuple(dict.fromkeys(list_of("quasi_identifiers", named, str, "name columns")))
    if not found:
        raise InvalidOption(
            "no quasi-identifier: the configuration masks nothing; pass quasi_identifiers=[...]"
        )
    for name in found:
        if name not in names:
            raise UnknownColumn("column", name, names, "It was named in quasi_identifiers.")
    return found


def _names(columns: Sequence[str]) -> list[str]:
    names: list[str] = []
    for name in list_of("columns", columns, str, "name columns"):
        if not name:
            raise InvalidOption("columns must be a list of names: '' is none")
        if name in names:
            raise InvalidOption(f"columns names {name!r} twice: remove one")
        names.append(name)
    return names


def _masked(mask: Mask, name: str, known: Domain | Kind | None, noise: str) -> str | tuple[Lookup, SqlColumn]:
    """Return an expression, or what to look up."""
    assumed = known is None
    with naming(name):
        known = _assumed_kind(mask) if known is None else known
    if known is None:
        raise InvalidOption(
            f"attribute {name!r}: how {mask!r} is written depends on the column: pass its domain, "
            f"domains={{{name!r}: Domain.of(values)}}, or what source_domains(source, configuration) reads"
        )
    if isinstance(known, Domain):
        column = SqlColumn(quoted(name), known.kind, known, noise=noise)
    elif known in KINDS:
        column = SqlColumn(quoted(name), known, assumed=assumed, noise=noise)
    else:
        raise InvalidOption(
            f"attribute {name!r}: {known!r} is neither a domain nor a kind ({', '.join(KINDS)})"
        )

    def values() -> Domain:
        listed = listed_domain(mask, column.kind) if column.domain is None else column.domain
        if listed is None:
            raise InvalidOption(
                f"attribute {name!r}: {mask!r} on {column.kind} values can be written only for known ones: "
                f"pass domains={{{name!r}: Domain.of(values)}}, or what source_domains reads"
            )
        return listed

    with naming(name):
        masked = masked_column(mask, column, values)
    if isinstance(masked, str):
        return masked
    return (masked, column) if masked.needs_join else masked.case(column)


def _assumed_kind(mask: Mask) -> Kind | None:
    """Return the kind of values that a mask speaks of; None where it leaves that open."""
    match mask:
        case Suppress() | Identity() | Prefix():
            return "string"
        case Truncate():
            return "datetime"
        case EraseDigits() | Blur():
            return "real"  # of whole numbers it makes the same
        case Bucketize(edges=None):
            return "real" if isinstance(mask.width, int | float) else None
        case Bucketize():
            return _kind_of(mask.edges, whole="real")
        case TopCode():
            bound = mask.bottom if mask.top is None else mask.top
            return "datetime" if isinstance(bound, dt.date) else "integer"  # which keeps 17 from being 17.0
        case FrequentValues():
            listed = mask.listed()
            mixed = len({isinstance(value, str) for value in listed}) > 1
            return None if mixed else _kind_of(listed)
        case Microaggregate():
            edges, _ = mask.groups()
            return _kind_of(edges or mask.centres)
        case NoiseMask():
            return noise_kind(mask)
        case Generalize(mapping=None, ranges=None):
            return "string"
        case Generalize(ranges=None):
            return _kind_of(mask.written()[1])
    return None


def _kind_of(values: Any, whole: Kind = "integer") -> Kind | None:
    """Return the kind of values as a mask lists them, which may mix whole numbers and others."""
    if all(isinstance(value, dt.date) for value in values):
        return "datetime"
    kind = Domain.of(values).kind
    return whole if kind == "integer" else kind


def _translated(
    columns: Sequence[str],
    masked: Mapping[str, str | tuple[Lookup, SqlColumn]],
    dialect: str,
    table: str,
    noise: Sequence[tuple[str, str]] = (),
    suppression: tuple[int, Sequence[str]] | None = None,
) -> str:
    try:
        import sqlglot
        from sqlglot import exp
    except ModuleNotFoundError as error:
        raise MissingDependency("SQL is translated by sqlglot: pip install aegis-opt[sql]") from error

    joins: list[str] = []
    items: list[str] = []
    for name in columns:
        how = masked.get(name, quoted(name))
        if isinstance(how, tuple):
            lookup, column = how
            alias = f"m{len(joins)}"
            joins.append(f"LEFT JOIN ({lookup.values_table()}) AS {alias}(v, l) ON {column.key} = {alias}.v")
            how = lookup.joined(column, f"{alias}.l")
        items.append(f"{how} AS {quoted(name)}" if how != quoted(name) else how)
    query = sqlglot.parse_one(f"SELECT {', '.join(items)} FROM t {' '.join(joins)}", read="duckdb")
    source: exp.Expr = _named_table(table, dialect)
    if noise:
        drawn = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in noise)
        inner = sqlglot.parse_one(f"SELECT *, {drawn} FROM t", read=_drawn_in(dialect))
        inner.find(exp.From).set("this", source)  # type: ignore[union-attr]
        source = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("s")))
    if joins:  # a column of the table may be called v or l, too
        source = source if noise else exp.alias_(source, "s", table=True)
        for reference in query.find_all(exp.Column):
            if not reference.table:
                reference.set("table", exp.to_identifier("s"))
    if DIALECTS[dialect] != "duckdb":  # the call is for DuckDB, see `is_nan`
        for test in list(query.find_all(exp.IsNan)):
            if isinstance(test.this, exp.Exp):
                test.set("this", test.this.this)
    if DIALECTS[dialect] in ("postgres", "snowflake"):  # they have no isnan, but NaN equals itself
        nan = exp.cast(exp.Literal.string("NaN"), "double")
        for test in list(query.find_all(exp.IsNan)):
            test.replace(exp.paren(exp.EQ(this=test.this.copy(), expression=nan.copy())))
    query.find(exp.From).set("this", source)  # type: ignore[union-attr]
    if suppression is not None:
        query = _without_small_classes(query, columns, *suppression)
    return query.sql(dialect=DIALECTS[dialect], pretty=True)


def _drawn_in(dialect: str) -> str:
    """Return the dialect that uniform numbers are written in, names in double quotes."""
    return "postgres" if DIALECTS[dialect] == "postgres" else "duckdb"


def _without_small_classes(masked: exp.Expr, columns: Sequence[str], k: int, keys: Sequence[str]) -> exp.Expr:
    """Keep the records of a SELECT whose class has at least k records."""
    import sqlglot

    size = "class_size"
    while any(size == name.lower() for name in columns):
        size += "_"
    selected = ", ".join(map(quoted, columns))
    sized = f"SELECT {selected}, count(*) OVER (PARTITION BY {', '.join(keys)}) AS {size} FROM masked"
    outer = sqlglot.parse_one(f"SELECT {selected} FROM ({sized}) AS sized WHERE {size} >= {k}", read="duckdb")
    return outer.with_("masked", as_=masked)  # type: ignore[attr-defined, no-any-return]


def _named_table(table: str, dialect: str) -> exp.Table:
    """Return a table by its name; a function or an address that an engine fetches is none.

    In Spark, a name in braces stands for a DataFrame: ``session.sql(text, people=frame)``.
    """
    import sqlglot
    from sqlglot import exp

    refused = InvalidOption(
        f"{shown(table)} names no table in {dialect}: write it as its SQL does, such as schema.people"
    )
    if not isinstance(table, str) or "://" in table or "\0" in table:
        raise refused
    check_text(table, InvalidOption)
    try:
        found = exp.to_table(table, dialect=DIALECTS[dialect])
    except (sqlglot.errors.SqlglotError, ValueError) as error:  # the latter: too many dots
        raise refused from error
    if dialect == "spark" and re.fullmatch(r"\{[^\W\d]\w*\}", table):
        return found
    parts = found.parts
    if found.find(exp.Dot) or not all(isinstance(part, exp.Identifier) and part.name for part in parts):
        raise refused
    for part in parts:
        if not re.fullmatch(r"[^\W\d][\w$]*", part.name):
            part.set("quoted", True)
    return found
