"""Flows through networks by OR-Tools, which holds Python's lock: large ones run in a child process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt._child import in_child
from aegis_opt.errors import AegisError

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

LARGEST_HERE = 700_000
"""Arcs up to which a flow runs in this process: it takes about half a second."""


def cheapest_flow(
    tail: IntArray,
    head: IntArray,
    capacity: IntArray,
    cost: IntArray,
    supply: IntArray,
    deadline: float = math.inf,
) -> IntArray | None:
    """Flow of least cost on each arc, or None where no flow meets the supplies.

    `cost` is that of a unit on the arc; `supply` is what each node sends out, negative where it takes in.
    `TimeoutError` is raised at the deadline, in seconds of `time.monotonic`.

    Examples
    --------
    >>> arcs = np.array([[0, 0, 1], [2, 3, 3]])
    >>> cheapest_flow(*arcs, np.array([5, 5, 5]), np.array([1, 4, 1]), np.array([3, 1, -2, -2])).tolist()
    [2, 1, 1]
    """
    flow: IntArray | None = _run(_cheapest_flow, deadline, tail, head, capacity, cost, supply)
    return flow


def blocking_cut(
    tail: IntArray, head: IntArray, capacity: IntArray, supply: IntArray, deadline: float = math.inf
) -> BoolArray | None:
    """Nodes on the source side of a minimum cut that no flow of the supplies passes; None where one does.

    Examples
    --------
    >>> blocking_cut(np.array([0, 1]), np.array([2, 2]), np.array([1, 5]), np.array([3, 1, -4])).tolist()
    [True, False, False]
    """
    inside: BoolArray | None = _run(_blocking_cut, deadline, tail, head, capacity, supply)
    return inside


def _run(work: Callable[..., Any], deadline: float, *arguments: npt.NDArray[Any]) -> Any:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    if len(arguments[0]) <= LARGEST_HERE:
        return work(*arguments)
    return in_child(work, *arguments, seconds=None if left == math.inf else left)


def _cheapest_flow(
    tail: IntArray, head: IntArray, capacity: IntArray, cost: IntArray, supply: IntArray
) -> IntArray | None:
    from aegis_opt._native import min_cost_flow

    solver = min_cost_flow.SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(tail, head, capacity, cost)
    solver.set_nodes_supplies(np.arange(len(supply)), supply)
    status = solver.solve()
    if status in (solver.INFEASIBLE, solver.UNBALANCED):
        return None
    if status != solver.OPTIMAL:
        raise AegisError(
            f"the minimum-cost flow failed ({status.name}); use solver='integer' with engine='cp-sat'"
        )
    flow: IntArray = solver.flows(arcs)
    return flow


def _blocking_cut(tail: IntArray, head: IntArray, capacity: IntArray, supply: IntArray) -> BoolArray | None:
    from aegis_opt._native import max_flow

    nodes, sends = np.arange(len(supply)), supply > 0
    source, sink = len(nodes), len(nodes) + 1
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(
        np.concatenate([tail, np.where(sends, source, nodes)]),
        np.concatenate([head, np.where(sends, nodes, sink)]),
        np.concatenate([capacity, np.abs(supply)]),
    )
    status = solver.solve(source, sink)
    if status != solver.OPTIMAL:
        raise AegisError(f"the maximum flow failed ({status.name}); use engine='cp-sat'")
    if solver.optimal_flow() == supply[sends].sum():
        return None
    inside = np.zeros(len(nodes) + 2, dtype=bool)
    inside[solver.get_source_side_min_cut()] = True
    return inside[: len(nodes)]
