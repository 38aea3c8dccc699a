"""The table of a certificate: combinations of values and how many records have them, counted by groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import CertificateError, UnknownColumn
from aegis_opt.masks import Grouping, group_attribute
from aegis_opt.privacy._proof._document import Statement
from aegis_opt.sources import _sql as sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._scan import open_engine

IntArray = npt.NDArray[np.int64]

_MOST_GROUPED = 1 << 27  # candidates times values of their attributes; each takes 8 bytes
_MOST_CELLS = 1 << 24  # of classes by sensitive values that are made at a time


@dataclass(frozen=True, eq=False)
class CertifiedTable:
    """Rows that stand for several records each: places of values in their domains."""

    attributes: list[IntArray]  # of each attribute, the value of each row
    groupings: list[list[Grouping]]  # of each attribute and candidate
    label: IntArray
    sensitive: IntArray
    records: IntArray  # how many records each row stands for
    n_labels: int
    n_sensitive: int

    def joint(self, attribute: int) -> IntArray:
        """Count the records per value of an attribute and label."""
        n_values = len(self.groupings[attribute][0].groups)
        cells = self.attributes[attribute] * self.n_labels + self.label
        return self._counted(cells, n_values * self.n_labels).reshape(n_values, self.n_labels)

    def whole(self) -> IntArray:
        """Count the records per sensitive value."""
        return self._counted(self.sensitive, self.n_sensitive)

    def box(self, groups: Sequence[tuple[int, IntArray, int]]) -> IntArray:
        """Count the records in one group of some attributes, given per value, by sensitive value."""
        inside = np.arange(len(self.records))
        for attribute, of, group in groups:
            inside = inside[of[self.attributes[attribute][inside]] == group]
        return self._counted(self.sensitive[inside], self.n_sensitive, inside)

    def classes(self, groups: Sequence[tuple[int, IntArray]]) -> Iterator[IntArray]:
        """Count the records per class of the groups of some attributes, given per value, by sensitive value.

        Some classes are counted at a time.
        """
        own, n_classes = np.zeros(len(self.records), dtype=np.int64), 1
        for attribute, of in groups:
            size = int(of.max()) + 1
            own = own * size + of[self.attributes[attribute]]  # below the number of rows times that of values
            own, kinds = pd.factorize(own)
            n_classes = len(kinds)
        step = max(1, _MOST_CELLS // self.n_sensitive)
        for start in range(0, n_classes, step):
            n = min(step, n_classes - start)
            part = np.flatnonzero((own >= start) & (own < start + n))
            cells = (own[part] - start) * self.n_sensitive + self.sensitive[part]
            yield self._counted(cells, n * self.n_sensitive, part).reshape(n, self.n_sensitive)

    def _counted(self, cells: IntArray, n_cells: int, rows: IntArray | slice = slice(None)) -> IntArray:
        """Add up the records of rows per cell, exactly: there are fewer than 2^53."""
        return np.bincount(cells, self.records[rows], n_cells).astype(np.int64)


def open_table(source: object, stated: Statement) -> CertifiedTable:
    """Read the columns of a table, count equal records, and group the values by every candidate."""
    engine = open_engine(source)
    known = engine.names()
    names = [stated.label, *(own.name for own in stated.attributes)]
    if stated.sensitive not in (None, stated.label):
        names.append(str(stated.sensitive))
    for name in names:
        if name not in known:
            raise UnknownColumn("column", name, known, "The certificate speaks of it.")
    with engine.open([known.index(name) for name in names]) as records:
        columns = [Column.of(name, i, records.types[i], engine.description) for i, name in enumerate(names)]
        fetched = records.query(sql.group_counts(columns, [column.sql for column in columns]))
    encoded = [column.encode(fetched[column.sql]) for column in columns]
    cells = sum(
        len(own.masks) * len(domain) for own, (_, domain) in zip(stated.attributes, encoded[1:], strict=False)
    )
    if cells > _MOST_GROUPED:
        raise CertificateError(
            f"the certificate has so many candidates that they would group {cells:,} values of the table; at "
            f"most {_MOST_GROUPED:,} are grouped"
        )
    groupings = [
        [group_attribute(mask, own.name, encoded[i][1]) for mask in own.masks]
        for i, own in enumerate(stated.attributes, start=1)
    ]
    records_of = np.asarray(fetched["n"], dtype=np.int64)
    if records_of.sum() != stated.records:
        raise CertificateError(
            f"the certificate is of a table of {stated.records:,} records, and {engine.description} has "
            f"{records_of.sum():,}: give the table that was searched"
        )
    label, n_labels = encoded[0][0], len(encoded[0][1])
    sensitive, n_sensitive = np.zeros(len(records_of), dtype=np.int64), 1
    if stated.sensitive is not None:
        place = 0 if stated.sensitive == stated.label else -1
        sensitive, n_sensitive = encoded[place][0], len(encoded[place][1])
    attributes = [codes for codes, _ in encoded[1 : len(groupings) + 1]]
    return CertifiedTable(attributes, groupings, label, sensitive, records_of, n_labels, n_sensitive)
