"""Exact integer solver: the whole-number table closest to the prior, with a proof.

Engine `flow` solves problems whose totals are two-sided (one view with or without the histogram, nested
views, two overlapping views, more of them where they are partly nested) as a convex-cost network flow, in
milliseconds; engine `cp-sat` takes everything else, at the price of a search. Both take every separable
distance that is finite at 0, and linf.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from aegis_opt._options import number, one_of
from aegis_opt.distances import Distance, Lp
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._conflict import infeasible, is_infeasible
from aegis_opt.problem._consistency import require_whole_totals, tolerance
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._misfit import Misfit
from aegis_opt.problem._presolve import Reduction
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers._noisy import require_no_misfit, require_no_norm
from aegis_opt.solvers._reduced import reduced
from aegis_opt.solvers.base import Capabilities, Minimiser, Solution, norms_where
from aegis_opt.solvers.integer._costs import IntegerSolution
from aegis_opt.solvers.integer._cp_sat import solve_cp_sat
from aegis_opt.solvers.integer._flow import obstacle, sides, solve_flow
from aegis_opt.solvers.integer._noisy import solve_noisy_integer

EngineName = Literal["auto", "flow", "cp-sat"]

_PROOF = 1e-6
"""Relative gap, left by the rounding of a given prior to 64-bit costs, up to which an optimum is proved."""


def _takes(distance: Distance) -> bool:
    return (distance.separable and distance.finite_at_zero) or distance.name == "linf"


@dataclass(frozen=True, kw_only=True)
class Integer(Minimiser):
    """The feasible whole-number table closest to the prior.

    Optimal tables are rarely unique. Among the closest ones, one closest in l2 is taken; ties that remain
    are broken by the seed, never by the order of rows, which would invent correlations.

    Parameters
    ----------
    norm : str or Distance
        Distance to the prior, by default "l2": linf without weights, or any that is separable and finite at
        0. Costs other than those of l1, l2 and linf are rounded to 64 bits; `gap` tells what that can hide.
    engine : {"auto", "flow", "cp-sat"}
        "flow" where the totals form a network (one view, nested or partly nested views, each with or
        without the histogram; two views without it), "cp-sat" for any problem, "auto" for the first that
        applies.
    time_limit : float, optional
        Seconds for the engine; the best table found by then comes back with status TIME_LIMIT and its gap.
    misfit : {"likelihood", "l2"}, optional
        What is minimised where a view is noisy, in place of the distance to the prior: minus the logarithm
        of the likelihood of its counts (the default), or the sum of squares of counts minus their mean. For
        up to 500 cells, by CP-SAT; of several best tables, the seed chooses.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> result = Integer(norm="l2").reconstruct(problem)
    >>> result.table.tolist(), result.method, result.optimal
    ([[2.0, 1.0], [1.0, 0.0], [0.0, 2.0]], 'flow', True)
    """

    name: ClassVar[str] = "integer"
    capabilities: ClassVar[Capabilities] = Capabilities(
        norms=norms_where(_takes), integer=True, random=True, constraints=True, noise=True
    )

    engine: EngineName = "auto"
    time_limit: float | None = None
    misfit: Misfit | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.misfit is not None:
            one_of("misfit", self.misfit, get_args(Misfit))
        one_of("engine", self.engine, get_args(EngineName))
        if self.time_limit is not None:
            number("time_limit", self.time_limit, above=0, unit="seconds")

    @classmethod
    def takes(cls, distance: Distance) -> bool:
        """Whether it is separable and finite at 0, or linf without weights."""
        return _takes(distance)

    def solve(self, problem: Problem) -> Solution:
        """Return the closest whole table; raise `InfeasibleProblem` where there is none."""
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        if problem.noisy:
            require_no_norm(self, "l2")
            if self.engine == "flow":
                raise InvalidOption("engine 'flow' takes no noisy views: use engine='cp-sat'")
            return solve_noisy_integer(problem, self.misfit or "likelihood", self.seed, deadline)
        require_no_misfit(self.misfit)
        require_whole_totals(problem.margins, "solver 'integer'", "solver='convex'")
        start = time.perf_counter()
        rng = np.random.default_rng(self.seed)
        distance = self.distance.for_problem(problem)
        reduction = reduced(problem, distance)
        graph = None if self.engine == "cp-sat" else sides(reduction)
        if self.engine == "flow" and graph is None:
            raise InvalidOption(
                f"engine 'flow' cannot take this problem: {obstacle(reduction)}. Use engine='cp-sat'."
            )
        built = time.perf_counter()
        try:
            if graph is not None:
                found = solve_flow(reduction, graph, distance, rng, deadline)
            else:
                found = solve_cp_sat(reduction, distance, rng, deadline)
        except TimeoutError as error:
            raise AegisError(
                f"engine {'flow' if graph is not None else 'cp-sat'!r} found no table within time_limit="
                f"{self.time_limit:g} seconds; allow more, or use solver='convex' with a rounding"
            ) from error
        except InfeasibleProblem as error:
            if not is_infeasible(problem):  # the engine's message is about whole tables
                raise
            raise infeasible(problem) from error
        solved = time.perf_counter()
        class_totals = reduction.table(found.totals.astype(np.float64))
        table = split(reduction, class_totals, rng)
        done = time.perf_counter()
        gap = _relative_gap(found, distance, distance.value(table, problem.prior), tolerance(problem))
        return Solution(
            table=table,
            method="cp-sat" if graph is None else "flow",
            iterations=found.rounds,
            proved=gap <= _PROOF and not found.timed_out,
            gap=gap,
            timed_out=found.timed_out,
            seconds={"build": built - start, "solve": solved - built, "split": done - solved},
        )


def split(reduction: Reduction, class_totals: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Divide class totals among the rows of each class, every cell by rounding T / m down or up.

    Which rows get the odd units is random. Where the histogram is known, all rows of a class have the same
    total: the odd units of one label after the other are dealt around a circle of the rows in random order,
    so every row gets equally many, no two of the same label.
    """
    class_of, m = reduction.class_of, reduction.multiplicity
    base, extra = np.divmod(class_totals.astype(np.int64), m[:, None])
    table = base[class_of].astype(np.float64)
    if reduction.problem.histogram is not None:
        labels = rng.permutation(table.shape[1])
        position = _random_positions(class_of, m, rng)
        dealt = np.cumsum(extra[:, labels], axis=1) - extra[:, labels]
        for y, start in zip(labels, dealt.T, strict=True):
            table[:, y] += (position - start[class_of]) % m[class_of] < extra[class_of, y]
    else:
        for y in np.flatnonzero(extra.any(axis=0)):
            table[:, y] += _random_positions(class_of, m, rng) < extra[class_of, y]
    return table


def _random_positions(class_of: IntArray, multiplicity: IntArray, rng: np.random.Generator) -> IntArray:
    """Number the rows of each class from 0 up, in random order."""
    shuffled = rng.permutation(len(class_of))
    keys = class_of[shuffled].astype(np.min_scalar_type(len(multiplicity)))  # narrow keys sort faster
    by_class = shuffled[np.argsort(keys, kind="stable")]
    starts = np.cumsum(multiplicity) - multiplicity
    position = np.empty_like(class_of)
    position[by_class] = np.arange(len(class_of)) - np.repeat(starts, multiplicity)
    return position


def _relative_gap(found: IntegerSolution, distance: Distance, objective: float, negligible: float) -> float:
    """Gap between the distance reached and the proved bound on it, as a share of the former.

    A negligible gap counts as proof: beside a distance of a thousandth of a record, the digits of the prior
    that leave CP-SAT's whole numbers would be no small share.
    """
    if objective == 0.0:
        return 0.0
    bound = objective - found.slack
    if isinstance(distance.base, Lp):  # the costs are p-th powers
        power = distance.base.p
        bound = max(objective**power - found.slack, 0.0) ** (1.0 / power)
    return float((objective - max(bound - found.error, 0.0)) / max(objective, negligible / _PROOF))
