"""Write the report: one HTML file that needs nothing but a browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from aegis_opt._files import atomic_path
from aegis_opt._options import expanded, path_of
from aegis_opt.errors import InvalidInput
from aegis_opt.harness import Results, ResultsError, load_results
from aegis_opt.report import _page_header as header
from aegis_opt.report._chart_data import Selection, selections_of
from aegis_opt.report._comparison_figures import KINDS, charts_of, write_figures
from aegis_opt.report._conclusion import conclusion, telling_apart
from aegis_opt.report._embed import CHART_STYLE, PAGE_COLOURS, POLICY, chart_programs, json_text
from aegis_opt.report._page_tables import page_tables
from aegis_opt.report._plots import require_altair
from aegis_opt.report._prepared_results import advice_by_group, typed, variants_of
from aegis_opt.report._ranking_data import Ranking, rankings_of
from aegis_opt.report.charts import _theme as theme

_SCRIPTS = ("core.js", "tables.js", "main.js")


def write_report(
    results: Results | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
) -> list[Path]:
    """Write a comparison as one HTML page: its conclusion, figures to explore, tables to sort and filter.

    The page holds its data, style and programs, and loads nothing. The same results give the same bytes.

    Parameters
    ----------
    results : Results or path
        The results of a comparison, or their folder.
    path : path
        The page; it is written whole or not at all.
    figures : path, optional
        A folder for every figure as PNG and SVG.

    Returns
    -------
    list of Path
        The files written, the page first.

    Raises
    ------
    ResultsError
        If the folder holds no results, no rows yet, results of another version, or an incomplete file.
    MissingDependency
        If altair is not installed.

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
    if os.path.isdir(target):
        raise InvalidInput(f"{target} is a folder: name the page, such as {target / 'report.html'}")
    folder = None if figures is None else path_of("figures", figures)
    if folder is not None and os.path.exists(folder) and not os.path.isdir(folder):
        raise InvalidInput(f"{figures} is a file: the figures need a folder")
    require_altair()  # before the work, not after it
    found = _checked(results)
    averages, variants = advice_by_group(found), variants_of(found)
    selections, rankings = selections_of(found, averages), rankings_of(found, variants)
    text = _render(found, selections, rankings, variants, [asdict(t) for t in page_tables(found, averages)])
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    if folder is None:
        return [target]
    overall = [selection for selection in selections if selection.dataset == selections[0].dataset]
    return [target, *write_figures(overall, rankings, variants, folder)]


def _checked(results: Results | str | os.PathLike[str]) -> Results:
    if isinstance(results, Results):
        where = "these results"
    elif isinstance(results, str | os.PathLike):
        results = expanded(results)
        where = str(results)
        if not os.path.isdir(results):
            kind = "a file, not a folder" if os.path.exists(results) else "not there"
            raise ResultsError(f"{where} is {kind}: name the folder that aegis-opt compare -o has written")
        results = load_results(results)
    else:
        raise InvalidInput(f"results are a Results object or a folder, not {type(results).__name__}")
    if results.advice.empty and results.reconstructions.empty:
        raise ResultsError(
            f"{where} has no row yet: run the comparison again, which goes on where it stopped"
        )
    return typed(results)


def _render(
    results: Results,
    selections: list[Selection],
    rankings: list[Ranking],
    variants: list[str],
    tables: list[dict[str, Any]],
) -> str:
    shown = telling_apart(selections)
    data = {
        "row": theme.ROW,
        "kinds": [kind.name for kind in KINDS],
        "first": {"dataset": shown.dataset, "scope": shown.scope},
        "selections": _drawn(selections, variants),
        "rankings": _runs(rankings),
        "tables": tables,
    }
    assets = files("aegis_opt.report") / "assets"

    def read(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    datasets = results.meta["datasets"]
    return Template(read("page.html")).substitute(
        title=escape(f"Comparison on {', '.join(datasets)}" if datasets else "Comparison"),
        policy=POLICY,
        style=PAGE_COLOURS + read("style.css") + CHART_STYLE,
        conclusion=escape(conclusion(shown)),
        warnings=header.warnings(results),
        cards="".join(_card(kind.name, kind.title, kind.reading) for kind in KINDS),
        facts=header.facts(results),
        tiles=header.tiles(results),
        skipped=header.skipped(results),
        software=header.software(results.meta),
        programs=chart_programs(),
        script="\n".join(read(name) for name in _SCRIPTS),
        data=json_text(data),
    )


def _card(name: str, title: str, reading: str) -> str:
    return (
        f'<article class="card{" wide" if name == "ranking" else ""}" id="figure-{name}">'
        f"<h3>{title}</h3><p>{reading}</p>"
        '<div class="controls"></div><p class="remark" hidden></p><div class="chart"></div>'
        '<p class="note"></p></article>'
    )


def _drawn(selections: Sequence[Selection], variants: Sequence[str]) -> list[dict[str, Any]]:
    """Return the charts of each selection, by kind and measure."""
    from aegis_opt.report.charts._variants import VariantStyle

    style = VariantStyle(variants)
    found = []
    for selection in selections:
        charts: dict[str, dict[str, Any]] = {}
        for kind, measure, chart in charts_of(selection, style, page=True):
            charts.setdefault(kind, {})[measure] = chart.to_dict(validate=False)
        about = {"dataset": selection.dataset, "scope": selection.scope, "notes": selection.notes}
        found.append(about | {"charts": charts})
    return found


def _runs(rankings: Sequence[Ranking]) -> dict[str, Any]:
    """Return one chart per measure, and for each run what to put into it."""
    from aegis_opt.report.charts._order import order_chart, order_rows

    charts: dict[str, Any] = {}
    runs = []
    for run in rankings:
        if run.measure not in charts:
            charts[run.measure] = order_chart(run, page=True).to_dict(validate=False)
        about = {
            key: getattr(run, key) for key in ("scope", "dataset", "measure", "variant", "histogram", "seed")
        }
        about |= {"status": run.status, "remark": run.remark}
        rows = order_rows(run)
        keys = list(dict.fromkeys(key for row in rows for key in row))
        runs.append(about | {"keys": keys, "rows": [[_short(row.get(key)) for key in keys] for row in rows]})
    return {"charts": charts, "runs": runs}


def _short(value: Any) -> Any:
    """Round a number to six digits, more than any screen shows."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
