"""Generalisation hierarchies of a table, and `anjana`, which raises their levels until k-anonymity holds.

anjana pins old versions of its dependencies, so it is not in the `bench` extra: install it beside them, see
the error.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd

from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidInput, MissingDependency
from aegis_opt.masks import Generalize, Hierarchy


def require_anjana() -> None:
    """Say how to install anjana where it is missing."""
    try:
        import anjana.anonymity  # noqa: F401
    except ImportError as error:
        raise MissingDependency(
            "k-anonymous configurations need anjana, which pins its dependencies: "
            "pip install --no-deps anjana pycanon beartype"
        ) from error


class Ladders:
    """The hierarchies of all attributes of a table, as this library and as anjana take them.

    Parameters
    ----------
    frame : DataFrame
        The table.
    label : str
        Its label, which has no hierarchy.
    folder : Path, optional
        Of hierarchies; see `hierarchy_of`.
    """

    def __init__(self, frame: pd.DataFrame, label: str, folder: Path | None) -> None:
        if folder is not None and not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder} of hierarchies")
        self.of = {str(name): hierarchy_of(frame[name], folder) for name in frame.columns if name != label}
        # anjana compares cells and takes NumPy arrays: every text of a hierarchy becomes a number. A missing
        # value stays missing on every level, as in the release
        self._levels: dict[str, dict[int, pd.Series]] = {}
        self._numbers = pd.DataFrame(index=frame.index)
        for name, ladder in self.of.items():
            known: dict[str, int] = {}
            coded = [[known.setdefault(cell, len(known)) for cell in row] for row in ladder.rows]
            missing = frame[name].isna()
            self._numbers[name] = frame[name].astype(str).map(known).mask(missing, len(known))
            if self._numbers[name].isna().any():
                value = frame.loc[self._numbers[name].isna(), name].tolist()[0]
                raise InvalidInput(f"the hierarchy {ladder!r} does not list {value!r} of {name!r}: add a row")
            if missing.any():
                coded.append([len(known)] * ladder.n_levels)
            self._levels[name] = {
                level: pd.Series(np.array(coded)[:, level]) for level in range(ladder.n_levels)
            }

    def raised_by_anjana(
        self, kept: Sequence[str], k: int, suppression: float = 0.0
    ) -> tuple[dict[str, int], pd.DataFrame] | None:
        """Return the level that anjana gives each attribute, and its release; None where it finds none."""
        from anjana.anonymity import k_anonymity_inner

        steps = {name: dict(self._levels[name]) for name in kept}
        records = self._numbers[list(kept)].copy()
        with redirect_stdout(io.StringIO()):  # it reports there
            released, _, reached = k_anonymity_inner(records, [], list(kept), k, 100 * suppression, steps)
        return None if released.empty else ({name: int(reached[name]) for name in kept}, released)

    def candidates(self, kept: Sequence[str]) -> dict[str, list[Generalize]]:
        """Return every level of the hierarchies of some attributes, as masks."""
        found = {}
        for name in kept:
            levels = range(self.of[name].n_levels)
            found[name] = [Generalize(hierarchy=self.of[name], level=level) for level in levels]
        return found


def hierarchy_of(column: pd.Series, folder: Path | None) -> Hierarchy:
    """Return the attribute's hierarchy: NAME.csv of the folder, else made for its values.

    Integers become intervals of width 5, 10, 20, ... up to the whole range, then ``*``; anything else has
    two levels, the value and ``*``.

    Examples
    --------
    >>> hierarchy_of(pd.Series([1, 7, 12], name="x"), None).rows
    (('1', '[0, 5[', '[0, 10[', '[0, 20[', '*'), ('7', '[5, 10[', '[0, 10[', '[0, 20[', '*'), \
('12', '[10, 15[', '[10, 20[', '[0, 20[', '*'))
    """
    path = None if folder is None else folder / f"{column.name}.csv"
    if path is not None and path.exists():
        return Hierarchy.from_csv(path)
    domain = Domain.of(column)
    if domain.kind != "integer":
        return Hierarchy([[str(value), "*"] for value in column.dropna().astype(str).unique()])
    low, high = int(domain.values[0]), int(domain.values[-1])
    widths = [5]
    while low // widths[-1] != high // widths[-1] and widths[-1] < 2 * (high - low):
        widths.append(2 * widths[-1])
    return Hierarchy(
        [
            [str(v), *(f"[{v // w * w}, {v // w * w + w}[" for w in widths), "*"]
            for v in domain.values.tolist()
        ]
    )
