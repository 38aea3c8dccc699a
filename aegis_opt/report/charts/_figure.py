"""A figure: a chart of altair that is safe with any name in it, and whose files need no network."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import altair as alt
import numpy as np
import pandas as pd

from aegis_opt._files import atomic_path
from aegis_opt._options import one_of, path_of
from aegis_opt.errors import InvalidOption
from aegis_opt.report._embed import chart_page, json_text
from aegis_opt.report.charts import _theme as theme

_ENDINGS = ("png", "svg", "pdf", "html", "json")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_HTML_RENDERERS = ("default", "html", "colab", "kaggle", "zeppelin")


class Figure(alt.LayerChart):
    """A layered chart of altair, in the theme of this library.

    `save` writes .png, .svg, .pdf, .html or .json, whole or not at all, without a browser or a network: a
    page holds the programs that draw it. Elsewhere it behaves as every chart of altair does.
    """

    def save(  # type: ignore[override]
        self,
        fp: str | os.PathLike[str] | IO[Any],
        format: str | None = None,  # noqa: A002 - as in altair
        scale_factor: float = 2.0,
        **options: Any,
    ) -> None:
        """Save the figure; the ending of the path chooses the format, unless `format` does.

        Parameters
        ----------
        fp : path or file
            Where to.
        format : {"png", "svg", "pdf", "html", "json"}, optional
            Needed where `fp` is an open file.
        scale_factor : float
            How many dots of a .png there are to one pixel of the figure.
        **options : Any
            Further options of altair's `Chart.save`; a page takes none.

        Raises
        ------
        InvalidOption
            If the format is none of these.
        OutputError
            If the system refuses to write.
        """
        path = path_of("fp", fp) if isinstance(fp, str | os.PathLike) else None
        ending = format or (path.suffix[1:].lower() if path else "")
        one_of("the format of a figure", ending, _ENDINGS)
        if ending == "html" and options:
            raise InvalidOption(f"a page takes no option {next(iter(options))!r}: leave it out")
        if path is not None:
            with atomic_path(path) as temporary:
                self._write(str(temporary), ending, scale_factor, options)
        else:
            self._write(fp, ending, scale_factor, options)

    def _write(self, target: Any, ending: str, scale_factor: float, options: Mapping[str, Any]) -> None:
        if ending == "html":
            _put(target, chart_page(self))
        elif ending == "svg":
            text = io.StringIO()
            super().save(text, format="svg", **options)
            _put(target, _renumbered(text.getvalue()))
        else:
            if ending == "png":
                options = {"scale_factor": scale_factor, **options}
            super().save(target, format=ending, **options)  # type: ignore[arg-type]

    def to_dict(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the chart as Vega-Lite reads it; characters that no drawing can hold show as symbols."""
        drawn: dict[str, Any] = _drawable(super().to_dict(*arguments, **options))
        return drawn

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        """Show the figure in a notebook; no name in it can end the script that holds it."""
        if alt.renderers.active not in _HTML_RENDERERS:
            return super()._repr_mimebundle_(*arguments, **options)
        shown: Any = alt.renderers.get()(self.to_dict(), json_kwds={"cls": _SafeEncoder})  # type: ignore[misc]
        place = re.search(r'id="(altair-viz-\w+)"', shown.get("text/html", ""))
        if place is None:
            return shown
        return shown | {"text/html": shown["text/html"] + self._drawn_beside(place[1])}

    def _drawn_beside(self, place: str) -> str:
        """Return the figure as a drawing, which shows where the interactive one does not.

        Notebooks load Vega from the network and run scripts where they are trusted; else there would be
        nothing, or an error. Vega gives its place the class vega-embed when it draws.
        """
        drawing = io.StringIO()
        self.save(drawing, format="svg")
        return (
            f"<style>#{place}:not(.vega-embed) {{display: none}} "
            f"#{place}.vega-embed ~ .aegis-opt-drawn {{display: none}}</style>"
            f'<div class="aegis-opt-drawn">{drawing.getvalue()}</div>'
        )


def _put(target: Any, text: str) -> None:
    if isinstance(target, str):
        Path(target).write_text(text, encoding="utf-8", newline="\n")
    else:
        target.write(text)


def _renumbered(svg: str) -> str:
    """Number the parts of a drawing from 0: Vega goes on counting, and equal charts would differ."""
    numbers: dict[str, int] = {}

    def renumber(found: re.Match[str]) -> str:
        name = found[1]
        return f"{found[2]}{numbers.setdefault(name, len(numbers))}"

    def tag(found: re.Match[str]) -> str:
        return re.sub(r"(?<=[\"#])((gradient_|clip)\d+)(?=[\")])", renumber, found[0])

    return re.sub(r"<[^>]+>", tag, svg)


def _drawable(part: Any) -> Any:
    """Replace what XML forbids in all texts: the program that draws would end this process by it."""
    if isinstance(part, str):
        return _FORBIDDEN.sub(_symbol, part)
    if isinstance(part, dict):
        return {key: _drawable(value) for key, value in part.items()}
    return [_drawable(value) for value in part] if isinstance(part, list) else part


def _symbol(found: re.Match[str]) -> str:
    """Return the symbol of a control character, such as that of a vertical tab, or else a replacement."""
    code = ord(found[0])
    return chr(0x2400 + code) if code < 32 else "\ufffd"


class _SafeEncoder(json.JSONEncoder):
    def encode(self, o: Any) -> str:
        return json_text(o)


def figure(
    layers: Sequence[alt.Chart],
    *,
    description: str,
    title: Sequence[str] = (),
    width: int | None = theme.WIDTH,
    height: int | None = None,
    rows: int | None = None,
    **options: Any,
) -> Figure:
    """Put layers together, in the theme of files.

    Parameters
    ----------
    layers : sequence of charts
        What is drawn, from the bottom up.
    description : str
        What the figure shows, in a sentence or two, for those who do not see it.
    title : sequence of str
        The finding, and below it how to read the figure, line by line; none where the page says it.
    width, height : int, optional
        Of the figure's own area, in pixels; None takes the width that there is on a page.
    rows : int, optional
        How many rows it has, in place of a height.
    **options : Any
        Such as ``resolve``.
    """
    size: dict[str, Any] = {"width": "container" if width is None else width}
    if height is not None:
        size["height"] = height
    elif rows is not None:
        size["height"] = max(1, rows) * theme.ROW
    if title:
        options["title"] = alt.TitleParams(text=title[0], subtitle=list(title[1:]))
    return Figure(
        layer=list(layers),
        description=description,
        config=theme.config(page=width is None),
        **size,
        **options,
    )


def values(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Return rows as the data of a chart: numbers as JSON has them, a gap as null."""
    data = alt.InlineData(values=[])
    # set here, because altair would check every row against its schema: half the time of a page
    data["values"] = [{key: _plain(value) for key, value in row.items()} for row in rows]
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    return None if value is pd.NA else value


def shorten(name: str, longest: int = 40) -> str:
    """Cut a long name in the middle: its ends tell it from others."""
    head = (longest - 3) // 2
    return name if len(name) <= longest else f"{name[: longest - 3 - head]}...{name[-head:]}"
