"""The header of a CSV file: its names, what separates them, and how lines end."""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, TextIO, cast

from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.errors import SourceError

MOST_CHARACTERS = 2**24
"""Characters of the header of a CSV file, all of its lines together."""

MOST_COLUMNS = 100_000
"""Names in the header of a CSV file."""

MOST_UNPACKED, MOST_RATIO = 2**28, 200
"""Bytes that a packed CSV file may unpack to if these are more than so many times its own."""

_PIECE = 2**20  # characters that are looked at together
_SEPARATORS = (",", ";", "\t", "|")
_DAMAGED = (OSError, EOFError, zlib.error)
"""What reading a file raises that is cut short or damaged, plain or packed."""


@dataclass(frozen=True)
class CsvHeader:
    """What the first record of a file says."""

    names: list[str]
    separator: str
    line_end: str  # "\n", "\r\n" or "\r"; empty where nothing follows
    n_lines: int  # more than one where a quoted name holds line breaks

    def __str__(self) -> str:
        return self.separator.join(self.names)

    @classmethod
    def of(cls, path: str, separator: str | None = None) -> CsvHeader:
        """Read the header; where no separator is given, it is the one that splits the header most."""
        found: list[CsvHeader] = []
        errors: list[Exception] = []
        for candidate in (separator,) if separator else _SEPARATORS:
            try:
                with _open(path) as file:
                    found.append(cls._read(file, candidate))
            except csv.Error as error:  # quotes may make sense with another separator
                errors.append(error)
            except _DAMAGED as error:
                raise _unreadable(path, error) from error
        if not found:
            raise _unreadable(path, errors[0]) from errors[0]
        header = max(found, key=lambda each: len(each.names))  # the first of several
        if any("\udc80" <= character <= "\udcff" for character in "".join(header.names)):
            raise SourceError(f"{path}: the header line is not in UTF-8: save the file as UTF-8 text")
        if len(header.names) > MOST_COLUMNS:
            raise SourceError(
                f"{path} has {len(header.names):,} columns; of a CSV file at most {MOST_COLUMNS:,} are read: "
                "keep those that you need, or read it yourself and pass a pandas, polars or Arrow table"
            )
        if not header.names:
            what = "is empty" if not header.line_end else "begins with an empty line"
            raise SourceError(f"{path} {what}: a CSV file needs a header line and at least one record")
        if any(end in header.names[0] for end in "\r\n") and _has_mark(path):
            # DuckDB does not see the quote that follows the mark, and takes the rest of the name for a record
            raise SourceError(
                f"{path} begins with a byte order mark and a name with a line break, {header.names[0]!r}: "
                "rename that column, or save the file without the mark"
            )
        if re.fullmatch(r"(?i)sep=.?", str(header)):
            raise SourceError(f"{path}: the first line, {str(header)!r}, is no header: remove it")
        return header

    @classmethod
    def _read(cls, file: TextIO, separator: str) -> CsvHeader:
        lines: list[str] = []

        def remembered() -> Iterator[str]:
            left = MOST_CHARACTERS
            while line := file.readline(left + 1):
                left -= len(line)
                if left < 0:
                    raise csv.Error(f"its header has more than {MOST_CHARACTERS:,} characters")
                lines.append(line)
                yield line

        names = next(csv.reader(remembered(), delimiter=separator, strict=True), [])
        last = lines[-1] if lines else ""
        return cls(names, separator, last[len(last.rstrip("\r\n")) :], len(lines))

    def n_records(self, path: str) -> int | None:
        """Count the records; None where a quote is not closed, or has other text beside it.

        Quotes within a field are written twice. So what follows an odd number of quotes is within one.
        """
        import numpy as np

        found, n_quotes, before = -1, 0, b"\n"  # the header is no record
        with _open_bytes(path) as file:
            piece = file.read(_PIECE).removeprefix(codecs.BOM_UTF8)
            while piece:
                look_for_ctrl_c()
                following = file.read(_PIECE)
                text = np.frombuffer(before + piece + (following[:1] or b"\n"), np.uint8)
                is_quote, is_end = text == ord('"'), (text == ord("\r")) | (text == ord("\n"))
                at_edge = is_quote | is_end | (text == ord(self.separator))
                quotes = np.flatnonzero(is_quote[1:-1]) + 1
                opens = (n_quotes + np.arange(quotes.size)) % 2 == 0
                if not np.where(opens, at_edge[quotes - 1], at_edge[quotes + 1]).all():
                    return None
                ends = np.flatnonzero(is_end[1:-1]) + 1
                ends = ends[(n_quotes + np.searchsorted(quotes, ends)) % 2 == 0]
                follows = is_end[ends - 1]  # another line end: the line is empty, or they are one, as "\r\n"
                found += int(np.count_nonzero(~follows))
                if len(self.names) == 1:  # an empty line is a missing value
                    second = (text[ends] == ord("\n")) & (text[ends - 1] == ord("\r"))
                    found += int(np.count_nonzero(follows & ~second))
                n_quotes += quotes.size
                before, piece = piece[-1:], following
        return None if n_quotes % 2 else found + (before not in b"\r\n")  # the last line may have no end

    def has_more(self, path: str) -> bool:
        """Whether anything but blank lines follows the header."""
        with _open(path) as file:
            for _ in range(self.n_lines):
                file.readline()
            return any(map(str.strip, iter(partial(file.read, _PIECE), "")))


def check_unpacks(path: str) -> None:
    """Refuse a packed file that is damaged, or made to fill the memory of who reads it.

    DuckDB does not compare what it unpacks with its checksum.
    """
    if not path.lower().endswith(".gz"):
        return
    most = max(MOST_UNPACKED, MOST_RATIO * os.path.getsize(path))
    size = 0
    try:
        with _open_bytes(path) as file:
            while piece := file.read(_PIECE):
                look_for_ctrl_c()
                size += len(piece)
                if size > most:
                    raise SourceError(
                        f"{path} unpacks to more than {most:,} bytes, {MOST_RATIO} times its size or more, "
                        "which takes little to send and much to read: unpack it yourself if you trust it"
                    )
    except _DAMAGED as error:
        raise SourceError(
            f"{path} cannot be unpacked ({error}): the file is damaged or cut short; get a whole copy"
        ) from error


def _has_mark(path: str) -> bool:
    """Whether a file begins with the byte order mark of UTF-8."""
    with _open_bytes(path) as file:
        return file.read(3) == codecs.BOM_UTF8


def _open_bytes(path: str) -> BinaryIO:
    """Open a file, plain or packed."""
    return cast("BinaryIO", (gzip.open if path.lower().endswith(".gz") else open)(path, "rb"))


def _open(path: str) -> TextIO:
    """Open a file of text, plain or packed; bytes that are not UTF-8 are left to who reads the records."""
    opener = gzip.open if path.lower().endswith(".gz") else open
    file = opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")
    return cast("TextIO", file)


def _unreadable(path: str, error: Exception) -> SourceError:
    return SourceError(
        f"{path} cannot be read as CSV ({error}): save it as UTF-8 text with a header line "
        "whose quotes are closed"
    )
