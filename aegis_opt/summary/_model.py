"""The summary of a table: masked joint tables, label counts and, if shared, histograms."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt._channels import checked_channel
from aegis_opt._display import Card, Displayed
from aegis_opt._options import flag, instance, is_whole, known_name, list_of, path_of, whole_number
from aegis_opt._shown import shown
from aegis_opt.domain import KINDS, Kind
from aegis_opt.errors import InvalidOption, SummaryError
from aegis_opt.masks._order import Order, default_order
from aegis_opt.problem import Problem, View
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._count_arrays import (
    check_classes,
    check_n_values,
    merge_rows,
    numbers_all,
    whole_counts,
    whole_numbers,
)
from aegis_opt.summary._label_masks import LabelMask, check_label_mask_of, check_label_masks
from aegis_opt.summary._noisy_tables import configuration_epsilons, noisy_attributes, shared_epsilon
from aegis_opt.summary._order import check_order, positions_of
from aegis_opt.summary._privacy import SharedPrivacy
from aegis_opt.summary._scores import ScoreSummary, SharedScore
from aegis_opt.summary._shared_data import SharedData, check_configurations, check_names

if TYPE_CHECKING:
    from aegis_opt.summary._protected import ProtectedSummary
    from aegis_opt.summary._summaries import Summaries

_COARSENED = "masks, estimates and bounds refer to the attribute so coarsened, not to its raw values"


@dataclass(frozen=True, eq=False)
class MaskedTable(SharedData):
    """Joint table of a masked attribute and the label, which may be masked, too.

    Parameters
    ----------
    spec : mapping
        The mask, as configuration files write it.
    groups : array_like of int, shape (n_values,)
        groups[a] is the row of `joint` that value a is masked to.
    labels : sequence
        The masked value of each group.
    joint : array_like of int, shape (n_groups, k)
        Records per masked value and class; per masked class where the label is masked.
    label_mask : int, optional
        By which of the summary's label masks the columns are merged; None where the label is not masked.
    channel : array_like of float, shape (n_groups, n_values), optional
        Where the mask adds noise: channel[g, a] is the probability that value a becomes masked value g.
        There are no groups then, and the counts are one draw.
    """

    spec: Mapping[str, Any]
    groups: IntArray
    labels: tuple[Any, ...]
    joint: IntArray
    label_mask: int | None = None
    channel: FloatArray | None = None

    def __post_init__(self) -> None:
        self._convert(
            spec=MappingProxyType(dict(self.spec)),
            groups=whole_numbers(self.groups, "groups", ndim=1) if self.channel is None else NO_GROUPS,
            labels=tuple(self.labels),
            joint=whole_counts(self.joint, "joint table", ndim=2),
            channel=None if self.channel is None else _checked_channel(self.channel, self.groups),
        )

    @property
    def n_groups(self) -> int:
        """Number of masked values."""
        return len(self.labels)

    @property
    def keeps_every_value(self) -> bool:
        """Whether no two values share a group: the unmasked joint table, unless the label is masked."""
        return self.channel is None and self.n_groups == len(self.groups)


NO_GROUPS: IntArray = np.zeros(0, dtype=np.int64)
"""The groups of a noisy table."""


def _checked_channel(channel: object, groups: object) -> FloatArray:
    """Check the channel of a noisy table; that it tells the values apart is checked where it is made."""
    if len(np.atleast_1d(np.asarray(groups))):
        raise SummaryError("a masked table has groups or a channel, not both")
    return checked_channel(channel, "the channel of a noisy table", told_apart=False, error=SummaryError)


@dataclass(frozen=True, eq=False)
class AttributeSummary(SharedData):
    """What is shared about one attribute.

    Parameters
    ----------
    kind : str
        Type of its values.
    n_values : int
        Number of distinct values, a missing one included.
    values, histogram : tuple, array_like of int, or None
        The values in the order of the rows, None (missing) last, and how often each occurs; None when not
        shared. Values may be shared without a histogram, but no histogram without values.
    tables : sequence of MaskedTable
        One per distinct mask, and mask of the label.
    coarsening : Coarsening, optional
        How the raw values were merged before masking, where there were too many.
    order : {"ascending", "given", "nominal"}, optional
        Whether the rows are ordered by ascending value, in an order that the provider gave, or, for a
        nominal attribute, in none that counts. By default numbers and dates are ascending and all else is
        nominal.
    """

    kind: Kind
    n_values: int
    values: tuple[Any, ...] | None
    histogram: IntArray | None
    tables: tuple[MaskedTable, ...]
    coarsening: Coarsening | None = None
    order: Order | None = None

    def __post_init__(self) -> None:
        histogram = self.histogram
        self._convert(
            values=None if self.values is None else tuple(self.values),
            histogram=None if histogram is None else whole_counts(histogram, "histogram", ndim=1),
            tables=tuple(self.tables),
            order=default_order(self.kind) if self.order is None else self.order,
        )

    @property
    def has_missing(self) -> bool:
        """Whether the last value is known to be the missing one: by the values, or by a masked table."""
        if self.values is not None:
            return self.values[-1] is None
        exact = [table for table in self.tables if table.channel is None]
        return any(table.labels[table.groups[-1]] is None for table in exact)

    @property
    def has_default_order(self) -> bool:
        """Whether numbers and dates are ordered by value, or else values are nominal."""
        return self.order == default_order(self.kind)

    @cached_property
    def positions(self) -> FloatArray | None:
        """Where the values of an ordered attribute lie; None for a nominal one.

        Ascending numbers that are shared lie where they are, and dates at their day. Positions are ranks
        otherwise. The missing value has no place: NaN.
        """
        order = self.order or default_order(self.kind)
        return positions_of(order, self.kind, self.values, self.n_values, self.has_missing)

    @property
    def coarsening_warning(self) -> str:
        """What reading the attribute with fewer values changes; empty where every value counts."""
        return "" if self.coarsening is None else coarsening_text(self.coarsening)


def coarsening_text(coarsening: Coarsening) -> str:
    """Say how an attribute was read with fewer values, and what that changes."""
    return f"read as {coarsening.rule}: {_COARSENED}"


@dataclass(frozen=True, eq=False)
class Summary(SharedData, Displayed):
    """All that leaves the provider: enough to advise on configurations, without the raw joint tables.

    Parameters
    ----------
    label : str
        Name of the class label.
    label_kind : str
        Type of its values.
    label_values : sequence or None
        The classes, None (missing) last. None where every configuration masks the label, unless the
        provider asked for them.
    label_counts : array_like of int or None
        Records per class, where the classes are shared.
    attributes : mapping of str to AttributeSummary
        The attributes that at least one configuration masks.
    configurations : mapping of str to (mapping of str to int)
        For each configuration and attribute, which of the attribute's masked tables it releases.
    numbers : ScoreSummary, optional
        Scores and values of measures that the provider computed from the records, where they are shared, too.
    privacy : SharedPrivacy, optional
        The privacy rules that the provider checked, and the level that each configuration reaches.
    label_masks : sequence of LabelMask, optional
        The distinct masks of the label.
    label_mask_of : mapping of str to int, optional
        For each configuration that masks the label, which of these it uses.

    Raises
    ------
    SummaryError
        If the parts contradict each other: every table must have the totals of the label, as it is masked
        there, and those of the histogram.

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
    label_values: tuple[Any, ...] | None
    label_counts: IntArray | None
    attributes: Mapping[str, AttributeSummary]
    configurations: Mapping[str, Mapping[str, int]]
    numbers: ScoreSummary | None = None
    privacy: SharedPrivacy | None = None
    label_masks: tuple[LabelMask, ...] = ()
    label_mask_of: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values, counts = self.label_values, self.label_counts
        chosen = {name: MappingProxyType(dict(tables)) for name, tables in self.configurations.items()}
        self._convert(
            label_values=None if values is None else tuple(values),
            label_counts=None if counts is None else whole_counts(counts, "label counts", ndim=1),
            label_masks=tuple(self.label_masks),
            label_mask_of=MappingProxyType(dict(self.label_mask_of)),
            attributes=MappingProxyType(dict(self.attributes)),
            configurations=MappingProxyType(chosen),
        )
        check_names(self.label, self.attributes, self.configurations)
        self._check_label()
        for name, attribute in self.attributes.items():
            self._check_attribute(name, attribute)
        sizes = {name: len(attribute.tables) for name, attribute in self.attributes.items()}
        check_configurations(self.configurations, sizes, "table")
        self._check_label_of_tables()
        if self.numbers is not None and (
            self.numbers.configurations != self.configurations
            or self.numbers.label_mask_of != self.label_mask_of
        ):
            raise SummaryError("the scores of a summary must be of the same configurations as its tables")
        if self.privacy is not None:
            self.privacy.check(self.configurations)

    @property
    def scores(self) -> Mapping[str, SharedScore]:
        """Scores of all masked attributes together, where they are shared."""
        return {} if self.numbers is None else self.numbers.scores

    def spec(self, configuration: str, attribute: str) -> Mapping[str, Any]:
        """Return the mask of an attribute in a configuration, as configuration files write it."""
        return self.masked_table(configuration, attribute).spec

    def label_spec(self, configuration: str) -> Mapping[str, Any] | None:
        """Return the mask of the label in a configuration, as configuration files write it; None: no mask."""
        index = self.label_mask_of.get(known_name("configuration", configuration, self.configurations))
        return None if index is None else self.label_masks[index].spec

    @property
    def n_records(self) -> int:
        """Number of records, N."""
        counts = self.label_masks[0].counts if self.label_counts is None else self.label_counts
        return int(counts.sum())

    @property
    def n_classes(self) -> int:
        """Number of classes of the label, as it is without a mask; k."""
        return len(self.label_masks[0].groups if self.label_counts is None else self.label_counts)

    def label_groups(self, table: MaskedTable) -> IntArray | None:
        """Return the column of a masked table that each class of the label belongs to; None: its own."""
        instance("table", table, MaskedTable, "masked_table gives one")
        return None if table.label_mask is None else self.label_masks[table.label_mask].groups

    def is_raw(self, table: MaskedTable) -> bool:
        """Whether a table is the unmasked joint table: neither two values nor two classes are merged."""
        instance("table", table, MaskedTable, "masked_table gives one")
        return table.keeps_every_value and table.joint.shape[1] == self.n_classes

    def masked_table(self, configuration: str, attribute: str) -> MaskedTable:
        """Return the table that a configuration releases of an attribute."""
        known_name("configuration", configuration, self.configurations)
        tables = self._attribute(attribute).tables
        return tables[self.configurations[configuration][attribute]]

    def unmasked(self) -> list[tuple[str, str]]:
        """List each (configuration, attribute) whose table keeps every value apart.

        It is the raw table, unless the configuration masks the label (`is_raw`).
        """
        open_tables = {
            name: {i for i, table in enumerate(attribute.tables) if table.keeps_every_value}
            for name, attribute in self.attributes.items()
            if attribute.n_values > 1
        }
        some = {name: tables for name, tables in open_tables.items() if tables}
        return [
            (configuration, name)
            for configuration, chosen in self.configurations.items()
            for name, tables in some.items()
            if chosen[name] in tables
        ]

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
            equal tables once.
        table : int, optional
            Use one of the attribute's masked tables alone, by its number.
        histograms : bool
            Whether to use the histogram, where it is shared, and for all views together the records per class
            of a masked label, where they are.

        Returns
        -------
        Problem
            Its positions are those of an ordered attribute; see `AttributeSummary.positions`. Its classes
            are those of the label without a mask; they have no names where these are not shared.
        """
        summary = self._attribute(attribute)
        values = summary.values
        tables = summary.tables
        if configuration is not None:
            tables = (self.masked_table(configuration, attribute),)
        if table is not None:
            tables = (summary.tables[whole_number("table", table, least=0, most=len(summary.tables) - 1)],)
        flag("histograms", histograms)
        return Problem(
            views=self.views(tables, label_counts=histograms and configuration is None and table is None),
            histogram=summary.histogram if histograms else None,
            row_names=None if values is None else pd.Index(values, dtype=object),
            label_names=None if self.label_values is None else pd.Index(self.label_values, dtype=object),
            positions=summary.positions,
        )

    def views(self, tables: Sequence[MaskedTable], *, label_counts: bool = True) -> list[View]:
        """Return what masked tables of one attribute say about its unmasked joint table, equal ones once.

        Where all of them are of masked labels, the records of each class are a view of their own, if they are
        shared and `label_counts` asks for them.
        """
        tables = list_of("tables", tables, MaskedTable, "the tables of an attribute of this summary are such")
        if not tables:
            raise InvalidOption("tables is empty: give at least one masked table")
        # equal partitions whose counts differ stay: they contradict each other, and a solver must see it
        distinct = {
            (
                table.groups.tobytes(),
                table.label_mask,
                table.joint.tobytes(),
                b"" if table.channel is None else table.channel.tobytes(),
            ): table
            for table in tables
        }
        views = [
            View(t.groups if t.channel is None else None, t.joint, self.label_groups(t), channel=t.channel)
            for t in distinct.values()
        ]
        masked = all(table.label_mask is not None for table in tables)
        if flag("label_counts", label_counts) and masked and self.label_counts is not None:
            views.append(View(np.zeros_like(tables[0].groups), self.label_counts[None]))
        return views

    def report(self) -> pd.DataFrame:
        """Describe what is shared, one row per attribute; `facts` lists all that a stranger learns.

        Returns
        -------
        DataFrame
            attribute, kind, values (how many the tables have), tables (distinct masks), histogram (shared?),
            unmasked_by (how many configurations release it as it is), distinct (how many values the source
            has), warning (what reading it with fewer values changes, or empty), values_shared (are the values
            listed?) and order ("ascending", "given" or "nominal": what the order of the rows tells). Where
            masks add noise, also epsilon: local differential privacy of all noisy tables of the attribute
            together.
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
                a.values is not None,
                a.order,
            )
            for name, a in self.attributes.items()
        ]
        columns = ["attribute", "kind", "values", "tables", "histogram", "unmasked_by", "distinct", "warning"]
        columns += ["values_shared", "order"]
        report = pd.DataFrame(rows, columns=columns)
        if noisy_attributes(self):
            report["epsilon"] = [shared_epsilon(attribute) for attribute in self.attributes.values()]
        return report

    def epsilons(self) -> dict[str, float]:
        """Return the epsilon of local differential privacy that each configuration gives a record.

        It is the sum over the attributes whose masks add noise, and infinite where none does; see
        `aegis_opt.Configuration.epsilon`. The records that are released are drawn anew: for a reader of both,
        the summary's epsilon and the release's add up.
        """
        return configuration_epsilons(self)

    def facts(self) -> pd.DataFrame:
        """List all that a stranger learns from the file, and at the end what is not in it.

        Returns
        -------
        DataFrame
            One row per fact: about, fact, content, all of them texts. Long lists are shortened.
        """
        from aegis_opt.summary._facts import facts_of

        return facts_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the summary to one JSON file: .json, or .json.gz to compress it."""
        from aegis_opt.summary._file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary | ScoreSummary | ProtectedSummary | Summaries:
        """Read a summary that `save` wrote, of tables, of scores or of both; check everything in the file.

        A file with protected counts gives a `ProtectedSummary`, one of several labels `Summaries`.
        """
        from aegis_opt.summary._file import load

        return load(path_of("path", path))

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        if same is True and isinstance(other, Summary):  # the order of the names counts too
            return [*self.attributes, *self.configurations] == [*other.attributes, *other.configurations]
        return same

    __hash__ = None  # type: ignore[assignment]

    def _card(self) -> Card:
        from aegis_opt.summary._card import card_of_tables

        return card_of_tables(self)

    def __repr__(self) -> str:
        return (
            f"Summary(label={self.label!r}, {self.n_records} records, {len(self.attributes)} attributes, "
            f"{len(self.configurations)} configurations)"
        )

    def _attribute(self, name: str) -> AttributeSummary:
        hint = "A summary holds the attributes that some configuration masks."
        return self.attributes[known_name("attribute", name, self.attributes, hint)]

    def _check_label(self) -> None:
        if self.label_kind not in KINDS:
            raise SummaryError(
                f"the label {shown(self.label)} is of unknown kind {shown(self.label_kind)}; "
                f"known: {', '.join(KINDS)}"
            )
        values, counts = self.label_values, self.label_counts
        check_label_mask_of(self.label_mask_of, self.configurations, len(self.label_masks))
        if values is not None and counts is not None:
            check_classes(self.label, values, counts)
        elif values is not None or counts is not None:
            raise SummaryError(
                f"the label {shown(self.label)} must have its classes with their records, or neither"
            )
        elif open_in := [name for name in self.configurations if name not in self.label_mask_of]:
            raise SummaryError(
                f"configuration {shown(open_in[0])} does not mask the label {shown(self.label)}, whose "
                "classes are missing"
            )
        elif not self.label_masks:
            raise SummaryError(f"the label {shown(self.label)} has neither classes nor masks")
        check_label_masks(self.label, self.label_masks, self.n_classes, counts)

    def _check_label_of_tables(self) -> None:
        """Refuse a configuration that releases tables of another masked label than its own."""
        if not self.label_masks:
            return  # no table has one
        for name, chosen in self.configurations.items():
            own = self.label_mask_of.get(name)
            for attribute, index in chosen.items():
                found = self.attributes[attribute].tables[index].label_mask
                if found != own:
                    raise SummaryError(
                        f"configuration {shown(name)} has {_label_mask_text(own)}, but its table of "
                        f"{shown(attribute)} has {_label_mask_text(found)}"
                    )

    def _check_attribute(self, name: str, attribute: AttributeSummary) -> None:
        where = f"attribute {shown(name)}"
        n, values, rows = attribute.n_values, attribute.values, attribute.histogram
        if attribute.kind not in KINDS:
            raise SummaryError(
                f"{where} is of unknown kind {shown(attribute.kind)}; known: {', '.join(KINDS)}"
            )
        check_n_values(n, self.n_records, where)
        if attribute.coarsening is not None and not n <= attribute.coarsening.distinct <= self.n_records:
            raise SummaryError(
                f"{where} was coarsened from {shown(attribute.coarsening.distinct)} values to {n}: the "
                f"former must be more, and at most the number of records, {self.n_records:,}"
            )
        if values is None and rows is not None:
            raise SummaryError(f"{where} has a histogram without values")
        if not attribute.tables:
            raise SummaryError(f"{where} has no masked tables")
        if values is not None and not len(values) == len(set(values)) == n:
            raise SummaryError(
                f"{where} has {n} values by its own account, but {len(values)} are listed; the values must "
                "be distinct"
            )
        try:
            check_order(attribute.order, values)
        except SummaryError as error:
            raise SummaryError(f"{where}: {error}") from error
        if rows is not None:
            if len(rows) != n:
                raise SummaryError(f"{where} has {n} values, but {len(rows)} have counts")
            if rows.sum() != self.n_records:
                raise SummaryError(
                    f"totals disagree: the histogram of {where} has {rows.sum()} records, "
                    f"the label has {self.n_records}"
                )
        for i, table in enumerate(attribute.tables):
            what = f"masked table {i} of {where}"
            totals = self._label_totals(table, what)
            shape = (table.n_groups, len(totals))
            if table.channel is not None:
                _check_noisy(table, n, shape, totals, what)
                continue
            if len(table.groups) != n or table.joint.shape != shape:
                raise SummaryError(
                    f"{what} has groups for {len(table.groups)} of {n} values and counts of shape "
                    f"{table.joint.shape}, where {shape} was expected"
                )
            if not numbers_all(table.groups, table.n_groups):
                raise SummaryError(f"{what}: the groups must be all of 0 to {table.n_groups - 1}")
            if not np.array_equal(table.joint.sum(axis=0), totals):
                raise SummaryError(
                    f"totals disagree: {what} has {shown(table.joint.sum(axis=0).tolist())} records per "
                    f"class, the label has {shown(totals.tolist())}"
                )
            if rows is not None and not np.array_equal(
                merge_rows(rows, table.groups), table.joint.sum(axis=1)
            ):
                raise SummaryError(f"totals disagree: {what} has other group totals than the histogram")

    def _label_totals(self, table: MaskedTable, what: str) -> IntArray:
        """Return the records of each class, or masked class, that a table has columns of."""
        index = table.label_mask
        if index is None and self.label_counts is not None:
            return self.label_counts
        if index is None or not is_whole(index) or not 0 <= index < len(self.label_masks):
            raise SummaryError(
                f"{what} has {_label_mask_text(index)}; the summary has {len(self.label_masks)} of them, "
                f"numbered from 0, and {'no ' if self.label_counts is None else ''}unmasked classes"
            )
        return self.label_masks[index].counts


def _label_mask_text(index: int | None) -> str:
    return "no label mask" if index is None else f"the label mask {shown(index)}"


def _check_noisy(
    table: MaskedTable, n_values: int, shape: tuple[int, int], label_counts: IntArray, what: str
) -> None:
    """Refuse a noisy table whose parts do not fit each other."""
    assert table.channel is not None
    if table.label_mask is not None:
        raise SummaryError(f"{what} is noisy and of a masked label, which do not go together")
    if table.channel.shape != (shape[0], n_values) or table.joint.shape != shape:
        raise SummaryError(
            f"{what} has a channel of shape {table.channel.shape} and counts of shape {table.joint.shape}, "
            f"where {(shape[0], n_values)} and {shape} were expected"
        )
    if not np.array_equal(table.joint.sum(axis=0), label_counts):
        raise SummaryError(
            f"totals disagree: {what} has {shown(table.joint.sum(axis=0).tolist())} records per class, the "
            f"label has {shown(label_counts.tolist())}"
        )
    if ((table.channel.max(axis=1) == 0) & (table.joint.sum(axis=1) > 0)).any():
        raise SummaryError(f"{what} has records of a masked value that its mask never gives")
