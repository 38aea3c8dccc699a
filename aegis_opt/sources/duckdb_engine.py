"""Counting with DuckDB, embedded: one GROUP BY per column, and the counts as NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import SourceError
from aegis_opt.sources.counts import JointCounts
from aegis_opt.sources.files import open_files
from aegis_opt.sources.tables import ArrowTable, PandasTable, PolarsTable, RelationTable, Table

if TYPE_CHECKING:
    import duckdb

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_KINDS: dict[str, tuple[Kind, str | None]] = {  # DuckDB type -> kind, and what to cast the groups to
    **dict.fromkeys((*_INTEGERS, *("U" + t for t in _INTEGERS)), ("integer", "BIGINT")),
    **dict.fromkeys(("FLOAT", "DOUBLE", "DECIMAL"), ("real", "DOUBLE")),
    "BOOLEAN": ("boolean", None),
    "DATE": ("date", None),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), ("datetime", None)),
    "TIMESTAMP WITH TIME ZONE": ("datetime", None),  # fetched as UTC; a cast would use the session's zone
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID", "TIME", "JSON", '"NULL"'), ("string", "VARCHAR")),
}
_MAX_CELLS = 250_000_000  # 2 GB of counts: beyond it the label surely is no class label


def open_table(source: object) -> Table:
    """Choose the reader of a source by its type."""
    import duckdb

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
    hint = " (call .collect() on it)" if (package, name) == ("polars", "LazyFrame") else ""
    raise SourceError(
        f"cannot read records from {package}.{name}{hint}: give a path to CSV, TSV or Parquet, a pandas or "
        "polars DataFrame, an Arrow table or a DuckDB relation"
    )


def count_columns(
    table: Table, names: Sequence[str], label: str, attributes: Sequence[str]
) -> tuple[Domain, npt.NDArray[np.int64], dict[str, JointCounts]]:
    """Count records per label, and per value and label of each attribute.

    Parameters
    ----------
    table : Table
        Where the records are.
    names : sequence of str
        All of its columns.
    label, attributes : str, sequence of str
        Which of them to count.

    Returns
    -------
    tuple
        The label's domain, the records per label, and the joint table of each attribute.
    """
    import duckdb

    chosen = [label, *attributes]
    with duckdb.connect() as connection:
        try:
            relation = table.select(connection, [names.index(name) for name in chosen])
            columns = [
                SourceColumn(name, f"c{i}", table.description, str(relation.types[i]))
                for i, name in enumerate(chosen)
            ]
            label_domain, label_counts = _count_label(relation, columns[0])
            if len(label_counts) == 0:
                raise SourceError(f"{table.description} has no records: there is nothing to count")
            joint = {c.name: _count_joint(relation, c, columns[0]) for c in columns[1:]}
        except duckdb.Error as error:
            raise SourceError(
                f"{table.description} cannot be read: {first_lines(error)}. Correct the source, or "
                "read it yourself and pass a pandas, polars or Arrow table"
            ) from error
    return label_domain, label_counts, joint


class SourceColumn:
    """A column of the relation: its name in the source, its identifier in SQL, its kind."""

    def __init__(self, name: str, identifier: str, description: str, sql_type: str) -> None:
        self.name = name
        self.identifier = identifier
        self.description = description
        base = sql_type if sql_type.endswith("]") else sql_type.partition("(")[0]
        if base not in _KINDS:
            raise SourceError(
                f"{description}: column {name!r} is of type {sql_type}, which has no values to count "
                "(integers, reals, decimals, booleans, dates, time stamps and text have): "
                "leave it out, or cast it to text"
            )
        self.kind, self.cast = _KINDS[base]
        self.wide = base in ("HUGEINT", "UHUGEINT", "UBIGINT")

    def selected(self) -> str:
        """Return the SQL that selects the grouped values, cast after grouping: far fewer rows."""
        return self.identifier if self.cast is None else f"CAST({self.identifier} AS {self.cast})"

    def encode(self, fetched: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], Domain]:
        """Return the code of each value and the domain; NaN and NULL are one missing value, the last."""
        missing = np.ma.getmaskarray(fetched)
        data = np.ma.getdata(fetched)
        if self.kind == "real":
            missing = missing | np.isnan(data)
        present = data[~missing]
        if self.kind == "string":
            codes, values = pd.factorize(np.asarray(present, dtype=object), sort=True)
        else:
            if self.kind == "real":
                present = present + 0.0  # turns -0.0 into 0.0
            values, codes = np.unique(present, return_inverse=True)
        if self.kind == "datetime" and (values != values.astype("datetime64[us]")).any():
            raise SourceError(
                f"{self.description}: column {self.name!r} has time stamps finer than a "
                "microsecond: round them first"
            )
        all_codes = np.full(len(data), len(values), dtype=np.int64)
        all_codes[~missing] = codes
        kind: Kind = self.kind if len(values) else "string"  # nothing but missing: no type
        return all_codes, Domain(kind, values if len(values) else np.array([]), bool(missing.any()))


def _fetch(relation: duckdb.DuckDBPyRelation, columns: Sequence[SourceColumn]) -> dict[str, npt.NDArray[Any]]:
    """Group by the columns and fetch the groups with their counts n."""
    import duckdb

    keys = ", ".join(column.identifier for column in columns)
    groups = relation.aggregate(f"{keys}, count(*) AS n", keys)
    selected = ", ".join(f"{column.selected()} AS {column.identifier}" for column in columns)
    try:
        fetched: dict[str, npt.NDArray[Any]] = groups.project(f"{selected}, n").fetchnumpy()
    except duckdb.ConversionException as error:
        wide = [column for column in columns if column.wide]
        if not wide:
            raise
        raise SourceError(
            f"{wide[0].description}: column {wide[0].name!r} holds integers beyond 64 bits (signed): "
            "cast it to text if they are identifiers, or to real"
        ) from error
    return fetched


def column_domain(relation: duckdb.DuckDBPyRelation, column: SourceColumn) -> Domain:
    """Return the distinct values of one column."""
    return column.encode(_fetch(relation, [column])[column.identifier])[1]


def _count_label(
    relation: duckdb.DuckDBPyRelation, label: SourceColumn
) -> tuple[Domain, npt.NDArray[np.int64]]:
    fetched = _fetch(relation, [label])
    codes, domain = label.encode(fetched[label.identifier])
    counts = np.zeros(len(domain), dtype=np.int64)
    np.add.at(counts, codes, fetched["n"])
    return domain, counts


def _count_joint(
    relation: duckdb.DuckDBPyRelation, attribute: SourceColumn, label: SourceColumn
) -> JointCounts:
    fetched = _fetch(relation, [attribute, label])
    rows, domain = attribute.encode(fetched[attribute.identifier])
    # Every record has a value here (missing is one), so each attribute sees all labels
    classes, label_domain = label.encode(fetched[label.identifier])
    if len(domain) * len(label_domain) > _MAX_CELLS:
        raise SourceError(
            f"{attribute.description}: {len(domain):,} values of {attribute.name!r} times "
            f"{len(label_domain):,} values of the label {label.name!r} are too many: "
            "choose a label with few classes"
        )
    table = np.zeros((len(domain), len(label_domain)), dtype=np.int64)
    np.add.at(table, (rows, classes), fetched["n"])
    return JointCounts(domain, table)


def first_lines(error: Exception) -> str:
    """Return what DuckDB says went wrong, without its list of settings."""
    lines = [line.strip() for line in str(error).splitlines()]
    end = next((i for i, line in enumerate(lines) if line.startswith("Possible ")), len(lines))
    return "; ".join(line for line in lines[:end] if line)[:500]
