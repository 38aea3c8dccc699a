"""The paper's evaluation again: `python -m benchmarks.paper NAME... --data DIR -o OUT`.

Without a name all of them run. Each experiment prints its tables with the paper's claims beside them and
writes CSV files and a figure.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from aegis_opt.cli._output import print_json, progress
from aegis_opt.errors import AegisError, MissingDependency, UnknownName
from aegis_opt.harness import Case
from benchmarks.inputs import machine
from benchmarks.paper.exhaustive import CLASSIFIERS
from benchmarks.paper.experiments import EXPERIMENTS, Settings, cases_in, run_experiment
from benchmarks.paper.research import run_research

RESEARCH = "research"
"""The research into distances, which is no experiment of the paper. It takes data sets, but needs none."""

NAMES = (*EXPERIMENTS, RESEARCH)
_RESEARCH_TAKES = ("seed", "n_jobs", "time_limit", "small")
_OPTIONS = {
    "measures": "--measure",
    "classifiers": "--classifier",
    "configurations": "--first",
    "seed": "--seed",
    "n_jobs": "--jobs",
    "repeats": "--repeats",
    "hierarchies": "--hierarchies",
    "small": "--small",
    "time_limit": "--time-limit",
}
"""The settings of an experiment, and the options that set them."""

_OF_SOURCE = ("--label", "--configurations", "--name")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the experiments asked for; return 1 if one of them failed. Wrong usage exits with code 2."""
    parser = make_parser()
    arguments = parser.parse_args(argv)
    named = [*arguments.names, *arguments.experiment]
    try:
        _check(parser, arguments, named)
        settings = _settings(arguments)
    except AegisError as error:
        parser.error(str(error))
    if not arguments.json:
        print(machine())
    failed = False
    for name in named or NAMES:
        start = time.perf_counter()
        try:
            _run(name, arguments, settings)
        except (AegisError, OSError) as error:
            if isinstance(error, MissingDependency) and not named:
                print(f"\n{name}: SKIPPED: {error}")
            else:
                failed = True
                print(f"\n{name}: FAILED: {error}", file=sys.stderr)
        if not arguments.json:
            print(f"({name}: {time.perf_counter() - start:.1f}s, files in {arguments.output})", flush=True)
    return int(failed)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="The paper's evaluation again. What none of the experiments named takes is refused.",
        allow_abbrev=False,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)} (default: all)")
    parser.add_argument("--experiment", action="append", default=[], metavar="NAME", help="the same")
    parser.add_argument(
        "--data", metavar="DIR", help="a folder with data.csv and configurations.json, or several"
    )
    parser.add_argument("--source", metavar="FILE", help="one table (CSV, Parquet), instead of --data")
    parser.add_argument("--label", help="of --source (default: as its configurations say)")
    parser.add_argument("--configurations", metavar="FILE", help="of --source")
    parser.add_argument("--name", help="of --source in the tables (default: as the file is called)")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N configurations")
    parser.add_argument("--measure", action="append", help="of the advisor (default g3, mi, chi2)")
    parser.add_argument("--classifier", action="append", help=f"of {', '.join(CLASSIFIERS)}")
    parser.add_argument(
        "--hierarchies", type=Path, metavar="DIR", help="one CSV per attribute, for k-anonymity"
    )
    parser.add_argument("--seed", type=int, help="of everything random (default 0)")
    parser.add_argument("--jobs", type=int, help="processes to train on (default 1; times suffer)")
    parser.add_argument("--repeats", type=int, metavar="N", help="splits to average over (default 3)")
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds for each run of the research")
    parser.add_argument("--small", action="store_true", default=None, help="small synthetic data")
    parser.add_argument("--json", action="store_true", help="print the tables of one experiment as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/paper"), metavar="DIR")
    return parser


def _check(parser: argparse.ArgumentParser, arguments: argparse.Namespace, named: list[str]) -> None:
    """End with a usage error where an option would have no effect, or one is missing."""

    def refuse(options: Iterable[str], because: str) -> None:
        given = [option for option in options if _value(arguments, option) is not None]
        if given:
            parser.error(f"{', '.join(given)}: {because}")

    for kind, values, known in (
        ("experiment", named, NAMES),
        ("classifier", arguments.classifier or (), CLASSIFIERS),
    ):
        for value in values:
            if value not in known:
                raise UnknownName(kind, value, known)
    if arguments.json and len(named) != 1:
        parser.error("--json: name one experiment")
    if arguments.data is not None:
        refuse(_OF_SOURCE, "given with --data, which brings its own")
    elif arguments.source is None:
        refuse(_OF_SOURCE, "given without --source")
    if not named:  # all of them: those that need what is not given fail one by one
        return
    all_named = ", ".join(named)
    takes = {field for name in named for field in _takes(name)}
    refuse(
        (option for field, option in _OPTIONS.items() if field not in takes), f"not an option of {all_named}"
    )
    on_data = [EXPERIMENTS[name] for name in named if name in EXPERIMENTS and EXPERIMENTS[name].needs_data]
    if RESEARCH in named:
        if arguments.source is not None and arguments.configurations is None:
            parser.error(f"{RESEARCH} needs --configurations with --source")
    elif not on_data:
        refuse(("--data", "--source"), f"needs an experiment on data, which {all_named} makes itself")
    elif not any(experiment.needs_configurations for experiment in on_data):
        refuse(["--configurations"], f"made by {all_named} itself")
    for experiment in on_data:
        other = "--configurations" if experiment.needs_configurations else "--label"
        if arguments.data is None and (arguments.source is None or _value(arguments, other) is None):
            parser.error(f"{experiment.name} needs data: give --data, or --source and {other}")


def _takes(name: str) -> tuple[str, ...]:
    return _RESEARCH_TAKES if name == RESEARCH else EXPERIMENTS[name].takes


def _value(arguments: argparse.Namespace, option: str) -> Any:
    return getattr(arguments, option.removeprefix("--").replace("-", "_"))


def _settings(arguments: argparse.Namespace) -> Settings:
    cases: tuple[Case, ...] = ()
    if arguments.data is not None:
        cases = cases_in(arguments.data)
    elif arguments.source is not None:
        cases = (Case.of(arguments.source, arguments.label, arguments.configurations, arguments.name),)
    return Settings(
        cases=cases,
        seed=arguments.seed or 0,
        measures=tuple(arguments.measure or Settings.measures),
        classifiers=tuple(arguments.classifier) if arguments.classifier else None,
        configurations=arguments.first,
        n_jobs=1 if arguments.jobs is None else arguments.jobs,
        repeats=Settings.repeats if arguments.repeats is None else arguments.repeats,
        hierarchies=arguments.hierarchies,
        small=bool(arguments.small),
    )


def _run(name: str, arguments: argparse.Namespace, settings: Settings) -> None:
    """Run one experiment and print what it found."""
    tables: dict[str, pd.DataFrame]
    with progress(arguments, name) as report:
        if name == RESEARCH:
            research = run_research(
                arguments.output,
                cases=settings.cases,
                small=settings.small,
                seed=settings.seed,
                n_jobs=settings.n_jobs,
                time_limit=arguments.time_limit,
                progress=report,
            )
            tables, text, files = research.tables, research.summary, research.files
        else:
            result = run_experiment(name, replace(settings, progress=report), arguments.output)
            tables = {**result.tables, "claims": result.claims}
            text, files = str(result), result.files
    if not arguments.json:
        print(f"\n{text}")
        return
    records = {
        title: table.astype(object).where(table.notna(), None).to_dict("records")
        for title, table in tables.items()
    }
    print_json({"experiment": name, "tables": records, "files": [str(path) for path in files]})


if __name__ == "__main__":
    raise SystemExit(main())
