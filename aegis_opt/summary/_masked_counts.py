"""From a source to counts and masked tables: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from aegis_opt._options import instance
from aegis_opt.errors import ConfigurationError, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Grouping, Identity, Mask, NoiseMask, group_attribute
from aegis_opt.masks._configuration import as_configurations
from aegis_opt.masks._fit import fitted_attribute
from aegis_opt.masks._order import Arrangement, Rule, arrange, check_orders
from aegis_opt.sources import JointCounts, Progress, Scan, open_engine
from aegis_opt.sources._counts import JointMoments, NumberScan
from aegis_opt.sources._label_view import LabelBinsOption, LabelView
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CountableRecords
from aegis_opt.sources._scan import open_scans
from aegis_opt.sources._sql import OTHER
from aegis_opt.summary._count_arrays import merge_rows
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._model import NO_GROUPS, MaskedTable
from aegis_opt.summary._noisy_tables import draw_noisy_table

J = TypeVar("J", bound=JointCounts | JointMoments)
T = TypeVar("T")


class MaskedCounts(NamedTuple):
    """Counts of the attributes that some configuration masks, and what becomes of them."""

    counts: Scan
    masks: dict[str, dict[str, Mask]]
    arrangements: dict[str, Arrangement]  # attribute -> the order of its rows
    records: CountableRecords  # open for more counts


class MaskedMoments(NamedTuple):
    """Sums of a label that is a number for the attributes that some configuration masks."""

    counts: NumberScan
    masks: dict[str, dict[str, Mask]]
    records: CountableRecords  # open for more counts


@contextmanager
def open_masked(
    source: object,
    label: str | None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None,
    label_bins: LabelBinsOption = None,
) -> Iterator[MaskedCounts]:
    """Count the attributes that some configuration masks, with a label of classes."""
    given = as_configurations(configurations)
    views = {label_of(label, given): LabelView.of(label_bins)}
    with open_labels(source, views, given) as [counted]:
        yield cast("MaskedCounts", counted)  # what the view asks for


def label_of(label: str | None, given: Configurations) -> str:
    """Return the label that a call or else its configurations name."""
    label = label if label is not None else given.label
    if label is None:
        raise ConfigurationError("no label: neither the call nor the configurations name one; pass label=...")
    instance("label", label, str, "give the name of a column")
    if label == "":
        raise ConfigurationError("the label is an empty name: give its column a name first, and pass that")
    return label


@contextmanager
def open_labels(
    source: object,
    labels: Mapping[str, LabelView],
    given: Configurations,
    policy: Policy | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
    orders: Mapping[str, Rule] | None = None,
    public: PublicDomains | None = None,
) -> Iterator[list[MaskedCounts | MaskedMoments]]:
    """Count the attributes that some configuration masks, once for all labels; masks are checked."""
    check_orders(orders or {}, list(given.values()), "order")
    masks = {name: dict(configuration) for name, configuration in given.items()}
    engine = open_engine(source, memory)  # once: finding the columns of many files takes time
    known = engine.names()
    for label in labels:
        if label not in known:
            raise UnknownColumn("column", label, known, "It was given as the label.")
    for name, chosen_masks in masks.items():
        for attribute in chosen_masks:
            if attribute in labels:
                raise ConfigurationError(
                    f"configuration {name!r} masks the label {attribute!r}: remove that entry, "
                    "or pass another label"
                )
            if attribute not in known:
                raise UnknownColumn("column", attribute, known, f"Configuration {name!r} masks it.")
    masked = {attribute for chosen_masks in masks.values() for attribute in chosen_masks}
    chosen = [name for name in known if name in masked]
    with open_scans(engine, labels, chosen, policy or Policy(), memory, progress) as scanned:
        declared = {**given.order, **(orders or {})}
        found: list[MaskedCounts | MaskedMoments] = []
        for counts, records in scanned:
            if isinstance(counts, Scan) and public:
                counts = public.of(counts, list(masks.values()), declared)
            arrangements = _arrangements(counts, list(masks.values()), declared, engine.orders())
            if isinstance(counts, Scan):
                found.append(MaskedCounts(counts, masks, arrangements, records))
            else:  # the order of rows matters for tables only
                found.append(MaskedMoments(counts, masks, records))
        yield found


def _arrangements(
    counts: Scan | NumberScan,
    masks: Sequence[Mapping[str, Mask]],
    declared: Mapping[str, Rule],
    typed: Mapping[str, Rule],
) -> dict[str, Arrangement]:
    """Order the values of each attribute as declared, or as the type of its column says."""
    found = {}
    for name, joint in counts.attributes.items():
        texts_merged = joint.coarsening is not None and joint.domain.kind == "string"
        rule = declared.get(name, None if texts_merged else typed.get(name))
        found[name] = arrange(name, joint.domain, rule, masks, OTHER if texts_merged else None)
    return found


def masked_tables(
    counted: MaskedCounts, kept_values: bool = True
) -> tuple[dict[str, list[MaskedTable]], dict[str, dict[str, int]]]:
    """Merge the rows of the raw tables by every mask; also return which table each configuration has."""
    arrangements = counted.arrangements

    def table(mask: Mask, attribute: str, joint: JointCounts, configuration: str) -> MaskedTable:
        return _masked_table(mask, attribute, joint, arrangements[attribute], configuration, kept_values)

    return each_mask(counted.counts.attributes, counted.masks, table)


def each_mask(
    attributes: Mapping[str, J],
    masks: Mapping[str, Mapping[str, Mask]],
    make: Callable[[Mask, str, J, str], T],
) -> tuple[dict[str, list[T]], dict[str, dict[str, int]]]:
    """Make something of every distinct mask of each attribute; also return which each configuration has."""
    found: dict[str, list[T]] = {}
    chosen: dict[str, dict[str, int]] = {name: {} for name in masks}
    for attribute, joint in attributes.items():
        if not len(joint.domain.values):
            users = ", ".join(name for name, chosen_masks in masks.items() if attribute in chosen_masks)
            raise SourceError(
                f"column {attribute!r} has only missing values, so there is nothing to mask: remove it from "
                f"the configurations ({users})"
            )
        indices: dict[Mask, int] = {}
        made: list[T] = []
        for name, chosen_masks in masks.items():
            mask = chosen_masks.get(attribute, Identity())
            if mask not in indices:
                indices[mask] = len(made)
                made.append(make(mask, attribute, joint, name))
            chosen[name][attribute] = indices[mask]
        found[attribute] = made
    return found, chosen


def _masked_table(
    mask: Mask,
    attribute: str,
    joint: JointCounts,
    arrangement: Arrangement,
    configuration: str,
    kept_values: bool,
) -> MaskedTable:
    fitted = _fitted(mask, attribute, joint, configuration)
    if isinstance(fitted, NoiseMask):
        try:
            spec, channel, noisy = draw_noisy_table(fitted, attribute, joint, arrangement)
        except MaskError as error:
            raise MaskError(f"configuration {configuration!r}, {error}") from error
        return MaskedTable(spec, NO_GROUPS, channel.labels, noisy, channel.matrix)
    fitted, grouping = fitted_groups(fitted, attribute, joint, configuration)
    if kept_values and joint.coarsening is None:  # else what it names are no values of the source
        mask = fitted
    groups, labels = grouping.groups, grouping.labels
    if arrangement.rows is not None:  # groups are numbered in the order of their first rows
        groups, first = pd.factorize(arrangement.of(groups))
        labels = tuple(labels[group] for group in first)
    return MaskedTable(mask.to_spec(), groups, labels, merge_rows(arrangement.of(joint.table), groups))


def _fitted(mask: Mask, attribute: str, joint: JointCounts | JointMoments, configuration: str) -> Mask:
    try:
        return fitted_attribute(mask, attribute, joint)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error


def fitted_groups(
    mask: Mask, attribute: str, joint: JointCounts | JointMoments, configuration: str
) -> tuple[Mask, Grouping]:
    """Fit a mask to an attribute, and group its values; an error names the configuration."""
    fitted = _fitted(mask, attribute, joint, configuration)
    try:
        return fitted, group_attribute(fitted, attribute, joint.domain)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error


def listed_values(joint: JointCounts, arrangement: Arrangement) -> tuple[Any, ...]:
    """Return the values of an attribute in the order of the rows."""
    everything = joint.domain.to_list()
    return tuple(everything[place] for place in arrangement.of(np.arange(len(joint.domain))))


def includes(listed: bool | Collection[str], name: str) -> bool:
    """Whether something is shared of an attribute: of all, of none, or of those named."""
    return listed if isinstance(listed, bool) else name in listed
