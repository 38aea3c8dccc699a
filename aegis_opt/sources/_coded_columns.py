"""Columns of a source in memory: for every record, the place of its value in the domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError, UnknownColumn
from aegis_opt.sources._counting import Counter
from aegis_opt.sources._counts import Progress
from aegis_opt.sources._duckdb_engine import DuckDBEngine
from aegis_opt.sources._engine import CountingEngine
from aegis_opt.sources._many_values import Policy, Recoding
from aegis_opt.sources._pairs import CodedRecords, IntArray
from aegis_opt.sources._queried_records import CountedColumn, QueriedRecords
from aegis_opt.sources._small_frames import encoded
from aegis_opt.sources._tables import PandasTable


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Some columns of a source: their domains, and the place of every record's value in each."""

    domains: dict[str, Domain]
    places: dict[str, IntArray]

    @property
    def n_records(self) -> int:
        """Number of records, N."""
        return len(next(iter(self.places.values())))


def read_columns(
    engine: CountingEngine, names: Sequence[str], progress: Progress | None = None
) -> CodedColumns | None:
    """Read columns of a source; None where its records may not leave their engine, or are too many for it.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.sources import open_engine
    >>> people = open_engine(pd.DataFrame({"age": [17, 10, 17], "health": ["good", "poor", None]}))
    >>> coded = read_columns(people, ["age", "health"])
    >>> coded.domains["age"].to_list(), coded.places["age"].tolist()
    ([10, 17], [1, 0, 1])
    """
    known = engine.names()
    for name in names:
        if name not in known:
            raise UnknownColumn("column", name, known, f"Source: {engine.description}.")
    positions = [known.index(name) for name in names]
    if isinstance(engine, DuckDBEngine) and isinstance(engine.table, PandasTable):
        small = encoded(engine.table.frame, positions)
        if small is not None:
            return CodedColumns(
                {name: domain for name, (_, domain) in zip(names, small, strict=True)},
                {name: places for name, (places, _) in zip(names, small, strict=True)},
            )
    with engine.open(positions) as records:
        if not records.may_leave:
            return None
        counter = Counter(records, names, Policy(), None)
        counted = counter.value_counts(progress or (lambda *_: None))
        domains = {name: values.domain for name, values in counted.items()}
        columns = [
            CountedColumn(Recoding(column, column.sql), domains[column.name]) for column in counter.columns
        ]
        n_records = int(counted[names[0]].counts.sum())
        held = QueriedRecords(records, columns[0], columns[1:]).held(n_records)
    if not isinstance(held, CodedRecords):
        return None
    if len(held) != n_records:
        raise SourceError(
            f"{engine.description} has other records than when it was counted: read a source that does not "
            "change meanwhile"
        )
    return CodedColumns(domains, dict(zip(names, [held.label, *held.attributes], strict=True)))
