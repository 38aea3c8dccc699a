"""The table of a certificate in a database: every candidate of every attribute is a column of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._interrupts import interruptible
from aegis_opt.errors import CertificateError, UnknownColumn
from aegis_opt.masks import Grouping, group_attribute
from aegis_opt.privacy._proof._document import Statement
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._duckdb_engine import connect
from aegis_opt.sources._engine import first_lines
from aegis_opt.sources._scan import open_engine

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

T = TypeVar("T")
IntArray = npt.NDArray[np.int64]

_MOST_COLUMNS = 500  # of groups that are stored; DuckDB takes a MB and more for each while it makes them
_MOST_CELLS = 1 << 24  # of classes by sensitive values that are made at a time


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """A table t in DuckDB, of which a row stands for n records.

    y is the label, s the sensitive value, r0 the value of attribute 0, a0_1 its group under candidate 1 where
    that is stored.
    """

    connection: Connection
    groupings: list[list[Grouping]]  # of each attribute and candidate, for the masked values
    stored: frozenset[tuple[int, int]]  # attributes and candidates
    n_labels: int
    n_sensitive: int

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Run a query and fetch its rows."""
        return self._run(lambda: self.connection.execute(query).fetchall())

    def columns(self, query: str) -> dict[str, IntArray]:
        """Run a query and fetch its columns, which hold whole numbers."""
        fetched = self._run(lambda: self.connection.execute(query).fetchnumpy())
        return {name: np.asarray(column, dtype=np.int64) for name, column in fetched.items()}

    def _run(self, work: Callable[[], T]) -> T:
        """Run a query so that Ctrl-C ends it: in the main thread, DuckDB would wait for its own threads."""
        return interruptible(work, self.connection.interrupt, stop_seconds=None)

    def group(self, attribute: int, candidate: int, goes: IntArray | None = None) -> str:
        """Return the SQL of the group under a candidate, or of where its groups go."""
        if (attribute, candidate) in self.stored:
            of, listed = f"a{attribute}_{candidate}", goes
        else:
            groups = self.groupings[attribute][candidate].groups
            of, listed = f"r{attribute}", groups if goes is None else goes[groups]
        return of if listed is None else f"([{', '.join(map(str, listed.tolist()))}])[{of} + 1]"

    def joint(self, attribute: int) -> IntArray:
        """Count the records per value of an attribute and label."""
        found = self.columns(f"SELECT r{attribute} AS g, y, sum(n) AS m FROM t GROUP BY g, y")
        joint = np.zeros((int(found["g"].max()) + 1, self.n_labels), dtype=np.int64)
        joint[found["g"], found["y"]] = found["m"]
        return joint

    def whole(self) -> IntArray:
        """Count the records per sensitive value."""
        return self._by_sensitive(self.rows("SELECT s, sum(n) FROM t GROUP BY s"))

    def box(self, conditions: Sequence[str]) -> IntArray:
        """Count the records that meet conditions, per sensitive value."""
        where = " AND ".join(conditions)
        return self._by_sensitive(self.rows(f"SELECT s, sum(n) FROM t WHERE {where} GROUP BY s"))

    def _by_sensitive(self, rows: Sequence[tuple[Any, ...]]) -> IntArray:
        found = np.zeros(self.n_sensitive, dtype=np.int64)
        for value, n in rows:
            found[value] += int(n)
        return found

    def classes(self, keys: Sequence[str]) -> Iterator[IntArray]:
        """Count the records per class of some keys and sensitive value, some classes at a time."""
        names = [f"k{i}" for i in range(len(keys))]
        listed = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
        grouped = f"SELECT {listed}, s, sum(n) AS m FROM t GROUP BY ALL"
        found = self.columns(
            f"SELECT dense_rank() OVER (ORDER BY {', '.join(names)}) - 1 AS c, s, m FROM ({grouped}) "
            "ORDER BY c"
        )
        own, value, n = found["c"], found["s"], found["m"]
        step = max(1, _MOST_CELLS // self.n_sensitive)
        for start in range(0, int(own[-1]) + 1, step):
            part = slice(*np.searchsorted(own, [start, start + step]))
            table = np.zeros((int(own[part][-1]) + 1 - start, self.n_sensitive), dtype=np.int64)
            table[own[part] - start, value[part]] = n[part]
            yield table


@contextmanager
def open_table(source: object, stated: Statement) -> Iterator[CertifiedTable]:
    """Read the columns of a table, count equal records, and mask them in a database of their own."""
    engine = open_engine(source)
    known = engine.names()
    names = [stated.label, *(own.name for own in stated.attributes)]
    if stated.sensitive not in (None, stated.label):
        names.append(str(stated.sensitive))
    for name in names:
        if name not in known:
            raise UnknownColumn("column", name, known, "The certificate speaks of it.")
    with engine.open([known.index(name) for name in names]) as records:
        columns = [Column.of(name, i, records.types[i], engine.description) for i, name in enumerate(names)]
        fetched = records.query(sql.group_counts(columns, [column.sql for column in columns]))
    encoded = [column.encode(fetched[column.sql]) for column in columns]
    values = {f"v{i}": codes for i, (codes, _) in enumerate(encoded)}
    frame = pd.DataFrame({**values, "n": fetched["n"].astype(np.int64)})
    groupings = [
        [group_attribute(mask, own.name, encoded[i][1]) for mask in own.masks]
        for i, own in enumerate(stated.attributes, start=1)
    ]
    sensitive = "v0" if stated.sensitive in (None, stated.label) else f"v{len(names) - 1}"
    if stated.sensitive is None:
        sensitive = "0"
    n_sensitive = 1 if stated.sensitive is None else len(encoded[int(sensitive[1:])][1])
    stored = sorted(_used(stated))[:_MOST_COLUMNS]
    with connect() as connection, within_memory(engine.description):
        connection.register("given", frame)
        masked = []
        joins = []
        for i, mine in enumerate(groupings):
            table = pd.DataFrame({f"a{i}_{j}": mine[j].groups for own, j in stored if own == i})
            connection.register(f"m{i}", table.assign(v=np.arange(len(mine[0].groups))))
            masked += [f"given.v{i + 1} AS r{i}", *(f"m{i}.{name}" for name in table.columns)]
            joins.append(f"JOIN m{i} ON given.v{i + 1} = m{i}.v")
        connection.execute(
            f"CREATE TABLE t AS SELECT given.v0 AS y, {sensitive} AS s, given.n AS n, {', '.join(masked)} "
            f"FROM given {' '.join(joins)}"
        )
        found = CertifiedTable(connection, groupings, frozenset(stored), len(encoded[0][1]), n_sensitive)
        records_found = int(found.rows("SELECT coalesce(sum(n), 0) FROM t")[0][0])
        if records_found != stated.records:
            raise CertificateError(
                f"the certificate is of a table of {stated.records:,} records, and {engine.description} has "
                f"{records_found:,}: give the table that was searched"
            )
        yield found


def _used(stated: Statement) -> set[tuple[int, int]]:
    """Return the attributes and candidates whose groups classes are made of: of a join, the first."""
    points = [*stated.rejected, *([part[0] for part in clause.point] for clause in stated.clauses)]
    used = {pair for point in points for pair in zip(stated.quasi, point, strict=True)}
    return used | {(i, stated.winner[i]) for i in stated.quasi}


@contextmanager
def within_memory(description: str) -> Iterator[None]:
    """Refuse a certificate that needs more memory to verify than there is."""
    from aegis_opt._native import duckdb

    try:
        yield
    except (MemoryError, duckdb.Error) as error:
        raise CertificateError(
            f"the certificate cannot be verified against {description}: {first_lines(error)}. Give this process "
            "more memory"
        ) from error
