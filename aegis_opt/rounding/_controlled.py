"""Controlled rounding: every cell to floor or ceil, every total kept, no bias."""

from __future__ import annotations

import numpy as np

from aegis_opt._interrupts import look_up
from aegis_opt.errors import RoundingImpossible
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._network import TwoSided
from aegis_opt.problem._presolve import independent
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._whole import SNAP, require_met, sides, split

_FEWEST_SQUARES = 50
"""Number of squares from which cancelling them together is faster than walking along each."""

_STEPS = 4096
"""Steps of a walk, a few milliseconds, between looks for Ctrl-C and at the clock."""


def controlled(problem: Problem, table: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Round each cell to its floor or ceil at random, keeping every total exactly and every mean.

    The fractional cells are the edges of a bipartite graph between totals (see `problem/_network.py`).
    Raising and lowering the cells of a cycle by turns keeps all totals; it is done until a cell becomes
    whole, in a direction drawn so that the expected change is 0. Hence E[rounded] = table, cell by cell
    [1]_ [2]_.

    Cycles over two rows and two labels are cancelled many at a time, the few that are left one by one. Cells
    that share both of their totals are drawn at once by systematic sampling in random order.

    Raises
    ------
    RoundingImpossible
        Where the totals of overlapping views, or extra constraints, do not promise that such a table exists.

    References
    ----------
    .. [1] L. H. Cox, "A constructive procedure for unbiased controlled rounding", Journal of the American
       Statistical Association 82 (1987).
    .. [2] R. Gandhi, S. Khuller, S. Parthasarathy and A. Srinivasan, "Dependent rounding and its
       applications to approximation algorithms", Journal of the ACM 53 (2006).

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> fractional = np.array([[2.25, 0.75], [0.75, 0.25], [0.0, 2.0]])
    >>> rounded = controlled(problem, fractional, np.random.default_rng(0))
    >>> problem.residual(rounded), bool((abs(rounded - fractional) < 1).all())
    (0.0, True)
    """
    floor, fraction = split(problem, table, "controlled")
    if problem.constraints:
        raise RoundingImpossible(
            "rounding 'controlled' keeps no extra constraints "
            f"({', '.join(c.name for c in problem.constraints)}); use rounding='nearest'"
        )
    look_up()
    cells = np.flatnonzero(fraction)
    graph = sides(problem, cells)
    if graph is None:
        names = ", ".join(margin.name for margin in independent(problem.margins))
        raise RoundingImpossible(
            "rounding 'controlled' keeps every total for one view, nested views or two views, but the totals "
            f"of {names} overlap so that a table of floors and ceilings that meets them need not exist; use "
            "rounding='nearest', which then finds the nearest whole table by CP-SAT"
        )
    floor.flat[cells] += _draw(graph, fraction.flat[cells], rng)
    return require_met(problem, floor, "controlled")


def _draw(graph: TwoSided, fraction: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw 0 or 1 for each cell: round the sums of cells with the same two totals, then the cells in each."""
    width = int(graph.right.max(initial=0)) + 1
    look_up()
    codes, bundle = np.unique(graph.left * width + graph.right, return_inverse=True)
    sums = np.bincount(bundle, weights=fraction, minlength=len(codes))
    floor = np.floor(sums + SNAP)
    rest = sums - floor
    rest[rest < SNAP] = 0.0
    edges = np.flatnonzero(rest)
    up = np.zeros(len(codes))
    up[edges] = _dependent(codes[edges] // width, codes[edges] % width, rest[edges], rng)
    if len(codes) == len(fraction):
        return up[bundle]
    return _systematic(bundle, fraction, floor, rest, up, rng)


def _systematic(
    bundle: IntArray,
    fraction: FloatArray,
    floor: FloatArray,
    rest: FloatArray,
    up: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Choose floor + up cells of each bundle, each cell with probability equal to its fraction.

    A cell is chosen where u + (sum of the fractions so far) passes a whole number. With u uniform on [0, 1)
    the number of chosen cells is rounded up exactly for u >= 1 - rest, so u is drawn from the part of [0, 1)
    that agrees with the rounding already made; as that was unbiased, u stays uniform overall.
    """
    u = rng.random(len(up))
    u = np.where(up > 0, 1.0 - rest * u, (1.0 - rest) * u)
    order = np.lexsort((rng.random(len(bundle)), bundle))
    sorted_bundle = bundle[order]
    last = np.append(sorted_bundle[1:] != sorted_bundle[:-1], True)
    running = np.cumsum(fraction[order])
    before = np.concatenate([[0.0], running[last][:-1]])  # one entry per bundle: the codes are 0, 1, 2, ...
    target = floor + up
    passed = np.floor(running - before[sorted_bundle] + u[sorted_bundle])
    passed = np.minimum(passed, target[sorted_bundle])
    passed[last] = target
    first = np.concatenate([[True], last[:-1]])
    chosen = np.diff(passed, prepend=0.0)
    chosen[first] = passed[first]
    drawn = np.zeros(len(bundle))
    drawn[order] = chosen
    return drawn


def _dependent(left: IntArray, right: IntArray, fraction: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Dependent rounding of the edges of a simple bipartite graph."""
    if int(left.max(initial=0)) < int(right.max(initial=0)):
        left, right = right, left  # squares are found between the nodes of the larger side
    look_up()
    value = fraction.copy()
    _cancel_squares(left, right, value, rng)
    _cancel_cycles(left, right, value, rng)
    return value


def _cancel_squares(left: IntArray, right: IntArray, value: FloatArray, rng: np.random.Generator) -> None:
    """Cancel cycles of length 4, as many disjoint ones at a time as can be found by sorting.

    Each left node pairs up its edges; two left nodes with a pair to the same two right nodes form a square.
    A new random order of the right nodes in each round brings other pairs together. It ends when a round
    would cost more than the walk of `_cancel_cycles`.
    """
    width = int(right.max(initial=0)) + 1
    active = np.flatnonzero((value > 0) & (value < 1))
    while True:
        look_up()
        rank = rng.permutation(width)
        edges = active[np.argsort(left[active] * width + rank[right[active]])]
        look_up()
        first = _pairs(left[edges])
        one, two = edges[first], edges[first + 1]
        order = np.argsort(right[one] * width + right[two], kind="stable")
        one, two = one[order], two[order]
        match = _pairs(right[one] * width + right[two])
        if len(match) < max(_FEWEST_SQUARES, len(active) // 50):
            return
        rising = np.stack([one[match], two[match + 1]])
        falling = np.stack([two[match], one[match + 1]])
        rise = np.minimum((1.0 - value[rising]).min(axis=0), value[falling].min(axis=0))
        fall = np.minimum(value[rising].min(axis=0), (1.0 - value[falling]).min(axis=0))
        goes_up = rng.random(len(match)) * (rise + fall) < fall
        step = np.where(goes_up, rise, -fall)
        for cells, change in [(rising, step), (falling, -step)]:
            moved = value[cells] + change
            moved[moved < SNAP] = 0.0
            moved[moved > 1.0 - SNAP] = 1.0
            value[cells] = moved
        active = active[(value[active] > 0) & (value[active] < 1)]


def _pairs(keys: IntArray) -> IntArray:
    """Positions i of disjoint pairs (i, i + 1) of equal keys, for sorted keys."""
    if len(keys) == 0:
        return np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    place = np.arange(len(keys)) - np.repeat(starts, np.diff(np.append(starts, len(keys))))
    return np.flatnonzero((place[:-1] % 2 == 0) & (keys[:-1] == keys[1:]))


def _cancel_cycles(left: IntArray, right: IntArray, value: FloatArray, rng: np.random.Generator) -> None:
    """Cancel the cycles that are left, one by one, along a walk that never goes back over its last edge.

    Totals are whole, so a node with one fractional edge has two, and the walk runs into itself. Where
    noise leaves a single edge, that edge is whole up to the noise and is set to the nearer whole number.
    """
    active = np.flatnonzero((value > 0) & (value < 1))
    offset = int(left.max(initial=0)) + 1
    ends = list(zip(left[active].tolist(), (right[active] + offset).tolist(), strict=True))
    x: list[float] = value[active].tolist()
    edges_at: dict[int, list[int]] = {}
    for i, (a, b) in enumerate(ends):
        if i % _STEPS == 0:
            look_up()
        edges_at.setdefault(a, []).append(i)
        edges_at.setdefault(b, []).append(i)
    draws = iter(rng.random(len(x)).tolist())
    steps = 0

    def onward(node: int, back: int) -> int | None:
        """Find a fractional edge at `node` other than `back`, dropping whole ones on the way."""
        edges = edges_at[node]
        while edges and not 0.0 < x[edges[-1]] < 1.0:
            edges.pop()
        if edges and edges[-1] == back:
            while len(edges) > 1 and not 0.0 < x[edges[-2]] < 1.0:
                del edges[-2]
            return edges[-2] if len(edges) > 1 else None
        return edges[-1] if edges else None

    for start in edges_at:
        nodes, path, place = [start], list[int](), {start: 0}
        while True:
            steps += 1
            if steps % _STEPS == 0:
                look_up()
            edge = onward(nodes[-1], path[-1] if path else -1)
            if edge is None:
                if not path:
                    break
                x[path[-1]] = float(round(x[path[-1]]))
                path.pop()
                del place[nodes.pop()]
                continue
            a, b = ends[edge]
            ahead = b if a == nodes[-1] else a
            if ahead not in place:
                place[ahead] = len(nodes)
                nodes.append(ahead)
                path.append(edge)
                continue
            begin = place[ahead]
            _cancel(x, [*path[begin:], edge], next(draws))
            for node in nodes[begin + 1 :]:
                del place[node]
            del nodes[begin + 1 :], path[begin:]
    value[active] = x


def _cancel(x: list[float], cycle: list[int], draw: float) -> None:
    """Move the edges of one cycle by turns up and down until one is whole, with expected change 0."""
    rising, falling = cycle[::2], cycle[1::2]
    rise = min(1.0 - max(x[e] for e in rising), min(x[e] for e in falling))
    fall = min(min(x[e] for e in rising), 1.0 - max(x[e] for e in falling))
    step = rise if draw * (rise + fall) < fall else -fall
    for edges, change in ((rising, step), (falling, -step)):
        for e in edges:
            moved = x[e] + change
            x[e] = 0.0 if moved < SNAP else 1.0 if moved > 1.0 - SNAP else moved
