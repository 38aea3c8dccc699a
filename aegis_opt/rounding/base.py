"""Rounding methods by name, each with what it promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aegis_opt.errors import InvalidOption
from aegis_opt.problem.margin import FloatArray
from aegis_opt.problem.problem import Problem
from aegis_opt.rounding.independent import independent

RoundingFunction = Callable[[Problem, FloatArray, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class Rounding:
    """One way to make a fractional table whole.

    Attributes
    ----------
    name : str
        What users call it.
    function : callable
        Takes the problem, the fractional table and a random generator; returns a whole table.
    random : bool
        Whether the outcome depends on the seed.
    keeps_totals : bool
        Whether every known total still holds afterwards.
    """

    name: str
    function: RoundingFunction
    random: bool
    keeps_totals: bool


ROUNDINGS: dict[str, Rounding] = {
    r.name: r
    for r in [
        Rounding("independent", independent, random=True, keeps_totals=False),
    ]
}


def round_table(problem: Problem, table: FloatArray, method: str, *, seed: int = 0) -> FloatArray:
    """Round a fractional reconstruction of `problem` to whole numbers.

    Parameters
    ----------
    problem : Problem
        Whose totals the rounding may have to keep.
    table : ndarray, shape (n, k)
        The fractional table.
    method : str
        A key of `ROUNDINGS`.
    seed : int
        The same seed gives the same table.
    """
    if method not in ROUNDINGS:
        raise InvalidOption(f"unknown rounding {method!r}; known: {', '.join(ROUNDINGS)}")
    return ROUNDINGS[method].function(problem, table, np.random.default_rng(seed))
