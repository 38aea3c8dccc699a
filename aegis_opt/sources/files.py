"""CSV and Parquet files as tables."""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aegis_opt.errors import SourceError
from aegis_opt.sources.tables import Table, project

if TYPE_CHECKING:
    import duckdb

_CSV = (".csv", ".csv.gz")
_TSV = (".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")

# What a text looks like -> the narrowest SQL type of that shape, tried in this order. Casts alone are too
# generous: they turn 01 into 1 and 1.5 into the integer 2, and drop times of day.
_INTEGER = r"[+-]?(0|[1-9]\d*)"
_STAMP = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_SHAPES = {
    "BIGINT": _INTEGER,
    "VARCHAR": _INTEGER,  # beyond 64 bits: an identifier rather than a quantity
    "DOUBLE": r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:nan|inf|infinity)",
    "BOOLEAN": r"(?i:true|false)",
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIMESTAMP": _STAMP,
    "TIMESTAMPTZ": _STAMP + r"(Z|[+-]\d\d(:\d\d)?)",
}
_WIDER = {frozenset({"BIGINT", "DOUBLE"}): "DOUBLE", frozenset({"DATE", "TIMESTAMP"}): "TIMESTAMP"}


def open_files(pattern: str | os.PathLike[str]) -> Table:
    """Find the files of a path or glob pattern and the reader that their ending asks for."""
    text = os.fspath(pattern)
    if os.path.exists(text):
        if os.path.isdir(text):
            raise SourceError(f"{text} is a folder: give a file, or a pattern such as {text}/*.parquet")
        paths = [text]
    else:
        paths = sorted(p for p in glob.glob(text, recursive=True) if os.path.isfile(p))
        if not paths:
            raise SourceError(_not_found(text))
    for endings, separator in ((_CSV, None), (_TSV, "\t")):
        if all(p.lower().endswith(endings) for p in paths):
            return CsvTable(tuple(paths), text, separator)
    if all(p.lower().endswith(_PARQUET) for p in paths):
        return ParquetTable(tuple(paths), text)
    known = ", ".join((*_CSV, *_TSV, *_PARQUET))
    raise SourceError(
        f"{text}: cannot tell the format; files that end alike in one of {known} work. "
        "Rename or convert it, or read it yourself and pass a pandas, polars or Arrow table"
    )


def _not_found(text: str) -> str:
    if glob.has_magic(text):
        return f"no file matches {text!r}: check the pattern and the current folder ({os.getcwd()})"
    path = Path(text)
    siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    close = difflib.get_close_matches(path.name, siblings, n=1)
    hint = f": did you mean {str(path.parent / close[0])!r}?" if close else ""
    return f"file not found: {text!r} (current folder: {os.getcwd()}){hint}"


@dataclass(frozen=True)
class CsvTable(Table):
    """CSV files in UTF-8 with a header line.

    A column's type follows from *all* its values: integer, real, true/false, ISO 8601 date or time stamp,
    else text. Numbers with leading zeros (zip codes) and integers beyond 64 bits stay text, an empty
    field is missing. (DuckDB's own type detection looks at the first 20,480 rows only and then
    silently rounds a later 1.5 to 2 in a column it took for integers.)
    """

    paths: tuple[str, ...]
    description: str
    separator: str | None

    def raw_names(self) -> Iterable[object]:
        """Return the header's names, an empty one as column<position>."""
        first, *others = [self._header(path) for path in self.paths]
        for path, header in zip(self.paths[1:], others, strict=True):
            if header != first:
                raise SourceError(
                    f"{path} has other columns than {self.paths[0]} ({', '.join(header[0])} against "
                    f"{', '.join(first[0])}): files read together need the same header"
                )
        return [name or f"column{i}" for i, name in enumerate(first[0])]

    def select(
        self,
        connection: duckdb.DuckDBPyConnection,
        positions: Sequence[int],
        as_text: Collection[int] = (),
    ) -> duckdb.DuckDBPyRelation:
        """Parse the files once, as text, then find each column's type and cast it, except those `as_text`."""
        names, separator = self._header(self.paths[0])
        relation = connection.read_csv(
            [glob.escape(path) for path in self.paths],  # type: ignore[arg-type]
            header=True,
            auto_detect=False,
            columns={f"f{i}": "VARCHAR" for i in range(len(names))},
            delimiter=separator,
            quotechar='"',
            escapechar='"',
            comment="",
        )
        project(relation, positions).create("texts")
        typed = []
        for i, position in enumerate(positions):
            sql_type = "VARCHAR" if position in as_text else _type_of(connection, f"c{i}")
            typed.append(f"CAST(trim(c{i}) AS {sql_type}) AS c{i}" if sql_type != "VARCHAR" else f"c{i}")
        connection.table("texts").project(", ".join(typed)).create("source")
        connection.execute("DROP TABLE texts")
        return connection.table("source")

    def _header(self, path: str) -> tuple[list[str], str]:
        """Return the names in the header line and the separator: the candidate that splits it most."""
        opener = gzip.open if path.lower().endswith(".gz") else open
        candidates = [self.separator] if self.separator else [",", ";", "\t", "|"]
        best: tuple[list[str], str] = [], ""
        try:
            for separator in candidates:
                with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
                    header = next(csv.reader(file, delimiter=separator), [])
                if len(header) > len(best[0]):
                    best = header, separator
        except (OSError, UnicodeDecodeError, csv.Error, EOFError) as error:
            raise SourceError(
                f"{path} cannot be read as CSV ({error}): save it as UTF-8 text with a header line"
            ) from error
        if not best[0]:
            raise SourceError(f"{path} is empty: a CSV file needs a header line and at least one record")
        return best


def _type_of(connection: duckdb.DuckDBPyConnection, column: str) -> str:
    """Return the narrowest SQL type that holds all texts of a column as they are."""
    cases = " ".join(
        f"WHEN regexp_full_match(t, '{shape}') AND TRY_CAST(t AS {sql_type}) IS NOT NULL THEN '{sql_type}'"
        for sql_type, shape in _SHAPES.items()
    )
    distinct = f"SELECT DISTINCT {column} AS t FROM texts WHERE {column} IS NOT NULL"
    query = f"SELECT DISTINCT CASE {cases} ELSE 'VARCHAR' END FROM (SELECT trim(t) AS t FROM ({distinct}))"
    found = {sql_type for (sql_type,) in connection.execute(query).fetchall()}
    if len(found) == 1:
        return str(found.pop())
    return _WIDER.get(frozenset(found), "VARCHAR")


@dataclass(frozen=True)
class ParquetTable(Table):
    """Parquet files; each count reads the two columns it needs."""

    paths: tuple[str, ...]
    description: str

    def raw_names(self) -> Iterable[object]:
        """Return the names in the schema: DuckDB would rename those that differ in case only."""
        import duckdb

        with duckdb.connect() as connection:
            try:
                query = "SELECT name, num_children FROM parquet_schema(?)"
                rows = iter(connection.execute(query, [glob.escape(self.paths[0])]).fetchall())
                columns = connection.read_parquet([glob.escape(p) for p in self.paths]).columns
            except duckdb.Error as error:
                raise SourceError(f"{self.description} cannot be read as Parquet: {error}") from error
        names = []
        for _ in range(next(rows)[1]):
            name, children = next(rows)
            names.append(name)
            pending = children or 0
            while pending:  # pass over the fields of a nested column
                pending += (next(rows)[1] or 0) - 1
        return [*names, *columns[len(names) :]]  # key=value folders give columns after those of the files

    def select(
        self, connection: duckdb.DuckDBPyConnection, positions: Sequence[int]
    ) -> duckdb.DuckDBPyRelation:
        """Refer to the files; they are read column by column."""
        return project(connection.read_parquet([glob.escape(p) for p in self.paths]), positions)
