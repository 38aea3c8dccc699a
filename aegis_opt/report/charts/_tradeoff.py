"""Time against distance: which variant is worth its time."""

from __future__ import annotations

import altair as alt

from aegis_opt.report._chart_data import Selection
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._distances import notes
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.report.charts._variants import VariantStyle, label_of, log_ticks, marks_of

_TITLE = "Time against distance: down and left is better"
_LEAST = 1e-6  # seconds; a logarithm needs something


def tradeoff_chart(selection: Selection, style: VariantStyle, *, page: bool = False) -> Figure:
    """Draw a dot per variant, and a line through those that no other beats in both."""
    points = style.sort(selection.points)
    rows = [
        {"series": label_of(point.variant, point.histogram), "seconds": max(point.seconds, _LEAST)}
        | {"tvd": point.tvd, "problems": f"{point.n:,} of {point.of:,}", "penalised": point.penalised}
        | {"front": point.front, "line": point.histogram}
        for point in points
    ]
    times = [row["seconds"] for row in rows]
    x = alt.X(
        "seconds:Q",
        scale=alt.Scale(type="log", domain=[min(times) / 1.5, max(times) * 1.5], nice=False),
        axis=alt.Axis(
            title="time per reconstruction (shifted geometric mean)",
            values=log_ticks(min(times) / 1.5, max(times) * 1.5),
            labelExpr=SECONDS,
        ),
    )
    y = alt.Y(
        "tvd:Q", scale=alt.Scale(zero=False), axis=alt.Axis(title="mean TVD", tickCount=6, format=".4~g")
    )
    tips = [
        alt.Tooltip("series:N", title="variant"),
        alt.Tooltip("seconds:Q", title="seconds", format=".3~g"),
        alt.Tooltip("tvd:Q", title="mean TVD", format=".4~g"),
        alt.Tooltip("problems:N", title="problems tried"),
        alt.Tooltip("penalised:Q", title="of these penalised"),
    ]
    base = alt.Chart(values(rows))
    front = base.transform_filter("datum.front").mark_line(
        interpolate="step-after", strokeWidth=1.2, strokeDash=[4, 3], color=theme.OTHER
    )
    size = alt.condition("datum.front", alt.value(130), alt.value(70))
    best = [shorten(point.variant) for point in points if point.front]
    return figure(
        [
            front.encode(x=x, y=y, detail="line:N"),
            base.mark_point(filled=False, strokeWidth=1.8).encode(
                x=x, y=y, size=size, tooltip=tips, **marks_of(points, style, page=page)
            ),
        ],
        description=f"Time against mean TVD of each variant. Nothing beats these in both: {', '.join(best)}.",
        title=() if page else [_TITLE, *notes(selection, "pareto", 80)],
        width=None if page else theme.WIDTH,
        height=300,
    )


SECONDS = (
    "datum.value < 0.001 ? format(datum.value * 1e6, '~g') + ' µs' : "
    "datum.value < 1 ? format(datum.value * 1e3, '~g') + ' ms' : format(datum.value, '~g') + ' s'"
)
"""How an axis writes seconds."""
