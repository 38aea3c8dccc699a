"""Masks on the text of a value: `EraseDigits` and `Prefix`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt._options import flag, whole_number
from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Keyed, Mask

_MOST_DIGITS = 20  # no number of 64 bits has more
_LONGEST = 2**31 - 2  # characters; engines count them in 32 bits
_POWERS = 10 ** np.arange(20, dtype=np.uint64)  # 10**19 is the last one below 2**64


@dataclass(frozen=True, repr=False)
class EraseDigits(Mask):
    """The last digits of a number's integer part become ``0``.

    Only the decimal digits count: the fraction is erased as well, and so is the sign unless it is kept. A
    number of at most `digits` digits becomes that many zeros, so 7 and 42 stay apart under two erased digits.

    Parameters
    ----------
    digits : int
        How many digits to erase, >= 0.
    keep_sign : bool
        Whether negative numbers keep their ``-``. By default -1234 and 1234 become the same masked value,
        which is the paper's form.

    Examples
    --------
    >>> EraseDigits(2).group(Domain.of([7, 42, 1234, 1299])).labels
    ('0', '00', '1200')
    >>> EraseDigits(2, keep_sign=True).group(Domain.of([-1234, -5, 5, 1234])).labels
    ('-1200', '-0', '0', '1200')
    """

    digits: int
    keep_sign: bool = False

    function: ClassVar[str] = "erase_digits"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real")
    instead: ClassVar[str] = "use Prefix for strings, Truncate for dates, or Suppress"

    def _normal(self) -> dict[str, Any]:
        return {
            "digits": whole_number("the digits of EraseDigits", self.digits, least=0, error=MaskError),
            "keep_sign": flag("the keep_sign of EraseDigits", self.keep_sign, error=MaskError),
        }

    def _keys(self, domain: Domain) -> Keyed:
        if not self.keep_sign:
            return self._unsigned(domain)
        # The values ascend: those below 0 come first, and their keys are counted on from those of the others
        keys, labels_of = self._unsigned(domain)
        places, distinct = pd.factorize(keys)
        negative = np.asarray(domain.values < 0)
        return places + negative * len(distinct), lambda signed: [
            f"-{text}" if key >= len(distinct) else text
            for key, text in zip(signed, labels_of(distinct[signed % len(distinct)]), strict=True)
        ]

    def _unsigned(self, domain: Domain) -> Keyed:
        size = _integer_parts(domain)
        length = np.maximum(np.searchsorted(_POWERS, size, side="right"), 1)  # 0 has one digit
        digits = min(self.digits, _MOST_DIGITS)
        kept = size // _POWERS[min(digits, 19)]
        # The key of a number with no digit left is its length, which no kept number can be confused with.
        keys = np.where(length <= digits, ~length.astype(np.uint64), kept)
        shortest = 2**64 - 1 - 20
        zeros = "0" * digits

        def labels(distinct: npt.NDArray[np.uint64]) -> list[str]:
            return [
                "0" * (2**64 - 1 - key) if key >= shortest else f"{key}{zeros}" for key in distinct.tolist()
            ]

        return keys, labels


@dataclass(frozen=True, repr=False)
class Prefix(Mask):
    """Only the first characters stay: ``21145`` becomes ``211*``.

    A value not longer than the prefix keeps its text, without the star. For integers the prefix counts
    digits, and the sign is kept.

    Parameters
    ----------
    length : int
        How many characters to keep, >= 1.

    Examples
    --------
    >>> Prefix(3).group(Domain.of(["211", "21145", "21146"])).labels
    ('211', '211*')
    """

    length: int

    function: ClassVar[str] = "prefix"
    pointwise: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("integer", "string")
    instead: ClassVar[str] = "use Bucketize for reals, Truncate for dates, or Suppress"

    def _normal(self) -> dict[str, Any]:
        return {
            "length": whole_number(
                "the length of Prefix", self.length, least=1, most=_LONGEST, error=MaskError
            )
        }

    def _keys(self, domain: Domain) -> Keyed:
        n = self.length
        masked = np.empty(len(domain.values), dtype=object)
        signed = domain.kind == "integer"
        texts = map(str, domain.values.tolist()) if signed else domain.values
        masked[:] = [_cut(text, n + (signed and text[0] == "-")) for text in texts]
        return masked, lambda texts: texts.tolist()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}*"


def _integer_parts(domain: Domain) -> npt.NDArray[np.uint64]:
    """Return |integer part| of each value."""
    if domain.kind == "integer":
        whole: npt.NDArray[np.int64] = np.abs(domain.values)
        return whole.view(np.uint64)  # right for -2**63, too: its int64 `abs` wraps to what reads 2**63
    size: npt.NDArray[np.float64] = np.abs(domain.values)
    if not np.all(size < 2.0**63):
        worst = domain.values[np.argmax(size)].item()
        raise MaskError(
            f"the value {worst!r} is too large to erase digits of: use Bucketize, or TopCode to cut it off"
        )
    return size.astype(np.uint64)
