"""The one interface of every backend: a problem in, a self-certified reconstruction out."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from aegis_opt.distances import distance
from aegis_opt.errors import InfeasibleProblem, InvalidOption
from aegis_opt.problem._conflict import Reconciled, check, reconcile
from aegis_opt.problem._consistency import tolerance
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding import ROUNDINGS, round_table
from aegis_opt.solvers.reconstruction import Reconstruction, Status

__all__ = ["Capabilities", "OnConflict", "Reconstructor", "Solution"]

OnConflict = Literal["raise", "repair", "relax"]


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do; the chooser, the documentation and the contract tests read it.

    Attributes
    ----------
    norms : tuple of str
        Distances to the prior that it minimises; empty where it minimises none.
    integer : bool
        Whether its tables hold whole numbers.
    keeps_totals : bool
        Whether its tables meet every total.
    random : bool
        Whether its tables depend on the seed.
    several_views, masked_label, constraints : bool
        Whether it takes overlapping views, views of a masked label, further linear constraints.
    """

    norms: tuple[str, ...]
    integer: bool = False
    keeps_totals: bool = True
    random: bool = False
    several_views: bool = True
    masked_label: bool = True
    constraints: bool = False


@dataclass(frozen=True, eq=False)
class Solution:
    """What a backend hands back: a table and what it can say about it."""

    table: FloatArray
    method: str
    iterations: int = 0
    proved: bool = False
    gap: float | None = None
    timed_out: bool = False
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Reconstructor(ABC):
    """A configured backend. Subclasses are frozen dataclasses whose fields are their options.

    Parameters
    ----------
    rounding : str, optional
        How a fractional table becomes whole numbers; see `aegis_opt.rounding`. Backends whose tables are
        whole refuse it.
    seed : int
        Where randomness is used, the same seed gives the same table.
    on_conflict : {"raise", "repair", "relax"}
        What to do when the totals contradict each other; see `aegis_opt.problem._conflict.reconcile`.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    rounding: str | None = None
    seed: int = 0
    on_conflict: OnConflict = "raise"

    def __post_init__(self) -> None:
        if self.rounding is not None and self.rounding not in ROUNDINGS:
            raise InvalidOption(f"unknown rounding {self.rounding!r}; known: {', '.join(ROUNDINGS)}")
        if self.rounding is not None and self.capabilities.integer:
            raise InvalidOption(f"tables of solver {self.name!r} are whole already: leave rounding out")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise InvalidOption(f"seed must be a whole number from 0 up, not {self.seed!r}")
        if self.on_conflict not in ("raise", "repair", "relax"):
            raise InvalidOption(f"on_conflict must be 'raise', 'repair' or 'relax', not {self.on_conflict!r}")

    @property
    @abstractmethod
    def distance_norm(self) -> str:
        """The norm in which `objective` is reported."""

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """Return a table for a problem whose totals agree; raise `InfeasibleProblem` where there is none."""

    def solve_many(self, problems: Sequence[Problem]) -> list[Solution]:
        """Solve several problems; a backend overrides this where solving them together is cheaper."""
        return [self.solve(problem) for problem in problems]

    @property
    def is_random(self) -> bool:
        """Whether the table depends on the seed."""
        rounding = ROUNDINGS[self.rounding].random if self.rounding is not None else False
        return self.capabilities.random or rounding

    def reconstruct(self, problem: Problem) -> Reconstruction:
        """Reconstruct one table; see `aegis_opt.reconstruct`."""
        return self.reconstruct_many([problem])[0]

    def reconstruct_many(self, problems: Sequence[Problem]) -> list[Reconstruction]:
        """Reconstruct several tables at once, with the same options for each."""
        agreed = [self._agree(problem) for problem in problems]
        start = time.perf_counter()
        try:
            solutions = self.solve_many([one.problem for one in agreed])
        except InfeasibleProblem:  # a conflict among three or more margins, which only solving shows
            if self.on_conflict == "raise":
                raise
            agreed = [self._agree(problem, forced=True) for problem in problems]
            solutions = self.solve_many([one.problem for one in agreed])
        share = (time.perf_counter() - start) / max(len(problems), 1)
        return [
            self._certify(problem, one, solution, share)
            for problem, one, solution in zip(problems, agreed, solutions, strict=True)
        ]

    def _agree(self, problem: Problem, *, forced: bool = False) -> Reconciled:
        """The problem itself where its totals agree; else what `on_conflict` asks for."""
        self._refuse(problem)
        try:
            check(problem)
        except InfeasibleProblem:
            if self.on_conflict == "raise":
                raise
            forced = True
        if forced and self.on_conflict != "raise":
            return reconcile(problem, self.on_conflict)
        return Reconciled(problem, ())

    def _refuse(self, problem: Problem) -> None:
        """Reject what this backend cannot take, instead of ignoring it."""
        able = self.capabilities
        if problem.constraints and not able.constraints:
            raise InvalidOption(
                f"solver {self.name!r} takes no extra linear constraints; use solver='convex', or "
                "solver='integer' with engine='cp-sat'"
            )
        if len(problem.views) > 1 and not able.several_views:
            raise InvalidOption(f"solver {self.name!r} takes one view, not {len(problem.views)}; use 'ipf'")
        k = problem.shape[1]
        if not able.masked_label and any(view.joint.shape[1] != k for view in problem.views):
            raise InvalidOption(f"solver {self.name!r} takes no masked label; use 'ipf'")

    def _certify(
        self, problem: Problem, agreed: Reconciled, solution: Solution, solve_seconds: float
    ) -> Reconstruction:
        """Round where asked, then judge the table by the problem's own data."""
        table = solution.table
        seconds = {"solve": solve_seconds} | solution.seconds
        if self.rounding is not None:
            start = time.perf_counter()
            table = round_table(agreed.problem, table, self.rounding, seed=self.seed)
            seconds["round"] = time.perf_counter() - start
        start = time.perf_counter()
        residual = problem.residual(table)
        objective = distance(table, agreed.problem.prior, self.distance_norm)
        seconds["check"] = time.perf_counter() - start
        status = self._judge(agreed, table, solution)
        return Reconstruction(
            table=problem.labelled(table),
            status=status,
            objective=objective,
            residual=residual,
            norm=self.distance_norm,
            method=solution.method,
            iterations=solution.iterations,
            seconds=seconds,
            optimal=status is Status.OPTIMAL,
            gap=None if self.rounding is not None else solution.gap,
            changes=agreed.changes,
        )

    def _judge(self, agreed: Reconciled, table: FloatArray, solution: Solution) -> Status:
        keeps = self.capabilities.keeps_totals
        if self.rounding is not None:
            keeps = keeps and ROUNDINGS[self.rounding].keeps_totals
        if agreed.problem.residual(table) > tolerance(agreed.problem):
            return Status.NOT_CONVERGED if keeps else Status.VIOLATED
        if agreed.changes:
            return Status.REPAIRED
        if solution.timed_out:
            return Status.TIME_LIMIT
        return Status.OPTIMAL if solution.proved and self.rounding is None else Status.FEASIBLE
