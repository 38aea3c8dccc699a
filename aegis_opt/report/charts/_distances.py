"""How close the reconstructions of each variant are to the raw tables: a box per variant."""

from __future__ import annotations

import altair as alt

from aegis_opt.report._chart_data import FEW, Selection
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.report.charts._variants import VariantStyle

_TITLE = "Distance of the reconstructed tables from the raw ones"


def distances_chart(selection: Selection, style: VariantStyle, *, page: bool = False) -> Figure:
    """Draw quartiles, whiskers and outliers of the TVD, side by side with and without histograms."""
    boxes = style.sort(selection.boxes)
    used = ["with histograms", "without"]
    rows = []
    dots = []
    for box in boxes:
        name = f"{shorten(box.variant, 34)}{' *' if box.partial else ''}"
        of = {"variant": name, "histograms": used[0] if box.histogram else used[1]}
        whole = box.n >= FEW
        ends = {"low": box.low, "q1": box.q1, "q3": box.q3, "high": box.high} if whole else {}
        rows.append(
            of | ends | {"median": box.median, "mean": box.mean, "n": box.n, "penalised": box.penalised}
        )
        dots += [of | {"value": value} for value in box.dots]
    both = len({box.histogram for box in boxes}) > 1
    colour = alt.Color(
        "histograms:N",
        scale=alt.Scale(domain=used, range=[theme.ACCENT, theme.SECOND]),
        legend=alt.Legend(title=None, symbolType="square") if both else None,
    )
    base = alt.Chart(values(rows)).encode(
        y=alt.Y(
            "variant:N",
            sort=None,
            title=None,
            axis=alt.Axis(grid=False, ticks=False, domain=False, labelPadding=8),
        ),
        yOffset=alt.YOffset("histograms:N", sort=used),
        color=colour,
    )
    axis = alt.Axis(title="TVD to the raw joint table, less is better", tickCount=6, format=".4~g")
    tips = [alt.Tooltip("variant:N"), alt.Tooltip("histograms:N")]
    tips += [
        alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("median", "mean", "q1", "q3", "low", "high")
    ]
    tips += [
        alt.Tooltip("n:Q", title="reconstructions"),
        alt.Tooltip("penalised:Q", title="of these penalised"),
    ]

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", axis=axis)

    layers = [
        base.mark_rule(strokeWidth=1.5).encode(x=x("low"), x2="high:Q"),
        base.mark_bar(opacity=0.55, height={"band": 0.8}).encode(x=x("q1"), x2="q3:Q", tooltip=tips),
        base.mark_tick(thickness=3, height={"band": 0.8}).encode(x=x("median"), tooltip=tips),
        base.properties(data=values(dots))
        .mark_point(size=14, filled=False, opacity=0.7)
        .encode(x=x("value")),
    ]
    best = min(boxes, key=lambda box: box.median)
    said = f"The least median is {best.median:.3g}, of {shorten(best.variant)}."
    n_rows = len({row["variant"] for row in rows}) * (1.5 if both else 1)
    return figure(
        layers,
        description=f"{_TITLE}, a box per variant. {said}",
        title=() if page else [_TITLE, *notes(selection, "tvd", 80)],
        width=None if page else theme.WIDTH,
        height=int(n_rows * theme.ROW),
    )


def notes(selection: Selection, name: str, letters: int) -> list[str]:
    """Return what stands below the title of a figure in a file: which part of the results, and the sample."""
    from textwrap import wrap

    which = "" if selection.dataset is None else f"{shorten(selection.dataset)}, "
    return [f"{which}{selection.scope}", *wrap(selection.notes[name], letters)]
