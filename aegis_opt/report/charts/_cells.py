"""The cells of a reconstructed table against those of the truth or of the prior."""

from __future__ import annotations

from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from aegis_opt.measures import tvd
from aegis_opt.problem._margin import FloatArray
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values
from aegis_opt.solvers.reconstruction import Reconstruction

_MOST = 2000
"""Cells drawn; of more, the largest."""


def cells_chart(
    reconstruction: Reconstruction,
    known: FloatArray,
    *,
    against: Literal["truth", "prior"],
    page: bool = False,
) -> Figure:
    """Draw a dot per cell, by its count in the known table and in the reconstructed one."""
    table = np.asarray(reconstruction.table, dtype=np.float64)
    rows, labels = _names(reconstruction, table.shape)
    order = np.argsort(-np.maximum(table, known).ravel(), kind="stable")[:_MOST]
    few = table.shape[1] <= len(theme.HUES)
    data = [
        {"value": rows[cell // table.shape[1]], "label": labels[cell % table.shape[1]]}
        | {"known": known.flat[cell], "found": table.flat[cell]}
        for cell in sorted(order.tolist())
    ]
    end = float(max(table.max(), known.max())) * 1.03 or 1.0
    scale = alt.Scale(type="sqrt", domain=[0, end], nice=False)
    x = alt.X(
        "known:Q", scale=scale, axis=alt.Axis(title=f"records in the {against}", tickCount=6, format=".4~g")
    )
    y = alt.Y(
        "found:Q", scale=scale, axis=alt.Axis(title="reconstructed records", tickCount=6, format=".4~g")
    )
    looks = {}
    if few and table.shape[1] > 1:
        legend = alt.Legend(title=None, columns=4)
        n = table.shape[1]
        looks = {
            "color": alt.Color(
                "label:N", scale=alt.Scale(domain=labels, range=list(theme.HUES[:n])), legend=legend
            ),
            "shape": alt.Shape(
                "label:N",
                scale=alt.Scale(domain=labels, range=[theme.SHAPES[i % len(theme.SHAPES)] for i in range(n)]),
                legend=legend,
            ),
        }
    tips = [
        alt.Tooltip("value:N"),
        alt.Tooltip("label:N"),
        alt.Tooltip("known:Q", title=against, format=".4~g"),
        alt.Tooltip("found:Q", title="reconstructed", format=".4~g"),
    ]
    equal = alt.Chart(values([{"known": 0.0, "found": 0.0}, {"known": end, "found": end}]))
    dots = alt.Chart(values(data)).mark_point(size=50, opacity=0.75)
    said = f"The reconstructed table has TVD {tvd(table, known):.3g} from the {against}"
    size = f"{table.shape[0]:,} values x {table.shape[1]:,} labels"
    lines = [f"{size}, by {reconstruction.method}. On the line both are equal."]
    if len(data) < table.size:
        lines.append(f"Shown are the {len(data):,} largest of {table.size:,} cells.")
    return figure(
        [
            equal.mark_line(strokeDash=[4, 3], strokeWidth=1, color=theme.OTHER).encode(x=x, y=y),
            dots.encode(x=x, y=y, tooltip=tips, **looks),
        ],
        description=f"{said}: a dot per cell. {lines[0]}",
        title=() if page else [said, *lines],
        width=None if page else 380,
        height=340,
    )


def _names(reconstruction: Reconstruction, shape: tuple[int, ...]) -> tuple[list[str], list[str]]:
    """Return the names of rows and columns; their numbers, where there are none."""
    table = reconstruction.table
    if not isinstance(table, pd.DataFrame):
        return [str(i) for i in range(shape[0])], [str(j) for j in range(shape[1])]
    return [shorten(str(name)) for name in table.index], [shorten(str(name), 24) for name in table.columns]
