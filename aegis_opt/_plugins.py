"""What other packages offer by entry point: listed once, loaded when it is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from aegis_opt.errors import AegisError


def offers(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """What the installed packages offer in a group of entry points: by name, in the order of the names.

    Reading the metadata of every installed package takes milliseconds, so that it is read once for each
    `sys.path`. A package that is installed later is seen after a restart.
    """
    return _listed(group, tuple(sys.path))


@cache
def _listed(group: str, _path: tuple[str, ...]) -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        found[point.name] = (*found.get(point.name, ()), point)
    return found


def load(kind: str, offered: tuple[EntryPoint, ...]) -> tuple[object, str]:
    """Load the one thing that is offered under a name; return it with words that say where it is from.

    Raises
    ------
    AegisError
        Two packages offer the name, or the plugin cannot be loaded.
    """
    point = offered[0]
    if len(offered) > 1:
        origins = ", ".join(offer.value for offer in offered)
        raise AegisError(
            f"{kind} {point.name!r} is offered more than once ({origins}): uninstall all but one"
        )
    origin = f"{kind} {point.name!r} of the plugin {point.value!r}"
    try:
        return point.load(), origin
    except Exception as error:  # a plugin may fail in any way; the cause stays attached
        raise AegisError(
            f"{origin} cannot be loaded ({type(error).__name__}: {error}): repair or uninstall the plugin"
        ) from error
