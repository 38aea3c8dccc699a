"""Numbers of an advice as people read them: decimals, bounds, what is unknown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor._criterion import Criterion
from aegis_opt.measures import Measure

UNKNOWN = "unknown"
_RANKING = {  # columns of a ranking; what others add is about privacy
    *("configuration", "rank", "score", "stage", "pud", "pud_low", "pud_high", "pud_std", "pud_5", "pud_95"),
    *("wins", "difference", "difference_low", "difference_high", "rank_low", "rank_high"),
}
_EQUAL = 1e-9  # relative difference below which an estimate is its own bound


def title_of(measure: Measure | Criterion) -> str:
    """Name a measure with its unit, such as ``mutual information (bits)``."""
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def decimals_for(values: npt.ArrayLike, usual: int) -> int:
    """Return the decimals for a column of numbers: as usual around 1, fewer if large, more if tiny."""
    largest = float(np.nanmax(np.abs(np.append(np.asarray(values, dtype=np.float64), 0.0))))
    if largest < 1e-12 or np.isinf(largest):
        return usual
    magnitude = math.floor(math.log10(largest))
    return max(usual - magnitude, 0) if magnitude > 0 else max(usual, 2 - magnitude)


def number_text(value: float, decimals: int) -> str:
    """Return a number, or say that it is unknown."""
    return UNKNOWN if math.isnan(value) else f"{value:.{decimals}f}"


def bounds_text(low: float, high: float, decimals: int) -> str:
    """Return what lies between two bounds, either of which may be open (NaN).

    Examples
    --------
    >>> bounds_text(0.1, 0.25, 2), bounds_text(0.1, math.nan, 2), bounds_text(math.nan, 0.25, 2)
    ('0.10 to 0.25', 'at least 0.10', 'at most 0.25')
    """
    if math.isnan(low) and math.isnan(high):
        return "-"
    if math.isnan(high):
        return f"at least {low:.{decimals}f}"
    if math.isnan(low):
        return f"at most {high:.{decimals}f}"
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def bounds_title(ranking: pd.DataFrame) -> str:
    """Name what the columns pud_low and pud_high of a ranking are: an interval where masks add noise."""
    return "90% interval" if "epsilon" in ranking else "proved bounds"


def is_lower_bound(ranking: pd.DataFrame) -> bool:
    """Whether every deviation of a ranking is the proved lower bound itself, and some may be larger."""
    if "epsilon" in ranking:  # masks add noise, so that nothing is proved
        return False
    pud, low, high = (ranking[name].to_numpy(np.float64) for name in ("pud", "pud_low", "pud_high"))
    slack = _EQUAL * max(1e-300, float(np.nanmax(np.abs(pud), initial=0.0)))
    at_the_bound = bool((np.abs(pud - low) <= slack).all())
    return at_the_bound and bool((np.isnan(high) | (high > low + slack)).any())


def privacy_columns(ranking: pd.DataFrame) -> list[str]:
    """Return the columns of a ranking that say what was checked about privacy."""
    return [str(name) for name in ranking.columns if name not in _RANKING]


def figure_text(value: Any) -> str:
    """Return a figure of privacy: a number, yes or no, or a text.

    Examples
    --------
    >>> figure_text(5.0), figure_text(True), figure_text(math.nan)
    ('5', 'yes', 'unknown')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return UNKNOWN if math.isnan(value) else f"{value:.6g}"
    return str(value)
