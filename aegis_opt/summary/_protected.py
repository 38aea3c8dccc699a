"""A summary whose counts are protected: noisy or rounded, so that they may be negative and disagree."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._display import Card, Displayed
from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.domain import KINDS, Kind
from aegis_opt.errors import SummaryError, UnknownName
from aegis_opt.masks._order import Order, default_order
from aegis_opt.privacy import AppliedProtection
from aegis_opt.problem._margin import IntArray
from aegis_opt.summary._count_arrays import MOST_RECORDS, check_classes, merge_rows, whole_numbers
from aegis_opt.summary._model import Summary
from aegis_opt.summary._order import check_order
from aegis_opt.summary._scores import SharedScore
from aegis_opt.summary._shared_data import SharedData, check_configurations, check_names


@dataclass(frozen=True, eq=False)
class ProtectedTable(SharedData):
    """Protected joint table of a masked attribute and the label.

    Parameters
    ----------
    spec, groups, labels
        As of a `MaskedTable`.
    joint : array_like of int, shape (n_groups, k)
        Protected counts per masked value and label; noise makes some of them negative.
    """

    spec: Mapping[str, Any]
    groups: IntArray
    labels: tuple[Any, ...]
    joint: IntArray

    def __post_init__(self) -> None:
        self._convert(
            spec=MappingProxyType(dict(self.spec)),
            groups=whole_numbers(self.groups, "groups", ndim=1),
            labels=tuple(self.labels),
            joint=protected_counts(self.joint, "joint table"),
        )

    @property
    def n_groups(self) -> int:
        """Number of masked values."""
        return len(self.labels)

    @property
    def keeps_every_value(self) -> bool:
        """Whether no two values share a group."""
        return self.n_groups == len(self.groups)


@dataclass(frozen=True, eq=False)
class ProtectedAttribute(SharedData):
    """What is shared about one attribute: one protected table, and the masked ones that follow from it.

    Parameters
    ----------
    kind, n_values, values, order
        As of an `AttributeSummary`. Where the protection is noise, the values are those of the public domain.
    classes : array_like of int, shape (n_values,)
        The class of each value: values that every mask sends to the same group.
    counts : array_like of int, shape (n_classes, k)
        Protected counts per class and label.
    tables : sequence of ProtectedTable
        One per distinct mask, each a merge of rows of `counts`.
    """

    kind: Kind
    n_values: int
    values: tuple[Any, ...] | None
    classes: IntArray
    counts: IntArray
    tables: tuple[ProtectedTable, ...]
    order: Order | None = None

    def __post_init__(self) -> None:
        self._convert(
            values=None if self.values is None else tuple(self.values),
            classes=whole_numbers(self.classes, "classes", ndim=1),
            counts=protected_counts(self.counts, "counts"),
            tables=tuple(self.tables),
            order=default_order(self.kind) if self.order is None else self.order,
        )

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """For each masked table, the group of each class."""
        found = []
        for table in self.tables:
            own = np.zeros(len(self.counts), dtype=np.int64)
            own[self.classes] = table.groups
            found.append(own)
        return tuple(found)

    def check(self, where: str, n_labels: int) -> None:
        """Refuse parts that contradict each other."""
        n, values = self.n_values, self.values
        if self.kind not in KINDS:
            raise SummaryError(f"{where} is of unknown kind {shown(self.kind)}; known: {', '.join(KINDS)}")
        if not is_whole(n) or n < 1:
            raise SummaryError(f"{where} has {shown(n)} values by its own account: it must have one at least")
        if values is not None and not len(values) == len(set(values)) == n:
            raise SummaryError(f"{where} must list {n} distinct values, or none")
        if not self.tables:
            raise SummaryError(f"{where} has no masked tables")
        try:
            check_order(self.order, values)
        except SummaryError as error:
            raise SummaryError(f"{where}: {error}") from error
        if len(self.classes) != n or self.counts.shape[1] != n_labels:
            raise SummaryError(
                f"{where} has classes of {len(self.classes)} of {n} values and counts of "
                f"{self.counts.shape[1]} of {n_labels} labels"
            )
        _check_all_used(self.classes, len(self.counts), f"the classes of {where}")
        for i, table in enumerate(self.tables):
            what = f"masked table {i} of {where}"
            if len(table.groups) != n or table.joint.shape != (table.n_groups, n_labels):
                raise SummaryError(
                    f"{what} has groups for {len(table.groups)} of {n} values and counts of shape "
                    f"{table.joint.shape}, where {(table.n_groups, n_labels)} was expected"
                )
            _check_all_used(table.groups, table.n_groups, f"the groups of {what}")
        for i, table in enumerate(self.tables):  # whose groups fit the values by now
            what = f"masked table {i} of {where}"
            own = self.groups[i]
            if not np.array_equal(own[self.classes], table.groups):
                raise SummaryError(f"{what} cuts through classes of values, which must stay together")
            if not np.array_equal(merge_rows(self.counts, own), table.joint):
                raise SummaryError(
                    f"protected tables contradict each other: {what} is not the sum of the protected counts "
                    "of its classes; get a whole copy of the file, or make it again with summarize"
                )


@dataclass(frozen=True, eq=False)
class ProtectedSummary(SharedData, Displayed):
    """All that leaves the provider, with protected counts: what `summarize` makes with ``protect=``.

    Every attribute has one protected table, of the common refinement of its masks. Its masked tables are
    merges of rows of that table, so they agree with each other exactly. The label totals of different
    attributes agree after a rounding. With noise they do not: each attribute has its own, and `advise`
    works with the nearest tables without negative counts whose totals are the same.

    Parameters
    ----------
    label, label_kind, label_values
        As of a `Summary`.
    attributes : mapping of str to ProtectedAttribute
        The attributes that at least one configuration masks.
    configurations : mapping of str to (mapping of str to int)
        For each configuration and attribute, which of the attribute's masked tables it releases.
    protection : AppliedProtection
        What was done to the counts.

    Raises
    ------
    SummaryError
        If the parts contradict each other.
    """

    label: str
    label_kind: Kind
    label_values: tuple[Any, ...]
    attributes: Mapping[str, ProtectedAttribute]
    configurations: Mapping[str, Mapping[str, int]]
    protection: AppliedProtection

    def __post_init__(self) -> None:
        chosen = {name: MappingProxyType(dict(tables)) for name, tables in self.configurations.items()}
        self._convert(
            label_values=tuple(self.label_values),
            attributes=MappingProxyType(dict(self.attributes)),
            configurations=MappingProxyType(chosen),
        )
        check_names(self.label, self.attributes, self.configurations)
        if self.label_kind not in KINDS:
            raise SummaryError(f"the label {shown(self.label)} is of unknown kind {shown(self.label_kind)}")
        labels = len(self.label_values)
        check_classes(self.label, self.label_values, np.zeros(labels, dtype=np.int64))
        if not self.attributes:
            raise SummaryError("a protected summary needs at least one attribute")
        for name, attribute in self.attributes.items():
            attribute.check(f"attribute {shown(name)}", labels)
        sizes = {name: len(attribute.tables) for name, attribute in self.attributes.items()}
        check_configurations(self.configurations, sizes, "table")
        if self.protection.tables != len(self.attributes):
            raise SummaryError(
                f"the protection is of {self.protection.tables} tables, but there are {len(self.attributes)} "
                "attributes: the budget is that of another summary"
            )
        base = int(self.protection.scale) if self.protection.method == "rounding" else 1
        for name, attribute in self.attributes.items():
            if (attribute.counts % base).any() or (base > 1 and (attribute.counts < 0).any()):
                raise SummaryError(f"attribute {shown(name)} has counts that are no multiples of {base}")

    @property
    def scores(self) -> Mapping[str, SharedScore]:
        """No scores are shared beside protected counts."""
        return {}

    def spec(self, configuration: str, attribute: str) -> Mapping[str, Any]:
        """Return the mask of an attribute in a configuration, as configuration files write it."""
        return self.masked_table(configuration, attribute).spec

    def masked_table(self, configuration: str, attribute: str) -> ProtectedTable:
        """Return the protected table that a configuration releases of an attribute."""
        if configuration not in self.configurations:
            raise UnknownName("configuration", configuration, self.configurations)
        if attribute not in self.attributes:
            raise UnknownName("attribute", attribute, self.attributes)
        return self.attributes[attribute].tables[self.configurations[configuration][attribute]]

    @cached_property
    def _reconciled(self) -> Summary:
        """The nearest summary without negative counts whose totals agree; see `reconcile`.

        Its attributes have the classes of values in place of the values, without those that have no records.
        """
        from aegis_opt.summary._reconcile import reconciled_summary

        return reconciled_summary(self)

    @property
    def n_records(self) -> int:
        """About how many records there are: as many as the reconciled tables have."""
        return self._reconciled.n_records

    def report(self) -> pd.DataFrame:
        """Describe what is shared, one row per attribute, in the columns of `Summary.report`."""
        rows = []
        for name, a in self.attributes.items():
            kept = [table.keeps_every_value and a.n_values > 1 for table in a.tables]
            rows.append(
                {
                    "attribute": name,
                    "kind": a.kind,
                    "values": a.n_values,
                    "tables": len(a.tables),
                    "histogram": False,
                    "unmasked_by": sum(kept[chosen[name]] for chosen in self.configurations.values()),
                    "distinct": a.n_values,
                    "warning": f"protected: {self.protection.statement()}",
                    "values_shared": a.values is not None,
                    "order": a.order,
                }
            )
        return pd.DataFrame(rows)

    def facts(self) -> pd.DataFrame:
        """List all that a stranger learns from the file, and at the end what is not in it."""
        from aegis_opt.summary._protected_facts import facts_of_protected

        return facts_of_protected(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to one JSON file: .json, or .json.gz to compress it."""
        from aegis_opt.summary._file import save

        save(self, path)

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        if same is True and isinstance(other, ProtectedSummary):  # the order of the names counts too
            return [*self.attributes, *self.configurations] == [*other.attributes, *other.configurations]
        return same

    __hash__ = None  # type: ignore[assignment]

    def _card(self) -> Card:
        from aegis_opt.summary._card import card_of_protected

        return card_of_protected(self)

    def __repr__(self) -> str:
        return (
            f"ProtectedSummary(label={self.label!r}, {len(self.attributes)} attributes, "
            f"{len(self.configurations)} configurations, {self.protection.method})"
        )


def protected_counts(values: Any, what: str) -> IntArray:
    """Copy a table of whole numbers of either sign, whose sums stay exact."""
    counts = whole_numbers(values, what, ndim=2, signed=True)
    if np.abs(counts.astype(np.float64)).sum() > MOST_RECORDS:
        raise SummaryError(f"the {what} adds up to more than 2**53 records: get a whole copy of the file")
    return counts


def _check_all_used(groups: IntArray, n: int, what: str) -> None:
    if not np.array_equal(np.unique(groups), np.arange(n)):
        raise SummaryError(f"{what} must be all of 0 to {n - 1}")
