"""DuckDB databases in memory that read what they are given, and fetch nothing from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def open_database(**config: Any) -> duckdb.DuckDBPyConnection:
    """Open an empty database that gets no extensions: without them, DuckDB knows no address but files."""
    import duckdb

    offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    return duckdb.connect(config=offline | config)
