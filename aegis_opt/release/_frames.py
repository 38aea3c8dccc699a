"""Frames and arrays as `MaskingTransformer` takes them: their columns as values, and masked ones put back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import InvalidInput, MissingDependency
from aegis_opt.masks._sql import REAL, TEXT
from aegis_opt.sources._small_frames import Present, present_moments, present_texts, present_values

if TYPE_CHECKING:
    import narwhals as nw

SqlType = str
MaskedColumn = tuple[list[Any], npt.NDArray[np.int64], SqlType]
"""The masked values of the domain, the place of each record's value in it, and the type of the column."""


class Frame(ABC):
    """Columns by position; what masks them gives the same kind of object back."""

    n_columns: int
    n_rows: int

    @abstractmethod
    def present(self, position: int) -> Present | None:
        """Return the values of a column; None where an engine is to find out what they are."""

    @abstractmethod
    def replaced(self, masked: Mapping[int, MaskedColumn]) -> Any:
        """Return the same kind of object with some columns masked."""

    @abstractmethod
    def source(self, positions: list[int]) -> Any:
        """Return some columns as a source, called c0, c1, ..."""

    @abstractmethod
    def replaced_from(self, source: Any, positions: list[int]) -> Any:
        """Return the same kind of object with columns of a source of its kind."""


class PandasFrame(Frame):
    """A pandas DataFrame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape
        self.columns = [column for _, column in frame.items()]

    def present(self, position: int) -> Present | None:
        """Return the values of a column, judged by its type."""
        return present_values(self.columns[position])

    def replaced(self, masked: Mapping[int, MaskedColumn]) -> Any:
        """Return a frame with the same index."""
        return self._with(
            {
                position: _pandas_array(labels, sql_type).take(codes)
                for position, (labels, codes, sql_type) in masked.items()
            }
        )

    def source(self, positions: list[int]) -> Any:
        """Return some columns."""
        return self.frame.iloc[:, positions].set_axis([f"c{i}" for i in range(len(positions))], axis=1)

    def replaced_from(self, source: Any, positions: list[int]) -> Any:
        """Return a frame with columns of another one."""
        return self._with({position: source.iloc[:, i].array for i, position in enumerate(positions)})

    def _with(self, columns: Mapping[int, Any]) -> pd.DataFrame:
        """Return the frame with other columns; made anew, which is faster than to replace one by one."""
        arrays = {
            i: columns[i] if i in columns else series.array.copy() for i, series in enumerate(self.columns)
        }
        made: Any = self.frame._constructor  # that of a subclass, too
        result: pd.DataFrame = made(arrays, index=self.frame.index, copy=False)
        result.columns = self.frame.columns
        result.attrs = self.frame.attrs
        return result


class ArrayFrame(PandasFrame):
    """A NumPy array with two dimensions."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        frame = pd.DataFrame(array)
        super().__init__(frame.infer_objects() if array.dtype == object else frame)

    def replaced(self, masked: Mapping[int, MaskedColumn]) -> Any:
        """Return an array: of numbers where all masked values are, else of objects."""
        return super().replaced(masked).to_numpy()

    def replaced_from(self, source: Any, positions: list[int]) -> Any:
        """Return an array with columns of a frame."""
        return super().replaced_from(source, positions).to_numpy()


class OtherFrame(Frame):
    """A polars DataFrame or an Arrow table, through narwhals."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self.frame = frame
        self.n_rows, self.n_columns = frame.shape

    def present(self, position: int) -> Present | None:
        """Return the values of a column, judged by its type."""
        import narwhals as nw

        series = self.frame[:, position]
        dtype = series.dtype
        if isinstance(dtype, nw.Categorical | nw.Enum):
            series = _decoded(series)
            dtype = series.dtype
        missing = series.is_null().to_numpy()
        present = series.drop_nulls().to_numpy()
        if isinstance(dtype, nw.String):
            texts = np.full(len(missing), None, dtype=object)
            texts[~missing] = present
            return present_texts(texts)
        if dtype.is_integer() and not isinstance(dtype, nw.UInt64 | nw.Int128 | nw.UInt128):
            return "integer", present.astype(np.int64), missing
        if dtype.is_float():
            return "real", present.astype(np.float64), missing
        if isinstance(dtype, nw.Boolean):
            return "boolean", present.astype(bool), missing
        if isinstance(dtype, nw.Date):
            return "date", present.astype("datetime64[D]"), missing
        if isinstance(dtype, nw.Datetime) and dtype.time_zone is None:
            found = present_moments(present)
            return None if found is None else ("datetime", found[1], missing)
        return None

    def replaced(self, masked: Mapping[int, MaskedColumn]) -> Any:
        """Return a frame of the same library."""
        import narwhals as nw

        types: dict[SqlType, Any] = {TEXT: nw.String, REAL: nw.Float64, "BIGINT": nw.Int64}
        names = self.frame.columns
        columns = [
            nw.new_series(
                names[position],
                np.array(labels, dtype=object)[codes].tolist(),
                types.get(sql_type, nw.Boolean),
                backend=self.frame.implementation,
            )
            for position, (labels, codes, sql_type) in masked.items()
        ]
        return self.frame.with_columns(*columns).to_native()

    def source(self, positions: list[int]) -> Any:
        """Return some columns."""
        chosen = [self.frame.columns[position] for position in positions]
        renamed = {name: f"c{i}" for i, name in enumerate(chosen)}
        return self.frame.select(*chosen).rename(renamed).to_native()

    def replaced_from(self, source: Any, positions: list[int]) -> Any:
        """Return a frame with columns of another one."""
        import narwhals as nw

        masked = nw.from_native(source, eager_only=True)
        names = self.frame.columns
        columns = [masked[f"c{i}"].alias(names[position]) for i, position in enumerate(positions)]
        return self.frame.with_columns(*columns).to_native()


def frame_of(X: object) -> Frame | None:
    """Return what holds the columns of a frame; None where it is no frame but perhaps an array."""
    if isinstance(X, pd.DataFrame):
        return PandasFrame(X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        raise InvalidInput("MaskingTransformer masks data, not a lazy frame: call .collect() first")
    if not hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__dataframe__"):
        return None
    try:
        import narwhals as nw
    except ModuleNotFoundError as error:
        raise MissingDependency(
            "polars and Arrow tables are masked through narwhals: pip install aegis-opt[sklearn]"
        ) from error
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or not (
        frame.implementation.is_polars() or frame.implementation.is_pyarrow()
    ):
        kind = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
        raise InvalidInput(
            "MaskingTransformer masks pandas and polars DataFrames, Arrow tables and NumPy arrays, not "
            f"{kind}: convert it"
        )
    return OtherFrame(frame)


def _decoded(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return the values of a column of categories: texts, but an Arrow dictionary may hold any type."""
    import narwhals as nw

    if not series.implementation.is_pyarrow():
        return series.cast(nw.String)
    native = series.to_native()
    return nw.from_native(native.cast(native.type.value_type), series_only=True)


def _pandas_array(labels: list[Any], sql_type: SqlType) -> Any:
    """Return masked values as a column of pandas, in the types that DuckDB gives it."""
    if sql_type == TEXT:
        return pd.array(labels, dtype=_TEXT)
    if sql_type == REAL:
        return np.array([np.nan if label is None else label for label in labels], dtype=np.float64)
    whole = sql_type == "BIGINT"
    if None in labels:
        return pd.array(labels, dtype="Int64" if whole else "boolean")
    return np.array(labels, dtype=np.int64 if whole else bool)


_TEXT: Any = pd.Series([""]).dtype
