"""The command `demo`: from raw records to advice, on data that the package makes itself."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from aegis_opt import datasets
from aegis_opt._files import check_outputs
from aegis_opt.advisor import Advice, advise
from aegis_opt.cli._output import (
    listing,
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
    size_of,
)
from aegis_opt.cli._parser import DEMO_ROWS
from aegis_opt.cli._ranking import decimals_of, ranking_table, title_of, verdict
from aegis_opt.datasets import Dataset
from aegis_opt.errors import MissingDependency
from aegis_opt.harness import true_deviation
from aegis_opt.measures import get_measure, tvd
from aegis_opt.problem import Problem
from aegis_opt.report import plot_ranking
from aegis_opt.solvers.registry import reconstruct
from aegis_opt.summary import Summary, summarize

_TOP = 8


def run_demo(arguments: argparse.Namespace) -> None:
    """Run the demo that was asked for."""
    check_outputs([arguments.output])
    if arguments.data == "clinic":
        _clinic(arguments)
    else:
        _worked_example(arguments)


def _clinic(arguments: argparse.Namespace) -> None:
    measure = get_measure("mi" if arguments.measure is None else arguments.measure)
    summary_file, picture = Path(arguments.output, "summary.json"), Path(arguments.output, "ranking.png")
    with progress(arguments, "making the clinic") as report:
        data = datasets.clinic(arguments.rows or DEMO_ROWS, seed=arguments.seed or 0)
        summary = summarize(data.frame, data.label, data.configurations, histograms=True)
        summary.save(summary_file)
        advice = advise(summary_file, measure, progress=report)
        truth = {str(name): float(pud) for name, pud in true_deviation(data, measure).items()}
    files = {"summary": str(summary_file)}
    try:
        plot_ranking(advice, picture, truth=truth)
        files["picture"] = drawn = str(picture)
    except MissingDependency as error:
        drawn = f"not drawn: {error}"
    if arguments.json:
        print_json(
            {
                "data": {"name": data.name, "records": summary.n_records, "label": data.label},
                "advice": advice.to_dict(),
                "random_choice_pud": advice.random_choice_pud,
                "true_pud": truth,
                "true_random_choice_pud": mean(truth.values()),
                "files": files,
            }
        )
        return
    console = make_console()
    console.print("Which masking keeps the features most predictive? A demo, start to end\n", style="bold")
    show_facts(console, [*_setting(data, summary, summary_file), ("Ranking", _heading(advice))])
    ascii_only = console.options.ascii_only
    show_table(console, ranking_table(advice, _TOP, ascii_only=ascii_only, truth=truth))
    turn = "aegis-opt generate, summarize, advise: see aegis-opt --help"
    more = [("At random", _cost(advice, truth)), ("Picture", drawn), ("Your turn", turn)]
    show_facts(console, verdict(advice, summary) + more)


def _setting(data: Dataset, summary: Summary, file: Path) -> list[tuple[str, str]]:
    attributes = [f"{name} ({a.n_values} values)" for name, a in summary.attributes.items()]
    tables = sum(len(a.tables) for a in summary.attributes.values())
    open_tables = sorted({attribute for _, attribute in summary.unmasked()})
    raw = "no raw joint table"
    if open_tables:
        raw += f" except that of {listing(open_tables)} (left unmasked by {summary.unmasked()[0][0]})"
    question = (
        f"Which of {len(summary.configurations)} maskings best keeps what predicts {data.label} "
        f"({summary.n_classes} classes)? The advisor may not see the patients."
    )
    histograms = sum(a.histogram is not None for a in summary.attributes.values())
    shared = (
        f"{tables} masked tables, the label counts and {histograms} histograms, {raw}: "
        f"{file}, {size_of(file)}."
    )
    return [
        ("Data", f"{data.description} {summary.n_records:,} patients: {', '.join(attributes)}."),
        ("Question", question),
        ("Shared", shared),
    ]


def _heading(advice: Advice) -> str:
    return (
        f"by deviation of {title_of(advice.criterion)}: what masking costs, less is better; the "
        f'first {_TOP} of {len(advice.ranking)}. "true" is from the raw table, which the advisor never saw.'
    )


def _cost(advice: Advice, truth: dict[str, float]) -> str:
    decimals = decimals_of(advice)
    estimate, true = advice.random_choice_pud, mean(truth.values())
    text = f"{estimate:.{decimals}f} on average (true: {true:.{decimals}f})"
    if advice.best is None:
        return text
    chosen = truth[advice.best]
    place = 1 + sum(value < chosen - 1e-12 for value in truth.values())
    text += f". {advice.best} truly has {chosen:.{decimals}f}"
    if chosen > 0:
        text += f", so a random choice costs {true / chosen:.1f} times as much"
    verdict = "truly the best" if place == 1 else f"truly number {place}"
    return f"{text}. Of all {len(truth)}, it is {verdict}."


def _worked_example(arguments: argparse.Namespace) -> None:
    example = datasets.worked_example()
    raw = datasets.worked_example_table()
    summary_file = Path(arguments.output, "summary.json")
    summary = summarize(example.frame, example.label, example.configurations)
    summary.save(summary_file)
    shared = summary.masked_table("young-old", "age")
    measures = {
        name: {"raw": measure(raw), "masked": measure(shared.joint)}
        for name, measure in ((name, get_measure(name)) for name in ("mi", "g3", "chi2"))
    }
    distances = {
        known: tvd(raw, reconstruct(Problem.from_table(raw, shared.groups, histogram=histogram)).table)
        for known, histogram in (("with histogram", True), ("without histogram", False))
    }
    if arguments.json:
        document = {"records": summary.n_records, "measures": measures, "tvd": distances}
        print_json(document | {"files": {"summary": str(summary_file)}})
        return
    console = make_console()
    console.print("The Aegis paper's example: age and health of 100 people\n", style="bold")
    counts = make_table("age", *map(str, raw.columns), "masked", left=["masked"])
    for row, (age, line) in enumerate(raw.iterrows()):
        counts.add_row(str(age), *map(str, line), str(shared.labels[shared.groups[row]]))
    show_table(console, counts)
    values = make_table("measure", "raw table", "masked table", "deviation", left=["measure"])
    for name, found in measures.items():
        measure = get_measure(name)
        numbers = [found["raw"], found["masked"], abs(found["raw"] - found["masked"])]
        values.add_row(title_of(measure), *(f"{number:.{measure.digits}f}" for number in numbers))
    show_table(console, values)
    console.print("Distance (TVD) of the maximum-entropy reconstruction from the raw table:")
    for known, distance in distances.items():
        console.print(f"  {distance:.4f} {known} of age")
    console.print(f"\nWhat would be shared: {summary_file}", soft_wrap=True)
