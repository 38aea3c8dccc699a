"""The convex programs in cvxpy, compiled once per structure.

Each program is written in deviations from the prior, so that totals and prior appear only in right-hand
sides and bounds. These are cvxpy Parameters: a stack with the same matrix, multiplicities and weights but
other totals or another prior reuses the compiled program. Other distances are compiled anew each time: what
cvxpy needs for an exponential-cone program with vector parameters grows with the square of its size (90 s
for 20,000 cells), and without parameters compiling takes a fraction of the time of solving.

=============  =======================  =================================================================
form           deviation                program
=============  =======================  =================================================================
"l1"           t = v + p - q            min sum of w (p + q), p >= 0, 0 <= q <= v
"l2"           t = v + sqrt(m / w) d    min d'd
"linf"         t = v + m d / w          min sum of s, abs(d) <= s of its problem, s >= floor
"bounded"      t = v + sqrt(m) d        min d'd, t within given bounds: l2 among several optima
"huber"        t                        min a'a / 2 + sum of c (p + q), t = v + k a + p - q, p, q >= 0
"cells"        t                        min sum of the costs of cells, as the distance writes them
"table"        t                        min the distance of the whole table, as it writes itself
=============  =======================  =================================================================
"""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal, cast

import numpy as np

from aegis_opt._child import in_child
from aegis_opt._interrupts import interruptible
from aegis_opt.distances import Distance, Huber
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._symmetric import QUICK_FILL, largest_fill
from aegis_opt.solvers.convex._engines import ENGINES
from aegis_opt.solvers.convex._stack import Bounds, Stack, Tangent

Form = Literal["l1", "l2", "linf", "bounded", "huber", "cells", "table"]
WRITTEN = ("huber", "cells", "table")  # compiled anew each time

CACHE_SIZE = 16
LARGEST_HERE = 5_000  # cells up to which any program is solved in this process, in about a second
LARGEST_QUICK = 100_000  # cells up to which one without much overlap is, by an engine that releases the lock
SECONDS_TO_RETURN = 0.7  # seconds that an engine has after its time limit, to return what it has found
LEAST_LIMIT = 1e-3  # seconds: some engines take 0 for no limit
_FAILED = "solver_error"  # the status where an engine gave up without a solution
_MODELS: OrderedDict[tuple[str, str, str], _Program] = OrderedDict()
_LOCK = Lock()


@dataclass(frozen=True, eq=False)
class ConvexSolution:
    """What an engine returned, unjudged; `cells` is None where it returned nothing."""

    engine: str
    status: str
    cells: FloatArray | None
    multipliers: FloatArray
    iterations: int
    wall_seconds: float
    engine_seconds: float
    timed_out: bool
    tangent: Tangent | None = None  # to a distance of the whole table, at the table found


@dataclass(frozen=True, eq=False)
class _Program:
    """A compiled program, with what is needed to fill it and to read it."""

    program: Any
    totals: Any
    deviation: Callable[[], FloatArray | None]
    unit: FloatArray
    parameters: Mapping[str, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)  # parameters are filled in place: one solve at a time
    tangent: Callable[[], Tangent | None] = lambda: None


def form_of(distance: Distance) -> Form:
    """The program that minimises a distance."""
    if distance.base.name in ("l1", "l2", "linf"):
        return cast("Form", distance.base.name)
    if isinstance(distance.base, Huber):
        return "huber"
    return "cells" if distance.separable else "table"


def run(
    form: Form, data: Stack, engine: str, options: Mapping[str, Any], bounds: Bounds | None = None
) -> ConvexSolution:
    """Solve one program of a stack; the form "bounded" takes least and largest values of the cells.

    A time limit counts from here, compilation included. A program that may take longer than a second is
    compiled and solved in a child process, which is killed on Ctrl-C and `SECONDS_TO_RETURN` after the limit:
    engines look at the clock between their iterations only.
    """
    start = time.perf_counter()
    limit = options.get(ENGINES[engine].time_limit or "")
    deadline = math.inf if limit is None else time.monotonic() + limit
    if data.n_cells <= LARGEST_HERE or not (
        limit is not None or ENGINES[engine].holds_lock or _takes_long(data)
    ):
        return _run(form, data, engine, options, bounds, deadline)
    if limit is not None and limit <= LEAST_LIMIT:  # starting the process takes longer
        return _nothing(data, engine)
    question = form, data.without_problems(), engine, options, bounds, deadline
    try:
        return in_child(_run, *question, seconds=None if limit is None else limit + SECONDS_TO_RETURN)
    except TimeoutError:
        return _nothing(data, engine, time.perf_counter() - start)


def _nothing(data: Stack, engine: str, seconds: float = 0.0) -> ConvexSolution:
    """What is known of a program whose time was over before its engine had found anything."""
    nothing = np.zeros(len(data.right))
    return ConvexSolution(engine, "user_limit", None, nothing, 0, seconds, seconds, timed_out=True)


def _takes_long(data: Stack) -> bool:
    """Whether there are very many cells, or totals that overlap so that factors of the equations fill up."""
    A = data.matrix
    return data.n_cells > LARGEST_QUICK or largest_fill((A @ A.T).tocsc()) > QUICK_FILL


def _run(
    form: Form,
    data: Stack,
    engine: str,
    options: Mapping[str, Any],
    bounds: Bounds | None,
    deadline: float,
) -> ConvexSolution:
    """Compile a program and solve it until the deadline, in seconds of `time.monotonic`."""
    start = time.perf_counter()
    model = _written(data, form) if form in WRITTEN else _compiled(form, data, engine)
    with model.lock:
        _fill(model, data, bounds)
        status, engine_seconds = _solve(model.program, engine, options, deadline)
        value = None if status == _FAILED else model.deviation()  # that of what was solved before
        missing = value is None or model.totals.dual_value is None
        stats = model.program.solver_stats
        wall = time.perf_counter() - start
        return ConvexSolution(
            engine=engine,
            status=status,
            cells=None if value is None else data.prior + model.unit * value,
            multipliers=np.zeros(len(data.right)) if missing else np.array(model.totals.dual_value),
            iterations=int(getattr(stats, "num_iters", None) or 0),
            wall_seconds=wall,
            engine_seconds=engine_seconds,
            # Without a time limit, it is the limit of iterations that was met.
            timed_out=status == "user_limit" and ENGINES[engine].time_limit in options,
            tangent=None if missing else model.tangent(),
        )


def _solve(
    program: Any, engine: str, options: Mapping[str, Any], deadline: float = math.inf
) -> tuple[str, float]:
    """Status, and the seconds of the engine alone: handing over the compiled program, and solving it."""
    from aegis_opt._native import cvxpy as cp

    with warnings.catch_warnings():
        # Whether a solution is accurate, or exists at all, is judged by our own arithmetic.
        warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
        warnings.filterwarnings("ignore", r"\s*The problem is either infeasible or unbounded", UserWarning)
        try:
            # The steps of cvxpy's solve(), so that the engine can be timed alone. A warm start would make the
            # table depend on what was solved before.
            compiled, chain, inverse = program.get_problem_data(engine, solver_opts=dict(options))
            start = time.perf_counter()
            left = dict(options)
            if deadline < math.inf:
                left[ENGINES[engine].time_limit or ""] = max(deadline - time.monotonic(), LEAST_LIMIT)
            raw = interruptible(lambda: chain.solve_via_data(program, compiled, False, False, left))
            seconds = time.perf_counter() - start
            if _heard_interrupt(raw):
                raise KeyboardInterrupt
            with np.errstate(all="ignore"):  # cells that are negative by a rounding error
                program.unpack_results(raw, chain, inverse)
        except (cp.SolverError, ValueError):  # the latter: the status UNKNOWN of HiGHS
            return _FAILED, 0.0
    return str(program.status), seconds


def _heard_interrupt(raw: Any) -> bool:
    """Whether an engine that listens for Ctrl-C itself, as OSQP and SCS do, was stopped by it."""
    info = raw.get("info") if isinstance(raw, dict) else getattr(raw, "info", None)
    status = info.get("status") if isinstance(info, dict) else getattr(info, "status", None)
    return status == "interrupted"


def _compiled(form: Form, data: Stack, engine: str) -> _Program:
    key = (form, engine, _structure(data))
    with _LOCK:
        model = _MODELS.pop(key, None) or _build(form, data)
        _MODELS[key] = model
        while len(_MODELS) > CACHE_SIZE:
            _MODELS.popitem(last=False)
    return model


def _structure(data: Stack) -> str:
    """Fingerprint of everything that is not a parameter."""
    digest = hashlib.sha256()
    A = data.matrix
    for array in (A.indptr, A.indices, A.data, data.multiplicity, data.weight, data.owner):
        digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(b"|")
    return digest.hexdigest()


def _fill(model: _Program, data: Stack, bounds: Bounds | None) -> None:
    low, high = (np.zeros(data.n_cells), data.prior) if bounds is None else bounds
    values = {
        "right": data.right - data.cell_matrix @ data.prior,
        "below": (data.prior - low) / model.unit,
        "above": (high - data.prior) / model.unit,
        "lower": data.lower,
        "upper": data.upper,
        "floor": data.floor,
    }
    for name, parameter in model.parameters.items():
        parameter.value = values[name]


def _build(form: Form, data: Stack) -> _Program:
    from scipy.sparse import diags_array

    from aegis_opt._native import cvxpy as cp

    n = data.n_cells
    parameters: dict[str, Any] = {}

    def parameter(name: str, size: int) -> Any:
        parameters[name] = cp.Parameter(size)
        return parameters[name]

    units = {"l1": np.ones(n), "linf": data.spread, "l2": np.sqrt(data.spread)}
    unit = units.get(form, np.sqrt(data.multiplicity))
    A = data.cell_matrix @ diags_array(unit)
    # Bounds are constraints, not attributes of variables: cvxpy's interface to PDLP fails on the latter.
    if form == "l1":
        p, q = cp.Variable(n), cp.Variable(n)
        left = A @ p - A @ q
        objective = cp.sum(p) + cp.sum(q) if data.uniform else data.weight @ p + data.weight @ q
        constraints = [p >= 0, q >= 0, q <= parameter("below", n)]

        def deviation() -> FloatArray | None:
            return None if p.value is None else np.maximum(p.value, 0.0) - np.maximum(q.value, 0.0)

    else:
        d = cp.Variable(n)
        left = A @ d
        constraints = [d >= -parameter("below", n)]

        def deviation() -> FloatArray | None:
            return None if d.value is None else np.array(d.value)

        if form == "linf":
            s = cp.Variable(data.size)
            objective = cp.sum(s)
            E = data.membership
            constraints += [d <= E @ s, -d <= E @ s, s >= parameter("floor", data.size)]
        else:
            objective = cp.sum_squares(d)
            if form == "bounded":
                constraints.append(d <= parameter("above", n))
    left = _with_slack(left, data, constraints, parameter)
    totals = left == parameter("right", len(data.right))
    program = cp.Problem(cp.Minimize(objective), [totals, *constraints])
    return _Program(program, totals, deviation, unit, parameters)


def _written(data: Stack, form: Form) -> _Program:
    """The program of a distance that writes itself in cvxpy."""
    from aegis_opt._native import cvxpy as cp

    t = cp.Variable(data.n_cells)
    constraints: list[Any] = []
    left = data.cell_matrix @ t
    left = _with_slack(left, data, constraints, lambda name, _: getattr(data, name))
    totals = left == data.right
    if form == "huber":
        written = _huber(data, t, constraints)
    else:
        written = _cells(data, t) if form == "cells" else _whole_table(data, t) / data.unit[0]
    program = cp.Problem(cp.Minimize(written), [totals, t >= 0, *constraints])

    def deviation() -> FloatArray | None:
        return None if t.value is None else t.value - data.prior

    def tangent() -> Tangent | None:
        gradient = written.grad.get(t) if form == "table" else None
        if gradient is None:
            return None
        slopes = np.asarray(gradient.toarray() if hasattr(gradient, "toarray") else gradient).ravel()
        return Tangent(float(written.value - slopes @ t.value), slopes)

    return _Program(program, totals, deviation, np.ones(data.n_cells), tangent=tangent)


def _cells(data: Stack, t: Any) -> Any:
    """Sum of w m cost(t / m, u), in scaled units."""
    from aegis_opt._native import cvxpy as cp

    costs = data.costs
    if costs.distance.name == "kl":  # of a sum, the divergence is that of its rows
        return data.weight @ cp.kl_div(t, data.prior)
    if costs.distance.degree is not None:
        size = costs.weights * costs.rows * costs.scale**costs.distance.degree / costs.unit
        return size @ costs.distance.cell_expression(cp.multiply(1 / costs.rows, t), data.prior / costs.rows)
    per_row = cp.multiply(costs.scale / costs.rows, t)
    return (costs.weights * costs.rows / costs.unit) @ costs.distance.cell_expression(per_row, costs.prior)


def _huber(data: Stack, t: Any, constraints: list[Any]) -> Any:
    """Sum of w m times the least of a^2 / 2 + delta abs(y - a), for the difference y of a row.

    Both parts are scaled so that they are about 1, however large delta is in a problem's units.
    """
    from aegis_opt._native import cvxpy as cp

    costs = data.costs
    assert isinstance(costs.distance, Huber)
    n = data.n_cells
    size = costs.weights * costs.rows / costs.unit
    a, p, q = cp.Variable(n), cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    per_row = np.broadcast_to(costs.scale / costs.rows, n)
    constraints.append(t == data.prior + cp.multiply(1 / (per_row * np.sqrt(size)), a) + p - q)
    return cp.sum_squares(a) / 2 + (size * costs.distance.delta * per_row) @ (p + q)


def _whole_table(data: Stack, t: Any) -> Any:
    """The distance of the table, in records, that the scaled cells stand for."""
    from scipy.sparse import csr_array

    from aegis_opt._native import cvxpy as cp

    reduction = data.reductions[0]
    n, k = reduction.problem.shape
    # each row has an equal share of its class
    place = np.full(reduction.shape[0] * k, -1, dtype=np.int64)
    place[reduction.cells] = np.arange(data.n_cells)
    cell = place[(reduction.class_of[:, None] * k + np.arange(k)).ravel()]
    rows = np.flatnonzero(cell >= 0)
    share = data.scale[0] / data.multiplicity[cell[rows]]
    table = cp.reshape(csr_array((share, (rows, cell[rows])), (n * k, data.n_cells)) @ t, (n, k), order="C")
    return data.distance.expression(table, reduction.problem.prior)


def _with_slack(left: Any, data: Stack, constraints: list[Any], value: Callable[[str, int], Any]) -> Any:
    """Add the slacks of two-sided constraints to the left-hand side, and their bounds to `constraints`."""
    from aegis_opt._native import cvxpy as cp

    size = len(data.lower)
    if not size:
        return left
    z = cp.Variable(size)
    constraints += [z >= value("lower", size), z <= value("upper", size)]
    return left + data.matrix[:, data.n_cells :] @ z
