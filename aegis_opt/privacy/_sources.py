"""From a source and masks to equivalence classes: in memory, or by a query where the records stay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aegis_opt._nan import grouped_real
from aegis_opt.domain import Domain
from aegis_opt.errors import InvalidOption
from aegis_opt.masks import Grouping, Identity, Mask, group_attribute
from aegis_opt.masks._base import value_labels
from aegis_opt.masks._order import Rule, arrange
from aegis_opt.privacy._classes import ClassCounts, IntArray, combined, counted_classes
from aegis_opt.release import apply_configuration
from aegis_opt.sources import scan_domains
from aegis_opt.sources._coded_columns import CodedColumns, read_columns
from aegis_opt.sources._column import Column
from aegis_opt.sources._counts import Progress
from aegis_opt.sources._engine import CountingEngine, Records
from aegis_opt.sources._scan import open_engine

Configured = Mapping[str, Mapping[str, Mask]]


@dataclass(frozen=True, eq=False)
class Sensitive:
    """The sensitive attribute: its name, its domain, and the declared order of its values."""

    name: str
    domain: Domain
    rule: Rule | None

    def grouped(self, mask: Mask, ordered: bool) -> tuple[IntArray, int, IntArray | None]:
        """Return the masked value of each value, how many there are, and their order if that is wanted."""
        grouping = group_attribute(mask, self.name, self.domain)
        order = None
        if ordered:
            arrangement = arrange(self.name, self.domain, self.rule, [{self.name: mask}])
            if arrangement.order == "nominal":
                raise InvalidOption(
                    f"the sensitive attribute {self.name!r} has no order, which ordered t-closeness needs: "
                    f"pass order={{{self.name!r}: [...]}} with its values from first to last, or "
                    "ordered=False"
                )
            groups = arrangement.of(grouping.groups)
            order = groups[np.sort(np.unique(groups, return_index=True)[1])]
        return grouping.groups, grouping.n_groups, order


@contextmanager
def open_classes(
    source: Any,
    configurations: Configured,
    quasi_identifiers: Sequence[str],
    sensitive: str | None,
    orders: Mapping[str, Rule],
    progress: Progress | None = None,
) -> Iterator[MaskedClasses]:
    """Read what is needed to count the classes of every configuration."""
    engine = open_engine(source)
    names = [*quasi_identifiers, *([] if sensitive is None else [sensitive])]
    columns = read_columns(engine, names, progress)
    if columns is not None:
        domains = columns.domains
    else:
        domains = {} if sensitive is None else scan_domains(engine, attributes=[sensitive])
    own = None
    if sensitive is not None:
        rule = {**engine.orders(), **orders}.get(sensitive)
        own = Sensitive(sensitive, domains[sensitive], rule)
    if columns is None:
        yield QueriedClasses(source, quasi_identifiers, own)
    else:
        yield HeldClasses.of(columns, quasi_identifiers, own, configurations)


class MaskedClasses(ABC):
    """The records of a source under the masks of any configuration."""

    @abstractmethod
    def counted(self, masks: Mapping[str, Mask], ordered: bool) -> AbstractContextManager[ClassCounts]:
        """Count the classes under the masks of one configuration; `shown` works as long as this is open."""


@dataclass(frozen=True, eq=False)
class HeldClasses(MaskedClasses):
    """Distinct records in memory, and how often each occurs."""

    columns: CodedColumns
    quasi_identifiers: Sequence[str]
    sensitive: Sensitive | None
    weights: IntArray
    groupings: dict[tuple[str, Mask], Grouping] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        columns: CodedColumns,
        quasi_identifiers: Sequence[str],
        sensitive: Sensitive | None,
        configurations: Configured,
    ) -> HeldClasses:
        """Keep one record of those that no configuration tells apart."""
        groupings: dict[tuple[str, Mask], Grouping] = {}
        codes, sizes = [], []
        for name, domain in columns.domains.items():
            classes = np.arange(len(domain))
            if name in quasi_identifiers:
                classes = np.zeros(len(domain), dtype=np.int64)
                for masks in configurations.values():
                    mask = masks.get(name, Identity())
                    if (name, mask) not in groupings:
                        groupings[name, mask] = group_attribute(mask, name, domain)
                        own = groupings[name, mask]
                        classes = np.unique(classes * own.n_groups + own.groups, return_inverse=True)[1]
            codes.append(classes[columns.places[name]])
            sizes.append(int(classes.max()) + 1)
        _, first, counts = np.unique(combined(codes, sizes), return_index=True, return_counts=True)
        kept = {name: places[first] for name, places in columns.places.items()}
        return cls(CodedColumns(columns.domains, kept), quasi_identifiers, sensitive, counts, groupings)

    @contextmanager
    def counted(self, masks: Mapping[str, Mask], ordered: bool) -> Iterator[ClassCounts]:
        """Count in memory."""
        chosen = {name: self.groupings[name, masks.get(name, Identity())] for name in self.quasi_identifiers}
        masked = [chosen[name].groups[self.columns.places[name]] for name in self.quasi_identifiers]
        own = None
        if self.sensitive is not None:
            name = self.sensitive.name
            groups, n_values, order = self.sensitive.grouped(masks.get(name, Identity()), ordered)
            own = groups[self.columns.places[name]], n_values, order

        def shown(record: int) -> dict[str, Any]:
            return {
                name: grouping.labels[groups[record]]
                for (name, grouping), groups in zip(chosen.items(), masked, strict=True)
            }

        sizes = [grouping.n_groups for grouping in chosen.values()]
        yield counted_classes(masked, sizes, own, self.weights, shown)


@dataclass(frozen=True, eq=False)
class QueriedClasses(MaskedClasses):
    """Records that stay where they are: the masked values are grouped there, and only counts come back."""

    source: Any
    quasi_identifiers: Sequence[str]
    sensitive: Sensitive | None

    @contextmanager
    def counted(self, masks: Mapping[str, Mask], ordered: bool) -> Iterator[ClassCounts]:
        """Count by one query."""
        chosen = {name: mask for name, mask in masks.items() if name in self.quasi_identifiers}
        engine = open_engine(apply_configuration(self.source, chosen))
        names = engine.names()
        read = [*self.quasi_identifiers, *([] if self.sensitive is None else [self.sensitive.name])]
        with engine.open([names.index(name) for name in read]) as records:
            yield self._counted(records, engine, read, masks, ordered)

    def _counted(
        self,
        records: Records,
        engine: CountingEngine,
        read: list[str],
        masks: Mapping[str, Mask],
        ordered: bool,
    ) -> ClassCounts:
        columns = [Column.of(name, i, records.types[i], engine.description) for i, name in enumerate(read)]
        n = len(self.quasi_identifiers)
        inner = ", ".join(f"{_key(column)} AS {column.sql}" for column in columns)
        numbers = ", ".join(str(i + 1) for i in range(len(columns)))
        grouped = f"SELECT {inner}, count(*) AS n FROM {{records}} GROUP BY {numbers}"
        rank = f"dense_rank() OVER (ORDER BY {', '.join(column.sql for column in columns[:n])})"
        value = f"{_fetched(columns[n])}, " if self.sensitive else ""
        fetched = records.query(f"SELECT {rank} AS class, {value}n FROM ({grouped}) AS g")
        classes = fetched["class"].astype(np.int64) - 1
        values, n_values, order = np.zeros_like(classes), 1, None
        if self.sensitive is not None:
            codes, found = columns[n].encode(fetched[columns[n].sql])
            mask = masks.get(self.sensitive.name, Identity())
            groups, n_values, order = self.sensitive.grouped(mask, ordered)
            values = groups[_places(found, self.sensitive.domain)[codes]]
        entries, places = np.unique(classes * n_values + values, return_inverse=True)
        counts = np.bincount(places, weights=fetched["n"].astype(float)).astype(np.int64)
        own, value_of = np.divmod(entries, n_values)

        def shown(number: int) -> dict[str, Any]:
            keys = ", ".join(f"{_key(column)} AS {column.sql}" for column in columns[:n])
            ranked = f"SELECT *, {rank} AS class FROM (SELECT DISTINCT {keys} FROM {{records}}) AS d"
            selected = ", ".join(map(_fetched, columns[:n]))
            row = records.query(f"SELECT {selected} FROM ({ranked}) AS r WHERE class = {number + 1}")
            found = {}
            for column in columns[:n]:
                domain = column.encode(row[column.sql])[1]
                found[column.name] = None if domain.missing else value_labels(domain)[0]
            return found

        return ClassCounts(own, value_of, counts, n_values, order, shown)


def _key(column: Column) -> str:
    """Return the SQL of a value by which records are grouped: NaN is missing, and -0.0 is 0.0."""
    if column.kind != "real":
        return column.sql
    return grouped_real(column.sql)


def _fetched(column: Column) -> str:
    if column.cast is None or column.kind == "real":
        return column.sql
    return f"CAST({column.sql} AS {column.cast}) AS {column.sql}"


def _places(found: Domain, whole: Domain) -> IntArray:
    """Return the place of each value of a domain in another that holds them all."""
    places = np.searchsorted(whole.values, found.values)
    return np.append(places, len(whole.values)).astype(np.int64)
