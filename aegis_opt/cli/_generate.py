"""The command `generate`: masking configurations that fit a table, drawn or all of them."""

from __future__ import annotations

import argparse

from aegis_opt.cli._arguments import orders_of
from aegis_opt.cli._output import listing, make_console, make_table, print_json, progress, show_table
from aegis_opt.errors import ConfigurationError, UnknownColumn
from aegis_opt.masks import (
    Configurations,
    all_configurations,
    candidate_masks,
    count_configurations,
    generate_configurations,
    save_configurations,
)
from aegis_opt.masks._generate import kept_orders
from aegis_opt.sources import scan

_MOST = 100_000  # configurations that --all writes


def run_generate(arguments: argparse.Namespace) -> None:
    """Write a configuration file."""
    with progress(arguments, f"reading {arguments.source}"):
        configurations = _all(arguments) if arguments.all else _drawn(arguments)
        save_configurations(configurations, arguments.output)
    masks: dict[str, dict[str, None]] = {}
    for configuration in configurations.values():
        for attribute, mask in configuration.items():
            masks.setdefault(attribute, {})[repr(mask)] = None
    if arguments.json:
        print_json(
            {
                "file": arguments.output,
                "label": configurations.label,
                "configurations": list(configurations),
                "masks": {attribute: len(used) for attribute, used in masks.items()},
            }
        )
        return
    console = make_console()
    table = make_table("attribute", "masks", "such as", left=["attribute", "such as"])
    for attribute, used in masks.items():
        table.add_row(attribute, str(len(used)), listing(list(used), most=3))
    show_table(console, table)
    console.print(f"{len(configurations):,} configurations written to {arguments.output}", soft_wrap=True)


def _drawn(arguments: argparse.Namespace) -> Configurations:
    return generate_configurations(
        arguments.source,
        arguments.label,
        n=50 if arguments.n is None else arguments.n,
        seed=arguments.seed or 0,
        strength="medium" if arguments.strength is None else arguments.strength,
        attributes=arguments.attribute or None,
        order=orders_of(arguments),
    )


def _all(arguments: argparse.Namespace) -> Configurations:
    label = arguments.label
    found = scan(arguments.source, label)
    domains = {name: counts.domain for name, counts in found.attributes.items()}
    for attribute in arguments.attribute:
        if attribute not in domains:
            raise UnknownColumn("column", attribute, domains, "It was given as --attribute.")
    candidates = {name: candidate_masks(domains[name]) for name in arguments.attribute} or None
    domains[label] = found.label_domain
    count = count_configurations(domains, label, candidates)
    if count > _MOST:
        raise ConfigurationError(
            f"{count:,} configurations exist, more than the {_MOST:,} that --all writes: choose columns with "
            "--attribute, or draw some with -n"
        )
    configurations = {c.name: c for c in all_configurations(domains, label, candidates)}
    return Configurations(configurations, label, kept_orders(domains, domains, orders_of(arguments)))
