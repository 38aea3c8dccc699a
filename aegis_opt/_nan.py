"""NaN in SQL: how DuckDB is asked for it, and that it is a missing value."""

from __future__ import annotations


def is_nan(value: str) -> str:
    """Return the condition that a real expression is NaN.

    Statistics in Parquet files leave NaN out. DuckDB concludes from them that a column between two numbers
    has none, and takes ``isnan(column)`` for false (``x <> 'NaN'`` for true). Of the absolute value it
    concludes nothing.

    Examples
    --------
    >>> is_nan("x")
    'isnan(abs(x))'
    """
    return f"isnan(abs({value}))"


def grouped_real(value: str) -> str:
    """Return the SQL by which records are grouped by a real: NaN is missing, and -0.0 is 0.0.

    Examples
    --------
    >>> grouped_real("x")
    'CASE WHEN isnan(abs(CAST(x AS DOUBLE))) THEN NULL ELSE CAST(x AS DOUBLE) + 0.0 END'
    """
    real = f"CAST({value} AS DOUBLE)"
    return f"CASE WHEN {is_nan(real)} THEN NULL ELSE {real} + 0.0 END"
