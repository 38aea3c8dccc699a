"""Why no table meets the known totals, in words."""

from __future__ import annotations

from aegis_opt.problem.consistency import WAY_OUT, direct_conflicts
from aegis_opt.problem.problem import Problem


def explain(problem: Problem) -> str:
    """Describe the conflict of a problem that was found to have no solution."""
    direct = list(direct_conflicts(problem, pairwise=True))
    if direct:
        return f"the known totals disagree: {'; '.join(direct[:3])}. {WAY_OUT}"
    names = ", ".join(margin.name for margin in problem.margins)
    return f"no table without negative counts meets all totals of {names} together. {WAY_OUT}"
