"""Values and masked values as SQL literals that every dialect reads back exactly."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

from aegis_opt._shown import number_text
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Label
from aegis_opt.sources._names import quoted_text

TEXT = "VARCHAR"
REAL = "DOUBLE"


def literal(value: Any) -> str:
    """Return a Python scalar as a literal of DuckDB.

    A real is cast from text: as a decimal literal, some engines would round it twice.

    Examples
    --------
    >>> literal(0.1), literal(dt.date(2020, 1, 31)), literal(None)
    ("CAST('0.1' AS DOUBLE)", "CAST('2020-01-31' AS DATE)", 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value) if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")
        return f"CAST('{text}' AS DOUBLE)"
    if isinstance(value, dt.datetime):
        return f"CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"
    if isinstance(value, dt.date):
        return f"CAST('{value.isoformat()}' AS DATE)"
    return quoted_text(value)


def label_type(labels: Sequence[Label]) -> str:
    """Return the SQL type of a column of masked values: text, unless all are of one other type.

    Examples
    --------
    >>> label_type([10, 20, None]), label_type([10, 2.5]), label_type([10, ">=90"])
    ('BIGINT', 'DOUBLE', 'VARCHAR')
    """
    types = {type(label) for label in labels if label is not None}
    if types == {bool}:
        return "BOOLEAN"
    if types == {int} and all(label is None or -(2**63) <= label < 2**63 for label in labels):  # type: ignore[operator]
        return "BIGINT"
    return REAL if types and types <= {int, float} else TEXT


def label_texts(labels: Sequence[Label]) -> list[str | None]:
    """Return masked values as text; they stay distinct, or it is an error.

    Examples
    --------
    >>> label_texts([True, 50, 0.5, "old", None])
    ['true', '50', '0.5', 'old', None]
    """
    texts: list[str | None] = []
    owner: dict[str | None, Label] = {}
    for label in labels:
        text: str | None
        if label is None or isinstance(label, str):
            text = label
        elif isinstance(label, bool):
            text = "true" if label else "false"
        else:
            text = number_text(label)
        if text in owner:
            raise MaskError(
                f"the masked values {owner[text]!r} and {label!r} are one and the same in a column of text: "
                "rename one"
            )
        owner[text] = label
        texts.append(text)
    return texts
