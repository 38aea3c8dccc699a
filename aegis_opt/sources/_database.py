"""DuckDB databases in memory that read what they are given, and fetch nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


def open_database(**config: Any) -> duckdb.DuckDBPyConnection:
    """Open an empty database that gets no extensions: without them, DuckDB knows no address but files."""
    from aegis_opt._native import duckdb

    offline = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    return duckdb.connect(config=offline | config)


@contextmanager
def ctrl_c_in_queries() -> Iterator[None]:
    """Let Ctrl-C during a query of the main thread be one: DuckDB makes a RuntimeError of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error


def without_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep DuckDB from drawing; in a notebook without ipywidgets it does not draw, and refuses to be told."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchone() != (False,):
        connection.execute("SET enable_progress_bar = false")


def with_progress(connection: duckdb.DuckDBPyConnection) -> bool:
    """Let DuckDB say how far it is, without drawing; False where it refuses: see above."""
    from aegis_opt._native import duckdb

    try:
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    except duckdb.InvalidInputException:
        return False
    return True
