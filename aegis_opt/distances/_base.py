"""What every distance tells about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from aegis_opt.errors import InvalidInput

if TYPE_CHECKING:
    from cvxpy import Expression

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ProgramKind = Literal["linear", "quadratic", "conic"]


class Posed(Protocol):
    """What a distance may know about the problem that it is minimised for; see `aegis_opt.Problem`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values and number of labels."""

    @property
    def total(self) -> float:
        """Number of records."""

    @property
    def prior(self) -> FloatArray:
        """The table to stay close to."""

    @property
    def support(self) -> BoolArray:
        """Cells that are positive in some feasible table."""

    @property
    def histogram(self) -> FloatArray | None:
        """How often each value occurs, where that is known."""

    @property
    def positions(self) -> FloatArray | None:
        """Where the values of an ordered attribute lie."""


class Distance(ABC):
    """A convex function of a table X and its prior U, which solvers minimise over X.

    Two distances are the same where their class and their name are.

    Attributes
    ----------
    name : str
        What it is called, parameters included, such as "lp=1.5".
    parameter : str or None
        What the number after "=" in the name is, where there is one.
    separable : bool
        Whether it is a sum over cells (or an increasing function of one): see `SeparableDistance`.
    strictly_convex : bool
        Whether one table alone is closest. Of several, solvers take the one of least l2.
    smooth : bool
        Whether it has a derivative at every positive table.
    finite_at_zero : bool
        Whether a cell of 0 costs no more than a finite amount. Where not, the distance is taken over the
        cells that some feasible table makes positive, and whole tables are no solution.
    symmetric : bool
        Whether two rows of equal prior may be exchanged. Where not, no rows are solved as one.
    program : {"linear", "quadratic", "conic"}
        Which programs an engine of the solver "convex" must be able to solve.
    weights, cells : ndarray or None
        The weight of each cell, and the cells that count, where the distance is bound to a problem that
        makes them differ; see `for_problem`.
    """

    name: str
    parameter: str | None = None
    separable: bool = False
    strictly_convex: bool = False
    smooth: bool = False
    finite_at_zero: bool = True
    symmetric: bool = False
    program: ProgramKind = "conic"
    weights: FloatArray | None = None
    cells: BoolArray | None = None

    @property
    def base(self) -> Distance:
        """The distance without weights, over all cells."""
        return self

    @abstractmethod
    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Distance of a table from a prior of the same shape."""

    @abstractmethod
    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write the distance in cvxpy, for a variable `x` (n x k) and a prior `u`: one convex number."""

    def for_problem(self, problem: Posed) -> Distance:
        """Return the distance as it is minimised for one problem: checked, or knowing more about it."""
        del problem
        return self

    def row_marks(self, n_rows: int) -> FloatArray | None:
        """Numbers for each row (n x any) that rows solved as one have in common; None: they may differ."""
        return None if self.symmetric else np.arange(n_rows, dtype=np.float64)[:, None]

    def check(self) -> None:
        """Raise `InvalidInput` where the distance is not what it says, on random points.

        It is called when the distance is first used. A distance that is not convex would be minimised
        wrongly, and certified nevertheless.
        """
        rng = np.random.default_rng(0)
        for _ in range(50):
            prior, one, other = rng.gamma(0.7, 10.0, size=(3, 4, 3)) + 1e-3
            self.require_convex(
                [self.value(t * one + (1 - t) * other, prior) for t in (0.0, 0.3, 1.0)], 0.3, "tables"
            )

    def require_convex(self, values: Any, share: float, what: str) -> None:
        """Raise where the value at a point between two others lies above the line between theirs.

        `values` are those at one end, at `share` of the way to the other end, and there.
        """
        low, middle, high = (np.asarray(value, dtype=np.float64) for value in values)
        chord = (1 - share) * low + share * high
        size = np.abs(low) + np.abs(middle) + np.abs(high) + 1e-9
        if not bool(np.all(middle <= chord + 1e-9 * size)):  # NaN is refused, too
            raise InvalidInput(
                f"the distance {self.name!r} is not convex: between two random {what} it is larger than on "
                "the line between its values there, so that a solver could prove nothing about it"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distance) and type(self) is type(other) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Distance {self.name}>"


class WeightableDistance(Distance):
    """A distance that can give each cell a weight; see `Weighted`."""

    @abstractmethod
    def weighted_value(self, table: FloatArray, prior: FloatArray, weights: FloatArray | None) -> float:
        """Distance with a weight for each cell; None is 1."""

    @abstractmethod
    def weighted_expression(self, x: Expression, u: FloatArray, weights: FloatArray | None) -> Expression:
        """Write it in cvxpy; None is 1."""

    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Distance of a table from a prior of the same shape."""
        X, U = np.asarray(table, dtype=np.float64), np.asarray(prior, dtype=np.float64)
        return self.weighted_value(X, U, None)

    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write the distance (or what is least where it is) in cvxpy."""
        return self.weighted_expression(x, u, None)


class BoundDistance(Distance):
    """A distance as it is minimised for one problem: with weights for its cells, over those that count."""

    def __init__(
        self,
        distance: WeightableDistance,
        name: str,
        weights: FloatArray | None = None,
        cells: BoolArray | None = None,
    ) -> None:
        self._distance, self.name, self.weights, self.cells = distance, name, weights, cells
        take_flags(self, distance)

    @property
    def base(self) -> WeightableDistance:
        """The distance without weights, over all cells."""
        return self._distance

    def value(self, table: npt.ArrayLike, prior: npt.ArrayLike) -> float:
        """Distance by the weights, over the cells that count."""
        X, U = np.asarray(table, dtype=np.float64), np.asarray(prior, dtype=np.float64)
        chosen = ... if self.cells is None else self.cells
        weights = None if self.weights is None else self.weights[chosen]
        return self._distance.weighted_value(X[chosen], U[chosen], weights)

    def expression(self, x: Expression, u: FloatArray) -> Expression:
        """Write it in cvxpy; cells that do not count are left out by a prior of 0."""
        counted = u if self.cells is None else np.where(self.cells, u, 0.0)
        return self._distance.weighted_expression(x, counted, self.weights)

    def row_marks(self, n_rows: int) -> FloatArray | None:
        """Return the weights: rows that differ in them are not interchangeable."""
        return super().row_marks(n_rows) if self.weights is None else self.weights


def take_flags(distance: Distance, other: Distance) -> None:
    """Let a distance be separable, smooth, ... where another one is."""
    for flag in ("separable", "strictly_convex", "smooth", "finite_at_zero", "symmetric", "program"):
        setattr(distance, flag, getattr(other, flag))
