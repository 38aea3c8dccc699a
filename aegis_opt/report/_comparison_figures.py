"""The figures of a comparison: which there are, what each shows, and as files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aegis_opt.report._chart_data import Selection
from aegis_opt.report._ranking_data import Ranking, first_shown

if TYPE_CHECKING:
    from aegis_opt.report.charts._figure import Figure
    from aegis_opt.report.charts._variants import VariantStyle


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure: its name, its heading on the page, and how to read it."""

    name: str
    title: str
    reading: str


KINDS = (
    FigureKind(
        "pareto",
        "Time against distance",
        "One dot per variant; down and left is better. The line joins what nothing else beats in both.",
    ),
    FigureKind(
        "tvd",
        "Distance from the raw tables",
        "Quartiles of the TVD, the median as a thick tick, whiskers, and values beyond them as circles.",
    ),
    FigureKind(
        "regret",
        "What the advice costs",
        "Regret of the advice in units of what a random choice loses: 0 is the best configuration, 1 is no "
        "better than chance, brown is worse. = : all configurations are equally good. - : nothing was tried.",
    ),
    FigureKind(
        "estimate",
        "Estimated against true deviation",
        "The winner's deviation as the advisor estimated it and the true one; on the line both are equal.",
    ),
    FigureKind(
        "ranking",
        "One advisor run",
        "The configurations in the order of the run, with estimated and true deviation and what is proved.",
    ),
    FigureKind(
        "profile-time",
        "Performance profile of the time",
        "Share of the problems that a variant solves within a factor of the fastest; up and left is better.",
    ),
    FigureKind(
        "profile-tvd",
        "Performance profile of the TVD",
        "Share of the problems that a variant solves within a factor of the closest; up and left is better.",
    ),
)


def charts_of(
    selection: Selection, style: VariantStyle, *, only: str | None = None, page: bool = False
) -> Iterator[tuple[str, str, Figure]]:
    """Yield kind, measure and chart of every figure that has data; only estimates have one per measure."""
    from aegis_opt.report.charts._distances import distances_chart
    from aegis_opt.report.charts._estimates import estimates_chart
    from aegis_opt.report.charts._profiles import profile_chart
    from aegis_opt.report.charts._regret import regret_chart
    from aegis_opt.report.charts._tradeoff import tradeoff_chart

    def wanted(kind: str) -> bool:
        return only in (None, kind)

    if selection.points and wanted("pareto"):
        yield "pareto", "", tradeoff_chart(selection, style, page=page)
    if selection.boxes and wanted("tvd"):
        yield "tvd", "", distances_chart(selection, style, page=page)
    if selection.cells and wanted("regret"):
        yield "regret", "", regret_chart(selection, style, page=page)
    if wanted("estimate"):
        for measure in dict.fromkeys(choice.measure for choice in selection.choices):
            yield "estimate", measure, estimates_chart(selection, measure, style, page=page)
    for name, profile in (("profile-time", selection.time_profile), ("profile-tvd", selection.tvd_profile)):
        if profile is not None and wanted(name):
            yield name, "", profile_chart(selection, profile, style, page=page)


def write_figures(
    selections: Sequence[Selection], rankings: Sequence[Ranking], variants: Sequence[str], folder: Path
) -> list[Path]:
    """Save every figure that has data as PNG and SVG, one per scope; the order of variants gives their looks.

    The selections are one per scope, of the same data sets. Rankings get a figure per scope, data set and
    measure, of the run that the page shows first.
    """
    from aegis_opt.report.charts._order import order_chart
    from aegis_opt.report.charts._variants import VariantStyle

    style = VariantStyle(variants)
    charts = {
        file_name(kind, selection.scope, measure): chart
        for selection in selections
        for kind, measure, chart in charts_of(selection, style)
    }
    charts |= {name: order_chart(run) for name, run in rankings_by_file(rankings).items()}
    paths = [folder / f"{name}{ending}" for name in charts for ending in (".png", ".svg")]
    for path in paths:
        charts[path.stem].save(path)
    return paths


def rankings_by_file(rankings: Sequence[Ranking]) -> dict[str, Ranking]:
    """Return the run of each figure by file name: per scope, data set and measure the one to show first."""
    found: dict[str, Ranking] = {}
    groups: dict[tuple[str, str, str], list[Ranking]] = {}
    for run in rankings:
        groups.setdefault((run.scope, run.dataset, run.measure), []).append(run)
    for (scope, dataset, measure), runs in groups.items():
        shown = first_shown(runs)
        if not shown.names:
            continue
        name, number = file_name("ranking", scope, dataset, measure), 1
        while name in found:  # two names that differ in what a file name cannot hold
            number += 1
            name = f"{file_name('ranking', scope, dataset, measure)}-{number}"
        found[name] = shown
    return found


def file_name(*parts: str) -> str:
    """Join names with dashes, without what a file name cannot hold."""
    plain = [re.sub(r"[^\w.-]+", "-", part, flags=re.ASCII).strip("-.") or "data" for part in parts if part]
    return "-".join(plain)
