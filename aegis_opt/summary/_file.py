"""Summaries as files: one JSON document, versioned, checked on loading."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aegis_opt._files import atomic_path, decoded, read_bytes
from aegis_opt._json import check_nested, parse_json
from aegis_opt._options import is_whole
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.problem._margin import IntArray
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._model import (
    AttributeSummary,
    MaskedTable,
    Summary,
    check_classes,
    check_n_values,
    whole_counts,
)

FORMAT = "aegis-opt-summary"
VERSION = 1

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

_SMALLER = "coarsen attributes of many values with max_values, or leave them out, when it is made"
_WAY_OUT = "get a whole copy of the file, or make it again with summarize"
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


def save(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all; one that `load` would refuse for its size is not written."""
    compress = _is_compressed(path)
    text = json.dumps(_document(summary), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = text.encode("utf-8")
    items = sum(map(text.count, ",[{"))
    if len(data) > MOST_BYTES or items > MOST_ITEMS:
        raise SummaryError(
            f"{os.fspath(path)}: the summary takes {len(data):,} bytes and {items:,} commas and brackets; a "
            f"file holds at most {MOST_BYTES:,} and {MOST_ITEMS:,}: {_SMALLER}"
        )
    sizes = {name: (a.n_values, len(a.tables)) for name, a in summary.attributes.items()}
    _check_sizes(sizes, len(summary.label_values))
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def load(path: str | os.PathLike[str]) -> Summary:
    """Read a summary and check everything in it."""
    name, compressed = os.fspath(path), _is_compressed(path)
    if not Path(path).exists():
        raise SummaryError(f"file not found: {name!r}; make it with summarize(...).save(path)")
    text = decoded(
        read_bytes(path, name, SummaryError, most=MOST_BYTES, unpack=compressed), name, SummaryError
    )
    try:
        document = parse_json(text, SummaryError, most_items=MOST_ITEMS, deep=True)
    except SummaryError as error:
        raise SummaryError(f"{name}: cannot be read ({error}): {_WAY_OUT}") from error
    del text
    try:
        return _summary(document)
    except SummaryError as error:
        raise SummaryError(f"{name}: {error}") from error


def _is_compressed(path: str | os.PathLike[str]) -> bool:
    name = os.fspath(path).lower()
    if not name.endswith((".json", ".json.gz")):
        raise SummaryError(f"{os.fspath(path)}: a summary file ends in .json or .json.gz")
    return name.endswith(".gz")


def _document(summary: Summary) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "label": {
            "name": summary.label,
            "kind": summary.label_kind,
            "values": _texts(summary.label_values),
            "counts": summary.label_counts.tolist(),
        },
        "attributes": {
            name: {
                "kind": attribute.kind,
                "n_values": attribute.n_values,
                "values": None if attribute.values is None else _texts(attribute.values),
                "histogram": None if attribute.histogram is None else attribute.histogram.tolist(),
                "tables": [
                    {
                        "mask": dict(table.spec),
                        "groups": _shorten(table.groups),
                        "labels": _texts(table.labels),
                        "joint": table.joint.tolist(),
                    }
                    for table in attribute.tables
                ],
                **_coarsening_entry(attribute.coarsening),
            }
            for name, attribute in summary.attributes.items()
        },
        "configurations": {name: dict(chosen) for name, chosen in summary.configurations.items()},
    }


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
    runs = _get(written, "runs", list, where)
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


def _check_sizes(attributes: Mapping[str, tuple[int, int]], classes: int) -> None:
    """Refuse what takes more memory than a file may ask for, given values and tables of each attribute."""
    for name, (values, _) in attributes.items():
        if values > MOST_VALUES:
            raise SummaryError(
                f"attribute {shown(name)} has {shown(values)} values; at most {MOST_VALUES:,} are read: "
                f"{_SMALLER}"
            )
    cells = classes * sum(values for values, _ in attributes.values())
    if cells > MOST_CELLS:
        raise SummaryError(
            f"the attributes have {cells:,} values times classes; at most {MOST_CELLS:,} are read: {_SMALLER}"
        )
    groups = sum(values * tables for values, tables in attributes.values())
    if groups > MOST_GROUPS:
        raise SummaryError(
            f"the masked tables group {groups:,} values together; at most {MOST_GROUPS:,} are read: "
            f"{_SMALLER}"
        )


def _get(mapping: Any, key: str, types: type | tuple[type, ...], where: str) -> Any:
    """Return an entry of the right JSON type, or say what is wrong and where."""
    if not isinstance(mapping, dict) or key not in mapping:
        raise SummaryError(f"{where} has no {key!r}: {_WAY_OUT}")
    value = mapping[key]
    types = types if isinstance(types, tuple) else (types,)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise SummaryError(f"{key!r} in {where} has the wrong type {type(value).__name__}: {_WAY_OUT}")
    return value


def _summary(document: Any) -> Summary:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SummaryError(f'is no summary (its "format" is not "{FORMAT}"): choose another file')
    version = _get(document, "version", int, "the file")
    if version > VERSION:
        raise SummaryError(
            f"version {shown(version)} was made by a newer aegis-opt: upgrade aegis-opt to read it"
        )
    if version < 1:
        raise SummaryError(f"there is no version {shown(version)}: {_WAY_OUT}")
    label = _get(document, "label", dict, "the file")
    label_kind = _get(label, "kind", str, "the label")
    counts = whole_counts(_get(label, "counts", list, "the label"), "label counts", ndim=1)
    values = _values(_get(label, "values", list, "the label"), label_kind, "the label")
    name = _get(label, "name", str, "the label")
    check_classes(name, values, counts)
    attributes = _get(document, "attributes", dict, "the file")
    sizes = {name: _size(entry, f"attribute {shown(name)}") for name, entry in attributes.items()}
    records = int(counts.sum())
    for attribute, (n_values, _) in sizes.items():
        check_n_values(n_values, records, f"attribute {shown(attribute)}")
    _check_sizes(sizes, len(counts))
    return Summary(
        label=name,
        label_kind=label_kind,
        label_values=values,
        label_counts=counts,
        attributes={
            name: _attribute(entry, f"attribute {shown(name)}") for name, entry in attributes.items()
        },
        configurations={
            name: _configuration(chosen, name)
            for name, chosen in _get(document, "configurations", dict, "the file").items()
        },
    )


def _size(entry: Any, where: str) -> tuple[int, int]:
    """Return how many values an attribute has by its own account, and how many masked tables."""
    return _get(entry, "n_values", int, where), len(_get(entry, "tables", list, where))


def _configuration(chosen: Any, name: str) -> Mapping[str, int]:
    if not isinstance(chosen, dict) or any(type(index) is not int for index in chosen.values()):
        raise SummaryError(f"configuration {shown(name)} must map attributes to numbers of masked tables")
    return chosen


def _attribute(entry: Any, where: str) -> AttributeSummary:
    kind = _get(entry, "kind", str, where)
    n_values = _get(entry, "n_values", int, where)
    values = _get(entry, "values", (list, type(None)), where)
    tables = []
    for i, table in enumerate(_get(entry, "tables", list, where)):
        what = f"masked table {i} of {where}"
        labels = _get(table, "labels", list, what)
        if kind == "real":  # values that stay what they are
            labels = [_INFINITIES.get(v, v) if isinstance(v, str) else v for v in labels]
        if not all(isinstance(v, str | int | float | type(None)) for v in labels):
            raise SummaryError(f"the labels of {what} must be plain values")
        spec = _get(table, "mask", dict, what)
        _check_spec(spec, what)
        groups = _expand(_get(table, "groups", (list, dict), what), what, n_values)
        joint = _get(table, "joint", list, what)
        try:
            tables.append(MaskedTable(spec, groups, tuple(labels), joint))
        except SummaryError as error:
            raise SummaryError(f"{what}: {error}") from error
    try:
        return AttributeSummary(
            kind=kind,
            n_values=n_values,
            values=None if values is None else _values(values, kind, where),
            histogram=_get(entry, "histogram", (list, type(None)), where),
            tables=tuple(tables),
            coarsening=_coarsening(entry["coarsening"], where) if "coarsening" in entry else None,
        )
    except SummaryError as error:
        raise SummaryError(f"{where}: {error}") from error


def _check_spec(spec: dict[str, Any], what: str) -> None:
    """Refuse a mask that does not say its function, or that is nested more deeply than masks are."""
    try:
        check_nested(spec, SummaryError)
    except SummaryError as error:
        raise SummaryError(f"the mask of {what}: {error}") from error
    _get(spec, "function", str, f"the mask of {what}")


def _coarsening(entry: Any, where: str) -> Coarsening:
    what = f"the coarsening of {where}"
    return Coarsening(_get(entry, "distinct", int, what), _get(entry, "rule", str, what))


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
