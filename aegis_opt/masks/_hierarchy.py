"""Generalisation hierarchies: for each value, what it becomes at level 0, 1, 2, ..."""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aegis_opt._files import read_text
from aegis_opt._json import check_text
from aegis_opt._options import path_of
from aegis_opt._shown import shown
from aegis_opt.domain import Kind, plain
from aegis_opt.errors import MaskError
from aegis_opt.masks._parameters import some

MOST_BYTES = 16 * 2**20
"""The size of a file that holds a hierarchy."""
MOST_CELLS = 2**23
"""Cells of all hierarchies that one configuration file names, together: they take 600 MB."""


@dataclass(frozen=True)
class Hierarchy:
    """A table with one row per value: the value itself (level 0), then ever coarser masked values.

    Parameters
    ----------
    rows : sequence of sequences
        All of one length; the first cells are distinct. Cells are kept as text.
    path : Path, optional
        The file the rows came from; it plays no part in comparisons.

    Examples
    --------
    >>> Hierarchy([["17", "[15, 20[", "*"], ["21", "[20, 25[", "*"]]).n_levels
    3
    """

    rows: Sequence[Sequence[Any]]
    path: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.rows, str) or not isinstance(self.rows, Iterable):
            raise MaskError(f"the hierarchy must be a list of rows, not {shown(self.rows)}")
        # What stands in a file is not quoted: its path may be a stranger's choice, and errors are passed on
        where, quotes = "the hierarchy", self.path is None
        if self.path is not None:
            where += f" {str(self.path)!r}"
        rows: list[tuple[str, ...]] = []
        seen: dict[str, int] = {}
        for i, row in enumerate(self.rows, start=1):
            if isinstance(row, str) or not isinstance(row, Iterable):
                raise MaskError(f"{where}: row {i} must be a list of cells, not {shown(row)}")
            cells = tuple(_text(cell) for cell in row)
            if not any(cells):
                raise MaskError(f"{where}: row {i} is empty; remove it")
            if len(cells) != len(rows[0] if rows else cells):
                about = f" ({shown(cells[0])})" if quotes else ""
                raise MaskError(
                    f"{where}: row {i}{about} has {len(cells)} cells, row 1 has {len(rows[0])}; "
                    "every row needs one cell per level (quote cells that contain the delimiter)"
                )
            if cells[0] in seen:
                value = shown(cells[0]) if quotes else "the same value"
                raise MaskError(f"{where}: rows {seen[cells[0]]} and {i} are both for {value}; remove one")
            seen[cells[0]] = i
            rows.append(cells)
        if not rows:
            raise MaskError(f"{where} is empty: write one row per value, such as 17,10-19,*")
        vars(self).update(rows=tuple(rows))

    @classmethod
    def from_csv(cls, path: str | Path, delimiter: str | None = None) -> Hierarchy:
        """Read a hierarchy as ARX and anjana write it: no header, one row per value.

        Parameters
        ----------
        path : path
            A regular file of UTF-8 text, of at most 16 MiB; cells that contain the delimiter are quoted.
        delimiter : str, optional
            By default ``;`` if it splits the first row, otherwise ``,``.
        """
        path = path_of("path", path)
        where = f"the hierarchy {str(path)!r}"
        text = read_text(path, where, MaskError, most=MOST_BYTES)
        try:
            if delimiter is None:
                first = next(csv.reader(io.StringIO(text, newline=""), delimiter=";"), [])
                delimiter = ";" if len(first) > 1 else ","
            return cls(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True), path)  # type: ignore[arg-type]
        except csv.Error as error:
            raise MaskError(f"{where} is no CSV file: {error}") from error
        except TypeError as error:  # so says csv of a delimiter
            raise MaskError(f"the delimiter must be one character, not {shown(delimiter)}") from error

    @property
    def n_levels(self) -> int:
        """Number of levels, the values themselves (level 0) included."""
        return len(self.rows[0])

    def __repr__(self) -> str:
        if self.path is not None:
            return repr(str(self.path))
        return f"Hierarchy({len(self.rows)} values, {self.n_levels} levels)"


def match_all(
    kind: Kind, cells: Sequence[Any], masked: Sequence[Any], *, quotes: bool = True
) -> dict[Any, Any]:
    """Return {value: masked value} for written values, read as values of a domain of that kind.

    Numbers match by value (``"17"``, ``"17.0"`` and 17 are the same), dates by ISO 8601, booleans by
    true/false or 1/0, strings by text. What can be no value of that kind is left out. An error names the
    values, or only their rows where it may not quote them.
    """
    values = read_values(kind, cells)
    found = dict(zip(values, masked, strict=True))
    if len(found) < len(values):  # some are None, or one and the same
        clashes = [i for i, v in enumerate(values) if v is not None and found[v] != masked[i]]
        if clashes:
            named = some(dict.fromkeys(values[i] for i in clashes))
            what = named if quotes else f"the values of rows {some(i + 1 for i in clashes)}"
            raise MaskError(
                f"{what} (as {kind}) stand more than once, under different masked values: keep one"
            )
    found.pop(None, None)
    return found


def read_values(kind: Kind, cells: Iterable[Any]) -> list[Any]:
    """Return written values as values of a kind, as `match_all` reads them; None for what can be none."""
    read = _READERS[kind]
    return [read(cell) for cell in cells]


def _string(cell: Any) -> str:
    return cell if isinstance(cell, str) else str(int(cell) if isinstance(cell, bool) else cell)


def _boolean(cell: Any) -> bool | None:
    return _BOOLEANS.get(cell.strip().lower() if isinstance(cell, str) else cell)


def _integer(cell: Any) -> int | float | None:
    try:
        return int(cell) if isinstance(cell, str) else cell
    except ValueError:
        return _real(cell)


def _real(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (ValueError, OverflowError):  # the latter: an integer of hundreds of digits
        return None
    return None if math.isnan(value) else value


def _datetime(cell: Any) -> dt.datetime | None:
    try:
        moment = dt.datetime.fromisoformat(cell)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is None else None


def _date(cell: Any) -> dt.date | None:
    moment = _datetime(cell)
    return moment.date() if moment is not None and moment.time() == dt.time(0) else None


_BOOLEANS: dict[Any, bool] = {"true": True, "false": False, "1": True, "0": False, 1: True, 0: False}
_READERS: dict[Kind, Callable[[Any], Any]] = {
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "string": _string,
}


def _text(cell: Any) -> str:
    cell = plain(cell)
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    if isinstance(cell, dt.date):
        return cell.isoformat()
    text = "" if cell is None else str(cell)
    check_text(text, MaskError)
    return text
