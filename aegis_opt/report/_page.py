"""Write the report: one HTML file that needs nothing but a browser."""

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
from aegis_opt._options import path_of
from aegis_opt.errors import InvalidInput
from aegis_opt.harness import Results, ResultsError, load_results
from aegis_opt.report import _page_header as header
from aegis_opt.report._chart_data import FEW, Selection, selections_of
from aegis_opt.report._figure_style import HEAT, SHAPES, VARIANTS, require_matplotlib
from aegis_opt.report._figures import write_figures
from aegis_opt.report._page_tables import page_tables
from aegis_opt.report._prepared_results import measure_title, typed, variants_of
from aegis_opt.report._ranking_data import REACH, Ranking, rankings_of

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
        The results of a comparison, or their folder.
    path : path
        The page; it is written whole or not at all.
    figures : path, optional
        A folder for every figure as PNG and SVG; this needs matplotlib.

    Returns
    -------
    list of Path
        The files written, the page first.

    Raises
    ------
    ResultsError
        If the folder holds no results, no rows yet, results of another version, or an incomplete file.
    MissingDependency
        If figures are wanted and matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from aegis_opt.datasets import worked_example
    >>> from aegis_opt.harness import compare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = compare(worked_example(), solvers=["ipf"], measures=["mi"], output=Path(folder) / "results")
    ...     [page] = write_report(Path(folder) / "results", Path(folder) / "report.html")
    ...     page.read_text().startswith("<!doctype html>")
    True
    """
    target = path_of("path", path)
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder: name the page, such as {target / 'report.html'}")
    if figures is not None:
        require_matplotlib()  # before the work, not after it
        if Path(figures).exists() and not Path(figures).is_dir():
            raise InvalidInput(f"{figures} is a file: the figures need a folder")
    found = _checked(results)
    selections, rankings = selections_of(found), rankings_of(found, variants_of(found))
    text = _render(found, selections, rankings)
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    if figures is None:
        return [target]
    overall = [selection for selection in selections if selection.dataset == selections[0].dataset]
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
            f"{where} has no row yet: run the comparison again, which goes on where it stopped"
        )
    return typed(results)


def _render(results: Results, selections: list[Selection], rankings: list[Ranking]) -> str:
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
        "selections": _rounded([asdict(selection) for selection in selections]),
        "rankings": _rounded([asdict(ranking) for ranking in rankings]),
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


def _rounded(value: Any) -> Any:
    """Round all numbers to six digits, more than any screen shows."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list) else value


def _colours() -> str:
    named = {f"c{i}": pair for i, pair in enumerate(VARIANTS)} | HEAT
    rules = "".join(f"  --{name}: light-dark({light}, {dark});\n" for name, (light, dark) in named.items())
    return f":root {{\n{rules}}}\n"
