"""What each attribute loses under each configuration, as a heat map."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

import altair as alt
import numpy as np
import pandas as pd

from aegis_opt.advisor import Advice, Criterion
from aegis_opt.errors import InvalidOption
from aegis_opt.masks._spec_text import spec_text
from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import Figure, figure, shorten, values

_NUMBERS = 10  # columns up to which the cells have room for numbers


@dataclass(frozen=True)
class _Cells:
    """The numbers of the heat map, configuration x attribute, and what they are."""

    numbers: pd.DataFrame
    criterion: Criterion
    lost: bool  # deviations; else what is left
    of: Advice


def attributes_chart(advice: Advice, top: int, attributes: int, *, page: bool = False) -> Figure:
    """Draw the first `top` configurations and the `attributes` that matter most, the longer side as rows."""
    cells = _cells(advice)
    order = advice.ranking["configuration"].head(top)
    shown = cells.numbers.loc[order]
    # those of which most is lost somewhere; of a measure that is left, those where the masks differ most
    weight = shown.max() if cells.lost else shown.max() - shown.min()
    kept = weight.fillna(-np.inf).sort_values(ascending=False, kind="stable").index[:attributes]
    shown = shown[kept] if len(kept) < shown.shape[1] else shown
    tall = len(shown) >= shown.shape[1]
    columns = shown.shape[1] if tall else len(shown)
    width = min(720, 76 * columns)
    room = (250 if page else width) / columns
    across_names = shown.columns if tall else shown.index
    angle = 0 if 7 * max(len(str(name)) for name in across_names) < room else -90
    largest = float(np.nanmax(np.abs(shown.to_numpy(dtype=np.float64)))) or 1.0
    data = values(
        {
            "configuration": name,
            "attribute": attribute,
            "value": number,
            "mask": _mask(cells.of, name, attribute),
        }
        | {"text": "?" if np.isnan(number) else f"{number:.2g}"}
        for name, row in zip(shown.index, shown.to_numpy(dtype=np.float64), strict=True)
        for attribute, number in zip(shown.columns, row, strict=True)
    )
    lines, across = ("configuration", "attribute") if tall else ("attribute", "configuration")
    unit = f" in {cells.criterion.unit}" if cells.criterion.unit else ""
    what = f"{'lost' if cells.lost else 'left'}{unit}"
    tips = [
        alt.Tooltip("attribute:N", title="attribute"),
        alt.Tooltip("configuration:N", title="configuration"),
        alt.Tooltip("mask:N", title="mask"),
        alt.Tooltip("value:Q", title=what, format=".4~g"),
    ]
    base = alt.Chart(data).encode(
        x=alt.X(
            f"{across}:N",
            sort=None,
            axis=alt.Axis(
                title=None,
                orient="top",
                labelAngle=angle,
                labelOverlap=False,
                labelLimit=110,
                domain=False,
                ticks=False,
            ),
        ),
        y=alt.Y(
            f"{lines}:N",
            sort=None,
            axis=alt.Axis(title=None, labelLimit=120 if page else 200, domain=False, ticks=False),
        ),
        tooltip=tips,
    )
    least = float(np.nanmin(np.append(shown.to_numpy(dtype=np.float64), 0.0)))
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[least, largest], range=list(theme.HEAT), interpolate="lab"),
        legend=alt.Legend(title=what, orient="bottom", gradientLength=180, format=".4~g", tickCount=4),
    )
    layers = [base.mark_rect(stroke="#FFFFFF", strokeWidth=1, strokeOpacity=0.6).encode(color=colour)]
    if columns <= _NUMBERS:
        ink = alt.when("!isValid(datum.value)").then(alt.value(theme.OTHER))
        ink = ink.when(f"datum.value > {0.5 * (least + largest)}").then(alt.value("#FFFFFF"))
        dark = ink.otherwise(alt.value("#1B1F27"))
        layers.append(base.mark_text(fontSize=10).encode(text="text:N", color=dark))
    said = _title(advice, cells, shown)
    size = f"{len(shown)} configurations and {shown.shape[1]} attributes"
    detail = ""
    if cells.lost:
        row, column = divmod(int(np.nanargmax(shown.to_numpy(dtype=np.float64))), shown.shape[1])
        detail = f" Most is lost of {shown.columns[column]} under {shown.index[row]}."
    return figure(
        layers,
        description=f"Heat map: {said[0]}, for {size}.{detail}",
        title=() if page else [part for text in said for part in wrap(text, max(40, (width + 150) // 7))],
        width=None if page else width,
        rows=max(shown.shape) if tall else shown.shape[1],
    )


def _cells(advice: Advice) -> _Cells:
    """Return what is lost; what is left, where more is known of that; or the same by mutual information."""
    for one in (advice, advice.by_mi):
        if one is None:
            continue
        lost, left = (int(frame.notna().to_numpy().sum()) for frame in (one.deviations, one.masked))
        if lost or left:
            return _Cells(one.deviations if lost >= left else one.masked, one.criterion, lost >= left, one)
    raise InvalidOption(
        f"{advice.measure!r} is a number of all attributes together, and nothing is known about each: "
        "share tables too (share='both'), or advise by a measure such as measure='mi'"
    )


def _title(advice: Advice, cells: _Cells, shown: pd.DataFrame) -> list[str]:
    lines = ["What each attribute loses" if cells.lost else "What is left of each attribute"]
    name = f"{cells.criterion.title[0].upper()}{cells.criterion.title[1:]} with the label"
    better = "more" if cells.criterion.higher_is_better else "less"
    lines.append(f"{name}, estimated." if cells.lost else f"{name} after masking; {better} is better.")
    n_configurations, n_attributes = cells.numbers.shape
    if cells.of is not advice:
        lines.append(f"The ranking is by {advice.criterion.title}, which does not tell attributes apart.")
    if len(shown) < n_configurations:
        lines.append(f"Shown are the first {len(shown):,} of {n_configurations:,} configurations.")
    if shown.shape[1] < n_attributes:
        which = "that lose most" if cells.lost else "whose masks differ most"
        lines.append(f"Shown are the {shown.shape[1]:,} of {n_attributes:,} attributes {which}.")
    return lines


def _mask(advice: Advice, configuration: str, attribute: str) -> str:
    """Return the mask that a configuration has for an attribute, as text; "?" where it is not known."""
    if advice.changes is None:
        return "?"
    return shorten(spec_text(advice.changes.mask(configuration, attribute)), 80)
