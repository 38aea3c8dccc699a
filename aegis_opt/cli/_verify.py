"""The command `verify`: whether a certificate is a proof."""

from __future__ import annotations

import argparse
import dataclasses

from aegis_opt.cli._output import make_console, print_json, progress, stoppable
from aegis_opt.privacy import verify_certificate


def run_verify(arguments: argparse.Namespace) -> None:
    """Verify a certificate; one that is no proof raises an error."""
    with stoppable(), progress(arguments, f"reading {arguments.source}") as report:
        found = verify_certificate(
            arguments.certificate, arguments.source, report, time_limit=arguments.time_limit
        )
    if arguments.json:
        print_json({"verified": True, **dataclasses.asdict(found)})
    else:
        make_console().print(str(found), soft_wrap=True)
