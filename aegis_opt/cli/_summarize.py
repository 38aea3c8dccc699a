"""The command `summarize`: what a provider shares about a table."""

from __future__ import annotations

import argparse
import os
import warnings
from typing import TYPE_CHECKING, Any

from aegis_opt._files import check_outputs
from aegis_opt._options import expanded
from aegis_opt.cli._arguments import domains_of, orders_of
from aegis_opt.cli._labels import by_label
from aegis_opt.cli._output import (
    listing,
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
    size_of,
    stoppable,
)
from aegis_opt.privacy import ControlledRounding, DifferentialPrivacy, Protection
from aegis_opt.privacy._written import rule_from_spec
from aegis_opt.sources._files import paths_of
from aegis_opt.summary import (
    AnySummary,
    ProtectedSummary,
    ScoreSummary,
    Summaries,
    Summary,
    summarize,
)
from aegis_opt.summary._identifiers import warning_about_identifiers

if TYPE_CHECKING:
    from rich.console import Console


def run_summarize(arguments: argparse.Namespace) -> None:
    """Write a summary and show what is in it."""
    check_outputs([arguments.output], [*paths_of(arguments.source), arguments.configurations])
    scanning = progress(arguments, f"scanning {arguments.source}")
    with stoppable(), scanning as report_progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was read as ", category=UserWarning)  # shown below
        summary: AnySummary | Summaries = summarize(
            arguments.source,
            _labels(arguments),
            arguments.configurations,
            arguments.histogram or arguments.histograms,
            values=arguments.values_of or arguments.values,
            order=orders_of(arguments) or None,
            label_bins=by_label(arguments, "--label-bins", arguments.label_bins),
            label_kind=by_label(arguments, "--label-kind", arguments.label_kind),
            share=arguments.share,
            scores=arguments.score,
            measures=arguments.measure,
            unmasked=arguments.unmasked,
            digits=arguments.digits,
            explain=arguments.explain,
            rules=[rule_from_spec(spec) for spec in arguments.rule] if arguments.rule else None,
            quasi_identifiers=arguments.quasi_identifier,
            sensitive=arguments.sensitive,
            suppression=arguments.suppression or 0.0,
            protect=_protection(arguments),
            domains=domains_of(arguments) or None,
            max_values=arguments.max_values,
            on_many_values=arguments.on_many_values,
            memory=arguments.memory,
            progress=report_progress,
        )
        summary.save(arguments.output)
    if isinstance(summary, Summaries):
        _show_several(arguments, summary)
        return
    report = summary.report()
    if arguments.json:
        counted: dict[str, object] = {}
        if isinstance(summary, Summary):
            counted = {"records": summary.n_records}
        elif isinstance(summary, ProtectedSummary):
            counted = {"protection": summary.protection.document()}
        print_json(
            {
                "file": arguments.output,
                "bytes": os.path.getsize(expanded(arguments.output)),
                "label": summary.label,
                "label_is_number": isinstance(summary, ScoreSummary) and summary.label_is_number,
                **counted,
                "configurations": list(summary.configurations),
                "scores": list(summary.scores),
                "attributes": report.to_dict("records"),
                "facts": summary.facts().to_dict("records"),
            }
        )
        return
    console = make_console()
    if isinstance(summary, ScoreSummary):
        _show_scores(console, arguments, summary)
        _show_absent(console, summary)
        return
    table = make_table(
        *("attribute", "kind", "order", "distinct", "values", "masked tables", "histogram"),
        "released unmasked by",
        left=["attribute", "kind", "order"],
    )
    for row in report.itertuples(index=False):
        shared = "shared" if row.histogram else "values only" if row.values_shared else "-"
        numbers = (f"{row.distinct:,}", f"{row.values:,}", str(row.tables))
        table.add_row(
            str(row.attribute), str(row.kind), str(row.order), *numbers, shared, str(row.unmasked_by or "-")
        )
    show_table(console, table)
    about = "about " if isinstance(summary, ProtectedSummary) else ""
    console.print(
        f"{about}{summary.n_records:,} records, {len(summary.configurations)} configurations, "
        f"label {summary.label!r}: written to {arguments.output} ({size_of(arguments.output)})",
        soft_wrap=True,
    )
    if isinstance(summary, ProtectedSummary):
        applied = summary.protection
        show_facts(console, [("Protected", applied.statement()), ("Budget", applied.budget())])
        _show_absent(console, summary)
        return
    if summary.label_mask_of:
        shared = "not shared" if summary.label_values is None else "shared"
        console.print(
            f"{len(summary.label_mask_of)} configurations mask the label; its {summary.n_classes} classes "
            f"and their counts are {shared}.",
            soft_wrap=True,
        )
    for name, attribute in summary.attributes.items():
        if attribute.coarsening is not None:
            console.print(f"{name}: {attribute.coarsening_warning}.", soft_wrap=True)
    if warning := _unmasked_warning(summary):
        console.print(warning, soft_wrap=True)
    if identifiers := warning_about_identifiers(summary):
        show_facts(console, [("Warning", identifiers)])
    _show_absent(console, summary)


def _labels(arguments: argparse.Namespace) -> Any:
    """Return the label, or the list of several; a comma does not part names, which may have one."""
    given = arguments.label
    return given[0] if given and len(given) == 1 else given


def _show_several(arguments: argparse.Namespace, summaries: Summaries) -> None:
    """Show what is in a file of several labels."""
    if arguments.json:
        print_json(
            {
                "file": arguments.output,
                "bytes": os.path.getsize(expanded(arguments.output)),
                "labels": list(summaries),
                "configurations": list(summaries.configurations),
                "facts": summaries.facts().to_dict("records"),
            }
        )
        return
    console = make_console()
    card = summaries._card()
    table = make_table(*card.columns, left=card.left)
    for row in card.rows:
        table.add_row(*row)
    show_table(console, table)
    console.print(
        f"{len(summaries.configurations)} configurations, {len(summaries)} labels, no records: written to "
        f"{arguments.output} ({size_of(arguments.output)})",
        soft_wrap=True,
    )


def _protection(arguments: argparse.Namespace) -> Protection | None:
    """Return the protection of counts that the options ask for."""
    if arguments.base is not None:
        return ControlledRounding(arguments.base)
    if arguments.epsilon is None:
        return None
    return DifferentialPrivacy(arguments.epsilon, arguments.mechanism or "geometric", arguments.delta)


def _show_absent(console: Console, summary: AnySummary) -> None:
    """Say what a stranger does not learn; `Summary.facts` and --json list what a stranger does."""
    facts = summary.facts()
    absent = facts.loc[facts["about"] == "not in the file", "content"]
    show_facts(console, [("Not shared", text) for text in absent])


def _show_scores(console: Console, arguments: argparse.Namespace, summary: ScoreSummary) -> None:
    """Show what is in a summary of numbers."""
    table = make_table("attribute", "masks", "measures", "unmasked value", left=["attribute", "measures"])
    for name, masks, measures, unmasked, _ in summary.report().itertuples(index=False):
        table.add_row(name, str(masks), measures, "shared" if unmasked else "-")
    show_table(console, table)
    number = ", a number" if summary.label_is_number else ""
    console.print(
        f"{len(summary.configurations)} configurations, scores {', '.join(summary.scores)}, label "
        f"{summary.label!r}{number}, no counts and no values: written to {arguments.output} "
        f"({size_of(arguments.output)})",
        soft_wrap=True,
    )


def _unmasked_warning(summary: Summary) -> str:
    """Name the attributes whose raw joint table a configuration releases; empty where there is none."""
    users: dict[str, list[str]] = {}
    for configuration, attribute in summary.unmasked():
        users.setdefault(attribute, []).append(configuration)
    released = [f"{attribute} ({listing(names, most=3)})" for attribute, names in users.items()]
    text = f"Released as it is, because a configuration does not mask it: {'; '.join(released)}."
    return text if users else ""
