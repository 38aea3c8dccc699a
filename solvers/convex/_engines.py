"""Engines of the convex solver: what each can solve, which package brings it, how its options are called.

The table is looked up without importing cvxpy, so that a wrong engine is refused at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

from aegis_opt.distances import Distance
from aegis_opt.distances._base import ProgramKind
from aegis_opt.errors import InvalidOption, MissingDependency

# Measured on a 21,648 x 2 column in 50 groups and on stacks of 10 to 700 small problems: HiGHS and Clarabel
# take about the same time for l1, HiGHS half of Clarabel's for linf; OSQP is as fast as Clarabel for l2 but
# misses the optimum in the fifth digit, HiGHS needs 60 times longer; SCS needs minutes for kl.
DEFAULT_ENGINE: Mapping[ProgramKind, str] = MappingProxyType(
    {"linear": "HIGHS", "quadratic": "CLARABEL", "conic": "CLARABEL"}
)


@dataclass(frozen=True)
class ConvexEngine:
    """An engine that cvxpy can call."""

    package: str  # the import package that brings it
    kinds: tuple[ProgramKind, ...]  # programs that it solves
    time_limit: str | None = None  # its option for seconds after which it stops with the best table so far
    tolerance: tuple[str, ...] = ()  # its options for the accuracy that it stops at
    options: Mapping[str, Any] = field(default_factory=dict)  # what it is always given
    holds_lock: bool = False  # whether Python's other threads wait while it works
    install: str | None = None  # what pip installs, where that is not `package`

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        return find_spec(self.package) is not None


_LP: tuple[ProgramKind, ...] = ("linear",)
_QP: tuple[ProgramKind, ...] = ("linear", "quadratic")
_ALL: tuple[ProgramKind, ...] = ("linear", "quadratic", "conic")

ENGINES: Mapping[str, ConvexEngine] = MappingProxyType(
    {
        "CLARABEL": ConvexEngine(
            "clarabel",
            _ALL,
            "time_limit",
            ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
            {"accept_unknown": True},  # a stalled iterate is polished and judged like any other
        ),
        "HIGHS": ConvexEngine(
            "highspy", _QP, "time_limit", ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        ),
        "OSQP": ConvexEngine("osqp", _QP, "time_limit", ("eps_abs", "eps_rel"), {"max_iter": 100_000}, True),
        "SCS": ConvexEngine(
            "scs", _ALL, "time_limit_secs", ("eps_abs", "eps_rel"), {"max_iters": 10_000}, holds_lock=True
        ),
        "SCIPY": ConvexEngine("scipy", _LP, options={"scipy_options": {"method": "highs"}}),
        "GLOP": ConvexEngine("ortools", _LP),
        # Without a limit, PDLP does not end on some problems without a solution.
        "PDLP": ConvexEngine("ortools", _LP, "time_limit_sec", options={"time_limit_sec": 60.0}),
        "MOSEK": ConvexEngine("mosek", _ALL, install="Mosek"),
        "GUROBI": ConvexEngine("gurobipy", _QP, "TimeLimit", ("BarConvTol",)),
        "COPT": ConvexEngine("coptpy", _QP, "TimeLimit"),
        "CPLEX": ConvexEngine("cplex", _QP),
        "XPRESS": ConvexEngine("xpress", _QP),
        "PIQP": ConvexEngine("piqp", _QP, tolerance=("eps_abs", "eps_rel")),
        "ECOS": ConvexEngine("ecos", _ALL, tolerance=("abstol", "reltol", "feastol")),
    }
)


def installed_engines(kind: ProgramKind | None = None) -> tuple[str, ...]:
    """Names of the engines that can be used here, optionally only those for one kind of program.

    Examples
    --------
    >>> "CLARABEL" in installed_engines("conic")
    True
    """
    return tuple(
        name
        for name, engine in ENGINES.items()
        if engine.installed and (kind is None or kind in engine.kinds)
    )


def choose_engine(engine: str | None, distance: Distance) -> str:
    """Name of the engine for a distance: the default, or the one asked for if known, able and installed."""
    kind, norm = distance.program, distance.name
    if engine is None:
        return DEFAULT_ENGINE[kind]
    name = str(engine).upper()
    if name not in ENGINES:
        raise InvalidOption(f"unknown engine {engine!r}; installed: {', '.join(installed_engines())}")
    found = ENGINES[name]
    fitting = f"engines for it that are installed: {', '.join(installed_engines(kind))}"
    if kind not in found.kinds:
        raise InvalidOption(f"engine {name} cannot minimise the norm {norm!r} ({kind} programs); {fitting}")
    if not found.installed:
        raise MissingDependency(
            f"engine {name} is not installed: pip install {found.install or found.package}. "
            f"For the norm {norm!r}, {fitting}"
        )
    return name


def engine_options(name: str, tolerance: float | None, time_limit: float | None) -> dict[str, Any]:
    """Options for the engine, under its own names; raises where it does not have one of them."""
    engine = ENGINES[name]
    options = dict(engine.options)
    if tolerance is not None:
        if not engine.tolerance:
            having = [n for n in installed_engines() if ENGINES[n].tolerance]
            raise InvalidOption(
                f"engine {name} has no tolerance to set; those that have: {', '.join(having)}"
            )
        options |= dict.fromkeys(engine.tolerance, tolerance)
    if time_limit is not None:
        if engine.time_limit is None:
            having = [n for n in installed_engines() if ENGINES[n].time_limit]
            raise InvalidOption(f"engine {name} has no time limit; those that have: {', '.join(having)}")
        options[engine.time_limit] = time_limit
    return options
