"""Summaries as files: one JSON document, versioned, checked on loading."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import math
import os
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aegis_opt._files import atomic_path
from aegis_opt.errors import SummaryError
from aegis_opt.problem._margin import IntArray
from aegis_opt.sources._counts import Coarsening
from aegis_opt.summary._model import AttributeSummary, MaskedTable, Summary, whole_numbers

FORMAT = "aegis-opt-summary"
VERSION = 1

_WAY_OUT = "get a whole copy of the file, or make it again with summarize"
# Kind -> (JSON types that hold a value, how to read it back)
_INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf}  # as text: no number of JSON is infinite
_PARSERS: dict[str, tuple[tuple[type, ...], Callable[[Any], Any]]] = {
    "integer": ((int,), int),
    "real": ((int, float), float),
    "boolean": ((bool,), bool),
    "string": ((str,), str),
    "date": ((str,), dt.date.fromisoformat),
    "datetime": ((str,), dt.datetime.fromisoformat),
}


def save(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all."""
    compress = _is_compressed(path)
    text = json.dumps(_document(summary), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = text.encode("utf-8")
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def load(path: str | os.PathLike[str]) -> Summary:
    """Read a summary and check everything in it."""
    compressed = _is_compressed(path)
    try:
        data = Path(path).read_bytes()
        document = json.loads(gzip.decompress(data) if compressed else data)
    except FileNotFoundError as error:
        raise SummaryError(
            f"file not found: {os.fspath(path)!r}; make it with summarize(...).save(path)"
        ) from error
    except (OSError, EOFError, zlib.error, ValueError) as error:  # not whole, not gzip, not JSON, not UTF-8
        raise SummaryError(f"{os.fspath(path)}: cannot be read ({error}): {_WAY_OUT}") from error
    try:
        return _summary(document)
    except SummaryError as error:
        raise SummaryError(f"{os.fspath(path)}: {error}") from error


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
    if not isinstance(written, dict):
        return written
    runs = whole_numbers(_get(written, "runs", list, where), "runs of groups", ndim=2)
    if runs.shape[1] != 2 or runs[:, 1].sum() != n_values:
        raise SummaryError(f"the runs in {where} must be pairs of group and length for {n_values} values")
    return np.repeat(runs[:, 0], runs[:, 1])


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
        raise SummaryError(f"version {version} was made by a newer aegis-opt: upgrade aegis-opt to read it")
    if version < 1:
        raise SummaryError(f"there is no version {version}: {_WAY_OUT}")
    label = _get(document, "label", dict, "the file")
    label_kind = _get(label, "kind", str, "the label")
    return Summary(
        label=_get(label, "name", str, "the label"),
        label_kind=label_kind,
        label_values=_values(_get(label, "values", list, "the label"), label_kind, "the label"),
        label_counts=_get(label, "counts", list, "the label"),
        attributes={
            name: _attribute(entry, f"attribute {name!r}")
            for name, entry in _get(document, "attributes", dict, "the file").items()
        },
        configurations={
            name: _configuration(chosen, name)
            for name, chosen in _get(document, "configurations", dict, "the file").items()
        },
    )


def _configuration(chosen: Any, name: str) -> Mapping[str, int]:
    if not isinstance(chosen, dict) or any(type(index) is not int for index in chosen.values()):
        raise SummaryError(f"configuration {name!r} must map attributes to numbers of masked tables")
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


def _coarsening(entry: Any, where: str) -> Coarsening:
    what = f"the coarsening of {where}"
    return Coarsening(_get(entry, "distinct", int, what), _get(entry, "rule", str, what))


def _values(written: list[Any], kind: str, where: str) -> tuple[Any, ...]:
    if kind not in _PARSERS:
        raise SummaryError(f"{where} is of unknown kind {kind!r}; known: {', '.join(_PARSERS)}")
    types, parse = _PARSERS[kind]
    values: list[Any] = []
    for value in written:
        try:
            if kind == "real" and isinstance(value, str):
                value = _INFINITIES.get(value, value)
            if value is not None and (type(value) not in types):
                raise ValueError
            values.append(None if value is None else parse(value))
        except ValueError as error:
            raise SummaryError(f"{where} has the value {value!r}, which is not of kind {kind}") from error
    return tuple(values)
