"""The normal form of a mapping from masked values to the values they stand for."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from typing import Any

from aegis_opt._json import check_text
from aegis_opt._shown import shown
from aegis_opt.domain import plain
from aegis_opt.errors import MaskError
from aegis_opt.masks._base import Label

Pairs = tuple[tuple[Label, tuple[Any, ...]], ...]


def normal_mapping(mapping: Any) -> Pairs:
    """Return the mapping as sorted pairs, so that equal mappings are equal however they were written."""
    if isinstance(mapping, Mapping):
        items = list(mapping.items())
    elif isinstance(mapping, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in mapping
    ):
        items = [tuple(pair) for pair in mapping]
    else:
        raise MaskError(
            "a mapping goes from masked values to lists of values, {'Young': [10, 17]}, not "
            f"{shown(mapping)}"
        )
    if not items:
        raise MaskError("the mapping of Generalize is empty: list every value under its masked value")
    owner: dict[Any, Label] = {}
    pairs: dict[Label, tuple[Any, ...]] = {}
    for raw, values in items:
        label = plain(raw)
        if not isinstance(label, str | int | float) or (
            isinstance(label, float) and not math.isfinite(label)
        ):
            raise MaskError(f"a masked value must be text, a finite number or a boolean, not {shown(raw)}")
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise MaskError(f"the masked value {shown(label)} must fit into 64 bits: write it as text")
        if isinstance(label, str):
            check_text(label, MaskError)
        if label in pairs:
            raise MaskError(f"the masked value {shown(label)} occurs twice in the mapping: merge its lists")
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            raise MaskError(
                f"the masked value {shown(label)} must have a list of values, not {shown(values)}"
            )
        normal = [normal_value(value) for value in values]
        for value in normal:
            if value in owner:
                raise MaskError(
                    f"the value {shown(value)} is listed twice, under {shown(owner[value])} and "
                    f"{shown(label)}: keep one"
                )
            owner[value] = label
        pairs[label] = tuple(sorted(normal, key=value_order))
    return tuple(sorted(pairs.items(), key=lambda pair: value_order(pair[0])))


def normal_value(value: Any) -> Any:
    """Return a listed value as JSON holds it: dates as text, whole numbers as ints, missing as None."""
    value = plain(value)
    if isinstance(value, float):
        if math.isinf(value):
            return str(value)  # JSON has no infinity; as text it matches the number again
        return int(value) if value.is_integer() else value
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, str):
        check_text(value, MaskError)
    if value is not None and not isinstance(value, str | int):
        raise MaskError(f"a mapping lists text, numbers, booleans, dates or None, not {shown(value)}")
    return value


def value_order(value: Any) -> tuple[int, Any]:
    """Return what listed values are sorted by: numbers first, the missing value last."""
    if value is None:
        return (2, 0)
    return (1, value) if isinstance(value, str) else (0, value)
