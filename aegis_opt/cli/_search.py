"""The command `search`: the best configuration of all combinations of levels."""

from __future__ import annotations

import argparse
from pathlib import Path

from aegis_opt._files import check_outputs
from aegis_opt._shown import shown
from aegis_opt.cli._arguments import orders_of
from aegis_opt.cli._output import (
    listing,
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
    size_of,
    stoppable,
)
from aegis_opt.errors import ConfigurationError
from aegis_opt.masks import Configurations, save_configurations
from aegis_opt.privacy import KAnonymity, PrivacyRule, SearchResult, search
from aegis_opt.privacy._lattice._candidates import hierarchy_files
from aegis_opt.privacy._written import rule_from_spec, rule_text
from aegis_opt.sources import columns
from aegis_opt.sources._files import paths_of

_K = 5


def run_search(arguments: argparse.Namespace) -> None:
    """Search, show what was found, and write what was asked for."""
    rules = _rules(arguments)
    files, unused = _files(arguments)
    read: list[str | Path] = [*paths_of(arguments.source), *files.values()]
    check_outputs([arguments.output, arguments.certificate], read)
    with stoppable(), progress(arguments, f"reading {arguments.source}") as report:
        found = search(
            arguments.source,
            arguments.label,
            files,
            rules,
            arguments.suppression or 0.0,
            arguments.measure,
            arguments.time_limit,
            quasi_identifiers=arguments.quasi_identifier,
            sensitive=arguments.sensitive,
            order=orders_of(arguments) or None,
            seed=arguments.seed or 0,
            progress=report,
        )
    if arguments.output is not None and found.best is not None:
        save_configurations(Configurations({"best": found.best}, label=arguments.label), arguments.output)
    if arguments.certificate is not None and found.proved:
        found.certificate.save(arguments.certificate)
    if arguments.json:
        written = {"rules": [rule_text(rule) for rule in rules], **found.to_dict(), "unused": unused}
        print_json(written)
    else:
        _show(arguments, found, unused)
    if found.interrupted:
        raise KeyboardInterrupt  # the exit code says so


def _rules(arguments: argparse.Namespace) -> list[PrivacyRule]:
    rules = [rule_from_spec(spec) for spec in arguments.rule or ()]
    if arguments.k is not None or not any(isinstance(rule, KAnonymity) for rule in rules):
        rules.insert(0, KAnonymity(_K if arguments.k is None else arguments.k))
    return rules


def _files(arguments: argparse.Namespace) -> tuple[dict[str, Path], list[str]]:
    """Return the hierarchies of columns, and the names of the files that are not used."""
    files = {path.stem: path for path in hierarchy_files(arguments.hierarchies)}
    known = columns(arguments.source)
    wanted = arguments.attribute
    if wanted is None:
        wanted = [name for name in known if name in files and name != arguments.label]
    for name in wanted:
        if name not in files:
            raise ConfigurationError(
                f"the folder {arguments.hierarchies!r} has no hierarchy of {shown(name)}: add {name}.csv"
            )
    if not wanted:
        raise ConfigurationError(
            f"no quasi-identifier: no file of {arguments.hierarchies!r} is called like a column of "
            f"{arguments.source!r} ({listing([*known])}); name them ATTRIBUTE.csv"
        )
    chosen = {name: files[name] for name in wanted}
    return chosen, [path.name for name, path in files.items() if name not in chosen]


def _show(arguments: argparse.Namespace, found: SearchResult, unused: list[str]) -> None:
    console = make_console()
    if found.best is not None:
        table = make_table("attribute", "level", "of", "masked values", "loss", left=["attribute"])
        for row in found.attributes.to_dict("records"):
            level, last, groups = row["candidate"], row["candidates"] - 1, f"{row['groups']:,}"
            table.add_row(row["attribute"], str(level), str(last), groups, f"{row['loss']:.6f}")
        show_table(console, table)
    facts = found.facts()
    if found.best is not None:
        facts.append(("r2_gcv", f"{found.r2_gcv:.4f} of all masked attributes together"))
    if arguments.output is not None and found.best is not None:
        facts.append(("Written", f"{arguments.output} ({size_of(arguments.output)})"))
    if arguments.certificate is not None:
        said = "not written, because the cost is not proved"
        if found.proved:
            said = f"{arguments.certificate} ({size_of(arguments.certificate)})"
        facts.append(("Certificate", said))
    if unused:
        facts.append(("Not used", listing(unused)))
    show_facts(console, facts)
