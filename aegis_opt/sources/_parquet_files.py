"""Parquet files as tables: one schema over all of them, and columns that are read when counted."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from aegis_opt.errors import SourceError
from aegis_opt.sources._column import kind_of
from aegis_opt.sources._csv_files import SHAPE, common_type
from aegis_opt.sources._database import ctrl_c_in_queries, open_database
from aegis_opt.sources._engine import first_lines
from aegis_opt.sources._names import quoted, quoted_text, same_but_for_case
from aegis_opt.sources._tables import SourceTable, with_partitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation


@dataclass(frozen=True)
class ParquetTable(SourceTable):
    """Parquet files; each count reads the two columns it needs.

    Files must agree on the names of their columns and on the kind of each column in use. (DuckDB alone would
    read all files as the first one has it, and silently round the 1.5 of a later one to 2.)
    """

    paths: tuple[str, ...]
    description: str
    partitions: Mapping[str, Set[str]]
    in_parts: ClassVar[bool] = True

    def raw_names(self) -> Iterable[object]:
        """Return the names in the schema, which SQL would change where they differ in case only."""
        return with_partitions([name for name, _ in self._schemas[0]], self.partitions, self.description)

    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:
        """Refer to the files; they are read column by column."""
        columns = self._schemas[0]
        for position in positions:
            if position < len(columns):
                self._check_same_kind(columns[position][0])
        by_name = any(schema != columns for schema in self._schemas)
        if by_name and same_but_for_case(name for name, _ in columns):
            raise SourceError(
                f"{self.description}: the files differ in the order or types of their columns, and some "
                "names differ in case only, which SQL cannot tell apart: rename those columns"
            )
        files = (
            f"read_parquet([{', '.join(quoted_text(glob.escape(p)) for p in self.paths)}], "
            f"union_by_name={by_name}, hive_partitioning={bool(self.partitions)}, hive_types_autocast=false)"
        )
        # DuckDB changes names that differ in case only; the keys of folders it puts last, in its own order
        known = [*connection.sql(f"FROM {files}").columns[: len(columns)], *self.partitions]
        types = {
            len(columns) + i: _type_of(connection, texts) for i, texts in enumerate(self.partitions.values())
        }
        chosen = [
            f"CAST({quoted(known[p])} AS {types[p]}) AS c{i}" if p in types else f"{quoted(known[p])} AS c{i}"
            for i, p in enumerate(positions)
        ]
        return connection.sql(f"SELECT {', '.join(chosen)} FROM {files}")  # one step: wide tables bind slowly

    @cached_property
    def _schemas(self) -> list[list[tuple[str, str]]]:
        """Names and SQL types of the columns of each file; all files must have the same names."""
        from aegis_opt._native import duckdb

        with open_database() as connection, ctrl_c_in_queries():
            try:
                schemas = [_schema(connection, path) for path in self.paths]
            except (duckdb.Error, UnicodeDecodeError) as error:  # the latter: its text holds damaged bytes
                raise SourceError(
                    f"{self.description} cannot be read as Parquet ({first_lines(error)}): the file is "
                    "damaged, cut short or of another format; get a whole copy, or leave it out"
                ) from error
        first = {name for name, _ in schemas[0]}
        for path, schema in zip(self.paths, schemas, strict=True):
            if odd := sorted(first ^ {name for name, _ in schema}):
                raise SourceError(
                    f"{path} has other columns than {self.paths[0]} (they differ in "
                    f"{', '.join(map(repr, odd))}): files read together need the same columns"
                )
        return schemas

    def _check_same_kind(self, name: str) -> None:
        """Refuse a column whose kind changes from file to file; widths of numbers may."""
        types = [dict(schema)[name] for schema in self._schemas]
        known = [(path, t) for path, t in zip(self.paths, types, strict=True) if t != '"NULL"']
        for path, sql_type in known[1:]:
            if _family(sql_type) != _family(known[0][1]):
                raise SourceError(
                    f"{self.description}: column {name!r} is {known[0][1]} in {known[0][0]} and {sql_type} "
                    f"in {path}: convert one of them, or read the files yourself, with the type you want, "
                    "and pass that table"
                )


def _family(sql_type: str) -> object:
    """Return what must not change: the kind, and for time stamps whether they have a zone."""
    found = kind_of(sql_type)
    return sql_type if found is None else (found[0], "ZONE" in sql_type)


def _schema(connection: Connection, path: str) -> list[tuple[str, str]]:
    """Return names and types of a file's columns, without the fields of nested ones."""
    query = "SELECT name, num_children, duckdb_type FROM parquet_schema(?)"
    rows = iter(connection.execute(query, [glob.escape(path)]).fetchall())
    columns = []
    for _ in range(next(rows)[1]):
        name, children, sql_type = next(rows)
        columns.append((name, sql_type))
        pending = children or 0
        while pending:
            pending += (next(rows)[1] or 0) - 1
    return columns


def _type_of(connection: Connection, texts: Set[str]) -> str:
    """Return the SQL type of a partition's values, by the same rule as for CSV."""
    if not texts:
        return "VARCHAR"
    values = ", ".join(f"({quoted_text(text)})" for text in sorted(texts))
    found = connection.execute(f"SELECT DISTINCT {SHAPE} FROM (VALUES {values}) AS v(t)").fetchall()
    return common_type({shape for (shape,) in found})
