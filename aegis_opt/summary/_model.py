"""The summary of a table: masked joint tables, label counts and, if shared, histograms."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.domain import KINDS, Kind
from aegis_opt.errors import SummaryError, UnknownName
from aegis_opt.sources._counts import Coarsening

if TYPE_CHECKING:
    from aegis_opt.problem import Problem

IntArray = npt.NDArray[np.int64]

_COARSENED = "masks, estimates and bounds refer to the attribute so coarsened, not to its raw values"


@dataclass(frozen=True, eq=False)
class MaskedTable:
    """Joint table of a masked attribute and the label.

    Parameters
    ----------
    spec : mapping
        The mask, as configuration files write it.
    groups : array_like of int, shape (n_values,)
        groups[a] is the row of `joint` that value a is masked to.
    labels : sequence
        The masked value of each group.
    joint : array_like of int, shape (n_groups, k)
        Records per masked value and label.
    """

    spec: Mapping[str, Any]
    groups: IntArray
    labels: tuple[Any, ...]
    joint: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", MappingProxyType(dict(self.spec)))
        object.__setattr__(self, "groups", whole_numbers(self.groups, "groups", ndim=1))
        object.__setattr__(self, "labels", tuple(self.labels))
        object.__setattr__(self, "joint", whole_numbers(self.joint, "joint table", ndim=2))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of dictionaries are neither copied nor pickled
        return MaskedTable, (dict(self.spec), self.groups, self.labels, self.joint)

    @property
    def n_groups(self) -> int:
        """Number of masked values."""
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MaskedTable):
            return NotImplemented
        return (
            self.spec == other.spec
            and self.labels == other.labels
            and np.array_equal(self.groups, other.groups)
            and np.array_equal(self.joint, other.joint)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class AttributeSummary:
    """What is shared about one attribute.

    Parameters
    ----------
    kind : str
        Type of its values.
    n_values : int
        Number of distinct values, a missing one included.
    values, histogram : tuple, array_like of int, or None
        The values, ascending and None (missing) last, and how often each occurs; None when not shared.
    tables : sequence of MaskedTable
        One per distinct mask.
    coarsening : Coarsening, optional
        How the raw values were merged before masking, where there were too many.
    """

    kind: Kind
    n_values: int
    values: tuple[Any, ...] | None
    histogram: IntArray | None
    tables: tuple[MaskedTable, ...]
    coarsening: Coarsening | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))
        if self.histogram is not None:
            object.__setattr__(self, "histogram", whole_numbers(self.histogram, "histogram", ndim=1))
        object.__setattr__(self, "tables", tuple(self.tables))

    @property
    def coarsening_warning(self) -> str:
        """What reading the attribute with fewer values changes; empty where every value counts."""
        return "" if self.coarsening is None else f"read as {self.coarsening.rule}: {_COARSENED}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AttributeSummary):
            return NotImplemented
        return (
            (self.kind, self.n_values, self.values) == (other.kind, other.n_values, other.values)
            and (self.histogram is None) == (other.histogram is None)
            and (self.histogram is None or np.array_equal(self.histogram, other.histogram))  # type: ignore[arg-type]
            and self.tables == other.tables
            and self.coarsening == other.coarsening
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Summary:
    """All that leaves the provider: enough to advise on configurations, without the raw joint tables.

    Parameters
    ----------
    label : str
        Name of the class label.
    label_kind : str
        Type of its values.
    label_values : sequence
        The classes, None (missing) last.
    label_counts : array_like of int
        Records per class.
    attributes : mapping of str to AttributeSummary
        The attributes that at least one configuration masks.
    configurations : mapping of str to (mapping of str to int)
        For each configuration and attribute, which of the attribute's masked tables it releases.

    Raises
    ------
    SummaryError
        If the parts contradict each other: every table must have the label's totals, and the histogram's.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import Suppress
    >>> from aegis_opt.summary import summarize
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> summary = summarize(people, "health", {"open": {}, "closed": {"age": Suppress()}})
    >>> summary.masked_table("closed", "age").joint.tolist(), summary.unmasked()
    ([[2, 1]], [('open', 'age')])
    """

    label: str
    label_kind: Kind
    label_values: tuple[Any, ...]
    label_counts: IntArray
    attributes: Mapping[str, AttributeSummary]
    configurations: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_values", tuple(self.label_values))
        object.__setattr__(self, "label_counts", whole_numbers(self.label_counts, "label counts", ndim=1))
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))
        chosen = {name: MappingProxyType(dict(tables)) for name, tables in self.configurations.items()}
        object.__setattr__(self, "configurations", MappingProxyType(chosen))
        self._check_label()
        for name, attribute in self.attributes.items():
            self._check_attribute(name, attribute)
        self._check_configurations()

    def __reduce__(self) -> tuple[Any, ...]:
        chosen = {name: dict(tables) for name, tables in self.configurations.items()}
        label = self.label, self.label_kind, self.label_values, self.label_counts
        return Summary, (*label, dict(self.attributes), chosen)

    @property
    def n_records(self) -> int:
        """Number of records, N."""
        return int(self.label_counts.sum())

    def masked_table(self, configuration: str, attribute: str) -> MaskedTable:
        """Return the table that a configuration releases of an attribute."""
        if configuration not in self.configurations:
            raise UnknownName("configuration", configuration, self.configurations)
        index = self.configurations[configuration][attribute] if attribute in self.attributes else -1
        return self._attribute(attribute).tables[index]

    def unmasked(self) -> list[tuple[str, str]]:
        """List each (configuration, attribute) whose table keeps every value apart: it is the raw table."""
        return [
            (configuration, name)
            for configuration, chosen in self.configurations.items()
            for name, index in chosen.items()
            if self.attributes[name].tables[index].n_groups == self.attributes[name].n_values > 1
        ]

    @cached_property
    def solved(self) -> dict[Hashable, Any]:
        """Problems posed and reconstructions found so far: the same ones serve every measure."""
        return {}

    def problem(
        self,
        attribute: str,
        configuration: str | None = None,
        *,
        table: int | None = None,
        histograms: bool = True,
    ) -> Problem:
        """Pose the reconstruction of an attribute's joint table.

        Parameters
        ----------
        attribute : str
            Which attribute.
        configuration : str, optional
            Use the view of this configuration alone; by default the views of all configurations together,
            equal partitions once.
        table : int, optional
            Use one of the attribute's masked tables alone, by its number.
        histograms : bool
            Whether to use the histogram, where it is shared.

        Returns
        -------
        Problem
        """
        from aegis_opt.problem import Problem, View

        summary = self._attribute(attribute)
        values = summary.values
        tables = summary.tables
        if configuration is not None:
            tables = (self.masked_table(configuration, attribute),)
        if table is not None:
            tables = (summary.tables[table],)
        distinct = {t.groups.tobytes(): View(t.groups, t.joint) for t in tables}
        return Problem(
            views=list(distinct.values()),
            histogram=summary.histogram if histograms else None,
            row_names=None if values is None else pd.Index(values, dtype=object),
            label_names=pd.Index(self.label_values, dtype=object),
        )

    def report(self) -> pd.DataFrame:
        """Describe what is shared, one row per attribute.

        Returns
        -------
        DataFrame
            attribute, kind, values (how many the tables have), tables (distinct masks), histogram (shared?),
            unmasked_by (how many configurations release it as it is), distinct (how many values the source
            has) and warning (what reading it with fewer values changes, or empty).
        """
        open_in = pd.Series([name for _, name in self.unmasked()], dtype=object).value_counts()
        rows = [
            (
                name,
                a.kind,
                a.n_values,
                len(a.tables),
                a.histogram is not None,
                int(open_in.get(name, 0)),
                a.n_values if a.coarsening is None else a.coarsening.distinct,
                a.coarsening_warning,
            )
            for name, a in self.attributes.items()
        ]
        columns = ["attribute", "kind", "values", "tables", "histogram", "unmasked_by", "distinct", "warning"]
        return pd.DataFrame(rows, columns=columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to one JSON file: .json, or .json.gz to compress it."""
        from aegis_opt.summary._file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Read a summary that `save` wrote; what is in the file is checked, not trusted."""
        from aegis_opt.summary._file import load

        return load(path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return (
            (self.label, self.label_kind, self.label_values)
            == (other.label, other.label_kind, other.label_values)
            and np.array_equal(self.label_counts, other.label_counts)
            and list(self.attributes.items()) == list(other.attributes.items())
            and list(self.configurations.items()) == list(other.configurations.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Summary(label={self.label!r}, {self.n_records} records, {len(self.attributes)} attributes, "
            f"{len(self.configurations)} configurations)"
        )

    def _attribute(self, name: str) -> AttributeSummary:
        if name not in self.attributes:
            hint = "A summary holds the attributes that some configuration masks."
            raise UnknownName("attribute", name, self.attributes, hint)
        return self.attributes[name]

    def _check_label(self) -> None:
        if self.label_kind not in KINDS:
            raise SummaryError(
                f"the label {self.label!r} is of unknown kind {self.label_kind!r}; known: {', '.join(KINDS)}"
            )
        if len(self.label_values) != len(self.label_counts) or len(set(self.label_values)) < 2:
            raise SummaryError(
                f"the label {self.label!r} needs at least two distinct classes with one count each, not "
                f"{len(self.label_values)} classes and {len(self.label_counts)} counts"
            )

    def _check_attribute(self, name: str, attribute: AttributeSummary) -> None:
        where = f"attribute {name!r}"
        n, values, rows = attribute.n_values, attribute.values, attribute.histogram
        if attribute.kind not in KINDS:
            raise SummaryError(f"{where} is of unknown kind {attribute.kind!r}; known: {', '.join(KINDS)}")
        if (values is None) != (rows is None):
            raise SummaryError(f"{where} has values or a histogram, but not both")
        if not attribute.tables:
            raise SummaryError(f"{where} has no masked tables")
        if rows is not None and values is not None:
            if not len(rows) == len(values) == len(set(values)) == n:
                raise SummaryError(
                    f"{where} has {n} values by its own account, but {len(values)} are listed "
                    f"and {len(rows)} have counts; the values must be distinct"
                )
            if rows.sum() != self.n_records:
                raise SummaryError(
                    f"totals disagree: the histogram of {where} has {rows.sum()} records, "
                    f"the label has {self.n_records}"
                )
        for i, table in enumerate(attribute.tables):
            what = f"masked table {i} of {where}"
            shape = (table.n_groups, len(self.label_counts))
            if len(table.groups) != n or table.joint.shape != shape:
                raise SummaryError(
                    f"{what} has groups for {len(table.groups)} of {n} values and counts of shape "
                    f"{table.joint.shape}, where {shape} was expected"
                )
            if not np.array_equal(np.unique(table.groups), np.arange(table.n_groups)):
                raise SummaryError(f"{what}: the groups must be all of 0 to {table.n_groups - 1}")
            if not np.array_equal(table.joint.sum(axis=0), self.label_counts):
                raise SummaryError(
                    f"totals disagree: {what} has {table.joint.sum(axis=0).tolist()} records per class, "
                    f"the label has {self.label_counts.tolist()}"
                )
            if rows is not None and not np.array_equal(
                merge_rows(rows, table.groups), table.joint.sum(axis=1)
            ):
                raise SummaryError(f"totals disagree: {what} has other group totals than the histogram")

    def _check_configurations(self) -> None:
        if not self.configurations:
            raise SummaryError("a summary needs at least one configuration")
        for name, chosen in self.configurations.items():
            if set(chosen) != set(self.attributes):
                odd = sorted(set(chosen) ^ set(self.attributes))
                raise SummaryError(
                    f"configuration {name!r} must choose a table of every attribute and no others; "
                    f"check {', '.join(map(repr, odd))}"
                )
            for attribute, index in chosen.items():
                n_tables = len(self.attributes[attribute].tables)
                if not isinstance(index, int) or not 0 <= index < n_tables:
                    raise SummaryError(
                        f"configuration {name!r} chooses table {index!r} of {attribute!r}, "
                        f"which has tables 0 to {n_tables - 1}"
                    )


def merge_rows(table: IntArray, groups: IntArray) -> IntArray:
    """Add up the rows of a table of counts that belong to the same group.

    Examples
    --------
    >>> merge_rows(np.array([[3, 0], [0, 1], [0, 2]]), np.array([0, 0, 1])).tolist()
    [[3, 1], [0, 2]]
    """
    merged = np.zeros((int(groups.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(merged, groups, table)
    return merged


def whole_numbers(values: Any, what: str, *, ndim: int) -> IntArray:
    """Copy `values` as a read-only array of counts; name what is no count."""
    try:
        array = np.array(values)
    except ValueError as error:
        raise SummaryError(f"the {what} must be a table with rows of equal length") from error
    if array.ndim != ndim or array.size == 0 or array.dtype.kind not in "iuf":
        raise SummaryError(f"the {what} must be {'a table' if ndim == 2 else 'a list'} of whole numbers")
    if (array < 0).any():
        raise SummaryError(f"the {what} has the negative number {array[array < 0][0]}; counts start at 0")
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        raise SummaryError(f"the {what} has the fractional number {array[array != np.floor(array)][0]}")
    counts = array.astype(np.int64)
    if (counts != array).any():
        raise SummaryError(f"the {what} has the number {array[counts != array][0]}, which is too large")
    counts.setflags(write=False)
    return counts
