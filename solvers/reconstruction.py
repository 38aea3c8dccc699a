"""The result of a reconstruction, which certifies itself from the problem's data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt import _later
from aegis_opt._display import FEW, Card, Displayed
from aegis_opt.problem._problem import Problem

if TYPE_CHECKING:
    from altair import LayerChart

__all__ = ["Reconstruction", "Status"]


MAXIMUM_ENTROPY = "maximum entropy"
"""What `Reconstruction.choice` calls the table of least divergence from a uniform prior."""


class Status(Enum):
    """How a reconstruction ended; the value is a sentence for people."""

    OPTIMAL = "every total is met, and no table that meets them is closer to the prior"
    FEASIBLE = "every total is met; nothing is proved about the distance to the prior"
    TIME_LIMIT = "every total is met; the time limit came before the proof that no table is closer"
    NOT_CONVERGED = "the solver stopped before every total was met: see the residual"
    VIOLATED = "some totals are not met, because this method does not promise them: see the residual"
    REPAIRED = "the given totals contradict each other; the changed ones, listed in `changes`, are met"


@dataclass(frozen=True, eq=False)
class Reconstruction(Displayed):
    """A reconstructed joint table with the evidence for it.

    `residual` and `objective` are computed from the problem and the table, never taken from a solver.

    Attributes
    ----------
    table : ndarray or DataFrame, shape (n, k)
        The table; a DataFrame where the problem has names.
    status : Status
        Judged by the residual.
    objective : float
        Distance to the prior in `norm`; see `aegis_opt.distances`. Where a view is noisy, the misfit to its
        counts: "likelihood", in nats (0 where they are as expected), or "l2", in records.
    residual : float
        Largest absolute violation of any constraint, in records.
    norm : str
        Name of the distance, parameters included: "kl", "l1", "lp=1.5", ...; see `aegis_opt.distances`. Where
        a view is noisy, of the misfit.
    method : str
        Which path ran: "closed-form", "elimination", "ipf", "newton", "em", "flow", "cp-sat", "CLARABEL", ...
    iterations : int
        Passes, steps or solver iterations, as the method counts them.
    seconds : mapping of str to float
        Time per phase: "build", "solve", "round", "check".
    optimal : bool
        Whether it is proved that no table that meets the totals is closer to the prior.
    gap : float or None
        Relative gap to a proved bound on the objective, where one is known. Of a likelihood, in nats per
        record: no table makes the average record more likely by more than a factor of exp(gap).
    changes : tuple of str
        What was changed to reconcile contradictory totals; empty otherwise.
    repaired : Problem or None
        The problem with the changed totals, which the table was made for; None where nothing was changed.
    choice : str
        What a solver with a choice chose, such as "auto" between maximum entropy and smoothness; else "".
    held_out : mapping of str to float
        For each candidate of such a choice, how far its predictions of held-out views were from them.
    warning : str
        What the caller should know about how the table was made; else "".
    problem : Problem or None
        What the table was made for.
    """

    table: Any
    status: Status
    objective: float
    residual: float
    norm: str
    method: str
    iterations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    optimal: bool = False
    gap: float | None = None
    changes: tuple[str, ...] = ()
    repaired: Problem | None = None
    choice: str = ""
    held_out: Mapping[str, float] = field(default_factory=dict)
    warning: str = ""
    problem: Problem | None = field(default=None, repr=False)

    def plot(self, truth: npt.ArrayLike | None = None) -> LayerChart:
        """Draw the table against the truth, where it is known, or else against the prior: a dot per cell.

        On the dashed line, both are equal. Both axes have the scale of square roots, on which the chance of
        counts is about as wide everywhere.

        Parameters
        ----------
        truth : array_like, shape (n, k), optional
            The raw table, if it is known.

        Returns
        -------
        altair.LayerChart
            Interactive in a notebook; ``chart.save("table.png")`` writes it, and .svg, .pdf and .html, too.

        Raises
        ------
        MissingDependency
            If altair is not installed.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> table = ao.datasets.worked_example_table()
        >>> problem = ao.Problem.from_table(table, groups=[0, 0, 0, 1, 1, 1, 1, 1])
        >>> chart = ao.reconstruct(problem).plot(truth=table)
        >>> chart.to_dict()["title"]["text"]
        'The reconstructed table has TVD 0.173 from the truth'
        """
        chart: LayerChart = _later.call("plot_reconstruction", self, truth=truth)
        return chart

    @cached_property
    def values(self) -> npt.NDArray[np.float64]:
        """The table as an array, without names."""
        return np.asarray(self.table)

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that no table that meets the totals is closer to the prior; see `optimal`."""
        return self.optimal

    def _card(self) -> Card:
        values = self.values
        names = range(len(values)) if not isinstance(self.table, pd.DataFrame) else self.table.index
        labels = range(values.shape[1]) if not isinstance(self.table, pd.DataFrame) else self.table.columns
        columns = ["value", *map(str, labels[:FEW])]
        rows = [
            [str(name), *(f"{cell:.6g}" for cell in row[:FEW])]
            for name, row in zip(names[:FEW], values[:FEW], strict=True)
        ]
        hidden = len(values) > FEW or values.shape[1] > FEW
        gap = "" if self.gap is None else f", relative gap {self.gap:.2g}"
        noisy = self.problem is not None and bool(self.problem.noisy)
        sentence = self.status.value
        distance = "Distance to the prior"
        if noisy:
            sentence = sentence.replace("is closer to the prior", "fits the noisy counts better")
            sentence = sentence.replace("the distance to the prior", "the misfit to the noisy counts")
            sentence = sentence.replace("no table is closer", "no table fits better")
            distance = "Misfit to the noisy counts"
        return Card(
            title=f"Reconstruction: {values.shape[0]:,} values x {values.shape[1]:,} labels by {self.method}",
            conclusion=f"{self.status.name}: {sentence}. {distance} ({self.norm}) "
            f"{self.objective:.6g}{gap}; largest violation of a total {self.residual:.2g} records.",
            columns=columns,
            rows=rows,
            left=["value"],
            more=f"The first {FEW} rows and columns at most; result.table has all." if hidden else "",
            warnings=[*([self.warning] if self.warning else []), *self.changes[:FEW]],
            calls=[("result.table", "is the table"), ("result.seconds", "says how long each phase took")],
        )

    def __repr__(self) -> str:
        n, k = self.table.shape
        return (
            f"<Reconstruction {n} x {k} by {self.method}: {self.status.name}, "
            f"{self.norm} {self.objective:.6g}, residual {self.residual:.2g}>"
        )
