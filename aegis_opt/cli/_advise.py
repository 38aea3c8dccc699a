"""The command `advise`: the configurations of a summary, ranked."""

from __future__ import annotations

import argparse
import math
from typing import Any

from aegis_opt._files import check_outputs
from aegis_opt._shown import without_controls
from aegis_opt.advisor import Advice, Advisor, advise
from aegis_opt.advisor._advise import read_summary
from aegis_opt.cli._labels import one_label
from aegis_opt.cli._output import (
    WIDTH,
    make_console,
    make_table,
    print_json,
    progress,
    show_facts,
    show_table,
)
from aegis_opt.cli._ranking import (
    MOST_COLUMNS,
    attribute_table,
    decimals_of,
    deviation_table,
    explanation_table,
    ranking_table,
    title_of,
    verdict,
)
from aegis_opt.errors import InvalidOption
from aegis_opt.privacy._written import rule_from_spec
from aegis_opt.report import plot_ranking
from aegis_opt.report._plots import require_altair
from aegis_opt.solvers.registry import get_reconstructor
from aegis_opt.summary import ProtectedSummary, ScoreSummary, Summaries, Summary

_MOST_EXCLUDED = 5


def run_advise(arguments: argparse.Namespace) -> None:
    """Rank the configurations of a summary."""
    check_outputs([arguments.plot, arguments.report], [arguments.summary])
    options = _solver_options(arguments)
    if arguments.plot is not None or arguments.report is not None:
        require_altair()  # before the work, not after it
    source, _ = read_summary(arguments.summary)
    options |= {
        "solver": arguments.solver,
        "scope": arguments.scope,
        "rounding": arguments.rounding,
        "seed": arguments.seed or 0,
        "replicates": arguments.replicates,
        "histograms": False if arguments.no_histograms else None,
        "chance": arguments.chance,
        "bootstrap": arguments.bootstrap,
        "require": [rule_from_spec(spec) for spec in arguments.require] if arguments.require else None,
    }
    if isinstance(source, Summaries) and arguments.label is None:
        _advise_several(arguments, source, options)
        return
    advisor = Advisor(one_label(arguments, source))
    with progress(arguments, "reconstructing") as report:
        advice = advisor.advise(arguments.measure, progress=report, **options)
    if arguments.explain is not None:
        advice.explain(_explained(arguments))  # what is wrong is told before anything is shown
    if arguments.plot is not None:
        plot_ranking(advice, arguments.plot)
    if arguments.report is not None:
        advice.report(arguments.report)
    if arguments.json:
        pud = advice.random_choice_pud
        extra = {"random_choice_pud": None if math.isnan(pud) else pud, "plot": arguments.plot}
        extra |= {"report": arguments.report}
        if arguments.explain is not None:
            extra |= {"explanation": advice.explanation_to_dict(_explained(arguments))}
        print_json(advice.to_dict() | extra)
    else:
        _show(arguments, advice, advisor.summary)


def _advise_several(arguments: argparse.Namespace, source: Summaries, options: dict[str, Any]) -> None:
    """Rank the configurations for several labels together."""
    of_one = {"--plot": arguments.plot, "--report": arguments.report, "--explain": arguments.explain}
    of_one |= {"--by-attribute": arguments.by_attribute or None}
    given = [option for option, value in of_one.items() if value is not None]
    if given:
        raise InvalidOption(
            f"{', '.join(given)}: about one label, and this file has {len(source)}: choose one with --label, "
            f"such as {source.labels[0]}"
        )
    with progress(arguments, "reconstructing") as report:
        advices = advise(source, arguments.measure, progress=report, **options)
    if arguments.json:
        print_json(advices.to_dict())
        return
    console = make_console()
    console.print(f"{len(advices.ranking)} configurations for {len(source)} labels, best first", style="bold")
    card = advices._card(arguments.top)
    table = make_table(*card.columns, left=card.left)
    for row in card.rows:
        table.add_row(*(without_controls(cell) for cell in row))
    show_table(console, table)
    facts = [("Best", advices.conclusion), ("Why", advices.reason), ("Columns", card.more)]
    facts += [("Warning", warning) for warning in advices.warnings]
    show_facts(console, facts)


def _explained(arguments: argparse.Namespace) -> str | None:
    """Return the name of the configuration to explain; None is the best."""
    return None if arguments.explain is True else arguments.explain


def _solver_options(arguments: argparse.Namespace) -> dict[str, Any]:
    options: dict[str, Any] = dict(arguments.option)
    try:
        get_reconstructor(arguments.solver or "ipf", **options)
    except TypeError as error:  # a word where the solver compares numbers
        given = ", ".join(f"{key}={value}" for key, value in options.items())
        raise InvalidOption(f"solver {arguments.solver!r} cannot take {given}: {error}") from error
    return options


def _show(arguments: argparse.Namespace, advice: Advice, summary: Summary | ScoreSummary) -> None:
    console = make_console()
    ascii_only = console.options.ascii_only
    measure = title_of(advice.criterion)
    what = f"deviation of {measure}" if advice.ranked_by == "pud" else f"{measure} after masking"
    console.print(f"{len(advice.ranking)} configurations by {what}, best first", style="bold")
    if isinstance(summary, Summary) and advice.solver is not None:
        about = "about " if isinstance(advice.summary, ProtectedSummary) else ""
        console.print(f"{about}{summary.n_records:,} records, scope {advice.scope}, solver {advice.solver}")
    many = len(advice.deviations.columns) > MOST_COLUMNS
    in_ranking = arguments.by_attribute and not many
    show_table(console, ranking_table(advice, arguments.top, ascii_only=ascii_only, by_attribute=in_ranking))
    hidden = len(advice.ranking) - (arguments.top or len(advice.ranking))
    if hidden > 0:
        console.print(f"{hidden} more: --top all shows them\n")
    if arguments.by_attribute and many:
        width = console.width if console.is_terminal else WIDTH
        show_table(console, deviation_table(advice, arguments.top, width))
    if arguments.by_attribute and "disclosed" in advice.attributes:
        show_table(console, attribute_table(advice))
    facts = verdict(advice, summary)
    for name, why in advice.excluded.head(_MOST_EXCLUDED).itertuples(index=False):
        facts.append(("Excluded", f"{name}: {why}"))
    if (more := len(advice.excluded) - _MOST_EXCLUDED) > 0:
        facts.append(("Excluded", f"{more} more: --json lists them"))
    if arguments.explain is not None:
        name = _explained(arguments)
        show_table(console, explanation_table(advice, name), width=80)
        change = advice.suggest(name)
        facts.append(("Change", str(change or "no other mask of the configurations gains")))
    if advice.best is not None:
        at_random = advice.ranking[advice.ranked_by].mean()
        facts.append(("At random", f"{at_random:.{decimals_of(advice)}f} on average"))
    if arguments.plot is not None:
        facts.append(("Picture", arguments.plot))
    if arguments.report is not None:
        facts.append(("Record", arguments.report))
    show_facts(console, facts)
