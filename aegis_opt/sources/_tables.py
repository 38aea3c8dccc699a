"""Sources that DuckDB reads in place: the names of their columns, and how to select some of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from aegis_opt.errors import MissingDependency, SourceError
from aegis_opt.sources._engine import first_lines
from aegis_opt.sources._names import checked_names, quoted, same_but_for_case

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation


class SourceTable(ABC):
    """A source with named columns.

    `select` is the one thing a kind of source has to do: give a relation whose columns are called
    c0, c1, ... and are the asked-for ones, by position. Positions and neutral names keep apart what SQL,
    which ignores case, would mix up.
    """

    description: str
    way_out: ClassVar[str] = "Correct it, or read it yourself and pass a pandas, polars or Arrow table"
    in_parts: ClassVar[bool] = False
    """Whether `select` is quick, and only refers to the columns: wide tables are then selected in parts."""

    @abstractmethod
    def raw_names(self) -> Iterable[object]:
        """Return the column names as the source has them, unchecked."""

    @abstractmethod
    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:
        """Return the columns at `positions` as a relation with columns c0, c1, ..."""

    def names(self) -> tuple[str, ...]:
        """Return the column names; they must be distinct strings."""
        return checked_names(self.raw_names(), self.description)

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the order of the texts of each column whose type declares one."""
        return {}


def with_partitions(names: Sequence[str], partitions: Iterable[str], description: str) -> list[str]:
    """Add the keys of key=value folders to the names of columns, which SQL must be able to tell apart."""
    known = {name.lower(): name for name in names}
    for key in partitions:
        if key.lower() in known:
            raise SourceError(
                f"{description}: the files have a column {known[key.lower()]!r}, and lie in folders "
                f"called {key}=...: rename the column or the folders, so that a name means one column"
            )
    return [*names, *partitions]


@dataclass(frozen=True)
class RelationTable(SourceTable):
    """A DuckDB relation, counted on the connection it belongs to."""

    relation: Relation
    description: str = "the DuckDB relation"
    in_parts: ClassVar[bool] = True

    def raw_names(self) -> Iterable[object]:
        """Return the relation's columns, which SQL must be able to tell apart."""
        from aegis_opt._native import duckdb

        try:
            names = list(self.relation.columns)
        except (duckdb.Error, UnicodeDecodeError) as error:  # the latter: its text holds damaged bytes
            raise SourceError(
                f"{self.description} cannot be read: {first_lines(error)}; is its connection open, and "
                "what it reads still there?"
            ) from error
        if alike := same_but_for_case(names):
            raise SourceError(
                f"{self.description} has columns {alike[0]!r} and {alike[1]!r}, which SQL cannot tell apart: "
                "give one of them another name with AS"
            )
        return names

    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:  # noqa: ARG002
        """Project the relation itself: nothing is registered anywhere."""
        names = self.relation.columns
        return self.relation.project(
            ", ".join(f"{quoted(names[p])} AS c{i}" for i, p in enumerate(positions))
        )


@dataclass(frozen=True)
class ArrowTable(SourceTable):
    """A PyArrow table."""

    table: Any
    description: str = "the Arrow table"
    in_parts: ClassVar[bool] = True

    def raw_names(self) -> Iterable[object]:
        """Return the table's column names."""
        return list(self.table.column_names)

    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:
        """Hand over the asked-for columns without a copy."""
        import pyarrow as pa  # type: ignore[import-untyped]

        chosen = self.table.select(list(positions))
        for i, field in enumerate(chosen.schema):
            values = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if values == pa.float16():  # which DuckDB does not read
                chosen = chosen.set_column(i, field.name, chosen.column(i).cast(pa.float32()))
        return connection.from_arrow(chosen.rename_columns([f"c{i}" for i in range(len(positions))]))


@dataclass(frozen=True)
class PolarsTable(SourceTable):
    """A polars DataFrame."""

    frame: Any
    description: str = "the polars DataFrame"
    in_parts: ClassVar[bool] = True

    def raw_names(self) -> Iterable[object]:
        """Return the frame's column names."""
        return list(self.frame.columns)

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the categories of columns of type Enum, which are ordered."""
        return {
            name: tuple(dtype.categories.to_list())
            for name, dtype in self.frame.schema.items()
            if type(dtype).__name__ == "Enum"
        }

    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:
        """Hand over the asked-for columns as Arrow, which polars holds them in anyway."""
        chosen = self.frame.select([self.frame.columns[p] for p in positions])
        for name, dtype in chosen.schema.items():
            if str(dtype) == "Object":
                raise SourceError(
                    f"{self.description}: column {name!r} holds Python objects; cast it to one type"
                )
            if str(dtype) in ("Int128", "UInt128"):
                raise SourceError(
                    f"{self.description}: column {name!r} is of type {dtype}; cast it to Int64, or to String "
                    "if it holds identifiers"
                )
        try:
            arrow = chosen.to_arrow()
        except ModuleNotFoundError as error:
            raise MissingDependency("polars frames are read as Arrow: pip install pyarrow") from error
        return ArrowTable(arrow).select(connection, range(len(positions)))


@dataclass(frozen=True)
class PandasTable(SourceTable):
    """A pandas DataFrame; its index is not a column."""

    frame: pd.DataFrame
    description: str = "the pandas DataFrame"
    in_parts: ClassVar[bool] = True

    # What pandas infers for a column of Python objects -> the dtype that holds the same values exactly
    _OBJECTS: ClassVar[dict[str, str | None]] = {
        "string": None,
        "empty": None,
        "boolean": "boolean",
        "integer": "Int64",
        "floating": "float64",
        "mixed-integer-float": "float64",
    }

    def raw_names(self) -> Iterable[object]:
        """Return the frame's column names."""
        return list(self.frame.columns)

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the categories of columns that are ordered categories of text."""
        types = zip(self.frame.columns, self.frame.dtypes, strict=True)
        return {
            name: tuple(dtype.categories)
            for name, dtype in types
            if isinstance(dtype, pd.CategoricalDtype)
            and dtype.ordered
            and pd.api.types.infer_dtype(dtype.categories) == "string"
        }

    def select(self, connection: Connection, positions: Sequence[int]) -> Relation:
        """Hand over the asked-for columns without a copy, except where Python objects need a type."""
        chosen = {f"c{i}": self._typed(p) for i, p in enumerate(positions)}
        relation = connection.from_df(pd.DataFrame({c: s for c, (s, _) in chosen.items()}, copy=False))
        return relation.project(
            ", ".join(f"CAST({c} AS DATE) AS {c}" if dates else c for c, (_, dates) in chosen.items())
        )

    def _typed(self, position: int) -> tuple[pd.Series[Any], bool]:
        """Return a column in a type that DuckDB need not guess, and whether it holds dates."""
        series = self.frame.iloc[:, position].reset_index(drop=True)
        name = self.frame.columns[position]
        if isinstance(series.dtype, pd.SparseDtype):
            series = pd.Series(np.asarray(series))
        if isinstance(series.dtype, pd.CategoricalDtype):
            categories = series.cat.categories
            if pd.api.types.infer_dtype(categories) == "string":
                return series, False  # an ENUM
            codes = series.cat.codes.to_numpy()  # -1 for missing
            array = pd.array(categories.to_numpy()).take(codes, allow_fill=True)
            series = pd.Series(array)
        if isinstance(series.dtype, np.dtype) and not series.dtype.isnative:  # such as of Stata files
            series = series.astype(series.dtype.newbyteorder("="))
        if str(series.dtype) == "halffloat[pyarrow]":  # which DuckDB does not read
            series = series.astype("float[pyarrow]")
        ranges = isinstance(series.dtype, pd.PeriodDtype | pd.IntervalDtype)
        if ranges or str(series.dtype) in ("complex64", "complex128", "float128"):
            raise SourceError(
                f"{self.description}: column {name!r} is of type {series.dtype}, which has no values to "
                "count: convert it, e.g. to text with astype(str)"
            )
        if series.dtype != object:
            return series, False
        inferred = pd.api.types.infer_dtype(series, skipna=True)
        try:
            if inferred in ("date", "datetime", "datetime64"):
                stamps = pd.to_datetime(series)
                if inferred == "date" and not (stamps.dropna() == stamps.dropna().dt.normalize()).all():
                    raise ValueError("it mixes dates and times of day")
                return stamps, inferred == "date"
            if inferred == "decimal":
                return _decimals(series), False
            if inferred in self._OBJECTS:
                dtype = self._OBJECTS[inferred]
                return (series if dtype is None else series.astype(dtype)), False  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError) as error:
            raise SourceError(
                f"{self.description}: column {name!r} cannot be read as {inferred} ({error}); "
                "convert it to one type, e.g. to text with astype(str)"
            ) from error
        raise SourceError(
            f"{self.description}: column {name!r} holds Python objects of kind {inferred!r}; "
            "convert it to one type, e.g. to text with astype(str)"
        )


def _decimals(series: pd.Series[Any]) -> pd.Series[Any]:
    """Return decimals as integers where none is written with decimal places, as Arrow does, else as reals."""
    try:
        missing = series.isna().to_numpy()
    except ArithmeticError as error:  # signaling NaN compares with nothing
        raise ValueError(str(error)) from error
    present = series[~missing]
    if not all(map(_is_without_places, present)):
        return series.astype("float64")
    whole = np.zeros(len(series), dtype=np.int64)
    try:
        whole[~missing] = [int(value) for value in present]
    except OverflowError as error:
        raise OverflowError("integers beyond 64 bits") from error
    return pd.Series(pd.arrays.IntegerArray(whole, missing))


def _is_without_places(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= 0  # that of infinity is a letter
