"""The command `audit`: what a summary discloses about the raw joint tables."""

from __future__ import annotations

import argparse

from aegis_opt._files import atomic_path, check_outputs
from aegis_opt.advisor._advise import read_summary
from aegis_opt.cli._labels import one_label
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
from aegis_opt.disclosure._card import LEFT, columns_of, conclusion_of, rows_of
from aegis_opt.release._formulas import frame_without_formulas

_MOST_SHOWN = 10


def run_audit(arguments: argparse.Namespace) -> None:
    """Audit a summary and show what it gives away."""
    check_outputs([arguments.cells], [arguments.summary])
    with stoppable(), progress(arguments, f"auditing {arguments.summary}") as report:
        source = one_label(arguments, read_summary(arguments.summary)[0])
        found = audit(source, small=arguments.small, progress=report)
        if arguments.cells is not None:
            with atomic_path(arguments.cells) as temporary:
                if arguments.cells.lower().endswith(".csv"):
                    cells = frame_without_formulas(found.cells) if arguments.escape_formulas else found.cells
                    cells.to_csv(temporary, index=False)
                else:
                    found.cells.astype({"label": str}).to_parquet(temporary, index=False)
    if arguments.json:
        print_json(found.to_dict())
    else:
        _show(arguments, found)


def _show(arguments: argparse.Namespace, found: Audit) -> None:
    console = make_console()
    table = make_table(*columns_of(found), left=LEFT)
    for row in rows_of(found):
        table.add_row(*row)
    show_table(console, table)
    subtracted = found.differences[found.differences["small_cells"] > 0]
    facts = [("Conclusion", conclusion_of(found))]
    facts += [
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
    if arguments.cells is not None:
        facts.append(("Cells", arguments.cells))
    show_facts(console, facts)
