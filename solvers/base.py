"""The one interface of every solver: a problem in, a self-certified reconstruction out."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from aegis_opt._options import instance, one_of, seed_number
from aegis_opt.distances import NORMS, Distance, get_distance
from aegis_opt.distances._registry import unchecked_distance
from aegis_opt.errors import AegisError, InfeasibleProblem, InvalidOption
from aegis_opt.problem._conflict import Reconciled, check, contradicts_itself, reconcile
from aegis_opt.problem._consistency import missed, tolerance
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._misfit import Misfit, misfit_of
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding import ROUNDINGS, round_table
from aegis_opt.rounding._base import check_rounding
from aegis_opt.solvers.reconstruction import Reconstruction, Status

__all__ = ["Capabilities", "Minimiser", "OnConflict", "Reconstructor", "Solution"]

OnConflict = Literal["raise", "repair", "relax"]

_LEAST_TO_ROUND = 1.0
"""Seconds that a rounding has, however late the solver ended."""


@dataclass(frozen=True)
class Capabilities:
    """What a solver can do; the chooser, the documentation and the contract tests read it.

    Attributes
    ----------
    norms : tuple of str
        Names of the distances to the prior that it minimises, among those of this package; empty where it
        minimises none. `Reconstructor.takes` tells for any distance.
    integer : bool
        Whether its tables hold whole numbers.
    keeps_totals : bool
        Whether its tables meet every total.
    random : bool
        Whether its tables depend on the seed.
    several_views, masked_label, constraints, noise : bool
        Whether it takes overlapping views, views of a masked label, further linear constraints, noisy views.
    """

    norms: tuple[str, ...]
    integer: bool = False
    keeps_totals: bool = True
    random: bool = False
    several_views: bool = True
    masked_label: bool = True
    constraints: bool = False
    noise: bool = False


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver hands back: a table and what it can say about it.

    `distance` is what it minimised, where that is not the solver's own; `choice` and `held_out` say what a
    solver with a choice chose and why, and `warning` what the caller should know. `misfit` is what was
    minimised where a view is noisy. See `Reconstruction`.
    """

    table: FloatArray
    method: str
    iterations: int = 0
    proved: bool = False
    gap: float | None = None
    timed_out: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    distance: Distance | None = None
    choice: str = ""
    held_out: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""
    misfit: Misfit = "likelihood"


@dataclass(frozen=True, kw_only=True)
class Reconstructor(ABC):
    """A configured solver. Subclasses are frozen dataclasses whose fields are their options.

    Parameters
    ----------
    rounding : str, optional
        How a fractional table becomes whole numbers; see `aegis_opt.rounding`. Solvers whose tables are
        whole refuse it. It has what the solver leaves of its `time_limit`, but at least a second.
    seed : int
        Where randomness is used, the same seed gives the same table.
    on_conflict : {"raise", "repair", "relax"}
        What to do when the totals contradict each other; see `aegis_opt.problem._conflict.reconcile`.
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    implied_norm: ClassVar[str | None] = None
    """The norm that the solver's name stands for, so that a comparison need not write it."""

    rounding: str | None = None
    seed: int = 0
    on_conflict: OnConflict = "raise"

    def __post_init__(self) -> None:
        if self.rounding is not None:
            check_rounding(self.rounding)
            if self.capabilities.integer:
                raise InvalidOption(f"tables of solver {self.name!r} are whole already: leave rounding out")
        seed_number("seed", self.seed)
        one_of("on_conflict", self.on_conflict, get_args(OnConflict))

    @property
    @abstractmethod
    def distance_norm(self) -> str:
        """The name of the distance in which `objective` is reported."""

    @property
    def distance(self) -> Distance:
        """The distance in which `objective` is reported."""
        return get_distance(self.distance_norm)

    @classmethod
    def takes(cls, distance: Distance) -> bool:
        """Whether this solver minimises a distance."""
        return distance.name in cls.capabilities.norms

    @abstractmethod
    def solve(self, problem: Problem) -> Solution:
        """Return a table for a problem whose totals agree; raise `InfeasibleProblem` where there is none."""

    def solve_many(self, problems: Sequence[Problem]) -> list[Solution]:
        """Solve several problems; a solver overrides this where solving them together is cheaper."""
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
        for problem in problems:
            instance("problem", problem, Problem, "pose one with aegis_opt.Problem")
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
        if self.on_conflict == "raise":
            check(problem)
        elif forced or contradicts_itself(problem):
            return reconcile(problem, self.on_conflict)
        return Reconciled(problem, ())

    def _refuse(self, problem: Problem) -> None:
        """Reject what this solver cannot take, instead of ignoring it."""
        able = self.capabilities
        if problem.constraints and not able.constraints:
            raise InvalidOption(
                f"solver {self.name!r} takes no extra linear constraints; use solver='convex', or "
                "solver='integer' with engine='cp-sat'"
            )
        if len(problem.views) > 1 and not able.several_views:
            raise InvalidOption(f"solver {self.name!r} takes one view, not {len(problem.views)}; use 'ipf'")
        if problem.noisy and not able.noise:
            raise InvalidOption(
                f"solver {self.name!r} takes no noisy views; those that do: 'ipf' (the most likely table), "
                "'convex', 'integer'"
            )
        k = problem.shape[1]
        if not able.masked_label and any(view.joint.shape[1] != k for view in problem.views):
            raise InvalidOption(f"solver {self.name!r} takes no masked label; use 'ipf'")

    def certify_rounded(
        self, problem: Problem, reconstruction: Reconstruction, table: npt.ArrayLike
    ) -> Reconstruction:
        """Judge a table that was rounded, by this solver's `rounding`, after the reconstruction was made.

        Parameters
        ----------
        problem : Problem
            The problem as it was given.
        reconstruction : Reconstruction
            What was rounded. Where its totals were repaired, the status is judged by the repaired ones.
        table : array_like, shape (n, k)
            The rounded table.

        Returns
        -------
        Reconstruction
            With the rounded table and its own status, residual and objective. Nothing is proved about the
            distance of a rounded table: `optimal` is False and `gap` None. `seconds` are carried over.

        Examples
        --------
        >>> from aegis_opt.solvers.ipf import IPF
        >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
        >>> solved = IPF().reconstruct(problem)
        >>> rounded = IPF(rounding="independent").certify_rounded(problem, solved, [[2, 1], [1, 1], [0, 2]])
        >>> rounded.status.name, rounded.residual
        ('VIOLATED', 1.0)
        """
        agreed = Reconciled(reconstruction.repaired or problem, reconstruction.changes)
        timed_out = reconstruction.status is Status.TIME_LIMIT
        norm = reconstruction.norm
        X = np.asarray(table, dtype=np.float64)
        if agreed.problem.noisy:
            value = misfit_of(agreed.problem, X, "l2" if norm == "l2" else "likelihood")
        else:
            distance = self.distance if norm == self.distance_norm else get_distance(norm)
            value = distance.for_problem(agreed.problem).value(X, agreed.problem.prior)
        evidence = self._judge(problem, agreed, X, value, timed_out=timed_out)
        return replace(reconstruction, **evidence, gap=None)

    def _certify(
        self, problem: Problem, agreed: Reconciled, solution: Solution, solve_seconds: float
    ) -> Reconstruction:
        """Round where asked, then judge the table by the problem's own data."""
        table, proved, gap = solution.table, solution.proved, solution.gap
        seconds = {"solve": solve_seconds} | solution.seconds
        if self.rounding is not None:
            start = time.perf_counter()
            limit: float | None = getattr(self, "time_limit", None)  # an option that most solvers have
            left = None if limit is None else max(limit - solve_seconds, _LEAST_TO_ROUND)
            table = round_table(agreed.problem, table, self.rounding, seed=self.seed, time_limit=left)
            proved, gap = False, None
            seconds["round"] = time.perf_counter() - start
        start = time.perf_counter()
        if agreed.problem.noisy:
            norm: str = solution.misfit
            value = misfit_of(agreed.problem, table, solution.misfit)
        else:
            distance = (solution.distance or self.distance).for_problem(agreed.problem)
            norm, value = distance.name, distance.value(table, agreed.problem.prior)
        evidence = self._judge(problem, agreed, table, value, proved=proved, timed_out=solution.timed_out)
        seconds["check"] = time.perf_counter() - start
        if evidence["status"] in (Status.NOT_CONVERGED, Status.VIOLATED):
            gap = None  # a bound on the distance says nothing about a table that misses totals
        return Reconstruction(
            **evidence,
            norm=norm,
            method=solution.method,
            iterations=solution.iterations,
            seconds=seconds,
            gap=gap,
            changes=agreed.changes,
            repaired=agreed.problem if agreed.changes else None,
            choice=solution.choice,
            held_out=solution.held_out,
            warning=solution.warning,
            problem=problem,
        )

    def _judge(
        self,
        problem: Problem,
        agreed: Reconciled,
        table: FloatArray,
        objective: float,
        *,
        proved: bool = False,
        timed_out: bool = False,
    ) -> dict[str, Any]:
        """Compute the fields of a `Reconstruction` that speak about its table from the table alone."""
        residual = problem.residual(table)
        keeps = self.capabilities.keeps_totals
        if self.rounding is not None:
            keeps = keeps and ROUNDINGS[self.rounding].keeps_totals
        if missed(agreed.problem, table) > tolerance(agreed.problem):
            status = Status.NOT_CONVERGED if keeps else Status.VIOLATED
        elif agreed.changes:
            status = Status.REPAIRED
        elif timed_out:
            status = Status.TIME_LIMIT
        else:
            status = Status.OPTIMAL if proved else Status.FEASIBLE
        return {
            "table": problem.labelled(table),
            "status": status,
            "objective": objective,
            "residual": residual,
            "optimal": status is Status.OPTIMAL,
        }


@dataclass(frozen=True, kw_only=True)
class Minimiser(Reconstructor):
    """A solver with a choice of distances: those that `takes` accepts, by what they tell about themselves.

    Parameters
    ----------
    norm : str or Distance
        The distance to the prior: a name ("l1", "lp=1.5") or an object; see `aegis_opt.distances`.
    """

    norm: str | Distance = "l2"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.takes(self.distance):
            raise InvalidOption(
                f"solver {self.name!r} cannot minimise the norm {self.distance.name!r}; solvers that can: "
                f"{', '.join(solvers_for(self.distance)) or 'none'}. Solver {self.name!r} minimises: "
                f"{', '.join(self.capabilities.norms)}"
            )

    @property
    def distance(self) -> Distance:
        """The distance that is minimised."""
        return get_distance(self.norm)

    @property
    def distance_norm(self) -> str:
        """The name of the distance that is minimised."""
        return self.distance.name

    @classmethod
    @abstractmethod
    def takes(cls, distance: Distance) -> bool:
        """Whether this solver minimises a distance, judged by its flags."""


def norms_where(takes: Callable[[Distance], bool]) -> tuple[str, ...]:
    """Names of this package's distances that a solver takes."""
    return tuple(name for name in NORMS if takes(unchecked_distance(name)))  # a check would load scipy


def solvers_for(distance: Distance) -> Iterator[str]:
    """Yield the names of the solvers that minimise a distance."""
    from aegis_opt.solvers.registry import available_solvers, solver_class

    for name in available_solvers():
        try:
            kind = solver_class(name)
        except AegisError:  # a broken plugin is no way out
            continue
        if kind.takes(distance):
            yield name
