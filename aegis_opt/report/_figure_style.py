"""Colours and shapes of the variants, and what the saved figures share: panels, labels, legends.

The hues are Okabe and Ito's, which can be told apart with every kind of colour vision; each has a shade for
white paper and one for dark screens. Shapes repeat with another period: 42 variants look different.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from aegis_opt.errors import MissingDependency

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VARIANTS = (
    ("#0072B2", "#4FA8E0"),
    ("#D55E00", "#F0813A"),
    ("#00845F", "#2FBF95"),
    ("#BB5F93", "#DE97BF"),
    ("#B97A00", "#E9B13C"),
    ("#2F95CF", "#8CCBF2"),
    ("#5B6472", "#AEB7C4"),
)
HEAT = {
    "heat-low": ("#EEF4FA", "#232B37"),
    "heat-high": ("#08519C", "#7CC0F5"),
    "worse": ("#B34700", "#F08A4B"),  # than a random choice
}
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "nabla")
MARKERS = dict(zip(SHAPES, ("o", "s", "^", "D", "X", "v"), strict=True))
"""The same shapes as matplotlib calls them."""

INK, SOFT, _GRID = "#1b1f27", "#566072", "#e3e7ed"
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


def require_matplotlib() -> None:
    """Raise `MissingDependency` unless matplotlib can be imported."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependency("pictures need matplotlib: pip install 'aegis-opt[plot]'") from error


class VariantStyle:
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
        """Return the line style; it changes when the colours repeat."""
        return _DASHES[self.order[name] // len(VARIANTS) % len(_DASHES)]

    def sort(self, items: Iterable[Any]) -> list[Any]:
        """Put items with a variant and a histogram into the order of the legend."""
        return sorted(items, key=lambda item: (self.order[item.variant], not item.histogram))


def make_panels(columns: int, rows: int, width: float, height: float) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure of empty panels, each so many inches wide and high."""
    from matplotlib.figure import Figure as MatplotlibFigure

    size = (columns * width, rows * height)
    figure = MatplotlibFigure(figsize=size, dpi=160, facecolor="white", layout="constrained")
    panels: Any = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#b9c0cc")
        axes.tick_params(colors=SOFT, labelsize=8)
        axes.set_axisbelow(True)
        axes.grid(color=_GRID, lw=0.8)
    return figure, panels.tolist()


def shorten_name(name: str, longest: int = 34) -> str:
    """Cut a name where it would squeeze the panels."""
    return name if len(name) <= longest else f"{name[: longest - 3]}..."


def label_of(variant: str, histogram: bool) -> str:
    """Label a variant, with or without histograms."""
    return f"{shorten_name(variant)}{'' if histogram else ' (no hist.)'}"


def text_width(names: Iterable[str]) -> float:
    """Estimate the inches that the longest of these names takes."""
    return 0.072 * max(map(len, names), default=0)


def add_legend(figure: Figure, handles: Sequence[Artist], **options: Any) -> None:
    """Put a legend below the panels, in as many columns as fit; names with dollars are not mathematics."""
    fitting = figure.get_size_inches()[0] / (text_width([str(h.get_label()) for h in handles]) + 0.55)
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": max(1, min(len(handles), int(fitting)))}
    legend = figure.legend(handles=handles, **place, frameon=False, fontsize=8, **options)
    for label in legend.get_texts():
        label.set_parse_math(False)
