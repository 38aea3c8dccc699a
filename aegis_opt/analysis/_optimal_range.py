"""How far apart the optimal tables of l1 and linf are.

Strictly convex distances such as l2 and kl have one optimal table. For l1 and linf a whole face of tables is
equally close to the prior, and whatever is computed from one of them is one choice among many. Linear
programs over the face tell the range of a cell, or the optimal table that is extreme in a given direction. A
measure that is convex in the table (mutual information and chi-square where the margins are known, minus g3)
is largest at such an extreme table, so evaluating it there for some directions shows how much it varies.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from aegis_opt._options import any_array, instance
from aegis_opt.distances import Distance, get_distance
from aegis_opt.errors import AegisError, InvalidInput, InvalidOption
from aegis_opt.problem._constraint import LinearConstraint
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._reduced import reduced
from aegis_opt.solvers.convex import Convex
from aegis_opt.solvers.convex._stack import stack

_SLACKS = (1e-9, 1e-8, 1e-7)
"""Relative slacks on the optimal distance, so that rounding does not empty the face: the first that works."""


def optimal_range(
    problem: Problem,
    norm: str | Distance,
    cells: Iterable[tuple[int, int]] | None = None,
    *,
    engine: str | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of each cell over all tables that are closest to the prior.

    Two linear programs per cell; interchangeable rows share them.

    Parameters
    ----------
    problem : Problem
        What is known.
    norm : str or Distance
        The distance: l1 or linf, with weights or without, or one that is strictly convex.
    cells : iterable of (row, column), optional
        The cells to look at; all by default.
    engine : str, optional
        As in `Convex`, for the optimal distance.

    Returns
    -------
    low, high : float arrays, shape (n, k)
        The ranges; NaN for cells not asked for.

    Examples
    --------
    >>> problem = Problem.from_table([[4, 0], [2, 2]], [0, 0], histogram=False)
    >>> low, high = optimal_range(problem, "l1")
    >>> low.round(6).tolist(), high.round(6).tolist()
    ([[2.0, 0.0], [2.0, 0.0]], [[4.0, 2.0], [4.0, 2.0]])
    """
    n, k = instance("problem", problem, Problem, "pose one with aegis_opt.Problem").shape
    wanted = [(a, y) for a in range(n) for y in range(k)] if cells is None else _places(cells, n, k)
    low, high = np.full((n, k), np.nan), np.full((n, k), np.nan)
    distance = _able(norm, problem)
    best, table = _optimum(problem, norm, engine)
    class_of = reduced(problem, distance).class_of
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for a, y in wanted:
        twin = int(class_of[a]), y
        if twin not in known:
            direction = np.zeros((n, k))
            direction[a, y] = 1.0
            if distance.strictly_convex:
                known[twin] = float(table[a, y]), float(table[a, y])
            else:
                known[twin] = (
                    float(_extreme(problem, distance, best, -direction)[a, y]),
                    float(_extreme(problem, distance, best, direction)[a, y]),
                )
        low[a, y], high[a, y] = known[twin]
    return low, high


def _places(cells: Iterable[tuple[int, int]], n: int, k: int) -> list[tuple[int, int]]:
    """Check the cells that are asked for."""
    places = any_array("cells", list(cells) if isinstance(cells, Iterable) else cells)
    if places.size == 0:
        return []
    if places.ndim != 2 or places.shape[1] != 2 or places.dtype.kind not in "iu":
        raise InvalidInput("cells must be a list of (row, column), such as [(0, 1)]")
    found: list[tuple[int, int]] = list(map(tuple, places.tolist()))
    for a, y in found:
        if not (0 <= a < n and 0 <= y < k):
            raise InvalidInput(f"cell ({a}, {y}) is outside the {n} x {k} table")
    return found


def optimal_extreme(
    problem: Problem, norm: str | Distance, direction: npt.ArrayLike, *, engine: str | None = None
) -> FloatArray:
    """Of the tables closest to the prior, one with the largest sum of direction * table.

    Parameters
    ----------
    problem, norm, engine
        As in `optimal_range`.
    direction : array_like, shape (n, k)
        What to maximise, one coefficient per cell.

    Examples
    --------
    >>> problem = Problem.from_table([[4, 0], [2, 2]], [0, 0], histogram=False)
    >>> optimal_extreme(problem, "l1", [[1, -1], [0, 0]]).round(6).tolist()
    [[4.0, 0.0], [2.0, 2.0]]
    """
    wanted = np.asarray(direction, dtype=np.float64)
    if wanted.shape != problem.shape:
        raise InvalidInput(f"the direction is {wanted.shape}, the table {problem.shape}")
    distance = _able(norm, problem)
    best, table = _optimum(problem, norm, engine)
    return table if distance.strictly_convex else _extreme(problem, distance, best, wanted)


def _able(norm: str | Distance, problem: Problem) -> Distance:
    """The distance bound to the problem; one whose optimal tables no linear program describes is refused."""
    distance = get_distance(norm)
    if problem.noisy:
        raise InvalidOption(
            "how far optimal tables vary is known for problems without noisy views only: the table that fits "
            "noisy counts best is the only one where the channel is well conditioned"
        )
    if not (distance.strictly_convex or distance.base.name in ("l1", "linf")):
        raise InvalidOption(
            f"how far the optimal tables of the norm {distance.name!r} vary is not known: use 'l1', 'linf' "
            "or a strictly convex one, which has a single optimal table"
        )
    return distance.for_problem(problem)


def _optimum(problem: Problem, norm: str | Distance, engine: str | None) -> tuple[float, FloatArray]:
    result = Convex(norm=norm, engine=engine, tie_break="none").reconstruct(problem)
    table: FloatArray = np.asarray(result.table, dtype=np.float64)
    return result.objective, table


def _extreme(problem: Problem, distance: Distance, best: float, direction: FloatArray) -> FloatArray:
    """Maximise over the optimal face by one linear program in deviations p, q >= 0: t = v + p - q.

    Rows that the direction tells apart are not interchangeable; as a constraint without bounds, it
    makes the presolve keep them apart.
    """
    from scipy.sparse import hstack

    from aegis_opt.problem._linear_program import MOST_SECONDS, linprog

    marked = Problem(
        problem.views,
        problem.histogram,
        problem.given_prior,
        constraints=[*problem.constraints, LinearConstraint(direction, name="direction")],
    )
    reduction = reduced(marked, distance)
    data = stack([reduction], [distance])
    n, v = data.n_cells, data.prior
    is_sum = distance.separable
    slack = data.matrix[:, n:]
    equations = hstack([data.cell_matrix, -data.cell_matrix, slack], format="csr")
    gain = direction[reduction.first].ravel()[reduction.cells]
    cost = np.concatenate([-gain, gain, np.zeros(len(data.upper))])
    sums = np.concatenate([data.weight, data.weight, np.zeros(len(data.upper))])[None, :]
    lower = np.concatenate([np.zeros(2 * n), data.lower])
    for slack_share in _SLACKS:
        target = best / data.scale[0] * (1 + slack_share) + slack_share
        most = np.full(n, np.inf) if is_sum else data.spread * target
        upper = np.concatenate([most, np.minimum(v, most), data.upper])
        try:
            outcome = linprog(
                cost,
                A_ub=sums if is_sum else None,
                b_ub=[target - data.constant[0]] if is_sum else None,
                A_eq=equations,
                b_eq=data.right - data.cell_matrix @ v,
                bounds=np.column_stack([lower, upper]),
                method="highs",
            )
        except TimeoutError as error:
            raise AegisError(
                f"the linear program over the optimal tables did not end within {MOST_SECONDS:g} seconds: "
                "coarsen the attribute or the label, or use fewer views"
            ) from error
        if outcome.status == 0:
            break
    if outcome.status != 0:
        raise AegisError(f"the linear program over the optimal tables failed: {outcome.message}")
    deviation = outcome.x[:n] - outcome.x[n : 2 * n]
    return data.tables(np.maximum(v + deviation, 0.0))[0]
