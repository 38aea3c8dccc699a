"""The command `mask`: a masked table, or the SQL that makes one."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from aegis_opt._files import check_outputs
from aegis_opt.cli._output import listing, make_console, print_json, progress, size_of, stoppable
from aegis_opt.errors import ConfigurationError
from aegis_opt.masks import Configuration, load_configurations
from aegis_opt.release import apply_configuration, source_domains
from aegis_opt.sources import columns


def run_mask(arguments: argparse.Namespace) -> None:
    """Write a masked table, or print the SELECT for it."""
    configuration = _chosen(arguments)
    if arguments.sql is not None:
        _print_sql(arguments, configuration)
        return
    check_outputs([arguments.output], [arguments.configurations])
    counted: list[tuple[int, int]] = []
    with stoppable(), progress(arguments, f"masking {arguments.source}") as report:
        output = apply_configuration(
            arguments.source,
            configuration,
            output=arguments.output,
            escape_formulas=bool(arguments.escape_formulas),
            suppress_below=arguments.suppress_below,
            quasi_identifiers=arguments.quasi_identifier,
            suppressed="blank" if arguments.blank else "drop",
            on_suppressed=None if arguments.suppress_below is None else lambda *n: counted.append(n),
            progress=report,
        )
    if arguments.json:
        print_json(
            {
                "file": arguments.output,
                "bytes": os.path.getsize(output),
                "configuration": configuration.name,
                **({"suppressed": counted[0][0]} if counted else {}),
                "masks": {name: mask.to_spec() for name, mask in configuration.items()},
            }
        )
        return
    masks = ", ".join(f"{name} {mask!r}" for name, mask in configuration.items())
    make_console().print(
        f"{arguments.source} masked by {configuration.name!r} ({masks}): written to {arguments.output} "
        f"({size_of(output)})",
        soft_wrap=True,
    )
    for gone, n_records in counted:
        make_console().print(
            f"{gone:,} of {n_records:,} records are suppressed, because fewer than "
            f"{arguments.suppress_below:,} share their masked values.",
            soft_wrap=True,
        )


def _print_sql(arguments: argparse.Namespace, configuration: Configuration) -> None:
    table = arguments.table or Path(arguments.source).name.partition(".")[0]
    with progress(arguments, f"reading {arguments.source}"):
        domains = source_domains(arguments.source, configuration)
        sql = configuration.to_sql(
            arguments.sql,
            table,
            columns(arguments.source),
            domains,
            suppress_below=arguments.suppress_below,
            quasi_identifiers=arguments.quasi_identifier,
        )
    if arguments.json:
        print_json({"configuration": configuration.name, "dialect": arguments.sql, "sql": sql})
    else:
        print(sql)


def _chosen(arguments: argparse.Namespace) -> Configuration:
    configurations = load_configurations(arguments.configurations)
    if arguments.name is not None:
        return configurations[arguments.name]
    if len(configurations) > 1:
        raise ConfigurationError(
            f"{arguments.configurations} holds {len(configurations)} configurations: choose one with --name "
            f"({listing(list(configurations))})"
        )
    return next(iter(configurations.values()))
