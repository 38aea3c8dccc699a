"""Summaries as files: one JSON document, versioned, checked on loading."""

from __future__ import annotations

import gzip
import json
import os

from aegis_opt._files import atomic_path, decoded, read_bytes
from aegis_opt._json import parse_json
from aegis_opt._options import path_of
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError
from aegis_opt.summary._document import AnyDocument, document_of
from aegis_opt.summary._entries import WAY_OUT
from aegis_opt.summary._read_document import summary_of_document
from aegis_opt.summary._sizes import MOST_BYTES, MOST_ITEMS, SMALLER, check_parts, part_size
from aegis_opt.summary._summaries import Summaries


def save(summary: AnyDocument, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all; one that `load` would refuse for its size is not written."""
    compress = _is_compressed(path)
    text = summary_text(summary)
    data = text.encode("utf-8")
    items = sum(map(text.count, ",[{"))
    if len(data) > MOST_BYTES or items > MOST_ITEMS:
        raise SummaryError(
            f"{os.fspath(path)}: the summary takes {len(data):,} bytes and {items:,} commas and brackets; a "
            f"file holds at most {MOST_BYTES:,} and {MOST_ITEMS:,}: {SMALLER}"
        )
    check_parts(
        [part_size(part) for part in (summary.values() if isinstance(summary, Summaries) else [summary])]
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
