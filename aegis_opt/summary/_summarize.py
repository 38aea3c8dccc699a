"""From a source to its summary: one scan, then every masked table by merging rows."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, overload

from aegis_opt._options import flag, instance, one_of
from aegis_opt._progress import reporting
from aegis_opt.errors import InvalidOption, UnknownColumn
from aegis_opt.masks import Configurations, Mask
from aegis_opt.masks._configuration import as_configurations
from aegis_opt.masks._order import Arrangement, normal_orders
from aegis_opt.measures import Measure, MeasureName
from aegis_opt.privacy import PrivacyRule, Protection
from aegis_opt.scores import Score, ScoreName
from aegis_opt.sources import JointCounts, OnManyValues, Progress
from aegis_opt.sources._label_view import LabelBinsOption, LabelKind, LabelView
from aegis_opt.sources._many_values import Policy
from aegis_opt.sources._queried_records import held_all
from aegis_opt.summary._domains import PublicDomains
from aegis_opt.summary._identifiers import is_nearly_unique
from aegis_opt.summary._labels import ManyBins, ManyKinds, views_of
from aegis_opt.summary._masked_counts import (
    MaskedCounts,
    MaskedMoments,
    includes,
    listed_values,
    masked_labels,
    masked_tables,
    open_labels,
)
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary, coarsening_text
from aegis_opt.summary._noisy_tables import refuse_noise
from aegis_opt.summary._numbers import NumbersToShare
from aegis_opt.summary._privacy import RulesToShare, SharedPrivacy
from aegis_opt.summary._protect import protected_summary, wanted_protection
from aegis_opt.summary._protected import ProtectedSummary
from aegis_opt.summary._scores import ScoreSummary
from aegis_opt.summary._summaries import Summaries

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
    label_bins: LabelBinsOption = None,
    label_kind: Literal["class"] | None = None,
    share: Literal["tables", "both"] | None = None,
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
    label_bins: LabelBinsOption = None,
    label_kind: LabelKind | None = None,
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
    label: list[str] | tuple[str, ...],
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    label_bins: ManyBins = None,
    label_kind: ManyKinds = None,
    share: Share | None = None,
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
) -> Summaries: ...


@overload
def summarize(
    source: object,
    label: str | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    *,
    label_kind: Literal["number"],
    share: Literal["scores"] | None = None,
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
    label_bins: LabelBinsOption = None,
    label_kind: LabelKind | None = None,
    share: Share | None,
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
    label: str | list[str] | tuple[str, ...] | None = None,
    configurations: Configurations | Mapping[str, Mapping[str, Mask]] | str | os.PathLike[str] | None = None,
    histograms: bool | Iterable[str] = False,
    *,
    values: bool | Iterable[str] = False,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    label_bins: ManyBins = None,
    label_kind: ManyKinds = None,
    share: Share | None = None,
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
) -> Summary | ScoreSummary | ProtectedSummary | Summaries:
    """Scan a source once and keep only what may be shared.

    The joint table of masked value and label is a merge of rows of the raw one, J(g, y) = sum of F(a, y) over
    the values a that the mask sends to g, so one scan gives the tables of every configuration.

    Parameters
    ----------
    source : path, DataFrame, Arrow table or DuckDB relation
        See `aegis_opt.sources.scan`. A Spark DataFrame is counted on its cluster.
    label : str or list of str, optional
        Column of the label; by default the one that the configurations name. Texts, booleans and at most 20
        whole numbers are classes. Of any other label, `label_bins` makes classes, or `label_kind` says that
        it is a number. Several labels are counted together in one scan; none of them is an attribute of
        another.
    configurations : Configurations, mapping or path
        The masking configurations. A column that none of them masks is not read and not in the summary. A
        column that some mask and others do not is released as it is by the latter (`Summary.unmasked`). A
        configuration may mask the label, too: its tables then have the masked classes as columns. Where all
        of them do, the classes themselves and their counts are not shared.
    histograms : bool or sequence of str
        Whether to share the values of the attributes and how often each occurs, or of which attributes. With
        True, an attribute whose texts are nearly unique, such as a name or an identifier, is refused: it must
        be named. True, or the name of the label, also shares the classes of a label that every configuration
        masks.
    values : bool or sequence of str
        Whether to share the values of the attributes without how often each occurs, or of which attributes.
        The same attributes are refused. Where the values of ordered numbers or dates are shared, an estimate
        knows how far they lie apart, and not only which comes first.
    order : mapping of str to list or str, optional
        The order of attributes, as in `Configurations`; it goes before that of the configurations, which goes
        before that of ordered categories of a pandas frame (of text) and an Enum of a polars frame. Numbers
        and dates of which nothing is said are ordered by value, all else is nominal. An order is part of the
        summary; its list of values is not.
    label_bins : int, sequence of float or mapping, optional
        Make classes of a label of numbers: so many quantiles, or between edges. Edges e_1 < ... < e_m give
        the classes ``<e_1``, ``[e_1, e_2)``, ..., ``>=e_m``; none of them may be empty. Edge j of q quantiles
        divides record floor(jN/q) from the next of the N records in ascending order, by a number of as few
        digits as do; where equal numbers make quantiles the same, an error names those that differ. A missing
        label is a class of its own.
    label_kind : {"class", "number"} or mapping, optional
        "number" takes the label as a number to be predicted, not as one of some classes, which is the
        default. Scores and measures are then about the variance of the number, and numbers are shared, never
        tables: sums of small groups would give single records away. No label may be missing or infinite.
        Of several labels, this and `label_bins` may be mappings from a label to what holds for it.
    share : {"tables", "scores", "both"}, optional
        "tables", the default for classes, shares the masked joint tables. "scores", the default for a number,
        shares numbers in their place: no count and no value of any column, except those that masks name.
        "both" shares both.
    scores : sequence of str or Score, optional
        How all masked attributes together are scored (see `aegis_opt.scores`): by default "r2_gcv", "r2_cv".
    measures : sequence of str or Measure, optional
        The measures whose values of each masked attribute are shared in numbers; by default "mi", "mi_loo"
        and "g3", and for a number "eta2".
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
    Summary, ScoreSummary for share="scores" and for a number, or ProtectedSummary where counts are protected
        Equal masks of an attribute are stored once. `Summaries`, one summary for each label, where `label` is
        a list.

    Examples
    --------
    >>> import pandas as pd
    >>> from aegis_opt.masks import Identity, Suppress
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> summary = summarize(people, "health", {"closed": {"age": Suppress()}})
    >>> summary.masked_table("closed", "age").joint.tolist(), summary.attributes["age"].histogram
    ([[2, 1]], None)

    A number is predicted by the means of the masked values.

    >>> people["income"] = [0.5, 2.75, 1.0]
    >>> shared = summarize(people, "income", {"open": {"age": Identity()}}, label_kind="number")
    >>> round(shared.attributes["age"].measures["eta2"][0], 4)
    0.9552
    """
    given = as_configurations(configurations)
    views = views_of(label, given, label_bins, label_kind)
    several = isinstance(label, list | tuple)
    shares = {name: _checked_share(share, view) for name, view in views.items()}
    others = {"histograms": histograms is not False, "share": set(shares.values()) != {"tables"}}
    others |= {"rules": rules is not None, "label_bins": label_bins is not None, "several labels": several}
    others |= {"max_values": max_values is not None, "on_many_values": on_many_values is not None}
    protection = wanted_protection(protect, epsilon, domains, others)
    public = PublicDomains(domains, required=protection is not None and protection.needs_public_domains)
    listed = _Listed(_named("histograms", histograms), _named("values", values))
    orders = normal_orders(order)
    numbers = {
        name: NumbersToShare(scores, measures, unmasked, digits, explain, views[name].kind)
        for name, shared in shares.items()
        if shared != "tables"
    }
    asked = flag("unmasked", unmasked), flag("explain", explain)
    if not numbers and (scores is not None or measures is not None or digits is not None or any(asked)):
        raise InvalidOption(
            "scores, measures, unmasked, digits and explain are about numbers that are shared: pass "
            "share='scores', or share='both'"
        )
    if set(shares.values()) == {"scores"} and (orders or listed.values or listed.histograms):
        raise InvalidOption(
            "histograms, values and order are about tables, of which share='scores' shares none: leave them "
            "out, or pass share='both'"
        )
    policy = Policy.of(max_values, on_many_values)
    alone = None if isinstance(label, list | tuple) else label
    to_share = RulesToShare.of(rules, given, alone, quasi_identifiers, sensitive, suppression, orders)
    if to_share is not None:
        if policy != Policy():
            raise InvalidOption(
                "privacy rules are checked with every value, as it is released: leave out max_values, or "
                "rules"
            )
        orders.pop(to_share.order_of_its_own or "", None)
    with (
        reporting(progress, "reading") as report,
        open_labels(source, views, given, policy, memory, report, orders, public) as counted,
    ):
        _check_names(counted, listed)
        if not public.required:  # else the values are public, not those of persons
            _check_identifiers(counted[0], listed)
        if protection is not None and isinstance(counted[0], MaskedCounts):
            return protected_summary(counted[0], protection, listed.values)
        privacy = None if to_share is None else to_share.shared(source, report)
        found = _summarised(counted, shares, listed, numbers, privacy, report)
    if several:
        for one in found.values():
            if isinstance(one, Summary):
                refuse_noise(one, "several labels are summarised together for")
    return Summaries(found) if several else next(iter(found.values()))


def _summarised(
    counted: Sequence[MaskedCounts | MaskedMoments],
    shares: Mapping[str, Share],
    listed: _Listed,
    numbers: Mapping[str, NumbersToShare],
    privacy: SharedPrivacy | None,
    report: Progress | None,
) -> dict[str, Summary | ScoreSummary]:
    """Make the summary of each label of what was counted."""
    counts = counted[0].counts
    for name, joint in counts.attributes.items():
        if joint.coarsening is not None:
            warnings.warn(f"{name!r} was {coarsening_text(joint.coarsening)}", stacklevel=3)
    _LOG.info(
        "summarised %d records: %d attributes, %d configurations",
        *(counts.n_records, len(counts.attributes), len(counted[0].masks)),
    )
    found: dict[str, Summary | ScoreSummary] = {}
    summaries = {}
    for each in counted:
        if isinstance(each, MaskedCounts):
            label = each.counts.label
            kept = shares[label] != "scores"
            summary = summary_of(each, listed.histograms, listed.values, kept_values=kept)
            found[label] = summaries[label] = replace(summary, privacy=privacy)
    if not numbers:
        return found
    if report is not None:
        report("scoring the configurations", 0, 1)
    scored = [each for each in counted if each.counts.label in numbers]
    held = held_all([each.records for each in scored], counts.n_records)
    for each, records in zip(scored, held, strict=True):
        label = each.counts.label
        if isinstance(each, MaskedMoments):
            shared = numbers[label].of_number(each, records)
        else:
            shared = numbers[label].of(summaries[label], each.counts, records, each.arrangements)
        _LOG.info("scored %d configurations by %s", len(shared.configurations), ", ".join(shared.scores))
        if shares[label] == "scores":
            found[label] = replace(shared, privacy=privacy)
        else:
            found[label] = replace(summaries[label], numbers=shared)
    return {label: found[label] for label in shares}


def _checked_share(share: object, view: LabelView) -> Share:
    """Return what is shared of a label: by default tables of classes, and numbers of a number."""
    if share is None:
        return "scores" if view.kind == "number" else "tables"
    chosen: Share = one_of("share", share, get_args(Share))
    if view.kind == "number" and chosen != "scores":
        raise InvalidOption(
            f"share={chosen!r} would share, of a label that is a number, sums of groups, and those of small "
            "groups give single records away: leave it out, or make classes of the label, label_bins=4"
        )
    return chosen


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


def _check_names(counted: Sequence[MaskedCounts | MaskedMoments], listed: _Listed) -> None:
    """Refuse names that no attribute has; a label that is masked counts as one, with its histogram."""
    attributes = counted[0].counts.attributes
    masked = {c.counts.label for c in counted if isinstance(c, MaskedCounts) and c.label_masks}
    for option, names in listed._asdict().items():
        if isinstance(names, frozenset):
            for name in names - set(attributes) - (masked if option == "histograms" else set()):
                raise UnknownColumn("attribute", name, attributes, f"It was named in {option}.")


def _check_identifiers(counted: MaskedCounts | MaskedMoments, listed: _Listed) -> None:
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
    counts, arrangements = counted.counts, counted.arrangements
    label_masks, label_mask_of = masked_labels(counted, kept_values)
    tables, chosen = masked_tables(counted, kept_values, label_masks, label_mask_of)
    attributes: dict[str, AttributeSummary] = {}
    for attribute, joint in counts.attributes.items():
        with_counts = includes(histograms, attribute)
        noisy = any(table.channel is not None for table in tables[attribute])  # it names them anyway
        with_values = with_counts or includes(values, attribute) or noisy
        attributes[attribute] = _attribute_summary(
            joint, tables[attribute], arrangements[attribute], with_counts, with_values
        )
    released = len(label_mask_of) < len(chosen) or includes(histograms, counts.label)
    return Summary(
        label=counts.label,
        label_kind=counts.label_domain.kind,
        label_values=tuple(counts.label_domain.to_list()) if released else None,
        label_counts=counts.label_counts if released else None,
        attributes=attributes,
        configurations=chosen,
        label_masks=label_masks,
        label_mask_of=label_mask_of,
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
