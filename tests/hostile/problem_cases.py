"""Problems of every kind and size, against answers that share no code with the library."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from families import family
from random_problems import (
    ACCURACY,
    MODELLED,
    FloatArray,
    Known,
    Wishes,
    contradicted,
    random_groups,
    random_known,
)
from scipy.optimize import linprog

import aegis_opt as ao
from aegis_opt.analysis import optimal_range
from aegis_opt.distances import NORMS, get_distance
from aegis_opt.errors import InfeasibleProblem, InvalidOption, RoundingImpossible
from aegis_opt.problem import Problem, View
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.integer import Integer
from aegis_opt.solvers.ipf import IPF
from aegis_opt.solvers.reconstruction import Status

MET = (Status.OPTIMAL, Status.FEASIBLE, Status.TIME_LIMIT)
PLAIN = Wishes(constraints=False)


def options_for(rng: np.random.Generator, known: Known, whole: bool) -> dict[str, Any]:
    """A solver that takes the problem."""
    solvers: list[dict[str, Any]] = [{"solver": "convex", "norm": norm} for norm in NORMS]
    if known.constraints:  # engines give up where a prior is a million times too large for a cell
        solvers = [options for options in solvers if options["norm"] != "neyman"]
    else:
        solvers += [{"solver": "ipf"}] * 3
        solvers += [{"solver": "ipf", "norm": norm} for norm in NORMS if IPF.takes(get_distance(norm))]
        if whole and len(known.views) == 1 and known.views[0][2].shape[1] == known.shape[1]:
            solvers += [{"solver": "sampling"}]
    if whole:
        able = [norm for norm in NORMS if Integer.takes(get_distance(norm))]
        solvers += [{"solver": "integer", "norm": norm, "time_limit": 2.0} for norm in able]
    return solvers[rng.integers(len(solvers))]


def too_many_costs(options: dict[str, Any], known: Known) -> bool:
    """Whether a solver may refuse totals: costs of many records in whole numbers, where CP-SAT has to do."""
    most = {"l1": np.inf, "linf": np.inf, "l2": 1e7}
    return options["solver"] == "integer" and known.records > most.get(options["norm"], 1e3)


@family(seconds=0.04)
def feasible_totals_are_met(seed: int) -> None:
    """Whole and fractional totals of 1e-3 to 1e14 records that some table meets are met, by every solver."""
    rng = np.random.default_rng(seed)
    whole = bool(rng.random() < 0.5)
    known, truth = random_known(rng, Wishes(whole=whole))
    options = options_for(rng, known, whole)
    try:
        result = ao.reconstruct(known.problem(), **options)
    except InvalidOption:
        if not too_many_costs(options, known):
            raise
        return
    found = known.violation(result.table)
    assert abs(found - result.residual) <= 1e-3 * known.tolerance + 1e-6 * found, (found, result.residual)
    if options["solver"] == "sampling":
        assert Known(known.shape, known.views).violation(result.table) == 0
    else:
        assert result.status in MET, (options, result, known)
        assert found <= known.tolerance, (options, result, known)
    if options["solver"] in ("integer", "sampling"):
        assert (result.table == np.round(result.table)).all()
    assert not result.changes
    assert known.violation(truth) <= known.tolerance  # the generator's own promise


@family(seconds=0.06)
def fractional_totals_of_three_views_are_met(seed: int) -> None:
    """Three views and the histogram of an 8 x 3 table of 1e7 to 1e14 fractional records are met."""
    rng = np.random.default_rng(seed)
    records = 10 ** rng.uniform(7, 14)
    truth = records * rng.dirichlet(np.ones(24)).reshape(8, 3)
    problem = Problem.from_table(truth, [random_groups(rng, 8) for _ in range(3)])
    for options in ({"solver": "ipf"}, {"solver": "convex", "norm": NORMS[seed % len(NORMS)]}):
        result = ao.reconstruct(problem, **options)
        assert result.status in MET, (options, result)


@family(seconds=0.15)
def contradictions_are_found_and_repaired(seed: int) -> None:
    """Totals are called infeasible where an independent linear program says so, and repaired by the least."""
    rng = np.random.default_rng(seed)
    whole = bool(rng.random() < 0.5)
    known, _ = random_known(rng, Wishes(whole=whole, constraints=bool(rng.random() < 0.3)))
    known = contradicted(rng, known, whole)
    problem = known.problem()
    least = known.least_changes()
    options = options_for(rng, known, whole)
    if options["solver"] == "sampling":
        options = {"solver": "ipf"}
    contradictory = least > 1e-6 * known.records
    try:
        result = ao.reconstruct(problem, **options)
    except InvalidOption:
        if not too_many_costs(options, known):
            raise
        return
    except InfeasibleProblem as error:
        text = str(error)
    else:
        text = ""
        assert not contradictory or result.status is Status.NOT_CONVERGED, (least, options, result)
    if text:
        whole_only = "no whole one" in text
        assert contradictory or least > 0.1 * known.tolerance or whole_only, (least, text)
        assert "Least repair" in text or whole_only, text
    if not contradictory:
        return
    for how in ("repair", "relax"):
        try:
            repaired = ao.reconstruct(problem, **options, on_conflict=how)
        except (InfeasibleProblem, InvalidOption):  # a repair can be fractional
            if options["solver"] != "integer":
                raise
            continue
        assert repaired.status in (Status.REPAIRED, Status.NOT_CONVERGED), (how, repaired)
        assert repaired.changes
        assert repaired.repaired is not None
        assert not repaired.optimal
        A, b = known.equations()
        changed = np.concatenate([margin.totals.ravel() for margin in repaired.repaired.margins])
        if repaired.status is Status.REPAIRED:
            assert np.abs(A @ np.asarray(repaired.table).ravel() - changed).max() <= known.tolerance
        size = np.abs(changed - b).sum() if how == "repair" else float(((changed - b) ** 2).sum())
        best = least if how == "repair" else known.least_squares()
        floor = known.records * 1e-6 if how == "repair" else (known.records * 1e-5) ** 2
        assert size <= best * (1 + 1e-3) + floor, (how, size, best)


@family(seconds=0.075)
def convex_tables_are_closest(seed: int) -> None:
    """The distance of `convex` and `ipf` is the least one of a model of the full problem."""
    rng = np.random.default_rng(seed)
    known, _ = random_known(rng, Wishes())
    norm = MODELLED[rng.integers(len(MODELLED))]
    use_ipf = norm == "kl" and not known.constraints and rng.random() < 0.5
    options = {"solver": "ipf"} if use_ipf else {"solver": "convex", "norm": norm}
    result = ao.reconstruct(known.problem(), **options)
    best = known.least_distance(norm)
    size = max(best, known.records, float(known.start.sum()))
    slack = ACCURACY[norm] * size
    assert result.objective <= best + slack, (options, result.objective, best)
    if result.optimal:
        assert result.objective >= best - slack, (options, result.objective, best)


@family(seconds=0.06)
def ties_do_not_lose_the_optimum(seed: int) -> None:
    """With extra constraints, breaking ties in l1 and linf keeps the distance found first."""
    rng = np.random.default_rng(seed)
    known, _ = random_known(rng, Wishes(least=10, most=1e4, rows=6, labels=3))
    norm = ("l1", "linf")[seed % 2]
    result = ao.reconstruct(known.problem(), solver="convex", norm=norm)
    first = ao.reconstruct(known.problem(), solver="convex", norm=norm, tie_break="none")
    assert result.objective <= first.objective * (1 + 1e-6) + 1e-6, (result.objective, first.objective)
    l2 = [float(np.linalg.norm(np.asarray(found.table) - known.start)) for found in (result, first)]
    assert l2[0] <= l2[1] * (1 + 1e-5) + 1e-5, l2


@family(seconds=0.08)
def integer_tables_are_optimal(seed: int) -> None:
    """The whole table of `integer` is the closest one, by scipy's integer programs on the full problem."""
    rng = np.random.default_rng(seed)
    norm = ("l1", "l2", "linf")[seed % 3]
    most = 12 if norm == "l2" else 60
    known, _ = random_known(rng, Wishes(whole=True, least=1, most=most, rows=4, labels=3))
    result = ao.reconstruct(known.problem(), solver="integer", norm=norm, time_limit=20.0, seed=seed)
    best = known.least_whole_distance(norm)
    assert best is not None
    assert known.violation(result.table) <= 1e-9
    assert (result.table == np.round(result.table)).all()
    assert result.objective >= best - 1e-6 * max(best, 1.0), (norm, result.objective, best)
    if result.optimal:
        assert result.objective <= best + 1e-6 * max(best, 1.0), (norm, result.objective, best)
    else:
        assert result.status is Status.TIME_LIMIT, result


@family(seconds=0.15)
def integer_tables_of_many_records(seed: int) -> None:
    """Whole tables of up to 1e14 records are whole, exact, and as close as the fractional optimum allows."""
    rng = np.random.default_rng(seed)
    norm = ("l1", "l2", "linf")[seed % 3]
    if seed % 4 == 3:
        long_columns_of_many_records(rng, norm)
        return
    known, _ = random_known(rng, Wishes(whole=True, least=1e3, views=2, constraints=False, rows=5, labels=3))
    try:
        result = ao.reconstruct(known.problem(), solver="integer", norm=norm, time_limit=2.0, seed=seed)
    except InvalidOption:  # squares of many records, where only CP-SAT would do
        if norm != "l2" or known.records < 1e7:
            raise
        return
    assert (result.table == np.round(result.table)).all()
    assert known.violation(result.table) == 0
    relaxed = known.least_distance(norm)
    slack = 1e-6 * max(known.records, float(known.start.sum()))
    assert result.objective >= relaxed - slack, (norm, result.objective, relaxed)
    if result.optimal:
        cells = known.shape[0] * known.shape[1]
        assert result.objective <= relaxed + cells + slack, (norm, result.objective, relaxed)


def long_columns_of_many_records(rng: np.random.Generator, norm: str) -> None:
    """The same with up to 1e5 rows in one to three views of few groups: records x cells leave 64 bits.

    Rows of the same groups share their records evenly in a fractional optimum, found by a program over their
    sums; one of l2 is known for one view only.
    """
    n, k = int(10 ** rng.uniform(2, 5)), int(rng.integers(2, 4))
    views = 1 if norm == "l2" else int(rng.integers(1, 4))
    groups = rng.integers(0, rng.integers(1, 4), size=(views, n))
    groups[:, : groups.max() + 1] = np.arange(groups.max() + 1)  # every group has a row
    patterns, pattern, size = np.unique(groups, axis=1, return_inverse=True, return_counts=True)
    pattern, kinds = pattern.ravel(), len(size)
    records = 10 ** rng.uniform(9, 15.9)
    truth = np.floor(records * rng.dirichlet(np.full(kinds * k, 0.3))).reshape(kinds, k)
    truth[0, 0] += 1
    joints = [np.stack([truth[view == g].sum(axis=0) for g in range(view.max() + 1)]) for view in patterns]
    problem = Problem([View(*known) for known in zip(groups, joints, strict=True)])
    result = ao.reconstruct(problem, solver="integer", norm=norm, time_limit=5.0)
    table = np.asarray(result.table)
    assert (table == np.round(table)).all()
    sums = np.stack([np.bincount(pattern, column, kinds) for column in table.T], axis=1)
    for view, joint in zip(patterns, joints, strict=True):
        found = np.stack([sums[view == g].sum(axis=0) for g in range(len(joint))])
        assert np.array_equal(found, joint), (found, joint)
    relaxed = least_of_sums(patterns, joints, size, norm)
    slack = 1e-6 * truth.sum()
    assert result.objective >= relaxed - slack, (norm, result.objective, relaxed)
    if result.optimal:
        assert result.objective <= relaxed + n * k + slack, (norm, result.objective, relaxed)


def least_of_sums(
    patterns: npt.NDArray[np.int64], joints: list[FloatArray], size: npt.NDArray[np.int64], norm: str
) -> float:
    """Least distance to the uniform prior, where `size` rows share each of the sums that make the joints."""
    kinds, k = len(size), joints[0].shape[1]
    total = joints[0].sum()
    rows, prior = np.repeat(size, k), 1.0 / (size.sum() * k)  # in shares of all records
    if norm == "l2":
        return float(
            total * np.sqrt((rows * ((joints[0] / total / size[:, None]).ravel() - prior) ** 2).sum())
        )
    A = [
        np.kron(view == g, np.eye(k))
        for view, joint in zip(patterns, joints, strict=True)
        for g in range(len(joint))
    ]
    cells, right = kinds * k, np.concatenate([joint.ravel() for joint in joints]) / total
    off = np.eye(cells) if norm == "l1" else rows[:, None].astype(float)  # of sums: |T - m u| <= off
    G = np.block([[np.eye(cells), -off], [-np.eye(cells), -off]])
    h = np.concatenate([rows * prior, -rows * prior])
    cost = np.concatenate([np.zeros(cells), np.ones(off.shape[1])])
    equations = np.hstack([np.concatenate(A), np.zeros((len(right), off.shape[1]))])
    found = linprog(cost, G, h, equations, right)
    assert found.status == 0, found.message
    return float(total * found.fun)


@family(seconds=0.05)
def order_and_unit_do_not_matter(seed: int) -> None:
    """Other orders of rows, labels and views, and another unit of the counts, give the same table."""
    rng = np.random.default_rng(seed)
    known, _ = random_known(rng, replace(PLAIN, least=1.0, most=1e9))
    n, k = known.shape
    rows, labels, unit = rng.permutation(n), rng.permutation(k), float(2.0 ** rng.integers(-8, 9))
    views = []
    for groups, masked, joint in known.views:
        columns = np.arange(k) if masked is None else np.array(masked)
        views.append((np.array(groups)[rows].tolist(), columns[labels].tolist(), joint * unit))
    other = Known(
        known.shape,
        views[::-1],
        None if known.histogram is None else known.histogram[rows] * unit,
        None if known.prior is None else known.prior[rows][:, labels] * unit,
    )
    norm = ("kl", "l2", "ipf")[seed % 3]
    options = {"solver": "ipf"} if norm == "ipf" else {"solver": "convex", "norm": norm}
    one, two = (ao.reconstruct(each.problem(), **options) for each in (known, other))
    if one.optimal and two.optimal:
        error = np.abs(np.asarray(one.table)[rows][:, labels] * unit - two.table).max()
        assert error <= 2e-4 * known.records * unit, (options, error)  # a gap of 1e-6 allows its square root
    scale = max(known.records, float(known.start.sum())) * unit
    assert abs(one.objective * unit - two.objective) <= 1e-5 * scale, (one.objective * unit, two.objective)


@family(seconds=0.03)
def roundings_keep_their_promises(seed: int) -> None:
    """Rounded tables are whole, and keep totals, floors and ceilings, and statuses as promised."""
    rng = np.random.default_rng(seed)
    known, _ = random_known(rng, Wishes(whole=True, constraints=bool(rng.random() < 0.2)))
    name = list(ROUNDINGS)[rng.integers(len(ROUNDINGS))]
    options = {"solver": "convex", "norm": "l2"} if known.constraints else {"solver": "ipf"}
    plain = ao.reconstruct(known.problem(), **options)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "rounding 'nearest' meets every total", UserWarning)
            result = ao.reconstruct(known.problem(), **options, rounding=name, seed=seed)
    except RoundingImpossible:
        assert name in ("controlled", "hypergeometric", "nearest", "drawn")
        assert name == "nearest" or len(known.views) > 1 or known.constraints
        return
    except InvalidOption:  # another prior than the uniform one
        assert name == "hypergeometric"
        assert known.prior is not None
        return
    rounded, table = np.asarray(result.table), np.asarray(plain.table)
    assert (rounded == np.round(rounded)).all()
    assert (rounded >= 0).all()
    violation = known.violation(rounded)
    assert abs(violation - result.residual) <= 1e-9 * max(violation, 1.0)
    assert (result.status in MET) == (violation <= known.tolerance), (name, result, violation)
    assert not result.optimal
    if ROUNDINGS[name].keeps_totals:
        assert violation <= (known.tolerance if known.constraints else 0.0), (name, violation)
    if name in ("independent", "largest-remainder", "controlled"):
        assert np.abs(rounded - table).max() < 1 + 1e-6 + 1e-12 * known.records, name


@family(seconds=0.03)
def repaired_tables_are_rounded_to_repaired_totals(seed: int) -> None:
    """A rounding after a repair keeps the repaired totals, and nothing repaired is called optimal."""
    rng = np.random.default_rng(seed)
    whole = bool(rng.random() < 0.7)
    known, _ = random_known(rng, Wishes(whole=whole, constraints=False, views=2, priors=False))
    known = contradicted(rng, known, whole)
    name = list(ROUNDINGS)[rng.integers(len(ROUNDINGS))]
    how = ("repair", "relax")[seed % 2]
    contradictory = known.least_changes() > 1e-6 * known.records
    try:
        result = ao.reconstruct(known.problem(), solver="ipf", rounding=name, on_conflict=how, seed=seed)
    except (RoundingImpossible, InvalidOption):
        return
    if not contradictory:
        return
    assert result.changes
    assert not result.optimal
    assert result.repaired is not None
    missed = max(
        float(np.abs(m.sums(np.asarray(result.table)) - m.totals).max()) for m in result.repaired.margins
    )
    if ROUNDINGS[name].keeps_totals:
        assert missed == 0
        assert result.status is Status.REPAIRED
    else:
        records = float(result.repaired.views[0].joint.sum())  # a repair may change how many there are
        enough = max(1e-6 * min(1.0, records), 1e-12 * records)
        assert (result.status is Status.REPAIRED) == (missed <= enough), (name, missed, result)
    assert abs(known.violation(result.table) - result.residual) <= 1e-6 * max(result.residual, 1e-6)


@family(seconds=0.1)
def optimal_ranges_hold_every_optimal_table(seed: int) -> None:
    """`optimal_range` lies within the range over all tables, and holds the tables of every engine."""
    rng = np.random.default_rng(seed)
    known, _ = random_known(rng, Wishes(rows=3, labels=2, views=2))
    norm = ("l1", "linf")[seed % 2]
    problem = known.problem()
    low, high = optimal_range(problem, norm)
    slack = 1e-6 * max(known.records, float(known.start.sum()))
    assert (low <= high + slack).all()
    for tie_break in ("l2", "none"):
        table = np.asarray(ao.reconstruct(problem, solver="convex", norm=norm, tie_break=tie_break).table)
        assert (low - slack <= table).all(), (low, table)
        assert (table <= high + slack).all(), (table, high)
    cell = int(rng.integers(low.size))
    least, most = known.cell_range(cell)
    assert least - slack <= low.flat[cell]
    assert high.flat[cell] <= most + slack
