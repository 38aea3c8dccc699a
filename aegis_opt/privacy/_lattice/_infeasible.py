"""Why no configuration satisfies the rules, and how much suppression would let one."""

from __future__ import annotations

import itertools
import math

import numpy as np

from aegis_opt.errors import InfeasibleSearch
from aegis_opt.privacy._lattice._partitions import Partitions
from aegis_opt.privacy._lattice._task import Task
from aegis_opt.privacy._lattice._violations import Point, Violations

_MOST_TRIED = 200  # configurations


def infeasible(task: Task) -> InfeasibleSearch:
    """Describe what blocks: attributes whose coarsest candidate leaves values apart, and their groups."""
    space, options = task.space, task.options
    n = space.rows.n_records
    point, records, all_tried = _least_suppressed(task)
    names = [space.names[i] for i in space.quasi]
    apart = [
        (name, own.n_groups(candidate))
        for name, own, candidate in zip(names, options.partitions, point, strict=True)
        if own.n_groups(candidate) > 1
    ]
    blocking = [name for name, _ in apart if _frees(task, point, names.index(name))]
    if not blocking:
        blocking = [name for name, _ in apart]
    groups = dict(apart)
    named = ", ".join(f"{name!r} ({groups[name]} masked values at its coarsest)" for name in blocking[:5])
    least = records / n
    rules = " and ".join(str(rule) for rule in task.rules)
    text = f"{space.description}: no configuration satisfies {rules} with suppression {task.suppression:g}"
    if named:
        text += f"; what blocks is {named}: add Suppress() to its candidates"
    at_most = "" if all_tried else "at most "
    text += (
        f", or raise suppression: {at_most}{_rounded_up(least):g} is needed ({records:,} of {n:,} records "
        "lie in classes that violate at the coarsest)"
    )
    return InfeasibleSearch(text, least_suppression=least, blocking=tuple(blocking))


def _rounded_up(share: float) -> float:
    """Return a share with four digits that is not less."""
    return min(1.0, math.ceil(share * 10_000) / 10_000)


def _least_suppressed(task: Task) -> tuple[Point, int, bool]:
    """Find the configuration with the fewest records to suppress, among those that nothing coarsens."""
    ways = []
    for own in task.options.partitions:
        finer = np.array([own.finer(a) for a in range(own.n_candidates)])  # [a, b]: b refines a
        strictly = finer.T & ~finer  # [a, b]: a refines b, and not the other way round
        ways.append([int(a) for a in np.flatnonzero(~strictly.any(axis=1))])
    tried = list(itertools.islice(itertools.product(*ways), _MOST_TRIED))
    found = [(task.everything.suppressed(point), point) for point in tried]
    records, point = min(found)
    complete = math.prod(map(len, ways)) == len(tried) and task.others is None
    return point, records, complete


def _frees(task: Task, point: Point, attribute: int) -> bool:
    """Whether suppressing one attribute would be enough."""
    tested = task.everything
    one = Partitions([np.zeros(len(task.options.partitions[attribute].groups[0]), dtype=np.int64)])
    partitions = [one if i == attribute else own for i, own in enumerate(task.options.partitions)]
    changed = Violations(tested.rows, partitions, task.rules, task.limit, task.seed, task.space.order)
    return not changed.exact((*point[:attribute], 0, *point[attribute + 1 :]))
