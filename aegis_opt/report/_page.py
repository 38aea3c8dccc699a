"""Write the report: results in, one HTML file out that needs nothing but a browser."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from aegis_opt._files import atomic_path
from aegis_opt.errors import InvalidInput
from aegis_opt.harness import Results, ResultsError, load_results
from aegis_opt.report import _header as header
from aegis_opt.report._figures import write_figures
from aegis_opt.report._palette import HEAT, SHAPES, VARIANTS
from aegis_opt.report._plotting import require_matplotlib
from aegis_opt.report._rankings import REACH, rankings_of
from aegis_opt.report._series import FEW, measure_title, typed, variants_of, views_of
from aegis_opt.report._tables import page_tables

_SCRIPTS = ("core.js", "tables.js", "charts.js", "ranking.js", "figures.js", "main.js")


def write_report(
    results: Results | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write a comparison as one HTML page: tables to sort and filter, figures to explore and print.

    The page holds its data, style and program, and loads nothing. The same results give the same bytes.

    Parameters
    ----------
    results : Results or path
        As `load_results` returns it, or the folder.
    path : path
        The page, written whole or not at all.
    figures : path, optional
        Folder for each figure as PNG and SVG; needs matplotlib.

    Returns
    -------
    list of Path
        What was written, the page first.

    Raises
    ------
    ResultsError
        If the folder holds no results, no rows yet, those of another version, or a file that is cut short.
    MissingDependency
        If figures are wanted and matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from aegis_opt.datasets import worked_example
    >>> from aegis_opt.harness import Case, ComparisonSettings, run_comparison
    >>> found = run_comparison([Case.of(worked_example())], ComparisonSettings(scopes=["single"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [page] = write_report(found, Path(folder) / "report.html")
    ...     page.read_text().startswith("<!doctype html>")
    True
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder: name the page, such as {target / 'report.html'}")
    if figures is not None:
        require_matplotlib()  # before the work, not after it
        if Path(figures).exists() and not Path(figures).is_dir():
            raise InvalidInput(f"{figures} is a file: the figures need a folder")
    found = _checked(results)
    views = views_of(found)
    rankings = rankings_of(found, variants_of(found))
    text = _render(found, [asdict(view) for view in views], [asdict(ranking) for ranking in rankings])
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    if figures is None:
        return [target]
    overall = [view for view in views if view.dataset == views[0].dataset]
    return [target, *write_figures(overall, rankings, variants_of(found), Path(figures))]


def _checked(results: Results | str | os.PathLike[str]) -> Results:
    if isinstance(results, Results):
        where = "these results"
    elif isinstance(results, str | os.PathLike):
        where = str(results)
        if not Path(results).is_dir():
            kind = "a file, not a folder" if Path(results).exists() else "not there"
            raise ResultsError(f"{where} is {kind}: name the folder that aegis-opt compare -o has written")
        results = load_results(results)
    else:
        raise InvalidInput(f"results are a Results object or a folder, not {type(results).__name__}")
    if results.advice.empty and results.reconstructions.empty:
        raise ResultsError(
            f"{where}: there is no row yet: run the comparison, which goes on where it stopped"
        )
    return Results(
        advice=typed(results.advice, "advice"),
        reconstructions=typed(results.reconstructions, "reconstructions"),
        rankings=typed(results.rankings, "rankings"),
        meta=results.meta,
    )


def _render(results: Results, views: list[dict[str, Any]], rankings: list[dict[str, Any]]) -> str:
    measures = sorted(set(results.advice["measure"]))
    data = {
        "variants": [
            {"name": name, "colour": i % len(VARIANTS), "shape": SHAPES[i % len(SHAPES)]}
            for i, name in enumerate(variants_of(results))
        ],
        "few": FEW,
        "reach": REACH,
        "measures": {
            name: dict(zip(("title", "unit"), measure_title(name), strict=True)) for name in measures
        },
        "views": _short(views),
        "rankings": _short(rankings),
        "tables": [asdict(table) for table in page_tables(results)],
    }
    assets = files("aegis_opt.report") / "assets"

    def read(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    datasets = results.meta["datasets"]
    return Template(read("page.html")).substitute(
        title=escape(f"Comparison on {', '.join(datasets)}" if datasets else "Comparison"),
        style=_colours() + read("style.css"),
        facts=header.facts(results),
        tiles=header.tiles(results),
        notices=header.notices(results),
        software=header.software(results.meta),
        script="\n".join(read(name) for name in _SCRIPTS),
        # inside <script> only "</" and "<!--" could end the data early
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    )


def _short(value: Any) -> Any:
    """Six digits are more than any screen shows."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return [_short(item) for item in value] if isinstance(value, list) else value


def _colours() -> str:
    named = {f"c{i}": pair for i, pair in enumerate(VARIANTS)} | HEAT
    rules = "".join(f"  --{name}: light-dark({light}, {dark});\n" for name, (light, dark) in named.items())
    return f":root {{\n{rules}}}\n"
