"""Methods whose work is done in a later room: an advice draws itself, though figures come after the advisor.

A room uses only the rooms before it. Where people look for a method on an object of an earlier room, the
method calls a function here by its name. The package, which comes after every room, says where these
functions are, and each is imported when it is first called.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES: dict[str, str] = {}  # function: module


def place(module: str, names: str) -> None:
    """Say which functions a module has for methods of earlier rooms."""
    _PLACES.update(dict.fromkeys(names.split(), module))


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of a later room."""
    return getattr(import_module(_PLACES[name]), name)(*arguments, **options)
