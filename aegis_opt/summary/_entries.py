"""Entries of a summary file: each of the right type, or an error that says what is wrong and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis_opt._json import check_nested, typed_entry
from aegis_opt._shown import shown
from aegis_opt.errors import SummaryError

WAY_OUT = "get a whole copy of the file, or make it again with summarize"


def get_entry(mapping: Any, key: str, types: type | tuple[type, ...], where: str) -> Any:
    """Return an entry of the right JSON type, or say what is wrong and where."""
    return typed_entry(mapping, key, types, where, SummaryError, WAY_OUT)


def read_configuration(chosen: Any, name: str) -> Mapping[str, int]:
    if not isinstance(chosen, dict) or any(type(index) is not int for index in chosen.values()):
        raise SummaryError(f"configuration {shown(name)} must map attributes to numbers of masked tables")
    return chosen


def check_spec(spec: dict[str, Any], what: str) -> None:
    """Refuse a mask that does not say its function, or that is nested more deeply than masks are."""
    try:
        check_nested(spec, SummaryError)
    except SummaryError as error:
        raise SummaryError(f"the mask of {what}: {error}") from error
    get_entry(spec, "function", str, f"the mask of {what}")
