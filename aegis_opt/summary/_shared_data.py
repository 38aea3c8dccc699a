"""What the classes of summaries have in common: read-only data that are equal by content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

from aegis_opt._json import check_text
from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError


class SharedData:
    """A frozen dataclass of arrays and mappings: equal by content, and copied by its own constructor."""

    __hash__ = None  # type: ignore[assignment]

    def _convert(self, **converted: Any) -> None:
        """Replace arguments by read-only copies, past the lock on assignment, as `cached_property` does."""
        vars(self).update(converted)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return all(_equal(vars(self)[name], vars(other)[name]) for name in names)

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of dictionaries are neither copied nor pickled
        return type(self), tuple(_writable(vars(self)[field.name]) for field in fields(self))  # type: ignore[arg-type]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):  # None is no array
        return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.array_equal(one, other)
    return bool(one == other)


def _writable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_writable, value))
    return {k: _writable(v) for k, v in value.items()} if isinstance(value, MappingProxyType) else value


def check_names(label: object, attributes: Iterable[object], configurations: Iterable[object]) -> None:
    """Refuse names that are no texts, empty, or that no file can hold."""
    for what, given in {
        "label": [label],
        "attribute": attributes,
        "configuration": configurations,
    }.items():
        for name in given:
            if not isinstance(name, str) or not name:
                raise SummaryError(f"the name of the {what} must be a text that is not empty, not {name!r}")
            check_text(name, SummaryError)


def check_configurations(
    configurations: Mapping[str, Mapping[str, int]], sizes: Mapping[str, int], what: str
) -> None:
    """Refuse configurations that do not choose one of the tables, or masks, of every attribute."""
    if not configurations:
        raise SummaryError("a summary needs at least one configuration")
    for name, chosen in configurations.items():
        if set(chosen) != set(sizes):
            odd = sorted(set(chosen) ^ set(sizes))
            raise SummaryError(
                f"configuration {shown(name)} must choose a {what} of every attribute and no others; "
                f"check {shown(odd)}"
            )
        for attribute, index in chosen.items():
            if not is_whole(index) or not 0 <= index < sizes[attribute]:
                raise SummaryError(
                    f"configuration {shown(name)} chooses {what} {shown(index)} of {shown(attribute)}, "
                    f"which has {what}s 0 to {sizes[attribute] - 1}"
                )
