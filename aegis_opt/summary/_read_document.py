"""Summaries read from what JSON holds: all is checked, and no memory is taken before its size is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.domain import Kind
from aegis_opt.errors import SummaryError
from aegis_opt.privacy import AppliedProtection
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._count_arrays import check_classes, check_n_values, whole_counts
from aegis_opt.summary._document import FORMAT, INFINITIES, VERSION, AnyDocument
from aegis_opt.summary._entries import WAY_OUT, check_spec, get_entry, read_configuration
from aegis_opt.summary._label_masks import read_label_masks
from aegis_opt.summary._labels import MOST_LABELS
from aegis_opt.summary._model import NO_GROUPS, AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._noisy_tables import read_channel
from aegis_opt.summary._privacy import read_privacy
from aegis_opt.summary._protected import ProtectedAttribute, ProtectedSummary, ProtectedTable
from aegis_opt.summary._score_file import read_scores
from aegis_opt.summary._scores import ScoreSummary
from aegis_opt.summary._sizes import MOST_VALUES, PartSize, check_parts, part_size, written_noise
from aegis_opt.summary._summaries import Summaries

Table = TypeVar("Table")


def _integer(value: int) -> int:
    if not -(2**63) <= value < 2**63:  # as in columns
        raise ValueError
    return value


def _moment(text: str) -> dt.datetime:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:  # columns have none
        raise ValueError
    return moment


# Kind -> (JSON types that hold a value, how to read it back)
_PARSERS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "integer": ((int,), _integer),
    "real": ((int, float), float),
    "boolean": ((bool,), bool),
    "string": ((str,), str),
    "date": ((str,), dt.date.fromisoformat),
    "datetime": ((str,), _moment),
}


def summary_of_document(document: Any) -> AnyDocument:
    """Read what `document_of` wrote; everything is checked."""
    if isinstance(document, dict) and "summaries" in document:
        return _summaries(document)
    return one_summary_of_document(document)


def _summaries(document: dict[str, Any]) -> Summaries:
    """Read summaries of several labels; what they take together is checked with each."""
    version = _version_of(document)
    if version < 7:
        raise SummaryError(f"version {version} has no summaries of several labels: {WAY_OUT}")
    parts = get_entry(document, "summaries", list, "the file")
    if len(parts) > MOST_LABELS:
        raise SummaryError(f"the file has {len(parts):,} labels; at most {MOST_LABELS} are read")
    found: dict[str, Summary | ScoreSummary] = {}
    for i, part in enumerate(parts):
        try:
            summary = one_summary_of_document(part)
        except SummaryError as error:
            raise SummaryError(f"summary {i}: {error}") from error
        if isinstance(summary, ProtectedSummary):
            raise SummaryError(
                f"summary {i} is protected, which only the summary of one label can be: {WAY_OUT}"
            )
        if summary.label in found:
            raise SummaryError(f"the label {shown(summary.label)} has two summaries: {WAY_OUT}")
        found[summary.label] = summary
        check_parts([part_size(each) for each in found.values()])
    return Summaries(found)


def _version_of(document: Any) -> int:
    """Return the version of a file that is a summary and can be read."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SummaryError(f'is no summary (its "format" is not "{FORMAT}"): choose another file')
    version: int = get_entry(document, "version", int, "the file")
    if version > VERSION:
        raise SummaryError(
            f"version {shown(version)} was made by a newer aegis-opt: upgrade aegis-opt to read it"
        )
    if version < 1:
        raise SummaryError(f"there is no version {shown(version)}: {WAY_OUT}")
    return version


def one_summary_of_document(document: Any) -> Summary | ScoreSummary | ProtectedSummary:
    """Read the summary of one label."""
    version = _version_of(document)
    label = get_entry(document, "label", dict, "the file")
    if "scores" in document:
        name = get_entry(label, "name", str, "the label")
        found = read_scores(document, name, label_is_number=_is_number(label, version))
        return (
            found if "privacy" not in document else replace(found, privacy=read_privacy(document["privacy"]))
        )
    if "protection" in document:
        return _protected_summary(document, label)
    label_kind = get_entry(label, "kind", str, "the label")
    name = get_entry(label, "name", str, "the label")
    hidden = "masks" in label and label.get("values") is None and label.get("counts") is None
    counts, values = None, None
    if not hidden:
        counts = whole_counts(get_entry(label, "counts", list, "the label"), "label counts", ndim=1)
        values = _values(get_entry(label, "values", list, "the label"), label_kind, "the label")
        check_classes(name, values, counts)
    masked_values = partial(_masked_values, kind=label_kind)
    label_masks = read_label_masks(label, _expand, masked_values, MOST_VALUES) if "masks" in label else ()
    if counts is None and not label_masks:
        raise SummaryError(f"the label {shown(name)} has neither classes nor masks: {WAY_OUT}")
    attributes = get_entry(document, "attributes", dict, "the file")
    sizes = {name: _size(entry, f"attribute {shown(name)}") for name, entry in attributes.items()}
    n_classes = len(label_masks[0].groups if counts is None else counts)
    records = int((label_masks[0].counts if counts is None else counts).sum())
    for attribute, (n_values, _) in sizes.items():
        check_n_values(n_values, records, f"attribute {shown(attribute)}")
    noise = sum(written_noise(entry, f"attribute {shown(name)}") for name, entry in attributes.items())
    check_parts([PartSize(sizes, n_classes, len(label_masks), noise)])
    return Summary(
        label=name,
        label_kind=label_kind,
        label_values=values,
        label_counts=counts,
        attributes={
            name: _attribute(entry, f"attribute {shown(name)}", version) for name, entry in attributes.items()
        },
        configurations={
            name: read_configuration(chosen, name)
            for name, chosen in get_entry(document, "configurations", dict, "the file").items()
        },
        numbers=read_scores(document["numbers"], name) if "numbers" in document else None,
        privacy=read_privacy(document["privacy"]) if "privacy" in document else None,
        label_masks=label_masks,
        label_mask_of=get_entry(label, "configurations", dict, "the label") if label_masks else {},
    )


def _is_number(label: Any, version: int) -> bool:
    """Whether the label of scores is a number; nothing is said where it is one of some classes."""
    if "kind" not in label:
        return False
    kind = get_entry(label, "kind", str, "the label")
    if kind != "number":
        raise SummaryError(
            f"the label of scores is of unknown kind {shown(kind)}: it is a number, or nothing is said"
        )
    if version < 6:
        raise SummaryError(f"version {version} has no labels that are numbers: {WAY_OUT}")
    return True


def _size(entry: Any, where: str) -> tuple[int, int]:
    """Return how many values an attribute has by its own account, and how many masked tables."""
    return get_entry(entry, "n_values", int, where), len(get_entry(entry, "tables", list, where))


def _attribute(entry: Any, where: str, version: int) -> AttributeSummary:
    kind = get_entry(entry, "kind", str, where)
    n_values = get_entry(entry, "n_values", int, where)
    values = get_entry(entry, "values", (list, type(None)), where)
    histogram = get_entry(entry, "histogram", (list, type(None)), where)
    if version < 3 and values is not None and histogram is None:
        raise SummaryError(f"{where} has values, but its histogram is lost: {WAY_OUT}")
    order = get_entry(entry, "order", str, where) if version >= 3 and "order" in entry else None
    if values is not None and len(values) != n_values:  # the sizes of channels rest on it
        raise SummaryError(f"{where} has {n_values} values by its own account, but {len(values)} are listed")
    listed = None if values is None else _values(values, kind, where)
    tables = [
        table if written.get("label_mask") is None else replace(table, label_mask=written["label_mask"])
        for table, written in zip(
            _tables(entry, where, kind, n_values, MaskedTable, listed), entry["tables"], strict=True
        )
    ]
    try:
        return AttributeSummary(
            kind=kind,
            n_values=n_values,
            values=listed,
            histogram=histogram,
            tables=tuple(tables),
            coarsening=_coarsening(entry["coarsening"], where) if "coarsening" in entry else None,
            order=order,  # checked with the whole
        )
    except SummaryError as error:
        raise SummaryError(f"{where}: {error}") from error


def _tables(
    entry: Any,
    where: str,
    kind: str,
    n_values: int,
    make: Callable[..., Table],
    values: tuple[Any, ...] | None = None,
) -> list[Table]:
    """Read the masked tables of an attribute; one without groups is noisy, which takes its values."""
    tables = []
    for i, table in enumerate(get_entry(entry, "tables", list, where)):
        what = f"masked table {i} of {where}"
        labels = _masked_values(get_entry(table, "labels", list, what), what, kind)
        spec = get_entry(table, "mask", dict, what)
        check_spec(spec, what)
        noisy = make is MaskedTable and get_entry(table, "groups", (list, dict, type(None)), what) is None
        joint = get_entry(table, "joint", list, what)
        try:
            if noisy:
                channel = read_channel(spec, cast("Kind", kind), values, labels, what)
                tables.append(make(spec, NO_GROUPS, labels, joint, channel=channel))
                continue
            groups = _expand(get_entry(table, "groups", (list, dict), what), what, n_values)
            tables.append(make(spec, groups, labels, joint))
        except SummaryError as error:
            raise SummaryError(f"{what}: {error}") from error
    return tables


def _expand(written: Any, where: str, n_values: int) -> Any:
    """Return the group of each value; runs are checked before anything of their length is made."""
    if not isinstance(written, dict):
        return written
    runs = get_entry(written, "runs", list, where)
    expected = f"the runs in {where} must be pairs of group and length for {n_values} values"
    for run in runs:
        if not isinstance(run, list) or len(run) != 2 or not all(map(is_whole, run)):
            raise SummaryError(f"{expected}: {shown(run)} is none")
        if not (0 <= run[0] < n_values and 1 <= run[1] <= n_values):
            raise SummaryError(f"{expected}: {shown(run)} is beyond them")
    if (length := sum(length for _, length in runs)) != n_values:
        raise SummaryError(f"{expected}: their lengths add up to {length}")
    groups, lengths = np.array(runs, dtype=np.int64).T
    return np.repeat(groups, lengths)


def _masked_values(written: list[Any], what: str, kind: str) -> tuple[Any, ...]:
    """Read the masked values of values of some kind."""
    if kind == "real":  # values that stay what they are
        written = [INFINITIES.get(v, v) if isinstance(v, str) else v for v in written]
    if not all(isinstance(v, str | int | float | type(None)) for v in written):
        raise SummaryError(f"the labels of {what} must be plain values")
    return tuple(written)


def _protected_summary(document: Any, label: Any) -> ProtectedSummary:
    """Read a summary with protected counts."""
    for part in ("numbers", "privacy"):
        if part in document:
            raise SummaryError(
                f"a protected summary cannot have {part!r}, which are not protected: remove it"
            )
    protection = AppliedProtection.read(document["protection"])
    label_kind = get_entry(label, "kind", str, "the label")
    label_values = _values(get_entry(label, "values", list, "the label"), label_kind, "the label")
    attributes = get_entry(document, "attributes", dict, "the file")
    sizes = {name: _size(entry, f"attribute {shown(name)}") for name, entry in attributes.items()}
    check_parts([PartSize(sizes, len(label_values))])
    return ProtectedSummary(
        label=get_entry(label, "name", str, "the label"),
        label_kind=label_kind,
        label_values=label_values,
        attributes={
            name: _protected_attribute(entry, f"attribute {shown(name)}")
            for name, entry in attributes.items()
        },
        configurations={
            name: read_configuration(chosen, name)
            for name, chosen in get_entry(document, "configurations", dict, "the file").items()
        },
        protection=protection,
    )


def _protected_attribute(entry: Any, where: str) -> ProtectedAttribute:
    kind = get_entry(entry, "kind", str, where)
    n_values = get_entry(entry, "n_values", int, where)
    values = get_entry(entry, "values", (list, type(None)), where)
    classes = _expand(get_entry(entry, "classes", (list, dict), where), f"the classes of {where}", n_values)
    tables = _tables(entry, where, kind, n_values, ProtectedTable)
    try:
        return ProtectedAttribute(
            kind=kind,
            n_values=n_values,
            values=None if values is None else _values(values, kind, where),
            classes=classes,
            counts=get_entry(entry, "counts", list, where),
            tables=tuple(tables),
            order=get_entry(entry, "order", str, where),  # checked with the whole
        )
    except SummaryError as error:
        raise SummaryError(f"{where}: {error}") from error


def _coarsening(entry: Any, where: str) -> Coarsening:
    what = f"the coarsening of {where}"
    return Coarsening(get_entry(entry, "distinct", int, what), get_entry(entry, "rule", str, what))


def _values(written: list[Any], kind: str, where: str) -> tuple[Any, ...]:
    if kind not in _PARSERS:
        raise SummaryError(f"{where} is of unknown kind {shown(kind)}; known: {', '.join(_PARSERS)}")
    types, parse = _PARSERS[kind]
    values: list[Any] = []
    for value in written:
        try:
            if kind == "real" and isinstance(value, str):
                value = INFINITIES.get(value, value)
            if value is not None and (type(value) not in types):
                raise ValueError
            values.append(None if value is None else parse(value))
        except (ValueError, OverflowError) as error:
            raise SummaryError(
                f"{where} has the value {shown(value)}, which is not of kind {kind}"
            ) from error
    return tuple(values)
