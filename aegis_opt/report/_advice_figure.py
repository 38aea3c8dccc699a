"""The picture of an advice: its ranking with the proved bounds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt._options import instance, whole_number
from aegis_opt.advisor import Advice
from aegis_opt.advisor._numbers import decimals_for
from aegis_opt.problem._margin import FloatArray
from aegis_opt.report._figure_style import VARIANTS, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WINNER, _TRUTH = (light for light, _ in VARIANTS[:2])
_INK, _OTHER, _FAINT = "#222222", "#6B7280", "#C9CED6"
_WIDTH, _ROW, _HEAD, _FOOT = 10.0, 0.29, 1.32, 0.7  # inches, as are the columns of numbers:
_TABLE, _TRUTH_COLUMN = 2.7, 0.75


def plot_ranking(
    advice: Advice,
    path: str | os.PathLike[str] | None = None,
    top: int | None = None,
    truth: Mapping[str, float] | None = None,
) -> Figure:
    """Draw the ranking: a dot per configuration and, as a line, the proved bounds of its true deviation.

    A line that would squeeze the dots together is cut with an arrow; the numbers at the right say where it
    ends.

    Parameters
    ----------
    advice : Advice
        The advice to draw.
    path : path, optional
        Where to save the figure, whole or not at all; the ending chooses the format (.png, .pdf, .svg).
    top : int, optional
        How many configurations to draw, best first; by default all.
    truth : mapping of str to float, optional
        The true deviation of each configuration, if the raw table is known.

    Returns
    -------
    matplotlib.figure.Figure
        Made without pyplot, so no global state is touched and nothing has to be closed.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(300)
    >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations))
    >>> figure = plot_ranking(advice, top=5)
    >>> len(figure.axes[0].get_yticklabels())
    5
    """
    instance("advice", advice, Advice, "aegis_opt.advise(summary) gives one")
    require_matplotlib()
    from matplotlib.figure import Figure as MatplotlibFigure

    rows = advice.ranking if top is None else advice.ranking.head(whole_number("top", top, least=1))
    true = None if truth is None else np.array([truth[name] for name in rows["configuration"]])
    height = _HEAD + _ROW * len(rows) + _FOOT
    figure = MatplotlibFigure(figsize=(_WIDTH, height), dpi=160, facecolor="white")
    left = min(3.5, 0.4 + 0.085 * max(len(str(name)) for name in rows["configuration"]))
    width = _WIDTH - left - (_TABLE if true is None else _TABLE + _TRUTH_COLUMN)
    box = (left / _WIDTH, _FOOT / height, width / _WIDTH, _ROW * len(rows) / height)
    axes = figure.add_axes(box)
    _draw_rows(axes, advice, rows, true)
    _write_numbers(axes, advice, rows, true)
    _finish(axes, advice, rows)
    _write_title(figure, advice, rows, height)
    if path is not None:
        with atomic_path(path) as temporary:
            figure.savefig(temporary)
    return figure


def _draw_rows(axes: Axes, advice: Advice, rows: pd.DataFrame, true: FloatArray | None) -> None:
    by = advice.ranked_by
    start, limit = (0.0, _limit(rows, true)) if by == "pud" else _ends(rows[by])
    for y, row in enumerate(rows.to_dict("records")):
        winner = row["configuration"] in advice.tied
        colour, line = (_WINNER, _WINNER) if winner else (_OTHER, _FAINT)
        low, high = row["pud_low"], row["pud_high"]
        if not np.isnan(low):
            beyond = not high <= limit  # NaN too: open on that side
            axes.plot([low, limit if beyond else high], [y, y], color=line, lw=1.8, zorder=1)
            if beyond:
                axes.plot(limit, y, ">", color=line, ms=5, mew=0, zorder=1, clip_on=False)
        elif "pud_std" in row:
            ends = [row["pud"] - row["pud_std"], row["pud"] + row["pud_std"]]
            axes.plot(ends, [y, y], color=line, lw=1.8, zorder=1)
        if true is not None:
            axes.plot(true[y], y, "D", color=_TRUTH, ms=4.5, mfc="white", mew=1.3, zorder=2, clip_on=False)
        axes.plot(row[by], y, "o", color=colour, ms=7.5 if winner else 6.5, zorder=3, clip_on=False)
    names = [str(name) for name in rows["configuration"]]
    axes.set_yticks(range(len(names)), names, parse_math=False, fontsize=9)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        if name in advice.tied:
            label.set(color=_WINNER, fontweight="bold")
    axes.set_xlim(start, limit)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _write_numbers(axes: Axes, advice: Advice, rows: pd.DataFrame, true: FloatArray | None) -> None:
    """Write the table to the right of the dots."""
    digits = advice.criterion.digits
    by = advice.ranked_by
    decimals = decimals_for(rows[by], digits)
    ends = rows[["pud_low", "pud_high"]]
    last = 1.1 + (0.0 if true is None else _TRUTH_COLUMN)
    columns = [
        (0.85, "right", _OTHER, "● estimate" if by == "pud" else "● score", _texts(rows[by], decimals))
    ]
    if true is not None:
        columns.append((0.85 + _TRUTH_COLUMN, "right", _TRUTH, "◇ truth", _texts(true, decimals)))
    if ends["pud_low"].notna().any():
        numbers = _texts(ends, decimals_for(ends, digits))
        texts = [f"{low} to {high}" for low, high in zip(numbers[::2], numbers[1::2], strict=True)]
        columns.append((last, "left", _OTHER, "━ proved bounds", texts))
    elif "pud_std" in rows:
        texts = [f"± {text}" for text in _texts(rows["pud_std"], decimals)]
        columns.append((last, "left", _OTHER, "━ standard deviation", texts))
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    place |= {"annotation_clip": False, "va": "center", "fontsize": 8.5}
    for inches, align, colour, head, texts in columns:
        at: dict[str, Any] = {"xytext": (72 * inches, 0), "ha": align, **place}  # to the right of the axes
        axes.annotate(head, (1, -1), color=colour, **at)
        for y, (name, text) in enumerate(zip(rows["configuration"], texts, strict=True)):
            winner = name in advice.tied
            ink = colour if colour == _TRUTH else _WINNER if winner else _INK if align == "right" else _OTHER
            bold = "bold" if winner and align == "right" else "normal"
            axes.annotate(text, (1, y), color=ink, fontweight=bold, **at)


def _texts(values: pd.Series[float] | pd.DataFrame | FloatArray, decimals: int) -> list[str]:
    numbers = np.ravel(np.asarray(values, dtype=np.float64))
    return ["?" if np.isnan(number) else f"{number:.{decimals}f}" for number in numbers]


def _limit(rows: pd.DataFrame, true: FloatArray | None) -> float:
    """Return the right end of the axis: that of the bounds, unless the dots would be too close together."""
    placed = np.concatenate([rows["pud"], rows["pud_low"], [] if true is None else true, [0.0]])
    dots = float(np.nanmax(placed))
    reach = float(np.nanmax(np.append(rows["pud_high"], dots)))
    return (1.03 * reach if reach <= 2.5 * dots else 1.25 * dots) or 1.0


def _ends(scores: pd.Series[float]) -> tuple[float, float]:
    """Return the ends of an axis of scores, which may be negative, with some room beside the dots."""
    low, high = min(0.0, float(scores.min())), max(0.0, float(scores.max()))
    return low - (0.03 * (high - low) if low < 0 else 0.0), high + 0.03 * (high - low) or 1.0


def _finish(axes: Axes, advice: Advice, rows: pd.DataFrame) -> None:
    """Mark what a random choice has, and write the axis."""
    by, measure = advice.ranked_by, advice.criterion
    if advice.best is not None and (x := float(advice.ranking[by].mean())) < axes.get_xlim()[1]:
        axes.axvline(x, color=_INK, lw=0.9, ls=(0, (1, 2.5)), zorder=0)
        above: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
        axes.text(x, 1.0, "choosing at random", **above, fontsize=8, color=_INK)
    better = "more" if by == "score" and measure.higher_is_better else "less"
    text = f"{'deviation' if by == 'pud' else 'score'}{f' in {measure.unit}' if measure.unit else ''}"
    axes.set_xlabel(f"{text}, {better} is better", fontsize=8.5, color=_OTHER)
    axes.tick_params(axis="y", length=0, pad=10)
    axes.tick_params(axis="x", colors=_OTHER, labelsize=8, length=3)
    axes.locator_params(axis="x", nbins=6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_FAINT)
    if len(rows) < len(advice.ranking):
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
        place |= {"xytext": (72 * (_TABLE - 0.2), -24), "fontsize": 8.5, "color": _OTHER}
        axes.annotate(f"the first {len(rows)} of {len(advice.ranking)}", (1, 0), **place)


def _write_title(figure: Figure, advice: Advice, rows: pd.DataFrame, height: float) -> None:
    measure = advice.criterion
    attributes = len(advice.deviations.columns)
    over = "of the attribute" if attributes == 1 else f"averaged over {attributes} attributes"
    lines = [f"Deviation: how far masking moves the {measure.title} with the label, {over}."]
    if advice.ranked_by == "score":
        lines = [f"Score: the {measure.title} with the label after masking, {over}."]
    outside = (rows["pud"] < rows["pud_low"] * (1 - 1e-9)) | (rows["pud"] > rows["pud_high"] * (1 + 1e-9))
    if advice.best is None:
        finding = "No winner: this estimate cannot tell the configurations apart"
    elif len(advice.tied) > 1:
        finding = f"{len(advice.tied)} configurations share the first place"
    else:
        share = "loses the least" if advice.ranked_by == "pud" else "keeps the most"
        finding = f"{advice.best} {share} predictive utility"
    if advice.certified:
        finding += ", and that is proved"
        lines.append(
            "The bounds share one unknown and move together, so an overlap does not change the order."
        )
    elif advice.best is not None:
        finding += " by this estimate"
    if outside.any():
        lines.append("A dot outside its line is an estimate that is proved wrong.")
    x, y = 0.2 / _WIDTH, 1 - 0.18 / height
    figure.text(x, y, finding, fontsize=13, fontweight="bold", color=_INK, va="top", parse_math=False)
    y -= 0.28 / height
    figure.text(x, y, "\n".join(lines), fontsize=9, color=_OTHER, va="top", linespacing=1.4)
