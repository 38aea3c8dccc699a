"""From a source to its summary: one scan, then every masked table by merging rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args, overload

from aegis_opt._options import instance, one_of
from aegis_opt.errors import ConfigurationError, InvalidOption, MaskError, SourceError, UnknownColumn
from aegis_opt.masks import Configurations, Identity, Mask, group_attribute, load_configurations
from aegis_opt.measures import Measure
from aegis_opt.scores import Score
from aegis_opt.sources import JointCounts, OnManyValues, Progress, Scan, open_engine
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._pairs import CountableRecords
from aegis_opt.sources._scan import open_scan
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary, merge_rows
from aegis_opt.summary._numbers import NumbersToShare
from aegis_opt.summary._scores import ScoreSummary

Share = Literal["tables", "scores", "both"]

FEW_TEXTS = 50
"""Distinct texts up to which a column is no list of persons, however few the records."""


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    share: Literal["tables", "both"] = "tables",
    scores: Iterable[str | Score] | None = None,
    measures: Iterable[str | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Summary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    share: Literal["scores"],
    scores: Iterable[str | Score] | None = None,
    measures: Iterable[str | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> ScoreSummary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    share: Share,
    scores: Iterable[str | Score] | None = None,
    measures: Iterable[str | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Summary | ScoreSummary: ...


def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    share: Share = "tables",
    scores: Iterable[str | Score] | None = None,
    measures: Iterable[str | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Summary | ScoreSummary:
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
    histograms : bool or sequence of str
        Whether to share the values of the attributes and how often each occurs, or of which attributes. With
        True, an attribute whose texts are nearly unique, such as a name or an identifier, is refused: it must
        be named.
    share : {"tables", "scores", "both"}
        "tables" shares the masked joint tables. "scores" shares numbers in their place: no count and no value
        of any column, except those that masks name. "both" shares both.
    scores : sequence of str or Score, optional
        How all masked attributes together are scored (see `aegis_opt.scores`): by default "r2_gcv", "r2_cv".
    measures : sequence of str or Measure, optional
        The measures whose values of each masked attribute are shared in numbers; by default "mi", "mi_loo"
        and "g3".
    unmasked : bool
        Whether to share the values of the measures without a mask, too: deviations are then exact.
    digits : int, optional
        Significant digits of the numbers; many exact numbers can give counts away. By default all.
    explain : bool
        Whether to share what every single mask costs: `r2_gcv` of each configuration with one attribute
        unmasked, or under another of its masks, for `Advice.explain` and `Advice.suggest`.
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
    Summary, or ScoreSummary for share="scores"
        Equal masks of an attribute are stored once.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import Suppress
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> summary = summarize(people, "health", {"closed": {"age": Suppress()}})
    >>> summary.masked_table("closed", "age").joint.tolist(), summary.attributes["age"].histogram
    ([[2, 1]], None)
    """
    listed = _listed(histograms)
    numbers = None
    if one_of("share", share, get_args(Share)) != "tables":
        numbers = NumbersToShare(scores, measures, unmasked, digits, explain)
    elif scores is not None or measures is not None or unmasked or digits is not None or explain:
        raise InvalidOption(
            "scores, measures, unmasked, digits and explain are about numbers that are shared: pass "
            "share='scores', or share='both'"
        )
    policy = Policy.of(max_values, on_many_values)
    with open_masked(source, label, configurations, policy, memory, progress) as (counts, masks, records):
        _check_identifiers(counts, masks, listed)
        summary = summary_of(counts, masks, listed)
        if numbers is None:
            return summary
        held = records.held(counts.n_records)
        shared = numbers.of(summary, counts, held)
    return shared if share == "scores" else replace(summary, numbers=shared)


@contextmanager
def open_masked(
    source: object,
    label: str | None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None,
    policy: Policy | None = None,
    memory: str | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Scan, dict[str, dict[str, Mask]], CountableRecords]]:
    """Count the attributes that some configuration masks; give counts, checked masks and open records."""
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
    chosen = [name for name in known if name in masked]
    with open_scan(engine, label, chosen, policy or Policy(), memory, progress) as (counts, records):
        yield counts, masks, records


def _listed(histograms: object) -> bool | frozenset[str]:
    """Check of which attributes histograms are shared: of all, of none, or of those named."""
    if isinstance(histograms, bool):
        return histograms
    if isinstance(histograms, str) or not isinstance(histograms, Iterable):
        # the text "no" would count as yes, and share what was not to be shared
        raise InvalidOption(f"histograms must be True, False or a list of attributes, not {histograms!r}")
    return frozenset(instance("histograms", name, str, "list names of attributes") for name in histograms)


def _check_identifiers(
    counts: Scan, masks: Mapping[str, Mapping[str, Mask]], listed: bool | frozenset[str]
) -> None:
    """Refuse to list the values of a nearly unique text column that is not named for it."""
    if isinstance(listed, frozenset):
        for name in listed - set(counts.attributes):
            raise UnknownColumn("attribute", name, counts.attributes, "Its histogram was asked for.")
    for name, joint in counts.attributes.items():
        distinct = len(joint.domain.values)
        if joint.domain.kind != "string" or distinct <= max(FEW_TEXTS, counts.n_records / 2):
            continue
        what = f"the texts of {name!r} are nearly unique ({distinct:,} in {counts.n_records:,} records)"
        if listed is True:
            raise InvalidOption(
                f"{what}, so its histogram may list persons: name the attributes whose histograms are to be "
                f"shared, histograms=[...], with {name!r} if that is wanted"
            )
        open_in = next((c for c, chosen in masks.items() if name not in chosen), None)
        if open_in is not None:
            raise InvalidOption(
                f"{what}, and configuration {open_in!r} does not mask it, so the summary would list them: "
                "mask it there, or name it with Identity() if that is wanted"
            )


def summary_of(
    counts: Scan, masks: Mapping[str, Mapping[str, Mask]], histograms: bool | Collection[str]
) -> Summary:
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
        shared = histograms if isinstance(histograms, bool) else attribute in histograms
        attributes[attribute] = _attribute_summary(joint, tables, shared)
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
