"""Labels beside a frame, as scikit-learn passes them: a frame of one column, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from aegis_opt.errors import InvalidInput


def as_column(y: Any, name: str) -> Any:
    """Return labels as a frame of one column: of polars for a Series of polars, else of pandas."""
    if isinstance(y, pd.Series):
        return y.to_frame(name)
    if _is_polars(y):
        return y.to_frame(name)
    values = np.asarray(y)
    if values.ndim != 1:
        raise InvalidInput(f"y must be a list of labels, one for each record, not of shape {values.shape}")
    return pd.DataFrame({name: values}).infer_objects()


def as_label(column: Any, name: str, like: Any) -> Any:
    """Return a column of such a frame as what the labels were: a Series of the same name, or an array."""
    if isinstance(like, pd.Series):
        return column[name].rename(like.name)
    return column[name].alias(like.name) if _is_polars(like) else column[name].to_numpy()


def n_classes(column: Any, name: str) -> int:
    """Return how many classes a column has, a missing one included."""
    return len(column[name].unique())


def _is_polars(y: Any) -> bool:
    return type(y).__module__.partition(".")[0] == "polars" and hasattr(y, "to_frame")
