"""Rankings with their bounds as figures to save: one per scope and data set, a panel per measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from aegis_opt.report import _figure_style as parts
from aegis_opt.report._figure_style import INK, SOFT, VariantStyle
from aegis_opt.report._prepared_results import measure_title
from aegis_opt.report._ranking_data import Ranking, first_shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAR, _EDGE = "#cfe2f3", "#7f9bb5"
_ROW = 0.17  # inches per configuration
_LETTERS = 58  # of a line above a panel
_LONGEST = 28  # letters of a configuration's name


def rankings_by_file(rankings: Sequence[Ranking]) -> dict[str, list[Ranking]]:
    """Return the runs of each figure, one per measure, by file name; a figure without any order has none."""
    found: dict[str, list[Ranking]] = {}
    for scope, dataset in dict.fromkeys((r.scope, r.dataset) for r in rankings):
        own = [r for r in rankings if (r.scope, r.dataset) == (scope, dataset)]
        plain = re.sub(r"[^\w.-]+", "-", dataset, flags=re.ASCII).strip("-.") or "data"
        name, number = f"ranking-{scope}-{plain}", 1
        while name in found:  # two names that differ in what a file name cannot hold
            number += 1
            name = f"ranking-{scope}-{plain}-{number}"
        measures = dict.fromkeys(r.measure for r in own)
        shown = [first_shown([r for r in own if r.measure == measure]) for measure in measures]
        found[name] = shown if any(ranking.names for ranking in shown) else []
    return found


def draw_rankings(shown: Sequence[Ranking], style: VariantStyle) -> Figure:
    """Draw one panel per run."""
    most = max(len(ranking.names) for ranking in shown)
    labels = parts.text_width(
        parts.shorten_name(name, _LONGEST) for ranking in shown for name in ranking.names
    )
    figure, [row] = parts.make_panels(len(shown), 1, 3.6 + labels, 1.6 + _ROW * most)
    for axes, ranking in zip(row, shown, strict=True):
        _panel(axes, ranking, style)
    figure.get_layout_engine().set(wspace=0.06)  # type: ignore[union-attr,call-arg]
    _legend(figure)
    return figure


def _panel(axes: Axes, ranking: Ranking, style: VariantStyle) -> None:
    title, unit = measure_title(ranking.measure)
    seed = f", seed {ranking.seed}" if ranking.seed else ""
    run = f"{parts.label_of(ranking.variant, ranking.histogram)}{seed}"
    remark = wrap(ranking.remark, _LETTERS, max_lines=4, placeholder=" ...")
    head = [f"{ranking.dataset}, {ranking.scope}: {title}", run, *remark]
    axes.set_title("\n".join(head), loc="left", fontsize=8, color=INK, parse_math=False, linespacing=1.3)
    places = range(len(ranking.names))
    end = ranking.end
    for y, low, high in zip(places, ranking.low, ranking.high, strict=True):
        if low is None and high is None:
            continue
        left, right = low or 0.0, end if high is None else min(high, end)
        axes.barh(y, right - left, 0.52, left, color=_BAR, edgecolor=_EDGE, lw=0.5)
        if high is None or high > end:
            axes.plot(end, y, ">", color=_EDGE, ms=4.5, mew=0, clip_on=False)
    colour = style.colour(ranking.variant)
    axes.plot(ranking.true, places, "|", color=INK, ms=8, mew=1.5, zorder=3)
    axes.plot(
        ranking.estimated, places, "o", color=colour, ms=4, mec="white", mew=0.5, zorder=4, clip_on=False
    )
    texts = [
        f"{parts.shorten_name(name, _LONGEST)}  {rank}"
        for name, rank in zip(ranking.names, ranking.ranks, strict=True)
    ]
    axes.set_yticks(places, texts, parse_math=False, fontsize=7)
    for label, name in zip(axes.get_yticklabels(), ranking.names, strict=True):
        if name == ranking.best:
            label.set_fontweight("bold")
    axes.set_ylim(max(len(ranking.names), 1) - 0.4, -0.6)
    axes.set_xlim(0, end)
    axes.grid(visible=False, axis="y")
    beyond = [high for high in ranking.high if high is not None and high > end]
    ends = f"\nupper bounds beyond the scale end at {min(beyond):.3g} to {max(beyond):.3g}" if beyond else ""
    axes.set_xlabel(f"PUD{f' ({unit})' if unit else ''}, less is better{ends}", color=SOFT, fontsize=8)


def _legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=_BAR, edgecolor=_EDGE, lw=0.5, label="proved to lie here"),
        Line2D([], [], color=SOFT, marker="o", ms=5, ls="none", label="estimated"),
        Line2D([], [], color=INK, marker="|", ms=9, mew=1.5, ls="none", label="true"),
        Line2D([], [], color=_EDGE, marker=">", ms=5, ls="none", label="goes on, or no end is proved"),
    ]
    parts.add_legend(figure, handles)
