"""Records that stay in their engine: pairs of values are counted by queries, only counts come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._engine import Fetched, Records
from aegis_opt.sources._many_values import Recoding
from aegis_opt.sources._number_label import FloatArray, NumberColumn, Numbers, moments_of
from aegis_opt.sources._pairs import CodedRecords, CountableRecords, IntArray, PairCounts

MOST_HELD = 20_000_000  # values of records that are fetched at a time
_MOST_COMBINED = 400_000_000  # values of distinct records that are fetched, of which each takes 8 bytes

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """A column whose domain is known, and how its values are read."""

    recoding: Recoding
    domain: Domain

    @property
    def key(self) -> str:
        """SQL for the value of a record; of texts with too many values, every value comes."""
        return self.recoding.key

    @property
    def selected(self) -> str:
        """SQL that fetches the value as the column's kind wants it."""
        column = self.recoding.column
        value = self.key if column.cast is None else f"CAST({self.key} AS {column.cast})"
        return f"{value} AS {column.sql}"

    def places(self, fetched: Fetched) -> IntArray:
        """Return the place in the domain of each value of this column."""
        column = self.recoding.column
        values: npt.NDArray[Any] = self.recoding.decode(fetched[column.sql])
        codes, found = column.encode(values)
        places = pd.Index(self.domain.values).get_indexer(pd.Index(found.values))
        if self.recoding.rule and column.kind == "string":
            places[places < 0] = np.searchsorted(self.domain.values, sql.OTHER)
        if (places < 0).any() or (found.missing and not self.domain.missing):
            raise SourceError(
                f"{column.description}: column {column.name!r} has other values than when it was counted: "
                "read a source that does not change meanwhile"
            )
        return np.append(places, len(self.domain.values))[codes].astype(np.int64)

    def coded(self, fetched: Fetched) -> tuple[IntArray, None]:
        """Return the class of each record."""
        return self.places(fetched), None


@dataclass(frozen=True, eq=False)
class QueriedRecords(CountableRecords):
    """Columns of open records: a label and the attributes."""

    records: Records
    label: CountedColumn | NumberColumn
    attributes: Sequence[CountedColumn]

    def held(self, n_records: int) -> CountableRecords:
        """Fetch the records, or count them where they are."""
        return held_together([self], n_records)[0]

    def pairs(self, classes: Sequence[IntArray], n_folds: int = 1, seed: int = 0) -> PairCounts:
        """Count pairs of values by one query each, then add up those of a class."""
        sizes = [int(own.max()) + 1 for own in classes]
        starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()

        def cells(pair: tuple[int, int]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
            (i, j), (first, second, fold, counts) = (
                pair,
                self._counted([self.attributes[at] for at in pair], n_folds, seed),
            )
            key = (classes[i][first] * sizes[j] + classes[j][second]) * n_folds + fold
            present, places = np.unique(key, return_inverse=True)
            merged = np.bincount(places, weights=counts, minlength=len(present)).astype(np.int64)
            of_pair, its_fold = np.divmod(present, n_folds)
            own, other = np.divmod(of_pair, sizes[j])
            return starts[i] + own, starts[j] + other, its_fold, merged

        def labels(i: int) -> IntArray | FloatArray:
            if isinstance(self.label, NumberColumn):
                return self._moments(i, self.label, classes[i], n_folds, seed)
            own, label, fold, counts = self._counted([self.attributes[i], self.label], n_folds, seed)
            table = np.zeros((n_folds, sizes[i], len(self.label.domain)), dtype=np.int64)
            np.add.at(table, (fold, classes[i][own], label), counts)
            return table

        indices = range(len(self.attributes))
        return PairCounts.of(
            sizes,
            self._each(list(combinations(indices, 2)), cells),
            self._each(list(indices), labels),
            isinstance(self.label, NumberColumn),
        )

    def _moments(self, i: int, label: NumberColumn, classes: IntArray, n_folds: int, seed: int) -> FloatArray:
        """Add up the numbers of the label per fold and class of an attribute."""
        z = label.number.sql(label.column)
        fetched = self._grouped([self.attributes[i]], n_folds, seed, {"s": z, "q": f"{z} * {z}"})
        n_classes = int(classes.max()) + 1
        key = fetched["fold"].astype(np.int64) * n_classes + classes[self.attributes[i].places(fetched)]
        return moments_of(key, [fetched[name] for name in "nsq"], n_folds * n_classes).reshape(n_folds, -1, 3)

    def combinations(self, n_records: int) -> tuple[list[IntArray], IntArray, IntArray]:
        """Count equal records by one query; only the distinct ones and their counts come back."""
        columns = [self._class_label, *self.attributes]
        keys = [column.key for column in columns]
        query = sql.group_counts([column.recoding.column for column in columns], keys)
        if n_records * len(columns) > _MOST_COMBINED:
            distinct = int(self.records.query(f"SELECT count(*) AS n FROM ({query}) AS d")["n"][0])
            if distinct * len(columns) > _MOST_COMBINED:
                raise SourceError(
                    f"{self.records.description} has {distinct:,} distinct records of {len(columns)} "
                    f"columns, and at most {_MOST_COMBINED // len(columns):,} are held in memory: leave "
                    "attributes out, or coarsen those with many values first"
                )
        fetched = self.records.query(query)
        label, *attributes = (column.places(fetched) for column in columns)
        return attributes, label, fetched["n"].astype(np.int64)

    def sample(self, rows: int, seed: int) -> CodedRecords:
        """Draw the records whose contents have the least hashes."""
        columns = [self.label, *self.attributes]
        by_content = self.records.hash([str(seed), *(column.key for column in columns)])
        selected = ", ".join(column.selected for column in columns)
        fetched = self.records.query(f"SELECT {selected} FROM {{records}} ORDER BY {by_content} LIMIT {rows}")
        places = [column.places(fetched) for column in self.attributes]
        label, numbers = self.label.coded(fetched)
        return self._coded(places, label, numbers, in_order=False)

    def _coded(
        self, attributes: Sequence[IntArray], label: IntArray, numbers: Numbers | None, in_order: bool
    ) -> CodedRecords:
        """Put the places of fetched attributes together with the label."""
        k = len(self.label.domain) if isinstance(self.label, CountedColumn) else 0
        return CodedRecords(attributes, label, k, in_order, numbers)

    @property
    def _class_label(self) -> CountedColumn:
        """The label, where only one of some classes will do."""
        if isinstance(self.label, NumberColumn):
            raise SourceError(f"the label {self.label.column.name!r} is a number, which has no classes")
        return self.label

    def _counted(
        self, columns: Sequence[CountedColumn], n_folds: int, seed: int
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Count records per values of two columns and fold; return their places, the folds and the counts."""
        fetched = self._grouped(columns, n_folds, seed)
        first, second = (column.places(fetched) for column in columns)
        return first, second, fetched["fold"].astype(np.int64), fetched["n"].astype(np.int64)

    def _grouped(
        self,
        columns: Sequence[CountedColumn],
        n_folds: int,
        seed: int,
        sums: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Count records per values of columns and fold, and add up expressions."""
        keys = [column.key for column in columns]
        source, fold = "{records}", "0"
        if n_folds > 1:  # equal records are numbered, so that each has a hash of its own
            everything = [column.key for column in (self.label, *self.attributes)]
            number = f"row_number() OVER (PARTITION BY {', '.join(everything)} ORDER BY {everything[0]})"
            source = f"(SELECT *, {number} AS number FROM {{records}}) AS numbered"
            fold = f"{self.records.hash([str(seed), *everything, 'number'])} % {n_folds}"
        grouped = ", ".join([*keys, fold] if n_folds > 1 else keys)
        named = ", ".join(f"{key} AS {c.recoding.column.sql}" for key, c in zip(keys, columns, strict=True))
        added = "".join(f", sum({expression}) AS {name}" for name, expression in (sums or {}).items())
        inner = f"SELECT {named}, {fold} AS fold, count(*) AS n{added} FROM {source} GROUP BY {grouped}"
        casts = ", ".join(
            c.recoding.column.sql
            if c.recoding.column.cast is None
            else f"CAST({c.recoding.column.sql} AS {c.recoding.column.cast}) AS {c.recoding.column.sql}"
            for c in columns
        )
        selected = ", ".join([casts, "fold", "n", *(sums or {})])
        return self.records.query(f"SELECT {selected} FROM ({inner}) AS g")

    def _each(self, items: Sequence[Any], work: Callable[[Any], T]) -> list[T]:
        """Run as many queries at a time as the engine is made for; an error or Ctrl-C ends them all."""
        if self.records.parallel == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.records.parallel) as pool:
            try:
                return list(pool.map(work, items))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.records.stop()
                raise


def held_all(several: Sequence[CountableRecords], n_records: int) -> list[CountableRecords]:
    """Hold the records of one source with each of several labels; they are fetched once."""
    queried = [each for each in several if isinstance(each, QueriedRecords)]
    if len(queried) < len(several):  # small frames are held as they are
        return [each.held(n_records) for each in several]
    return held_together(queried, n_records)


def held_together(several: Sequence[QueriedRecords], n_records: int) -> list[CountableRecords]:
    """Fetch the records with each of several labels, all of them at once, or count them where they are."""
    records, attributes = several[0].records, several[0].attributes
    columns = [*(each.label for each in several), *attributes]
    fits = n_records * len(columns) <= MOST_HELD
    if not records.may_leave or not (fits or records.in_order):
        return list(several)
    at_a_time = len(columns) if fits else 1  # queries of one column agree only where there is an order
    labels: list[tuple[IntArray, Numbers | None]] = []
    places: list[IntArray] = []
    for start in range(0, len(columns), at_a_time):
        chosen = columns[start : start + at_a_time]
        fetched = records.query(f"SELECT {', '.join(c.selected for c in chosen)} FROM {{records}}")
        labels += [each.label.coded(fetched) for each in several if each.label in chosen]
        places += [column.places(fetched) for column in attributes if column in chosen]
    return [
        each._coded(places, label, numbers, records.in_order)
        for each, (label, numbers) in zip(several, labels, strict=True)
    ]
