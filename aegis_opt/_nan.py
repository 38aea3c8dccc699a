"""NaN in the SQL that DuckDB runs."""

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
