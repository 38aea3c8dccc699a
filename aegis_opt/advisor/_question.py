"""What the advisor is asked: every option checked, every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aegis_opt._options import flag, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure
from aegis_opt.rounding import ROUNDINGS
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.registry import get_reconstructor
from aegis_opt.summary import Summary

Scope = Literal["pooled", "single"]

REPLICATES = 20  # of a random estimate, unless asked otherwise


@dataclass(frozen=True)
class Question:
    """The options of one call of `advise`; their meaning is explained there."""

    measure: Measure
    solver: Reconstructor
    scope: Scope
    replicates: int
    histograms: bool

    @property
    def draws(self) -> bool:
        """Whether the replicates are draws from a stated distribution of the unknown tables."""
        rounding = self.solver.rounding
        return rounding is not None and ROUNDINGS[rounding].many is not None and self.replicates > 1


def configured_solver(
    solver: str | Reconstructor, rounding: str | None, seed: int, options: Mapping[str, Any]
) -> Reconstructor:
    """Return the solver with its options; one that is configured already keeps its rounding and seed."""
    if not isinstance(solver, Reconstructor):
        return get_reconstructor(solver, rounding=rounding, seed=seed, **options)
    if rounding is not None or seed != 0:
        raise InvalidOption("the solver is configured already; set rounding and seed there")
    return get_reconstructor(solver, **options)


def replicate_count(replicates: int | None, solver: Reconstructor) -> int:
    """Return how often to repeat an estimate: by default, a random one 20 times and any other once."""
    if replicates is None:
        return REPLICATES if solver.is_random else 1
    if whole_number("replicates", replicates, least=1) > 1 and not solver.is_random:
        raise InvalidOption(
            "this estimate is not random, so replicates would all be equal; ask for a random rounding "
            "(such as rounding='controlled') or leave replicates out"
        )
    return replicates


def use_histograms(summary: Summary, wanted: bool | None) -> bool:
    """Whether to use the histograms that the summary holds; True requires one of every attribute."""
    if wanted is None:
        return True
    missing = [name for name, attribute in summary.attributes.items() if attribute.histogram is None]
    if flag("histograms", wanted) and missing:
        raise InvalidOption(
            f"the summary has no histogram of {', '.join(map(repr, missing[:5]))}; make it with "
            "histograms=True, or leave histograms out"
        )
    return wanted
