"""Masking the distinct values of a column by what was learnt of it, without an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import MaskError
from aegis_opt.masks import (
    Blur,
    Generalize,
    Grouping,
    Label,
    Mask,
    Microaggregate,
    NoiseMask,
    TopCode,
)
from aegis_opt.masks._generalize import ranges_of
from aegis_opt.masks._mapping import Pairs
from aegis_opt.masks._noise import uniforms
from aegis_opt.masks._parameters import some
from aegis_opt.masks._sql import REAL, TEXT, Lookup, label_texts, label_type, noise_type

HandleUnknown = Literal["error", "missing"]
"""What becomes of a value that a mapping or hierarchy does not list."""


@dataclass(frozen=True)
class MaskedValues:
    """The masked value of each value of a column, and the SQL type of a column of them."""

    domain: Domain
    grouping: Grouping
    sql_type: str

    def lookup(self) -> Lookup:
        """Return the same as what an engine looks up."""
        return Lookup(self.domain, self.grouping, self.sql_type)

    def labels(self) -> list[Any]:
        """Return the masked value of each value as a column holds it; None for a missing one."""
        found: list[Any] = list(self.grouping.labels)
        if self.sql_type == TEXT:
            found = label_texts(found)
        elif self.sql_type == REAL:
            found = [None if label is None else float(label) for label in found]
        return [found[group] for group in self.grouping.groups]


def masked_values(mask: Mask, now: Domain, learnt: Domain, handle_unknown: HandleUnknown) -> MaskedValues:
    """Mask the values of a column by what was learnt of the training data; both domains are of one kind."""
    if not len(now.values):  # of no kind
        nothing = Domain(cast("Kind", mask.kinds[0]), now.values, now.missing)
        return MaskedValues(now, mask.group(nothing), TEXT)
    if mask.pointwise:
        return _by_rule(mask, now)
    if not isinstance(mask, Generalize):
        known = Domain(learnt.kind, learnt.values, missing=True)
        grouping = mask.group(known)
        places = dict(zip(known.to_list(), grouping.groups.tolist(), strict=True))
        return _listed(mask, now, places, list(grouping.labels), handle_unknown)
    if mask.ranges is not None:
        starts, labels_of = ranges_of(learnt, mask.ranges)
        keys = np.maximum(np.searchsorted(starts, now.values, side="right") - 1, 0)
        used, groups = np.unique(keys, return_inverse=True)
        labels: list[Label] = [*labels_of(used)]
        if now.missing:
            groups, labels = np.append(groups, len(labels)), [*labels, None]
        return MaskedValues(now, Grouping(groups, tuple(labels)), TEXT)
    labels, places = mask.matched(now.kind)
    places = dict(places)
    for place, (_, values) in enumerate(cast("Pairs", mask.mapping or ())):
        if None in values:
            places[None] = place
    return _listed(mask, now, places, labels, handle_unknown)


def outside(now: Domain, learnt: Domain) -> npt.NDArray[np.bool_]:
    """Tell which values of a column lie below the least or above the greatest one of the training data."""
    found = np.zeros(len(now), dtype=bool)
    if len(learnt.values):
        values = now.values
        found[: len(values)] = (values < learnt.values[0]) | (values > learnt.values[-1])
    return found


def _by_rule(mask: Mask, now: Domain) -> MaskedValues:
    """Mask values each of which is masked by itself, with types and texts as the SQL of the rule has them."""
    grouping = mask.group(now)
    if isinstance(mask, Blur):
        whole = now.kind == "integer" and isinstance(mask.width, int)
        return MaskedValues(now, grouping, "BIGINT" if whole else REAL)
    if isinstance(mask, Microaggregate):
        return MaskedValues(now, grouping, label_type(mask.groups()[1]))
    if isinstance(mask, TopCode) and now.kind == "real":  # engines write 50.0
        texts = tuple(repr(label) if isinstance(label, float) else label for label in grouping.labels)
        grouping = Grouping(grouping.groups, texts)
    return MaskedValues(now, grouping, TEXT)


def _listed(
    mask: Mask, now: Domain, places: dict[Any, int], labels: list[Label], handle_unknown: HandleUnknown
) -> MaskedValues:
    """Look the values up among those that are listed."""
    sql_type = label_type(labels)
    if sql_type == TEXT:
        label_texts(labels)  # refuses masked values that text cannot tell apart
    values = now.values.tolist()
    unknown = [value for value in values if value not in places]
    if unknown and handle_unknown == "error":
        raise MaskError(
            f"{mask!r} does not say what becomes of {some(unknown)}: list them, or choose "
            "handle_unknown='missing'"
        )
    every = [*labels, None]
    missing = every.index(None)
    groups, used = pd.factorize(np.array([places.get(v, missing) for v in now.to_list()], dtype=np.int64))
    return MaskedValues(now, Grouping(groups, tuple(every[place] for place in used)), sql_type)


def noisy_column(
    mask: NoiseMask,
    name: str,
    now: Domain,
    codes: npt.NDArray[np.int64],
    handle_unknown: HandleUnknown,
) -> tuple[list[Any], npt.NDArray[np.int64], str]:
    """Draw masked values: those that there are, the place of each record's among them, their type."""
    unknown = np.zeros(len(now), dtype=bool)
    if handle_unknown == "missing":
        unknown = np.array([not mask.knows(now.kind, value) for value in now.to_list()], dtype=bool)
    present = unknown[: len(now.values)]
    kept = Domain(now.kind, now.values[~present], now.missing and not unknown[-1])
    labels = list(mask.channel(kept).labels)
    sql_type = noise_type(labels)
    shown: list[Any] = list(label_texts(labels)) if sql_type == TEXT else labels
    places = np.cumsum(~unknown) - 1
    known = ~unknown[codes]
    drawn = np.full(len(codes), len(shown), dtype=np.int64)
    uniform = uniforms(mask.key(name), len(codes))
    drawn[known] = mask.drawn(kept, places[codes[known]], uniform[known])
    return [*shown, None] if unknown.any() else shown, drawn, sql_type
