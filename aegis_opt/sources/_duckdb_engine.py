"""Counting with DuckDB, embedded: files, frames, Arrow tables and relations, also larger than memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from aegis_opt._files import temporary_folder
from aegis_opt._interrupts import interruptible
from aegis_opt.errors import InvalidOption, SourceError
from aegis_opt.sources._database import ctrl_c_in_queries, open_database, without_progress_bar
from aegis_opt.sources._engine import CountingEngine, Fetched, Records, first_lines
from aegis_opt.sources._files import open_files
from aegis_opt.sources._tables import ArrowTable, PandasTable, PolarsTable, RelationTable, SourceTable

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_WHOLE = "records"  # the view of all columns; parts of them are numbered
_PART = 50  # columns that a query binds in about the time that it takes with one


def open_table(source: object) -> SourceTable:
    """Choose the reader of a source by its type."""
    from aegis_opt._native import duckdb

    if isinstance(source, str | os.PathLike):
        return open_files(source)
    if isinstance(source, pd.DataFrame):
        return PandasTable(source)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return RelationTable(source)
    package, name = type(source).__module__.partition(".")[0], type(source).__name__
    if (package, name) == ("polars", "DataFrame"):
        return PolarsTable(source)
    if (package, name) == ("pyarrow", "Table"):
        return ArrowTable(source)
    hints = {"polars.LazyFrame": " (call .collect() on it)", "pyspark.DataFrame": " (call .to_spark() on it)"}
    kind = f"{package}.{name}"
    raise SourceError(
        f"cannot read records from {kind}{hints.get(kind, '')}: give a path to CSV, TSV or Parquet, "
        "a pandas or polars DataFrame, an Arrow table, a DuckDB relation or a Spark DataFrame"
    )


@contextmanager
def connect(memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that writes to no terminal and whose temporary files go with it."""
    with temporary_folder() as folder:
        limit = {} if memory is None else {"memory_limit": memory}
        with open_database(temp_directory=folder, **limit) as connection, ctrl_c_in_queries():
            without_progress_bar(connection)
            # Every count opens its files anew: the connection remembers what their footers say
            connection.execute("SET parquet_metadata_cache = true")
            yield connection


def write_in_worker_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Let the threads that compute records write them, too, so that an interrupted write ends.

    DuckDB 2.0 writes in threads of their own. Where a query is interrupted, it waits for them while it holds
    a lock that they need, and never returns.
    """
    known = "SELECT count(*) FROM duckdb_settings() WHERE name = 'async_threads'"
    if connection.execute(known).fetchall() != [(0,)]:  # older versions always write so
        connection.execute("SET async_threads = 0")


@dataclass(frozen=True)
class DuckDBEngine(CountingEngine):
    """A source that DuckDB counts."""

    table: SourceTable
    memory: str | None = None  # such as "1GB"; what does not fit is kept in a temporary folder meanwhile

    def __post_init__(self) -> None:
        if self.memory is not None and isinstance(self.table, RelationTable):
            raise InvalidOption(
                "a DuckDB relation is counted on its own connection: set its memory_limit there"
            )

    @property
    def description(self) -> str:  # type: ignore[override]
        """Name of the source in messages."""
        return self.table.description

    def names(self) -> tuple[str, ...]:
        """Return the names of the table's columns."""
        return self.table.names()

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the order of the texts of each column whose type declares one."""
        return self.table.orders()

    @contextmanager
    def open(self, positions: Sequence[int]) -> Iterator[Records]:
        """Connect to a database of its own."""
        with connect(self.memory) as connection:
            yield _DuckDBRecords(self.table, connection, positions)


class _DuckDBRecords(Records):
    """Columns of a table as a relation.

    DuckDB binds all columns of a relation for each query, so that the time to count many columns would grow
    with their square. A query about columns of one part of a wide table sees that part only, and the first
    column, which is the label.
    """

    def __init__(
        self, table: SourceTable, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]
    ) -> None:
        self.description = table.description
        self._way_out = table.way_out
        self._table, self._connection, self._positions = table, connection, positions
        # A relation that was given belongs to a connection that is not ours to interrupt, or to put a view in
        self._own = None if isinstance(table, RelationTable) else connection
        self.in_order = self._own is not None
        self._interrupt = None if self._own is None else connection.interrupt
        self._relations: dict[str, duckdb.DuckDBPyRelation] = {}
        whole = self._run(lambda: self._open(_WHOLE, range(len(positions))))
        self.types = [str(sql_type) for sql_type in whole.types]

    def query(self, sql: str) -> Fetched:
        """Run the query on the relation's own connection; nothing stays there."""
        return self._run(lambda: self._fetch(sql))

    def _fetch(self, sql: str) -> Fetched:
        name, columns = self._part(sql)
        if name not in self._relations:
            self._open(name, columns)
        relation = self._relations[name]
        text = sql.format(records=name)
        result: Any = relation.query(name, text) if self._own is None else self._own.execute(text)
        fetched: Fetched = result.fetchnumpy()
        return fetched

    def _part(self, sql: str) -> tuple[str, Sequence[int]]:
        """Name the part of the columns that has all columns of a query; the whole, where no part has."""
        n = len(self._positions)
        if self._table.in_parts and n > _PART:
            parts = {int(i) // _PART for i in re.findall(r"\bc(\d+)\b", sql) if i != "0"}
            if len(parts) == 1:
                part = parts.pop()
                columns = range(part * _PART, min(n, (part + 1) * _PART))
                return f"{_WHOLE}{part}", columns if part == 0 else [0, *columns]
        return _WHOLE, range(n)

    def _open(self, name: str, columns: Sequence[int]) -> duckdb.DuckDBPyRelation:
        relation = self._table.select(self._connection, [self._positions[i] for i in columns])
        if list(columns) != list(range(len(columns))):
            relation = relation.project(", ".join(f"c{j} AS c{i}" for j, i in enumerate(columns)))
        if self._own is not None:
            relation.create_view(name)  # every query would otherwise make one
        self._relations[name] = relation
        return relation

    def micros(self, position: int) -> str:
        """Return DuckDB's words for the microseconds since 1970."""
        return f"epoch_us(c{position})"

    def hash(self, keys: Sequence[str]) -> str:
        """Return DuckDB's hash, without its highest bit."""
        return f"CAST(hash({', '.join(keys)}) >> 1 AS BIGINT)"

    def _run(self, work: Callable[[], T]) -> T:
        from aegis_opt._native import duckdb

        try:
            return (
                work() if self._interrupt is None else interruptible(work, self._interrupt, stop_seconds=None)
            )
        except duckdb.OutOfMemoryException as error:
            raise SourceError(
                f"{self.description}: the memory allowed is too little to count it "
                f"({first_lines(error)}): raise memory"
            ) from error
        except (duckdb.Error, UnicodeDecodeError) as error:  # the latter: its text holds damaged bytes
            raise SourceError(
                f"{self.description} cannot be read: {first_lines(error)}. {self._way_out}"
            ) from error
