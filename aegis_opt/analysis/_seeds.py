"""How much of an answer is chance: the same problem solved with many seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from aegis_opt._options import list_of, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure, get_measure, tvd
from aegis_opt.problem._problem import Problem
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.registry import get_reconstructor


def spread_over_seeds(
    problem: Problem,
    solver: str | Reconstructor = "integer",
    measures: Iterable[str | Measure] = ("mi", "chi2", "g3"),
    seeds: int = 20,
    **options: Any,
) -> pd.DataFrame:
    """Reconstruct with the seeds 0, 1, ... and measure every table.

    Optimal integer tables and roundings are rarely unique; what varies here is not in the data.

    Parameters
    ----------
    problem : Problem
        What is known.
    solver : str
        A solver whose tables depend on the seed, by itself or by its rounding.
    measures : iterable of str
        What to compute from each table.
    seeds : int
        How many.
    **options
        As in `get_reconstructor`.

    Returns
    -------
    DataFrame
        One row per seed: objective, residual, each measure, and `tvd`, the distance of the table from the
        mean over all seeds.

    Examples
    --------
    >>> problem = Problem.from_table([[3, 0], [0, 1], [0, 2]], [0, 0, 1], histogram=False)
    >>> spread = spread_over_seeds(problem, "integer", ["mi"], seeds=8)
    >>> spread["objective"].nunique(), spread["mi"].nunique() > 1
    (1, True)
    """
    wanted = [get_measure(measure) for measure in list_of("measures", measures, object, "name measures")]
    configured = get_reconstructor(solver, **options)
    if not configured.is_random:
        raise InvalidOption(
            f"tables of solver {configured.name!r} do not depend on the seed; ask for a random rounding, "
            "such as rounding='controlled'"
        )
    whole_number("seeds", seeds, least=1)
    results = [replace(configured, seed=seed).reconstruct(problem) for seed in range(seeds)]
    tables = [np.asarray(result.table) for result in results]
    mean = np.mean(tables, axis=0)
    columns: dict[str, Any] = {
        "seed": range(seeds),
        "objective": [result.objective for result in results],
        "residual": [result.residual for result in results],
        "tvd": [tvd(table, mean) for table in tables],
    }
    for chosen in wanted:
        columns[chosen.name] = chosen.many(tables)
    return pd.DataFrame(columns)
