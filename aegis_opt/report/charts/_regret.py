"""What the advice of each variant costs: regret in units of what a random choice loses, as a heat map."""

from __future__ import annotations

from typing import Any

import altair as alt

from aegis_opt.report._chart_data import Cell, Selection
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._distances import notes
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.report.charts._variants import VariantStyle, label_of

_TITLE = "Regret of the advice, in units of a random choice's"
_NUMBERS = 10  # columns up to which the cells have room for numbers


def regret_chart(selection: Selection, style: VariantStyle, *, page: bool = False) -> Figure:
    """Draw a cell per variant, data set and measure: 0 is the best configuration, 1 no better than chance."""
    cells: list[Cell] = style.sort(selection.cells)
    one = len({cell.dataset for cell in cells}) == 1
    rows: list[dict[str, Any]] = [
        {"variant": label_of(cell.variant, cell.histogram), "column": cell.measure if one else _column(cell)}
        | {"share": None if cell.share is None else min(cell.share, 1.0), "text": _text(cell)}
        | {"worse": cell.share is not None and cell.share > 1.0005, "regret": cell.regret, "tau": cell.tau}
        | {"exact": cell.share, "runs": cell.n, "note": cell.note or "-"}
        for cell in sorted(cells, key=lambda cell: (cell.dataset, cell.measure))
    ]
    names = list(dict.fromkeys(label_of(cell.variant, cell.histogram) for cell in cells))
    columns = len({row["column"] for row in rows})
    longest = max(len(row["column"]) for row in rows)
    width = max(180, min(720, 70 * columns))
    angle = 0 if 7 * longest < (250 if page else width) / columns else -90
    tips = [
        alt.Tooltip("variant:N"),
        alt.Tooltip("column:N", title="measure and data set"),
        alt.Tooltip("exact:Q", title="regret / random", format=".3~g"),
        alt.Tooltip("regret:Q", format=".3~g"),
        alt.Tooltip("tau:Q", format=".3~g"),
        alt.Tooltip("runs:Q"),
        alt.Tooltip("note:N"),
    ]
    base = alt.Chart(values(rows)).encode(
        x=alt.X(
            "column:N",
            sort=None,
            axis=alt.Axis(
                title=None,
                orient="top",
                labelAngle=angle,
                labelOverlap=False,
                labelLimit=140,
                domain=False,
                ticks=False,
            ),
        ),
        y=alt.Y("variant:N", sort=names, axis=alt.Axis(title=None, domain=False, ticks=False)),
        tooltip=tips,
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, 1], range=list(theme.HEAT), interpolate="lab"),
        legend=alt.Legend(title="regret / regret of a random choice", gradientLength=180, tickCount=4),
    )
    stroke: dict[str, Any] = {"stroke": "#FFFFFF", "strokeWidth": 1, "strokeOpacity": 0.6}
    layers = [base.mark_rect(**stroke).encode(color=colour)]
    if any(row["worse"] for row in rows):
        worse = base.transform_filter("datum.worse").mark_rect(color=theme.WORSE, **stroke)
        layers.append(worse)
    if columns <= _NUMBERS:
        ink = alt.when("!isValid(datum.share)").then(alt.value(theme.OTHER))
        ink = ink.when("datum.share > 0.5").then(alt.value("#FFFFFF"))
        text = base.mark_text(fontSize=10).encode(text="text:N", color=ink.otherwise(alt.value("#1B1F27")))
        layers.append(text)
    extra = ["Brown: worse than a random choice."] if any(row["worse"] for row in rows) else []
    known = [cell.share for cell in cells if cell.share is not None]
    least = f" The least is {min(known):.2g}, the largest {max(known):.2g}." if known else ""
    return figure(
        layers,
        description=f"{_TITLE}: a heat map of {len(names)} variants and {columns} columns.{least}",
        title=() if page else [_TITLE, *notes(selection, "regret", 80), *extra],
        width=None if page else width,
        rows=len(names),
    )


def _column(cell: Cell) -> str:
    return f"{cell.measure}, {shorten(cell.dataset, 24)}"


def _text(cell: Cell) -> str:
    if cell.share is None:
        return "=" if cell.n else "-"
    return f"{cell.share:.2g}{'*' if cell.penalised else ''}"
