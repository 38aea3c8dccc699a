"""Summaries as files: one JSON document, versioned, checked on loading."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from aegis_opt._channels import MOST_ENTRIES
from aegis_opt._files import atomic_path, decoded, read_bytes
from aegis_opt._json import parse_json
from aegis_opt._options import is_whole, path_of
from aegis_opt._shown import shown
from aegis_opt.domain import Kind
from aegis_opt.errors import SummaryError
from aegis_opt.privacy import AppliedProtection
from aegis_opt.problem._margin import IntArray
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._count_arrays import check_classes, check_n_values, whole_counts
from aegis_opt.summary._entries import WAY_OUT, check_spec, get_entry, read_configuration
from aegis_opt.summary._label_masks import read_label_masks
from aegis_opt.summary._labels import MOST_LABELS
from aegis_opt.summary._model import NO_GROUPS, AttributeSummary, MaskedTable, Summary
from aegis_opt.summary._noisy_tables import noisy_attributes, read_channel
from aegis_opt.summary._privacy import SharedPrivacy, privacy_document, read_privacy
from aegis_opt.summary._protected import ProtectedAttribute, ProtectedSummary, ProtectedTable
from aegis_opt.summary._score_file import read_scores, score_document
from aegis_opt.summary._scores import ScoreSummary
from aegis_opt.summary._summaries import Summaries

FORMAT = "aegis-opt-summary"
VERSION = 7
"""Version 1 had no scores. Version 2 had no orders, and no values without a histogram. Version 4 added
privacy figures, version 5 protected counts, version 6 masked labels, labels that are numbers and noisy
tables, version 7 several labels. The lowest version that holds what a file needs is written, so that older
readers read it."""

MOST_BYTES = 256 * 2**20
"""The size of a summary file, unpacked."""
MOST_ITEMS = 20_000_000
"""Commas and opening brackets in a summary file: entries, which take memory by far more than their text."""
MOST_VALUES = 5_000_000
"""Distinct values of an attribute of a summary file."""
MOST_CELLS = 10_000_000
"""Cells of all unmasked tables of a summary file: values times classes, summed over the attributes."""
MOST_GROUPS = 20_000_000
"""Values that all masked tables of a summary file group, together: runs say that in a few bytes."""
MOST_NOISE = MOST_ENTRIES
"""Entries of the channels of all noisy tables of a summary file: masked values times values, 128 MB. An entry
of Pram counts four times, as its columns are compared, and a table for 8,192 entries at least."""
_LEAST_NOISE = 8192

Table = TypeVar("Table")

_SMALLER = "coarsen attributes of many values with max_values, or leave them out, when it is made"
_INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf}  # as text: no number of JSON is infinite


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


AnyDocument = Summary | ScoreSummary | ProtectedSummary | Summaries
"""All that a file may hold."""


def save(summary: AnyDocument, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all; one that `load` would refuse for its size is not written."""
    compress = _is_compressed(path)
    text = summary_text(summary)
    data = text.encode("utf-8")
    items = sum(map(text.count, ",[{"))
    if len(data) > MOST_BYTES or items > MOST_ITEMS:
        raise SummaryError(
            f"{os.fspath(path)}: the summary takes {len(data):,} bytes and {items:,} commas and brackets; a "
            f"file holds at most {MOST_BYTES:,} and {MOST_ITEMS:,}: {_SMALLER}"
        )
    _check_parts(
        [_part_size(part) for part in (summary.values() if isinstance(summary, Summaries) else [summary])]
    )
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def summary_text(summary: AnyDocument) -> str:
    """Return the JSON text of a summary: what `save` writes, byte for byte."""
    return json.dumps(document_of(summary), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def load(path: str | os.PathLike[str]) -> AnyDocument:
    """Read a summary and check everything in it."""
    name, compressed = os.fspath(path), _is_compressed(path)
    if not os.path.exists(path):
        raise SummaryError(f"file not found: {name!r}; make it with summarize(...).save(path)")
    text = decoded(
        read_bytes(path, name, SummaryError, most=MOST_BYTES, unpack=compressed), name, SummaryError
    )
    try:
        document = parse_json(text, SummaryError, most_items=MOST_ITEMS, deep=True)
    except SummaryError as error:
        raise SummaryError(f"{name}: cannot be read ({error}): {WAY_OUT}") from error
    del text
    try:
        return summary_of_document(document)
    except SummaryError as error:
        raise SummaryError(f"{name}: {error}") from error


def _is_compressed(path: str | os.PathLike[str]) -> bool:
    name = str(path_of("path", path)).lower()
    if not name.endswith((".json", ".json.gz")):
        raise SummaryError(f"{shown(os.fspath(path))}: a summary file ends in .json or .json.gz")
    return name.endswith(".gz")


def document_of(summary: AnyDocument) -> dict[str, Any]:
    """Return a summary as JSON holds it; scores beside tables have a part of their own."""
    if isinstance(summary, Summaries):
        parts = [document_of(part) for part in summary.values()]
        return {"format": FORMAT, "version": 7, "summaries": parts}
    if isinstance(summary, ProtectedSummary):
        return _protected_document(summary)
    if isinstance(summary, ScoreSummary):
        newest = summary.label_is_number or summary.label_masks
        version = 6 if newest else 2 if summary.privacy is None else 4
        kind = {"kind": "number"} if summary.label_is_number else {}
        head = {"format": FORMAT, "version": version, "label": {"name": summary.label, **kind}}
        return head | score_document(summary) | _privacy_entry(summary.privacy)
    scores = {} if summary.numbers is None else {"numbers": score_document(summary.numbers)}
    return {
        "format": FORMAT,
        "version": _version(summary),
        "label": {
            "name": summary.label,
            "kind": summary.label_kind,
            "values": None if summary.label_values is None else _texts(summary.label_values),
            "counts": None if summary.label_counts is None else summary.label_counts.tolist(),
            **_label_masks_entry(summary),
        },
        "attributes": {
            name: {
                "kind": attribute.kind,
                "n_values": attribute.n_values,
                "values": None if attribute.values is None else _texts(attribute.values),
                "histogram": None if attribute.histogram is None else attribute.histogram.tolist(),
                "tables": [_table_entry(table) for table in attribute.tables],
                **_coarsening_entry(attribute.coarsening),
                **({} if attribute.has_default_order else {"order": attribute.order}),
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
        **scores,
        **_privacy_entry(summary.privacy),
    }


def _label_masks_entry(summary: Summary) -> dict[str, Any]:
    if not summary.label_masks:
        return {}
    masks = [
        {
            "mask": dict(mask.spec),
            "groups": _shorten(mask.groups),
            "labels": _texts(mask.labels),
            "counts": mask.counts.tolist(),
        }
        for mask in summary.label_masks
    ]
    return {
        "n_values": summary.n_classes,
        "masks": masks,
        "configurations": dict(summary.label_mask_of),
    }


def _table_entry(table: MaskedTable | ProtectedTable) -> dict[str, Any]:
    noisy = isinstance(table, MaskedTable) and table.channel is not None
    label_mask = table.label_mask if isinstance(table, MaskedTable) else None
    return {
        "mask": dict(table.spec),
        "groups": None if noisy else _shorten(table.groups),
        "labels": _texts(table.labels),
        "joint": table.joint.tolist(),
        **({} if label_mask is None else {"label_mask": label_mask}),
    }


def _protected_document(summary: ProtectedSummary) -> dict[str, Any]:
    """Return a protected summary as JSON holds it: every attribute has its counts by class of values, too."""
    return {
        "format": FORMAT,
        "version": 5,
        "protection": summary.protection.document(),
        "label": {
            "name": summary.label,
            "kind": summary.label_kind,
            "values": _texts(summary.label_values),
        },
        "attributes": {
            name: {
                "kind": attribute.kind,
                "n_values": attribute.n_values,
                "values": None if attribute.values is None else _texts(attribute.values),
                "classes": _shorten(attribute.classes),
                "counts": attribute.counts.tolist(),
                "tables": [_table_entry(table) for table in attribute.tables],
                "order": attribute.order,
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
    }


def _privacy_entry(privacy: SharedPrivacy | None) -> dict[str, Any]:
    return {} if privacy is None else {"privacy": privacy_document(privacy)}


def _version(summary: Summary) -> int:
    if summary.label_masks or noisy_attributes(summary):
        return 6
    if summary.privacy is not None:
        return 4
    return 3 if any(map(_needs_version_3, summary.attributes.values())) else 2


def _needs_version_3(attribute: AttributeSummary) -> bool:
    return not attribute.has_default_order or (attribute.values is not None and attribute.histogram is None)


def _coarsening_entry(coarsening: Coarsening | None) -> dict[str, Any]:
    if coarsening is None:
        return {}
    return {"coarsening": {"distinct": coarsening.distinct, "rule": coarsening.rule}}


def _texts(values: tuple[Any, ...]) -> list[Any]:
    """Return values as JSON holds them."""
    return [_text(v) if isinstance(v, dt.date | float) else v for v in values]  # a datetime is a date


def _text(value: dt.date | float) -> str | float:
    if isinstance(value, dt.date):
        return value.isoformat()
    return next((text for text, infinity in _INFINITIES.items() if value == infinity), value)


def _shorten(groups: IntArray) -> Any:
    """Write groups as {"runs": [[group, length], ...]} where that is shorter, as for ranges of values."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    if 3 * len(starts) > len(groups):
        return groups.tolist()
    lengths = np.diff(starts, append=len(groups))
    return {"runs": np.column_stack([groups[starts], lengths]).tolist()}


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


@dataclass(frozen=True)
class _PartSize:
    """What one summary of a file takes: values and tables of each attribute, classes, and noise."""

    attributes: Mapping[str, tuple[int, int]]
    classes: int
    label_masks: int = 0
    noise: int = 0


def _part_size(summary: Summary | ScoreSummary | ProtectedSummary) -> _PartSize:
    if isinstance(summary, ScoreSummary):
        return _PartSize({}, 0)
    sizes = {name: (a.n_values, len(a.tables)) for name, a in summary.attributes.items()}
    if isinstance(summary, Summary):
        noise = sum(
            _noise_entries(table.spec, table.n_groups, a.n_values)
            for a in summary.attributes.values()
            for table in a.tables
            if table.channel is not None
        )
        return _PartSize(sizes, summary.n_classes, len(summary.label_masks), noise)
    return _PartSize(sizes, len(summary.label_values))


def _noise_entries(spec: Mapping[str, Any], rows: int, columns: int) -> int:
    """Return what a noisy table counts for, see `MOST_NOISE`; wrong parts are found when it is read."""
    matrix = spec.get("matrix")
    if isinstance(matrix, list):
        rows, columns = 4 * len(matrix), max((len(row) for row in matrix if isinstance(row, list)), default=0)
    return max(rows * columns, _LEAST_NOISE)


def _written_noise(attribute: Any, where: str) -> int:
    """Return the entries of the channels of an attribute as a file has it."""
    n_values = get_entry(attribute, "n_values", int, where)
    noise = 0
    for i, table in enumerate(get_entry(attribute, "tables", list, where)):
        what = f"masked table {i} of {where}"
        if get_entry(table, "groups", (list, dict, type(None)), what) is None:
            labels = get_entry(table, "labels", list, what)
            noise += _noise_entries(get_entry(table, "mask", dict, what), len(labels), n_values)
    return noise


def _check_parts(parts: Sequence[_PartSize]) -> None:
    """Refuse what takes more memory than a file may ask for, all its labels together."""
    cells = groups = noise = 0
    for part in parts:
        for name, (values, _) in part.attributes.items():
            if values > MOST_VALUES:
                raise SummaryError(
                    f"attribute {shown(name)} has {shown(values)} values; at most {MOST_VALUES:,} are read: "
                    f"{_SMALLER}"
                )
        if part.classes > MOST_VALUES:
            raise SummaryError(
                f"the label has {part.classes:,} classes; at most {MOST_VALUES:,} are read: {_SMALLER}"
            )
        cells += part.classes * sum(values for values, _ in part.attributes.values())
        groups += sum(values * tables for values, tables in part.attributes.values())
        groups += part.classes * part.label_masks
        noise += part.noise
    if cells > MOST_CELLS:
        raise SummaryError(
            f"the attributes have {cells:,} values times classes; at most {MOST_CELLS:,} are read: {_SMALLER}"
        )
    if groups > MOST_GROUPS:
        raise SummaryError(
            f"the masked tables group {groups:,} values together; at most {MOST_GROUPS:,} are read: "
            f"{_SMALLER}"
        )
    if noise > MOST_NOISE:
        raise SummaryError(
            f"the channels of the noisy tables count for {noise:,} entries together; at most {MOST_NOISE:,} "
            "are read: cut values into groups before noise is added (Bucketize, Generalize), or take fewer "
            "masks with noise"
        )


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
        _check_parts([_part_size(each) for each in found.values()])
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
    noise = sum(_written_noise(entry, f"attribute {shown(name)}") for name, entry in attributes.items())
    _check_parts([_PartSize(sizes, n_classes, len(label_masks), noise)])
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


def _masked_values(written: list[Any], what: str, kind: str) -> tuple[Any, ...]:
    """Read the masked values of values of some kind."""
    if kind == "real":  # values that stay what they are
        written = [_INFINITIES.get(v, v) if isinstance(v, str) else v for v in written]
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
    _check_parts([_PartSize(sizes, len(label_values))])
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
                value = _INFINITIES.get(value, value)
            if value is not None and (type(value) not in types):
                raise ValueError
            values.append(None if value is None else parse(value))
        except (ValueError, OverflowError) as error:
            raise SummaryError(
                f"{where} has the value {shown(value)}, which is not of kind {kind}"
            ) from error
    return tuple(values)
