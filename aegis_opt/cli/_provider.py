"""The provider's commands: `generate` configurations, `summarize` a table."""

from __future__ import annotations

import argparse
import os
import warnings

from aegis_opt.cli._arguments import refuse_given
from aegis_opt.cli._output import (
    listing,
    make_console,
    make_table,
    print_json,
    progress,
    show_table,
    stoppable,
)
from aegis_opt.errors import ConfigurationError, UnknownColumn
from aegis_opt.masks import (
    Configurations,
    all_configurations,
    candidate_masks,
    count_configurations,
    generate_configurations,
    save_configurations,
)
from aegis_opt.sources import scan
from aegis_opt.summary import Summary, summarize

_MOST = 100_000  # configurations that --all writes


def run_generate(arguments: argparse.Namespace) -> None:
    """Write a configuration file."""
    if arguments.all:
        chosen = {"-n": arguments.n, "--seed": arguments.seed, "--strength": arguments.strength}
        refuse_given(arguments, chosen, "--all draws nothing at random")
    with progress(arguments, f"reading {arguments.source}"):
        configurations = _all(arguments) if arguments.all else _drawn(arguments)
        save_configurations(configurations, arguments.output)
    masks: dict[str, list[str]] = {}
    for configuration in configurations.values():
        for attribute, mask in configuration.items():
            masks.setdefault(attribute, []).append(repr(mask))
    distinct = {attribute: list(dict.fromkeys(used)) for attribute, used in masks.items()}
    if arguments.json:
        print_json(
            {
                "file": arguments.output,
                "label": configurations.label,
                "configurations": list(configurations),
                "masks": {attribute: len(used) for attribute, used in distinct.items()},
            }
        )
        return
    console = make_console()
    table = make_table("attribute", "masks", "such as", left=["attribute", "such as"])
    for attribute, used in distinct.items():
        table.add_row(attribute, str(len(used)), listing(used, shown=3))
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
    return Configurations({c.name: c for c in all_configurations(domains, label, candidates)}, label)


def run_summarize(arguments: argparse.Namespace) -> None:
    """Write a summary and show what is in it."""
    scanning = progress(arguments, f"scanning {arguments.source}")
    with stoppable(), scanning as report_progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was read as ", category=UserWarning)  # shown below
        summary = summarize(
            arguments.source,
            arguments.label,
            arguments.configurations,
            not arguments.no_histograms,
            max_values=arguments.max_values,
            on_many_values=arguments.on_many_values,
            memory=arguments.memory,
            progress=report_progress,
        )
        summary.save(arguments.output)
    report = summary.report()
    if arguments.json:
        print_json(
            {
                "file": arguments.output,
                "bytes": os.path.getsize(arguments.output),
                "label": summary.label,
                "records": summary.n_records,
                "configurations": list(summary.configurations),
                "attributes": report.to_dict("records"),
            }
        )
        return
    console = make_console()
    table = make_table(
        "attribute",
        "kind",
        "distinct",
        "values",
        "masked tables",
        "histogram",
        "released unmasked by",
        left=["attribute", "kind"],
    )
    for name, kind, values, tables, histogram, unmasked_by, distinct, _ in report.itertuples(index=False):
        shared, released = "shared" if histogram else "-", str(unmasked_by or "-")
        table.add_row(name, kind, f"{distinct:,}", f"{values:,}", str(tables), shared, released)
    show_table(console, table)
    console.print(
        f"{summary.n_records:,} records, {len(summary.configurations)} configurations, "
        f"label {summary.label!r}: written to {arguments.output} ({size_of(arguments.output)})",
        soft_wrap=True,
    )
    for name, attribute in summary.attributes.items():
        if attribute.coarsening is not None:
            console.print(f"{name}: {attribute.coarsening_warning}.", soft_wrap=True)
    if warning := unmasked_warning(summary):
        console.print(warning, soft_wrap=True)


def size_of(path: str | os.PathLike[str]) -> str:
    """Return the size of a file in words, such as 16.6 kB."""
    size = float(os.path.getsize(path))
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def unmasked_warning(summary: Summary) -> str:
    """Name the attributes whose raw joint table a configuration releases; empty where there is none."""
    users: dict[str, list[str]] = {}
    for configuration, attribute in summary.unmasked():
        users.setdefault(attribute, []).append(configuration)
    released = [f"{attribute} ({listing(names, shown=3)})" for attribute, names in users.items()]
    return (
        f"Released as it is, because a configuration does not mask it: {'; '.join(released)}."
        if users
        else ""
    )
