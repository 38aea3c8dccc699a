"""Counting the records of an open source: one GROUP BY per column, the same for every engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._counts import (
    Coarsening,
    JointCounts,
    JointMoments,
    NumberScan,
    Progress,
    Scan,
    ValueCounts,
)
from aegis_opt.sources._engine import Fetched, Records
from aegis_opt.sources._label_view import (
    FEW_CLASSES,
    MOST_CLASSES,
    check_class_label,
    is_numeric,
    other_label,
)
from aegis_opt.sources._many_values import Policy, Recoding, recode
from aegis_opt.sources._number_label import IntArray, NumberColumn, NumberLabel, moments_of
from aegis_opt.sources._queried_records import CountedColumn, QueriedRecords

_MAX_CELLS = 250_000_000  # 2 GB of counts
_BYTES_PER_CELL = 80  # of a table while it is put together from the groups
_SLACK = 1.25  # estimates of distinct values are off by less
_SAMPLE = 100_000  # records by which a label is judged before anything is counted


class Joint(NamedTuple):
    """The joint table of an attribute and a label, and the classes that are its columns, if any."""

    table: JointCounts | JointMoments
    classes: Domain | None


T = TypeVar("T")


def check_classes(source: str, label: str, classes: int, records: int) -> None:
    """Refuse a label with too many classes for its records."""
    if classes > MOST_CLASSES or (classes > FEW_CLASSES and 2 * classes > records):
        raise too_many_classes(source, label, f"{classes:,}", f" in {records:,} records")


def too_many_classes(source: str, label: str, classes: str, records: str = "") -> SourceError:
    """Say that a label has too many classes, and what to do about it."""
    return SourceError(
        f"{source}: the label {label!r} has {classes} classes{records}; at most {MOST_CLASSES:,}, and beyond "
        f"{FEW_CLASSES} at most one per two records, say anything about prediction: choose another label, "
        "or put its values into ranges or groups first"
    )


class Counter:
    """Counts the columns of open records, called `names`, of which the labels come first.

    A label of which `numbers` says how its numbers are added up is a number, any other one of some classes.
    All labels are counted together: one query per attribute. No table may exceed `memory` bytes while it is
    built.
    """

    def __init__(
        self,
        records: Records,
        names: Sequence[str],
        policy: Policy,
        memory: int | None,
        numbers: Sequence[NumberLabel | None] = (None,),
    ) -> None:
        self.records = records
        self.columns = [
            Column.of(name, i, records.types[i], records.description) for i, name in enumerate(names)
        ]
        self.numbers = numbers
        self.labels, self.attributes = self.columns[: len(numbers)], self.columns[len(numbers) :]
        self.policy = policy
        self.memory = memory
        self._recodings: dict[Column, Recoding] = {}

    @property
    def _classes(self) -> list[Column]:
        """The labels that are one of some classes."""
        return [label for label, number in zip(self.labels, self.numbers, strict=True) if number is None]

    def count(self, progress: Progress) -> list[Scan | NumberScan]:
        """Count records per value of each attribute and label; one scan for each label."""
        of = len(self.columns)
        progress(f"counting {', '.join(label.name for label in self.labels)}", 0, of)
        for label in self._classes:
            self._check_label_sample(label)
        distinct = self._estimate_distinct()
        self._check_sizes(distinct)
        found = self._each(self.attributes, lambda c: self._count_joint(c, distinct.get(c)), progress)
        scans = [
            self._scan(i, {column: found[column][i] for column in self.attributes})
            for i in range(len(self.labels))
        ]
        progress(f"counted {self.records.description}", of, of)
        return scans

    def _scan(self, place: int, found: dict[Column, Joint]) -> Scan | NumberScan:
        """Return what was counted of one label."""
        label = self.labels[place]
        joints = {column.name: joint.table for column, joint in found.items()}
        # Every attribute has all records, a missing value being a value: any will do
        first = next(iter(found.values()), None)
        if self.numbers[place] is not None:
            moments = {name: joint for name, joint in joints.items() if isinstance(joint, JointMoments)}
            n_records = int(next(iter(moments.values())).records.sum()) if moments else 0
            if not n_records:
                raise self._no_records()
            return NumberScan(label.name, moments, n_records)
        if first is None or first.classes is None:
            domain, counts = self._count_values(label)
        else:
            domain, counts = first.classes, first.table.table.sum(axis=0)
        if not len(domain):
            raise self._no_records()
        check_class_label(self.records.description, label.name, domain)
        check_classes(self.records.description, label.name, len(domain), int(counts.sum()))
        tables = {name: joint for name, joint in joints.items() if isinstance(joint, JointCounts)}
        return Scan(label.name, domain, counts, tables, int(counts.sum()))

    def countable(self, scans: Sequence[Scan | NumberScan]) -> list[QueriedRecords]:
        """Return the records that were counted, for counts of pairs; once for each label."""

        def counted(column: Column, domain: Domain) -> CountedColumn:
            return CountedColumn(self._recodings.get(column, Recoding(column, column.sql)), domain)

        attributes = [counted(column, scans[0].attributes[column.name].domain) for column in self.attributes]
        found = []
        for label, number, scan in zip(self.labels, self.numbers, scans, strict=True):
            if number is not None:
                found.append(QueriedRecords(self.records, NumberColumn(label, number), attributes))
            elif isinstance(scan, Scan):
                found.append(QueriedRecords(self.records, counted(label, scan.label_domain), attributes))
        return found

    def value_counts(self, progress: Progress) -> dict[str, ValueCounts]:
        """Find the values of each column, and how often each occurs."""
        found = self._each(self.columns, self._count_values, progress)
        if not any(len(counted.domain) for counted in found.values()):
            raise self._no_records()
        return {column.name: found[column] for column in self.columns}

    def _each(
        self, columns: Sequence[Column], work: Callable[[Column], T], progress: Progress
    ) -> dict[Column, T]:
        """Count the columns one by one, or a few at the same time where the engine is made for that."""
        if self.records.parallel > 1:
            return self._at_the_same_time(columns, work, progress)
        found = {}
        for done, column in enumerate(columns, start=1):
            progress(f"counting {column.name}", done, len(self.columns))
            found[column] = work(column)
        return found

    def _at_the_same_time(
        self, columns: Sequence[Column], work: Callable[[Column], T], progress: Progress
    ) -> dict[Column, T]:
        """Have a few queries under way; after an error or Ctrl-C all of them are cancelled."""
        found = {}
        with ThreadPoolExecutor(self.records.parallel) as pool:
            futures = {pool.submit(work, column): column for column in columns}
            try:
                progress("counting the attributes", 1, len(self.columns))
                for done, future in enumerate(as_completed(futures), start=2):
                    column = futures[future]
                    found[column] = future.result()
                    progress(f"counted {column.name}", done, len(self.columns))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                while not all(future.done() for future in futures):  # one may be about to start its query
                    self.records.stop()
                    time.sleep(0.1)
                raise
        return found

    def _estimate_distinct(self) -> dict[Column, int]:
        """Estimate the distinct values of the columns, where there is a limit."""
        if self.policy.max_values is None and self.memory is None:
            return {}
        fetched = self.records.query(sql.approximate_distinct(self.columns))
        return {column: int(fetched[column.sql][0]) for column in self.columns}

    def _check_label_sample(self, label: Column) -> None:
        """Refuse a label of far too many classes by its first records, before it makes every table huge."""
        some = int(self.records.query(sql.distinct_in_sample(label, _SAMPLE))["n"][0])
        if (is_numeric(label.kind) and some > FEW_CLASSES) or label.kind in ("date", "datetime"):
            distinct = int(self.records.query(sql.exact_distinct(label))["n"][0])
            raise other_label(self.records.description, label.name, label.kind, distinct)
        if some > MOST_CLASSES:
            raise self._too_many_classes(label, f"more than {MOST_CLASSES:,}")

    def _count_values(self, column: Column) -> ValueCounts:
        fetched = self.records.query(sql.group_counts([column], [column.sql]))
        codes, domain = column.encode(fetched[column.sql])
        counts = np.zeros(len(domain), dtype=np.int64)
        np.add.at(counts, codes, fetched["n"])
        return ValueCounts(domain, counts)

    def _no_records(self) -> SourceError:
        return SourceError(f"{self.records.description} has no records: there is nothing to count")

    def _too_many_classes(self, label: Column, classes: str) -> SourceError:
        return too_many_classes(self.records.description, label.name, classes)

    def _check_sizes(self, distinct: dict[Column, int]) -> None:
        """Refuse, before counting, what would not fit into memory."""
        n_classes = 0
        for label in self._classes:
            if distinct.get(label, 0) > _SLACK * MOST_CLASSES:
                raise self._too_many_classes(label, f"about {distinct[label]:,}")
            n_classes += distinct.get(label, 0)
        for column in self.attributes:
            about = distinct.get(column, 0)
            needed = about * n_classes * _BYTES_PER_CELL
            if self._is_too_many(about):
                if self.policy.on_many_values == "error":
                    raise self._too_many_values(column, f"about {about:,}")
            elif self.memory is not None and needed > self.memory:
                raise SourceError(
                    f"{column.description}: counting the {about:,} values (about) of {column.name!r} needs "
                    f"{needed // 10**6:,} MB beside the engine's, more than memory allows: raise memory, "
                    "coarsen the attribute with max_values, or leave it out"
                )

    def _is_too_many(self, about: int) -> bool:
        return self.policy.max_values is not None and about > _SLACK * self.policy.max_values

    def _too_many_values(self, column: Column, values: str) -> SourceError:
        return SourceError(
            f"{column.description}: column {column.name!r} has {values} values, more than max_values="
            f"{self.policy.max_values}: raise it, leave the column out, or use on_many_values='coarsen'"
        )

    def _count_joint(self, column: Column, about: int | None) -> list[Joint]:
        limit = self.policy.max_values
        if limit is None or about is None:
            return self._fetch_joint(Recoding(column, column.sql))
        if not self._is_too_many(about):
            joints = self._fetch_joint(Recoding(column, column.sql))
            distinct = len(joints[0].table.domain)
            if distinct <= limit:
                return joints
            if self.policy.on_many_values == "error":
                raise self._too_many_values(column, f"{distinct:,}")
        recoding = self._recodings[column] = recode(self.records, column, self.labels, limit)
        joints = self._fetch_joint(recoding)
        present = int(self.records.query(sql.exact_distinct(column))["n"][0])
        coarsening = Coarsening(present + joints[0].table.domain.missing, recoding.rule)
        return [Joint(replace(table, coarsening=coarsening), classes) for table, classes in joints]

    def _fetch_joint(self, recoding: Recoding) -> list[Joint]:
        """Count the records per value and class of every label, and add up numbers, by one query."""
        column, classes = recoding.column, self._classes
        sums: dict[str, str] = {}
        for i, (label, number) in enumerate(zip(self.labels, self.numbers, strict=True)):
            if number is not None:
                z = number.sql(label)
                sums |= {f"s{i}": z, f"q{i}": f"{z} * {z}"}
        keys = [recoding.key, *(label.sql for label in classes)]
        fetched = self.records.query(sql.group_counts([column, *classes], keys, recoding.records, sums))
        rows, domain = column.encode(recoding.decode(fetched[column.sql]))
        return [
            self._by_class(column, label, rows, domain, fetched)
            if number is None
            else self._moments(i, rows, domain, fetched)
            for i, (label, number) in enumerate(zip(self.labels, self.numbers, strict=True))
        ]

    @staticmethod
    def _by_class(column: Column, label: Column, rows: IntArray, domain: Domain, fetched: Fetched) -> Joint:
        classes, label_domain = label.encode(fetched[label.sql])
        if len(domain) * len(label_domain) > _MAX_CELLS:
            raise SourceError(
                f"{column.description}: {len(domain):,} values of {column.name!r} times "
                f"{len(label_domain):,} classes of {label.name!r} are too many: coarsen the attribute "
                "with max_values, or choose a label with fewer classes"
            )
        table = np.zeros((len(domain), len(label_domain)), dtype=np.int64)
        np.add.at(table, (rows, classes), fetched["n"])
        return Joint(JointCounts(domain, table), label_domain)

    @staticmethod
    def _moments(place: int, rows: IntArray, domain: Domain, fetched: Fetched) -> Joint:
        columns = [fetched[name] for name in ("n", f"s{place}", f"q{place}")]
        return Joint(JointMoments(domain, moments_of(rows, columns, len(domain))), None)
