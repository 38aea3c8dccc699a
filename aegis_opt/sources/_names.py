"""Names of columns: checked when a source is opened, and quoted in SQL."""

from __future__ import annotations

from collections.abc import Iterable

from aegis_opt.errors import SourceError


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


def same_but_for_case(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two names that SQL cannot tell apart, if there are any."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            return other, name
    return None


def quoted(identifier: str, mark: str = '"') -> str:
    """Return an identifier as SQL takes it literally; Spark's mark is a backtick."""
    return f"{mark}{identifier.replace(mark, 2 * mark)}{mark}"


def quoted_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return quoted(text, "'")
