"""From a source to its summary: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from aegis_opt._options import flag, instance
from aegis_opt.errors import ConfigurationError, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Identity, Mask, group_attribute, load_configurations
from aegis_opt.sources import JointCounts, OnManyValues, Progress, Scan, open_engine, scan
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary, merge_rows


def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool = True,
    *,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Scan a source once and keep only what may be shared.

    The joint table of masked value and label is a merge of rows of the raw one, J(g, y) = sum of F(a, y) over
    the values a that the mask sends to g, so one scan gives the tables of every configuration.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        See `aegis_opt.sources.scan`. A Spark DataFrame is counted on its cluster.
    label : str, optional
        Column of the class label; by default the one that the configurations name.
    configurations : Configurations, mapping or path
        The masking configurations. A column that none of them masks is not read and not in the summary. A
        column that some mask and others do not is released as it is by the latter (`Summary.unmasked`).
    histograms : bool
        Whether to share how often each value of an attribute occurs.
    max_values : int, optional
        Attributes with more distinct values are coarsened while they are counted. Masks then apply to the
        coarsened values, and estimates and bounds refer to the coarsened attribute, not to the raw one; a
        warning, `Summary.report` and the advice say which attributes and how. By default every value counts.
    on_many_values : {"coarsen", "error"}, optional
        Beyond `max_values`, refuse the attribute instead.
    memory : str, optional
        Limit of the memory of the scan, such as "1GB".
    progress : callable, optional
        Called with (what, done, of how many) per column.

    Returns
    -------
    Summary
        Equal masks of an attribute are stored once.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import Suppress
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> summary = summarize(people, "health", {"closed": {"age": Suppress()}}, histograms=False)
    >>> summary.masked_table("closed", "age").joint.tolist(), summary.attributes["age"].histogram
    ([[2, 1]], None)
    """
    flag("histograms", histograms)  # the text "no" would count as yes, and share what was not to be shared
    counts, masks = scan_masked(
        source,
        label,
        configurations,
        max_values=max_values,
        on_many_values=on_many_values,
        memory=memory,
        progress=progress,
    )
    return summary_of(counts, masks, histograms)


def scan_masked(
    source: object,
    label: str | None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None,
    *,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> tuple[Scan, dict[str, dict[str, Mask]]]:
    """Count the attributes that some configuration masks; return the counts and the checked masks."""
    given = _configurations(configurations)
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
    counts = scan(
        engine,
        label,
        [name for name in known if name in masked],
        max_values=max_values,
        on_many_values=on_many_values,
        memory=memory,
        progress=progress,
    )
    return counts, masks


def summary_of(counts: Scan, masks: Mapping[str, Mapping[str, Mask]], histograms: bool) -> Summary:
    """Merge the rows of the raw tables by every configuration's masks, and keep only what may be shared."""
    attributes: dict[str, AttributeSummary] = {}
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
                tables.append(_masked_table(mask, attribute, joint, name))
            chosen[name][attribute] = indices[mask]
        attributes[attribute] = _attribute_summary(joint, tables, histograms)
        if joint.coarsening is not None:
            warning = attributes[attribute].coarsening_warning
            warnings.warn(f"{attribute!r} was {warning}", stacklevel=3)
    return Summary(
        label=counts.label,
        label_kind=counts.label_domain.kind,
        label_values=tuple(counts.label_domain.to_list()),
        label_counts=counts.label_counts,
        attributes=attributes,
        configurations=chosen,
    )


def _configurations(given: object) -> Configurations:
    if isinstance(given, str | os.PathLike):
        given = load_configurations(Path(given))
    if not isinstance(given, Configurations):
        if not isinstance(given, Mapping):
            raise ConfigurationError(
                "no configurations: pass Configurations, a mapping {name: {attribute: mask}}, or the path "
                f"of a configuration file, not {type(given).__name__}"
            )
        given = Configurations(given)
    if not given:
        raise ConfigurationError("no configurations: name at least one, e.g. {'all': {'age': Suppress()}}")
    return given


def _masked_table(mask: Mask, attribute: str, joint: JointCounts, configuration: str) -> MaskedTable:
    try:
        grouping = group_attribute(mask, attribute, joint.domain)
    except MaskError as error:
        raise MaskError(f"configuration {configuration!r}, {error}") from error
    return MaskedTable(
        mask.to_spec(), grouping.groups, grouping.labels, merge_rows(joint.table, grouping.groups)
    )


def _attribute_summary(joint: JointCounts, tables: list[MaskedTable], histograms: bool) -> AttributeSummary:
    domain = joint.domain
    return AttributeSummary(
        kind=domain.kind,
        n_values=len(domain),
        values=tuple(domain.to_list()) if histograms else None,
        histogram=joint.table.sum(axis=1) if histograms else None,
        tables=tuple(tables),
        coarsening=joint.coarsening,
    )
