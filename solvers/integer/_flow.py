"""Exact integer tables by minimum-cost flow, for problems whose totals are two-sided.

The cells are then the arcs of a bipartite network whose nodes are the totals (`problem/_network.py`), and
integer tables are integer flows. Convex costs become parallel arcs, one per segment of equal slope [1]_. For
cells with many layers the arcs are exact near a current solution and coarse away from it, so a solution is
accepted only when the residual network of the *full* problem has no negative cycle [2]_; otherwise the arcs
are laid anew around it, and the next solution is strictly better.

The node potentials that prove this also describe all optimal tables at once: those in which every cell stays
where its slope equals the difference of its potentials. A further objective is minimised over just
that set, which is how ties are broken without touching the optimum.

References
----------
.. [1] D. S. Hochbaum and J. G. Shanthikumar, "Convex separable optimization is not much harder than linear
   optimization", Journal of the ACM 37 (1990).
.. [2] R. K. Ahuja, T. L. Magnanti and J. B. Orlin, "Network Flows", chapter 14 (1993).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from aegis_opt._flows import blocking_cut, cheapest_flow
from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.distances import Distance
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._consistency import NO_WHOLE_TABLE
from aegis_opt.problem._margin import BoolArray, IntArray
from aegis_opt.problem._network import TwoSided, two_sided
from aegis_opt.problem._presolve import Reduction
from aegis_opt.solvers._reduced import cell_costs
from aegis_opt.solvers.integer._costs import (
    Absolutes,
    Cost,
    IntegerSolution,
    Segments,
    Squares,
    Target,
    target,
)
from aegis_opt.solvers.integer._steps import Steps

_EXACT_LAYERS = 6
"""Cells with more layers get exact arcs only near the current solution."""
_ROUNDS = 200
_SWEEPS = 30
_LARGEST_SUM = 2.0**62
"""Records up to which the cells of a total have room: the flow adds them up in 64 bits."""
_CHUNKS = 8
"""Parts of a cell's range between which ties are broken independently."""


@dataclass(frozen=True, eq=False)
class Network:
    """A bipartite network: the allowed cells are arcs between totals on two sides."""

    tail: IntArray  # per cell: its total on one side
    head: IntArray  # per cell: its total on the other side; heads are numbered after tails
    totals: IntArray  # the known totals
    side: IntArray  # per total: +1 for tails, which supply records, -1 for heads
    depth: int  # most totals of one side that a path can visit
    lower: IntArray  # bounds of the class totals
    upper: IntArray
    deadline: float = math.inf  # seconds of `time.monotonic` at which work on it ends with TimeoutError

    def look_at_the_clock(self) -> None:
        """Raise `TimeoutError` after the deadline."""
        look_at_the_clock(self.deadline)

    def spare(self, cells: IntArray) -> IntArray:
        """Records that each total has left when the cells hold `cells`.

        Sums beyond 2^53, which no total reaches, may be off; they stay beyond.
        """
        used = np.sum([np.bincount(node, cells, len(self.totals)) for node in (self.tail, self.head)], axis=0)
        left: IntArray = self.totals - np.minimum(used, _LARGEST_SUM).astype(np.int64)
        return left


def sides(reduction: Reduction) -> TwoSided | None:
    """The two sides of a problem's totals, or None where it is no network flow.

    Examples
    --------
    >>> from aegis_opt.problem._presolve import reduce
    >>> from aegis_opt.problem._problem import Problem
    >>> sides(reduce(Problem.from_table([[1, 2], [3, 0]], [0, 0]))).left_totals.tolist()
    [0, 1]
    """
    if reduction.problem.constraints:
        return None
    return two_sided(reduction.members_by_margin, reduction.sizes)


def obstacle(reduction: Reduction) -> str:
    """Say why a problem without two `sides` is no network flow."""
    if reduction.problem.constraints:
        return f"the extra constraint {reduction.problem.constraints[0].name!r} is no total of a network"
    names = ", ".join(margin.name for margin in reduction.margins)
    return f"the totals of {names} overlap so that they do not fall into the two sides of a network"


def look_at_the_clock(deadline: float) -> None:
    """Raise `TimeoutError` after the deadline, in seconds of `time.monotonic`; also look for Ctrl-C.

    Between the steps of everything that grows with the cells: a million of them take tenths of a second each.
    """
    look_for_ctrl_c()
    if time.monotonic() > deadline:
        raise TimeoutError


def network(reduction: Reduction, graph: TwoSided, deadline: float = math.inf) -> Network:
    """Build the network of a problem with two `sides`."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_tails, n_heads = len(graph.left_totals), len(graph.right_totals)
    known = np.rint(reduction.totals).astype(np.int64)
    totals = known[np.concatenate([graph.left_totals, graph.right_totals])]
    tail, head = graph.left, graph.right + n_tails
    side = np.repeat([1, -1], [n_tails, n_heads])
    look_at_the_clock(deadline)
    links = coo_array((np.ones(len(tail)), (tail, head)), shape=(len(totals), len(totals)))
    n_parts, part = connected_components(links, directed=False)
    look_at_the_clock(deadline)
    counts = np.stack([np.bincount(part[side == s], minlength=n_parts) for s in (1, -1)])
    upper = np.minimum(totals[tail], totals[head])
    depth = int(counts.min(axis=0).max(initial=0))
    return Network(tail, head, totals, side, depth, np.zeros_like(upper), upper, deadline)


def solve_flow(
    reduction: Reduction,
    graph: TwoSided,
    distance: Distance,
    rng: np.random.Generator,
    deadline: float = math.inf,
) -> IntegerSolution:
    """Find an integer table closest to the prior by minimum-cost flow, for whole totals with two `sides`.

    Among the closest ones it is one closest in l2, and among those a random one; the deadline (seconds of
    `time.monotonic`) can end that early, with `TimeoutError` where no table was found.
    """
    net = network(reduction, graph, deadline)
    steepest = 2.0 * (float(net.upper.max(initial=0)) + float(reduction.prior.max()) + 1.0)
    largest = 2.0**60 / (len(net.totals) + 1)  # slope up to which sums along paths fit into 64 bits
    goal = target(reduction, largest / steepest)
    net.look_at_the_clock()
    costs: list[Cost] = [Squares.of(reduction, goal, _EXACT_LAYERS)]
    error = 0.0
    if distance.name in ("l1", "l2", "linf"):
        error = goal.error(reduction, distance.name)
    if distance.name == "l1":
        costs.insert(0, Absolutes.of(goal))
    elif distance.name not in ("l2", "linf"):
        costs.insert(0, Steps.of(cell_costs(reduction, distance), goal, net.upper, largest, _EXACT_LAYERS))
    rounds = 0
    found: IntArray | None = None
    slack, timed_out = np.inf, False
    try:
        if distance.name == "linf":
            net, rounds = narrowest(net, goal)
            slack = 0.0
        for cost in costs:
            for totals, potentials in improved(net, cost):
                found = totals
                rounds += potentials is None
            if potentials is None:
                break
            if cost is costs[0]:
                prices = potentials[net.head] - potentials[net.tail]
                slack = cost.slack(totals, prices) if isinstance(cost, Steps) else 0.0
            net = optimal_face(net, cost, totals, potentials)
        else:
            found = _random_table(net, totals, rng)
    except TimeoutError:
        if found is None:
            raise
        timed_out = True
    assert found is not None  # there is a table where no time limit came
    _require_all_totals(reduction, found)
    return IntegerSolution(found, rounds, slack, error, timed_out and slack == np.inf)


def _require_all_totals(reduction: Reduction, cells: IntArray) -> None:
    """Raise where a total is missed that the network leaves out because it is a sum of others.

    All tables that meet the others have the same sum there, so no table meets it.
    """
    members = reduction.members
    sums = np.bincount(members.ravel(), np.tile(cells, len(members)), len(reduction.totals))
    if not np.array_equal(sums, reduction.totals):
        raise InfeasibleProblem(NO_WHOLE_TABLE)


def improved(net: Network, cost: Cost) -> Iterator[tuple[IntArray, IntArray | None]]:
    """Minimise a separable convex cost: yield ever better totals, then those proved, with potentials."""
    totals = _fractional_optimum(net, cost) if cost.wide(net.lower, net.upper).any() else net.lower
    for _ in range(_ROUNDS):
        net.look_at_the_clock()
        totals = _cheapest_totals(net, cost.segments(totals, net.lower, net.upper))
        yield totals, None  # before the proof, which can take longer than the flow
        potentials = certificate(net, cost, totals)
        if potentials is not None:
            yield totals, potentials
            return


def certificate(net: Network, cost: Cost, totals: IntArray) -> IntArray | None:
    """Potentials under which no unit can move at a profit, or None where there is a negative cycle.

    Bellman-Ford over both directions of every arc at its exact marginal cost. A pass extends shortest
    paths by two arcs, and these visit a total once, so their number is bounded.
    """
    up, down = totals < net.upper, totals > net.lower
    rise = cost.layer_slope(totals // cost.multiplicity)[up]
    fall = cost.layer_slope((totals - 1) // cost.multiplicity)[down]
    potentials = np.zeros(len(net.totals), dtype=np.int64)
    for _ in range(net.depth + 2):
        net.look_at_the_clock()
        before = potentials.copy()
        np.minimum.at(potentials, net.head[up], potentials[net.tail[up]] + rise)
        np.minimum.at(potentials, net.tail[down], potentials[net.head[down]] - fall)
        if np.array_equal(before, potentials):
            return potentials
    return None


def optimal_face(net: Network, cost: Cost, totals: IntArray, potentials: IntArray) -> Network:
    """Bounds between which every table costs as little as `totals` (complementary slackness)."""
    net.look_at_the_clock()
    start, end = cost.level(potentials[net.head] - potentials[net.tail], totals)
    lower, upper = (np.clip(bound, net.lower, net.upper) for bound in (start, end))
    return replace(net, lower=lower, upper=upper)


def narrowest(net: Network, goal: Target) -> tuple[Network, int]:
    """Bound all cells by |X - U| <= t for the smallest t that admits a table; also count the flows.

    An infeasible t comes with a set of totals whose records do not fit between the bounds (a minimum
    cut). The smallest t at which they fit is the next candidate: t rises through proved lower bounds only.
    """

    def within(t: int) -> Network:
        net.look_at_the_clock()
        lower, upper = goal.within(t, net.upper)
        return replace(net, lower=lower, upper=upper)

    def each_total_fits(t: int) -> bool:
        bounded = within(t)
        most, least = bounded.spare(bounded.lower), bounded.spare(bounded.upper)
        return bool((bounded.lower <= bounded.upper).all() and (least <= 0).all() and (most >= 0).all())

    ample = goal.ample(net.upper)
    t = _first(goal.closed, ample, each_total_fits)
    for rounds in range(1, _ROUNDS + 1):
        bounded = within(t)
        supply, capacity = bounded.spare(bounded.lower) * net.side, bounded.upper - bounded.lower
        inside = blocking_cut(net.tail, net.head, capacity, supply, net.deadline)
        if inside is None:
            return bounded, rounds
        out, back = inside[net.tail] & ~inside[net.head], inside[net.head] & ~inside[net.tail]
        surplus = int((net.totals * net.side)[inside].sum())

        def cut_fits(t: int, out: BoolArray = out, back: BoolArray = back, surplus: int = surplus) -> bool:
            bounded = within(t)
            return _sum(bounded.upper[out]) - _sum(bounded.lower[back]) >= surplus

        t = _first(t + 1, ample, cut_fits)
    raise AegisError(f"no least bound found by {_ROUNDS} flows; use engine='cp-sat'")


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Smallest number in low..high at which a monotone condition holds; at `high` it holds or never does."""
    if low > high or not holds(high):
        raise InfeasibleProblem(NO_WHOLE_TABLE)
    while low < high:  # beyond 64 bits, too, where `bisect` ends
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _sum(counts: IntArray) -> int:
    """Sum of counts from 0, beyond 64 bits, too."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())


def _cheapest_totals(net: Network, arcs: Segments) -> IntArray:
    """Totals of least cost between the network's bounds, where each cell's cost consists of `arcs`."""
    net.look_at_the_clock()
    capacity = arcs.end - arcs.start
    tail, head = net.tail[arcs.cell], net.head[arcs.cell]
    most = max(float(np.bincount(node, capacity).max(initial=0.0)) for node in (tail, head))
    if most > _LARGEST_SUM:
        raise InvalidOption(
            f"the cells of one total may hold {most:.3g} records together, which leaves the 64-bit "
            "numbers of the minimum-cost flow; use solver='convex' without a rounding"
        )
    flow = cheapest_flow(
        tail,
        head,
        capacity,
        arcs.slope,
        net.spare(net.lower) * net.side,
        net.deadline,
    )
    if flow is None:
        raise InfeasibleProblem(NO_WHOLE_TABLE)
    totals: IntArray = net.lower + np.bincount(arcs.cell, flow, len(net.lower)).astype(np.int64)
    return totals


def _fractional_optimum(net: Network, cost: Cost) -> IntArray:
    """Approximate the fractional l2 optimum, rounded down: the place to lay exact arcs around first.

    It has the form U + a(tail) + b(head), clipped to the bounds; Newton steps on a and b in turn make it
    meet one side and the other.
    """
    prior, m = cost.numerator / cost.scale, cost.multiplicity
    low, high = net.lower / m, net.upper / m
    n_nodes = len(net.totals)
    shift = np.zeros(n_nodes)
    cells = low * m
    for _ in range(_SWEEPS):
        net.look_at_the_clock()
        before = shift.copy()
        for node, side in ((net.tail, 1), (net.head, -1)):
            free = prior + shift[net.tail] + shift[net.head]
            cells = np.clip(free, low, high) * m
            moving = np.bincount(node, np.where((low <= free) & (free <= high), m, 0), n_nodes)
            width = np.where(moving > 0, moving, np.maximum(np.bincount(node, m, n_nodes), 1))
            shift += np.where(net.side == side, net.totals - np.bincount(node, cells, n_nodes), 0) / width
        if np.abs(shift - before).max() < 1.0:
            break
    return np.floor(cells).astype(np.int64)


def _random_table(net: Network, totals: IntArray, rng: np.random.Generator) -> IntArray:
    """Pick one table between the bounds at random.

    The range of each cell is cut into chunks with increasing random costs. Like a random cost for every
    row, that shares a tie among classes, where one cost per cell would leave it all to one of them.
    """
    cell = np.flatnonzero(net.upper > net.lower)
    if len(cell) == 0:
        return totals
    width = (net.upper - net.lower)[cell, None]
    cuts = net.lower[cell, None] + width * np.arange(_CHUNKS + 1) // _CHUNKS
    costs = np.sort(rng.integers(0, 2**20, size=(len(cell), _CHUNKS)), axis=1)
    row, piece = np.nonzero(cuts[:, 1:] > cuts[:, :-1])
    return _cheapest_totals(
        net, Segments(cell[row], cuts[row, piece], cuts[row, piece + 1], costs[row, piece])
    )
