"""What counts records: an engine opens some columns of a source and answers SQL about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy.typing as npt

from aegis_opt.errors import SourceError

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
    parallel: ClassVar[int] = 1
    """How many queries at a time pay."""

    @abstractmethod
    def query(self, sql: str) -> Fetched:
        """Run a query and fetch its result; an error of the engine is raised as SourceError."""

    @abstractmethod
    def micros(self, position: int) -> str:
        """Return the SQL for the microseconds since 1970, in UTC, of a column of time stamps."""

    def stop(self) -> None:
        """Cancel the queries under way; an engine that runs one at a time ends it by itself."""
        return


class Engine(ABC):
    """A source together with what counts it."""

    description: str

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Return the column names, which are distinct strings."""

    @abstractmethod
    def open(self, positions: Sequence[int]) -> AbstractContextManager[Records]:
        """Open the columns at `positions`, as c0, c1, ..."""


def checked_names(raw: Iterable[object], description: str) -> tuple[str, ...]:
    """Return column names if they are distinct strings, or name the one that is not."""
    names = []
    for name in raw:
        if not isinstance(name, str):
            raise SourceError(
                f"{description}: the column name {name!r} is {type(name).__name__}, not text: "
                "rename the columns first, in pandas with df.rename(columns=str)"
            )
        names.append(name)
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise SourceError(
            f"{description} has several columns called {', '.join(map(repr, twice))}: "
            "rename or drop them, so that a name means one column"
        )
    return tuple(names)


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
