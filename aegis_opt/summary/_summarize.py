"""From a source to its summary: one scan, then every masked table by merging rows."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, overload

from aegis_opt._options import instance, one_of
from aegis_opt._progress import reporting
from aegis_opt.errors import InvalidOption, UnknownColumn
from aegis_opt.masks import Configurations, Mask
from aegis_opt.masks._configuration import as_configurations
from aegis_opt.masks._order import Arrangement, normal_orders
from aegis_opt.measures import Measure, MeasureName
from aegis_opt.privacy import PrivacyRule, Protection
from aegis_opt.scores import Score, ScoreName
from aegis_opt.sources import JointCounts, OnManyValues, Progress
from aegis_opt.sources._many_values import Policy
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._identifiers import is_nearly_unique
from aegis_opt.summary._masked_counts import (
    MaskedCounts,
    includes,
    listed_values,
    masked_tables,
    open_masked,
)
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._numbers import NumbersToShare
from aegis_opt.summary._privacy import RulesToShare
from aegis_opt.summary._protect import protected_summary, wanted_protection
from aegis_opt.summary._protected import ProtectedSummary
from aegis_opt.summary._scores import ScoreSummary

_LOG = logging.getLogger(__name__)

Share = Literal["tables", "scores", "both"]


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    share: Literal["tables", "both"] = "tables",
    scores: Iterable[ScoreName | Score] | None = None,
    measures: Iterable[MeasureName | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    rules: PrivacyRule | Iterable[PrivacyRule] | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: str | None = None,
    suppression: float = 0.0,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> Summary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    share: Literal["scores"],
    scores: Iterable[ScoreName | Score] | None = None,
    measures: Iterable[MeasureName | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    rules: PrivacyRule | Iterable[PrivacyRule] | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: str | None = None,
    suppression: float = 0.0,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> ScoreSummary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    share: Share,
    scores: Iterable[ScoreName | Score] | None = None,
    measures: Iterable[MeasureName | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    rules: PrivacyRule | Iterable[PrivacyRule] | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: str | None = None,
    suppression: float = 0.0,
    protect: Protection | None = None,
    epsilon: float | None = None,
    domains: Mapping[str, Iterable[Any]] | None = None,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> Summary | ScoreSummary | ProtectedSummary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    protect: Protection,
    domains: Mapping[str, Iterable[Any]] | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> ProtectedSummary: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    epsilon: float,
    domains: Mapping[str, Iterable[Any]] | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> ProtectedSummary: ...


def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    share: Share = "tables",
    scores: Iterable[ScoreName | Score] | None = None,
    measures: Iterable[MeasureName | Measure] | None = None,
    unmasked: bool = False,
    digits: int | None = None,
    explain: bool = False,
    rules: PrivacyRule | Iterable[PrivacyRule] | None = None,
    quasi_identifiers: Iterable[str] | None = None,
    sensitive: str | None = None,
    suppression: float = 0.0,
    protect: Protection | None = None,
    epsilon: float | None = None,
    domains: Mapping[str, Iterable[Any]] | None = None,
    max_values: int | None = None,
    on_many_values: OnManyValues | None = None,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> Summary | ScoreSummary | ProtectedSummary:
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
    values : bool or sequence of str
        Whether to share the values of the attributes without how often each occurs, or of which attributes.
        The same attributes are refused. Where the values of ordered numbers or dates are shared, an estimate
        knows how far they lie apart, and not only which comes first.
    order : mapping of str to list or str, optional
        The order of attributes, as in `Configurations`; it goes before that of the configurations, which goes
        before that of ordered categories of a pandas frame (of text) and an Enum of a polars frame. Numbers
        and dates of which nothing is said are ordered by value, all else is nominal. An order is part of the
        summary; its list of values is not.
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
    rules : PrivacyRule or sequence of PrivacyRule, optional
        Privacy rules to check, such as ``ao.privacy.KAnonymity(5)``. The summary then shares the level that
        each configuration reaches, for ``advise(require=...)``. The columns are read once more. An order of
        the sensitive attribute belongs in `order`.
    quasi_identifiers, sensitive, suppression
        What the rules are about, as of `aegis_opt.check_privacy`.
    protect : Protection, optional
        Protect every count before it is shared: ``ao.privacy.DifferentialPrivacy(epsilon=1.0)`` or
        ``ao.privacy.ControlledRounding(base=5)``. The table of the common refinement of all masks of an
        attribute is protected once, and all its masked tables follow from that one, so that they agree.
    epsilon : float, optional
        Short for ``protect=ao.privacy.DifferentialPrivacy(epsilon)``.
    domains : mapping of str to iterable, optional
        The values that a column may have, the label's too, with None where values may be missing: public
        knowledge, whichever of them occur. Noise needs one of every column. A listed order, a hierarchy or a
        mapping among its masks declares the domain of an attribute, too, and a boolean has one.
    max_values : int, optional
        Attributes with more distinct values are coarsened while they are counted. Masks then apply to the
        coarsened values, and estimates and bounds refer to the coarsened attribute, not to the raw one; a
        warning, `Summary.report` and the advice say which attributes and how. By default every value counts.
    on_many_values : {"coarsen", "error"}, optional
        Beyond `max_values`, refuse the attribute instead.
    memory : str, optional
        Limit of the memory of the scan, such as "1GB".
    progress : bool or callable, optional
        True shows how far the work is: a bar in a terminal or a notebook, else a line every few seconds. A
        function is called with (what, done, of how many) per column.

    Returns
    -------
    Summary, ScoreSummary for share="scores", or ProtectedSummary where counts are protected
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
    others = {"histograms": histograms is not False, "share": share != "tables"}
    others |= {"rules": rules is not None}
    others |= {"max_values": max_values is not None, "on_many_values": on_many_values is not None}
    protection = wanted_protection(protect, epsilon, domains, others)
    public = PublicDomains(domains, required=protection is not None and protection.needs_public_domains)
    listed = _Listed(_named("histograms", histograms), _named("values", values))
    orders = normal_orders(order)
    numbers = None
    if one_of("share", share, get_args(Share)) != "tables":
        numbers = NumbersToShare(scores, measures, unmasked, digits, explain)
    elif scores is not None or measures is not None or unmasked or digits is not None or explain:
        raise InvalidOption(
            "scores, measures, unmasked, digits and explain are about numbers that are shared: pass "
            "share='scores', or share='both'"
        )
    if share == "scores" and (orders or listed.values or listed.histograms):
        raise InvalidOption(
            "histograms, values and order are about tables, of which share='scores' shares none: leave them "
            "out, or pass share='both'"
        )
    policy = Policy.of(max_values, on_many_values)
    given = as_configurations(configurations)
    to_share = RulesToShare.of(rules, given, label, quasi_identifiers, sensitive, suppression, orders)
    if to_share is not None:
        if policy != Policy():
            raise InvalidOption(
                "privacy rules are checked with every value, as it is released: leave out max_values, or "
                "rules"
            )
        orders.pop(to_share.order_of_its_own or "", None)
    with (
        reporting(progress, "reading") as report,
        open_masked(source, label, given, policy, memory, report, orders, public) as counted,
    ):
        _check_names(counted, listed)
        if not public.required:  # else the values are public, not those of persons
            _check_identifiers(counted, listed)
        if protection is not None:
            return protected_summary(counted, protection, listed.values)
        privacy = None if to_share is None else to_share.shared(source, report)
        summary = summary_of(counted, listed.histograms, listed.values, kept_values=share != "scores")
        if privacy is not None:
            summary = replace(summary, privacy=privacy)
        _LOG.info(
            "summarised %d records: %d attributes, %d configurations",
            *(summary.n_records, len(summary.attributes), len(summary.configurations)),
        )
        if numbers is None:
            return summary
        if report is not None:
            report("scoring the configurations", 0, 1)
        held = counted.records.held(counted.counts.n_records)
        shared = numbers.of(summary, counted.counts, held, counted.arrangements)
        _LOG.info("scored %d configurations by %s", len(shared.configurations), ", ".join(shared.scores))
    if share == "scores":
        return replace(shared, privacy=privacy)
    return replace(summary, numbers=shared)


class _Listed(NamedTuple):
    """Of which attributes histograms and values are shared: of all, of none, or of those named."""

    histograms: bool | frozenset[str]
    values: bool | frozenset[str]


def _named(option: str, given: object) -> bool | frozenset[str]:
    """Check of which attributes something is shared."""
    if isinstance(given, bool):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        # the text "no" would count as yes, and share what was not to be shared
        raise InvalidOption(f"{option} must be True, False or a list of attributes, not {given!r}")
    return frozenset(instance(option, name, str, "list names of attributes") for name in given)


def _check_names(counted: MaskedCounts, listed: _Listed) -> None:
    """Refuse names that no attribute has."""
    attributes = counted.counts.attributes
    for option, names in listed._asdict().items():
        if isinstance(names, frozenset):
            for name in names - set(attributes):
                raise UnknownColumn("attribute", name, attributes, f"It was named in {option}.")


def _check_identifiers(counted: MaskedCounts, listed: _Listed) -> None:
    """Refuse to list the values of a nearly unique text column that is not named for it."""
    counts, masks = counted.counts, counted.masks
    for name, joint in counts.attributes.items():
        distinct = len(joint.domain.values)
        if joint.domain.kind != "string" or not is_nearly_unique(distinct, counts.n_records):
            continue
        what = f"the texts of {name!r} are nearly unique ({distinct:,} in {counts.n_records:,} records)"
        with_counts = listed.histograms is True
        if with_counts or (listed.values is True and not includes(listed.histograms, name)):
            option = "histograms" if with_counts else "values"
            raise InvalidOption(
                f"{what}, so its {option} may list persons: name the attributes whose {option} are to be "
                f"shared, {option}=[...], with {name!r} if that is wanted"
            )
        open_in = next((c for c, chosen in masks.items() if name not in chosen), None)
        if open_in is not None:
            raise InvalidOption(
                f"{what}, and configuration {open_in!r} does not mask it, so the summary would list them: "
                "mask it there, or name it with Identity() if that is wanted"
            )


def summary_of(
    counted: MaskedCounts,
    histograms: bool | Collection[str],
    values: bool | Collection[str] = False,
    kept_values: bool = True,
) -> Summary:
    """Merge the rows of the raw tables by every configuration's masks, and keep only what may be shared.

    `kept_values` tells whether a mask that was fitted names its values: its masked table does so, too.
    """
    counts, _, arrangements, _ = counted
    tables, chosen = masked_tables(counted, kept_values)
    attributes: dict[str, AttributeSummary] = {}
    for attribute, joint in counts.attributes.items():
        with_counts = includes(histograms, attribute)
        noisy = any(table.channel is not None for table in tables[attribute])  # it names them anyway
        with_values = with_counts or includes(values, attribute) or noisy
        attributes[attribute] = _attribute_summary(
            joint, tables[attribute], arrangements[attribute], with_counts, with_values
        )
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


def _attribute_summary(
    joint: JointCounts,
    tables: list[MaskedTable],
    arrangement: Arrangement,
    histograms: bool,
    values: bool,
) -> AttributeSummary:
    domain = joint.domain
    return AttributeSummary(
        kind=domain.kind,
        n_values=len(domain),
        values=listed_values(joint, arrangement) if values else None,
        histogram=arrangement.of(joint.table).sum(axis=1) if histograms else None,
        tables=tuple(tables),
        coarsening=joint.coarsening,
        order=arrangement.order,
    )
