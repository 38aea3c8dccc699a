"""What the charts of the benchmarks share: the theme of the library, and panels side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from aegis_opt._files import atomic_path

if TYPE_CHECKING:
    import altair as alt


def rows_of(frame: pd.DataFrame) -> alt.InlineData:
    """Return a frame as the data of a chart, of any length."""
    from aegis_opt.report.charts._figure import values

    return values({str(key): value for key, value in row.items()} for row in frame.to_dict("records"))


def panels(charts: Sequence[Any], columns: int, **options: Any) -> alt.ConcatChart:
    """Put charts side by side, in rows of so many, in the theme of the library."""
    import altair as alt

    from aegis_opt.report.charts._theme import config

    return alt.concat(*charts, columns=columns, config=config(), **options)


def save_png(chart: alt.ConcatChart, path: Path) -> None:
    """Write a chart as a picture, whole or not at all."""
    with atomic_path(path) as temporary:
        chart.save(str(temporary), format="png", scale_factor=2)
