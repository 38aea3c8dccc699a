"""What the saved figures share: paper colours, panels, names that fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aegis_opt.report._palette import MARKERS, SHAPES, VARIANTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, GRID = "#1b1f27", "#566072", "#e3e7ed"
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_LONGEST = 34  # letters of a variant in a label


class Looks:
    """Colour, shape and dash of each variant, as on the page."""

    def __init__(self, variants: Sequence[str]) -> None:
        self.order = {name: i for i, name in enumerate(variants)}

    def colour(self, name: str) -> str:
        """Return the shade for white paper."""
        return VARIANTS[self.order[name] % len(VARIANTS)][0]

    def marker(self, name: str) -> str:
        """Return the shape, as matplotlib calls it."""
        return MARKERS[SHAPES[self.order[name] % len(SHAPES)]]

    def dash(self, name: str) -> Any:
        """Return the line style: it changes when the colours begin anew."""
        return _DASHES[self.order[name] // len(VARIANTS) % len(_DASHES)]

    def sort(self, items: Iterable[Any]) -> list[Any]:
        """Put what has a variant and a histogram into the order of the legend."""
        return sorted(items, key=lambda item: (self.order[item.variant], not item.histogram))


def make_panels(columns: int, rows: int, width: float, height: float) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of empty panels, each so many inches wide and high."""
    from matplotlib.figure import Figure as MatplotlibFigure

    size = (columns * width, rows * height)
    figure = MatplotlibFigure(figsize=size, dpi=160, facecolor="white", layout="constrained")
    panels: Any = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat:
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axes.spines[side].set_color("#b9c0cc")
        axes.tick_params(colors=SOFT, labelsize=8)
        axes.set_axisbelow(True)
    return figure, panels.tolist()


def short_name(variant: str, histogram: bool = True) -> str:
    """Label of a variant, cut where it would squeeze the panels."""
    cut = variant if len(variant) <= _LONGEST else f"{variant[: _LONGEST - 3]}..."
    return cut if histogram else f"{cut} (no hist.)"


def text_width(names: Iterable[str]) -> float:
    """Inches that the longest of these takes, roughly."""
    return 0.072 * max(map(len, names), default=0)
