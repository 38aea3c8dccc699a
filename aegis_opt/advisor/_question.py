"""What the advisor is asked: every option checked, every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from aegis_opt._options import flag, one_of, whole_number
from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure, get_measure
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


def ask(
    summary: Summary,
    *,
    measure: str | Measure,
    solver: str | Reconstructor,
    scope: Scope,
    rounding: str | None,
    seed: int,
    replicates: int | None,
    histograms: bool | None,
    options: Mapping[str, Any],
) -> Question:
    """Check the options of `advise` against each other and against what the summary holds."""
    one_of("scope", scope, get_args(Scope))
    chosen = get_measure(measure)
    if not isinstance(solver, Reconstructor):
        solver = get_reconstructor(solver, rounding=rounding, seed=seed, **options)
    elif rounding is None and seed == 0:
        solver = get_reconstructor(solver, **options)
    else:
        raise InvalidOption("the solver is configured already; set rounding and seed there")
    return Question(
        chosen, solver, scope, _replicate_count(replicates, solver), _use_histograms(summary, histograms)
    )


def _replicate_count(replicates: int | None, solver: Reconstructor) -> int:
    if replicates is None:
        return REPLICATES if solver.is_random else 1
    if whole_number("replicates", replicates, least=1) > 1 and not solver.is_random:
        raise InvalidOption(
            "this estimate is not random, so replicates would all be equal; ask for a random rounding "
            "(such as rounding='controlled') or leave replicates out"
        )
    return replicates


def _use_histograms(summary: Summary, wanted: bool | None) -> bool:
    if wanted is None:
        return True
    missing = [name for name, attribute in summary.attributes.items() if attribute.histogram is None]
    if flag("histograms", wanted) and missing:
        raise InvalidOption(
            f"the summary has no histogram of {', '.join(map(repr, missing[:5]))}; make it with "
            "histograms=True, or leave histograms out"
        )
    return wanted
