"""How every figure looks: colours, shapes and sizes, on paper and on a page that may be dark.

Marks have colours of middle lightness, which stand out on white and on a dark page alike. Hues follow Okabe
and Ito, so that they can be told apart with every kind of colour vision, and shapes and dashes repeat what
the hues say, for print in grey. Texts, axes and grids are the only things that differ between paper and a
page: on a page they are CSS variables (`--ink`, `--soft`, `--line`, `--paper`), so one drawing is right in
the light, in the dark and in print.
"""

from __future__ import annotations

from typing import Any

HUES = ("#1F7FC4", "#D2600F", "#0B8F69", "#C05C96", "#A87900", "#7B68C8", "#6F7A89")
"""Colours of variants, in their order; contrast with white and with a dark page is at least 3."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

ACCENT, OTHER, SECOND = HUES[0], HUES[6], HUES[1]
"""What to look at first, what surrounds it, and what it is compared with."""

HEAT = ("#EAF2FA", "#A9CBE8", "#5B9BD0", "#1F6AAE", "#0B3C6F")
"""From little to much; lightness falls all the way, so it prints in grey."""

WORSE = "#B5480B"
"""Beyond the end of the heat scale."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
LINE = "M-1.6,-0.25H1.6V0.25H-1.6Z"
"""A short line as a symbol, for legends."""

ROW = 22
"""Pixels of one row of a figure that lists things."""

WIDTH = 460
"""Pixels of a figure's own area in a file; on a page it takes the width there is."""


def config(*, page: bool = False) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for a file, or for a page with the CSS variables above."""
    ink, soft, line = (
        ("var(--ink)", "var(--soft)", "var(--line)") if page else ("#1B1F27", "#566072", "#DDE2E9")
    )
    sizes = {"labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
    texts = {"labelColor": soft, "titleColor": soft, **sizes}
    lines = {"gridColor": line, "domainColor": line, "tickColor": line, **texts}
    headings: dict[str, Any] = {"anchor": "start", "frame": "bounds", "offset": 14}
    headings |= {"color": ink, "fontSize": 15}
    headings |= {
        "subtitleColor": soft,
        "subtitleFontSize": 11.5,
        "subtitlePadding": 5,
        "subtitleLineHeight": 15,
    }
    return {
        "background": "transparent" if page else "#FFFFFF",
        "padding": 4 if page else 16,
        "font": FONT,
        "view": {"stroke": None},
        "axis": lines | {"labelPadding": 4, "labelLimit": 200, "labelOverlap": True},
        "axisY": {"labelColor": ink},
        "legend": texts | {"orient": "bottom", "labelLimit": 240, "symbolSize": 70, "titleLimit": 320},
        "title": headings,
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": OTHER, "aria": False},  # what the dots and the description say, too
        "point": {"color": OTHER, "filled": True, "opacity": 1},
    }
