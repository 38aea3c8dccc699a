"""Solvers by name: the built-in ones, and those of other packages, found by entry point."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from typing import Any, Literal, TypedDict, Unpack

from aegis_opt._options import instance
from aegis_opt._plugins import load, offers
from aegis_opt.distances import Distance, NormName
from aegis_opt.errors import AegisError, InvalidOption, UnknownSolver
from aegis_opt.problem._misfit import Misfit
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding import RoundingName
from aegis_opt.solvers.base import Capabilities, OnConflict, Reconstructor
from aegis_opt.solvers.reconstruction import Reconstruction

__all__ = [
    "GROUP",
    "OwnOptions",
    "SolverName",
    "SolverOptions",
    "Solvers",
    "available_solvers",
    "get_reconstructor",
    "reconstruct",
    "solver_class",
]

GROUP = "aegis_opt.solvers"

SolverName = Literal["ipf", "convex", "integer", "smooth", "auto", "sampling"]
"""The solvers of this package. `get_reconstructor` takes any name, also of a solver of another package."""

_BUILT_IN: dict[SolverName, str] = {
    "ipf": "aegis_opt.solvers.ipf:IPF",
    "convex": "aegis_opt.solvers.convex:Convex",
    "integer": "aegis_opt.solvers.integer:Integer",
    "smooth": "aegis_opt.solvers.smooth:Smooth",
    "auto": "aegis_opt.solvers.smooth:Auto",
    "sampling": "aegis_opt.solvers.sampling:Sampling",
}


class Solvers(Mapping[str, Capabilities]):
    """Names of solvers, each with its capabilities; a solver is imported when they are looked up."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)

    def __getitem__(self, name: str) -> Capabilities:
        return solver_class(name).capabilities

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Solvers({', '.join(self._names)})"


def available_solvers() -> Solvers:
    """All solvers, built in and installed: iterate for names, look up a name for its capabilities.

    Examples
    --------
    >>> solvers = available_solvers()
    >>> "ipf" in solvers, solvers["integer"].integer
    (True, True)
    """
    return Solvers(list(dict.fromkeys([*_BUILT_IN, *offers(GROUP)])))


def solver_class(name: str) -> type[Reconstructor]:
    """Return the class of the solver `name`, importing it on first use."""
    found: object
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        found, origin = getattr(import_module(module), attribute), f"solver {name!r}"
    elif name in offers(GROUP):
        found, origin = load("solver", offers(GROUP)[name])
    else:
        hint = f"A package adds one with an entry point in the group {GROUP!r}."
        raise UnknownSolver("solver", name, available_solvers(), hint)
    if not (isinstance(found, type) and issubclass(found, Reconstructor)):
        raise AegisError(f"{origin} is no subclass of aegis_opt.solvers.base.Reconstructor: {found!r}")
    return found


def get_reconstructor(solver: str | Reconstructor = "ipf", **options: Any) -> Reconstructor:
    """Configure a solver.

    Parameters
    ----------
    solver : str
        One of `available_solvers()`.
    **options
        The solver's own options (`norm`, `engine`, `tolerance`, ...) and the common ones: `rounding`,
        `seed`, `on_conflict`. An option that the solver does not have is an error.

    Examples
    --------
    >>> get_reconstructor("ipf", rounding="controlled", seed=7).seed
    7
    """
    if isinstance(solver, Reconstructor):
        if options:
            raise InvalidOption(f"the solver is configured already; set {', '.join(options)} there")
        return solver
    kind = solver_class(instance("solver", solver, str, f"one of {', '.join(available_solvers())}"))
    known = [field.name for field in fields(kind) if field.init]
    for option in options:
        if option not in known:
            raise InvalidOption(f"solver {solver!r} has no option {option!r}; it has: {', '.join(known)}")
    return kind(**options)


class OwnOptions(TypedDict, total=False):
    """The options of the solvers of this package, for type checkers; each solver has some of them."""

    norm: NormName | Distance
    on_conflict: OnConflict
    engine: str | None
    tolerance: float | None
    time_limit: float | None
    max_iterations: int
    accelerate: bool
    tie_break: Literal["l2", "none"]
    order: int | tuple[int, ...]
    weights: tuple[float, ...] | None
    entropy: float
    positions: Literal["values", "ranks"]
    misfit: Misfit | None


class SolverOptions(OwnOptions, total=False):
    """The same with the options that all solvers have."""

    rounding: RoundingName | None
    seed: int


def reconstruct(
    problem: Problem, solver: SolverName | Reconstructor = "ipf", **options: Unpack[SolverOptions]
) -> Reconstruction:
    """Reconstruct the joint table of an attribute and the label from what is known about it.

    Parameters
    ----------
    problem : Problem
        Views, histogram, prior.
    solver : str or Reconstructor
        One of `available_solvers()`. Type checkers know the names of this package and their options; for one
        of another package, give them ``get_reconstructor(name, ...)``.
    **options
        As in `get_reconstructor`.

    Returns
    -------
    Reconstruction
        The table with its status, objective, residual and timings.

    Raises
    ------
    InfeasibleProblem
        Where no table meets the totals (unless `on_conflict` says otherwise).

    Examples
    --------
    >>> from aegis_opt.problem import Problem
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> reconstruct(problem).table.round(2).tolist()
    [[2.25, 0.75], [0.75, 0.25], [0.0, 2.0]]
    """
    if not isinstance(problem, Problem):
        raise InvalidOption(f"reconstruct takes a Problem, not {type(problem).__name__}")
    result = get_reconstructor(solver, **options).reconstruct(problem)
    if result.warning:
        warnings.warn(result.warning, stacklevel=2)
    return result
