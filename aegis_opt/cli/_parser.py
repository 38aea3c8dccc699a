"""The commands and their arguments; nothing heavy is imported to print a help text."""

from __future__ import annotations

import argparse
from importlib.metadata import version
from typing import TypeAlias

from aegis_opt.cli._arguments import file_ending_in, key_value, number_or_all, number_or_word, whole_number

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DEMO_ROWS = 10_000

_PICTURES = (".png", ".pdf", ".svg")
_SOURCE = "CSV, TSV (also .gz) or Parquet file, or a quoted pattern such as 'part-*.parquet'"

_STEPS = """\
one after the other:
  aegis-opt generate people.csv --label income -o masks.yaml      configurations to choose from
  aegis-opt summarize people.csv --configurations masks.yaml -o summary.json
                                                                  what the provider shares
  aegis-opt advise summary.json                                   which configuration to take

exit codes: 0 it worked, 1 it did not (the reason is on stderr), 2 wrong usage
"""

_ADVICE = """\
The deviation of a configuration is the mean over the attributes of |rho(A; Y) - rho(mask(A); Y)|, rho being
the measure: what masking costs in predictive utility. Less is better.

Exit code 0 also where no winner can be named: the estimate then cannot tell, and the answer says why and
what to use instead ("best" is null in --json).
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keep line breaks, and leave room for the longest command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)


class _Moved(argparse.Action):
    """An option of the paper's experiments, which are no longer part of this command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.error(
            f"{self.option_strings[0]}: the paper's experiments are run by python -m benchmarks.paper in the "
            "repository of aegis-opt"
        )


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="aegis-opt",
        description="Choose the data masking that keeps features predictive, from summaries alone.",
        epilog=_STEPS,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("-V", "--version", action="version", version=f"aegis-opt {version('aegis-opt')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_demo, _generate, _summarize, _advise, _mask, _compare, _report, _solvers):
        add(commands)
    return parser


def _demo(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "demo",
        "demo.run_demo",
        "tell the whole story on made-up data, offline",
        "clinic: twelve configurations of a synthetic clinic, ranked; as the demo has made the raw table,\n"
        "it also shows the truth that an advisor never sees. worked-example: the numbers of the Aegis\n"
        "paper's example of 100 people.",
    )
    parser.add_argument(
        "--data", choices=("clinic", "worked-example"), default="clinic", help="default clinic"
    )
    parser.add_argument(
        "--output", type=_folder, default="out", metavar="DIR", help="folder for what is made (default out)"
    )
    parser.add_argument(
        "--rows", type=whole_number(1), metavar="N", help=f"patients of the clinic (default {DEMO_ROWS})"
    )
    parser.add_argument("--seed", type=whole_number(0), metavar="S", help="of the clinic (default 0)")
    parser.add_argument("--measure", help="to rank the clinic's configurations by (default mi)")


def _generate(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "generate",
        "provider.run_generate",
        "draw masking configurations that fit a table",
        "Equal seeds give equal configurations. The label is never masked.",
    )
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE)
    parser.add_argument("--label", required=True, help="column of the class label")
    parser.add_argument("-n", type=whole_number(1), metavar="N", help="how many configurations (default 50)")
    parser.add_argument("--seed", type=whole_number(0), metavar="S", help="of the random draw (default 0)")
    parser.add_argument(
        "--strength",
        type=number_or_word,
        help="light, medium, strong, or the information loss from 0 to 1 (default medium)",
    )
    parser.add_argument(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME",
        help="mask only this column; may be repeated (default: all but the label)",
    )
    parser.add_argument("--all", action="store_true", help="list every combination of candidate masks")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=file_ending_in(".json", ".yaml", ".yml"),
        metavar="FILE",
        help="configuration file to write (.json, .yaml)",
    )


def _summarize(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "summarize",
        "provider.run_summarize",
        "scan a table once and write what may be shared about it",
        "The summary holds masked joint tables, the label counts and (unless told otherwise) how often each\n"
        "value of an attribute occurs. Columns that no configuration masks are not read.",
    )
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE)
    parser.add_argument("--label", help="column of the class label (default: as the configurations say)")
    parser.add_argument("--configurations", required=True, metavar="FILE", help="configuration file")
    parser.add_argument(
        "--no-histograms", action="store_true", help="do not share the values and their counts"
    )
    parser.add_argument(
        "--max-values",
        type=whole_number(10),
        metavar="N",
        help="coarsen columns of more distinct values (default: every value counts)",
    )
    parser.add_argument(
        "--on-many-values", choices=("coarsen", "error"), help="beyond --max-values (default coarsen)"
    )
    parser.add_argument("--memory", metavar="SIZE", help="limit of the memory of the scan, such as 1GB")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=file_ending_in(".json", ".json.gz"),
        metavar="FILE",
        help="summary to write (.json, .json.gz)",
    )


def _advise(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "advise",
        "advise.run_advise",
        "rank configurations by the predictive utility they lose",
        _ADVICE,
    )
    parser.add_argument("summary", metavar="SUMMARY", help="summary file (.json, .json.gz)")
    parser.add_argument("--measure", default="mi", help="what to keep (default mi; see aegis-opt solvers)")
    parser.add_argument(
        "--solver", default="ipf", help="how to reconstruct (default ipf; see aegis-opt solvers)"
    )
    parser.add_argument(
        "--scope",
        choices=("pooled", "single"),
        default="pooled",
        help="reconstruct from all views together, or each configuration from its own (default pooled)",
    )
    parser.add_argument(
        "--rounding", help="how to make tables whole (default: not at all; see aegis-opt solvers)"
    )
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="S", help="of what is random (default 0)"
    )
    parser.add_argument(
        "--replicates", type=whole_number(1), metavar="R", help="of a random estimate (default 20)"
    )
    parser.add_argument("--no-histograms", action="store_true", help="do as if no histograms were shared")
    parser.add_argument(
        "--option",
        type=key_value,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the solver, such as norm=l1; may be repeated",
    )
    parser.add_argument(
        "--top",
        type=number_or_all,
        default=10,
        metavar="N",
        help="places to show, or all (default 10; --json and --plot have all)",
    )
    parser.add_argument("--by-attribute", action="store_true", help="show each attribute's deviation too")
    parser.add_argument(
        "--plot",
        type=file_ending_in(*_PICTURES),
        metavar="FILE",
        help=f"draw the ranking ({', '.join(_PICTURES)})",
    )


def _mask(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "mask",
        "mask.run_mask",
        "mask a table by one configuration",
        "Columns that are not masked, and the order of the rows, stay as they are.",
    )
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE)
    parser.add_argument("--configurations", required=True, metavar="FILE", help="configuration file")
    parser.add_argument("--name", help="of the configuration (default: the only one in the file)")
    result = parser.add_mutually_exclusive_group(required=True)
    result.add_argument(
        "-o",
        "--output",
        type=file_ending_in(".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq"),
        metavar="FILE",
        help="masked table to write (.csv, .tsv, also .gz; .parquet)",
    )
    result.add_argument(
        "--sql",
        choices=("duckdb", "postgresql", "snowflake", "spark"),
        help="print the SELECT that masks such a table instead",
    )
    parser.add_argument("--table", metavar="NAME", help="of --sql (default: as the source is called)")


def _compare(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "compare",
        "compare.run_compare",
        "judge solvers, norms and roundings by the truth, on raw data",
        "Each combination is a complete run of the advisor. A run that was stopped is continued by the same\n"
        "command; another source with the same output folder is added to it.",
    )
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE)
    parser.add_argument("--label", help="column of the class label (default: as the configurations say)")
    parser.add_argument("--configurations", metavar="FILE", required=True, help="configuration file")
    parser.add_argument("--name", help="of the data set in the results (default: as the file is called)")
    lists = {
        "--solver": "such as ipf, integer:l2, ipf+controlled, convex:l1+nearest[engine=HIGHS]; also ipfn, "
        "humanleague, humanleague-integerise, sinkhorn, and random, the baseline",
        "--measure": "what to keep (default mi, chi2, g3)",
        "--norm": "for each solver that leaves it open",
        "--rounding": "for each solver that leaves it open; none is one",
    }
    for option, text in lists.items():
        parser.add_argument(option, action="append", metavar="NAME", help=f"{text}; may be repeated")
    parser.add_argument(
        "--scope", action="append", choices=("pooled", "single"), help="may be repeated (default both)"
    )
    parser.add_argument("--histograms", choices=("with", "without", "both"), help="default both")
    parser.add_argument(
        "--seed",
        type=whole_number(0),
        action="append",
        metavar="S",
        help="of what is random; may be repeated (default 0)",
    )
    parser.add_argument(
        "--replicates", type=whole_number(1), metavar="R", help="of a random estimate (default 1)"
    )
    parser.add_argument("--jobs", type=whole_number(1), metavar="N", help="processes (default 1)")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help="seconds for each advisor run and each reconstruction (default none)",
    )
    parser.add_argument("-o", "--output", required=True, type=_folder, metavar="DIR", help="results folder")
    for option in ("--experiment", "--classifier", "--hierarchies", "--small"):
        parser.add_argument(option, nargs="?", action=_Moved, help=argparse.SUPPRESS)


def _report(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "report",
        "report.run_report",
        "show a comparison as one page with tables and figures",
        "The page needs nothing but a browser: it holds its data and loads nothing.",
    )
    parser.add_argument("results", metavar="RESULTS", help="folder that aegis-opt compare has written")
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        type=file_ending_in(".html", ".htm"),
        metavar="FILE",
        help="page to write (default report.html)",
    )
    parser.add_argument(
        "--figures", type=_folder, metavar="DIR", help="also save each figure as PNG and SVG in this folder"
    )


def _solvers(commands: Commands) -> None:
    _add_command(
        commands,
        "solvers",
        "solvers.run_solvers",
        "list the solvers, roundings and measures that can be chosen",
        "Solver options are given as --option key=value to advise.",
    )


def _folder(text: str) -> str:
    """Read the name of a folder to write to."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder, not ''")
    return text


def _add_command(
    commands: Commands, name: str, run: str, summary: str, details: str = ""
) -> argparse.ArgumentParser:
    """Add a command with the options that all of them have; `run` is the module.function that does it."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=details or None,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of tables")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run, refuse=parser.error)
    return parser
