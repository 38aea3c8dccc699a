"""Masking rows in DuckDB: from a relation to the same relation with some columns masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from aegis_opt.domain import Domain
from aegis_opt.masks import Mask, Suppress
from aegis_opt.masks._base import naming
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._sql import Draw, Lookup, SqlColumn, against, drawn_column, masked_column, uniform_sql
from aegis_opt.release._rows import RowsToMask
from aegis_opt.sources._column import SQL_TYPES, Column
from aegis_opt.sources._engine import Fetched
from aegis_opt.sources._names import quoted_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation

_ZONED = "TIMESTAMP WITH TIME ZONE"
_NANOSECONDS = "TIMESTAMP_NS"
_LIST = " IN ("
"""What DuckDB makes a join of where the list is long; joins lose the order of the rows."""
_MOST_IN_A_CONSTANT = 2**15  # thresholds

How = str | Lookup | Draw
"""How a column is masked: by an expression, by a lookup, or by noise that is drawn in steps."""


@dataclass(frozen=True)
class DuckDBRows(RowsToMask):
    """A relation with columns c0, c1, ..., of which those to mask hold values of one kind."""

    relation: Relation
    names: Sequence[str]  # what the columns are called in the source
    columns: dict[str, Column]
    masks: Mapping[str, Mask]

    @classmethod
    def of(
        cls, relation: Relation, names: Sequence[str], masks: Mapping[str, Mask], description: str
    ) -> DuckDBRows:
        """Cast the columns to mask to the type that their kind stands for; no mask is `Identity`."""
        columns, selected = {}, []
        for i, name in enumerate(names):
            sql = f"c{i}"
            if name in masks and not isinstance(masks[name], Suppress):
                columns[name] = Column.of(name, i, str(relation.types[i]), description)
                sql = _typed(columns[name], str(relation.types[i]))
            selected.append(f"{sql} AS c{i}")
            mask = masks.get(name)
            if isinstance(mask, NoiseMask):
                selected.append(f"{uniform_sql(mask.key(name))} AS {noise_column(i)}")
        return cls(relation.project(", ".join(selected)), names, columns, masks)

    def aggregate(self, aggregates: str) -> Fetched:
        """Compute aggregates over all rows."""
        return self.relation.aggregate(aggregates).fetchnumpy()

    def values(self, name: str) -> Domain:
        """Return the distinct values of a column to mask."""
        column = self.columns[name]
        return column.encode(self.relation.project(column.sql).distinct().fetchnumpy()[column.sql])[1]

    def sql_column(self, name: str, known: Domain) -> SqlColumn:
        """Return a column to mask, of which a domain is known."""
        column = self.columns[name]
        return SqlColumn(column.sql, known.kind, known, noise=noise_column(self.names.index(name)))

    def count_outside(self, name: str, low: object, high: object) -> tuple[int, int]:
        """Count the values below `low` or above `high`, and all rows."""
        column = self.columns[name]
        x, (least, greatest) = against(SqlColumn(column.sql, column.kind), [low, high])
        present = SqlColumn(column.sql, column.kind).present
        beyond = f"{present} AND ({x} < {least} OR {x} > {greatest})"
        fetched = self.aggregate(f"count(*) FILTER (WHERE {beyond}) AS beyond, count(*) AS n")
        return int(fetched["beyond"][0]), int(fetched["n"][0])

    def masked(self, how: Mapping[str, How], connection: Connection | None) -> Relation:
        """Return the masked rows, in the order of the rows.

        Lookups are stored as tables on the connection; without one they are part of the query itself, and
        nothing is left on the connection of the relation.
        """
        finder = _Finder(connection)
        own, drawn, selected = ["*"], ["*"], []
        for i, name in enumerate(self.names):
            x, sql = f"c{i}", how.get(name, f"c{i}")
            kind = self.columns[name].kind if name in self.columns else "string"
            if isinstance(sql, Draw):
                if sql.own_places is not None:
                    found = finder.found(sql.own_places, SqlColumn(x, kind), f"own{i}")
                    own.append(f"{found} AS {sql.own}")
                if sql.thresholds is not None:
                    own.append(f"{finder.listed(sql, f'listed{i}')} AS {sql.listed}")
                drawn.append(f"{sql.place} AS {sql.drawn}")
                x, kind, sql = sql.drawn, "integer", sql.masked
            if isinstance(sql, Lookup):
                sql = finder.found(sql, SqlColumn(x, kind), f"lookup{i}")
            finder.order_lost = finder.order_lost or _LIST in sql
            selected.append(f"{sql} AS c{i}")
        relation = self.relation
        if finder.order_lost:
            relation = relation.project("*, row_number() OVER () AS place")
            selected.append("place")
        for columns in (own, drawn):
            if len(columns) > 1:
                relation = relation.project(", ".join(columns))
        relation = relation.project(", ".join(selected))
        if not finder.order_lost:
            return relation
        return relation.order("place").project(", ".join(f"c{i}" for i in range(len(self.names))))


class _Finder:
    """Writes how values are found in tables and lists, and notes whether that loses the order of the rows."""

    def __init__(self, connection: Connection | None) -> None:
        self.connection, self.order_lost = connection, False

    def found(self, lookup: Lookup, column: SqlColumn, name: str) -> str:
        """Return what a lookup finds for a column; its table gets the name."""
        if not lookup.needs_join:
            sql = lookup.case(column)
            self.order_lost = self.order_lost or _LIST in sql
            return sql
        self.order_lost = True
        known = self._stored(lookup.packed_table(), name)
        return lookup.joined(column, f"(SELECT m.l FROM ({known}) AS m WHERE m.v = {column.sql})")

    def listed(self, draw: Draw, name: str) -> str:
        """Return the thresholds of noise: a constant, or what a table of the name joins to every row.

        DuckDB lays a constant out again for every two thousand rows, which takes time if it is long.
        """
        assert draw.thresholds is not None
        if draw.thresholds.size <= _MOST_IN_A_CONSTANT:
            return draw.listed_sql()
        self.order_lost = True
        return f"(SELECT m.t FROM ({self._stored(draw.listed_query(), name)}) AS m)"

    def _stored(self, query: str, name: str) -> str:
        """Return a query of the rows of another one, which are stored in a table where that is allowed."""
        if self.connection is None:
            return query
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {query}")
        return f"FROM {name}"


def noise_column(position: int) -> str:
    """Return what the uniform numbers are called that the noise of a column is drawn by."""
    return f"u{position}"


def masked_columns(rows: DuckDBRows) -> dict[str, How]:
    """Return how each column is masked: by a rule if possible, else value by value."""
    known = rows.extents()
    how: dict[str, How] = {}
    for name, mask in rows.masks.items():
        with naming(name):
            how[name] = "'*'"
            if name in known:  # not one that is suppressed
                column = rows.sql_column(name, known[name])
                if isinstance(mask, NoiseMask):
                    mask.channel(rows.values(name))  # for its checks
                    how[name] = drawn_column(mask, column)
                else:
                    how[name] = masked_column(mask, column, partial(rows.values, name))
    return how


def _typed(column: Column, sql_type: str) -> str:
    """Return a column in the type that its kind stands for; time stamps with a zone are in UTC."""
    x = column.sql
    if column.kind == "real" and column.cast == "STRING":  # a cast from decimals would round twice
        return f"CAST(CAST({x} AS VARCHAR) AS DOUBLE)"
    if column.kind == "datetime" and sql_type == _ZONED:
        return f"make_timestamp(epoch_us({x}))"
    if column.kind == "datetime" and sql_type == _NANOSECONDS:
        finer = f"CAST(CAST({x} AS TIMESTAMP) AS TIMESTAMP_NS) <> {x}"
        text = f"column {column.name!r} has time stamps finer than a microsecond: round them first"
        return f"CASE WHEN {finer} THEN error({quoted_text(text)}) ELSE CAST({x} AS TIMESTAMP) END"
    if column.kind == "integer" and column.cast == "STRING":
        text = f"column {column.name!r} holds integers beyond 64 bits (signed): cast it to text, or to real"
        fits = f"TRY_CAST({x} AS BIGINT)"
        return f"CASE WHEN {x} IS NOT NULL AND {fits} IS NULL THEN error({quoted_text(text)}) ELSE {fits} END"
    return f"CAST({x} AS {SQL_TYPES[column.kind]})"
