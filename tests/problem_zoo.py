"""Problems named by what is special about them; every solver meets all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import aegis_opt as ao

AGE_HEALTH = np.array(
    [
        [0, 0, 0, 1, 3],
        [0, 0, 0, 4, 8],
        [0, 0, 1, 2, 1],
        [2, 8, 10, 8, 2],
        [4, 6, 9, 1, 0],
        [2, 3, 5, 0, 0],
        [2, 5, 3, 0, 0],
        [5, 3, 2, 0, 0],
    ]
)
YOUNG_OLD = np.array([0, 0, 0, 1, 1, 1, 1, 1])


@dataclass(frozen=True)
class Case:
    """A problem with the table it was derived from."""

    truth: np.ndarray
    problem: ao.Problem
    several_views: bool = False
    masked_label: bool = False
    structural_zeros: bool = False


def _random(n: int, k: int, seed: int = 0, mean: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(1.0, mean, size=(n, k)))


def _case(truth: np.ndarray, groups: object, histogram: bool = True, **flags: bool) -> Case:
    return Case(truth, ao.Problem.from_table(truth, groups, histogram=histogram), **flags)


def _structural_zeros() -> Case:
    truth = np.array([[3, 0, 2], [0, 4, 1], [2, 2, 0], [1, 0, 5]])
    prior = np.where(truth > 0, 1.7, 0.0)
    return Case(truth, ao.Problem.from_table(truth, [0, 0, 0, 1], prior=prior), structural_zeros=True)


def _prior() -> Case:
    truth = _random(6, 3, 5)
    prior = np.random.default_rng(1).uniform(0.5, 6.0, size=truth.shape)
    return Case(truth, ao.Problem.from_table(truth, [0, 0, 1, 1, 1, 2], prior=prior))


def _masked_label() -> Case:
    truth = _random(6, 4, 6)
    problem = ao.Problem.from_table(truth, [0, 0, 1, 1, 2, 2], label_groups=[0, 0, 1, 1])
    return Case(truth, problem, masked_label=True)


ZOO: dict[str, Callable[[], Case]] = {
    "worked example": lambda: _case(AGE_HEALTH, YOUNG_OLD),
    "worked example without histogram": lambda: _case(AGE_HEALTH, YOUNG_OLD, histogram=False),
    "one group": lambda: _case(_random(7, 2, 1), np.zeros(7, dtype=int)),
    "identity mask": lambda: _case(_random(5, 3, 2), np.arange(5)),
    "singleton groups among others": lambda: _case(_random(6, 2, 3), [0, 1, 1, 2, 2, 3]),
    "unequal totals": lambda: _case(np.array([[1000, 1], [0, 3], [7, 90], [5, 5]]), [0, 0, 0, 1]),
    "zeros": lambda: _case(np.array([[0, 5, 0], [0, 0, 0], [3, 0, 0], [0, 0, 2]]), [0, 0, 1, 1]),
    "one label": lambda: _case(_random(6, 1, 4) + 1, [0, 0, 0, 1, 1, 1]),
    "fifty labels": lambda: _case(_random(6, 50, 4, 1.0), [0, 0, 0, 1, 1, 1]),
    "overlapping views": lambda: _case(
        _random(6, 2, 7), [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 1, 1, 0, 0, 1]], several_views=True
    ),
    "overlapping views without histogram": lambda: _case(
        _random(6, 3, 8), [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]], histogram=False, several_views=True
    ),
    "nested views": lambda: _case(
        _random(8, 3, 9), [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]], several_views=True
    ),
    "masked label": _masked_label,
    "non-uniform prior": _prior,
    "structural zeros": _structural_zeros,
    "many equal rows": lambda: _case(np.tile([[1, 2], [0, 1]], (40, 1)), np.repeat([0, 1, 2, 3], 20)),
    "20,000 rows": lambda: _case(_random(20_000, 2, 10, 1.0), np.arange(20_000) // 500),
}
