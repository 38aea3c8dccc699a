"""Masking on a Spark cluster: a DataFrame for a DataFrame, by the SQL of the masks."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.masks import Configuration, Identity, Suppress
from aegis_opt.masks._sql._select import select_sql
from aegis_opt.release._duckdb import needed_domains
from aegis_opt.sources._column import Column as SourceColumn
from aegis_opt.sources._engine import Fetched
from aegis_opt.sources._spark_engine import SparkEngine
from aegis_opt.sources._tables import same_but_for_case

_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "string": "STRING"}


class SparkRows:
    """A DataFrame whose columns to mask hold values of one kind each.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    configuration : Configuration
        The masks; all of its attributes are columns of the frame.
    """

    def __init__(self, frame: Any, configuration: Configuration) -> None:
        alike = same_but_for_case(frame.columns)
        if alike is not None:
            raise SourceError(
                f"the Spark DataFrame has columns {alike[0]!r} and {alike[1]!r}, which Spark's SQL cannot "
                "tell apart: rename one"
            )
        self.masks = {n: m for n, m in configuration.items() if not isinstance(m, Identity | Suppress)}
        self.configuration = configuration
        types = dict(frame.dtypes)
        self.columns = {
            name: SourceColumn.of(name, i, types[name], SparkEngine.description)
            for i, name in enumerate(self.masks)
        }
        self.frame = frame.selectExpr(
            *(
                f"{_typed(self.columns[name], types[name])} AS {_quoted(name)}"
                if name in self.columns
                else _quoted(name)
                for name in frame.columns
            )
        )

    def masked(self) -> Any:
        """Return the masked DataFrame, computed when it is used."""
        name = f"source_{uuid.uuid4().hex}"
        sql = select_sql(self.configuration, "spark", name, self.frame.columns, needed_domains(self))
        escaped = sql.replace("{", "{{").replace("}", "}}")  # Spark formats the text of a query
        return self.frame.sparkSession.sql(escaped.replace(name, "{source}"), source=self.frame)

    def extents(self) -> dict[str, Domain]:
        """Return the least and the greatest value and, of reals, one that is not whole if there is any."""
        if not self.columns:
            return {}
        parts = []
        for column in self.columns.values():
            x = column.sql
            filters = {"low": "", "high": ""}
            if column.kind == "real":
                filters = dict.fromkeys(filters, f"FILTER (WHERE NOT isnan({x}))")
                filters["part"] = f"FILTER (WHERE NOT isnan({x} - {x}) AND {x} % 1D <> 0)"  # inf - inf is NaN
            parts += [
                f"{'max' if end == 'high' else 'min'}({x}) {which} AS {end}_{x}"
                for end, which in filters.items()
            ]
        fetched = self._query(f"SELECT {', '.join(parts)} FROM {{records}}")
        found = {}
        for name, column in self.columns.items():
            ends = [values for key, values in fetched.items() if key.partition("_")[2] == column.sql]
            found[name] = column.encode(np.ma.concatenate(ends).compressed())[1]  # type: ignore[no-untyped-call]
        return found

    def values(self, name: str) -> Domain:
        """Return the distinct values of a column to mask."""
        column = self.columns[name]
        return column.encode(self._query(f"SELECT DISTINCT {column.sql} FROM {{records}}")[column.sql])[1]

    def _query(self, sql: str) -> Fetched:
        engine = SparkEngine(self.frame)
        names = engine.names()
        with engine.open([names.index(name) for name in self.columns]) as records:
            return records.query(sql)


def _typed(column: SourceColumn, spark_type: str) -> str:
    """Return a column in the type that its kind stands for; time stamps with a zone are in UTC."""
    x = _quoted(column.name)
    if column.kind == "datetime":
        if spark_type == "timestamp_ntz":
            return x
        return f"timestampadd(MICROSECOND, unix_micros({x}), TIMESTAMP_NTZ '1970-01-01 00:00:00')"
    if column.kind == "real" and column.cast == "STRING":  # a cast from decimals would round twice
        return f"CAST(CAST({x} AS STRING) AS DOUBLE)"
    return f"CAST({x} AS {_TYPES[column.kind]})"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
