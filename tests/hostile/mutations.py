"""Changes of documents and of bytes, by chance or on purpose, each made from a random generator."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

Change = Callable[[random.Random, Any], None]

_MOST_REPEATED = 10_000_000
"""Characters of a repeated entry."""

LEAVES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        7,
        8,
        9,
        0.5,
        -0.0,
        1e308,
        1e-320,
        "",
        "0",
        "NaN",
        "Infinity",
        "x",
        "*",
    ),
    *(2**31, 2**53, 2**53 + 1, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**400, 10**4000, "9" * 5000, "\0"),
    *([], {}, [[]], [0], {"runs": []}, {"runs": [[0, 8]]}, {"a": 1}, "\x1b[31m", "\u202e", "日" * 300),
    *(
        "\ud800",
        "a" * 100_000,
        "9999-12-31",
        "0001-01-01T00:00:00+14:00",
        "2020-02-30",
        "../age.csv",
        "/dev/zero",
    ),
    *(
        "identity",
        "suppress",
        "generalize",
        "bucketize",
        "blur",
        "prefix",
        "truncate",
        "integer",
        "real",
        "date",
    ),
]


_DEEPEST = 300
"""Levels to which documents are nested; Python's own writer of JSON gives up at about 1000."""


def depth(document: Any) -> int:
    """Return how many levels a document has."""
    levels, level = 0, [document]
    while level:
        levels += 1
        inner = [
            node.values() if isinstance(node, dict) else node
            for node in level
            if isinstance(node, dict | list)
        ]
        level = [entry for entries in inner for entry in entries]
    return levels


def places(document: Any) -> list[tuple[Any, Any]]:
    """Return all (container, key) of a document."""
    found = []
    waiting = [document]
    while waiting:
        node = waiting.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
        for key in keys:
            found.append((node, key))
            waiting.append(node[key])
    return found


def change_leaves(rng: random.Random, document: Any) -> None:
    """Replace a few entries by values that are wrong, extreme or merely others."""
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        node, key = rng.choice(places(document))
        value = node[key]
        if isinstance(value, int | float) and abs(value) < 2**64 and rng.random() < 0.5:
            node[key] = rng.choice((value + 1, value - 1, -value, value * 2**40, value + 0.5))
        else:
            node[key] = copy.deepcopy(rng.choice(LEAVES))


def _repeated(rng: random.Random, entry: Any) -> list[Any]:
    """Return copies of an entry, few where it is large: repeats of repeats would never be written."""
    times = rng.choice((1, 3, 1000))
    text = json.dumps(entry)
    if times * len(text) > _MOST_REPEATED:
        times = 3
    return [json.loads(text) for _ in range(times)]


def change_structure(rng: random.Random, document: Any) -> None:
    """Remove, repeat, rename, exchange or wrap a few entries."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = places(document)
        if not found:
            return
        node, key = rng.choice(found)
        other, other_key = rng.choice(found)
        match rng.randrange(6):
            case 0:
                del node[key]
            case 1 if isinstance(node, list):
                node[key:key] = _repeated(rng, node[key])
            case 2 if isinstance(node, dict):
                node[str(rng.choice(LEAVES))] = node.pop(key)
            case 3 if depth(document) <= _DEEPEST:  # what is exchanged may be put into itself
                copies = json.loads(json.dumps([node[key], other[other_key]]))
                node[key], other[other_key] = copies[1], copies[0]
            case kind if kind >= 4:
                for _ in range(min(rng.choice((1, 5, 40, 200)), _DEEPEST - depth(document))):
                    node[key] = [node[key]] if kind == 4 else {"a": node[key]}


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, insert, remove or repeat a few bytes, or cut the rest off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = rng.randrange(len(changed))
        match rng.randrange(5):
            case 0:
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at] = rng.randrange(256)
            case 2:
                changed[at:at] = rng.choice(
                    (b"[", b"{", b'"', b",", b"9" * 5000, b"[" * 3000, b"\xff", b"&a ", b"*a")
                )
            case 3:
                del changed[at : at + rng.choice((1, 2, 30))]
            case _:
                changed[at:at] = changed[at : at + 30]
        if not changed:
            return b""
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.05 else changed)


def doubled_key(rng: random.Random, text: str) -> str:
    """Give a key of a JSON document twice."""
    keys = [i for i in range(len(text)) if text.startswith('":', i)]
    end = rng.choice(keys)
    start = text.rindex('"', 0, end)
    return f"{text[:start]}{text[start : end + 2]}0,{text[start:]}"


def written(rng: random.Random, text: str, changes: list[Change]) -> bytes:
    """Return a document with some changes, as the bytes of a file."""
    kind = rng.randrange(len(changes) + 2)
    if kind < len(changes):
        document = json.loads(text)
        changes[kind](rng, document)
        return json.dumps(document, ensure_ascii=rng.random() < 0.9).encode("utf-8", "surrogatepass")
    if kind == len(changes) and rng.random() < 0.3:
        return doubled_key(rng, text).encode()
    return change_bytes(rng, text.encode())
