"""What the figures of a comparison share: names, colours, shapes and dashes of its variants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from aegis_opt.report.charts import _theme as theme
from aegis_opt.report.charts._figure import shorten

WITHOUT = " (no histograms)"


def label_of(variant: str, histogram: bool) -> str:
    """Name a variant, with or without histograms."""
    return f"{shorten(variant, 34)}{'' if histogram else WITHOUT}"


class VariantStyle:
    """The looks of each variant, which are the same in every figure: its place in the plan gives them."""

    def __init__(self, variants: Sequence[str]) -> None:
        self._order = {name: i for i, name in enumerate(variants)}

    def sort(self, items: Iterable[Any]) -> list[Any]:
        """Put items with a variant and a histogram into the order of the plan."""
        return sorted(items, key=lambda item: (self._order[item.variant], not item.histogram))

    def sort_names(self, names: Iterable[str]) -> list[str]:
        """Put names of variants into the order of the plan."""
        return sorted(names, key=self._order.__getitem__)

    def colours(self, names: Sequence[str]) -> list[str]:
        """Return the colour of each variant."""
        return [theme.HUES[self._order[name] % len(theme.HUES)] for name in names]

    def shapes(self, names: Sequence[str]) -> list[str]:
        """Return the shape of each variant."""
        return [theme.SHAPES[self._order[name] % len(theme.SHAPES)] for name in names]

    def dashes(self, names: Sequence[str]) -> list[list[int]]:
        """Return the dash of each variant."""
        return [theme.DASHES[self._order[name] % len(theme.DASHES)] for name in names]


def legend(*, page: bool) -> alt.Legend:
    """Return the legend of variants: below the figure, in as many columns as fit."""
    return alt.Legend(
        title=None, columns=2 if page else 3, labelLimit=150 if page else 240, symbolStrokeWidth=2
    )


def marks_of(items: Sequence[Any], style: VariantStyle, *, page: bool) -> dict[str, Any]:
    """Return the channels of dots by `series`: hue and shape of the variant, hollow without histograms."""
    pairs = list(dict.fromkeys((item.variant, item.histogram) for item in items))
    names = [variant for variant, _ in pairs]
    domain = [label_of(*pair) for pair in pairs]
    look, colours = legend(page=page), style.colours(names)
    fills = [colour if used else "#FFFFFF00" for colour, (_, used) in zip(colours, pairs, strict=True)]
    return {
        "color": alt.Color("series:N", scale=alt.Scale(domain=domain, range=colours), legend=look),
        "fill": alt.Fill("series:N", scale=alt.Scale(domain=domain, range=fills), legend=look),
        "shape": alt.Shape(
            "series:N", scale=alt.Scale(domain=domain, range=style.shapes(names)), legend=look
        ),
    }


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers for a logarithmic axis; where it is short, at equal steps."""
    if high < 5 * low:
        step = 10.0 ** math.floor(math.log10(high - low))
        while (high - low) / step > most:
            step *= 2 if (high - low) / step < 2 * most else 5
        return [float(f"{k * step:.6g}") for k in range(math.ceil(low / step - 1e-9), int(high / step) + 1)]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{step * 10.0**power:.6g}") for power in powers for step in steps]
        found = [number for number in found if low * (1 - 1e-9) <= number <= high * (1 + 1e-9)]
        if len(found) <= most:
            return found
    return found[:: -(-len(found) // most)]
