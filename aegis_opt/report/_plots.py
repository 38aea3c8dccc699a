"""The figures that people ask for by name, or through the objects that they show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aegis_opt._options import instance, whole_number
from aegis_opt.advisor import Advice
from aegis_opt.errors import InvalidOption, MissingDependency
from aegis_opt.privacy import SearchCurve

if TYPE_CHECKING:
    from altair import LayerChart

PLACES, CONFIGURATIONS, ATTRIBUTES = 50, 20, 40
"""What figures show unless asked otherwise: places of a ranking, sides of a heat map."""


def plot_ranking(
    advice: Advice,
    path: str | os.PathLike[str] | None = None,
    top: int | None = None,
    truth: Mapping[str, float] | None = None,
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
    truth : mapping of str to float, optional
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
    if truth is not None:
        unknown = [name for name in advice.ranking["configuration"].head(wanted) if name not in truth]
        if unknown:
            raise InvalidOption(f"truth has no deviation of configuration {unknown[0]!r}: give one for each")
    require_altair()
    from aegis_opt.report.charts._ranking import ranking_chart

    chart = ranking_chart(advice, wanted, truth)
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


def require_altair() -> None:
    """Raise `MissingDependency` unless figures can be drawn and saved."""
    try:
        import altair  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError as error:
        raise MissingDependency("figures need altair: pip install 'aegis-opt[plot]'") from error
