"""Reals that are released as they are counted: NaN is missing, and -0.0 is 0.0."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from aegis_opt._nan import released_real
from aegis_opt.sources._names import quoted
from aegis_opt.sources._tables import ArrowTable, PandasTable, PolarsTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation

_FLOATS = ("FLOAT", "DOUBLE")  # the types that have NaN and -0.0


def has_floats(table: PandasTable | PolarsTable | ArrowTable, name: str) -> bool:
    """Whether a column of a frame may hold NaN and -0.0; a column of another type need not be read."""
    if isinstance(table, PolarsTable):
        return bool(table.frame.schema[name].is_float())
    if isinstance(table, ArrowTable):
        import pyarrow as pa  # type: ignore[import-untyped]

        arrow_type = table.table.schema.field(name).type
        return bool(
            pa.types.is_floating(arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type)
        )
    column = table.frame[name]
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if pd.api.types.is_object_dtype(dtype):
        return pd.api.types.infer_dtype(column, skipna=True) in ("floating", "mixed-integer-float", "decimal")
    return pd.api.types.is_float_dtype(dtype)


def float_names(relation: Relation, names: Sequence[str], chosen: Collection[str]) -> list[str]:
    """Return which of the chosen columns hold NaN and -0.0; the columns are called c0, c1, ..."""
    types = zip(names, relation.types, strict=False)  # columns for noise may follow
    return [name for name, sql_type in types if name in chosen and str(sql_type) in _FLOATS]


def with_plain_reals(relation: Relation, names: Sequence[str], chosen: Collection[str]) -> Relation:
    """Write the reals of the chosen columns as they are counted."""
    floats = float_names(relation, names, chosen)
    if not floats:
        return relation
    columns = [
        f"{released_real(f'c{i}')} AS c{i}" if name in floats else f"c{i}" for i, name in enumerate(names)
    ]
    return relation.project(", ".join(columns))


def spark_float_names(frame: Any, chosen: Collection[str]) -> list[str]:
    """Return which of the chosen columns of a Spark DataFrame hold NaN and -0.0."""
    return [name for name, spark_type in frame.dtypes if name in chosen and spark_type.upper() in _FLOATS]


def with_plain_reals_on_spark(frame: Any, chosen: Collection[str]) -> Any:
    """Write the reals of the chosen columns of a Spark DataFrame as they are counted."""
    floats = spark_float_names(frame, chosen)
    if not floats:
        return frame
    names = [(name, quoted(name, "`")) for name in frame.columns]
    return frame.selectExpr(
        *(f"{released_real(column)} AS {column}" if name in floats else column for name, column in names)
    )
