"""From a source to counts and masked tables: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aegis_opt._options import instance
from aegis_opt._shown import shown
from aegis_opt.errors import ConfigurationError, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Identity, Mask, NoiseMask, group_attribute
from aegis_opt.masks._configuration import as_configurations, check_label_mask
from aegis_opt.masks._fit import fitted_attribute
from aegis_opt.masks._order import Arrangement, Rule, arrange, check_orders
from aegis_opt.sources import JointCounts, Progress, Scan, open_engine
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CountableRecords, IntArray
from aegis_opt.sources._scan import open_scan
from aegis_opt.sources._sql import OTHER
from aegis_opt.summary._count_arrays import merge_columns, merge_rows
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._label_masks import LabelMask
from aegis_opt.summary._model import MaskedTable


class MaskedCounts(NamedTuple):
    """Counts of the attributes that some configuration masks, and what becomes of them."""

    counts: Scan
    masks: dict[str, dict[str, Mask]]
    arrangements: dict[str, Arrangement]  # attribute -> the order of its rows
    records: CountableRecords  # open for more counts
    label_masks: dict[str, Mask]  # of the configurations that mask the label


@contextmanager
def open_masked(
    source: object,
    label: str | None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None,
    policy: Policy | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
    orders: Mapping[str, Rule] | None = None,
    public: PublicDomains | None = None,
) -> Iterator[MaskedCounts]:
    """Count the attributes that some configuration masks; masks and orders are checked."""
    given = as_configurations(configurations)
    check_orders(orders or {}, list(given.values()), "order")
    label = label if label is not None else given.label
    if label is None:
        raise ConfigurationError("no label: neither the call nor the configurations name one; pass label=...")
    instance("label", label, str, "give the name of a column")
    if label == "":
        raise ConfigurationError("the label is an empty name: give its column a name first, and pass that")
    masks, label_masks = _apart(given, label)
    if label in {**given.order, **(orders or {})}:
        raise ConfigurationError(
            f"an order of {label!r} is given, which is the label: tables need no order of its classes; "
            "remove it"
        )
    engine = open_engine(source, memory)  # once: finding the columns of many files takes time
    known = engine.names()
    if label not in known:
        raise UnknownColumn("column", label, known, "It was given as the label.")
    for name, chosen_masks in masks.items():
        for attribute in chosen_masks:
            if attribute not in known:
                raise UnknownColumn("column", attribute, known, f"Configuration {name!r} masks it.")
    masked = {attribute for chosen_masks in masks.values() for attribute in chosen_masks}
    chosen = [name for name in known if name in masked]
    with open_scan(engine, label, chosen, policy or Policy(), memory, progress) as (counts, records):
        declared = {**given.order, **(orders or {})}
        if public:
            counts = public.of(counts, list(masks.values()), declared)
        arrangements = _arrangements(counts, list(masks.values()), declared, engine.orders())
        yield MaskedCounts(counts, masks, arrangements, records, label_masks)


def _apart(configurations: Configurations, label: str) -> tuple[dict[str, dict[str, Mask]], dict[str, Mask]]:
    """Return the masks of the attributes, and those of the label."""
    masks, label_masks = {}, {}
    for name, configuration in configurations.items():
        check_label_mask(name, label, configuration)
        masks[name] = dict(configuration)
        own = masks[name].pop(label, Identity())
        if isinstance(own, NoiseMask):
            raise ConfigurationError(
                f"configuration {name!r} adds noise to the label {label!r}, which no summary describes: "
                "merge classes of the label instead, or leave it unmasked"
            )
        if own != Identity():
            label_masks[name] = own
    return masks, label_masks


def _arrangements(
    counts: Scan,
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


def masked_labels(
    counted: MaskedCounts, kept_values: bool = True
) -> tuple[tuple[LabelMask, ...], dict[str, int]]:
    """Group the classes by every distinct mask of the label; also return which one configurations have."""
    counts = counted.counts
    classes = JointCounts(counts.label_domain, counts.label_counts[:, None])
    indices: dict[Mask, int] = {}
    found: list[LabelMask] = []
    for name, mask in counted.label_masks.items():
        if mask not in indices:
            indices[mask] = len(found)
            table = _grouped(mask, counts.label, classes, name)
            if len(table.labels) < 2:
                raise MaskError(
                    f"configuration {name!r} leaves one class of the label {counts.label!r} "
                    f"({shown(table.labels[0])}), so nothing is left to predict: use a mask that keeps at "
                    "least two apart"
                )
            spec = (table.mask if kept_values else mask).to_spec()
            merged = merge_rows(counts.label_counts, table.groups)
            found.append(LabelMask(spec, table.groups, table.labels, merged))
    return tuple(found), {name: indices[mask] for name, mask in counted.label_masks.items()}


class _Grouped(NamedTuple):
    """A mask, fitted to the values, and what it makes of them."""

    mask: Mask
    groups: IntArray
    labels: tuple[Any, ...]


def _grouped(mask: Mask, column: str, joint: JointCounts, configuration: str) -> _Grouped:
    try:
        fitted = fitted_attribute(mask, column, joint)
        grouping = group_attribute(fitted, column, joint.domain)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error
    return _Grouped(fitted, grouping.groups, grouping.labels)


def masked_tables(
    counted: MaskedCounts,
    kept_values: bool = True,
    label_masks: Sequence[LabelMask] = (),
    label_mask_of: Mapping[str, int] | None = None,
) -> tuple[dict[str, list[MaskedTable]], dict[str, dict[str, int]]]:
    """Merge the rows of the raw tables by every mask; also return which table each configuration has.

    The columns are merged by the label mask of the configuration, so there is a table for each distinct pair
    of masks.
    """
    counts, masks, arrangements = counted.counts, counted.masks, counted.arrangements
    label_mask_of = label_mask_of or {}
    found: dict[str, list[MaskedTable]] = {}
    chosen: dict[str, dict[str, int]] = {name: {} for name in masks}
    for attribute, joint in counts.attributes.items():
        if not len(joint.domain.values):
            users = ", ".join(name for name, chosen_masks in masks.items() if attribute in chosen_masks)
            raise SourceError(
                f"column {attribute!r} has only missing values, so there is nothing to mask: remove it from "
                f"the configurations ({users})"
            )
        indices: dict[tuple[Mask, int | None], int] = {}
        merged: dict[Mask, MaskedTable] = {}
        tables: list[MaskedTable] = []
        for name, chosen_masks in masks.items():
            mask, own = chosen_masks.get(attribute, Identity()), label_mask_of.get(name)
            if (mask, own) not in indices:
                indices[mask, own] = len(tables)
                if mask not in merged:
                    merged[mask] = _masked_table(
                        mask, attribute, joint, arrangements[attribute], name, kept_values
                    )
                table = merged[mask]
                if own is not None:
                    joint_counts = merge_columns(table.joint, label_masks[own].groups)
                    table = replace(table, joint=joint_counts, label_mask=own)
                tables.append(table)
            chosen[name][attribute] = indices[mask, own]
        found[attribute] = tables
    return found, chosen


def _masked_table(
    mask: Mask,
    attribute: str,
    joint: JointCounts,
    arrangement: Arrangement,
    configuration: str,
    kept_values: bool,
) -> MaskedTable:
    fitted, groups, labels = _grouped(mask, attribute, joint, configuration)
    if kept_values and joint.coarsening is None:  # else what it names are no values of the source
        mask = fitted
    if arrangement.rows is not None:  # groups are numbered in the order of their first rows
        groups, first = pd.factorize(arrangement.of(groups))
        labels = tuple(labels[group] for group in first)
    return MaskedTable(mask.to_spec(), groups, labels, merge_rows(arrangement.of(joint.table), groups))


def listed_values(joint: JointCounts, arrangement: Arrangement) -> tuple[Any, ...]:
    """Return the values of an attribute in the order of the rows."""
    everything = joint.domain.to_list()
    return tuple(everything[place] for place in arrangement.of(np.arange(len(joint.domain))))


def includes(listed: bool | Collection[str], name: str) -> bool:
    """Whether something is shared of an attribute: of all, of none, or of those named."""
    return listed if isinstance(listed, bool) else name in listed
