"""The commands and their options. Nothing heavy is imported to print a help text or to refuse wrong usage."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from typing import Any, TypeAlias

from aegis_opt.cli._arguments import (
    attribute_order,
    check_orders,
    check_protection,
    column_domain,
    file_ending_in,
    key_value,
    label_bins,
    label_kind,
    number,
    number_or_all,
    number_or_word,
    of_label,
    privacy_rule,
    refuse_given,
    whole_number,
)

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DEMO_ROWS = 10_000
VERIFY_SECONDS = 300.0
"""As in `aegis_opt.privacy.verify_certificate`, which takes long to import."""

_BINS = "make classes of a label of numbers: N quantiles, or between edges such as 10,20.5"
_SOURCE = "CSV, TSV (also .gz) or Parquet file, or a quoted pattern such as 'part-*.parquet'"

_ESCAPE: dict[str, Any] = {
    "action": "store_true",
    "default": None,
    "help": "put ' before texts of a CSV file that a spreadsheet would take for a formula",
}

_STEPS = """\
typical steps:
  configurations to choose from:
    aegis-opt generate people.csv --label income -o masks.yaml
  what the provider shares:
    aegis-opt summarize people.csv --configurations masks.yaml -o summary.json
  which configuration to use:
    aegis-opt advise summary.json

exit codes: 0 success, 1 failure (the reason is on stderr), 2 wrong usage
"""

_ADVICE = """\
The deviation of a configuration is the mean over the attributes of |rho(A; Y) - rho(mask(A); Y)|, where rho
is the measure. It says how much predictive utility masking costs; less is better.

The exit code is 0 even if no winner can be named, because the estimate cannot tell the configurations apart.
The output then says why and what to use instead ("best" is null in --json).
"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Fill paragraphs to the width, keep indented lines, and fit the first column to the longest command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.strip().split("\n\n")
        filled = (part if "\n " in part else textwrap.fill(part, width) for part in paragraphs)
        return textwrap.indent("\n\n".join(filled) + "\n", indent)


class _Version(argparse.Action):
    """Print the version; it is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"aegis-opt {version('aegis-opt')}")
        parser.exit()


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
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for add in (
        _demo,
        _generate,
        _summarize,
        _audit,
        _advise,
        _check,
        _search,
        _verify,
        _mask,
        _compare,
        _report,
        _solvers,
    ):
        add(commands)
    return parser


def _demo(commands: Commands) -> None:
    add = _add_command(
        commands,
        "demo",
        "go from raw records to advice on synthetic data, offline",
        "clinic ranks twelve configurations of a synthetic clinic. The demo makes the raw table itself, so\n"
        "it also shows the truth, which an advisor never sees. worked-example prints the numbers of the\n"
        "Aegis paper's example of 100 people.",
        _check_demo,
    ).add_argument
    add("--data", choices=("clinic", "worked-example"), default="clinic", help="data set (default clinic)")
    add("--output", type=_folder, default="out", metavar="DIR", help="folder for the files (default out)")
    add("--rows", type=whole_number(1), metavar="N", help=f"number of patients (default {DEMO_ROWS})")
    add("--seed", **_seed("random seed of the clinic"))
    add("--measure", help="measure to rank the clinic's configurations by (default mi)")


def _check_demo(arguments: argparse.Namespace) -> None:
    if arguments.data == "worked-example":
        fixed = {"--rows": arguments.rows, "--seed": arguments.seed, "--measure": arguments.measure}
        refuse_given(arguments, fixed, "the worked example is fixed; leave it out or use --data clinic")


def _generate(commands: Commands) -> None:
    add = _add_command(
        commands,
        "generate",
        "draw masking configurations that fit a table",
        "Equal seeds give equal configurations. The label is never masked.",
        _check_generate,
    ).add_argument
    add("source", metavar="SOURCE", help=_SOURCE)
    add("--label", required=True, help="column of the class label")
    add("-n", type=whole_number(1), metavar="N", help="number of configurations (default 50)")
    add("--seed", **_seed("random seed of the draw"))
    strength = "light, medium, strong, or an information loss from 0 to 1 (default medium)"
    add("--strength", type=number_or_word, help=strength)
    only = "mask only this column; may be repeated (default: all but the label)"
    add("--attribute", action="append", default=[], metavar="NAME", help=only)
    add("--all", action="store_true", help="write every combination of candidate masks instead")
    learn = "learn the hierarchies of categories from the label; the masks then tell something about it"
    add("--learn-from-label", action="store_true", help=learn)
    add("--no-identity", action="store_true", help="leave no column of categories as it is")
    _order(add)
    add("-o", "--output", required=True, **_file("configuration file to write", ".json", ".yaml", ".yml"))


def _order(add: Callable[..., Any]) -> None:
    """Add the options that declare orders."""
    order = (
        "order of an attribute's values, from first to last, or ascending, hierarchy or nominal in their "
        "place; may be repeated"
    )
    add("--order", type=attribute_order, action="append", default=[], metavar="NAME=A,B,C", help=order)
    nominal = "attribute whose values have no order; may be repeated"
    add("--nominal", action="append", default=[], metavar="NAME", help=nominal)


def _check_generate(arguments: argparse.Namespace) -> None:
    check_orders(arguments)
    if arguments.all:
        drawn = {"-n": arguments.n, "--seed": arguments.seed, "--strength": arguments.strength}
        refuse_given(arguments, drawn, "--all draws nothing at random")


def _summarize(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "summarize",
        "scan a table once and write what may be shared about it",
        "The summary holds masked joint tables, the label counts and, on request, histograms:\n"
        "how often each value of an attribute occurs. Columns that no configuration masks are not read.\n"
        "Numbers and dates are ordered by value and texts are nominal, unless --order, --nominal or the\n"
        "configurations say otherwise.",
        check_protection,
    )
    add = parser.add_argument
    add("source", metavar="SOURCE", help=_SOURCE)
    label = "column of the label; may be repeated for several (default: the one that the configurations name)"
    add("--label", action="append", help=label)
    bins = f"{_BINS}; of one label of several, NAME=N"
    add("--label-bins", type=of_label(label_bins), action="append", metavar="N", help=bins)
    kind = "class (the default) or number, which is predicted itself; of one label of several, NAME=number"
    add("--label-kind", type=of_label(label_kind), action="append", metavar="KIND", help=kind)
    add("--configurations", required=True, metavar="FILE", help="configuration file")
    histograms = parser.add_mutually_exclusive_group()
    every = "share how often each value of an attribute occurs"
    histograms.add_argument("--histograms", action="store_true", help=every)
    some = "share that of this attribute; may be repeated"
    histograms.add_argument("--histogram", action="append", metavar="NAME", help=some)
    histograms.add_argument("--no-histograms", action="store_true", help="share none (the default)")
    values = parser.add_mutually_exclusive_group()
    every = "share the values of attributes without how often each occurs"
    values.add_argument("--values", action="store_true", help=every)
    some = "share those of this attribute; may be repeated"
    values.add_argument("--values-of", action="append", metavar="ATTRIBUTE", help=some)
    _order(add)
    share = "masked tables, numbers in their place, or both (default tables; scores of a number)"
    add("--share", choices=("tables", "scores", "both"), help=share)
    scores = "score of all masked attributes together; may be repeated (default r2_gcv and r2_cv)"
    add("--score", action="append", metavar="NAME", help=scores)
    measures = (
        "measure of each masked attribute; may be repeated (default mi, mi_loo and g3; eta2 of a number)"
    )
    add("--measure", action="append", metavar="NAME", help=measures)
    add("--unmasked", action="store_true", help="share the measures without a mask, for exact deviations")
    add("--digits", type=whole_number(1), metavar="N", help="significant digits of the numbers (default all)")
    add("--explain", action="store_true", help="share what each mask costs, for advise --explain")
    _rules(add, "--rule")
    epsilon = "add noise to every count: differentially private with this loss in all (needs opendp)"
    add("--epsilon", type=number, metavar="E", help=epsilon)
    mechanism = "kind of noise (default geometric)"
    add("--mechanism", choices=("geometric", "gaussian"), help=mechanism)
    add("--delta", type=number, metavar="D", help="delta of gaussian noise (default 1e-6)")
    add("--base", type=whole_number(2), metavar="B", help="round every count to a multiple of B next to it")
    domain = "all values that a column may have, the label's too; noise needs them of every column"
    add("--domain", type=column_domain, action="append", default=[], metavar="NAME=A,B", help=domain)
    missing = "column whose values may be missing; may be repeated"
    add("--missing", action="append", default=[], metavar="NAME", help=missing)
    coarsen = "most distinct values of a column (default: no limit)"
    add("--max-values", type=whole_number(10), metavar="N", help=coarsen)
    add("--on-many-values", choices=("coarsen", "error"), help="what to do with more (default coarsen)")
    add("--memory", metavar="SIZE", help="memory limit of the scan, such as 1GB")
    add("-o", "--output", required=True, **_file("summary to write", ".json", ".json.gz"))


def _advise(commands: Commands) -> None:
    add = _add_command(
        commands,
        "advise",
        "rank configurations by the predictive utility they lose",
        _ADVICE,
        _check_advise,
    ).add_argument
    add("summary", metavar="SUMMARY", help="summary file (.json, .json.gz)")
    add("--label", help="of a file of several labels, this one alone (default: all of them together)")
    measure = (
        "measure, or score that was shared (default auto: the best judge of models; see aegis-opt solvers)"
    )
    add("--measure", default="auto", help=measure)
    add("--solver", help="solver for the reconstruction (default ipf; see aegis-opt solvers)")
    scope = "reconstruct from all views together, or from each configuration's own (default pooled)"
    add("--scope", choices=("pooled", "single"), help=scope)
    add("--rounding", help="rounding to whole numbers (default none; see aegis-opt solvers)")
    add("--seed", **_seed("random seed"))
    add("--replicates", type=whole_number(1), metavar="R", help="runs of a random estimate (default 20)")
    add("--no-histograms", action="store_true", help="ignore the histograms of the summary")
    option = "solver option, such as norm=l1; may be repeated"
    add("--option", type=key_value, action="append", default=[], metavar="KEY=VALUE", help=option)
    top = "number of places to show, or all (default 10; --json always shows all, --plot 50)"
    add("--top", type=number_or_all, default=10, metavar="N", help=top)
    bootstrap = "resample the tables so often, to say what they cannot tell apart (such as 200)"
    add("--bootstrap", type=whole_number(2), metavar="B", help=bootstrap)
    required = "privacy rule that configurations must satisfy, such as k=5; its figures must be shared"
    add("--require", **_rule(required))
    add("--by-attribute", action="store_true", help="also show the deviation of each attribute")
    add("--chance", action="store_true", help="warn of attributes whose measure is mostly chance")
    explain = (
        "show what each mask of a configuration costs, and the change that gains most (default: the best)"
    )
    add("--explain", nargs="?", const=True, metavar="CONFIGURATION", help=explain)
    add("--report", **_file("decision record to write: a page to read, print and sign", ".html", ".htm"))
    add("--plot", **_file("picture of the ranking to write", ".png", ".svg", ".pdf", ".html"))


def _check_advise(arguments: argparse.Namespace) -> None:
    keys = [key for key, _ in arguments.option]
    for key in keys:
        if keys.count(key) > 1:
            arguments.refuse(f"argument --option: {key} is given twice")
        if key in ("measure", "solver", "scope", "rounding", "seed", "replicates", "bootstrap"):
            arguments.refuse(f"argument --option: {key} is no option of the solver, write --{key}")


def _audit(commands: Commands) -> None:
    add = _add_command(
        commands,
        "audit",
        "show what a summary discloses, before it is shared",
        "A count of the raw joint table of an attribute and the label is pinned where every table that\n"
        "agrees with all that is shared has the same. Small pinned counts may point at persons.",
        _check_audit,
    ).add_argument
    add("summary", metavar="SUMMARY", help="summary file (.json, .json.gz)")
    add("--label", help="of a file of several labels, the one to audit")
    add("--small", type=whole_number(2), default=5, metavar="N", help="counts below are small (default 5)")
    add("--cells", **_file("table of the range of every cell to write", ".csv", ".parquet"))
    add("--escape-formulas", **_ESCAPE)


def _check_audit(arguments: argparse.Namespace) -> None:
    if not (arguments.cells or "").lower().endswith(".csv"):
        given = {"--escape-formulas": arguments.escape_formulas}
        refuse_given(arguments, given, "it is for a CSV file of --cells")


def _check(commands: Commands) -> None:
    add = _add_command(
        commands,
        "check",
        "check which configurations satisfy privacy rules",
        "Records whose masked quasi-identifiers are all equal form a class. Each rule is about the classes:\n"
        "k=5 asks for 5 records in each, l=2 for two sensitive values (kind=entropy or recursive), t=0.2\n"
        "for almost the shares of the whole table (ordered=true), delta=1 and beta=1 for shares that differ\n"
        "by no more than that. The exit code is 0 whether or not they hold.",
        check_orders,
    ).add_argument
    add("source", metavar="SOURCE", help=_SOURCE)
    add("--configurations", required=True, metavar="FILE", help="configuration file")
    add("--label", help="column of the class label (default: the one that the configurations name)")
    _rules(add, "--rule", required=True)
    _order(add)


def _search(commands: Commands) -> None:
    add = _add_command(
        commands,
        "search",
        "find the best configuration of all combinations, with a proof",
        "The folder has one hierarchy per attribute in it, ATTRIBUTE.csv: no header, one row per value,\n"
        "the value and then ever coarser ones. Of all combinations of levels that satisfy the privacy\n"
        "rules, the one that loses least of the measure is found, and proved if there is time. Ctrl-C\n"
        "shows the best so far with its gap.",
        check_orders,
    ).add_argument
    add("source", metavar="SOURCE", help=_SOURCE)
    add("--label", required=True, help="column of the class label")
    add("--hierarchies", required=True, metavar="FOLDER", help="folder of hierarchies, ATTRIBUTE.csv")
    only = "search only this attribute; may be repeated (default: all that have a hierarchy)"
    add("--attribute", action="append", metavar="NAME", help=only)
    add("--k", type=whole_number(1), metavar="K", help="records that every class must have (default 5)")
    _rules(add, "--rule")
    add("--measure", default="mi", help="measure that is to be kept (default mi; see aegis-opt solvers)")
    add("--time-limit", type=float, metavar="SECONDS", help="time after which the best so far is shown")
    add("--seed", **_seed("seed of the random numbers that stand for classes"))
    _order(add)
    add("-o", "--output", **_file("configuration file to write", ".json", ".yaml", ".yml"))
    add("--certificate", **_file("certificate to write", ".json"))


def _verify(commands: Commands) -> None:
    add = _add_command(
        commands,
        "verify",
        "verify the certificate of a search",
        "The certificate is compared with the table by counts, and its clauses are solved as an integer\n"
        "program; no code of the search is used. The exit code is 0 only if it is a proof.",
    ).add_argument
    add("certificate", metavar="CERTIFICATE", help="certificate that search has written (.json)")
    add("source", metavar="SOURCE", help=_SOURCE)
    limit = f"time after which the verification is given up (default {VERIFY_SECONDS:g})"
    add("--time-limit", type=float, default=VERIFY_SECONDS, metavar="SECONDS", help=limit)


def _rules(add: Callable[..., Any], option: str, *, required: bool = False) -> None:
    """Add the options of privacy rules that are checked on a table."""
    add(option, **_rule("privacy rule, such as k=5 or l=2,kind=entropy"), required=required)
    known = "column that an attacker may know; may be repeated (default: all that are masked)"
    add("--quasi-identifier", action="append", metavar="NAME", help=known)
    add("--sensitive", metavar="NAME", help="column that nobody may learn (default: the label)")
    share = "share of the records that may be suppressed (default 0)"
    add("--suppression", type=float, metavar="SHARE", help=share)


def _rule(what: str) -> dict[str, Any]:
    return {"type": privacy_rule, "action": "append", "metavar": "RULE", "help": f"{what}; may be repeated"}


def _mask(commands: Commands) -> None:
    parser = _add_command(
        commands,
        "mask",
        "mask a table with one configuration",
        "Unmasked columns and the order of the rows stay as they are.",
        _check_mask,
    )
    parser.add_argument("source", metavar="SOURCE", help=_SOURCE)
    parser.add_argument("--configurations", required=True, metavar="FILE", help="configuration file")
    parser.add_argument("--name", help="name of the configuration (default: the only one in the file)")
    result = parser.add_mutually_exclusive_group(required=True)
    tables = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")
    result.add_argument("-o", "--output", **_file("masked table to write", *tables))
    dialects = ("duckdb", "postgresql", "snowflake", "spark")
    result.add_argument("--sql", choices=dialects, help="print a SELECT that masks the table instead")
    parser.add_argument("--table", metavar="NAME", help="table name in --sql (default: that of the source)")
    parser.add_argument("--escape-formulas", **_ESCAPE)
    below = "suppress the records of classes with fewer than K records"
    parser.add_argument("--suppress-below", type=whole_number(1), metavar="K", help=below)
    known = "column that an attacker may know; may be repeated (default: all that are masked)"
    parser.add_argument("--quasi-identifier", action="append", metavar="NAME", help=known)
    blank = "keep suppressed records, with missing values in place of their quasi-identifiers"
    parser.add_argument("--blank", action="store_true", default=None, help=blank)


def _check_mask(arguments: argparse.Namespace) -> None:
    if arguments.sql is None:
        refuse_given(arguments, {"--table": arguments.table}, "it is the table of --sql")
    suppression = {"--quasi-identifier": arguments.quasi_identifier, "--blank": arguments.blank}
    if arguments.suppress_below is None:
        refuse_given(arguments, suppression, "it is about --suppress-below")
    if arguments.sql is not None:
        refuse_given(arguments, {"--blank": arguments.blank}, "the SELECT leaves suppressed records out")
    if arguments.sql is not None or arguments.output.lower().endswith((".parquet", ".pq")):
        refuse_given(
            arguments, {"--escape-formulas": arguments.escape_formulas}, "it is for CSV and TSV files"
        )


def _compare(commands: Commands) -> None:
    add = _add_command(
        commands,
        "compare",
        "compare solvers, norms and roundings with the truth on raw data",
        "Each combination is a complete run of the advisor. Repeat the command to continue a comparison\n"
        "that was stopped. Results of another source with the same output folder are added to it.",
    ).add_argument
    add("source", metavar="SOURCE", help=_SOURCE)
    add("--label", help="column of the class label (default: the one that the configurations name)")
    add("--label-bins", type=label_bins, metavar="N", help=_BINS)
    add("--configurations", metavar="FILE", required=True, help="configuration file")
    add("--name", help="name of the data set in the results (default: that of the file)")
    lists = {
        "--solver": "such as ipf, integer:l2, ipf+controlled, convex:l1+nearest[engine=HIGHS]; also ipfn, "
        "humanleague, humanleague-integerise, sinkhorn, and random, the baseline",
        "--measure": "measure to preserve (default mi, chi2, g3)",
        "--norm": "norm for each solver that does not name one",
        "--rounding": "rounding for each solver that does not name one, or none",
    }
    for option, text in lists.items():
        add(option, action="append", metavar="NAME", help=f"{text}; may be repeated")
    add("--scope", action="append", choices=("pooled", "single"), help="default both; may be repeated")
    add("--histograms", choices=("with", "without", "both"), help="use of histograms (default both)")
    add("--seed", action="append", **_seed("random seed; may be repeated"))
    add("--replicates", type=whole_number(1), metavar="R", help="runs of a random estimate (default 1)")
    add("--jobs", type=whole_number(1), metavar="N", help="number of processes (default 1)")
    limit = "seconds for each advisor run and each reconstruction (default none)"
    add("--time-limit", type=float, metavar="S", help=limit)
    add("-o", "--output", required=True, type=_folder, metavar="DIR", help="folder for the results")
    for option in ("--experiment", "--classifier", "--hierarchies", "--small"):
        add(option, nargs="?", action=_Moved, help=argparse.SUPPRESS)


def _report(commands: Commands) -> None:
    add = _add_command(
        commands,
        "report",
        "show a comparison as one page with tables and figures",
        "The page needs only a browser: it contains its data and loads nothing.",
    ).add_argument
    add("results", metavar="RESULTS", help="folder that aegis-opt compare has written")
    page = _file("page to write; default report.html", ".html", ".htm")
    add("-o", "--output", default="report.html", **page)
    add("--figures", type=_folder, metavar="DIR", help="also save each figure as PNG and SVG in this folder")


def _solvers(commands: Commands) -> None:
    _add_command(
        commands,
        "solvers",
        "list the solvers, roundings and measures that can be chosen",
        "To set a solver option, pass --option KEY=VALUE to aegis-opt advise.",
    )


def _folder(text: str) -> str:
    """Read the name of a folder to write to."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder, not ''")
    return text


def _seed(what: str) -> dict[str, Any]:
    return {"type": whole_number(0), "metavar": "S", "help": f"{what} (default 0)"}


def _file(what: str, *endings: str) -> dict[str, Any]:
    return {"type": file_ending_in(*endings), "metavar": "FILE", "help": f"{what} ({', '.join(endings)})"}


def _add_command(
    commands: Commands,
    name: str,
    summary: str,
    details: str = "",
    check: Callable[[argparse.Namespace], None] | None = None,
) -> argparse.ArgumentParser:
    """Add a command with the options that all of them have; `check` refuses what does not go together."""
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
    parser.set_defaults(check=check, refuse=parser.error)
    return parser
