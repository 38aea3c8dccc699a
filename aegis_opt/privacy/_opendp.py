"""Noise of differential privacy by the package opendp: its scale, the loss that it proves, and the draws."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aegis_opt.errors import MissingDependency


class _OpenDP(NamedTuple):
    """The modules of opendp that are used; its prelude would load scikit-learn and polars, too."""

    combinators: Any
    domains: Any
    measurements: Any
    metrics: Any
    mod: Any


def _opendp() -> _OpenDP:
    try:
        from opendp import combinators, domains, measurements, metrics, mod
    except ImportError as error:
        raise MissingDependency(
            "noise of differential privacy needs opendp: pip install 'aegis-opt[privacy]'"
        ) from error
    mod.enable_features("contrib")  # so are named all constructors whose proof nobody has vetted yet
    return _OpenDP(combinators, domains, measurements, metrics, mod)


def _measurement(dp: _OpenDP, mechanism: str, scale: float, delta: float) -> Any:
    """Return what adds noise to a list of counts; it knows its privacy loss, too."""
    counts = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    if mechanism == "geometric":
        return dp.measurements.make_geometric(counts, dp.metrics.l1_distance(T="i64"), scale=scale)
    noise = dp.measurements.make_gaussian(counts, dp.metrics.l2_distance(T="f64"), scale=scale)
    if not delta:
        return noise
    return dp.combinators.make_fix_delta(dp.combinators.make_zCDP_to_approxDP(noise), delta=delta)


def calibrate(mechanism: str, epsilon: float, delta: float, tables: int) -> tuple[float, float]:
    """Return the least scale of noise for a budget, and the epsilon that it gives when a record is changed.

    A record that is added or removed moves one count of each table by 1. A record that is changed into
    another one moves two.
    """
    dp = _opendp()
    geometric = mechanism == "geometric"
    one, two = (tables, 2 * tables) if geometric else (float(tables) ** 0.5, (2.0 * tables) ** 0.5)
    if geometric:
        enough = tables / epsilon * (1 + 1e-12)  # rounding may cost the last digit, on either side
        bounds = enough * (1 - 2e-12), enough
    else:
        # rho + 2 sqrt(rho log(1 / delta)) bounds the epsilon of zero-concentrated privacy; opendp's is less
        odds = math.log(1 / delta)
        rho = (math.sqrt(odds + epsilon) - math.sqrt(odds)) ** 2
        enough = math.sqrt(tables / (2 * rho)) * (1 + 1e-9)
        bounds = enough / 3, enough
    scale = dp.mod.binary_search_param(
        lambda scale: _measurement(dp, mechanism, scale, delta),
        d_in=one,
        d_out=epsilon if geometric else (epsilon, delta),
        T=float,
        bounds=bounds,
    )
    loss = _measurement(dp, mechanism, scale, delta).map(two)
    return float(scale), float(loss if geometric else loss[0])


def draw(mechanism: str, scale: float, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Add noise to counts, from the secure generator of opendp."""
    measurement = _measurement(_opendp(), mechanism, scale, 0.0)
    return np.array(measurement(counts.tolist()), dtype=np.int64)
