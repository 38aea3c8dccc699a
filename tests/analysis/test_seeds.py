"""The spread over seeds: what varies is chance, what does not is the optimum."""

from __future__ import annotations

import pytest
from problem_zoo import ZOO

import aegis_opt as ao


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_optimal_integer_tables_vary_while_their_distance_does_not(norm: str) -> None:
    problem = ZOO["worked example without histogram"]().problem
    spread = ao.analysis.spread_over_seeds(problem, "integer", norm=norm, seeds=6)
    assert spread["objective"].std() == pytest.approx(0, abs=1e-9)
    assert (spread["residual"] == 0).all()
    assert spread["mi"].nunique() > 1
    assert (spread["tvd"] > 0).any()


def test_roundings_spread_too() -> None:
    problem = ZOO["worked example"]().problem
    spread = ao.analysis.spread_over_seeds(problem, "ipf", ["g3"], seeds=5, rounding="controlled")
    assert list(spread.columns) == ["seed", "objective", "residual", "tvd", "g3"]
    assert (spread["residual"] == 0).all()


def test_tables_that_do_not_depend_on_the_seed_have_no_spread() -> None:
    problem = ZOO["worked example"]().problem
    with pytest.raises(ao.errors.InvalidOption, match="do not depend on the seed"):
        ao.analysis.spread_over_seeds(problem, "ipf")
    with pytest.raises(ao.errors.InvalidOption, match="seeds"):
        ao.analysis.spread_over_seeds(problem, "integer", seeds=0)
