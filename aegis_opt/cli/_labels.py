"""Several labels in a terminal: what holds for which, and the choice of one."""

from __future__ import annotations

import argparse
from typing import Any

from aegis_opt.errors import InvalidOption, UnknownColumn
from aegis_opt.summary import AnySummary, Summaries


def by_label(arguments: argparse.Namespace, option: str, given: list[tuple[str | None, Any]] | None) -> Any:
    """Return what holds for all labels, or a mapping from labels to what holds for each."""
    if not given:
        return None
    names = [name for name, _ in given]
    if names == [None]:
        return given[0][1]
    if None in names or len(set(names)) < len(names):
        arguments.refuse(f"{option}: give it once for all labels, or once as NAME=... for each of several")
    return dict(given)


def one_label(arguments: argparse.Namespace, read: AnySummary | Summaries) -> AnySummary | str:
    """Return what a command is about: one label of several, or the file."""
    if isinstance(read, Summaries):
        if arguments.label is None:
            raise InvalidOption(
                f"this is about one label, and the file has {len(read)}: choose one with --label, such as "
                f"{read.labels[0]}"
            )
        return read[arguments.label]
    if arguments.label not in (None, read.label):
        raise UnknownColumn("label", arguments.label, [read.label], "It was given as --label.")
    return str(arguments.summary)  # advice then names the file
