"""From a source to counts and masked tables: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aegis_opt._options import instance
from aegis_opt.errors import ConfigurationError, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Grouping, Identity, Mask, NoiseMask, group_attribute
from aegis_opt.masks._configuration import as_configurations
from aegis_opt.masks._fit import fitted_attribute
from aegis_opt.masks._order import Arrangement, Rule, arrange, check_orders
from aegis_opt.sources import JointCounts, Progress, Scan, open_engine
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CountableRecords
from aegis_opt.sources._scan import open_scan
from aegis_opt.sources._sql import OTHER
from aegis_opt.summary._count_arrays import merge_rows
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._model import NO_GROUPS, MaskedTable
from aegis_opt.summary._noisy_tables import draw_noisy_table


class MaskedCounts(NamedTuple):
    """Counts of the attributes that some configuration masks, and what becomes of them."""

    counts: Scan
    masks: dict[str, dict[str, Mask]]
    arrangements: dict[str, Arrangement]  # attribute -> the order of its rows
    records: CountableRecords  # open for more counts


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
    masks = {name: dict(configuration) for name, configuration in given.items()}
    engine = open_engine(source, memory)  # once: finding the columns of many files takes time
    known = engine.names()
    if label not in known:
        raise UnknownColumn("column", label, known, "It was given as the label.")
    for name, chosen_masks in masks.items():
        for attribute in chosen_masks:
            if attribute == label:
                raise ConfigurationError(
                    f"configuration {name!r} masks the label {label!r}: remove that entry, "
                    "or pass another label"
                )
            if attribute not in known:
                raise UnknownColumn("column", attribute, known, f"Configuration {name!r} masks it.")
    masked = {attribute for chosen_masks in masks.values() for attribute in chosen_masks}
    chosen = [name for name in known if name in masked]
    with open_scan(engine, label, chosen, policy or Policy(), memory, progress) as (counts, records):
        declared = {**given.order, **(orders or {})}
        if public:
            counts = public.of(counts, list(masks.values()), declared)
        arrangements = _arrangements(counts, list(masks.values()), declared, engine.orders())
        yield MaskedCounts(counts, masks, arrangements, records)


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


def masked_tables(
    counted: MaskedCounts, kept_values: bool = True
) -> tuple[dict[str, list[MaskedTable]], dict[str, dict[str, int]]]:
    """Merge the rows of the raw tables by every mask; also return which table each configuration has."""
    counts, masks, arrangements, _ = counted
    found: dict[str, list[MaskedTable]] = {}
    chosen: dict[str, dict[str, int]] = {name: {} for name in masks}
    for attribute, joint in counts.attributes.items():
        if not len(joint.domain.values):
            users = ", ".join(name for name, chosen_masks in masks.items() if attribute in chosen_masks)
            raise SourceError(
                f"column {attribute!r} has only missing values, so there is nothing to mask: remove it from "
                f"the configurations ({users})"
            )
        indices: dict[Mask, int] = {}
        tables: list[MaskedTable] = []
        for name, chosen_masks in masks.items():
            mask = chosen_masks.get(attribute, Identity())
            if mask not in indices:
                indices[mask] = len(tables)
                table = _masked_table(mask, attribute, joint, arrangements[attribute], name, kept_values)
                tables.append(table)
            chosen[name][attribute] = indices[mask]
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
    try:
        fitted = fitted_attribute(mask, attribute, joint)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error
    if isinstance(fitted, NoiseMask):
        try:
            spec, channel, noisy = draw_noisy_table(fitted, attribute, joint, arrangement)
        except MaskError as error:
            raise MaskError(f"configuration {configuration!r}, {error}") from error
        return MaskedTable(spec, NO_GROUPS, channel.labels, noisy, channel.matrix)
    grouping = _grouping(fitted, attribute, joint, configuration)
    if kept_values and joint.coarsening is None:  # else what it names are no values of the source
        mask = fitted
    groups, labels = grouping.groups, grouping.labels
    if arrangement.rows is not None:  # groups are numbered in the order of their first rows
        groups, first = pd.factorize(arrangement.of(groups))
        labels = tuple(labels[group] for group in first)
    return MaskedTable(mask.to_spec(), groups, labels, merge_rows(arrangement.of(joint.table), groups))


def _grouping(mask: Mask, attribute: str, joint: JointCounts, configuration: str) -> Grouping:
    try:
        return group_attribute(mask, attribute, joint.domain)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error


def listed_values(joint: JointCounts, arrangement: Arrangement) -> tuple[Any, ...]:
    """Return the values of an attribute in the order of the rows."""
    everything = joint.domain.to_list()
    return tuple(everything[place] for place in arrangement.of(np.arange(len(joint.domain))))


def includes(listed: bool | Collection[str], name: str) -> bool:
    """Whether something is shared of an attribute: of all, of none, or of those named."""
    return listed if isinstance(listed, bool) else name in listed
