"""Deviations of noise masks: estimated by refitted tables, with an interval.

Of a noise mask with the channel T, the deviation is that of the *expected* masked table T F:

    abs(rho(F) - rho(T F)),    with F the raw joint table.

Noise never improves T F (data-processing inequality), but a single draw of it may be more or less telling, so
that nothing is proved about the order of configurations.

The most likely table X of noisy counts is more telling than F by chance: the noise is taken for information,
and inverting the channel amplifies it. Fitting tables that were drawn shows by how much. For shares l from 0
to 1, X is mixed with the table of the same margins in which attribute and label are independent (as far as
the exact totals of other views allow),

    X_l = (1 - l) X + l (row sums) (label totals)' / N,

noise is drawn on X_l through the channel, and the table is fitted again. The estimate is the deviation of
the X_l whose refitted tables have, on average, the deviation of X itself (a parametric bootstrap, inverted
[1]_). The 90% interval holds the deviations of all X_l for which that of X lies between the 5% and the 95%
point of the refitted ones, and the basic bootstrap interval of X itself, for deviations above it.

References
----------
.. [1] A. C. Davison and D. V. Hinkley, Bootstrap Methods and their Application, Cambridge (1997), chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd

from aegis_opt._blas import one_blas_thread
from aegis_opt._interrupts import look_for_ctrl_c
from aegis_opt.advisor._bootstrap import normal_quantile
from aegis_opt.advisor._estimate import Estimate
from aegis_opt.advisor._question import Question
from aegis_opt.advisor._solved import SolvedTables
from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View
from aegis_opt.solvers._noisy import NoisySystem
from aegis_opt.solvers.ipf import IPF
from aegis_opt.solvers.ipf._em import fit_draws
from aegis_opt.summary import Summary
from aegis_opt.summary._noisy_tables import configuration_epsilons, noisy_attributes

LEVEL = 0.9
"""Of the intervals."""
SHARES = (0.0, 0.06, 0.15, 0.3, 0.45, 0.6, 0.72, 0.82, 0.9, 0.96, 1.0)
"""Of independence that the fitted table is mixed with."""
DRAWS = (12, 40)
"""How often noise is drawn on each mixture: less often where fitting takes long."""
_WORK = 4e9  # multiplications of all fits of one attribute together
_STEPS = 20  # of the interior-point method, about
_LEAST_PRIOR = 1e-6  # share of the records that a cell has at least, before it is scaled to exact totals
_SCALINGS = 1000
_FINE = 201  # shares at which curves are interpolated


@dataclass(frozen=True, eq=False)
class NoiseIntervals:
    """What is estimated of the noisy tables, attribute -> number of the table -> its figures."""

    found: Mapping[str, Mapping[int, TableEstimate]]
    unmasked: Mapping[str, float]  # measure of the raw table, for exact tables of the same attribute; pooled

    @classmethod
    def of(
        cls, solved: SolvedTables, question: Question, estimates: Mapping[str, Estimate], seed: int
    ) -> NoiseIntervals:
        """Refit the tables of every attribute with noise."""
        if question.solver.rounding is not None:
            raise InvalidOption(
                f"rounding={question.solver.rounding!r} makes whole tables of exact totals, and some masks "
                "add noise: leave it out; the ranking has intervals"
            )
        summary, pooled = solved.summary, question.scope == "pooled"
        found: dict[str, dict[int, TableEstimate]] = {}
        unmasked: dict[str, float] = {}
        for name in noisy_attributes(summary):
            tables, estimate = summary.attributes[name].tables, estimates[name]
            numbers = [i for i, table in enumerate(tables) if table.channel is not None]
            groups = [numbers] if pooled else [[i] for i in numbers]
            found[name] = {}
            for group in groups:
                place = 0 if pooled else group[0]
                solution = estimate.solved[place]
                problem, X = solution.repaired or estimate.problems[place], solution.values
                refitted = solved.once(
                    ("noise", problem, seed, X.tobytes()), partial(refit, problem, X, seed)
                )
                channels = [tables[i].channel for i in group]
                raw, each = _figures(question.measure, refitted, channels)  # type: ignore[arg-type]
                found[name] |= dict(zip(group, each, strict=True))
                if pooled:
                    unmasked[name] = raw
        return cls(found, unmasked)

    def applied(
        self, masked: Mapping[str, FloatArray], estimates: Mapping[str, Estimate]
    ) -> tuple[dict[str, FloatArray], dict[str, Estimate]]:
        """Put the estimates in place of what noisy counts and the most likely tables measure."""
        masked, estimates = dict(masked), dict(estimates)
        for name, tables in self.found.items():
            now, values = masked[name].copy(), estimates[name].values.copy()
            if name in self.unmasked:
                values[:] = self.unmasked[name]
            for i, table in tables.items():
                now[i], values[:, i] = table.masked, table.unmasked
            masked[name], estimates[name] = now, replace(estimates[name], values=values)
        return masked, estimates

    def ends(self, summary: Summary) -> tuple[FloatArray, FloatArray]:
        """Ends of the interval of each configuration and attribute; NaN where the table is exact."""
        shape = len(summary.configurations), len(summary.attributes)
        low, high = np.full(shape, np.nan), np.full(shape, np.nan)
        for j, name in enumerate(summary.attributes):
            for i, chosen in enumerate(summary.configurations.values()):
                table = self.found.get(name, {}).get(chosen[name])
                if table is not None:
                    low[i, j], high[i, j] = table.low, table.high
        return low, high


@dataclass(frozen=True)
class TableEstimate:
    """Of one noisy table: the measure of the raw and of the expected masked table, and their difference."""

    unmasked: float
    masked: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Refitted:
    """The fitted table, its mixtures (shares, n, k), and fits to noise on these (shares, draws, n, k)."""

    fitted: FloatArray
    mixed: FloatArray
    drawn: FloatArray


def refit(problem: Problem, fitted: FloatArray, seed: int) -> Refitted:
    """Draw noise on mixtures of the fitted table and independence, and fit again."""
    system = NoisySystem.of(problem)
    n, k = problem.shape
    X = np.maximum(fitted, 0.0)
    X = X * np.divide(
        _label_totals(problem), X.sum(axis=0), out=np.zeros(k), where=X.sum(axis=0) > 0
    )  # for solvers that are not exact
    alone = _least_telling(problem, X)
    mixed = np.stack([(1 - share) * X + share * alone for share in SHARES])
    simple = system.A is None and len(system.rows) == 1 and system.open.all()
    response = _randomised_response(system.T) if simple else None
    work = len(SHARES) * _STEPS * system.open.size * system.T.shape[1] * max(system.T.shape)
    draws = DRAWS[1] if response is not None else int(np.clip(_WORK / work, *DRAWS))
    if system.A is not None:  # whose fits take longer
        draws = DRAWS[0]
    rng = np.random.default_rng([seed, 16])
    found = np.empty((len(SHARES), draws, n, k))
    with one_blas_thread(system.T.shape[1]):
        for i, table in enumerate(mixed):
            look_for_ctrl_c()
            found[i] = _fits(problem, system, _drawn(problem, table, draws, rng), response)
    return Refitted(X, mixed, found)


def _least_telling(problem: Problem, fitted: FloatArray) -> FloatArray:
    """Table of the same row sums in which attribute and label are independent, as far as exact totals allow.

    Where histogram or exact views are known, it is scaled to them.
    """
    rows, labels = fitted.sum(axis=1), fitted.sum(axis=0)
    alone = np.outer(rows, labels) / max(float(fitted.sum()), 1e-300)
    exact = [view for view in problem.views if view.channel is None]
    if not exact and problem.histogram is None:
        return alone
    everything = np.zeros(len(rows), dtype=np.int64)
    totals = (
        []
        if exact
        else [
            View(everything, view.joint.sum(axis=0, keepdims=True), view.label_groups)
            for view in problem.noisy[:1]
        ]
    )
    prior = np.where(problem.support, alone + _LEAST_PRIOR * problem.total / alone.size, 0.0)
    known = Problem([*exact, *totals], problem.histogram, prior)
    return IPF(max_iterations=_SCALINGS).reconstruct(known).values


def _label_totals(problem: Problem) -> FloatArray:
    """Records of each label, where noisy views tell them; else those of the first view, shared evenly."""
    view = problem.noisy[0]
    size = np.bincount(view.label_groups, minlength=view.joint.shape[1])
    return np.asarray((view.joint.sum(axis=0) / np.maximum(size, 1))[view.label_groups])


def _drawn(
    problem: Problem, table: FloatArray, draws: int, rng: np.random.Generator
) -> list[list[FloatArray]]:
    """Noisy counts of every noisy view, drawn on a table: draws x views of (m, columns of the view)."""
    whole = _whole(table)
    found: list[list[FloatArray]] = []
    for _ in range(draws):
        views = []
        for view in problem.noisy:
            assert view.channel is not None
            counts = np.stack([rng.multinomial(column, view.channel.T).sum(axis=0) for column in whole.T], 1)
            merged = np.zeros(view.joint.shape)
            np.add.at(merged.T, view.label_groups, counts.T)
            views.append(merged)
        found.append(views)
    return found


def _whole(table: FloatArray) -> IntArray:
    """Round a table to whole numbers that have the same label totals."""
    floor = np.floor(table)
    missing = np.round(table.sum(axis=0) - floor.sum(axis=0)).astype(np.int64)
    order = np.argsort(np.argsort(-(table - floor), axis=0), axis=0)
    whole: IntArray = (floor + (order < missing)).astype(np.int64)
    return whole


def _fits(
    problem: Problem,
    system: NoisySystem,
    drawn: Sequence[Sequence[FloatArray]],
    response: tuple[float, float] | None,
) -> FloatArray:
    """Most likely tables of drawn counts."""
    n, k = problem.shape
    if len(system.open) == k and system.open.shape[1] == n:
        J = np.stack(
            [
                np.concatenate(
                    [joint[:, v.label_groups] for joint, v in zip(views, problem.noisy, strict=True)]
                ).T
                for views in drawn
            ]
        )  # (draws, k, M)
        if response is not None:
            cells = _filled(J.reshape(-1, J.shape[2]), *response).reshape(len(drawn), k, n)
        else:
            cells = fit_draws(system, J)
        return np.ascontiguousarray(cells.transpose(0, 2, 1))
    J = np.stack([np.concatenate([joint.ravel() for joint in views])[None] for views in drawn])
    return fit_draws(system, J).reshape(len(drawn), n, k)


def _randomised_response(T: FloatArray) -> tuple[float, float] | None:
    """The diagonal minus the other entries, and these, where they are all equal; None otherwise."""
    m, n = T.shape
    if m != n or n < 2:
        return None
    other, same = float(T[1, 0]), float(T[0, 0])
    expected = np.full((n, n), other)
    np.fill_diagonal(expected, same)
    return (same - other, other) if np.abs(T - expected).max() < 1e-12 and same > other > 0 else None


def _filled(J: FloatArray, own: float, other: float) -> FloatArray:
    """Most likely cells of randomised response, row by row: max(0, J / v - other N) / own with the sum N.

    The cells that are positive are those of the largest counts; how many follows from v for each number.
    """
    N = J.sum(axis=1, keepdims=True)
    ordered = -np.sort(-J, axis=1)
    v = np.cumsum(ordered, axis=1) / np.maximum(N * (own + other * np.arange(1, J.shape[1] + 1)), 1e-300)
    positive = np.maximum((ordered > v * other * N).sum(axis=1), 1) - 1
    chosen = np.take_along_axis(v, positive[:, None], axis=1)
    cells: FloatArray = np.maximum(0.0, J / np.maximum(chosen, 1e-300) - other * N) / own
    return cells


def _figures(
    measure: Measure, refitted: Refitted, channels: Sequence[FloatArray]
) -> tuple[float, list[TableEstimate]]:
    """Estimate the measure of the raw table, and the figures of each noisy table."""
    raw = [_measured(measure, X) for X in (refitted.fitted, refitted.mixed, refitted.drawn)]
    shares = np.linspace(0, 1, _FINE)
    unmasked = float(np.interp(shares[_nearest(float(raw[0]), raw[2])], SHARES, raw[1]))
    found = []
    for T in channels:
        hidden = [_measured(measure, T @ X) for X in (refitted.fitted, refitted.mixed, refitted.drawn)]
        deviation = [np.abs(a - b) for a, b in zip(raw, hidden, strict=True)]
        seen = float(deviation[0])
        place = _nearest(seen, deviation[2])
        point = np.interp(shares[place], SHARES, deviation[1])
        points = _ends(deviation[2])
        low5, high95 = (np.interp(shares, SHARES, line) for line in points)
        curve = np.interp(shares, SHARES, deviation[1])
        taken = curve[(low5 <= seen) & (seen <= high95)]
        ends = [*taken.tolist(), float(point), 2 * seen - points[1, 0], 2 * seen - points[0, 0]]
        low, high = max(0.0, min(ends)), max(0.0, max(ends))
        raw_here = float(np.interp(shares[place], SHARES, raw[1]))
        masked_here = float(np.interp(shares[place], SHARES, hidden[1]))
        found.append(TableEstimate(raw_here, masked_here, low, high))
    return unmasked, found


def _ends(drawn: FloatArray) -> FloatArray:
    """Ends of the interval of each row: percentiles, or those of a normal distribution where they are wider.

    The percentiles of few draws are often too narrow.
    """
    points = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], axis=1)
    mean, width = drawn.mean(axis=1), normal_quantile(LEVEL) * drawn.std(axis=1, ddof=1)
    return np.stack([np.minimum(points[0], mean - width), np.maximum(points[1], mean + width)])


def _nearest(seen: float, drawn: FloatArray) -> int:
    """Number of the share whose refitted values have the mean closest to what was seen."""
    means = np.interp(np.linspace(0, 1, _FINE), SHARES, drawn.mean(axis=1))
    return int(np.abs(means - seen).argmin())


def _measured(measure: Measure, tables: FloatArray) -> FloatArray:
    """Measure tables, with any number of leading dimensions."""
    return np.asarray(measure(tables), dtype=np.float64)


def with_epsilon(ranking: pd.DataFrame, summary: Summary) -> pd.DataFrame:
    """Add the epsilon of each configuration: the sum over its attributes with noise."""
    found = configuration_epsilons(summary)
    return ranking.assign(epsilon=[found[name] for name in ranking["configuration"]])


def warning_about_noise(summary: Summary, *, monotone: bool) -> str:
    """Say what noise leaves open."""
    names = ", ".join(map(repr, noisy_attributes(summary)[:5]))
    told = (
        "Of configurations with noise, the deviation is that of the expected masked table, pud_low and "
        "pud_high are a 90% interval, and noise never improves the expected table; a single draw may differ"
    )
    return (
        f"noise: some masks add noise to {names}, so nothing is proved about the order. "
        f"{told if monotone else 'The values are those of one draw'}. The epsilons of the summary and of "
        "what is released add up."
    )
