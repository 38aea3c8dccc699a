"""Random problems as plain arrays, with what is true of them by plain linear algebra.

Nothing here calls the library except `Known.problem`, which hands the arrays over. Equations are written cell
by cell; feasibility and optima come from scipy's linear and integer programs and from cvxpy on the full
problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import cvxpy as cp
import numpy as np
from scipy.optimize import LinearConstraint as Rows
from scipy.optimize import linprog, milp

from aegis_opt.problem import LinearConstraint, Problem, View

FloatArray = np.ndarray
MODELLED = ("l1", "l2", "linf", "lp=1.5", "kl", "chi2", "hellinger")  # distances of `least_distance`
# How well, as a share of the records. Of what an engine leaves in a cell that must be 0, the root counts.
ACCURACY = dict.fromkeys(MODELLED, 1e-5) | {"hellinger": 2e-4}
Groups = list[int]


@dataclass(frozen=True)
class Known:
    """What is known about a table: views (groups, label groups, joint), histogram, prior, constraints."""

    shape: tuple[int, int]
    views: list[tuple[Groups, Groups | None, FloatArray]]
    histogram: FloatArray | None = None
    prior: FloatArray | None = None
    constraints: list[tuple[FloatArray, float, float]] = field(default_factory=list)

    def problem(self) -> Problem:
        """The same for the library."""
        return Problem(
            [View(groups, joint, labels) for groups, labels, joint in self.views],
            self.histogram,
            self.prior,
            constraints=[LinearConstraint(c, low, high) for c, low, high in self.constraints],
        )

    @property
    def records(self) -> float:
        """Largest number of records that a margin has in all."""
        sums = [float(joint.sum()) for _, _, joint in self.views]
        return max(sums) if self.histogram is None else max(*sums, float(self.histogram.sum()))

    @property
    def start(self) -> FloatArray:
        """The prior; the uniform one where none is given."""
        uniform = np.full(self.shape, float(self.views[0][2].sum()) / np.prod(self.shape))
        return uniform if self.prior is None else self.prior

    @property
    def tolerance(self) -> float:
        """Violation below which totals count as met, as documented."""
        return max(1e-6 * min(1.0, self.records), 1e-12 * self.records)

    def equations(self) -> tuple[FloatArray, FloatArray]:
        """Matrix and right-hand side of all totals, over the cells in row-major order."""
        n, k = self.shape
        rows, right = [], []
        for groups, labels, joint in self.views:
            columns = list(range(k)) if labels is None else labels
            for g in range(joint.shape[0]):
                for c in range(joint.shape[1]):
                    row = [float(groups[a] == g and columns[y] == c) for a in range(n) for y in range(k)]
                    rows.append(row)
                    right.append(float(joint[g, c]))
        if self.histogram is not None:
            for value in range(n):
                rows.append([float(a == value) for a in range(n) for _ in range(k)])
                right.append(float(self.histogram[value]))
        return np.array(rows), np.array(right)

    def limits(self) -> tuple[FloatArray, FloatArray]:
        """The constraints and structural zeros as G x <= h."""
        size = self.shape[0] * self.shape[1]
        rows, right = [np.zeros(size)], [0.0]
        for coefficients, low, high in self.constraints:
            for sign, limit in ((1.0, high), (-1.0, -low)):
                if np.isfinite(limit):
                    rows.append(sign * coefficients.ravel())
                    right.append(limit)
        return np.array(rows), np.array(right)

    def most(self) -> FloatArray:
        """Largest value of each cell: 0 for structural zeros."""
        zeros = np.zeros(self.shape, dtype=bool) if self.prior is None else self.prior == 0
        return np.where(zeros, 0.0, np.inf).ravel()

    def violation(self, table: FloatArray) -> float:
        """Largest violation of anything known, in records."""
        A, b = self.equations()
        G, h = self.limits()
        x = np.asarray(table, dtype=float).ravel()
        above = x - self.most()
        return float(max(np.abs(A @ x - b).max(), (G @ x - h).max(), (-x).max(), above.max(), 0.0))

    def places(self) -> list[tuple[str, int, int]]:
        """The totals in the order of `equations`: margin, and row and column of its table."""
        shapes = [(f"view {i}", joint.shape) for i, (_, _, joint) in enumerate(self.views)]
        if self.histogram is not None:
            shapes.append(("histogram", (len(self.histogram), 1)))
        return [(name, g, c) for name, (rows, columns) in shapes for g in range(rows) for c in range(columns)]

    def least_changes(self, only: Collection[tuple[str, int, int]] | None = None) -> float:
        """Least sum of absolute changes of totals after which some table meets them, in records.

        `only` are the `places` of the totals that count; infinite where no table is within the limits.
        """
        A, b = self.equations()
        if only is not None:
            chosen = [place in only for place in self.places()]
            A, b = A[chosen], b[chosen]
        G, h = self.limits()
        scale = max(self.records, 1e-300) / A.shape[1]
        n_totals, n_cells = A.shape
        found = linprog(
            np.concatenate([np.zeros(n_cells), np.ones(2 * n_totals)]),
            A_eq=np.hstack([A, np.eye(n_totals), -np.eye(n_totals)]),
            b_eq=b / scale,
            A_ub=np.hstack([G, np.zeros((len(G), 2 * n_totals))]),
            b_ub=h / scale,
            bounds=[(0, most) for most in self.most()] + [(0, None)] * (2 * n_totals),
        )
        if found.status == 2 and self.constraints:
            return np.inf
        assert found.status == 0, found.message
        return float(found.fun) * scale

    def least_squares(self) -> float:
        """Least sum of squared changes of totals after which some table meets them, in records squared."""
        A, b = self.equations()
        G, h = self.limits()
        scale = max(self.records, 1e-300) / A.shape[1]
        x = cp.Variable(A.shape[1], nonneg=True)
        limits = [G @ x <= h / scale, x[self.most() == 0] == 0]
        program = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - b / scale)), limits)
        program.solve(solver=cp.CLARABEL)
        return float(program.value) * scale**2

    def least_distance(self, norm: str) -> float:
        """Least distance to the prior over all tables, by one cvxpy model of the full problem."""
        A, b = self.equations()
        G, h = self.limits()
        scale = self.records / A.shape[1]
        x, u = cp.Variable(A.shape[1], nonneg=True), self.start.ravel() / scale
        open_cells = u > 0
        y, v = x[open_cells], u[open_cells]
        objective = {
            "l1": lambda: cp.norm1(x - u),
            "l2": lambda: cp.norm2(x - u),
            "linf": lambda: cp.norm_inf(x - u),
            "lp=1.5": lambda: cp.pnorm(x - u, 1.5),
            "kl": lambda: cp.sum(cp.kl_div(y, v)),
            "chi2": lambda: cp.sum(cp.multiply(1 / v, cp.square(y - v))),
            "hellinger": lambda: cp.sum(y + v - 2 * cp.multiply(np.sqrt(v), cp.sqrt(y))),
        }[norm]()
        limits = [A @ x == b / scale, G @ x <= h / scale, x[self.most() == 0] == 0]
        program = cp.Problem(cp.Minimize(objective), limits)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            program.solve(solver=cp.CLARABEL)
        assert program.status in ("optimal", "optimal_inaccurate"), program.status
        return float(program.value) * scale

    def least_whole_distance(self, norm: str) -> float | None:
        """Least distance of a whole table, by scipy's integer programs; None where there is no whole table.

        Squares are sums of unit steps: the step from i to i + 1 costs 2 i + 1 - 2 u.
        """
        A, b = self.equations()
        G, h = self.limits()
        size, u = A.shape[1], self.start.ravel()
        top = np.minimum(self.most(), self.records)
        if norm == "l2":
            steps = [(cell, i) for cell in range(size) for i in range(int(top[cell]))]
            if not steps:
                return float(np.sqrt((u**2).sum())) if not b.any() and (h >= 0).all() else None
            pick = np.zeros((size, len(steps)))
            for column, (cell, _) in enumerate(steps):
                pick[cell, column] = 1.0
            cost = np.array([2 * i + 1 - 2 * u[cell] for cell, i in steps])
            found = milp(
                cost,
                constraints=[Rows(A @ pick, b, b), Rows(G @ pick, -np.inf, h)],
                integrality=np.ones(len(steps)),
                bounds=(0, 1),
                options={"mip_rel_gap": 0},
            )
            return None if found.x is None else float(np.sqrt(max(found.fun + (u**2).sum(), 0.0)))
        n_extra = size if norm == "l1" else 1
        spread = np.eye(size) if norm == "l1" else np.ones((size, 1))
        identity, none = np.eye(size), np.zeros((len(A), n_extra))
        found = milp(
            np.concatenate([np.zeros(size), np.ones(n_extra)]),
            constraints=[
                Rows(np.hstack([A, none]), b, b),
                Rows(np.hstack([G, np.zeros((len(G), n_extra))]), -np.inf, h),
                Rows(np.hstack([identity, -spread]), -np.inf, u),
                Rows(np.hstack([-identity, -spread]), -np.inf, -u),
            ],
            integrality=np.concatenate([np.ones(size), np.zeros(n_extra)]),
            bounds=(0, np.concatenate([top, np.full(n_extra, np.inf)])),
            options={"mip_rel_gap": 0},
        )
        return None if found.x is None else float(found.fun)

    def cell_range(self, cell: int) -> tuple[float, float]:
        """Least and largest value of a cell over all tables."""
        A, b = self.equations()
        G, h = self.limits()
        scale = max(self.records, 1e-300) / A.shape[1]
        ends = []
        for sign in (1.0, -1.0):
            cost = np.zeros(A.shape[1])
            cost[cell] = sign
            bounds = [(0, most) for most in self.most()]
            found = linprog(cost, A_eq=A, b_eq=b / scale, A_ub=G, b_ub=h / scale, bounds=bounds)
            assert found.status == 0, found.message
            ends.append(sign * float(found.fun) * scale)
        return ends[0], ends[1]


@dataclass(frozen=True)
class Wishes:
    """What a random problem may have."""

    whole: bool | None = None  # whole or fractional counts; either by default
    least: float = 1e-3  # records
    most: float = 1e14
    views: int = 3
    masked_labels: bool = True
    priors: bool = True
    constraints: bool = True
    rows: int = 7
    labels: int = 4


def random_known(rng: np.random.Generator, wishes: Wishes) -> tuple[Known, FloatArray]:
    """Draw a table and what is known about it: feasible by construction."""
    n, k = int(rng.integers(1, wishes.rows + 1)), int(rng.integers(1, wishes.labels + 1))
    whole = bool(rng.random() < 0.5) if wishes.whole is None else wishes.whole
    records = float(10 ** rng.uniform(np.log10(wishes.least), np.log10(wishes.most)))
    chances = rng.dirichlet(np.full(n * k, rng.choice([0.2, 1.0, 5.0])))
    chances[rng.random(n * k) < rng.choice([0.0, 0.3, 0.6])] = 0.0
    chances = np.full(n * k, 1 / (n * k)) if chances.sum() == 0 else chances / chances.sum()
    truth = rng.multinomial(max(int(records), 1), chances).astype(float) if whole else records * chances
    truth = truth.reshape(n, k)
    views: list[tuple[Groups, Groups | None, FloatArray]] = []
    for _ in range(int(rng.integers(1, wishes.views + 1))):
        groups = random_groups(rng, n)
        if views and rng.random() < 0.3:  # nested in the one before
            coarser = random_groups(rng, max(views[-1][0]) + 1)
            groups = [coarser[g] for g in views[-1][0]]
        labels = random_groups(rng, k) if wishes.masked_labels and rng.random() < 0.2 else None
        views.append((groups, labels, folded(truth, groups, labels)))
    known = Known((n, k), views, truth.sum(axis=1) if rng.random() < 0.6 else None)
    if wishes.priors and rng.random() < 0.5:
        prior = truth.mean() * rng.uniform(0.1, 3.0, (n, k))
        if rng.random() < 0.5:
            prior[(truth == 0) & (rng.random((n, k)) < 0.5)] = 0.0
        if prior.any():
            known = replace(known, prior=prior)
    if wishes.constraints and rng.random() < 0.3:
        coefficients = rng.integers(-2, 3, (n, k)).astype(float)
        value, room = float((coefficients * truth).sum()), float(np.ceil(truth.sum() * rng.uniform(0, 0.2)))
        bounds = [(value - room, value + room), (-np.inf, value + room), (value - room, np.inf)]
        known = replace(known, constraints=[(coefficients, *bounds[rng.integers(3)])])
    return known, truth


def random_groups(rng: np.random.Generator, size: int) -> Groups:
    """Cut 0..size-1 into groups, numbered without gaps."""
    ids = rng.integers(0, rng.integers(1, size + 1), size)
    return np.unique(ids, return_inverse=True)[1].tolist()


def folded(table: FloatArray, groups: Groups, labels: Groups | None) -> FloatArray:
    """Joint table of groups of rows and groups of labels."""
    columns = list(range(table.shape[1])) if labels is None else labels
    joint = np.zeros((max(groups) + 1, max(columns) + 1))
    for (a, y), count in np.ndenumerate(table):
        joint[groups[a], columns[y]] += count
    return joint


def contradicted(rng: np.random.Generator, known: Known, whole: bool) -> Known:
    """Change one total, by much or by little."""
    change = known.records * 10 ** rng.uniform(-5, 0)
    change = max(1.0, round(change)) if whole else change
    if known.histogram is not None and rng.random() < 0.3:
        histogram = known.histogram.copy()
        histogram[rng.integers(len(histogram))] += change
        return replace(known, histogram=histogram)
    views = list(known.views)
    i = int(rng.integers(len(views)))
    groups, labels, joint = views[i]
    joint = joint.copy()
    joint[rng.integers(joint.shape[0]), rng.integers(joint.shape[1])] += change
    if rng.random() < 0.5:  # the sum stays
        place = rng.integers(joint.shape[0]), rng.integers(joint.shape[1])
        joint[place] = max(joint[place] - change, 0.0)
    views[i] = groups, labels, joint
    return replace(known, views=views)
