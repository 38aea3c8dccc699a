"""Rows to mask, whatever engine holds them: what has to be known of their columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np

from aegis_opt._nan import is_nan
from aegis_opt.domain import Domain
from aegis_opt.masks import Generalize, Mask
from aegis_opt.masks._base import naming
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._sql import SqlColumn, rule_sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._engine import Fetched


class RowsToMask(ABC):
    """Rows whose columns to mask hold values of one kind each."""

    columns: dict[str, Column]
    """The columns to mask by their values, which those that are suppressed are not."""
    masks: Mapping[str, Mask]

    @abstractmethod
    def aggregate(self, aggregates: str) -> Fetched:
        """Compute aggregates over all rows."""

    @abstractmethod
    def values(self, name: str) -> Domain:
        """Return the distinct values of a column to mask."""

    def extents(self) -> dict[str, Domain]:
        """Return the extent of each column to mask by its values (see `SqlColumn`), by one scan."""
        if not self.columns:
            return {}
        fetched = self.aggregate(_extent_aggregates(self.columns.values()))
        found = {}
        for name, column in self.columns.items():
            ends = [value for key, value in fetched.items() if key.partition("_")[0] == column.sql]
            present = np.concatenate([np.ma.getdata(end)[~np.ma.getmaskarray(end)] for end in ends])
            found[name] = Domain.encode(column.kind, present, np.zeros(len(present), dtype=bool))[1]
        return found

    def needed_domains(self) -> dict[str, Domain]:
        """Return what a mask must know of each column: the extent if it is a rule, else the values."""
        found = self.extents()
        for name, extent in found.items():
            with naming(name):
                column = SqlColumn("x", extent.kind, extent)
                if isinstance(mask := self.masks[name], NoiseMask):
                    found[name] = self.values(name)
                    mask.channel(found[name])  # for its checks
                elif len(extent.values) and rule_sql(self.masks[name], column) is None:
                    found[name] = self.values(name)
        return found


def needed_of(mask: Mask, domain: Domain) -> Domain:
    """Return what a mask must know of a column whose values are known: the extent if it is a rule."""
    values = domain.values
    if not len(values) or not (mask.pointwise or (isinstance(mask, Generalize) and mask.ranges is not None)):
        return domain
    ends = {0, len(values) - 1}
    if domain.kind == "real":
        with np.errstate(invalid="ignore"):
            broken = np.flatnonzero(np.isfinite(values) & (values % 1 != 0))
        ends |= set(broken[:1].tolist())
    return Domain(domain.kind, values[sorted(ends)])


def _extent_aggregates(columns: Iterable[Column]) -> str:
    """Return the aggregates that extents are read from, in the SQL that DuckDB and Spark share."""
    aggregates = []
    for column in columns:
        x, present = column.sql, ""
        if column.kind == "real":
            present = f" FILTER (WHERE NOT {is_nan(x)})"
            broken = f"NOT {is_nan(f'{x} - {x}')} AND {x} % CAST(1 AS DOUBLE) <> 0"  # inf - inf is NaN
            aggregates.append(f"min({x}) FILTER (WHERE {broken}) AS {x}_broken")
        aggregates += [f"min({x}){present} AS {x}_low", f"max({x}){present} AS {x}_high"]
    return ", ".join(aggregates)
