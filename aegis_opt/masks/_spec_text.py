"""A mask in a few words, as tables and sentences show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_MOST_SHOWN = 4  # entries of a list


def spec_text(spec: Mapping[str, Any]) -> str:
    """Return a mask, as configuration files write it, on one short line.

    Examples
    --------
    >>> spec_text({"function": "bucketize", "width": 10}), spec_text({"function": "suppress"})
    ('bucketize(width=10)', 'suppress')
    >>> spec_text({"function": "bucketize", "edges": [0, 10, 20, 30, 40]})
    'bucketize(edges=0, 10, 20, ... 40)'
    >>> spec_text({"function": "generalize", "mapping": {"Young": [10, 17], "Old": [55, 60]}})
    'generalize(mapping of 2)'
    """
    parameters = [_parameter(name, value) for name, value in spec.items() if name != "function"]
    return f"{spec['function']}({', '.join(parameters)})" if parameters else str(spec["function"])


def _parameter(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{name} of {len(value)}"
    if not isinstance(value, Sequence) or isinstance(value, str):
        return f"{name}={value}"
    if any(isinstance(entry, Mapping | list | tuple) for entry in value):
        return f"{name} of {len(value)}"
    shown = [str(entry) for entry in value]
    if len(shown) > _MOST_SHOWN:
        shown = [*shown[: _MOST_SHOWN - 1], f"... {shown[-1]}"]
    return f"{name}={', '.join(shown)}"
