"""The command `audit`: what a summary discloses about the raw joint tables."""

from __future__ import annotations

import argparse

from aegis_opt._files import atomic_path
from aegis_opt.cli._output import (
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
    stoppable,
)
from aegis_opt.disclosure import Audit, audit

_MOST_SHOWN = 10


def run_audit(arguments: argparse.Namespace) -> None:
    """Audit a summary and show what it gives away."""
    with stoppable(), progress(arguments, f"auditing {arguments.summary}") as report:
        found = audit(arguments.summary, small=arguments.small, progress=report)
        if arguments.cells is not None:
            with atomic_path(arguments.cells) as temporary:
                if arguments.cells.lower().endswith(".csv"):
                    found.cells.to_csv(temporary, index=False)
                else:
                    found.cells.astype({"label": str}).to_parquet(temporary, index=False)
    if arguments.json:
        print_json(found.to_dict())
    else:
        _show(arguments, found)


def _show(arguments: argparse.Namespace, found: Audit) -> None:
    console = make_console()
    small = f"counts of 1 to {found.small - 1}"
    table = make_table(
        *("attribute", "cells pinned", "records in them", small, "values in clear", "exact"),
        left=["attribute", "values in clear", "exact"],
    )
    for row in found.attributes.itertuples(index=False):
        table.add_row(
            str(row.attribute),
            f"{row.pinned_cells:.1%}",
            f"{row.pinned_records:.1%}",
            f"{row.small_cells:,}",
            "yes" if row.values_in_clear else "no",
            "yes" if row.exact else "no",
        )
    show_table(console, table)
    subtracted = found.differences[found.differences["small_cells"] > 0]
    facts = [
        (
            "Subtraction",
            f"{row.attribute}: table {row.table} minus table {row.other_table} leaves {row.records} records "
            f"of {row.values} values, {row.small_cells} counts of 1 to {found.small - 1}",
        )
        for row in subtracted.head(_MOST_SHOWN).itertuples(index=False)
    ]
    facts += [
        (
            "Leave out",
            f"{row.attribute}: without table {row.table} ({row.mask}), which {row.configurations} "
            f"configurations use, {row.pinned_records:.1%} of the records are in pinned cells",
        )
        for row in found.tables[found.tables["step"] == 1].head(_MOST_SHOWN).itertuples(index=False)
    ]
    if not found.bounds:
        facts.append(("Tables", "none are shared, so no count is disclosed by them"))
    if arguments.cells is not None:
        facts.append(("Cells", arguments.cells))
    show_facts(console, facts)
