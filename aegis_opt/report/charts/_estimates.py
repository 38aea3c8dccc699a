"""The winner's deviation as the advisor estimated it, against the true one."""

from __future__ import annotations

import altair as alt

from aegis_opt.report._chart_data import Choice, Selection
from aegis_opt.report._prepared_results import measure_title
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.report.charts._variants import VariantStyle, label_of, marks_of


def estimates_chart(selection: Selection, measure: str, style: VariantStyle, *, page: bool = False) -> Figure:
    """Draw a dot per advisor run by one measure; on the line, the estimate is exact."""
    choices: list[Choice] = [choice for choice in style.sort(selection.choices) if choice.measure == measure]
    rows = [
        {"series": label_of(choice.variant, choice.histogram), "true": choice.true}
        | {
            "estimated": choice.estimated,
            "dataset": choice.dataset,
            "best": choice.best,
            "least": choice.least,
        }
        | {"order": "proved" if choice.certified else "estimated"}
        for choice in choices
    ]
    end = max((max(choice.estimated, choice.true) for choice in choices), default=0.0) * 1.06 or 1.0
    title, unit = measure_title(measure)
    ending = f" ({unit})" if unit else ""
    scale = alt.Scale(domain=[0, end], nice=False)
    x = alt.X(
        "true:Q",
        scale=scale,
        axis=alt.Axis(title=f"true PUD of the winner{ending}", tickCount=5, format=".4~g"),
    )
    y = alt.Y("estimated:Q", scale=scale, axis=alt.Axis(title="estimated PUD", tickCount=5, format=".4~g"))
    tips = [
        alt.Tooltip("series:N", title="variant"),
        alt.Tooltip("dataset:N", title="data set"),
        alt.Tooltip("best:N", title="winner"),
        alt.Tooltip("true:Q", title="true PUD", format=".4~g"),
        alt.Tooltip("estimated:Q", title="estimated PUD", format=".4~g"),
        alt.Tooltip("least:Q", title="least true PUD", format=".4~g"),
        alt.Tooltip("order:N", title="order"),
    ]
    exact = alt.Chart(values([{"true": 0.0, "estimated": 0.0}, {"true": end, "estimated": end}]))
    dots = alt.Chart(values(rows)).mark_point(filled=False, size=70, strokeWidth=1.6)
    head = f"Estimated against true deviation of the winner: {title}"
    return figure(
        [
            exact.mark_line(strokeDash=[4, 3], strokeWidth=1, color=theme.OTHER).encode(x=x, y=y),
            dots.encode(x=x, y=y, tooltip=tips, **marks_of(choices, style, page=page)),
        ],
        description=f"{head}: {len(rows)} advisor runs as dots. On the dashed line both are equal.",
        title=() if page else [head, f"{shorten(selection.dataset or 'all data sets')}, {selection.scope}"],
        width=None if page else 320,
        height=280,
    )
