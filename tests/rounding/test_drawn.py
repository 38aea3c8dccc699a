"""The distribution of drawn tables: all tables listed where they are few, two starts compared where not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding_cases import (
    ODD_TRIANGLES,
    OUTSIDE_CEILINGS,
    OUTSIDE_CEILINGS_TABLE,
    equations,
    inner_point,
    max_entropy,
    random_case,
    whole_tables,
)
from scipy import stats
from scipy.optimize import linprog
from scipy.special import gammaln

from aegis_opt import reconstruct
from aegis_opt.errors import RoundingImpossible
from aegis_opt.measures import get_measure
from aegis_opt.problem import LinearConstraint, Problem, View
from aegis_opt.rounding import round_table, round_tables
from aegis_opt.rounding._drawn import draw_tables

LEVEL = 1e-4  # of each statistical test here; the seeds are fixed
COPIES = 4000


def positive(problem: Problem, truth: np.ndarray, seed: int) -> np.ndarray:
    """A table that meets the totals, far from the one of greatest entropy and positive everywhere."""
    return 0.5 * inner_point(problem, truth, seed, vertices=6) + 0.5 * np.asarray(reconstruct(problem).table)


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
    truth = np.array([[1, 1], [1, 1], [1, 2], [2, 1], [1, 1]])
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


def vertex(problem: Problem, mean: np.ndarray, seed: int, sign: int) -> np.ndarray:
    """The whole table that is farthest in a random direction, or in the opposite one."""
    A, b = equations(problem)
    cost = sign * np.random.default_rng(seed).normal(size=A.shape[1])
    found = linprog(cost, A_eq=A, b_eq=b, bounds=[(0, None if m > 0 else 0) for m in mean.ravel()])
    whole = np.round(found.x)
    assert np.abs(found.x - whole).max() < 1e-6
    return whole.reshape(problem.shape)


def heavy_row(seed: int) -> tuple[Problem, np.ndarray]:
    """One row has as many records as 59 others together, and chances differ a lot."""
    rng = np.random.default_rng(seed)
    records = np.append(600, np.full(59, 10))
    truth = np.array(
        [rng.multinomial(r, p) for r, p in zip(records, rng.dirichlet(np.ones(5), 60), strict=True)]
    )
    problem = Problem.from_table(truth, np.arange(60) // 30)
    return problem, positive(problem, truth, seed)


def closed_band(seed: int) -> tuple[Problem, np.ndarray]:
    """Each row has three of six labels, so that cycles over two rows and two labels are few."""
    rng = np.random.default_rng(seed)
    band = np.array([[(label - row) % 6 < 3 for label in range(6)] for row in range(24)])
    mean = np.where(band, rng.integers(1, 7, size=band.shape), 0)
    return Problem.from_table(mean, np.arange(24) // 12), mean.astype(float)


def overlapping(seed: int) -> tuple[Problem, np.ndarray]:
    """Two views that cut across each other leave the totals of their nine classes open."""
    rng = np.random.default_rng(seed)
    truth = rng.poisson(3.0, size=(24, 3))
    problem = Problem.from_table(truth, [np.arange(24) // 8, np.arange(24) % 3])
    return problem, positive(problem, truth, seed)


LONG = {"heavy row": heavy_row, "closed cells": closed_band, "overlapping views": overlapping}


@pytest.mark.parametrize("case", LONG)
def test_two_opposite_starts_lead_to_the_same_distribution(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, mean = LONG[case](7)
    found = []
    for sign in (1, -1):
        start = vertex(problem, mean, 11, sign)
        monkeypatch.setattr("aegis_opt.rounding._drawn._start", lambda *_, start=start: start)
        drawn = draw_tables(problem, mean, 150, np.random.default_rng(sign + 5))
        found.append(
            {"mi": get_measure("mi").many(list(drawn)), "along the start": (drawn * start).sum((1, 2))}
        )
    first = vertex(problem, mean, 11, 1)
    away = [abs(float(get_measure("mi").many([first])[0]) - np.median(one["mi"])) for one in found]
    assert min(away) > 5 * found[0]["mi"].std()  # the starts are far out, or agreement would say nothing
    assert stats.ks_2samp(found[0]["mi"], found[1]["mi"]).pvalue > LEVEL


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("records", [10**4, 10**12])
def test_cells_of_the_maximum_entropy_table_are_hypergeometric(k: int, records: int) -> None:
    truth = np.random.default_rng(0).multinomial(records, np.full(8 * k, 1 / (8 * k))).reshape(8, k)
    problem = Problem.from_table(truth, np.arange(8) // 4)
    mean = max_entropy(problem)
    drawn = draw_tables(problem, mean, 400, np.random.default_rng(1))
    records_of, labels = problem.histogram, problem.views[0].joint[problem.views[0].groups]
    block = labels.sum(axis=1)
    share = labels / block[:, None]
    variance = records_of[:, None] * share * (1 - share) * ((block - records_of) / (block - 1))[:, None]
    z = (drawn - mean) / np.sqrt(variance)
    assert np.abs(z.mean(axis=0)).max() < stats.norm.isf(LEVEL / 2 / mean.size) / np.sqrt(400)
    spread = (z**2).sum(axis=0)
    assert stats.chi2(400).sf(spread).min() > LEVEL / mean.size
    assert stats.chi2(400).cdf(spread).min() > LEVEL / mean.size


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_every_total_is_kept_and_closed_cells_stay_closed(seed, n, k, n_views, histogram):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(1.5, size=(n, k))
    views = [rng.integers(0, 3, n) for _ in range(n_views)]
    problem = Problem.from_table(truth, views, histogram=histogram)
    mean = 0.5 * truth + 0.5 * inner_point(problem, truth, seed, vertices=1)
    drawn = round_table(problem, mean, "drawn", seed=seed)
    assert problem.residual(drawn) == 0
    assert (drawn == np.round(drawn)).all()
    assert not drawn[mean == 0].any()


def test_tables_drawn_together_are_those_of_their_seed_and_differ() -> None:
    problem, mean, _ = random_case(12, 3, 2, 1)
    alone = round_table(problem, mean, "drawn", seed=4)
    together = round_tables(problem, mean, "drawn", seeds=[4])
    assert np.array_equal(alone, together[0])
    several = round_tables(problem, mean, "drawn", seeds=[4, 5, 6])
    assert len({table.tobytes() for table in several}) == 3
    assert all(problem.residual(table) == 0 for table in several)


def test_what_cannot_be_drawn_is_refused_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = LinearConstraint([[1, 1], [0, 0]], upper=1, name="first value")
    problem = Problem([View([0, 0], [[1, 1]])], constraints=[bound])
    with pytest.raises(RoundingImpossible, match=r"extra constraints .first value.*'nearest'"):
        round_table(problem, np.full((2, 2), 0.5), "drawn")
    with pytest.raises(RoundingImpossible, match="no table of whole numbers meets all totals"):
        round_table(ODD_TRIANGLES, np.full((6, 1), 0.5), "drawn")
    with pytest.raises(RoundingImpossible, match="records only where the fractional table has them"):
        round_table(OUTSIDE_CEILINGS, OUTSIDE_CEILINGS_TABLE, "drawn")
    monkeypatch.setattr("aegis_opt.rounding._drawn._LARGEST_CORE", 3)
    problem, mean = two_overlapping(True)
    with pytest.raises(RoundingImpossible, match=r"cells that the totals of view 0, view 1.* leave open"):
        round_table(problem, mean, "drawn")
