"""How a label is read: its values as classes, ranges of its numbers as classes, or the number itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aegis_opt._options import is_whole, number, one_of, whole_number
from aegis_opt._shown import shown
from aegis_opt.domain import Domain, Kind
from aegis_opt.errors import InvalidOption, SourceError

LabelKind = Literal["class", "number"]
LabelBinsOption = int | Sequence[float] | None
"""A number of quantiles, or edges."""

MOST_CLASSES = 1000
FEW_CLASSES = 20
"""Classes that any label may have, however few the records; and the most whole numbers that are classes."""

_WAYS_OUT = {
    "numbers": "make classes of its ranges, summarize(..., label_bins=4) for quantiles or label_bins=[...] "
    "for edges, or predict the number itself, summarize(..., label_kind='number')",
    "dates": "make texts of its ranges, such as the month, which are classes, or a number, such as days, of "
    "which label_bins=4 makes classes and which label_kind='number' predicts",
}


@dataclass(frozen=True)
class LabelView:
    """What is asked of a label.

    Parameters
    ----------
    kind : {"class", "number"}
        Whether the label is one of some classes, or a number.
    bins : int or tuple of float, optional
        Make classes of a number: so many quantiles, or between edges.
    """

    kind: LabelKind = "class"
    bins: int | tuple[float, ...] | None = None

    @classmethod
    def of(cls, label_bins: object = None, label_kind: object = None) -> LabelView:
        """Check the options."""
        kind: LabelKind = (
            "class" if label_kind is None else one_of("label_kind", label_kind, ("class", "number"))
        )
        bins = None if label_bins is None else _checked_bins(label_bins)
        if kind == "number" and bins is not None:
            raise InvalidOption(
                "label_bins makes classes of a number, and label_kind='number' predicts the number itself: "
                "leave out one of them"
            )
        return cls(kind, bins)


CLASSES = LabelView()
"""A label whose values are its classes."""


def _checked_bins(given: Any) -> int | tuple[float, ...]:
    """Return a number of quantiles, or ascending edges."""
    if isinstance(given, str | bool) or not isinstance(given, Iterable):
        return whole_number("label_bins", given, least=2, most=MOST_CLASSES)
    edges = tuple(int(edge) if is_whole(edge) else number("label_bins", edge) for edge in given)
    if not edges:
        raise InvalidOption("label_bins has no edges: give at least one, or a number of quantiles")
    if len(edges) >= MOST_CLASSES:
        raise InvalidOption(f"label_bins has {len(edges):,} edges; at most {MOST_CLASSES - 1:,} are taken")
    for low, high in itertools.pairwise(edges):
        if not low < high:
            raise InvalidOption(f"the edges of label_bins must ascend: {high:g} follows {low:g}")
    return edges


def is_numeric(kind: Kind) -> bool:
    """Whether values of a kind are numbers."""
    return kind in ("integer", "real")


def check_class_label(source: str, label: str, domain: Domain) -> None:
    """Refuse a label that is not one of some classes: texts, booleans, or at most 20 whole numbers.

    Reals that are all whole count as whole numbers: a frame holds whole numbers with a missing one as reals.
    """
    values = domain.values
    if domain.kind in ("string", "boolean"):
        return
    if not is_numeric(domain.kind):
        raise other_label(source, label, domain.kind, len(values))
    if len(values) > FEW_CLASSES or not all(map(_is_whole, values.tolist())):
        raise other_label(source, label, domain.kind, len(values))


def other_label(source: str, label: str, kind: Kind, distinct: int) -> SourceError:
    """Say that a label is not one of some classes, and what to do about it."""
    what = "numbers" if is_numeric(kind) else "dates"
    return SourceError(
        f"{source}: the label {label!r} has {distinct:,} distinct values, which are {what}; texts, booleans "
        f"and at most {FEW_CLASSES} whole numbers are classes: {_WAYS_OUT[what]}"
    )


def require_numeric(source: str, label: str, kind: Kind, view: LabelView) -> None:
    """Refuse a label that has no numbers where an option needs them."""
    if not is_numeric(kind):
        option = "label_kind='number'" if view.kind == "number" else "label_bins"
        held = {"string": "texts", "boolean": "booleans"}.get(kind, "dates")
        way = "leave it out: these are classes" if held != "dates" else _WAYS_OUT["dates"]
        raise SourceError(f"{source}: {option} is about numbers, but the label {label!r} has {held}: {way}")


def check_finite(source: str, label: str, low: float, high: float) -> None:
    """Refuse infinite numbers, which have no mean and no ranges."""
    for value in (low, high):
        if math.isinf(value):
            raise SourceError(
                f"{source}: the label {label!r} holds {shown(value)}, of which there is neither a mean nor a "
                "range: correct or remove those records"
            )


def check_no_missing(source: str, label: str, missing: int) -> None:
    """Refuse records without a label where the label is a number."""
    if missing:
        raise SourceError(
            f"{source}: {missing:,} records have no {label!r}, and no number can be predicted there: remove "
            "these records, or take label_bins, where a missing label is a class of its own"
        )


def one_value(source: str, label: str, value: Any) -> SourceError:
    """Say that a number is the same in all records."""
    return SourceError(
        f"{source}: the label {label!r} is {shown(value)} in all records, so nothing can predict it: choose "
        "another label"
    )


def _is_whole(value: float) -> bool:
    return bool(np.isfinite(value)) and value == int(value)
