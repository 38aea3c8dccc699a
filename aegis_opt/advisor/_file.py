"""Advice as a file: one JSON document, versioned, with the summary it rests on, checked on loading."""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._files import atomic_path, decoded, read_bytes
from aegis_opt._json import check_nested, check_text, parse_json, typed_entry
from aegis_opt._options import LARGEST_NUMBER, is_number, path_of
from aegis_opt._shown import shown
from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._agreement import disagreements
from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._explain import SingleChanges
from aegis_opt.advisor._numbers import privacy_columns
from aegis_opt.advisor._require import excluded_frame
from aegis_opt.errors import AdviceError, InvalidInput, SummaryError
from aegis_opt.summary import AnySummary, ScoreSummary
from aegis_opt.summary._document import document_of
from aegis_opt.summary._read_document import one_summary_of_document
from aegis_opt.summary._sizes import MOST_BYTES, MOST_ITEMS

FORMAT = "aegis-opt-advice"
VERSION = 1

_WAY_OUT = "get a whole copy of the file, or make it again with advise(...).save(path)"
_SMALLER = "ask about fewer configurations"
_RANKING = {"configuration": str, "rank": int, "pud": float, "pud_low": float, "pud_high": float}
_NUMBERS = (  # columns of the attributes that need not be there
    *("values", "masked_tables", "estimate", "estimate_5", "estimate_95", "low", "high", "residual"),
    *("disclosed", "chance", "gain"),
)
_MOST_DIGITS = 20  # decimals that a criterion may ask for


def save(advice: Advice, path: str | os.PathLike[str]) -> None:
    """Write an advice, whole or not at all; one that `load` would refuse for its size is not written."""
    target = path_of("path", path)
    compress = _is_compressed(target)
    document = {"format": FORMAT, "version": VERSION, "advice": _document(advice)}
    document["by_mi"] = None if advice.by_mi is None else _document(advice.by_mi)
    document["summary"] = None if advice.summary is None else document_of(advice.summary)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    data = text.encode("utf-8")
    items = sum(map(text.count, ",[{"))
    if len(data) > MOST_BYTES or items > MOST_ITEMS:
        raise AdviceError(
            f"{target}: the advice takes {len(data):,} bytes and {items:,} commas and brackets; a file holds "
            f"at most {MOST_BYTES:,} and {MOST_ITEMS:,}: {_SMALLER}"
        )
    with atomic_path(target) as temporary:
        temporary.write_bytes(gzip.compress(data, mtime=0) if compress else data)


def load(path: str | os.PathLike[str]) -> Advice:
    """Read an advice and check everything in it."""
    target = path_of("path", path)
    compressed = _is_compressed(target)
    if not os.path.exists(target):
        raise AdviceError(f"file not found: {str(target)!r}; make it with advise(...).save(path)")
    data = read_bytes(target, str(target), AdviceError, most=MOST_BYTES, unpack=compressed)
    text = decoded(data, str(target), AdviceError)
    try:
        return _advice_of(parse_json(text, AdviceError, most_items=MOST_ITEMS, deep=True))
    except SummaryError as error:
        raise AdviceError(f"{target}: the summary in it: {error}") from error
    except InvalidInput as error:  # such as tables of the summary that a measure does not take
        raise AdviceError(f"{target}: {error}") from error


def _is_compressed(path: os.PathLike[str]) -> bool:
    name = os.fspath(path).lower()
    if not name.endswith((".json", ".json.gz")):
        raise AdviceError(f"{shown(os.fspath(path))}: a file of an advice ends in .json or .json.gz")
    return name.endswith(".gz")


def _document(advice: Advice) -> dict[str, Any]:
    changes = advice.changes
    return {
        "best": advice.best,
        "tied": list(advice.tied),
        "certified": advice.certified,
        "warnings": list(advice.warnings),
        "reason": advice.reason,
        "criterion": asdict(advice.criterion),
        "scope": advice.scope,
        "solver": advice.solver,
        "ranking": _columns(advice.ranking),
        "configurations": list(advice.deviations.index),
        "deviations": _columns(advice.deviations),
        "masked": _columns(advice.masked),
        "attributes": _columns(advice.attributes),
        "replicates": None if advice.replicates is None else _columns(advice.replicates),
        "equivalent": list(advice.equivalent),
        "changes": None
        if changes is None or advice.summary is None
        else {
            "criterion": asdict(changes.criterion),
            "scores": _numbers(changes.scores),
            "changed": {name: [_numbers(row) for row in table] for name, table in changes.changed.items()},
        },
        "seconds": dict(advice.seconds),
        "asked": dict(advice.asked),
        "excluded": dict(advice.excluded.itertuples(index=False, name=None)),
    }


def _columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a frame as JSON holds them; what is not known is null."""
    return {str(name): _numbers(frame[name]) for name in frame.columns}


def _numbers(values: Any) -> list[Any]:
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in pd.Series(values).tolist()]


def _advice_of(document: Any) -> Advice:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise AdviceError(f'is no advice (its "format" is not "{FORMAT}"): choose another file')
    version = _entry(document, "version", int, "the file")
    if version != VERSION:
        newer = "was made by a newer aegis-opt: upgrade aegis-opt to read it"
        raise AdviceError(
            f"version {shown(version)} {newer if version > VERSION else f'does not exist: {_WAY_OUT}'}"
        )
    written = _entry(document, "summary", (dict, type(None)), "the file")
    summary = None if written is None else one_summary_of_document(written)
    beside = _entry(document, "by_mi", (dict, type(None)), "the file")
    by_mi = None if beside is None else _part(beside, "by_mi", summary, None)
    return _part(_entry(document, "advice", dict, "the file"), "the advice", summary, by_mi)


def _part(part: Any, where: str, summary: AnySummary | None, by_mi: Advice | None) -> Advice:
    """Read one advice."""
    configurations = _texts(part, "configurations", where)
    if not configurations or len(set(configurations)) < len(configurations):
        raise AdviceError(f"{where} must name its configurations, each once: {_WAY_OUT}")
    known = set(configurations)
    ranking = _frame(part, "ranking", where, _RANKING)
    for name in privacy_columns(ranking):  # such as the epsilon of a mask without noise
        if ranking[name].dtype.kind == "f":  # no number of JSON is infinite, and all these are known
            ranking[name] = ranking[name].fillna(math.inf)
    if sorted(ranking["configuration"]) != sorted(configurations):
        raise AdviceError(f"the ranking of {where} has other configurations than {where}: {_WAY_OUT}")
    index = pd.Index(configurations, name="configuration")
    tables = {}
    for name in ("deviations", "masked"):
        tables[name] = _number_frame(part, name, where, len(index)).set_index(index)
    attributes = _frame(part, "attributes", where, {"attribute": str})
    if odd := [name for name in _NUMBERS if name in attributes and attributes[name].dtype.kind not in "if"]:
        raise AdviceError(f"the column {odd[0]!r} of 'attributes' in {where} has the wrong type: {_WAY_OUT}")
    names = list(tables["deviations"].columns)
    if names != list(tables["masked"].columns) or names != list(attributes["attribute"]):
        raise AdviceError(f"the parts of {where} have other attributes: {_WAY_OUT}")
    if summary is not None and [set(summary.configurations), set(summary.attributes)] != [known, set(names)]:
        raise AdviceError(f"the summary has other configurations or attributes than {where}: {_WAY_OUT}")
    best = _entry(part, "best", (str, type(None)), where)
    chosen = {key: tuple(_texts(part, key, where)) for key in ("tied", "equivalent")}
    if not {*chosen["tied"], *chosen["equivalent"], *([] if best is None else [best])} <= known:
        raise AdviceError(f"{where} names a configuration that it does not have: {_WAY_OUT}")
    replicates = _entry(part, "replicates", (dict, type(None)), where)
    if replicates is not None:
        if list(replicates) != configurations:
            raise AdviceError(f"the replicates of {where} have other configurations: {_WAY_OUT}")
        rows = len(next(iter(replicates.values()))) if isinstance(replicates[configurations[0]], list) else -1
        replicates = _number_frame(part, "replicates", where, rows)
    advice = Advice(
        best=best,
        tied=chosen["tied"],
        ranking=ranking,
        certified=_entry(part, "certified", bool, where),
        warnings=tuple(_texts(part, "warnings", where)),
        reason=_text(_entry(part, "reason", str, where)),
        criterion=_criterion(_entry(part, "criterion", dict, where), where),
        scope=_optional_text(part, "scope", where),
        solver=_optional_text(part, "solver", where),
        deviations=tables["deviations"],
        masked=tables["masked"],
        attributes=attributes,
        replicates=replicates,
        equivalent=chosen["equivalent"],
        changes=_changes(part, where, summary, configurations),
        by_mi=by_mi,
        seconds=_seconds(_entry(part, "seconds", dict, where), where),
        summary=summary,
        asked=_asked(_entry(part, "asked", dict, where), where),
        excluded=_excluded(part, where),
    )
    for disagreement in disagreements(advice):
        raise AdviceError(f"{where} contradicts itself: {disagreement}: {_WAY_OUT}")
    return advice


def _excluded(part: Any, where: str) -> pd.DataFrame:
    """Read what was left out for its lack of privacy; the first files do not have it."""
    reasons = _entry(part, "excluded", dict, where) if "excluded" in part else {}
    for name, reason in reasons.items():
        if not isinstance(reason, str):
            raise AdviceError(f"{where} excludes {shown(name)} for {shown(reason)}: {_WAY_OUT}")
        _text(name), _text(reason)
    return excluded_frame(reasons)


def _entry(mapping: Any, key: str, types: type | tuple[type, ...], where: str) -> Any:
    return typed_entry(mapping, key, types, where, AdviceError, _WAY_OUT)


def _text(text: str) -> str:
    check_text(text, AdviceError)
    return text


def _optional_text(part: Any, key: str, where: str) -> str | None:
    value = _entry(part, key, (str, type(None)), where)
    return None if value is None else _text(value)


def _texts(part: Any, key: str, where: str) -> list[str]:
    values = _entry(part, key, list, where)
    if not all(isinstance(value, str) for value in values):
        raise AdviceError(f"{key!r} in {where} must be a list of texts: {_WAY_OUT}")
    return [_text(value) for value in values]


def _number(value: Any, where: str) -> float:
    """Return a number, NaN where it is not known."""
    if value is None:
        return math.nan
    if not (is_number(value) and abs(value) <= LARGEST_NUMBER):
        raise AdviceError(f"{where} has the value {shown(value)}, which no advice has: {_WAY_OUT}")
    return float(value)


def _frame(part: Any, key: str, where: str, required: Mapping[str, type]) -> pd.DataFrame:
    """Read columns of texts, whole numbers, truth values or numbers; some are required, of a given type."""
    columns = _entry(part, key, dict, where)
    what = f"{key!r} in {where}"
    for name in required:
        _entry(columns, name, list, what)
    found = {_text(name): _column(values, f"{name!r} of {what}") for name, values in columns.items()}
    sizes = {len(values) for values in found.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise AdviceError(f"the columns of {what} must be lists of one length: {_WAY_OUT}")
    frame = pd.DataFrame(found)
    for name, kind in required.items():
        dtype = frame[name].dtype.kind
        if not (dtype == "f" if kind is float else dtype == "i" if kind is int else _all_texts(frame[name])):
            raise AdviceError(f"the column {name!r} of {what} has the wrong type: {_WAY_OUT}")
    return frame


def _all_texts(column: pd.Series[Any]) -> bool:
    return all(isinstance(value, str) for value in column)


def _column(values: Any, where: str) -> Any:
    if not isinstance(values, list):
        raise AdviceError(f"{where} must be a list: {_WAY_OUT}")
    types = {type(value) for value in values}
    if types == {bool}:
        return np.array(values)
    if types == {int} and all(abs(value) < 2**53 for value in values):
        return np.array(values, dtype=np.int64)
    if types <= {str, type(None)} and str in types:
        return np.array([None if value is None else _text(value) for value in values], dtype=object)
    return np.array([_number(value, where) for value in values], dtype=np.float64)


def _number_frame(part: Any, key: str, where: str, rows: int) -> pd.DataFrame:
    columns = _entry(part, key, dict, where)
    found = {}
    for name, values in columns.items():
        if not isinstance(values, list) or len(values) != rows:
            raise AdviceError(f"{shown(name)} of {key!r} in {where} must be a list of {rows}: {_WAY_OUT}")
        found[_text(name)] = np.array([_number(value, key) for value in values], dtype=np.float64)
    return pd.DataFrame(found, index=range(rows))


def _criterion(entry: Any, where: str) -> Criterion:
    what = f"the criterion of {where}"
    digits = _entry(entry, "digits", int, what)
    if not 0 <= digits <= _MOST_DIGITS:
        raise AdviceError(f"{what} asks for {shown(digits)} decimals; at most {_MOST_DIGITS}: {_WAY_OUT}")
    texts = {name: _text(_entry(entry, name, str, what)) for name in ("name", "title", "unit")}
    return Criterion(**texts, higher_is_better=_entry(entry, "higher_is_better", bool, what), digits=digits)


def _changes(
    part: Any, where: str, summary: AnySummary | None, configurations: Sequence[str]
) -> SingleChanges | None:
    entry = _entry(part, "changes", (dict, type(None)), where)
    if entry is None:
        return None
    what = f"the changes of {where}"
    if summary is None:
        raise AdviceError(f"{what} need the summary: {_WAY_OUT}")
    if list(summary.configurations) != list(configurations):
        raise AdviceError(f"{what} have other configurations than the summary: {_WAY_OUT}")
    sizes = {
        name: len(attribute.masks) if isinstance(summary, ScoreSummary) else len(attribute.tables)  # type: ignore[union-attr]
        for name, attribute in summary.attributes.items()
    }
    changed = _entry(entry, "changed", dict, what)
    if list(changed) != list(sizes):
        raise AdviceError(f"{what} have other attributes than the summary: {_WAY_OUT}")
    return SingleChanges(
        _criterion(_entry(entry, "criterion", dict, what), what),
        summary,
        _array(_entry(entry, "scores", list, what), (len(configurations),), what),
        {name: _array(changed[name], (len(configurations), size + 1), what) for name, size in sizes.items()},
    )


def _array(values: Any, shape: tuple[int, ...], where: str) -> Any:
    if not isinstance(values, list) or len(values) != shape[0]:
        raise AdviceError(f"{where} must have {shape[0]} entries for each list: {_WAY_OUT}")
    if len(shape) == 1:
        return np.array([_number(value, where) for value in values], dtype=np.float64)
    return np.array([_array(row, shape[1:], where) for row in values])


def _seconds(entry: dict[str, Any], where: str) -> dict[str, float]:
    return {_text(name): _number(value, f"'seconds' in {where}") for name, value in entry.items()}


def _asked(entry: dict[str, Any], where: str) -> dict[str, Any]:
    check_nested(entry, AdviceError)
    for name, value in entry.items():
        if not name.isidentifier() or not isinstance(value, str | int | float | bool | type(None)):
            raise AdviceError(
                f"{shown(name)} in 'asked' of {where} must be an option with a plain value: {_WAY_OUT}"
            )
    return entry
