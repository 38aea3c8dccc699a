"""Ranges of a number as the classes of a label: quantiles or given edges, the same on every engine."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal

import numpy as np
import numpy.typing as npt

from aegis_opt._nan import is_nan
from aegis_opt._shown import exact, number_text
from aegis_opt.domain import Domain
from aegis_opt.errors import SourceError
from aegis_opt.sources._column import Column
from aegis_opt.sources._counts import JointCounts, Scan
from aegis_opt.sources._engine import Fetched, Records
from aegis_opt.sources._label_view import LabelView, check_finite, require_numeric

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelBins:
    """Classes ``<e_1``, ``[e_1, e_2)``, ..., ``>=e_m`` of a number; the missing value stays a class.

    Of q quantiles, edge j divides record floor(jN/q) from the next one of the N records in ascending order,
    so that about N/q records lie between two edges.
    """

    edges: tuple[float, ...]  # integers where the label has integers

    @property
    def names(self) -> list[str]:
        """The classes from the lowest to the highest."""
        texts = [number_text(_whole(edge)) for edge in self.edges]
        between = [f"[{a}, {b})" for a, b in itertools.pairwise(texts)]
        return [f"<{texts[0]}", *between, f">={texts[-1]}"]

    @classmethod
    def of_values(
        cls, source: str, label: str, domain: Domain, counts: IntArray, view: LabelView
    ) -> LabelBins:
        """Find the edges for a label whose distinct values are at hand, with their counts."""
        require_numeric(source, label, domain.kind, view)
        values, counts = domain.values, counts[: len(domain.values)]
        if len(values):
            check_finite(source, label, float(values[0]), float(values[-1]))
        if isinstance(view.bins, tuple):
            return cls(view.bins)
        if not len(values):
            raise _no_values(source, label)
        ranks = quantile_ranks(int(counts.sum()), int(view.bins or 0))
        places = np.searchsorted(np.cumsum(counts), ranks)
        edges, below = values[places].tolist(), values[np.maximum(places - 1, 0)].tolist()
        return cls._of_quantiles(source, label, edges, below, values[0].item())

    @classmethod
    def of_records(cls, records: Records, label: Column, view: LabelView) -> LabelBins:
        """Find the edges for the label of open records by queries."""
        source = records.description
        require_numeric(source, label.name, label.kind, view)
        value = sql_number(label)
        extent = f"SELECT count({value}) AS n, min({value}) AS low, max({value}) AS high FROM {{records}}"
        found = records.query(extent)
        n = int(found["n"][0])
        if n:
            check_finite(source, label.name, float(found["low"][0]), float(found["high"][0]))
        if isinstance(view.bins, tuple):
            return cls(view.bins)
        if not n:
            raise _no_values(source, label.name)
        ranks = quantile_ranks(n, int(view.bins or 0))
        wanted = ", ".join(
            f"min(CASE WHEN up_to >= {rank} THEN v END) AS e{j}, "
            f"max(CASE WHEN up_to < {rank} THEN v END) AS p{j}"
            for j, rank in enumerate(ranks)
        )
        counted = f"SELECT {value} AS v, count(*) AS n FROM {{records}} WHERE {value} IS NOT NULL GROUP BY 1"
        summed = f"SELECT v, sum(n) OVER (ORDER BY v) AS up_to FROM ({counted}) AS counted"
        cut = records.query(f"SELECT {wanted} FROM ({summed}) AS summed")
        edges, below = ([cut[f"{name}{j}"][0].item() for j in range(len(ranks))] for name in "ep")
        return cls._of_quantiles(source, label.name, edges, below, found["low"][0].item())

    @classmethod
    def _of_quantiles(
        cls, source: str, label: str, edges: Sequence[float], below: Sequence[float], low: float
    ) -> LabelBins:
        """Refuse quantiles that equal numbers merge.

        `below` has the next lower number of each edge, and any number between the two gives the same classes:
        the one of the fewest digits is taken, which is no record's own.
        """
        between = dict(zip(edges, below, strict=True))
        distinct = [short_between(between[edge], edge) for edge in sorted(set(edges) - {low})]
        if len(distinct) == len(edges):
            return cls(tuple(distinct))
        if not distinct:
            raise SourceError(
                f"{source}: label_bins={len(edges) + 1} gives one class only, because at least "
                f"{len(edges)} of {len(edges) + 1} records have the least value of the label {label!r}, "
                f"{number_text(_whole(low))}: give edges, label_bins=[...], or choose another label"
            )
        texts = ", ".join(number_text(_whole(edge)) for edge in distinct)
        raise SourceError(
            f"{source}: the label {label!r} has {len(distinct) + 1} distinct quantiles of "
            f"label_bins={len(edges) + 1}, because many records have equal values: take the edges of those, "
            f"label_bins=[{texts}], or fewer quantiles"
        )

    def places(self, domain: Domain) -> IntArray:
        """Return the class of each value of a domain; the missing value has the last."""
        if domain.kind == "integer":  # reals do not hold all of them
            edges = np.array([_ceiling(edge) for edge in self.edges], dtype=object)
            own = np.searchsorted(edges, domain.values.astype(object), side="right")
        else:
            own = np.searchsorted(np.array(self.edges), domain.values, side="right")
        places: IntArray = np.append(own, [len(self.edges) + 1] if domain.missing else []).astype(np.int64)
        return places

    def sql(self, label: Column) -> str:
        """Return the SQL for the class of a record; a missing number has none."""
        value = sql_number(label)
        names = self.names
        cases = " ".join(
            f"WHEN {value} < {_literal(label, edge)} THEN '{name}'"
            for edge, name in zip(self.edges, names, strict=False)
        )
        return f"CASE WHEN {value} IS NULL THEN NULL {cases} ELSE '{names[-1]}' END"

    def domain(self, missing: bool) -> Domain:
        """Return the classes as the domain of a label, from the lowest to the highest."""
        return Domain("string", np.array(self.names, dtype=object), missing)

    def check(self, source: str, label: str, counts: Iterable[int]) -> None:
        """Refuse a class without records; `counts` has those of each class in order."""
        for name, n in zip(self.names, counts, strict=False):
            if n == 0:
                raise SourceError(
                    f"{source}: no record has a {label!r} in the class {name!r} of label_bins: leave out an "
                    "edge of that class, or move it"
                )


def quantile_ranks(n: int, q: int) -> list[int]:
    """Return which of n records, counted from 1 in ascending order, the inner quantiles are.

    Examples
    --------
    >>> quantile_ranks(8, 4)
    [3, 5, 7]
    """
    return [j * n // q + 1 for j in range(1, q)]


def short_between(low: float, high: float) -> float:
    """Return the number of the fewest digits that is above one number and not above another.

    Examples
    --------
    >>> short_between(1.2931, 1.2948), short_between(-3, 2), short_between(1999, 2004)
    (1.294, 0, 2000)
    """
    if low < 0 <= high:
        return 0
    end = exact(high)
    digits = 1
    while True:
        step = Decimal((0, (1,), end.adjusted() - digits + 1))
        cut = end.quantize(step, rounding=ROUND_FLOOR, context=Context(prec=40))
        found = int(cut) if isinstance(high, int) or cut == cut.to_integral_value() else float(cut)
        if low < found <= high:
            return found
        digits += 1


def _no_values(source: str, label: str) -> SourceError:
    return SourceError(f"{source}: the label {label!r} has no values: choose another label")


def sql_number(label: Column) -> str:
    """Return the SQL for the number of a record, with NaN as NULL."""
    if label.kind == "integer":
        return f"CAST({label.sql} AS BIGINT)"
    real = f"CAST({label.sql} AS DOUBLE)"
    return f"(CASE WHEN {is_nan(real)} THEN NULL ELSE {real} END)"


def _literal(label: Column, edge: float) -> str:
    """Return an edge as SQL compares it with a column: integers of 64 bits are not all doubles."""
    return str(_ceiling(edge)) if label.kind == "integer" else f"CAST('{float(edge)!r}' AS DOUBLE)"


def _ceiling(edge: float) -> int:
    """Return the least integer that is not below an edge."""
    return edge if isinstance(edge, int) else math.ceil(edge)


def _whole(edge: float) -> float:
    """Return a real that is whole as an integer, which is how it is written."""
    return int(edge) if edge == math.floor(edge) else edge


class BinnedRecords(Records):
    """Records in which some columns, the labels, are the texts of their classes."""

    def __init__(self, records: Records, classes: Mapping[int, str]) -> None:
        """Take the SQL of the classes for the columns at some positions."""
        self._records, self._classes = records, classes
        self.description, self.in_order = records.description, records.in_order
        self.types = ["VARCHAR" if i in classes else each for i, each in enumerate(records.types)]
        self.parallel, self.may_leave = records.parallel, records.may_leave

    def query(self, sql: str) -> Fetched:
        """Run a query with classes in place of numbers; only columns that it names are read."""
        named = sorted({int(i) for i in re.findall(r"\bc(\d+)\b", sql)})
        selected = ", ".join(f"{self._classes[i]} AS c{i}" if i in self._classes else f"c{i}" for i in named)
        seen = f"(SELECT {selected} FROM {{records}}) AS seen"
        return self._records.query(sql.replace("{records}", seen))

    def micros(self, position: int) -> str:
        """Return the SQL of the engine."""
        return self._records.micros(position)

    def hash(self, keys: Sequence[str]) -> str:
        """Return the SQL of the engine."""
        return self._records.hash(keys)

    def stop(self) -> None:
        """Cancel the queries under way."""
        self._records.stop()


def in_order(source: str, counts: Scan, bins: LabelBins) -> Scan:
    """Return a scan with its classes from the lowest to the highest; a class without records is refused."""
    found = counts.label_domain.values.tolist()
    by_name = dict(zip(found, counts.label_counts.tolist(), strict=False))
    bins.check(source, counts.label, [by_name.get(name, 0) for name in bins.names])
    missing = [len(found)] if counts.label_domain.missing else []
    places = np.array([*map(found.index, bins.names), *missing], dtype=np.int64)
    attributes = {
        name: JointCounts(joint.domain, joint.table[:, places], joint.coarsening)
        for name, joint in counts.attributes.items()
    }
    return replace(
        counts,
        label_domain=bins.domain(counts.label_domain.missing),
        label_counts=counts.label_counts[places],
        attributes=attributes,
    )
