"""`compare --experiment`: one part of the paper's evaluation, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis_opt.cli._arguments import refuse_given
from aegis_opt.cli._output import make_console, print_json, progress
from aegis_opt.errors import UnknownName
from aegis_opt.harness import Case
from benchmarks.paper.exhaustive import CLASSIFIERS
from benchmarks.paper.experiments import EXPERIMENTS, Experiment, Settings, run_experiment
from benchmarks.paper.research import run_research

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    import pandas as pd

RESEARCH = "research"
"""The norm research, which is no experiment of the paper."""

_RESEARCH_TAKES = ("seed", "n_jobs", "time_limit", "small")
_OPTIONS = {
    "measures": "measure",
    "classifiers": "classifier",
    "seed": "seed",
    "n_jobs": "jobs",
    "hierarchies": "hierarchies",
    "small": "small",
    "time_limit": "time_limit",
}
_OTHERS = ("solver", "norm", "rounding", "scope", "histograms", "replicates")  # of comparisons only
_ON_DATA = ("source", "label", "configurations", "name")


def run_named(arguments: argparse.Namespace) -> None:
    """Run the experiment named and show its tables."""
    name: str = arguments.experiment
    if name not in (*EXPERIMENTS, RESEARCH):
        raise UnknownName("experiment", name, [*EXPERIMENTS, RESEARCH])
    experiment = EXPERIMENTS.get(name)
    _refuse(arguments, name, experiment)
    if experiment is None:
        _research(arguments)
    else:
        _experiment(arguments, experiment)


def require(arguments: argparse.Namespace, options: Sequence[str]) -> None:
    """End with a usage error, worded as argparse does, if one of these was not given."""
    missing = [option for option in options if getattr(arguments, option.strip("-").lower()) is None]
    if missing:
        arguments.refuse(f"the following arguments are required: {', '.join(missing)}")


def _refuse(arguments: argparse.Namespace, name: str, experiment: Experiment | None) -> None:
    """End with a usage error where an option would have no effect, or one is missing."""
    takes = _RESEARCH_TAKES if experiment is None else experiment.takes
    unused = [*_OTHERS, *(option for field, option in _OPTIONS.items() if field not in takes)]
    refuse_given(arguments, _given(arguments, unused), f"experiment {name!r} does not take it")
    if experiment is None or not experiment.needs_data:
        refuse_given(arguments, _given(arguments, _ON_DATA), f"experiment {name!r} makes its own data")
    elif not experiment.needs_configurations:
        because = f"experiment {name!r} makes its own"
        refuse_given(arguments, _given(arguments, ["configurations"]), because)
        require(arguments, ("SOURCE", "--label"))
    else:
        require(arguments, ("SOURCE", "--configurations"))
    if arguments.seed is not None and len(arguments.seed) > 1:
        arguments.refuse(f"--seed: experiment {name!r} takes one")
    for classifier in arguments.classifier or ():
        if classifier not in CLASSIFIERS:
            raise UnknownName("classifier", classifier, CLASSIFIERS)


def _given(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, object]:
    """What the caller wrote of these options, as it is written."""
    written = {name: "SOURCE" if name == "source" else f"--{name.replace('_', '-')}" for name in names}
    return {written[name]: getattr(arguments, name) for name in names}


def _experiment(arguments: argparse.Namespace, experiment: Experiment) -> None:
    options: dict[str, Any] = {"seed": _seed(arguments), "n_jobs": arguments.jobs or 1}
    if experiment.needs_data:
        case = Case.of(arguments.source, arguments.label, arguments.configurations, arguments.name)
        options["cases"] = (case,)
    if arguments.measure:
        options["measures"] = tuple(arguments.measure)
    if arguments.classifier:
        options["classifiers"] = tuple(arguments.classifier)
    if arguments.hierarchies:
        options["hierarchies"] = Path(arguments.hierarchies)
    with progress(arguments, experiment.title) as report:
        settings = Settings(**options, small=bool(arguments.small), progress=report)
        outcome = run_experiment(experiment.name, settings, arguments.output)
    if arguments.json:
        _print_tables(experiment.name, {**outcome.tables, "claims": outcome.claims}, outcome.files)
        return
    console = make_console()
    console.print(str(outcome), soft_wrap=True)
    console.print(f"\n{len(outcome.files)} files in {arguments.output}", soft_wrap=True)


def _research(arguments: argparse.Namespace) -> None:
    with progress(arguments, "comparing norms") as report:
        found = run_research(
            arguments.output,
            small=bool(arguments.small),
            seed=_seed(arguments),
            n_jobs=arguments.jobs or 1,
            time_limit=arguments.time_limit,
            progress=report,
        )
    if arguments.json:
        tables = {"quality": found.quality, "spread": found.spread, "factors": found.factors}
        _print_tables(RESEARCH, tables, found.files)
        return
    console = make_console()
    console.print(found.summary, soft_wrap=True)
    console.print(f"{len(found.files)} files in {arguments.output}", soft_wrap=True)


def _print_tables(name: str, tables: Mapping[str, pd.DataFrame], files: Sequence[Path]) -> None:
    records = {
        title: table.astype(object).where(table.notna(), None).to_dict("records")
        for title, table in tables.items()
    }
    print_json({"experiment": name, "tables": records, "files": [str(path) for path in files]})


def _seed(arguments: argparse.Namespace) -> int:
    return arguments.seed[0] if arguments.seed else 0
