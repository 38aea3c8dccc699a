"""The distribution of drawn tables: all tables listed where they are few, two starts compared where not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from rounding_cases import ODD_TRIANGLES, inner_point, max_entropy, random_case, whole_tables
from scipy import stats
from scipy.special import gammaln

from aegis_opt.errors import RoundingImpossible
from aegis_opt.problem import LinearConstraint, Problem, View
from aegis_opt.rounding import round_table
from aegis_opt.rounding._drawn import draw_tables

LEVEL = 1e-4  # of each statistical test here; the seeds are fixed
COPIES = 4000


def positive(problem: Problem, truth: np.ndarray, seed: int) -> np.ndarray:
    """A table that meets the totals, far from the one of greatest entropy and positive everywhere."""
    return inner_point(problem, truth, seed, vertices=6)


def one_view(k: int, histogram: bool) -> tuple[Problem, np.ndarray]:
    truth = np.array([[2, 1, 1], [0, 2, 1], [1, 0, 2]])[:, :k]
    problem = Problem.from_table(truth, [0, 0, 0], histogram=histogram)
    return problem, positive(problem, truth, 3)


def several_classes() -> tuple[Problem, np.ndarray]:
    """Two views of which neither tells the totals of all three classes, but together they do."""
    truth = np.array([[2, 1], [1, 2], [1, 2], [2, 1], [1, 1]])
    problem = Problem.from_table(truth, [[0, 0, 1, 1, 1], [0, 0, 0, 0, 1]])
    return problem, positive(problem, truth, 1)


def closed_six_cycle() -> tuple[Problem, np.ndarray]:
    """Closed cells leave no two rows and two labels to swap, only a cycle over three of each."""
    table = np.array([[1.2, 0.8, 0.0], [0.0, 1.2, 0.8], [0.8, 0.0, 1.2]])
    return Problem([View([0, 0, 0], [[2, 2, 2]])], histogram=[2, 2, 2]), table


def two_overlapping(histogram: bool) -> tuple[Problem, np.ndarray]:
    """Two views that leave the totals of their four classes open."""
    truth = np.array([[1, 1], [1, 0], [0, 2], [2, 1], [1, 1]])
    problem = Problem.from_table(truth, [[0, 0, 1, 1, 1], [0, 1, 0, 1, 1]], histogram=histogram)
    return problem, positive(problem, truth, 2)


def three_overlapping() -> tuple[Problem, np.ndarray]:
    """Three views of which each cell is in three totals: no network."""
    truth = np.array([[1], [2], [1], [0], [2], [1], [1], [1]])
    halves = [[int(b) for b in np.binary_repr(i, 3)] for i in range(8)]
    problem = Problem.from_table(truth, [list(h) for h in zip(*halves, strict=True)], histogram=False)
    return problem, positive(problem, truth, 5)


def masked_label() -> tuple[Problem, np.ndarray]:
    truth = np.array([[1, 1, 1], [0, 2, 1], [1, 0, 1]])
    problem = Problem.from_table(truth, [0, 0, 0], label_groups=[0, 0, 1])
    return problem, positive(problem, truth, 4)


LISTED: dict[str, Callable[[], tuple[Problem, np.ndarray]]] = {
    "2 labels": lambda: one_view(2, True),
    "3 labels": lambda: one_view(3, True),
    "3 labels, no histogram": lambda: one_view(3, False),
    "classes known by subtraction": several_classes,
    "closed cells": closed_six_cycle,
    "two overlapping views": lambda: two_overlapping(True),
    "two overlapping views, no histogram": lambda: two_overlapping(False),
    "three overlapping views": three_overlapping,
    "masked label": masked_label,
}


@pytest.mark.parametrize("case", LISTED)
def test_tables_are_as_frequent_as_independent_poisson_cells_make_them(case: str) -> None:
    problem, mean = LISTED[case]()
    most = np.min([margin.totals[margin.rows][:, margin.columns] for margin in problem.margins], axis=0)
    tables = np.array(whole_tables(problem, np.zeros(most.shape), np.where(mean > 0, most, 0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(tables > 0, tables * np.log(mean), 0.0) - gammaln(tables + 1)
    chance = np.exp(logs.sum(axis=(1, 2)))
    chance /= chance.sum()
    assert len(tables) > 2
    drawn = draw_tables(problem, mean, COPIES, np.random.default_rng(0))
    place = {table.tobytes(): i for i, table in enumerate(tables)}
    counts = np.bincount([place[table.tobytes()] for table in drawn], minlength=len(tables))
    rare = chance * COPIES < 5
    expected = np.append(chance[~rare], chance[rare].sum()) * COPIES
    observed = np.append(counts[~rare], counts[rare].sum())
    kept = expected > 0
    assert stats.chisquare(observed[kept], expected[kept]).pvalue > LEVEL
