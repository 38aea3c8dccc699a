from __future__ import annotations

import numpy as np
import pytest
from rounding_cases import max_entropy, random_case
from scipy import stats

from aegis_opt.errors import InvalidOption, RoundingImpossible
from aegis_opt.problem import Problem
from aegis_opt.rounding import round_table


def test_a_cell_has_the_distribution_of_shuffled_labels():
    problem = Problem.from_table([[4, 2], [1, 3], [2, 0]], [0, 0, 0])
    table = max_entropy(problem)
    cells = [round_table(problem, table, "hypergeometric", seed=seed)[0, 0] for seed in range(2000)]
    counts = np.bincount(np.array(cells, dtype=int), minlength=7)
    chance = stats.hypergeom(12, 7, 6).pmf(np.arange(7))
    assert counts[chance == 0].sum() == 0
    assert stats.chisquare(counts[chance > 0], 2000 * chance[chance > 0]).pvalue > 1e-6


def test_hypergeometric_refuses_a_table_of_another_prior_and_names_the_way_out():
    problem, table, truth = random_case(8, 3, 2, 2)
    with pytest.raises(InvalidOption, match="rounding='controlled'"):
        round_table(problem, 0.5 * table + 0.5 * truth, "hypergeometric")


def test_hypergeometric_refuses_overlapping_views():
    truth = np.random.default_rng(0).poisson(2.0, size=(6, 2))
    problem = Problem.from_table(truth, [[0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0]], histogram=False)
    with pytest.raises(RoundingImpossible, match="view 0, view 1 together"):
        round_table(problem, truth, "hypergeometric")
