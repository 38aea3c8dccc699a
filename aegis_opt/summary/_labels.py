"""Which labels a summary is about, and in which view each is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aegis_opt._options import instance
from aegis_opt._shown import shown
from aegis_opt.errors import ConfigurationError, InvalidOption, UnknownColumn
from aegis_opt.masks import Configurations
from aegis_opt.sources._label_view import LabelBinsOption, LabelKind, LabelView

MOST_LABELS = 100
"""Labels of one scan, and of one file."""

ManyBins = LabelBinsOption | Mapping[str, LabelBinsOption]
ManyKinds = LabelKind | None | Mapping[str, LabelKind | None]


def views_of(
    label: str | Sequence[str] | None, given: Configurations, label_bins: ManyBins, label_kind: ManyKinds
) -> dict[str, LabelView]:
    """Return each label that a call names, and what is asked of it.

    Options that are no mapping hold for every label.
    """
    labels = labels_of(label, given)
    for option, value in (("label_bins", label_bins), ("label_kind", label_kind)):
        if isinstance(value, Mapping):
            for name in value:
                if name not in labels:
                    raise UnknownColumn("label", name, labels, f"It was named in {option}.")
    return {name: LabelView.of(_of_label(label_bins, name), _of_label(label_kind, name)) for name in labels}


def labels_of(label: str | Sequence[str] | None, given: Configurations) -> list[str]:
    """Return the labels that a call names; one by default, which the configurations name."""
    if not isinstance(label, list | tuple):
        return [label_of(label, given)]  # type: ignore[arg-type]
    if not label:
        raise InvalidOption("label is an empty list: name at least one column")
    if len(label) > MOST_LABELS:
        raise InvalidOption(f"label lists {len(label):,} columns; at most {MOST_LABELS} are taken at a time")
    if None in label:
        raise InvalidOption(f"a label must be the name of a column, not None, in {shown(list(label))}")
    names = [label_of(name, given) for name in label]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidOption(f"the label {twice!r} is named twice: name each once")
    return names


def label_of(label: str | None, given: Configurations) -> str:
    """Return the label that a call or else its configurations name."""
    label = label if label is not None else given.label
    if label is None:
        raise ConfigurationError("no label: neither the call nor the configurations name one; pass label=...")
    instance("label", label, str, "give the name of a column")
    if label == "":
        raise ConfigurationError("the label is an empty name: give its column a name first, and pass that")
    return label


def _of_label(option: Any, label: str) -> Any:
    return option.get(label) if isinstance(option, Mapping) else option
