"""Charts inside a page that works without a network.

A page holds the programs that draw (Vega, Vega-Lite and vega-embed, from vl-convert) once, and each chart
as JSON. To write such a page:

1. put ``chart_place(name, chart)`` where the chart belongs, with a name that is unique in the page;
2. put `CHART_STYLE` into the page's style, after the variables ``--ink``, ``--soft``, ``--line`` and
``--paper``, which
   colour the charts' texts, axes and grids: `PAGE_COLOURS` has them for light, dark and print;
3. put ``chart_scripts()`` at the end of the body;
4. put ``<meta http-equiv="Content-Security-Policy" content="...">`` with `POLICY` first into the head, so
   that the browser refuses whatever a name in the data might ask for.

A chart made for a page (``ranking_chart(advice, 50, page=True)`` and the like) has no title and takes the
width of its place; the page says in a heading what it shows. Its description is what a screen reader reads.
Names need no escaping here: inside the script the JSON has no "<", and Vega draws them as text.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis_opt._files import atomic_path
from aegis_opt.errors import OutputError

if TYPE_CHECKING:
    import altair as alt

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"

PAGE_COLOURS = """\
:root { color-scheme: light dark;
  --ink: light-dark(#1b1f27, #e8ecf2); --soft: light-dark(#4d5768, #a9b4c4);
  --line: light-dark(#dde2e9, #39424f); --paper: light-dark(#ffffff, #15191f); }
@media print { :root { color-scheme: light; } }
"""

CHART_STYLE = """\
.chart { width: 100%; min-height: 3rem; overflow-x: auto; }
.chart svg { max-width: 100%; height: auto; display: block; }
.chart.vega-embed { display: block; padding: 0; }
#vg-tooltip-element.vg-tooltip.custom-theme { background: var(--paper); color: var(--ink);
  border: 1px solid var(--line); font-size: 12px; max-width: 330px; overflow-wrap: anywhere; }
"""

_DRAW = """\
function drawChart(place, spec) {
  if (place.chart) place.chart.finalize();
  // warnings, such as of a column without any number, are for those who write charts: 1 is errors only
  const options = {renderer: "svg", actions: false, ast: true, tooltip: {theme: "custom"}, logLevel: 1};
  return vegaEmbed(place, spec, options)
    .then(found => { place.chart = found; place.dataset.drawn = spec.description; })
    .catch(error => { place.textContent = "This chart cannot be drawn: " + error.message; });
}
"""

_DRAW_ALL = """\
for (const place of document.querySelectorAll(".chart[data-spec]")) {
  drawChart(place, JSON.parse(document.getElementById(place.dataset.spec).textContent));
}
"""


def chart_place(name: str, chart: alt.LayerChart) -> str:
    """Return the place of a chart in a page, with the chart."""
    return (
        f'<div class="chart" id="{escape(name)}" data-spec="{escape(name)}-spec"></div>'
        f'<script type="application/json" id="{escape(name)}-spec">{json_text(chart.to_dict())}</script>'
    )


def chart_scripts() -> str:
    """Return the programs that draw all charts of a page, for the end of its body."""
    return f"<script>{chart_programs()}</script>\n<script>{_DRAW_ALL}</script>"


def chart_programs() -> str:
    """Return Vega, and ``drawChart(place, specification)`` for pages that choose their charts themselves."""
    return _programs() + _DRAW


def chart_page(chart: alt.LayerChart) -> str:
    """Return a page with nothing but one chart."""
    specification = chart.to_dict()
    name = escape(str(specification.get("description", "Figure")))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{name}</title>\n'
        f"<style>{CHART_STYLE}</style>\n</head>\n<body>\n{chart_place('chart', chart)}\n{chart_scripts()}\n"
        "</body>\n</html>\n"
    )


def json_text(value: Any) -> str:
    """Return JSON that nothing in it can end: inside <script>, only "<" could."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


_EXPORT = "window.vegaEmbed = vegaEmbed;"


@cache
def _programs() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script.

    Making it takes seconds, so it is kept in the user's folder for such files, or in the folder that the
    environment names as ``AEGIS_OPT_CACHE``. What is there is used only if it is whole and of this version;
    where nothing can be kept, it is made again.
    """
    import vl_convert

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("AEGIS_OPT_CACHE") or home / "aegis-opt")
    kept = folder / f"vega-embed-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        digest, _, text = kept.read_text(encoding="utf-8").partition("\n")
        if digest == f"//{sha256(text.encode()).hexdigest()}":
            return text
    made = str(vl_convert.javascript_bundle(_EXPORT))
    made = made.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(OutputError), atomic_path(kept) as temporary:
        text = f"//{sha256(made.encode()).hexdigest()}\n{made}"
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return made
