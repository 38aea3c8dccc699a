"""Strict reading of JSON that others made: unique keys, numbers and texts that every program can hold."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from aegis_opt._shown import shown
from aegis_opt.errors import AegisError

MOST_DEPTH = 32
"""How deep lists and mappings of a file may be nested; the library's own files need half of it."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, error: type[AegisError], *, most_items: int, deep: bool = False) -> Any:
    """Return what a JSON document holds, or raise an error that says what is wrong and where.

    Parameters
    ----------
    text : str
        The document.
    error : type
        What to raise.
    most_items : int
        How many commas and opening brackets it may have. Each stands for an entry, which takes many times
        more memory than its text does.
    deep : bool
        Whether to leave the depth to the caller, who checks the type of everything that is in large files.

    Examples
    --------
    >>> from aegis_opt.errors import SummaryError
    >>> parse_json('{"a": 1, "a": 2}', SummaryError, most_items=10)
    Traceback (most recent call last):
    ...
    aegis_opt.errors.SummaryError: the key 'a' is given twice in one object: remove one
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise error(f"the key {shown(twice)} is given twice in one object: remove one")
        return found

    def refuse(constant: str) -> Any:
        raise error(f"{constant} is no JSON number: write null for a missing value")

    def finite(number: str) -> float:
        if math.isinf(value := float(number)):
            raise error(f"the number {shown(number)} is too large for 64 bits: correct it")
        return value

    items = sum(map(text.count, ",[{"))
    if items > most_items:
        raise error(f"it has {items:,} commas and brackets; at most {most_items:,} are read: make it smaller")
    try:
        document = json.loads(text, object_pairs_hook=once, parse_constant=refuse, parse_float=finite)
    except AegisError:  # raised above; most of them are ValueErrors too
        raise
    except json.JSONDecodeError as reason:
        raise error(f"malformed JSON at line {reason.lineno}, column {reason.colno}: {reason.msg}") from None
    except RecursionError:
        raise error(f"it is nested deeper than {MOST_DEPTH} levels: make it flatter") from None
    except MemoryError:
        raise error("it needs more memory than this process may use: make it smaller") from None
    except ValueError:  # the only other one: Python reads no integers of more than 4,300 digits
        raise error("it has a number of thousands of digits: write it in 64 bits, or as text") from None
    if not deep or _SURROGATE.search(text):
        check_nested(document, error, deep=deep)
    return document


def check_nested(document: Any, error: type[AegisError], *, deep: bool = False) -> None:
    """Refuse what is nested too deeply, and text that no file can hold (half a character)."""
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH and not deep:
            raise error(f"it is nested deeper than {MOST_DEPTH} levels: make it flatter")
        inner: list[Any] = []
        for node in level:
            if isinstance(node, str):
                check_text(node, error)
            elif isinstance(node, dict):
                inner += node
                inner += node.values()
            elif isinstance(node, list):
                inner += node
        level = inner


def check_text(text: str, error: type[AegisError]) -> None:
    """Refuse text with half a character (a lone surrogate), which UTF-8 cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(f"the text {shown(text)} has half a character in it: correct it") from None


def typed_entry(
    mapping: Any,
    key: str,
    types: type | tuple[type, ...],
    where: str,
    error: type[AegisError],
    way_out: str,
) -> Any:
    """Return an entry of a mapping that has the right JSON type, or say what is wrong and where."""
    if not isinstance(mapping, dict) or key not in mapping:
        raise error(f"{where} has no {key!r}: {way_out}")
    value = mapping[key]
    types = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise error(f"{key!r} in {where} has the wrong type {type(value).__name__}: {way_out}")
    return value
