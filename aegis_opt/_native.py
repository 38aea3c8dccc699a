"""Libraries whose loading Ctrl-C would break: each is loaded whole, and Ctrl-C is heard after that.

The C++ parts of these libraries run Python code while they are loaded. There a `KeyboardInterrupt` becomes
an `ImportError`, or ends the process at once. cvxpy takes an engine that raises `ImportError` for one that
is not installed, and the interrupt is lost. So these libraries are imported from here, in functions::

    from aegis_opt._native import duckdb
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cvxpy as cvxpy
    import duckdb as duckdb
    import highspy as highspy
    from ortools.graph.python import max_flow as max_flow
    from ortools.graph.python import min_cost_flow as min_cost_flow
    from ortools.sat.python import cp_model as cp_model

_PLACES = {
    "cp_model": "ortools.sat.python.cp_model",
    "cvxpy": "cvxpy",
    "duckdb": "duckdb",
    "highspy": "highspy",
    "max_flow": "ortools.graph.python.max_flow",
    "min_cost_flow": "ortools.graph.python.min_cost_flow",
}
_ENGINES = ("highspy", "clarabel", "osqp", "scs")  # of cvxpy, which depends on them and loads them


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "cvxpy":  # itself in Python, and a second or more to load: too long to hold Ctrl-C back
        with ctrl_c_after():
            for engine in _ENGINES:
                import_module(engine)
        module = import_module(name)
    else:
        with ctrl_c_after():
            module = import_module(_PLACES[name])
    globals()[name] = module
    return module


def cp_sat_solver() -> Any:
    """Return a CP-SAT that leaves Ctrl-C to Python.

    Its own handler swallows it, or waits for itself, and when the solver has ended it leaves the process
    without any: the next Ctrl-C kills it.
    """
    from aegis_opt._native import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.catch_sigint_signal = False
    return solver


@contextmanager
def ctrl_c_after() -> Iterator[None]:
    """Do short work that Ctrl-C must not interrupt; what it does is done when the work has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C does nothing, or ends the process, or is heard by the main thread only
        return
    pressed: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda *pressing: pressed.append(pressing))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(*pressed[0])
