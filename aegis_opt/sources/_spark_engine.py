"""Counting on a Spark cluster: a DataFrame stays where it is, only the counts come back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.errors import MissingDependency, SourceError
from aegis_opt.sources._engine import CountingEngine, Fetched, Records, first_lines
from aegis_opt.sources._names import checked_names


def is_spark(source: object) -> bool:
    """Tell a Spark DataFrame, classic or of Spark Connect, without importing pyspark."""
    return any(
        base.__module__.startswith("pyspark.sql.") and base.__name__ == "DataFrame"
        for base in type(source).__mro__
    )


@dataclass(frozen=True)
class SparkEngine(CountingEngine):
    """A Spark DataFrame, counted on its own session with one job per column.

    Every job reads the columns it needs again: one GROUPING SETS over all columns would read them once, but
    takes many times as long on wide tables. Cache a DataFrame that is costly to compute.
    """

    frame: Any
    description: str = "the Spark DataFrame"

    def names(self) -> tuple[str, ...]:
        """Return the names of the frame's columns."""
        return checked_names(self.frame.columns, self.description)

    @contextmanager
    def open(self, positions: Sequence[int]) -> Iterator[Records]:
        """Select columns by position; nothing runs yet and nothing is registered."""
        everything = self.frame.toDF(*(f"f{i}" for i in range(len(self.frame.columns))))
        yield _SparkRecords(everything.selectExpr(*(f"f{p} AS c{i}" for i, p in enumerate(positions))))


class _SparkRecords(Records):
    """Columns of a DataFrame."""

    description = "the Spark DataFrame"
    parallel = 3  # jobs at a time keep the executors busy between stages
    may_leave = False

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._tag = f"aegis-opt-{uuid.uuid4()}"
        # A classic session's own tags do not reach the jobs that fetch Arrow; Connect has no others
        session = frame.sparkSession
        if type(frame).__module__.startswith("pyspark.sql.connect."):
            self._add, self._remove, self._cancel = session.addTag, session.removeTag, session.interruptTag
        else:
            context = session.sparkContext
            self._add, self._remove = context.addJobTag, context.removeJobTag
            self._cancel = context.cancelJobsWithTag
        self.types = [sql_type for _, sql_type in frame.dtypes]

    def query(self, sql: str) -> Fetched:
        """Run one job; its result comes as Arrow, which keeps integers and NULLs apart."""
        self._add(self._tag)  # tags belong to the thread
        try:
            table = self._frame.sparkSession.sql(sql, records=self._frame).toArrow()
        except ImportError as error:
            raise MissingDependency(
                "counts come back from Spark as Arrow: pip install aegis-opt[spark]"
            ) from error
        except _spark_errors() as error:
            raise SourceError(
                f"{self.description} cannot be counted: {first_lines(error)}. Correct what it reads, or "
                "the session"
            ) from error
        finally:
            self._remove(self._tag)
        return {name: _to_numpy(table.column(name)) for name in table.column_names}

    def micros(self, position: int) -> str:
        """Return Spark's words for the microseconds since 1970, whatever the session's time zone."""
        if self.types[position] == "timestamp_ntz":
            return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', c{position})"
        return f"unix_micros(c{position})"

    def hash(self, keys: Sequence[str]) -> str:
        """Return Spark's hash, without its sign."""
        return f"(xxhash64({', '.join(keys)}) & 9223372036854775807)"

    def stop(self) -> None:
        """Cancel this scan's jobs, and no others of the session."""
        self._cancel(self._tag)


def _spark_errors() -> tuple[type[Exception], ...]:
    """Return what Spark raises: its own errors, and of a classic session also Java's as they are."""
    import importlib.util

    from pyspark.errors import PySparkException

    if importlib.util.find_spec("py4j") is None:  # a client of Spark Connect alone
        return (PySparkException,)
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]

    return PySparkException, Py4JError


def _to_numpy(column: Any) -> npt.NDArray[Any]:
    """Return an Arrow column as a masked array; NULLs never turn integers into reals."""
    import pyarrow as pa  # type: ignore[import-untyped]

    mask = column.is_null().to_numpy()
    if pa.types.is_temporal(column.type):
        days = pa.types.is_date(column.type)
        integers = column.cast(pa.int32()).cast(pa.int64()) if days else column.cast(pa.int64())
        unit = "D" if days else column.type.unit
        return np.ma.MaskedArray(integers.fill_null(0).to_numpy().view(f"datetime64[{unit}]"), mask)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.ma.MaskedArray(column.to_numpy(), mask)
    zero = False if pa.types.is_boolean(column.type) else 0
    return np.ma.MaskedArray(column.fill_null(zero).to_numpy(), mask)
