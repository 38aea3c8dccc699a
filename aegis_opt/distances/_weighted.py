"""Distances in which some cells count for more than others."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aegis_opt.distances._base import (
    BoolArray,
    BoundDistance,
    Distance,
    FloatArray,
    Posed,
    WeightableDistance,
    take_flags,
)
from aegis_opt.errors import InvalidInput, InvalidOption

if TYPE_CHECKING:
    from cvxpy import Expression


class Weighted(Distance):
    """Another distance with a weight for each cell: the cost of a cell (for linf its difference) times that.

    Roots are taken afterwards: the weighted l2 distance is the root of the sum of w (x - u)^2.

    Parameters
    ----------
    distance : str or Distance
        What is weighted.
    weights : array_like
        Positive numbers, of the shape of the table (n x k), or (k,), (1, k) or (n, 1) for the same weight in
        each row or column.
    name : str, optional
        What results call it. By default "weighted-" with the name of the distance and a short digest of
        the weights, which stays the same.

    Examples
    --------
    >>> Weighted("l1", [1, 10]).value([[3.0, 1.0]], [[2.0, 2.0]])
    11.0
    """

    def __init__(self, distance: str | Distance, weights: npt.ArrayLike, *, name: str | None = None) -> None:
        from aegis_opt.distances._registry import get_distance

        found = get_distance(distance)
        if not isinstance(found, WeightableDistance):
            raise InvalidOption(f"the distance {found.name!r} takes no weights")
        self._distance = found
        self._weights = _positive(weights)
        digest = hashlib.sha256(repr(self._weights.shape).encode() + self._weights.tobytes()).hexdigest()
        self.name = f"weighted-{found.name}-{digest[:8]}" if name is None else name
        take_flags(self, found)

    @property
    def base(self) -> Distance:
        """The distance without weights."""
        return self._distance

    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Distance of a table from a prior of the same shape."""
        return self._fitting(np.shape(table)).value(table, prior)

    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write the weighted distance in cvxpy."""
        return self._fitting(u.shape).expression(x, u)

    def for_problem(self, problem: Posed) -> Distance:
        """Return the distance with a weight for each cell of the problem; other shapes are refused."""
        return self._fitting(problem.shape, None if self.finite_at_zero else problem.support)

    def check(self) -> None:
        """Check what is weighted; weights were checked when they were given."""
        self._distance.check()

    def _fitting(self, shape: tuple[int, ...], cells: BoolArray | None = None) -> BoundDistance:
        """Bind the weights to a shape."""
        try:
            weights = np.broadcast_to(self._weights, shape)
        except ValueError:
            raise InvalidInput(
                f"the weights of the distance {self.name!r} are of shape {self._weights.shape}, the table of "
                f"{shape}: give one for each cell, or of the shape (k,) or (n, 1)"
            ) from None
        return BoundDistance(self._distance, self.name, weights, cells)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Weighted)
            and (self.name, self._distance) == (other.name, other._distance)
            and np.array_equal(self._weights, other._weights)
        )

    __hash__ = Distance.__hash__


def _positive(weights: npt.ArrayLike) -> FloatArray:
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"weights must be an array of numbers: {error}") from None
    if found.ndim not in (1, 2) or not found.size:
        raise InvalidInput(f"weights must have one or two axes, not the shape {found.shape}")
    wrong = found[~(np.isfinite(found) & (found > 0))]
    if wrong.size:
        raise InvalidInput(
            f"weights must be positive numbers, not {wrong[0]:g}: a cell of weight 0 could hold anything"
        )
    found.setflags(write=False)
    return found
