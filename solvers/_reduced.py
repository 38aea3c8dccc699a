"""A problem and a distance, reduced: which rows are solved as one, and what their cells cost."""

from __future__ import annotations

import numpy as np

from aegis_opt.distances import Distance, SeparableDistance
from aegis_opt.distances._cells import CellCosts
from aegis_opt.problem._margin import BoolArray, FloatArray
from aegis_opt.problem._presolve import Reduction, reduce
from aegis_opt.problem._problem import Problem


def reduced(problem: Problem, distance: Distance, cells: BoolArray | None = None) -> Reduction:
    """Reduce a problem for a distance that is bound to it; `cells` (n x k) may exclude more of them."""
    chosen = distance.cells if cells is None else cells
    return reduce(problem, marks=distance.row_marks(problem.shape[0]), cells=chosen)


def cell_weights(reduction: Reduction, distance: Distance) -> FloatArray:
    """Weight of each cell (C x k); rows of one class share theirs."""
    return np.ones(reduction.shape) if distance.weights is None else distance.weights[reduction.first]


def cell_costs(reduction: Reduction, distance: Distance) -> CellCosts:
    """Costs of the allowed cells by a separable distance, in records."""
    chosen = reduction.cells
    rows = np.repeat(reduction.multiplicity.astype(np.float64), reduction.shape[1])
    assert isinstance(distance.base, SeparableDistance)
    weights = cell_weights(reduction, distance).ravel()[chosen]
    return CellCosts(distance.base, reduction.prior.ravel()[chosen], rows[chosen], weights)


def closed_cost(reduction: Reduction, distance: Distance) -> float:
    """What the cells that are known to be 0 add to the sum of the costs."""
    assert isinstance(distance.base, SeparableDistance)
    if not distance.finite_at_zero:
        return 0.0  # they do not count
    costs = distance.base.cost(np.zeros(reduction.shape), reduction.prior)
    costs = costs * cell_weights(reduction, distance) * reduction.multiplicity[:, None]
    return float(costs[~reduction.allowed].sum())


def has_barrier(distance: Distance) -> bool:
    """Whether the cost of a cell falls infinitely fast from 0, so that a cell is 0 only where it must be."""
    if not isinstance(distance.base, SeparableDistance):
        return False
    return bool(np.isneginf(distance.base.derivative(np.zeros(1), np.ones(1))).all())
