"""NaN in SQL: how DuckDB is asked for it, and that it is a missing value."""

from __future__ import annotations


def is_nan(value: str) -> str:
    """Return the condition that a real expression is NaN.

    Statistics in Parquet files leave NaN out. DuckDB concludes from them that a column between two numbers
    has none, and takes ``isnan(column)`` for false (``x <> 'NaN'`` for true). It carries the statistics
    through arithmetic and most functions, but not through `exp`, which Spark has, too, and which is NaN for
    NaN alone.

    Examples
    --------
    >>> is_nan("x")
    'isnan(exp(x))'
    """
    return f"isnan(exp({value}))"


def grouped_real(value: str) -> str:
    """Return the SQL by which records are grouped by a real: NaN is missing, and -0.0 is 0.0.

    Examples
    --------
    >>> grouped_real("x").endswith("THEN NULL ELSE CAST(x AS DOUBLE) + 0.0 END")
    True
    """
    real = f"CAST({value} AS DOUBLE)"
    return f"CASE WHEN {is_nan(real)} THEN NULL ELSE {real} + 0.0 END"
