"""Roughness along an ordered attribute: how fast the shares of the labels change from value to value.

With r the histogram and p(y | a) = X(a, y) / r(a), the roughness of a table is that of p along the positions
of the values, summed over the labels. Without a histogram r(a) = N / n for every value, so that it is the
roughness of X itself. Positions are moved to the unit interval; with c_0 = x, f_0 = p and, for j = 1, 2, ...,

    g_j[i] = c_{j-1}[i+1] - c_{j-1}[i],     f_j[i] = (f_{j-1}[i+1] - f_{j-1}[i]) / g_j[i],
    c_j[i] = (c_{j-1}[i] + c_{j-1}[i+1]) / 2,

the roughness of order m is the sum of g_m[i] f_m[i]^2: the integral of the squared m-th derivative, as far
as the values tell it [1]_ [2]_. The first order is sum (p[i+1] - p[i])^2 / h[i] with h the spacing, the
second one sum (d[i+1] - d[i])^2 / ((h[i] + h[i+1]) / 2) with d[i] = (p[i+1] - p[i]) / h[i].

References
----------
.. [1] E. T. Whittaker, "On a new method of graduation", Proceedings of the Edinburgh Mathematical Society 41
   (1922).
.. [2] P. H. C. Eilers and B. D. Marx, "Flexible smoothing with B-splines and penalties", Statistical Science
   11 (1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aegis_opt._options import number, one_of, whole_number
from aegis_opt.distances._base import Distance, FloatArray, Posed
from aegis_opt.distances._divergences import KL
from aegis_opt.errors import InvalidOption

if TYPE_CHECKING:
    from cvxpy import Expression
    from scipy import sparse

FEWEST_PLACED = 3  # values with a place: between two, the smoothest table is that of maximum entropy
POSITIONS = ("values", "ranks")


class Roughness(Distance):
    """Roughness of the label shares along an ordered attribute. It does not depend on the prior.

    Where fewer than three values have a place in the order, among them those of a nominal attribute,
    `for_problem` returns the divergence ("kl") instead: the smoothest table is that of maximum entropy.

    Parameters
    ----------
    order : int or sequence of int
        Order of the differences, 1 to 3; several are added, each with its weight.
    weights : sequence of float, optional
        Weights of several orders; all 1 by default.
    positions : {"values", "ranks"}
        Whether the distance between neighbours is that of their positions, or 1.

    Examples
    --------
    Unless bound to a problem, the values are one step apart, with equally many records each:

    >>> Roughness().value([[2.0, 2.0], [3.0, 1.0], [4.0, 0.0]], np.full((3, 2), 2.0))
    0.5
    """

    name = "roughness"
    parameter = "order"
    smooth = True
    program = "quadratic"

    def __init__(
        self,
        order: int | float | Sequence[int] = 1,
        weights: Sequence[float] | None = None,
        positions: str = "values",
    ) -> None:
        self.orders, self.order_weights = checked_orders(order, weights)
        self.spacing = one_of("positions", positions, POSITIONS)
        if self.orders != (1,) or self.order_weights != (1.0,):
            parts = zip(self.orders, self.order_weights, strict=True)
            self.name += "=" + "+".join(f"{m}" if w == 1 else f"{w:g}x{m}" for m, w in parts)
        if self.spacing == "ranks":
            self.name += " of ranks"

    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Roughness of a table whose values are one step apart, with as many records each as in the prior."""
        U = np.asarray(prior, dtype=np.float64)
        return self._by_steps(U).value(table, U)

    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write it in cvxpy for such a table."""
        return self._by_steps(u).expression(x, u)

    def for_problem(self, problem: Posed) -> Distance:
        """Return the roughness along the positions of a problem, or "kl" where there are none."""
        curves = Curves.of_problem(problem)
        return KL() if curves is None else self._bound(curves)

    def check(self) -> None:
        """Nothing: a sum of squares of linear functions is convex."""

    def differences(self, curves: Curves) -> tuple[sparse.csr_array, FloatArray]:
        """Matrix D (differences x placed values) and weights: the roughness of p is sum of weights (D p)^2.

        Orders for which there are too few values have no differences.
        """
        from scipy import sparse

        x = np.arange(len(curves.rows), dtype=np.float64) if self.spacing == "ranks" else curves.positions
        parts = [differences(x, order) for order in self.orders]
        matrix = sparse.vstack([D for D, _ in parts], format="csr")
        scaled = [w * weight for (_, w), weight in zip(parts, self.order_weights, strict=True)]
        return matrix, np.concatenate(scaled)

    @property
    def of_a_wave(self) -> float:
        """Roughness of a sine wave of amplitude 1, with one period over all values that lie densely."""
        parts = zip(self.orders, self.order_weights, strict=True)
        return sum(weight * (2 * math.pi) ** (2 * order) / 2 for order, weight in parts)

    def _bound(self, curves: Curves) -> Distance:
        return _AlongPositions(self, curves)

    def _by_steps(self, prior: FloatArray) -> Distance:
        return self._bound(Curves.of(len(prior), float(prior.sum()), None, np.arange(len(prior))))


@dataclass(frozen=True, eq=False)
class Curves:
    """The values with a place and with records, sorted, and how many records each stands for."""

    rows: npt.NDArray[np.int64]
    positions: FloatArray
    records: FloatArray

    @staticmethod
    def of(n: int, total: float, histogram: FloatArray | None, positions: npt.NDArray[Any] | None) -> Curves:
        """Sort the values; without positions none has a place."""
        x = np.full(n, np.nan) if positions is None else np.asarray(positions, dtype=np.float64)
        records = np.full(n, total / n) if histogram is None else histogram
        rows = np.argsort(x, kind="stable")
        rows = rows[~np.isnan(x[rows]) & (records[rows] > 0)]
        return Curves(rows, x[rows], records[rows])

    @staticmethod
    def of_problem(problem: Posed) -> Curves | None:
        """Return what is ordered about a problem; None where fewer than three values have a place."""
        curves = Curves.of(problem.shape[0], problem.total, problem.histogram, problem.positions)
        return curves if len(curves.rows) >= FEWEST_PLACED else None


class _AlongPositions(Distance):
    """The roughness as it is minimised for one problem."""

    smooth = True
    program = "quadratic"

    def __init__(self, roughness: Roughness, curves: Curves) -> None:
        self.name, self._roughness, self._curves = roughness.name, roughness, curves
        self._matrix, self._weights = roughness.differences(curves)

    @property
    def base(self) -> Distance:
        """The roughness that is not bound to a problem."""
        return self._roughness

    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Roughness of a table."""
        del prior
        shares = np.asarray(table, dtype=np.float64)[self._curves.rows] / self._curves.records[:, None]
        return float(self._weights @ ((self._matrix @ shares) ** 2).sum(axis=1))

    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write it in cvxpy."""
        from scipy.sparse import diags_array

        from aegis_opt._native import cvxpy as cp

        del u
        shares = diags_array(1.0 / self._curves.records) @ x[self._curves.rows, :]
        return cp.sum_squares(diags_array(np.sqrt(self._weights)) @ self._matrix @ shares)


def differences(positions: FloatArray, order: int) -> tuple[sparse.csr_array, FloatArray]:
    """Matrix D and weights of one order, so that the roughness of p is the sum of weights (D p)^2.

    The rows of D are scaled so that their largest coefficient is 1 or -1: however close two positions are,
    D and the inverse of the weights stay of moderate size.

    Examples
    --------
    >>> D, weights = differences(np.array([10.0, 20.0, 50.0]), 1)
    >>> D.toarray().tolist(), weights.round(4).tolist()
    ([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]], [4.0, 1.3333])
    """
    from scipy import sparse

    n = len(positions)
    if n <= order:
        return sparse.csr_array((0, n)), np.zeros(0)
    centre = (positions - positions[0]) / (positions[-1] - positions[0])
    band = np.ones((n, 1))  # band[i, j]: coefficient of p[i + j] in difference i
    for _ in range(order):
        gap = np.diff(centre)
        wider = np.zeros((len(band) - 1, band.shape[1] + 1))
        wider[:, 1:] += band[1:]
        wider[:, :-1] -= band[:-1]
        band = wider / gap[:, None]
        centre = (centre[1:] + centre[:-1]) / 2
    size = np.abs(band).max(axis=1)
    rows, width = band.shape
    columns = np.arange(rows)[:, None] + np.arange(width)
    scaled = (band / size[:, None]).ravel()
    D = sparse.csr_array((scaled, columns.ravel(), np.arange(0, rows * width + 1, width)), shape=(rows, n))
    return D, gap * size**2


def checked_orders(order: Any, weights: Any) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Check the orders of differences and their weights.

    Examples
    --------
    >>> checked_orders((1, 2), (100, 1))
    ((1, 2), (100.0, 1.0))
    """
    given = order if isinstance(order, Sequence) and not isinstance(order, str) else [order]
    whole = [int(m) if isinstance(m, float) and m.is_integer() else m for m in given]
    orders = tuple(whole_number("order", m, least=1, most=3) for m in whole)
    if not orders or len(set(orders)) < len(orders):
        raise InvalidOption(f"order must be 1, 2, 3 or several of them, each once, not {order!r}")
    if weights is None:
        return orders, (1.0,) * len(orders)
    listed = list(weights) if isinstance(weights, Sequence) and not isinstance(weights, str) else [weights]
    if len(listed) != len(orders):
        raise InvalidOption(f"{len(listed)} weights for {len(orders)} orders of differences")
    return orders, tuple(number("weights", weight, above=0) for weight in listed)
