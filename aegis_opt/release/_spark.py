"""Masking on a Spark cluster: a DataFrame for a DataFrame, by the SQL of the masks."""

from __future__ import annotations

import uuid
from typing import Any

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.masks import Configuration, Identity, Suppress
from aegis_opt.masks._sql import select_sql
from aegis_opt.release._rows import RowsToMask
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
