"""One advisor run of a comparison: configurations in its order, with proved bounds, estimate and truth."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import altair as alt

from aegis_opt.report._prepared_results import measure_title
from aegis_opt.report._ranking_data import Ranking
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, values
from aegis_opt.report.charts._variants import label_of

_SHAPES = {
    "proved to lie here": theme.LINE,
    "estimated": "circle",
    "true": "diamond",
    "goes on": "triangle-right",
}
_WITHIN = {name: shape for name, shape in _SHAPES.items() if name != "goes on"}  # where every line ends


def order_rows(ranking: Ranking) -> list[dict[str, Any]]:
    """Return the rows of the figure; a line that would squeeze the dots together is cut."""
    end = ranking.end
    return [
        {"configuration": name, "rank": rank, "estimated": estimated, "true": true}
        | {"low": low, "high": high, "winner": name == ranking.best}
        | ({} if low is high is None else {"from": low or 0.0, "to": end if high is None else min(high, end)})
        | ({"beyond": end} if (high is None and low is not None) or (high or 0.0) > end else {})
        for name, rank, estimated, low, high, true in zip(
            ranking.names,
            ranking.ranks,
            ranking.estimated,
            ranking.low,
            ranking.high,
            ranking.true,
            strict=True,
        )
    ]


def order_chart(ranking: Ranking, *, page: bool = False) -> Figure:
    """Draw one run."""
    title, unit = measure_title(ranking.measure)
    y = alt.Y(
        "configuration:N",
        sort=None,
        axis=alt.Axis(title=None, grid=False, ticks=False, domain=False, labelLimit=130 if page else 200),
    )
    axis = alt.Axis(title=f"PUD{f' ({unit})' if unit else ''}, less is better", tickCount=6, format=".4~g")
    rows = order_rows(ranking)
    # a page shows other runs by the same figure: its legend has all marks
    shapes = _SHAPES if page or any("beyond" in row for row in rows) else _WITHIN
    scale = alt.Scale(domain=list(shapes), range=list(shapes.values()))
    legend = alt.Legend(title=None, columns=2 if page else 4)
    tips = [
        alt.Tooltip("rank:Q"),
        alt.Tooltip("configuration:N"),
        alt.Tooltip("estimated:Q", title="estimated PUD", format=".4~g"),
        alt.Tooltip("low:Q", title="proved at least", format=".4~g"),
        alt.Tooltip("high:Q", title="proved at most", format=".4~g"),
        alt.Tooltip("true:Q", title="true PUD", format=".4~g"),
    ]
    colour = alt.condition("datum.winner", alt.value(theme.ACCENT), alt.value(theme.OTHER))
    base = alt.Chart(alt.NamedData("rows") if page else values(rows))

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(zero=True, nice=False))

    def marked(name: str, field: str, **look: Any) -> alt.Chart:
        kind = alt.Shape("kind:N", scale=scale, legend=legend)
        known = base.transform_filter(f"isValid(datum.{field})").transform_calculate(kind=f"'{name}'")
        chart: alt.Chart = known.mark_point(**look).encode(x=x(field), y=y, shape=kind)
        return chart

    arrows = marked("goes on", "beyond", size=50, opacity=0.8, aria=False)
    truth = marked("true", "true", size=55, filled=False, strokeWidth=1.8, color=theme.SECOND)
    dots = marked("estimated", "estimated", size=70)
    line = base.mark_rule(strokeWidth=2.5, opacity=0.6, strokeCap="round")
    run = f"{ranking.dataset}, {ranking.scope}, {label_of(ranking.variant, ranking.histogram)}"
    seed = f", seed {ranking.seed}" if ranking.seed else ""
    return figure(
        [
            line.encode(x=x("from"), x2="to:Q", y=y, color=colour),
            arrows.encode(color=colour),
            truth,
            dots.encode(color=colour, tooltip=tips),
        ],
        description="Configurations in the order of an advisor run, with estimated and true deviation "
        "and the proved bounds as lines.",
        title=() if page else [f"Order by {title}", f"{run}{seed}", *wrap(ranking.remark, 90)],
        width=None if page else theme.WIDTH,
        rows=len(ranking.names),
    )
