"""The command `generate`: masking configurations that fit a table, drawn or all of them."""

from __future__ import annotations

import argparse

from aegis_opt._files import check_outputs
from aegis_opt.cli._arguments import orders_of
from aegis_opt.cli._output import listing, make_console, make_table, print_json, progress, show_table
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, UnknownColumn
from aegis_opt.masks import (
    Configurations,
    Identity,
    all_configurations,
    candidate_masks,
    count_configurations,
    generate_configurations,
    save_configurations,
)
from aegis_opt.masks._generate import kept_orders
from aegis_opt.sources import scan, scan_counts
from aegis_opt.sources._files import paths_of

_MOST = 100_000  # configurations that --all writes


def run_generate(arguments: argparse.Namespace) -> None:
    """Write a configuration file."""
    check_outputs([arguments.output], paths_of(arguments.source))
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
        include_identity=not arguments.no_identity,
        learn_from_label=arguments.learn_from_label,
    )


def _all(arguments: argparse.Namespace) -> Configurations:
    label = arguments.label
    if arguments.learn_from_label:
        by_label = scan(arguments.source, label).attributes
        found = {name: (joint.domain, joint.table) for name, joint in by_label.items()}
    else:
        found = dict(scan_counts(arguments.source, label).items())
    for attribute in arguments.attribute:
        if attribute not in found:
            raise UnknownColumn("column", attribute, found, "It was given as --attribute.")
    domains = {name: domain for name, (domain, _) in found.items()}
    orders = kept_orders(domains, domains, orders_of(arguments))
    candidates = {}
    for name in arguments.attribute or found:
        masks = candidate_masks(
            domains[name],
            counts=found[name][1],
            order=None if orders.get(name) == "hierarchy" else orders.get(name),
        )
        masking = [mask for mask in masks if not isinstance(mask, Identity)]
        candidates[name] = masking if arguments.no_identity and masking else masks
    schema = {**domains, label: Domain.of([])}  # the label is never masked, so its values do not count
    count = count_configurations(schema, label, candidates)
    if count > _MOST:
        raise ConfigurationError(
            f"{count:,} configurations exist, more than the {_MOST:,} that --all writes: choose columns with "
            "--attribute, or draw some with -n"
        )
    return Configurations({c.name: c for c in all_configurations(schema, label, candidates)}, label, orders)
