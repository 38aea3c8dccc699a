"""What an engine that counts records does: open some columns of a source and answer SQL about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy.typing as npt

Fetched = dict[str, npt.NDArray[Any]]
"""The columns of a query's result by name; masked arrays where there are NULLs."""


class Records(ABC):
    """Columns of a source, open for counting.

    In SQL the records are called ``{records}`` and their columns c0, c1, ...: neutral names keep apart what
    SQL, which ignores case, would mix up. The SQL itself is written once, in `aegis_opt.sources._sql`, in the
    words that all engines share; the one thing they say differently is `micros`.
    """

    description: str
    types: Sequence[str]
    parallel: int = 1
    """How many queries run at a time."""
    in_order: bool = False
    """Whether every query finds the records in the order of the source."""
    may_leave: bool = True
    """Whether records may be fetched one by one, or only counts of them."""

    @abstractmethod
    def query(self, sql: str) -> Fetched:
        """Run a query and fetch its result; an error of the engine is raised as SourceError."""

    @abstractmethod
    def micros(self, position: int) -> str:
        """Return the SQL for the microseconds since 1970, in UTC, of a column of time stamps."""

    @abstractmethod
    def hash(self, keys: Sequence[str]) -> str:
        """Return the SQL for a hash of expressions as an integer that is not negative."""

    def stop(self) -> None:
        """Cancel the queries under way; an engine that runs one at a time ends it by itself."""
        return


class CountingEngine(ABC):
    """A source together with the program that counts it."""

    description: str

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the column names, which are distinct strings."""

    @abstractmethod
    def open(self, positions: Sequence[int]) -> AbstractContextManager[Records]:
        """Open the columns at `positions`, as c0, c1, ..."""

    def orders(self) -> dict[str, tuple[str, ...]]:
        """Return the order of the texts of each column whose type declares one."""
        return {}


def first_lines(error: Exception) -> str:
    """Return what an engine says went wrong and in which file, without its advice and its stack."""
    lines = [_shortened(line.strip()) for line in str(error).splitlines()]
    files = [line for line in lines if line.startswith("file = ")]
    ends = ("Possible ", "JVM stacktrace", "== SQL", "LINE ", "at ")
    end = next((i for i, line in enumerate(lines) if line.startswith(ends)), len(lines))
    return "; ".join(line for line in [*lines[:end], *files] if line)[:500]


def _shortened(line: str, longest: int = 200) -> str:
    """Cut a line short, such as one of a file that an error quotes."""
    return line if len(line) <= longest else f"{line[:longest]}..."
