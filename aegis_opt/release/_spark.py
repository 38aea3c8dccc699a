"""Masking on a Spark cluster: a DataFrame for a DataFrame, by the SQL of the masks."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import replace
from typing import Any

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.masks import Configuration, Identity, Mask, NoiseMask, Suppress
from aegis_opt.masks._sql import select_sql
from aegis_opt.release._rows import RowsToMask
from aegis_opt.release._suppress import Suppression
from aegis_opt.sources._column import SQL_TYPES, Column
from aegis_opt.sources._engine import Fetched
from aegis_opt.sources._names import quoted, same_but_for_case
from aegis_opt.sources._spark_engine import SparkEngine


class SparkRows(RowsToMask):
    """A DataFrame with a column for each masked attribute; those to mask hold values of one kind each."""

    def __init__(self, frame: Any, configuration: Configuration) -> None:
        if alike := same_but_for_case(frame.columns):
            raise SourceError(
                f"the Spark DataFrame has columns {alike[0]!r} and {alike[1]!r}, which Spark's SQL cannot "
                "tell apart: rename one"
            )
        configuration = Configuration(
            {name: _seeded(mask) for name, mask in configuration.items()}, configuration.name
        )
        self.masks = {n: m for n, m in configuration.items() if not isinstance(m, Identity | Suppress)}
        self.configuration = configuration
        types = dict(frame.dtypes)
        self.columns = {
            name: Column.of(name, i, types[name], SparkEngine.description)
            for i, name in enumerate(self.masks)
        }
        self.frame = frame.selectExpr(
            *(
                f"{_typed(self.columns[name], types[name])} AS {quoted(name, '`')}"
                if name in self.columns
                else quoted(name, "`")
                for name in frame.columns
            )
        )

    def masked(self) -> Any:
        """Return the masked DataFrame, computed when it is used."""
        name = f"source_{uuid.uuid4().hex}"
        sql = select_sql(self.configuration, "spark", name, self.frame.columns, self.needed_domains())
        escaped = sql.replace("{", "{{").replace("}", "}}")  # Spark formats the text of a query
        return self.frame.sparkSession.sql(escaped.replace(name, "{source}"), source=self.frame)

    def aggregate(self, aggregates: str) -> Fetched:
        """Compute aggregates over all rows."""
        return self._query(f"SELECT {aggregates} FROM {{records}}")

    def values(self, name: str) -> Domain:
        """Return the distinct values of a column to mask."""
        column = self.columns[name]
        return column.encode(self._query(f"SELECT DISTINCT {column.sql} FROM {{records}}")[column.sql])[1]

    def _query(self, sql: str) -> Fetched:
        engine = SparkEngine(self.frame)
        names = engine.names()
        with engine.open([names.index(name) for name in self.columns]) as records:
            return records.query(sql)


def _seeded(mask: Mask) -> Mask:
    """Give noise a seed, so that a DataFrame that Spark computes twice is the same twice."""
    if isinstance(mask, NoiseMask) and getattr(mask, "seed", None) is None:
        return replace(mask, seed=secrets.randbits(62))  # type: ignore[call-arg]
    return mask


def suppressed_on_spark(masked: Any, suppression: Suppression) -> Any:
    """Return a masked DataFrame without the records of small classes, or with these blanked.

    Two jobs count what is suppressed and check what is released; the result is computed when it is used.
    """
    names = list(masked.columns)
    frame = masked.toDF(*(f"f{i}" for i in range(len(names))))
    chosen = [names.index(name) for name in suppression.quasi_identifiers]

    def keys(of: Any) -> str:
        types = dict(of.dtypes)
        return ", ".join(_key(f"f{i}", types[f"f{i}"]) for i in chosen)

    session = masked.sparkSession
    sized = f"SELECT *, count(*) OVER (PARTITION BY {keys(frame)}) AS size FROM {{masked}}"
    if suppression.suppressed == "drop":
        columns = [f"f{i}" for i in range(len(names))]
        condition = f" WHERE size >= {suppression.k}"
    else:
        blank = f"CASE WHEN size >= {suppression.k} THEN f{{0}} END AS f{{0}}"
        columns = [blank.format(i) if i in chosen else f"f{i}" for i in range(len(names))]
        condition = ""
    released = session.sql(f"SELECT {', '.join(columns)} FROM ({sized}) AS s{condition}", masked=frame)
    sizes = f"SELECT count(*) AS size FROM {{rows}} GROUP BY {keys(frame)}"
    gone = f"coalesce(sum(CASE WHEN size < {suppression.k} THEN size END), 0)"
    counted = session.sql(
        f"SELECT {gone} AS gone, coalesce(sum(size), 0) AS n FROM ({sizes}) AS c", rows=frame
    )
    (small, n_records) = counted.collect()[0]
    smallest = session.sql(f"SELECT min(size) AS least FROM ({sizes}) AS c", rows=released).collect()[0][0]
    suppression.judge(int(small), int(n_records), smallest)
    return released.toDF(*names)


def _key(column: str, spark_type: str) -> str:
    """Return the SQL by which records are grouped: what can be seen of a value; Spark takes -0.0 for 0.0."""
    return f"CAST({column} AS STRING)" if spark_type in ("float", "double") else column


def _typed(column: Column, spark_type: str) -> str:
    """Return a column in the type that its kind stands for; time stamps with a zone are in UTC."""
    x = quoted(column.name, "`")
    if column.kind == "datetime":
        if spark_type == "timestamp_ntz":
            return x
        return f"timestampadd(MICROSECOND, unix_micros({x}), TIMESTAMP_NTZ '1970-01-01 00:00:00')"
    if column.kind == "real" and column.cast == "STRING":  # a cast from decimals would round twice
        return f"CAST(CAST({x} AS STRING) AS DOUBLE)"
    return f"CAST({x} AS {SQL_TYPES[column.kind]})"
