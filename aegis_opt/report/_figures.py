"""The figures of the page as PNG and SVG files, for papers and slides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from aegis_opt._files import atomic_path
from aegis_opt.report._drawing import GRID, INK, SOFT, Looks, make_panels, short_name, text_width
from aegis_opt.report._palette import HEAT
from aegis_opt.report._ranking_figure import draw_rankings
from aegis_opt.report._rankings import Ranking
from aegis_opt.report._series import FEW, Cell, Profile, View, measure_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FORMATS = (".png", ".svg")


def write_figures(
    views: Sequence[View], rankings: Sequence[Ranking], variants: Sequence[str], folder: Path
) -> list[Path]:
    """Draw every figure that has data, one panel per scope, and save each as PNG and SVG.

    Rankings get a figure per scope and data set, one panel per measure.

    Parameters
    ----------
    views : sequence of View
        One per scope, of the same data sets.
    rankings : sequence of Ranking
        Every advisor run; the run shown is the one that the page shows at first.
    variants : sequence of str
        All variants, in the order that gives them their colours.
    folder : path
        Made where it does not exist.

    Returns
    -------
    list of Path
        The files, each whole.
    """
    from matplotlib import rc_context

    looks = Looks(variants)
    drawn: dict[str, Callable[[], Figure | None]] = {
        "tvd": lambda: _boxes(views, looks),
        "pareto": lambda: _pareto(views, looks),
        "profile-time": lambda: _profiles(views, looks, "profile-time", "time"),
        "profile-tvd": lambda: _profiles(views, looks, "profile-tvd", "TVD"),
        "regret": lambda: _regret(views, looks),
        "estimate": lambda: _estimates(views, looks),
        **draw_rankings(rankings, looks),
    }
    paths = []
    # the salt and the missing date make equal results give equal files
    with rc_context({"svg.hashsalt": "aegis-opt", "font.size": 9}):
        for name, draw in drawn.items():
            figure = draw()
            if figure is None:
                continue
            for ending in _FORMATS:
                path = folder / f"{name}{ending}"
                metadata = {"Date": None} if ending == ".svg" else None
                with atomic_path(path) as temporary:
                    figure.savefig(temporary, metadata=metadata)
                figure.set_layout_engine("none")  # what was laid out once need not be again
                paths.append(path)
    return paths


def _head(axes: Axes, view: View, name: str, width: float = 4.1) -> None:
    """Title of a panel `width` inches wide: the scope and, below it, the sample and what was charged."""
    lines = wrap(view.notes[name], int(width / 0.055))
    axes.set_title(view.scope, loc="left", fontsize=10, fontweight="bold", color=INK, pad=7 + 10 * len(lines))
    place: dict[str, Any] = {"xycoords": "axes fraction", "xytext": (0, 4), "textcoords": "offset points"}
    axes.annotate("\n".join(lines), (0, 1), **place, fontsize=7, color=SOFT, va="bottom", linespacing=1.25)


def _log_axis(axes: Axes, low: float, high: float) -> None:
    """Make x logarithmic from `low` to `high` with plain numbers: 0.1, 0.2, 0.5, 1, ..."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(MaxNLocator(5) if high < 5 * low else LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _boxes(views: Sequence[View], looks: Looks) -> Figure | None:
    shown = [view for view in views if view.boxes]
    if not shown:
        return None
    most = max(len(view.boxes) for view in shown)
    names = [short_name(box.variant, box.histogram) for view in shown for box in view.boxes]
    figure, [row] = make_panels(len(shown), 1, 4.3 + text_width(names), 1.3 + 0.24 * most)
    for axes, view in zip(row, shown, strict=True):
        boxes = looks.sort(view.boxes)
        _head(axes, view, "tvd")
        for y, box in enumerate(boxes):
            colour = looks.colour(box.variant)
            fill = colour if box.histogram else "white"
            if box.n >= FEW:
                axes.hlines(y, box.low, box.high, color=colour, lw=1.2)
                axes.barh(y, box.q3 - box.q1, 0.62, box.q1, color=fill, edgecolor=colour, lw=1.2)
            on_fill = box.histogram and box.n >= FEW and box.q3 - box.q1 > 0.01
            middle = "white" if on_fill else colour
            axes.vlines(box.median, y - 0.31, y + 0.31, color=middle, lw=1.8)
            axes.plot(box.dots, [y] * len(box.dots), "o", mfc="none", mec=colour, ms=2.6, mew=0.7)
            right = axes.get_yaxis_transform()
            count = f"{box.n:,}{'*' if box.partial else ''}"
            axes.text(1.02, y, count, transform=right, fontsize=7, color=SOFT, va="center")
        axes.set_yticks(
            range(len(boxes)), [short_name(box.variant, box.histogram) for box in boxes], parse_math=False
        )
        axes.set_ylim(len(boxes) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.grid(axis="x", color=GRID, lw=0.8)
        axes.set_xlabel("TVD to the raw joint table (less is better); at the right: n", color=SOFT)
    return figure


def _pareto(views: Sequence[View], looks: Looks) -> Figure | None:
    shown = [view for view in views if view.points]
    if not shown:
        return None
    figure, [row] = make_panels(len(shown), 1, 5.0, 4.2)
    for axes, view in zip(row, shown, strict=True):
        _head(axes, view, "pareto")
        times = [max(point.seconds, 1e-6) for point in view.points]
        _log_axis(axes, min(times) / 1.4, max(times) * 1.4)
        for histogram, line in ((True, "-"), (False, "--")):
            front = sorted((p.seconds, p.tvd) for p in view.points if p.front and p.histogram == histogram)
            if front:
                axes.step(*zip(*front, strict=True), where="post", color=SOFT, lw=1.1, ls=line, zorder=1)
        for point in looks.sort(view.points):
            colour = looks.colour(point.variant)
            axes.plot(
                *(max(point.seconds, 1e-6), point.tvd),
                looks.marker(point.variant),
                ms=8 if point.front else 6,
                mfc=colour if point.histogram else "white",
                mec=colour,
                mew=1.4,
                alpha=1.0 if point.n == point.of else 0.45,
                zorder=2,
            )
        axes.set_ylim(bottom=0)
        axes.grid(color=GRID, lw=0.8)
        axes.set_xlabel("seconds per reconstruction (shifted geometric mean)", color=SOFT)
        axes.set_ylabel("mean TVD", color=SOFT)
    _legend(figure, looks, {p.variant for view in shown for p in view.points}, histograms=True)
    return figure


def _profiles(views: Sequence[View], looks: Looks, name: str, words: str) -> Figure | None:
    found: list[tuple[View, Profile]] = []
    for view in views:
        profile = view.time_profile if name == "profile-time" else view.tvd_profile
        if profile is not None:
            found.append((view, profile))
    if not found:
        return None
    figure, [row] = make_panels(len(found), 1, 5.0, 3.6)
    for axes, (view, profile) in zip(row, found, strict=True):
        _head(axes, view, name)
        for variant in sorted(profile.shares, key=looks.order.__getitem__):
            axes.step(
                profile.taus,
                profile.shares[variant],
                where="post",
                color=looks.colour(variant),
                ls=looks.dash(variant),
                lw=1.7,
                marker=looks.marker(variant),
                ms=4.5,
                markevery=max(1, len(profile.taus) // 4),
            )
        _log_axis(axes, 1, max(profile.taus[-1], 1.05))
        axes.set_ylim(0, 1.02)
        axes.grid(color=GRID, lw=0.8)
        unit = " s" if profile.metric == "seconds_total" else ""
        axes.set_xlabel(f"factor of the best {words} (+ {profile.shift:g}{unit})", color=SOFT)
        axes.set_ylabel("share of problems", color=SOFT)
    _legend(figure, looks, {variant for _, profile in found for variant in profile.shares})
    return figure


def _regret(views: Sequence[View], looks: Looks) -> Figure | None:
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    shown = [view for view in views if view.cells]
    if not shown:
        return None
    rows = max(len({(cell.variant, cell.histogram) for cell in view.cells}) for view in shown)
    columns = max(len({(cell.dataset, cell.measure) for cell in view.cells}) for view in shown)
    names = [short_name(cell.variant, cell.histogram) for view in shown for cell in view.cells]
    width = max(2.8, 0.62 * columns)
    figure, [panels] = make_panels(len(shown), 1, width + 1.4 + text_width(names), 2.3 + 0.26 * rows)
    low, high, worse = (HEAT[name][0] for name in ("heat-low", "heat-high", "worse"))
    colours = LinearSegmentedColormap.from_list("regret", [low, high]).with_extremes(bad="white", over=worse)
    for axes, view in zip(panels, shown, strict=True):
        _head(axes, view, "regret", width)
        cells: list[Cell] = looks.sort(view.cells)
        lines = list(dict.fromkeys((cell.variant, cell.histogram) for cell in cells))
        across = sorted({(cell.dataset, cell.measure) for cell in cells})
        grid = np.full((len(lines), len(across)), np.nan)
        for cell in cells:
            place = lines.index((cell.variant, cell.histogram)), across.index((cell.dataset, cell.measure))
            known = cell.share is not None
            grid[place] = cell.share if cell.share is not None else np.nan
            text = f"{cell.share:.2g}{'*' if cell.charged else ''}" if known else ("=" if cell.n else "-")
            ink = "white" if known and grid[place] > 0.5 else INK
            axes.text(place[1], place[0], text, ha="center", va="center", fontsize=7.5, color=ink)
        image = axes.imshow(grid, cmap=colours, norm=Normalize(0, 1.0005), aspect="auto")
        axes.set_yticks(range(len(lines)), [short_name(*line) for line in lines], parse_math=False)
        labels = [f"{measure}\n{short_name(dataset)}" for dataset, measure in across]
        axes.set_xticks(range(len(across)), labels, rotation=30, ha="right", parse_math=False, fontsize=7.5)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
    bar = figure.colorbar(image, ax=panels, shrink=0.8, extend="max", pad=0.02)
    bar.set_label("regret / regret of a random choice", color=SOFT, fontsize=8)
    return figure


def _estimates(views: Sequence[View], looks: Looks) -> Figure | None:
    shown = [view for view in views if view.choices]
    if not shown:
        return None
    measures = sorted({choice.measure for view in shown for choice in view.choices})
    figure, grid = make_panels(len(measures), len(shown), 3.3, 3.2)
    for row, view in zip(grid, shown, strict=True):
        for axes, measure in zip(row, measures, strict=True):
            choices = [choice for choice in looks.sort(view.choices) if choice.measure == measure]
            title, unit = measure_title(measure)
            axes.set_title(
                f"{view.scope}: {title}, n = {len(choices)}",
                loc="left",
                fontsize=8.5,
                color=INK,
                parse_math=False,
            )
            end = max((max(c.estimated, c.true) for c in choices), default=1.0) * 1.06 or 1.0
            axes.plot([0, end], [0, end], color=SOFT, lw=0.8, ls="--")
            for choice in choices:
                colour = looks.colour(choice.variant)
                fill = colour if choice.histogram else "white"
                marker = looks.marker(choice.variant)
                axes.plot(choice.true, choice.estimated, marker, ms=5.5, mfc=fill, mec=colour, clip_on=False)
            axes.set_xlim(0, end)
            axes.set_ylim(0, end)
            axes.grid(color=GRID, lw=0.8)
            axes.set_xlabel(f"true PUD of the winner{f' ({unit})' if unit else ''}", color=SOFT, fontsize=8)
            axes.set_ylabel("estimated PUD", color=SOFT, fontsize=8)
    _legend(figure, looks, {c.variant for view in shown for c in view.choices}, histograms=True)
    return figure


def _legend(figure: Figure, looks: Looks, variants: Iterable[str], *, histograms: bool = False) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for name in sorted(variants, key=looks.order.__getitem__):
        line = "none" if histograms else looks.dash(name)
        colour, marker = looks.colour(name), looks.marker(name)
        handles.append(Line2D([], [], color=colour, marker=marker, ms=6, ls=line, label=short_name(name)))
    if histograms:
        for fill, text in ((SOFT, "with histograms"), ("white", "without histograms")):
            handles.append(Line2D([], [], color=SOFT, marker="o", mfc=fill, ms=6, ls="none", label=text))
    room = figure.get_size_inches()[0] / (text_width([str(handle.get_label()) for handle in handles]) + 0.55)
    columns = max(1, min(len(handles), int(room)))
    legend = figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8,
        handlelength=3.0,
    )
    for label in legend.get_texts():
        label.set_parse_math(False)  # a name with dollars is a name
