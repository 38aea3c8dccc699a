"""Values in messages: short, on one line, and without characters that a terminal obeys."""

from __future__ import annotations

import reprlib
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

_LONGEST = 200  # characters of a text or a number that a message shows
_HARMLESS = "\n\t\u200c\u200d"  # the latter two join and separate letters, in Persian as in emoji
_MOST_DIGITS = 640  # Python always writes integers of so many digits, whatever its own limit is


class _Short(reprlib.Repr):
    """`repr` that ends: six entries of a list, four levels, the two ends of a long text."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 4, _LONGEST, _LONGEST

    def repr_int(self, x: int, level: int) -> str:
        digits = int(x.bit_length() * 0.30103) + 1
        return f"a number of {digits:,} digits" if digits > _MOST_DIGITS else super().repr_int(x, level)


_SHORT = _Short()


def shown(value: Any) -> str:
    """Return a value as a message shows it, however large, deep or strange it is.

    Examples
    --------
    >>> shown("age"), shown([1, [2, [3, [4, [5]]]]]), shown("a" * 1000)[:4]
    ("'age'", '[1, [2, [3, [4, [...]]]]]', "'aaa")
    """
    return _SHORT.repr(value)


def shortened(text: str) -> str:
    """Return a name as a list of names shows it: whole, but for one that is very long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"


def listing(items: Sequence[str], most: int = 5) -> str:
    """Join names, the first few of many: age, weight and 3 more."""
    if len(items) <= most:
        return ", ".join(items)
    return f"{', '.join(items[:most])} and {len(items) - most} more"


def without_controls(text: str) -> str:
    r"""Return text with the characters that control a terminal or the direction of reading as escapes.

    Line breaks and tabs stay. Without this, a name could move the cursor, hide or reverse what is read.

    Examples
    --------
    >>> print(without_controls("\x1b[31mred\u202e"))
    \x1b[31mred\u202e
    """
    if text.isprintable():
        return text
    return "".join(repr(c)[1:-1] if _controls(c) else c for c in text)


def _controls(character: str) -> bool:
    return character not in _HARMLESS and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def exact(value: float) -> Decimal:
    """Return the decimal number that a person would write for `value`."""
    return Decimal(repr(value))


def number_text(value: float | Decimal) -> str:
    """Return a number in plain decimal notation, without trailing zeros."""
    decimal = (value if isinstance(value, Decimal) else exact(value)).normalize()
    if decimal == 0:
        return "0"
    return f"{decimal:f}" if -7 <= decimal.adjusted() <= 20 else str(decimal)
