"""The command `check`: which configurations satisfy privacy rules."""

from __future__ import annotations

import argparse
import math
from typing import Any

import pandas as pd

from aegis_opt.cli._arguments import orders_of
from aegis_opt.cli._output import (
    listing,
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
    stoppable,
)
from aegis_opt.privacy import PrivacyRule, check_privacy
from aegis_opt.privacy._written import rule_from_spec, rule_text

_MOST_WITNESSES = 5


def run_check(arguments: argparse.Namespace) -> None:
    """Check the configurations and show one row for each."""
    rules = [rule_from_spec(spec) for spec in arguments.rule]
    with stoppable(), progress(arguments, f"checking {arguments.source}") as report:
        found = check_privacy(
            arguments.source,
            arguments.configurations,
            rules,
            label=arguments.label,
            quasi_identifiers=arguments.quasi_identifier,
            sensitive=arguments.sensitive,
            suppression=arguments.suppression or 0.0,
            order=orders_of(arguments) or None,
            progress=report,
        )
    if arguments.json:
        rows = [{str(name): _json(value) for name, value in row.items()} for row in found.to_dict("records")]
        print_json({"rules": [rule_text(rule) for rule in rules], "configurations": rows})
    else:
        _show(found, rules)


def _show(found: pd.DataFrame, rules: list[PrivacyRule]) -> None:
    console = make_console()
    names = [rule_text(rule) for rule in rules]
    table = make_table(
        *("configuration", "private", "classes", "smallest", "suppressed"),
        *names,
        left=["configuration", "private"],
    )
    for row in found.to_dict("records"):
        figures = [f"{row[rule.column]:.4g}{'' if row[f'{rule.column}_holds'] else ' no'}" for rule in rules]
        table.add_row(
            row["configuration"],
            "yes" if row["private"] else "no",
            f"{row['classes']:,}",
            f"{row['smallest_class']:,}",
            f"{row['suppressed']:,}",
            *figures,
        )
    show_table(console, table)
    facts = [("Private", f"{int(found['private'].sum())} of {len(found)} configurations")]
    for rule, name in zip(rules, names, strict=True):
        broken = found[found[f"{rule.column}_witness"].notna()]
        for row in broken.head(_MOST_WITNESSES).to_dict("records"):
            values, size = row[f"{rule.column}_witness"]
            shown = listing([f"{attribute} = {value}" for attribute, value in values.items()])
            facts.append((name, f"{row['configuration']}: {size} record{'s' * (size != 1)} with {shown}"))
    show_facts(console, facts)


def _json(value: Any) -> Any:
    """Return a value as JSON holds it; an infinite figure is null."""
    if isinstance(value, tuple):
        return {"values": value[0], "records": value[1]}
    return None if isinstance(value, float) and not math.isfinite(value) else value
