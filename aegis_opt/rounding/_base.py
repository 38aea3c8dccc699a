"""Rounding methods by name, each with what it promises."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from aegis_opt._interrupts import look_up, until
from aegis_opt._options import float_array, instance, list_of, number, seed_number
from aegis_opt._shown import shown
from aegis_opt.errors import AegisError, InvalidInput, InvalidOption, RoundingImpossible
from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.rounding._controlled import controlled
from aegis_opt.rounding._drawn import draw_tables, drawn
from aegis_opt.rounding._hypergeometric import hypergeometric
from aegis_opt.rounding._independent import independent
from aegis_opt.rounding._largest_remainder import largest_remainder
from aegis_opt.rounding._nearest import nearest

RoundingFunction = Callable[[Problem, FloatArray, np.random.Generator], FloatArray]
ManyFunction = Callable[[Problem, FloatArray, int, np.random.Generator], FloatArray]


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
    many : callable, optional
        Makes several tables of one at once, where that is quicker than one by one. The tables are then draws
        from a stated distribution, and their spread is reported.
    """

    name: str
    function: RoundingFunction
    random: bool
    keeps_totals: bool
    many: ManyFunction | None = None


RoundingName = Literal["independent", "largest-remainder", "controlled", "nearest", "hypergeometric", "drawn"]
"""The names of the roundings."""

ROUNDINGS: dict[str, Rounding] = {
    r.name: r
    for r in [
        Rounding("independent", independent, random=True, keeps_totals=False),
        Rounding("largest-remainder", largest_remainder, random=True, keeps_totals=False),
        Rounding("controlled", controlled, random=True, keeps_totals=True),
        Rounding("nearest", nearest, random=True, keeps_totals=True),
        Rounding("hypergeometric", hypergeometric, random=True, keeps_totals=True),
        Rounding("drawn", drawn, random=True, keeps_totals=True, many=draw_tables),
    ]
}


def check_rounding(name: object) -> None:
    """Refuse what is no name of a rounding."""
    if not isinstance(name, str) or name not in ROUNDINGS:
        raise InvalidOption(f"unknown rounding {shown(name)}; known: {', '.join(ROUNDINGS)}")


def round_table(
    problem: Problem, table: npt.ArrayLike, method: str, *, seed: int = 0, time_limit: float | None = None
) -> FloatArray:
    """Round a fractional reconstruction of `problem` to whole numbers.

    ===================  ===========================  ================  ====================================
    method               totals kept                  cells             mean over seeds
    ===================  ===========================  ================  ====================================
    "independent"        none                         floor or ceil     the table
    "largest-remainder"  of the finest view           floor or ceil     ties aside, one table
    "controlled"         all                          floor or ceil     the table
    "nearest"            all                          floor or ceil     ties aside, the nearest table (l1)
    "hypergeometric"     all                          any whole number  the table, if of greatest entropy
    "drawn"              all                          any whole number  near the table
    ===================  ===========================  ================  ====================================

    "controlled" and "hypergeometric" refuse problems whose totals overlap so that they could not keep
    them; "nearest" takes any problem that has a whole table, leaving floor and ceil only where it must.
    "drawn" makes a draw of independent Poisson cells with the table as their mean, given every total.

    Parameters
    ----------
    problem : Problem
        Whose totals the rounding may have to keep.
    table : array_like, shape (n, k)
        The fractional table; it is not modified.
    method : str
        A key of `ROUNDINGS`.
    seed : int
        The same seed gives the same table.
    time_limit : float, optional
        Seconds. What "nearest" has found by then is returned, with a warning; the others have nothing.

    Returns
    -------
    ndarray, shape (n, k)
        Whole numbers.

    Raises
    ------
    RoundingImpossible
        Where the totals do not allow what the method promises.
    AegisError
        Where there is no whole table when the time is over.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> round_table(problem, [[2.25, 0.75], [0.75, 0.25], [0, 2]], "nearest").tolist()
    [[2.0, 1.0], [1.0, 0.0], [0.0, 2.0]]
    """
    return round_tables(problem, table, method, [seed], time_limit=time_limit)[0]


def round_tables(
    problem: Problem,
    table: npt.ArrayLike,
    method: str,
    seeds: Sequence[int],
    *,
    time_limit: float | None = None,
) -> list[FloatArray]:
    """Round a fractional reconstruction several times, once for each seed; see `round_table`.

    "drawn" makes all tables together from all seeds together, which takes less time than one by one. The time
    limit is for all of them.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1])
    >>> tables = round_tables(problem, [[2.25, 0.75], [0.75, 0.25], [0, 2]], "drawn", range(10))
    >>> len(tables), max(problem.residual(one) for one in tables)
    (10, 0.0)
    """
    instance("problem", problem, Problem, "pose one with aegis_opt.Problem")
    check_rounding(method)
    if time_limit is not None:
        time_limit = number("time_limit", time_limit, above=0, unit="seconds")
    seeds = list_of("seeds", seeds, object, "write e.g. range(10)")
    for seed in seeds:
        seed_number("seed", seed)
    fractional = float_array("the table to round", table)
    if fractional.shape != problem.shape:
        raise InvalidInput(f"the table is {fractional.shape}, the problem {problem.shape}")
    if not np.isfinite(fractional).all():
        raise InvalidInput("the table to round holds NaN or infinity")
    rounding = ROUNDINGS[method]
    if problem.noisy and rounding.function in (hypergeometric, drawn):
        raise RoundingImpossible(
            f"rounding {method!r} draws the records of known groups, and views of this problem are noisy; "
            "use rounding='controlled'"
        )
    try:
        with until(math.inf if time_limit is None else time.monotonic() + time_limit):
            return _rounded(rounding, problem, fractional, seeds)
    except TimeoutError as error:
        raise AegisError(
            f"rounding {method!r} made no whole table within the {time_limit:.2g} seconds that it had: allow "
            "more (time_limit), keep the fractional table (rounding=None), or use another rounding; "
            "'independent' takes the least time, but keeps no total"
        ) from error


def _rounded(
    rounding: Rounding, problem: Problem, table: FloatArray, seeds: Sequence[int]
) -> list[FloatArray]:
    if rounding.many is not None:
        return list(rounding.many(problem, table, len(seeds), np.random.default_rng(list(seeds))))
    tables = []
    for seed in seeds:
        look_up()
        tables.append(rounding.function(problem, table, np.random.default_rng(seed)))
    return tables
