"""The figures that people ask for by name, or through the objects that they show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt
import pandas as pd

from aegis_opt._options import instance, mapping_of, one_of, whole_number
from aegis_opt.advisor import Advice
from aegis_opt.errors import InvalidInput, InvalidOption, MissingDependency
from aegis_opt.harness import Results
from aegis_opt.privacy import SearchCurve
from aegis_opt.problem._view import counts
from aegis_opt.report._chart_data import selections_of
from aegis_opt.report._comparison_figures import KINDS, charts_of
from aegis_opt.report._conclusion import telling_apart
from aegis_opt.report._prepared_results import advice_by_group, typed, variants_of
from aegis_opt.report._ranking_data import first_shown, rankings_of
from aegis_opt.solvers.reconstruction import Reconstruction

if TYPE_CHECKING:
    from altair import LayerChart

PLACES, CONFIGURATIONS, ATTRIBUTES = 50, 20, 40
"""What figures show unless asked otherwise: places of a ranking, sides of a heat map."""


def plot_ranking(
    advice: Advice,
    path: str | os.PathLike[str] | None = None,
    top: int | None = None,
    truth: Mapping[str, float] | pd.Series[float] | None = None,
) -> LayerChart:
    """Draw the ranking of an advice, and save it; ``advice.plot()`` is the same without a file.

    Parameters
    ----------
    advice : Advice
        The advice to draw.
    path : path, optional
        Where to save the figure, whole or not at all; the ending chooses the format (.png, .svg, .pdf,
        .html).
    top : int, optional
        How many configurations to draw, best first; by default 50.
    truth : mapping of str to float, or Series, optional
        The true deviation of each configuration, if the raw table is known.

    Returns
    -------
    altair.LayerChart
        The chart; see `Advice.plot`.

    Raises
    ------
    MissingDependency
        If altair is not installed.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(300)
    >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations))
    >>> chart = ao.plot_ranking(advice, top=5)
    >>> chart.to_dict()["title"]["subtitle"][-1]
    'Shown are the first 5 of 12 configurations.'
    """
    instance("advice", advice, Advice, "aegis_opt.advise(summary) gives one")
    wanted = PLACES if top is None else whole_number("top", top, least=1)
    true: Mapping[str, float] | None = None
    if truth is not None:
        given = truth.to_dict() if isinstance(truth, pd.Series) else truth
        true = mapping_of("truth", given, "map each configuration to its true deviation")
        unknown = [name for name in advice.ranking["configuration"].head(wanted) if name not in true]
        if unknown:
            raise InvalidOption(f"truth has no deviation of configuration {unknown[0]!r}: give one for each")
    require_altair()
    from aegis_opt.report.charts._ranking import ranking_chart

    chart = ranking_chart(advice, wanted, true)
    if path is not None:
        chart.save(path)
    return chart


def plot_attributes(advice: Advice, top: int | None = None, attributes: int | None = None) -> LayerChart:
    """Draw what each attribute loses under each configuration; see `Advice.plot_attributes`.

    Parameters
    ----------
    advice : Advice
        The advice to draw.
    top, attributes : int, optional
        How many configurations and attributes to draw; by default 20 and 40.

    Returns
    -------
    altair.LayerChart
        The heat map.
    """
    instance("advice", advice, Advice, "aegis_opt.advise(summary) gives one")
    configurations = CONFIGURATIONS if top is None else whole_number("top", top, least=1)
    kept = ATTRIBUTES if attributes is None else whole_number("attributes", attributes, least=1)
    require_altair()
    from aegis_opt.report.charts._attributes import attributes_chart

    return attributes_chart(advice, configurations, kept)


def plot_search_curve(curve: SearchCurve) -> LayerChart:
    """Draw the least cost against k; see `aegis_opt.privacy.SearchCurve.plot`.

    Parameters
    ----------
    curve : SearchCurve
        The curve to draw.

    Returns
    -------
    altair.LayerChart
        One line per suppression limit.
    """
    instance("curve", curve, SearchCurve, "aegis_opt.search_curve(...) gives one")
    require_altair()
    from aegis_opt.report.charts._search_curve import search_curve_chart

    return search_curve_chart(curve)


def plot_reconstruction(reconstruction: Reconstruction, truth: npt.ArrayLike | None = None) -> LayerChart:
    """Draw a table against the truth or the prior; see `Reconstruction.plot`.

    Parameters
    ----------
    reconstruction : Reconstruction
        The reconstruction to draw.
    truth : array_like, shape (n, k), optional
        The raw table, if it is known.

    Returns
    -------
    altair.LayerChart
        The chart.
    """
    if truth is not None:
        known = counts(truth, "truth", ndim=2)
        if known.shape != reconstruction.table.shape:
            sizes = [" x ".join(map(str, table.shape)) for table in (known, reconstruction.table)]
            raise InvalidInput(f"truth is {sizes[0]}, the reconstructed table {sizes[1]}: give the same rows")
    elif reconstruction.problem is not None:
        known = reconstruction.problem.prior
    else:
        raise InvalidOption("this reconstruction does not know its problem, so it has no prior: give truth=")
    require_altair()
    from aegis_opt.report.charts._cells import cells_chart

    return cells_chart(reconstruction, known, against="prior" if truth is None else "truth")


def plot_results(
    results: Results,
    kind: str,
    *,
    dataset: str | None = None,
    scope: str | None = None,
    measure: str | None = None,
) -> LayerChart:
    """Draw one figure of a comparison; see `Results.plot`.

    Parameters
    ----------
    results : Results
        The results of the comparison.
    kind, dataset, scope, measure : str, optional
        Which figure.

    Returns
    -------
    altair.LayerChart
        The chart.
    """
    one_of("kind", kind, [found.name for found in KINDS])
    if measure is not None and kind not in ("estimate", "ranking"):
        raise InvalidOption(f"a figure of kind {kind!r} is of all measures: leave measure out")
    require_altair()
    from aegis_opt.report.charts._order import order_chart
    from aegis_opt.report.charts._variants import VariantStyle

    found = typed(results)
    variants = variants_of(found)
    selections = selections_of(found, advice_by_group(found))
    if not selections:
        raise InvalidOption("these results have no row yet, so there is nothing to draw")
    for name, value in (("dataset", dataset), ("scope", scope)):
        if value is not None:
            one_of(
                name, value, sorted({getattr(s, name) for s in selections if getattr(s, name) is not None})
            )
    wanted = [
        s for s in selections if s.dataset == (dataset if dataset is not None else selections[0].dataset)
    ]
    selection = telling_apart([s for s in wanted if scope in (None, s.scope)])
    if kind == "ranking":
        runs = [r for r in rankings_of(found, variants) if r.scope == selection.scope and r.names]
        runs = [r for r in runs if dataset in (None, r.dataset)]
        if measure is not None:
            one_of("measure", measure, sorted({r.measure for r in runs}))
        runs = [r for r in runs if measure in (None, r.measure)]
        if runs:
            return order_chart(first_shown(runs))
    drawn = charts_of(selection, VariantStyle(variants), only=kind)
    of_kind = {of: chart for _, of, chart in drawn}
    if measure is not None and of_kind:
        return of_kind[one_of("measure", measure, list(of_kind))]
    if not of_kind:
        raise InvalidOption(f"these results have nothing to draw of kind {kind!r}")
    return next(iter(of_kind.values()))


def require_altair() -> None:
    """Raise `MissingDependency` unless figures can be drawn and saved."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingDependency("figures need altair: pip install 'aegis-opt[plot]'") from error
