"""The ranking of an advice: a dot per configuration, and a line for what is known about it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Literal

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor import Advice
from aegis_opt.advisor._numbers import bounds_title, decimals_for
from aegis_opt.problem._margin import FloatArray
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values

_INTERVAL = "95% interval"
_WINNERS = 20  # of many that share the first place, so many have a name in bold


@dataclass(frozen=True)
class _Line:
    """The line of each row: what it means, where it starts and ends, and as text."""

    meaning: str
    low: FloatArray
    high: FloatArray
    texts: list[str]


def ranking_chart(
    advice: Advice, top: int, truth: Mapping[str, float] | None = None, *, page: bool = False
) -> Figure:
    """Draw the first `top` places; for a page without a title and without numbers beside the rows."""
    rows = advice.ranking.head(top)
    by = advice.ranked_by
    true = None if truth is None else np.array([truth[name] for name in rows["configuration"]])
    line = _line(advice, rows)
    start, end = _ends(rows[by], line, true, from_zero=by == "pud")
    dot = "score" if by == "score" else "estimate"
    data = []
    numbers = _texts(rows[by], decimals_for(rows[by], advice.criterion.digits))
    for i, row in enumerate(rows.to_dict("records")):
        low, high = (math.nan, math.nan) if line is None else (line.low[i], line.high[i])
        # an open end is NaN; where neither end is known, there is no line
        known = not (np.isnan(low) and np.isnan(high))
        data.append(
            {
                "configuration": row["configuration"],
                "rank": row["rank"],
                "value": row[by],
                "number": numbers[i],
            }
            | {"winner": row["configuration"] in advice.tied, "line": line.texts[i] if line else ""}
            | {"from": max(start, low) if known and not np.isnan(low) else start if known else None}
            | {"to": min(end, high) if known and not np.isnan(high) else end if known else None}
            | {"beyond": end if known and not high <= end else None}
            | ({} if true is None else {"truth": true[i]})
        )
    layers = _layers(advice, data, (start, end), dot, line, with_truth=true is not None, numbers=not page)
    if not page and (true is not None or line is not None):
        layers += _columns(data, dot, line, None if true is None else _texts(true, 4))
    mean = float(advice.ranking[by].mean())
    if advice.best is not None and start < mean < end:
        layers += _random_choice(mean)
    said = _title(advice, rows, line)
    return figure(
        layers,
        description=f"{said[0]}. {_description(advice, rows, dot)}",
        title=() if page else [part for text in said for part in wrap(text, 112)],
        width=None if page else theme.WIDTH,
        rows=len(rows),
    )


def _layers(
    advice: Advice,
    data: list[dict[str, Any]],
    ends: tuple[float, float],
    dot: str,
    line: _Line | None,
    *,
    with_truth: bool,
    numbers: bool,
) -> list[alt.Chart]:
    """Draw lines, arrows, the truth and the dots, with one legend for all."""
    shapes = {dot: "circle"}
    if line is not None:
        shapes[line.meaning] = theme.LINE
        if any(row["beyond"] is not None for row in data):
            shapes["goes on"] = "triangle-right"
    if with_truth:
        shapes["truth"] = "diamond"
    scale = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    legend = alt.Legend(title=None)
    bold = f"indexof({_literal(advice.tied[:_WINNERS])}, datum.value) >= 0"
    names = alt.Axis(
        title=None,
        grid=False,
        domain=False,
        ticks=False,
        labelLimit=200 if numbers else 130,
        labelPadding=8,
        labelFontWeight={"condition": {"test": bold, "value": "bold"}, "value": "normal"},
    )
    # in so many words: the order of appearance is that of the first layer, and the winner may have no line
    order = alt.Scale(domain=[row["configuration"] for row in data])
    y = alt.Y("configuration:N", scale=order, axis=names)
    x_scale = alt.Scale(domain=ends, nice=False, zero=False)
    better = "more" if dot == "score" and advice.criterion.higher_is_better else "less"
    unit = f" in {advice.criterion.unit}" if advice.criterion.unit else ""
    kind = "score" if dot == "score" else "deviation"
    axis = alt.Axis(title=f"{kind}{unit}, {better} is better", tickCount=6, format=".4~g")
    colour = alt.condition("datum.winner", alt.value(theme.ACCENT), alt.value(theme.OTHER))
    tips = [
        alt.Tooltip("rank:Q", title="rank"),
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("number:N", title=dot),
    ]
    if line is not None:
        tips.append(alt.Tooltip("line:N", title=line.meaning))
    if with_truth:
        tips.append(alt.Tooltip("truth:Q", title="truth", format=".4~g"))

    def place(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=x_scale, axis=axis)

    def shape(name: str) -> alt.Shape:
        return alt.Shape(f"{_field(name)}:N", scale=scale, legend=legend)

    data_with_names = [row | {_field(name): name for name in shapes} for row in data]
    base = alt.Chart(values(data_with_names))
    layers = []
    if line is not None:
        layers.append(
            base.mark_rule(strokeWidth=2.5, opacity=0.65, strokeCap="round").encode(
                x=place("from"), x2="to:Q", y=y, color=colour
            )
        )
        if "goes on" in shapes:
            layers.append(
                base.transform_filter("isValid(datum.beyond)")
                .mark_point(size=55, opacity=0.8, aria=False)
                .encode(x=place("beyond"), y=y, color=colour, shape=shape("goes on"))
            )
    if with_truth:
        layers.append(
            base.mark_point(size=60, filled=False, strokeWidth=1.8, color=theme.SECOND).encode(
                x=place("truth"), y=y, shape=shape("truth")
            )
        )
    size = alt.condition("datum.winner", alt.value(110), alt.value(75))
    return [
        *layers,
        base.mark_point().encode(
            x=place("value"), y=y, color=colour, size=size, shape=shape(dot), tooltip=tips
        ),
    ]


def _field(name: str) -> str:
    """Return the field that holds the name of a kind of mark, for the legend."""
    return f"mark of {name}".replace(".", "")


def _columns(
    data: list[dict[str, Any]], dot: str, line: _Line | None, truth: list[str] | None
) -> list[alt.Chart]:
    """Write the numbers to the right of the dots, each column below what it means."""
    columns: list[tuple[Literal["left", "right"], int, str, list[str]]] = [
        ("right", 58, dot, [row["number"] for row in data])
    ]
    if truth is not None:
        columns.append(("right", 116, "truth", truth))
    if line is not None:
        columns.append(("left", 74 if truth is None else 132, line.meaning, line.texts))
    layers = []
    for align, offset, head, texts in columns:
        x = alt.value({"expr": f"width + {offset}"})
        cells = values(
            {"configuration": row["configuration"], "text": text, "winner": row["winner"]}
            for row, text in zip(data, texts, strict=True)
        )
        layers.append(
            alt.Chart(cells)
            .mark_text(align=align, baseline="middle")
            .encode(x=x, y=alt.Y("configuration:N", sort=None), text="text:N")
        )
        layers.append(
            alt.Chart(values([{"head": head}]))
            .mark_text(align=align, baseline="bottom", fontSize=10.5, color="#566072")
            .encode(x=x, y=alt.value(-4), text="head:N")
        )
    return layers


def _random_choice(mean: float) -> list[alt.Chart]:
    """Mark what a choice at random has, with its name above."""
    base = alt.Chart(values([{"mean": mean, "text": "choosing at random"}]))
    rule = base.mark_rule(strokeDash=[2, 3], strokeWidth=1.2).encode(x="mean:Q")
    name = base.mark_text(baseline="bottom", fontSize=10.5, fontStyle="italic")
    return [rule, name.encode(x="mean:Q", y=alt.value(-4), text="text:N")]


def _line(advice: Advice, rows: pd.DataFrame) -> _Line | None:
    """Choose what the lines show: proved bounds, else how far the estimate varies, else nothing."""
    digits = advice.criterion.digits
    by = advice.ranked_by
    found = None
    if by == "pud" and rows[["pud_low", "pud_high"]].notna().any(axis=None):
        found = bounds_title(rows), rows["pud_low"], rows["pud_high"]
    elif by == "pud" and "pud_5" in rows:
        found = "90% of the drawn tables", rows["pud_5"], rows["pud_95"]
    elif by == "pud" and "pud_std" in rows:
        found = "standard deviation", rows["pud"] - rows["pud_std"], rows["pud"] + rows["pud_std"]
    elif "difference_low" in rows:
        # the interval is that of the difference from the winner: drawn around the configuration's own score
        before = rows["difference"] - rows["difference_low"]
        behind = rows["difference_high"] - rows["difference"]
        if by == "pud" or not advice.criterion.higher_is_better:
            before, behind = behind, before
        known = rows["difference_high"] > rows["difference_low"]  # not of the winner itself
        found = _INTERVAL, (rows[by] - behind).where(known), (rows[by] + before).where(known)
    if found is None:
        return None
    meaning, low, high = found
    ends = np.column_stack([low, high]).astype(np.float64)
    texts = _texts(ends, decimals_for(ends, digits))
    pairs = [
        f"{a} to {b}" if (a, b) != ("?", "?") else "" for a, b in zip(texts[::2], texts[1::2], strict=True)
    ]
    return _Line(meaning, ends[:, 0], ends[:, 1], pairs)


def _ends(
    dots: pd.Series[float], line: _Line | None, true: FloatArray | None, *, from_zero: bool
) -> tuple[float, float]:
    """Return the ends of the axis: those of the lines, unless the dots would be too close together."""
    placed = np.concatenate([dots, [] if true is None else true, [0.0] if from_zero else []])
    lows, highs = (placed, placed) if line is None else (line.low, line.high)
    least, most = float(np.nanmin(placed)), float(np.nanmax(placed))
    if from_zero:
        most = float(np.nanmax(np.append(lows, most)))
        reach = float(np.nanmax(np.append(highs, most)))
        return 0.0, (1.03 * reach if reach <= 2.5 * most else 1.25 * most) or 1.0
    room = 2.5 * (most - least) or abs(most) or 1.0
    low = max(float(np.nanmin(np.append(lows, least))), least - room)
    high = min(float(np.nanmax(np.append(highs, most))), most + room)
    edge = 0.04 * (high - low) or 0.5
    return low - edge, high + edge


def _title(advice: Advice, rows: pd.DataFrame, line: _Line | None) -> list[str]:
    """Say the finding, and how to read the figure."""
    measure, by = advice.criterion, advice.ranked_by
    attributes = len(advice.deviations.columns)
    over = "of the attribute" if attributes == 1 else f"averaged over {attributes} attributes"
    lines = [f"Deviation: how far masking moves the {measure.title} with the label, {over}."]
    if by == "score":
        together = advice.masked.isna().all(axis=None)
        over = "of all masked attributes together" if together else f"with the label, {over}"
        lines = [f"Score: the {measure.title} {over}, after masking."]
    if advice.best is None:
        finding = "No winner: this estimate cannot tell the configurations apart"
    elif len(advice.tied) > 1:
        finding = f"{len(advice.tied)} configurations share the first place"
    else:
        share = "loses the least" if by == "pud" else "keeps the most"
        finding = f"{shorten(advice.best)} {share} predictive utility"
    if advice.certified:
        finding += ", and that is proved"
        lines.append(
            "The bounds share one unknown and move together, so an overlap does not change the order."
        )
    elif advice.best is not None:
        finding += " by this estimate"
    outside = (rows["pud"] < rows["pud_low"] * (1 - 1e-9)) | (rows["pud"] > rows["pud_high"] * (1 + 1e-9))
    if by == "pud" and outside.any() and "epsilon" not in rows:
        lines.append("A dot outside its line is an estimate that is proved wrong.")
    if line is not None and line.meaning == _INTERVAL:
        number = "deviation" if by == "pud" else "score"
        lines.append(
            f"The {_INTERVAL} is that of the difference from the winner, drawn around each {number}."
        )
    if len(rows) < len(advice.ranking):
        lines.append(f"Shown are the first {len(rows):,} of {len(advice.ranking):,} configurations.")
    return [finding, *lines]


def _description(advice: Advice, rows: pd.DataFrame, dot: str) -> str:
    first = rows.head(3)
    numbers = _texts(first[advice.ranked_by], advice.criterion.digits)
    named = [f"{shorten(str(n))} {v}" for n, v in zip(first["configuration"], numbers, strict=True)]
    return f"Dots of {len(rows):,} configurations, best first. The {dot}s of the first: {', '.join(named)}."


def _texts(numbers: npt.ArrayLike, decimals: int) -> list[str]:
    flat = np.ravel(np.asarray(numbers, dtype=np.float64))
    return ["?" if np.isnan(number) else f"{number:.{decimals}f}" for number in flat]


def _literal(names: tuple[str, ...]) -> str:
    """Return names as a list in Vega's language of expressions, where JSON's strings are strings."""
    return json.dumps(list(names))
