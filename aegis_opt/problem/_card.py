"""What a problem shows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis_opt._display import FEW, Card
from aegis_opt._shown import listing

if TYPE_CHECKING:
    from aegis_opt.problem._problem import Problem


def card_of(problem: Problem) -> Card:
    """Describe a problem: what is known about the table, and of how many cells."""
    n, k = problem.shape
    known = sum(margin.totals.size for margin in problem.margins)
    further = f" and {len(problem.constraints):,} further constraints" if problem.constraints else ""
    order = "ordered" if problem.positions is not None else "nominal"
    prior = "uniform" if problem.given_prior is None else "given"
    noisy = f" {len(problem.noisy)} of the views are noisy: of these only label totals are exact." * bool(
        problem.noisy
    )
    rows = [
        [
            margin.name,
            f"{margin.totals.shape[0]:,}",
            f"{margin.totals.shape[1]:,}",
            f"{margin.totals.sum():.10g}",
        ]
        for margin in problem.margins[:FEW]
    ]
    return Card(
        title=f"Problem: a table of {n:,} values x {k:,} labels with {problem.total:.10g} records",
        conclusion=f"{known:,} totals{further} are known of {n * k:,} cells. The attribute is {order}, and "
        f"the prior is {prior}.{noisy}{_labels(problem)}",
        columns=["known", "groups", "labels", "records"],
        rows=rows,
        left=["known"],
        more=f"{len(problem.margins) - FEW:,} more in problem.margins." if len(problem.margins) > FEW else "",
        calls=[
            (
                "ao.reconstruct(problem)",
                f"finds the table {'that fits best' if noisy else 'closest to the prior'}",
            ),
            ("ao.available_solvers()", "lists the solvers"),
        ],
    )


def _labels(problem: Problem) -> str:
    """Name the labels, where they have names."""
    names = problem.label_names
    return "" if names is None else f" Labels: {listing([str(name) for name in names])}."
