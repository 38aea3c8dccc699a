"""Counting the records of an open source: one GROUP BY per column, the same for every engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._counts import Coarsening, JointCounts, Progress, Scan, ValueCounts
from aegis_opt.sources._engine import Records
from aegis_opt.sources._many_values import Policy, Recoding, recode
from aegis_opt.sources._queried_records import CountedColumn, QueriedRecords

_MAX_CLASSES = 1000
_FEW_CLASSES = 20  # that any label may have, however few the records
_MAX_CELLS = 250_000_000  # 2 GB of counts
_BYTES_PER_CELL = 80  # of a table while it is put together from the groups
_SLACK = 1.25  # estimates of distinct values are off by less
_SAMPLE = 100_000  # records by which a label is judged before anything is counted

Joint = tuple[JointCounts, Domain]
"""The joint table of an attribute, and the classes that are its columns."""

T = TypeVar("T")


def check_classes(source: str, label: str, classes: int, records: int) -> None:
    """Refuse a label with too many classes for its records."""
    if classes > _MAX_CLASSES or (classes > _FEW_CLASSES and 2 * classes > records):
        raise too_many_classes(source, label, f"{classes:,}", f" in {records:,} records")


def too_many_classes(source: str, label: str, classes: str, records: str = "") -> SourceError:
    """Say that a label has too many classes, and what to do about it."""
    return SourceError(
        f"{source}: the label {label!r} has {classes} classes{records}; at most {_MAX_CLASSES:,}, and beyond "
        f"{_FEW_CLASSES} at most one per two records, say anything about prediction: choose another label, "
        "or put its values into ranges or groups first"
    )


class Counter:
    """Counts the columns of open records, called `names`; to count classes, the label comes first.

    No table may exceed `memory` bytes while it is built.
    """

    def __init__(self, records: Records, names: Sequence[str], policy: Policy, memory: int | None) -> None:
        self.records = records
        self.columns = [
            Column.of(name, i, records.types[i], records.description) for i, name in enumerate(names)
        ]
        self.label, *self.attributes = self.columns
        self.policy = policy
        self.memory = memory
        self._recodings: dict[Column, Recoding] = {}

    def count(self, progress: Progress) -> tuple[Domain, npt.NDArray[np.int64], dict[str, JointCounts]]:
        """Count records per label, and per value and label of each attribute."""
        of = len(self.columns)
        progress(f"counting {self.label.name}", 0, of)
        self._check_label_sample()
        distinct = self._estimate_distinct()
        self._check_sizes(distinct)
        found = self._each(self.attributes, lambda c: self._count_joint(c, distinct.get(c)), progress)
        if self.attributes:  # every attribute has all records, a missing value being a value: any will do
            joint, label_domain = found[self.attributes[0]]
            label_counts = joint.table.sum(axis=0)
        else:
            label_domain, label_counts = self._count_values(self.label)
        if not len(label_domain):
            raise self._no_records()
        check_classes(self.records.description, self.label.name, len(label_domain), int(label_counts.sum()))
        progress(f"counted {self.records.description}", of, of)
        return label_domain, label_counts, {column.name: found[column][0] for column in self.attributes}

    def countable(self, counts: Scan) -> QueriedRecords:
        """Return the records that were counted, for counts of pairs."""

        def counted(column: Column, domain: Domain) -> CountedColumn:
            return CountedColumn(self._recodings.get(column, Recoding(column, column.sql)), domain)

        return QueriedRecords(
            self.records,
            counted(self.label, counts.label_domain),
            [counted(column, counts.attributes[column.name].domain) for column in self.attributes],
        )

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

    def _check_label_sample(self) -> None:
        """Refuse a label of far too many classes by its first records, before it makes every table huge."""
        if int(self.records.query(sql.distinct_in_sample(self.label, _SAMPLE))["n"][0]) > _MAX_CLASSES:
            raise self._too_many_classes(f"more than {_MAX_CLASSES:,}")

    def _count_values(self, column: Column) -> ValueCounts:
        fetched = self.records.query(sql.group_counts([column], [column.sql]))
        codes, domain = column.encode(fetched[column.sql])
        counts = np.zeros(len(domain), dtype=np.int64)
        np.add.at(counts, codes, fetched["n"])
        return ValueCounts(domain, counts)

    def _no_records(self) -> SourceError:
        return SourceError(f"{self.records.description} has no records: there is nothing to count")

    def _too_many_classes(self, classes: str) -> SourceError:
        return too_many_classes(self.records.description, self.label.name, classes)

    def _check_sizes(self, distinct: dict[Column, int]) -> None:
        """Refuse, before counting, what would not fit into memory."""
        n_classes = distinct.get(self.label, 0)
        if n_classes > _SLACK * _MAX_CLASSES:
            raise self._too_many_classes(f"about {n_classes:,}")
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

    def _count_joint(self, column: Column, about: int | None) -> Joint:
        limit = self.policy.max_values
        if limit is None or about is None:
            return self._fetch_joint(Recoding(column, column.sql))
        if not self._is_too_many(about):
            joint, classes = self._fetch_joint(Recoding(column, column.sql))
            if len(joint.domain) <= limit:
                return joint, classes
            if self.policy.on_many_values == "error":
                raise self._too_many_values(column, f"{len(joint.domain):,}")
        recoding = self._recodings[column] = recode(self.records, column, self.label, limit)
        joint, classes = self._fetch_joint(recoding)
        present = int(self.records.query(sql.exact_distinct(column))["n"][0])
        coarsening = Coarsening(present + joint.domain.missing, recoding.rule)
        return JointCounts(joint.domain, joint.table, coarsening), classes

    def _fetch_joint(self, recoding: Recoding) -> Joint:
        column, keys = recoding.column, [recoding.key, self.label.sql]
        fetched = self.records.query(sql.group_counts([column, self.label], keys, recoding.records))
        rows, domain = column.encode(recoding.decode(fetched[column.sql]))
        classes, label_domain = self.label.encode(fetched[self.label.sql])
        if len(domain) * len(label_domain) > _MAX_CELLS:
            raise SourceError(
                f"{column.description}: {len(domain):,} values of {column.name!r} times "
                f"{len(label_domain):,} classes of {self.label.name!r} are too many: coarsen the attribute "
                "with max_values, or choose a label with fewer classes"
            )
        table = np.zeros((len(domain), len(label_domain)), dtype=np.int64)
        np.add.at(table, (rows, classes), fetched["n"])
        return JointCounts(domain, table), label_domain
