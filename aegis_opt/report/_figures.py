"""The figures of the page as PNG and SVG files, for papers and slides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt._files import atomic_path
from aegis_opt.report import _figure_style as parts
from aegis_opt.report._chart_data import FEW, BoxStatistics, Cell, Point, Profile, Selection
from aegis_opt.report._figure_style import HEAT, INK, SOFT, VariantStyle
from aegis_opt.report._prepared_results import measure_title
from aegis_opt.report._ranking_data import Ranking
from aegis_opt.report._ranking_figure import draw_rankings, rankings_by_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NOTE: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 4), "textcoords": "offset points"}


def write_figures(
    selections: Sequence[Selection], rankings: Sequence[Ranking], variants: Sequence[str], folder: Path
) -> list[Path]:
    """Draw every figure that has data, one panel per scope, and save each as PNG and SVG.

    The selections are one per scope, of the same data sets. Rankings get a figure per scope and data set,
    one panel per measure, of the run that the page shows first. The variants' order gives their colours.
    """
    from matplotlib import rc_context

    style = VariantStyle(variants)
    drawings: dict[str, tuple[Callable[[Any, VariantStyle], Figure], Sequence[Any]]] = {
        "tvd": (_boxes, [s for s in selections if s.boxes]),
        "pareto": (_pareto, [s for s in selections if s.points]),
        "profile-time": (_profiles, [(s, s.time_profile) for s in selections if s.time_profile]),
        "profile-tvd": (_profiles, [(s, s.tvd_profile) for s in selections if s.tvd_profile]),
        "regret": (_regret, [s for s in selections if s.cells]),
        "estimate": (_estimates, [s for s in selections if s.choices]),
        **{name: (draw_rankings, shown) for name, shown in rankings_by_file(rankings).items()},
    }
    paths = []
    # the salt and the missing date make equal results give equal files
    with rc_context({"svg.hashsalt": "aegis-opt", "font.size": 9}):
        for name, (draw, shown) in drawings.items():
            if not shown:
                continue
            figure = draw(shown, style)
            for ending, metadata in ((".png", None), (".svg", {"Date": None})):
                paths.append(folder / f"{name}{ending}")
                with atomic_path(paths[-1]) as temporary:
                    figure.savefig(temporary, metadata=metadata)
                figure.set_layout_engine("none")  # what was laid out once need not be again
    return paths


def _title(axes: Axes, selection: Selection, name: str, width: float = 4.1) -> None:
    """Write the scope above a panel `width` inches wide and, below it, the sample and the penalties."""
    lines = wrap(selection.notes[name], int(width / 0.055))
    pad = 7 + 10 * len(lines)
    axes.set_title(selection.scope, loc="left", fontsize=10, fontweight="bold", color=INK, pad=pad)
    axes.annotate("\n".join(lines), (0, 1), **_NOTE, fontsize=7, color=SOFT, va="bottom", linespacing=1.25)


def _log_axis(axes: Axes, low: float, high: float) -> None:
    """Make x logarithmic from `low` to `high` with plain numbers: 0.1, 0.2, 0.5, 1, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(MaxNLocator(5) if high < 5 * low else LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _boxes(shown: Sequence[Selection], style: VariantStyle) -> Figure:
    most = max(len(selection.boxes) for selection in shown)
    names = [parts.label_of(box.variant, box.histogram) for selection in shown for box in selection.boxes]
    figure, [row] = parts.make_panels(len(shown), 1, 4.3 + parts.text_width(names), 1.3 + 0.24 * most)
    for axes, selection in zip(row, shown, strict=True):
        boxes: list[BoxStatistics] = style.sort(selection.boxes)
        _title(axes, selection, "tvd")
        for y, box in enumerate(boxes):
            colour = style.colour(box.variant)
            if box.n >= FEW:
                fill = colour if box.histogram else "white"
                axes.hlines(y, box.low, box.high, color=colour, lw=1.2)
                axes.barh(y, box.q3 - box.q1, 0.62, box.q1, color=fill, edgecolor=colour, lw=1.2)
            on_fill = box.histogram and box.n >= FEW and box.q3 - box.q1 > 0.01
            axes.vlines(box.median, y - 0.31, y + 0.31, color="white" if on_fill else colour, lw=1.8)
            axes.plot(box.dots, [y] * len(box.dots), "o", mfc="none", mec=colour, ms=2.6, mew=0.7)
            count, beside = f"{box.n:,}{'*' if box.partial else ''}", axes.get_yaxis_transform()
            axes.text(1.02, y, count, transform=beside, fontsize=7, color=SOFT, va="center")
        labels = [parts.label_of(box.variant, box.histogram) for box in boxes]
        axes.set_yticks(range(len(boxes)), labels, parse_math=False)
        axes.set_ylim(len(boxes) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("TVD to the raw joint table (less is better); at the right: n", color=SOFT)
    return figure


def _pareto(shown: Sequence[Selection], style: VariantStyle) -> Figure:
    figure, [row] = parts.make_panels(len(shown), 1, 5.0, 4.2)
    for axes, selection in zip(row, shown, strict=True):
        _title(axes, selection, "pareto")
        times = [max(point.seconds, 1e-6) for point in selection.points]
        _log_axis(axes, min(times) / 1.4, max(times) * 1.4)
        for used, line in ((True, "-"), (False, "--")):
            front = sorted((p.seconds, p.tvd) for p in selection.points if p.front and p.histogram == used)
            if front:
                axes.step(*zip(*front, strict=True), where="post", color=SOFT, lw=1.1, ls=line, zorder=1)
        points: list[Point] = style.sort(selection.points)
        for point in points:
            look = _marker(style, point.variant, point.histogram)
            look |= {"ms": 8 if point.front else 6, "alpha": 1.0 if point.n == point.of else 0.45}
            axes.plot(max(point.seconds, 1e-6), point.tvd, **look, mew=1.4, zorder=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("seconds per reconstruction (shifted geometric mean)", color=SOFT)
        axes.set_ylabel("mean TVD", color=SOFT)
    _legend(figure, style, {p.variant for selection in shown for p in selection.points}, histograms=True)
    return figure


def _profiles(shown: Sequence[tuple[Selection, Profile]], style: VariantStyle) -> Figure:
    figure, [row] = parts.make_panels(len(shown), 1, 5.0, 3.6)
    for axes, (selection, profile) in zip(row, shown, strict=True):
        words, unit = ("time", " s") if profile.metric == "seconds_total" else ("TVD", "")
        _title(axes, selection, f"profile-{words.lower()}")
        for name in sorted(profile.shares, key=style.order.__getitem__):
            look = {"color": style.colour(name), "ls": style.dash(name), "marker": style.marker(name)}
            look |= {"where": "post", "lw": 1.7, "ms": 4.5, "markevery": max(1, len(profile.taus) // 4)}
            axes.step(profile.taus, profile.shares[name], **look)
        _log_axis(axes, 1, max(profile.taus[-1], 1.05))
        axes.set_ylim(0, 1.02)
        axes.set_xlabel(f"factor of the best {words} (+ {profile.shift:g}{unit})", color=SOFT)
        axes.set_ylabel("share of problems", color=SOFT)
    _legend(figure, style, {variant for _, profile in shown for variant in profile.shares})
    return figure


def _regret(shown: Sequence[Selection], style: VariantStyle) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    rows = max(len({(cell.variant, cell.histogram) for cell in selection.cells}) for selection in shown)
    columns = max(len({(cell.dataset, cell.measure) for cell in selection.cells}) for selection in shown)
    names = [parts.label_of(cell.variant, cell.histogram) for selection in shown for cell in selection.cells]
    width = max(2.8, 0.62 * columns)
    figure, [panels] = parts.make_panels(
        len(shown), 1, width + 1.4 + parts.text_width(names), 2.3 + 0.26 * rows
    )
    low, high, worse = (HEAT[name][0] for name in ("heat-low", "heat-high", "worse"))
    colours = LinearSegmentedColormap.from_list("regret", [low, high]).with_extremes(bad="white", over=worse)
    for axes, selection in zip(panels, shown, strict=True):
        _title(axes, selection, "regret", width)
        cells: list[Cell] = style.sort(selection.cells)
        lines = list(dict.fromkeys((cell.variant, cell.histogram) for cell in cells))
        across = sorted({(cell.dataset, cell.measure) for cell in cells})
        grid = np.full((len(lines), len(across)), np.nan)
        for cell in cells:
            y, x = lines.index((cell.variant, cell.histogram)), across.index((cell.dataset, cell.measure))
            text = "=" if cell.n else "-"
            if cell.share is not None:
                grid[y, x] = cell.share
                text = f"{cell.share:.2g}{'*' if cell.penalised else ''}"
            ink = "white" if grid[y, x] > 0.5 else INK
            axes.text(x, y, text, ha="center", va="center", fontsize=7.5, color=ink)
        axes.grid(visible=False)
        image = axes.imshow(grid, cmap=colours, norm=Normalize(0, 1.0005), aspect="auto")
        axes.set_yticks(range(len(lines)), [parts.label_of(*line) for line in lines], parse_math=False)
        texts = [f"{measure}\n{parts.shorten_name(dataset)}" for dataset, measure in across]
        axes.set_xticks(range(len(across)), texts, rotation=30, ha="right", parse_math=False, fontsize=7.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=panels, shrink=0.8, extend="max", pad=0.02)
    bar.set_label("regret / regret of a random choice", color=SOFT, fontsize=8)
    return figure


def _estimates(shown: Sequence[Selection], style: VariantStyle) -> Figure:
    measures = sorted({choice.measure for selection in shown for choice in selection.choices})
    figure, grid = parts.make_panels(len(measures), len(shown), 3.3, 3.2)
    for row, selection in zip(grid, shown, strict=True):
        for axes, measure in zip(row, measures, strict=True):
            choices = [choice for choice in style.sort(selection.choices) if choice.measure == measure]
            title, unit = measure_title(measure)
            text = f"{selection.scope}: {title}, n = {len(choices)}"
            axes.set_title(text, loc="left", fontsize=8.5, color=INK, parse_math=False)
            end = max((max(c.estimated, c.true) for c in choices), default=1.0) * 1.06 or 1.0
            axes.plot([0, end], [0, end], color=SOFT, lw=0.8, ls="--")
            for choice in choices:
                look = _marker(style, choice.variant, choice.histogram)
                axes.plot(choice.true, choice.estimated, **look, ms=5.5, clip_on=False)
            axes.set(xlim=(0, end), ylim=(0, end))
            axes.set_xlabel(f"true PUD of the winner{f' ({unit})' if unit else ''}", color=SOFT, fontsize=8)
            axes.set_ylabel("estimated PUD", color=SOFT, fontsize=8)
    _legend(figure, style, {c.variant for selection in shown for c in selection.choices}, histograms=True)
    return figure


def _marker(style: VariantStyle, variant: str, histogram: bool) -> dict[str, Any]:
    """Return the mark of a variant: filled with histograms, hollow without."""
    colour = style.colour(variant)
    fill = colour if histogram else "white"
    return {"marker": style.marker(variant), "ls": "none", "mfc": fill, "mec": colour}


def _legend(figure: Figure, style: VariantStyle, variants: set[str], *, histograms: bool = False) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for name in sorted(variants, key=style.order.__getitem__):
        line, label = "none" if histograms else style.dash(name), parts.shorten_name(name)
        colour, marker = style.colour(name), style.marker(name)
        handles.append(Line2D([], [], color=colour, marker=marker, ms=6, ls=line, label=label))
    if histograms:
        for fill, text in ((SOFT, "with histograms"), ("white", "without histograms")):
            handles.append(Line2D([], [], color=SOFT, marker="o", mfc=fill, ms=6, ls="none", label=text))
    parts.add_legend(figure, handles, handlelength=3.0)
