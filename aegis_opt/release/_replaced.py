"""A frame with some of its columns masked: of the same type, and with the others as they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from aegis_opt.release._suppress import KEPT
from aegis_opt.sources._tables import ArrowTable, PandasTable, PolarsTable

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyRelation as Relation

    FrameTable = PandasTable | PolarsTable | ArrowTable


def replaced(
    table: FrameTable, names: Sequence[str], masked: Relation | None, same_type: Collection[str] = ()
) -> Any:
    """Return a copy of a frame with the masked columns, which come in the order of `names`.

    Those of `same_type` keep their type. Where the last column says which records stay, the others go.
    """
    if isinstance(table, PandasTable):
        return _in_pandas(table.frame, names, masked, same_type)
    if isinstance(table, PolarsTable):
        return _in_polars(table.frame, names, masked, same_type)
    return _in_arrow(table.table, names, masked, same_type)


def _in_pandas(
    frame: pd.DataFrame, names: Sequence[str], masked: Relation | None, same_type: Collection[str]
) -> pd.DataFrame:
    result = frame.copy()  # given as arguments of assign, a column could not be called self
    if masked is None:
        return result
    columns = masked.df().set_axis(frame.index)
    for i, name in enumerate(names):
        column = columns[f"c{i}"]
        result[name] = column.astype(frame[name].dtype) if name in same_type else column
    return result[columns[KEPT].to_numpy()] if KEPT in columns else result


def _in_polars(frame: Any, names: Sequence[str], masked: Relation | None, same_type: Collection[str]) -> Any:
    if masked is None:
        return frame.clone()
    columns = masked.pl()
    result = frame.with_columns(
        (columns[f"c{i}"].cast(frame.schema[name]) if name in same_type else columns[f"c{i}"]).alias(name)
        for i, name in enumerate(names)
    )
    return result.filter(columns[KEPT]) if KEPT in columns.columns else result


def _in_arrow(table: Any, names: Sequence[str], masked: Relation | None, same_type: Collection[str]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    if masked is None:
        return table
    columns = masked.to_arrow_table()
    result = table
    for i, name in enumerate(names):
        place, column = table.column_names.index(name), columns.column(i)
        if name in same_type:
            own = table.schema.field(place).type
            column = (column.dictionary_encode() if pa.types.is_dictionary(own) else column).cast(own)
        result = result.set_column(place, name, column)
    return result.filter(columns.column(KEPT)) if KEPT in columns.column_names else result
