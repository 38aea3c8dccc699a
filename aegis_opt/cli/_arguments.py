"""How the values of arguments are read, and what is refused."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from typing import Any

_ORDERS = ("ascending", "hierarchy", "nominal")
_MOST_VALUES = 100_000  # of a domain
_WORDS = {"true": True, "false": False, "none": None}


def refuse_given(arguments: argparse.Namespace, options: dict[str, object], because: str) -> None:
    """End with a usage error if an option was given that would have no effect."""
    given = [option for option, value in options.items() if value is not None]
    if given:
        arguments.refuse(f"{', '.join(given)}: {because}")


def whole_number(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from `least` up."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} up, not {text!r}")
        return value

    return read


def number_or_all(text: str) -> int | None:
    """Read a number of rows; "all" is None."""
    return None if text == "all" else whole_number(1)(text)


def number(text: str) -> float:
    """Read a number; what is out of range is told where it is used."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, not {text!r}") from None


def label_bins(text: str) -> int | list[float]:
    """Read a number of quantiles, or edges with commas between them; one edge has a comma behind it."""
    try:
        return [float(part) for part in text.removesuffix(",").split(",")] if "," in text else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number of quantiles, such as 4, or edges, such as 10,20 (one edge: 10,), not {text!r}"
        ) from None


def label_kind(text: str) -> str:
    """Read what a label is."""
    if text not in ("class", "number"):
        raise argparse.ArgumentTypeError(f"must be class or number, not {text!r}")
    return text


def of_label(read: Callable[[str], Any]) -> Callable[[str], tuple[str | None, Any]]:
    """Return a reader of something that holds for all labels, or after NAME= for one of them."""

    def both(text: str) -> tuple[str | None, Any]:
        name, separator, written = text.rpartition("=")
        return (name if separator else None), read(written)

    return both


def number_or_word(text: str) -> float | str:
    """Read a number where it is one, else keep the word."""
    try:
        return float(text)
    except ValueError:
        return text


def file_ending_in(*endings: str) -> Callable[[str], str]:
    """Return a reader of file names, so that a wrong ending is told before the work is done."""

    def read(text: str) -> str:
        if not text.lower().endswith(endings):
            raise argparse.ArgumentTypeError(f"{text!r} must end in {' or '.join(endings)}")
        return text

    return read


def key_value(text: str) -> tuple[str, Any]:
    """Read key=value; numbers, true, false and none are what they say, all else is text."""
    key, separator, value = text.partition("=")
    key = key.strip().replace("-", "_")
    if not separator or not key.isidentifier() or not value:
        raise argparse.ArgumentTypeError(f"must be key=value, such as norm=l1, not {text!r}")
    if value.lower() in _WORDS:
        return key, _WORDS[value.lower()]
    for number in (int, float):
        try:
            return key, number(value)
        except ValueError:
            continue
    return key, value


def privacy_rule(text: str) -> dict[str, Any]:
    """Read a privacy rule by its parameters, such as k=5 or l=2,kind=entropy."""
    parameters = [key_value(part) for part in text.split(",")]
    if len(dict(parameters)) < len(parameters):
        raise argparse.ArgumentTypeError(f"names a parameter twice: {text!r}")
    return dict(parameters)


def _values(written: str, text: str) -> list[str]:
    """Return values with commas between them, quoted where they have commas or line breaks."""
    try:
        return next(csv.reader([written], skipinitialspace=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f'must be on one line: put a value with a line break into double quotes ("), not {text!r}'
        ) from None


def attribute_order(text: str) -> tuple[str, str | list[str]]:
    """Read attribute=value,value,...: an order by its values, quoted where they have commas, or by a word."""
    attribute, separator, written = text.partition("=")
    values = _values(written, text)
    if not separator or not attribute or not values:
        raise argparse.ArgumentTypeError(f"must be attribute=value,value such as size=S,M,L, not {text!r}")
    return attribute, written if written in _ORDERS else values


def orders_of(arguments: argparse.Namespace) -> dict[str, str | list[str]]:
    """Return the orders that --order and --nominal declare."""
    declared = dict(arguments.order)
    return declared | dict.fromkeys(arguments.nominal, "nominal")


def column_domain(text: str) -> tuple[str, list[str] | range]:
    """Read column=value,value,... or column=low..high for whole numbers: the values that it may have."""
    column, separator, written = text.partition("=")
    low, dots, high = written.partition("..")
    if dots:
        try:
            found = range(int(low), int(high) + 1)
        except ValueError:
            found = range(0)
        if column and 1 <= found.stop - found.start <= _MOST_VALUES:
            return column, found
        raise argparse.ArgumentTypeError(
            f"must be column=low..high with whole numbers, such as age=0..120, and at most {_MOST_VALUES:,} "
            f"of them, not {text!r}"
        )
    values = _values(written, text)
    if not separator or not column or not values:
        raise argparse.ArgumentTypeError(
            f"must be column=value,value such as size=S,M,L, or age=0..120, not {text!r}"
        )
    return column, values


def domains_of(arguments: argparse.Namespace) -> dict[str, list[str | int | None]]:
    """Return the public domains that --domain and --missing declare."""
    missing = set(arguments.missing)
    return {name: [*values, *([None] if name in missing else [])] for name, values in arguments.domain}


def check_protection(arguments: argparse.Namespace) -> None:
    """End with a usage error where options of a protection have no effect or clash."""
    check_orders(arguments)
    if arguments.epsilon is None:
        noise = {"--mechanism": arguments.mechanism, "--delta": arguments.delta}
        refuse_given(arguments, noise, "it is about noise; pass --epsilon, or leave it out")
    elif arguments.base is not None:
        arguments.refuse("--base rounds counts and --epsilon adds noise: give one of them")
    if arguments.epsilon is None and arguments.base is None:
        given = {"--domain": arguments.domain or None, "--missing": arguments.missing or None}
        refuse_given(arguments, given, "it is about protected counts; pass --epsilon or --base")
    names = [name for name, _ in arguments.domain]
    for name in names:
        if names.count(name) > 1:
            arguments.refuse(f"argument --domain: {name} is declared twice")
    for name in arguments.missing:
        if name not in names:
            arguments.refuse(f"argument --missing: declare the domain of {name} with --domain, too")


def check_orders(arguments: argparse.Namespace) -> None:
    """End with a usage error where --order and --nominal speak of an attribute twice."""
    names = [attribute for attribute, _ in arguments.order] + arguments.nominal
    for name in names:
        if names.count(name) > 1:
            arguments.refuse(f"argument --order: {name} is declared twice, by --order or --nominal")
