"""From a source to counts and masked tables: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import pandas as pd

from aegis_opt._shown import shown
from aegis_opt.errors import ConfigurationError, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Grouping, Identity, Mask, NoiseMask, group_attribute
from aegis_opt.masks._configuration import as_configurations, check_label_mask
from aegis_opt.masks._fit import fitted_attribute
from aegis_opt.masks._order import Arrangement, Rule, arrange, check_orders
from aegis_opt.sources import JointCounts, Progress, Scan, open_engine
from aegis_opt.sources._counts import JointMoments, NumberScan
from aegis_opt.sources._label_view import LabelBinsOption, LabelView
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CountableRecords
from aegis_opt.sources._scan import open_scans
from aegis_opt.sources._sql import OTHER
from aegis_opt.summary._count_arrays import merge_columns, merge_rows
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._label_masks import LabelMask
from aegis_opt.summary._labels import label_of
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
    label_masks: dict[str, Mask]  # of the configurations that mask the label


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
    masks, label_masks = _apart(given, list(labels))
    for label in labels:
        if label in {**given.order, **(orders or {})}:
            raise ConfigurationError(
                f"an order of {label!r} is given, which is a label: tables need no order of its classes; "
                "remove it"
            )
        _check_label_view(label, labels[label], label_masks[label])
    engine = open_engine(source, memory)  # once: finding the columns of many files takes time
    known = engine.names()
    for label in labels:
        if label not in known:
            raise UnknownColumn("column", label, known, "It was given as the label.")
    for name, chosen_masks in masks.items():
        for attribute in chosen_masks:
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
                found.append(MaskedCounts(counts, masks, arrangements, records, label_masks[counts.label]))
            else:  # the order of rows matters for tables only
                found.append(MaskedMoments(counts, masks, records))
        yield found


def _apart(
    configurations: Configurations, labels: Sequence[str]
) -> tuple[dict[str, dict[str, Mask]], dict[str, dict[str, Mask]]]:
    """Return the masks of the attributes, and for each label the masks of the configurations that mask it."""
    masks: dict[str, dict[str, Mask]] = {}
    label_masks: dict[str, dict[str, Mask]] = {label: {} for label in labels}
    for name, configuration in configurations.items():
        masks[name] = dict(configuration)
        for label in labels:
            check_label_mask(name, label, configuration)
            own = masks[name].pop(label, Identity())
            if isinstance(own, NoiseMask):
                raise ConfigurationError(
                    f"configuration {name!r} adds noise to the label {label!r}, which no summary describes: "
                    "merge classes of the label instead, or leave it unmasked"
                )
            if own != Identity():
                label_masks[label][name] = own
    return masks, label_masks


def _check_label_view(label: str, view: LabelView, masks: Mapping[str, Mask]) -> None:
    """Refuse masks of a label that is read as a number, or whose ranges are its classes."""
    if masks and view != LabelView():
        option = "label_kind='number'" if view.kind == "number" else "label_bins"
        raise ConfigurationError(
            f"configuration {next(iter(masks))!r} masks the label {label!r}, and {option} reads it in "
            f"another way: leave out the mask, or {option}"
        )


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
            fitted, grouping = fitted_groups(mask, counts.label, classes, name)
            if grouping.n_groups < 2:
                raise MaskError(
                    f"configuration {name!r} leaves one class of the label {counts.label!r} "
                    f"({shown(grouping.labels[0])}), so nothing is left to predict: use a mask that keeps at "
                    "least two apart"
                )
            spec = (fitted if kept_values else mask).to_spec()
            merged = merge_rows(counts.label_counts, grouping.groups)
            found.append(LabelMask(spec, grouping.groups, grouping.labels, merged))
    return tuple(found), {name: indices[mask] for name, mask in counted.label_masks.items()}


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
    if label_mask_of:
        _refuse_noise_with_masked_labels(counted)
    arrangements = counted.arrangements

    def table(mask: Mask, attribute: str, joint: JointCounts, configuration: str) -> MaskedTable:
        return _masked_table(mask, attribute, joint, arrangements[attribute], configuration, kept_values)

    found, chosen = each_mask(counted.counts.attributes, counted.masks, table)
    if not label_mask_of:
        return found, chosen
    return with_masked_labels(found, chosen, label_masks, label_mask_of)


def _refuse_noise_with_masked_labels(counted: MaskedCounts) -> None:
    for name, masks in counted.masks.items():
        for attribute, mask in masks.items():
            if isinstance(mask, NoiseMask):
                raise MaskError(
                    f"configuration {name!r} adds noise to {attribute!r}, and configuration "
                    f"{next(iter(counted.label_masks))!r} masks the label: summarise "
                    "configurations with noise apart from those that mask the label"
                )


def with_masked_labels(
    tables: Mapping[str, list[MaskedTable]],
    configurations: Mapping[str, Mapping[str, int]],
    label_masks: Sequence[LabelMask],
    label_mask_of: Mapping[str, int],
) -> tuple[dict[str, list[MaskedTable]], dict[str, dict[str, int]]]:
    """Merge the columns of tables by the label mask of each configuration that has them."""
    found: dict[str, list[MaskedTable]] = {}
    chosen: dict[str, dict[str, int]] = {name: {} for name in configurations}
    for attribute, own in tables.items():
        places: dict[tuple[int, int | None], int] = {}
        found[attribute] = []
        for name, indices in configurations.items():
            index, label_mask = indices[attribute], label_mask_of.get(name)
            if (index, label_mask) not in places:
                places[index, label_mask] = len(found[attribute])
                table = own[index]
                if label_mask is not None:
                    joint = merge_columns(table.joint, label_masks[label_mask].groups)
                    table = replace(table, joint=joint, label_mask=label_mask)
                found[attribute].append(table)
            chosen[name][attribute] = places[index, label_mask]
    return found, chosen


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
        return MaskedTable(spec, NO_GROUPS, channel.labels, noisy, channel=channel.matrix)
    fitted, grouping = fitted_groups(fitted, attribute, joint, configuration)
    groups, labels = grouping.groups, grouping.labels
    if kept_values and joint.coarsening is None:  # else what it names are no values of the source
        mask = fitted
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
