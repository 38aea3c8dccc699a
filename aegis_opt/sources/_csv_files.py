"""CSV files as tables: types that follow from all values, not from the first ones."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from aegis_opt.errors import SourceError
from aegis_opt.sources._csv_header import CsvHeader, check_unpacks
from aegis_opt.sources._names import quoted, quoted_text
from aegis_opt.sources._tables import SourceTable, with_partitions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation

# What a text looks like -> the narrowest SQL type of that shape, tried in this order. Casts alone are too
# generous: they turn 01 into 1 and 1.5 into the integer 2, and drop times of day.
_STAMP = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_SHAPES = {
    "BIGINT": r"[+-]?(0|[1-9]\d*)",
    "DIGITS": r"[+-]?\d+",  # leading zeros, or beyond 64 bits: an identifier rather than a quantity
    "DOUBLE": r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:nan|inf|infinity)",
    "BOOLEAN": r"(?i:true|false)",
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIMESTAMP": _STAMP,
    "TIMESTAMPTZ": _STAMP + r"(Z|[+-]\d\d(:\d\d)?)",
}
_WRITTEN = {"\n": "\\n", "\r\n": "\\r\\n", "\r": "\\r"}  # ends of lines as DuckDB's option has them
_TOGETHER = 8  # columns whose texts are looked at in one query
_TOGETHER_WHOLE = 32  # and whose texts are compared with whole numbers
_SAMPLE = 2048  # records, which rule out whole numbers in most columns that hold other values
_WIDER = {frozenset({"BIGINT", "DOUBLE"}): "DOUBLE", frozenset({"DATE", "TIMESTAMP"}): "TIMESTAMP"}
_WORDS = {
    "BIGINT": "integer",
    "DOUBLE": "real",
    "BOOLEAN": "true/false",
    "DATE": "a date",
    "TIMESTAMP": "a time stamp",
    "TIMESTAMPTZ": "a time stamp with a zone",
    "VARCHAR": "text",
}


@dataclass(frozen=True)
class CsvTable(SourceTable):
    """CSV files in UTF-8 with a header line.

    A column's type follows from *all* its values: integer, real, true/false, ISO 8601 date or time stamp,
    else text. Numbers with leading zeros (zip codes) and integers beyond 64 bits stay text, an empty
    field is missing. (DuckDB's own type detection looks at the first 20,480 rows only and then
    silently rounds a later 1.5 to 2 in a column it took for integers.)
    """

    paths: tuple[str, ...]
    description: str
    partitions: Mapping[str, Set[str]]
    separator: str | None

    way_out: ClassVar[str] = (
        "Correct the file (every row has as many fields as the header, lines end alike, all in UTF-8), "
        "or read it yourself and pass a pandas, polars or Arrow table"
    )

    def raw_names(self) -> Iterable[object]:
        """Return the header's names, an empty one as column<position>, and those of key=value folders."""
        first = self._headers[0]
        for path, header in zip(self.paths, self._headers, strict=True):
            if (header.names, header.separator) != (first.names, first.separator):
                what = "another separator" if header.names == first.names else "other columns"
                if header.names != first.names and sorted(header.names) == sorted(first.names):
                    what = "another order of columns"
                raise SourceError(
                    f"{path} has {what} than {self.paths[0]} ({header} against {first}): files read together "
                    "need the same header"
                )
        names = [name or f"column{i}" for i, name in enumerate(first.names)]
        return with_partitions(names, self.partitions, self.description)

    @cached_property
    def _headers(self) -> list[CsvHeader]:
        """What the first line of each file says; what follows it can be unpacked."""
        headers = [CsvHeader.of(path, self.separator) for path in self.paths]
        for path in self.paths:
            check_unpacks(path)
        return headers

    def select(
        self, connection: Connection, positions: Sequence[int], as_text: Collection[int] = ()
    ) -> Relation:
        """Parse the files once, as text, then find each column's type and cast it, except those `as_text`."""
        names = self._headers[0].names
        fields = [f"field {i}" for i in range(len(names))]
        columns = [*fields, *self.partitions]
        chosen = [f"{quoted(columns[p])} AS c{i}" for i, p in enumerate(positions)]
        if len(self.paths) > 1:
            paths = ", ".join(map(quoted_text, self.paths))
            chosen.append(f'CAST(list_position([{paths}], "file name") - 1 AS INTEGER) AS file')
        self._read(connection, f"CREATE TABLE texts AS SELECT {', '.join(chosen)} FROM", fields)
        self._check_none_lost(connection)
        every_name = [*names, *self.partitions]
        untyped = {i: str(every_name[p]) for i, p in enumerate(positions) if p not in as_text}
        types = self._types(connection, untyped)
        typed = [
            f"CAST(trim(c{i}) AS {types[i]}) AS c{i}" if types.get(i, "VARCHAR") != "VARCHAR" else f"c{i}"
            for i in range(len(positions))
        ]
        connection.execute(f"CREATE TABLE source AS SELECT {', '.join(typed)} FROM texts; DROP TABLE texts")
        return connection.table("source")

    def _read(self, connection: Connection, into: str, fields: Sequence[str]) -> None:
        """Parse the files by all threads; where that fails, by one.

        A thread that begins within a quoted field takes a line break in it for the end of a record. DuckDB
        sees that threads disagree, and refuses large files that are sound. One thread alone drops a quoted
        field that never ends, so its records are counted again.
        """
        from aegis_opt._native import duckdb

        try:
            connection.execute(f"{into} {self._files(fields)}")
        except (duckdb.InvalidInputException, duckdb.NotImplementedException) as error:
            connection.execute(f"{into} {self._files(fields, parallel=False)}")
            read = connection.execute("SELECT count(*) FROM texts").fetchall()[0][0]
            counted = [header.n_records(path) for path, header in zip(self.paths, self._headers, strict=True)]
            odd = [path for path, found in zip(self.paths, counted, strict=True) if found is None]
            if odd and isinstance(error, duckdb.NotImplementedException):  # which is about threads only
                raise SourceError(
                    f"{odd[0]} cannot be read: a quote is not closed, or has other text beside it. Close all "
                    'quotes, and write a quote within a field as two, in a field that is quoted itself ("")'
                ) from error
            if odd or read != sum(found or 0 for found in counted):
                raise

    def _files(self, fields: Sequence[str], *, parallel: bool = True) -> str:
        """Return the SQL that reads the files, every field as text.

        How lines end is told: DuckDB takes the first line break for it, though it be part of a quoted name.
        """
        texts = ", ".join(f"{quoted_text(field)}: 'VARCHAR'" for field in fields)
        options = {
            "header": "true",
            "auto_detect": "false",
            "columns": f"{{{texts}}}",
            "delim": quoted_text(self._headers[0].separator),
            "quote": "'\"'",
            "escape": "'\"'",
            "comment": "''",
            "filename": "'file name'",
            "hive_partitioning": "true" if self.partitions else "false",
            "hive_types_autocast": "false",
            "parallel": str(parallel).lower(),
        }
        readers = []
        for line_end, group in groupby(
            zip(self.paths, self._headers, strict=True), key=lambda each: each[1].line_end
        ):
            paths = ", ".join(quoted_text(glob.escape(path)) for path, _ in group)
            told = options | ({"new_line": quoted_text(_WRITTEN[line_end])} if line_end else {})
            readers.append(
                f"read_csv([{paths}], {', '.join(f'{key} = {value}' for key, value in told.items())})"
            )
        return readers[0] if len(readers) == 1 else f"({' UNION ALL '.join(f'FROM {r}' for r in readers)})"

    def _check_none_lost(self, connection: Connection) -> None:
        """Refuse a file that has more than its header, and of which DuckDB yet read no record."""
        file = "file" if len(self.paths) > 1 else "0"
        read = {number for (number,) in connection.execute(f"SELECT DISTINCT {file} FROM texts").fetchall()}
        for number, path in enumerate(self.paths):
            if number not in read and self._headers[number].has_more(path):
                raise SourceError(
                    f"{path}: no record could be read, though there is text below the header: let all lines "
                    "end alike, and close all quotes"
                )

    def _types(self, connection: Connection, names: Mapping[int, str]) -> dict[int, str]:
        """Return, by position, the narrowest SQL type that holds all texts of a column as they are.

        Whole numbers, the commonest, are found in a pass of their own. The other columns are looked at a few
        per query: a query has a cost of its own, and the texts of all columns might not fit into memory.
        """
        whole = list(names)
        for records in (f"(SELECT * FROM texts LIMIT {_SAMPLE})", "texts"):  # the sample rules out most
            whole = self._whole(connection, whole, records)
        found = dict.fromkeys(whole, "BIGINT")
        places = [i for i in names if i not in found]
        file = "file" if len(self.paths) > 1 else "0"
        shapes: dict[int, dict[int, set[str]]] = {i: {} for i in places}
        for first in range(0, len(places), _TOGETHER):
            distinct = " UNION ALL ".join(
                f"SELECT DISTINCT {i} AS place, c{i} AS t, {file} AS file FROM texts WHERE c{i} IS NOT NULL"
                for i in places[first : first + _TOGETHER]
            )
            trimmed = f"SELECT place, trim(t) AS t, file FROM ({distinct})"
            query = f"SELECT DISTINCT place, file, {SHAPE} FROM ({trimmed}) ORDER BY place, file"
            for i, number, shape in connection.execute(query).fetchall():
                shapes[i].setdefault(number, set()).add(shape)
        for i, seen in shapes.items():
            found[i] = common_type(set().union(*seen.values()))
            if found[i] == "VARCHAR":
                self._check_same_type(names[i], seen)
        return found

    def _whole(self, connection: Connection, places: Sequence[int], records: str) -> list[int]:
        """Return the columns all of whose texts are whole numbers as DuckDB writes them."""
        same = "CAST(TRY_CAST(c{0} AS BIGINT) AS VARCHAR) IS NOT DISTINCT FROM c{0}"
        found: list[int] = []
        for first in range(0, len(places), _TOGETHER_WHOLE):
            some = places[first : first + _TOGETHER_WHOLE]
            wanted = ", ".join(f"count(c{i}) > 0 AND bool_and({same.format(i)})" for i in some)
            answers = connection.execute(f"SELECT [{wanted}] FROM {records}").fetchall()[0][0]
            found += [i for i, is_whole in zip(some, answers, strict=True) if is_whole]
        return found

    def _check_same_type(self, name: str, shapes: Mapping[int, Set[str]]) -> None:
        """Refuse a column that is text only because its type changes from file to file."""
        if set().union(*shapes.values()) <= {"BIGINT", "DIGITS"}:
            return  # no text at all, or identifiers: some files happen to have none with a leading zero
        first, *others = [(self.paths[number], common_type(found)) for number, found in shapes.items()]
        for path, sql_type in others:
            if sql_type != first[1]:
                raise SourceError(
                    f"{self.description}: column {name!r} is {_WORDS[first[1]]} in {first[0]} and "
                    f"{_WORDS[sql_type]} in {path}: correct one of them, or read the files yourself, with "
                    "the type you want, and pass that table"
                )


def common_type(shapes: Set[str]) -> str:
    """Return the narrowest SQL type that holds texts of these shapes."""
    if len(shapes) == 1 and not shapes & {"DIGITS"}:
        return next(iter(shapes))
    return _WIDER.get(frozenset(shapes), "VARCHAR")


def _shape() -> str:
    """Return the SQL that finds the shape of a text t: a type only if the text can be cast to it."""
    cases = []
    for sql_type, pattern in _SHAPES.items():
        castable = "" if sql_type == "DIGITS" else f" AND TRY_CAST(t AS {sql_type}) IS NOT NULL"
        cases.append(f"WHEN regexp_full_match(t, '{pattern}'){castable} THEN '{sql_type}'")
    return f"CASE {' '.join(cases)} ELSE 'VARCHAR' END"


SHAPE = _shape()
