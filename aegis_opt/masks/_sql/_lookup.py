"""Masks as SQL: by a rule if there is one, else value by value, as `mask.group` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from aegis_opt.domain import Domain, Kind
from aegis_opt.masks._base import Grouping, Label, Mask
from aegis_opt.masks._generalize import Generalize
from aegis_opt.masks._mapping import Pairs
from aegis_opt.masks._microaggregate import Microaggregate
from aegis_opt.masks._noise import NoiseMask
from aegis_opt.masks._sql._column import SqlColumn
from aegis_opt.masks._sql._literals import REAL, TEXT, label_texts, label_type, literal
from aegis_opt.masks._sql._rules import rule_sql
from aegis_opt.sources._column import SQL_TYPES
from aegis_opt.sources._names import quoted_text

_MOST_CASES = 16  # masked values that are told apart by CASE; more of them need a join


@dataclass(frozen=True, eq=False)
class Lookup:
    """The masked value of each known value; any other value becomes NULL."""

    domain: Domain  # the known values
    grouping: Grouping  # what the mask makes of them
    sql_type: str  # of the masked values

    @classmethod
    def of(cls, mask: Mask, domain: Domain) -> Lookup:
        """Group the domain; the type of the masked values does not depend on which of them occur."""
        grouping = mask.group(domain)
        possible: list[Label] = list(grouping.labels)
        if isinstance(mask, Generalize) and mask.mapping is not None:
            possible = [label for label, _ in cast("Pairs", mask.mapping)]
        elif isinstance(mask, Microaggregate):
            possible = mask.groups()[1]
        sql_type = label_type(possible)
        if sql_type == TEXT:
            label_texts(possible)  # refuses masked values that text cannot tell apart
        return cls(domain, grouping, sql_type)

    @classmethod
    def of_missing(cls, mask: Mask) -> Lookup:
        """Look up the missing value alone; a column that has no other is of no kind, and the mask fits."""
        return cls.of(mask, Domain(cast("Kind", mask.kinds[0]), np.array([]), missing=True))

    @property
    def needs_join(self) -> bool:
        """Whether there are too many masked values for a CASE."""
        return self.grouping.n_groups > _MOST_CASES

    def case(self, column: SqlColumn) -> str:
        """Return the masked values as a CASE over lists of values."""
        values, groups = self.domain.values.tolist(), self.grouping.groups
        cases = []
        for group, label in enumerate(self._labels()):
            members = np.flatnonzero(groups[: len(values)] == group)
            listed = ", ".join(literal(values[i]) for i in members)
            conditions = [f"{column.key} IN ({listed})"] if listed else []
            if self.domain.missing and groups[-1] == group:
                conditions.append(f"NOT ({column.present})")
            cases.append(f"WHEN {' OR '.join(conditions)} THEN {label}")
        if not cases:
            return f"CAST(NULL AS {self.sql_type})"
        found = f"CASE {' '.join(cases)} END"
        return f"CAST({found} AS BIGINT)" if self.sql_type == "BIGINT" else found  # else as narrow as can be

    def values_table(self) -> str:
        """Return the known values and their masked values as rows of SQL that any dialect has."""
        labels = self._labels()
        present = zip(self.domain.values.tolist(), self.grouping.groups.tolist(), strict=False)
        return "VALUES " + ", ".join(f"({literal(value)}, {labels[group]})" for value, group in present)

    def packed_table(self) -> str:
        """Return the same rows as two texts that DuckDB splits, which takes a million of them in no time."""
        labels = np.array(label_texts(self.grouping.labels), dtype=object)
        present = self.grouping.groups[: len(self.domain.values)]
        columns: list[list[str]] = [
            [str(value) for value in self.domain.values.tolist()],
            labels[present].tolist(),
        ]
        used = set().union(*(set("".join(set(column))) for column in columns))
        separator = next(code for code in range(1, 0x110000) if chr(code) not in used)
        split = [
            f"unnest(string_split({quoted_text(chr(separator).join(c))}, chr({separator})))" for c in columns
        ]
        types = (SQL_TYPES[self.domain.kind], self.sql_type)
        names = ", ".join(f"CAST({s} AS {t}) AS {n}" for s, t, n in zip(split, types, "vl", strict=True))
        return f"SELECT {names}"

    def joined(self, column: SqlColumn, found: str) -> str:
        """Return the masked values, given the SQL that finds them in one of the tables above."""
        if self.domain.missing and (label := self._labels()[self.grouping.groups[-1]]) != "NULL":
            return f"CASE WHEN {column.present} THEN {found} ELSE {label} END"
        return found

    def _labels(self) -> list[str]:
        if self.sql_type == TEXT:
            return [literal(text) for text in label_texts(self.grouping.labels)]
        as_real = self.sql_type == REAL
        return [
            literal(float(cast("Any", label)) if as_real and label is not None else label)
            for label in self.grouping.labels
        ]


def masked_column(mask: Mask, column: SqlColumn, values: Callable[[], Domain]) -> str | Lookup:
    """Return the SQL of the masked values or, where there is no rule, what to look up of `values()`.

    Examples
    --------
    >>> column = SqlColumn("age", "integer")
    >>> masked_column(Generalize({"Young": [10, 17]}), column, lambda: Domain.of([10, 17])).case(column)
    "CASE WHEN age IN (10, 17) THEN 'Young' END"
    """
    if column.domain is not None and not len(column.domain.values) and not isinstance(mask, NoiseMask):
        return Lookup.of_missing(mask)
    rule = rule_sql(mask, column)
    return Lookup.of(mask, values()) if rule is None else rule


def listed_domain(mask: Mask, kind: Kind) -> Domain | None:
    """Return all values that a mapping or a hierarchy lists, or None where a mask lists none.

    Examples
    --------
    >>> listed_domain(Generalize({"Young": [10, 17], "Old": [55]}), "integer").to_list()
    [10, 17, 55, None]
    """
    if not isinstance(mask, Generalize) or mask.ranges is not None:
        return None
    values = list(mask.matched(kind)[1])
    if kind == "integer":  # the others match no integer
        values = [int(v) for v in values if v == v // 1 and -(2**63) <= v < 2**63]
    return Domain(kind, np.array(sorted(set(values)), dtype=object), missing=True)
