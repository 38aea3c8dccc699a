"""Suppression: records whose class is too small are dropped, or their quasi-identifiers blanked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from aegis_opt._options import one_of, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.masks._sql import quasi_identifier_names
from aegis_opt.sources._column import kind_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation

Suppressed = Literal["drop", "blank"]
OnSuppressed = Callable[[int, int], None]

KEPT = "kept"
"""The column that says which records stay."""


@dataclass(frozen=True)
class Suppression:
    """Which records are suppressed, and how."""

    k: int
    quasi_identifiers: tuple[str, ...]
    suppressed: Suppressed
    on_suppressed: OnSuppressed | None = None

    @classmethod
    def of(
        cls,
        suppress_below: int | None,
        quasi_identifiers: Iterable[str] | None,
        suppressed: Suppressed,
        on_suppressed: OnSuppressed | None,
        masked: Iterable[str],
        names: Sequence[str],
    ) -> Suppression | None:
        """Check the options; None where nothing is to be suppressed."""
        one_of("suppressed", suppressed, ("drop", "blank"))
        if suppress_below is None:
            if quasi_identifiers is not None or suppressed != "drop" or on_suppressed is not None:
                raise InvalidOption(
                    "quasi_identifiers, suppressed and on_suppressed are about suppression: pass "
                    "suppress_below=k, too"
                )
            return None
        k = whole_number("suppress_below", suppress_below, least=1)
        return cls(k, quasi_identifier_names(quasi_identifiers, masked, names), suppressed, on_suppressed)

    def marked(self, relation: Relation, names: Sequence[str], own: Connection | None) -> Relation:
        """Say of each masked record whether it stays, in the column `kept`; the order of the rows stays.

        A relation of our own connection is stored there, so that it is computed once.
        """
        keys = ", ".join(_key(relation, names.index(name)) for name in self.quasi_identifiers)
        numbered = relation.project("*, row_number() OVER () AS place")
        sized = f"*, count(*) OVER (PARTITION BY {keys}) >= {self.k} AS {KEPT}"
        marked = numbered.project(sized).order("place").project("* EXCLUDE (place)")
        if own is None:
            return marked
        marked.create("marked")
        return own.table("marked")

    def released(self, marked: Relation, names: Sequence[str]) -> Relation:
        """Drop or blank the records that do not stay; the column `kept` goes."""
        released = marked.filter(KEPT) if self.suppressed == "drop" else self.blanked(marked, names)
        return released.project(f"* EXCLUDE ({KEPT})")

    def blanked(self, marked: Relation, names: Sequence[str]) -> Relation:
        """Blank the quasi-identifiers of the records that do not stay."""
        columns = [
            f"CASE WHEN {KEPT} THEN c{i} END AS c{i}" if name in self.quasi_identifiers else f"c{i}"
            for i, name in enumerate(names)
        ]
        return marked.project(", ".join([*columns, KEPT]))

    def check(self, marked: Relation, names: Sequence[str]) -> None:
        """Count what is suppressed, and check that no class of what is released is too small."""
        counts = f"count(*) FILTER (WHERE NOT {KEPT}) AS gone, count(*) AS n"
        [(gone, n_records)] = marked.aggregate(counts).fetchall()
        released = self.released(marked, names)
        keys = ", ".join(_key(released, names.index(name)) for name in self.quasi_identifiers)
        [(smallest,)] = released.aggregate("count(*) AS size", keys).aggregate("min(size)").fetchall()
        self.judge(gone, n_records, smallest)

    def judge(self, gone: int, n_records: int, smallest: int | None) -> None:
        """Refuse a result that is empty, or has a class that is too small; else report what is suppressed."""
        if gone == n_records:
            raise InvalidOption(
                f"all {n_records:,} records are in classes of fewer than {self.k:,} (suppress_below), so "
                "nothing would be left: mask more, or choose a smaller number"
            )
        if smallest is None or smallest < self.k:
            raise InvalidOption(
                f"the {gone:,} blanked records would form a class of fewer than {self.k:,} themselves: drop "
                "them, suppressed='drop', or mask more"
            )
        if self.on_suppressed is not None:
            self.on_suppressed(gone, n_records)


def _key(relation: Relation, position: int) -> str:
    """Return the SQL by which records are grouped: what can be seen of a value.

    NaN and NULL, 0.0 and -0.0, or 1 month and 30 days are equal where they are counted, and yet tell records
    apart where they are released.
    """
    found = kind_of(str(relation.types[position]))
    text = f"CAST(c{position} AS VARCHAR)"
    if found is None:
        return f"c{position}, {text}"
    return text if found[0] == "real" else f"c{position}"
