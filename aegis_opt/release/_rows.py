"""Rows to mask, whatever engine holds them: what has to be known of their columns."""

from __future__ import annotations

from abc import ABC, abstractmethod

from aegis_opt.domain import Domain
from aegis_opt.masks import Mask
from aegis_opt.masks._base import naming
from aegis_opt.masks._sql import SqlColumn, rule_sql
from aegis_opt.sources._column import Column
from aegis_opt.sources._engine import Fetched
from aegis_opt.sources._extents import extent_aggregates, extents


class RowsToMask(ABC):
    """Rows whose columns to mask hold values of one kind each."""

    columns: dict[str, Column]
    """The columns to mask by their values, which those that are suppressed are not."""
    masks: dict[str, Mask]

    @abstractmethod
    def aggregate(self, aggregates: str) -> Fetched:
        """Compute aggregates over all rows."""

    @abstractmethod
    def values(self, name: str) -> Domain:
        """Return the distinct values of a column to mask."""

    def extents(self) -> dict[str, Domain]:
        """Return the extent of each column to mask by its values."""
        if not self.columns:
            return {}
        return extents(self.columns, self.aggregate(extent_aggregates(self.columns.values())))

    def needed_domains(self) -> dict[str, Domain]:
        """Return what a mask must know of each column: the extent if it is a rule, else the values."""
        found = self.extents()
        for name, extent in found.items():
            with naming(name):
                column = SqlColumn("x", extent.kind, extent)
                if len(extent.values) and rule_sql(self.masks[name], column) is None:
                    found[name] = self.values(name)
        return found
