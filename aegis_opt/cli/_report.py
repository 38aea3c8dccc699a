"""The command `report`: a comparison as one page."""

from __future__ import annotations

import argparse

from aegis_opt._files import check_outputs
from aegis_opt.cli._output import make_console, print_json, progress, size_of
from aegis_opt.report import write_report


def run_report(arguments: argparse.Namespace) -> None:
    """Write the page and, if wanted, its figures."""
    check_outputs([arguments.output, arguments.figures])
    with progress(arguments, f"reporting {arguments.results}"):
        page, *figures = write_report(arguments.results, arguments.output, figures=arguments.figures)
    if arguments.json:
        print_json(
            {"file": str(page), "bytes": page.stat().st_size, "figures": [str(path) for path in figures]}
        )
        return
    console = make_console()
    console.print(f"Report written to {page} ({size_of(page)}): open it in a browser", soft_wrap=True)
    if figures:
        console.print(f"{len(figures)} figures written to {arguments.figures}", soft_wrap=True)
