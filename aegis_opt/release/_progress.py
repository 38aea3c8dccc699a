"""Reports of how far DuckDB is while it works, and its errors as those of the library."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aegis_opt.errors import SourceError
from aegis_opt.sources._counts import Progress
from aegis_opt.sources._database import ctrl_c_in_queries, with_progress
from aegis_opt.sources._engine import first_lines

if TYPE_CHECKING:
    import duckdb

_PERIOD = 0.2  # seconds


@contextmanager
def reported(
    connection: duckdb.DuckDBPyConnection | None, report: Progress | None, doing: str
) -> Iterator[None]:
    """Report, while the block runs, how many percent of the running query are done.

    Without a connection that can be asked, only the beginning is reported. The block runs in this thread, so
    that Ctrl-C reaches it; another thread asks.
    """
    if report is not None:
        report(doing, 0, 100)
    if report is None or connection is None or not with_progress(connection):
        yield
        return
    finished = threading.Event()

    def ask() -> None:
        while not finished.wait(_PERIOD):
            percent = connection.query_progress()
            if percent >= 0:
                report(doing, int(percent), 100)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        finished.set()
        asking.join()


@contextmanager
def readable(description: str) -> Iterator[None]:
    """Raise DuckDB's errors as those of the library, and its error for Ctrl-C as Python's."""
    from aegis_opt._native import duckdb

    try:
        with ctrl_c_in_queries():
            yield
    except duckdb.OutOfMemoryException as error:
        raise SourceError(
            f"{description} takes more memory to mask than is allowed ({first_lines(error)}): allow the "
            "process more, or mask fewer columns at a time"
        ) from error
    except (duckdb.Error, UnicodeDecodeError) as error:  # the latter: its text holds damaged bytes
        raise SourceError(
            f"{description} cannot be masked: {first_lines(error)}. Correct the source, or read it yourself "
            "and pass a pandas, polars or Arrow table"
        ) from error
