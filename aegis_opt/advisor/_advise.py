"""The advisor: rank configurations by predictive utility deviation, from a summary alone."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
import pandas as pd

from aegis_opt._options import one_of, path_of
from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bounds import Interval, deviation_bounds, proved_intervals
from aegis_opt.advisor._deviation import Deviation
from aegis_opt.advisor._estimate import Estimate, estimate, measure_each
from aegis_opt.advisor._question import (
    Question,
    Scope,
    configured_solver,
    replicate_count,
    use_histograms,
)
from aegis_opt.advisor._solved import SolvedTables
from aegis_opt.advisor._words import DEGENERATE, reason, warnings_about_order, warnings_about_tables
from aegis_opt.measures import Measure, get_measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.sources import Progress
from aegis_opt.summary import Summary


class Advisor:
    """Answers many questions about one summary, and solves nothing twice.

    Reconstructed tables do not depend on the measure, so a second question with another measure costs little
    more than measuring. What was solved is kept as long as the advisor is, and shared with no other.

    Parameters
    ----------
    summary : Summary or path
        What the provider shared.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> from aegis_opt.advisor import Advisor
    >>> clinic = ao.datasets.clinic(500)
    >>> advisor = Advisor(ao.summarize(clinic.frame, clinic.label, clinic.configurations))
    >>> [advisor.advise(measure).certified for measure in ("mi", "chi2", "g3")]
    [True, True, True]
    """

    def __init__(self, summary: Summary | str | os.PathLike[str]) -> None:
        if not isinstance(summary, Summary):
            made = "make one of a table with aegis_opt.summarize(table, label, configurations)"
            summary = Summary.load(path_of("summary", summary, f"it is a Summary or the path of one; {made}"))
        self.summary = summary
        self._solved = SolvedTables(self.summary)

    def advise(
        self,
        measure: str | Measure = "mi",
        solver: str | Reconstructor = "ipf",
        scope: Scope = "pooled",
        rounding: str | None = None,
        seed: int = 0,
        *,
        replicates: int | None = None,
        histograms: bool | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> Advice:
        """Rank the configurations of the summary; parameters and result are those of `aegis_opt.advise`."""
        summary = self.summary
        configured = configured_solver(solver, rounding, seed, options)
        question = Question(
            get_measure(measure),
            configured,
            one_of("scope", scope, get_args(Scope)),
            replicate_count(replicates, configured),
            use_histograms(summary, histograms),
        )
        start = time.perf_counter()
        shared = {name: [table.joint for table in a.tables] for name, a in summary.attributes.items()}
        masked = measure_each(question.measure, shared)
        measured = time.perf_counter()
        estimates = estimate(self._solved, question, progress)
        reconstructed = time.perf_counter()
        advice = self._conclude(question, masked, estimates)
        seconds = {"measure": measured - start, "reconstruct": reconstructed - measured}
        advice.seconds.update(seconds | {"rank": time.perf_counter() - reconstructed})
        if progress is not None:
            progress("done", len(summary.attributes), len(summary.attributes))
        return advice

    def _conclude(
        self, question: Question, masked: Mapping[str, FloatArray], estimates: Mapping[str, Estimate]
    ) -> Advice:
        """Bound, rank, and say why."""
        summary, measure, pooled = self.summary, question.measure, question.scope == "pooled"
        intervals = proved_intervals(measure, summary.attributes, masked, estimates)
        # In pooled scope each view bounds the same truth, so an estimate outside moves to the bound
        limits = intervals if pooled else dict.fromkeys(intervals, Interval())
        deviation = Deviation.of(summary, masked, estimates, limits)
        proved = pooled and measure.monotone and not any(found.changes for found in estimates.values())
        degenerate = not proved and self._is_degenerate(deviation)
        low, high = deviation_bounds(measure, list(intervals.values()), deviation.masked)
        ranking = deviation.ranking(low, high)
        attributes = self._attribute_report(question, estimates, intervals, deviation)
        warnings = [DEGENERATE]
        if not degenerate:
            warnings = warnings_about_order(measure, deviation, ranking, certified=proved)
        warnings += warnings_about_tables(question, summary, estimates, attributes)
        replicates = None
        if len(deviation.by_replicate) > 1:
            replicates = pd.DataFrame(deviation.by_replicate, columns=list(deviation.configurations))
        return Advice(
            best=None if degenerate else deviation.tied[0],
            tied=() if degenerate else deviation.tied,
            ranking=ranking,
            certified=proved,
            warnings=tuple(warnings),
            reason=DEGENERATE if degenerate else reason(measure, deviation, certified=proved),
            measure=measure.name,
            scope=question.scope,
            solver=question.solver.name,
            deviations=deviation.frame(deviation.each.mean(axis=0)),
            masked=deviation.frame(deviation.masked),
            attributes=attributes,
            replicates=replicates,
        )

    def _is_degenerate(self, deviation: Deviation) -> bool:
        """Whether every deviation is rounding noise although some tables were not known exactly.

        A reconstruction that makes A and Y independent inside each group has rho(X) = rho(M(A); Y): the
        estimate is 0 whatever the truth is, and its order is that of floating-point noise.
        """
        return deviation.is_noise and not all(
            self.summary.attributes[name].tables[t].keeps_every_value
            for chosen in self.summary.configurations.values()
            for name, t in chosen.items()
        )

    def _attribute_report(
        self,
        question: Question,
        estimates: Mapping[str, Estimate],
        intervals: Mapping[str, Interval],
        deviation: Deviation,
    ) -> pd.DataFrame:
        """One row per attribute: what was estimated, what is proved, and how good the tables are."""
        rows = []
        for i, (name, found) in enumerate(estimates.items()):
            attribute, interval = self.summary.attributes[name], intervals[name]
            disclosed = np.nan  # views apart from each other tell nothing about their disclosure together
            if question.scope == "pooled":
                disclosed = self._solved.disclosed(found.problems[0], found.solved[0])
            rows.append(
                {
                    "attribute": name,
                    "values": attribute.n_values,
                    "masked_tables": len(attribute.tables),
                    "estimate": float(deviation.unmasked[:, :, i].mean()),
                    "low": interval.low if np.isfinite(interval.low) else np.nan,
                    "high": interval.high if np.isfinite(interval.high) else np.nan,
                    "residual": found.residual,
                    "status": found.status.name,
                    "method": ", ".join(sorted({result.method for result in found.solved})),
                    "disclosed": disclosed,
                }
            )
        return pd.DataFrame(rows)


def advise(
    summary: Summary | str | os.PathLike[str],
    measure: str | Measure = "mi",
    solver: str | Reconstructor = "ipf",
    scope: Scope = "pooled",
    rounding: str | None = None,
    seed: int = 0,
    *,
    replicates: int | None = None,
    histograms: bool | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Advice:
    """Rank masking configurations by how much predictive utility they lose.

    The predictive utility deviation of configuration M over attributes A_1..A_m is

        PUD(M) = 1/m sum_i abs(rho(A_i; Y) - rho(M_i(A_i); Y)),

    where rho(M_i(A_i); Y) is computed from the shared masked tables and rho(A_i; Y) from reconstructed ones.

    This is the one-shot form of `Advisor(summary).advise(...)`, which keeps what was solved for the next
    question about the same summary.

    Parameters
    ----------
    summary : Summary or path
        What the provider shared.
    measure : str or Measure
        One of `available_measures()`, or a measure of your own.
    solver : str or Reconstructor
        One of `available_solvers()`, or a configured solver.
    scope : {"pooled", "single"}
        "pooled" reconstructs each attribute once from all masked tables together. For a monotone measure its
        order is provably the order of the true deviation. "single" reconstructs each configuration from its
        own view (Algorithm 1 of the Aegis paper); without integrality that estimate is 0 for every
        configuration, and no winner is named.
    rounding : str, optional
        Make fractional tables whole; see `aegis_opt.rounding`.
    seed : int
        Of random roundings and solvers.
    replicates : int, optional
        How often a random estimate is repeated (default 20); 1 for estimates that are not random.
    histograms : bool, optional
        False ignores the 1-D histograms of the summary; True requires them; None uses them where shared.
    progress : callable, optional
        Called with (what, done, of how many).
    **options
        The solver's own options, such as `norm`, and `on_conflict`. Where contradictory totals are repaired,
        nothing is certified.

    Returns
    -------
    Advice

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    >>> advice = ao.advise(summary, measure="mi")
    >>> advice.certified, advice.best == advice.ranking["configuration"][0]
    (True, True)

    References
    ----------
    "Aegis: A Correlation-Based Data Masking Advisor for Data-Sharing Ecosystems", SIGMOD 2025.
    """
    return Advisor(summary).advise(
        measure,
        solver,
        scope,
        rounding,
        seed,
        replicates=replicates,
        histograms=histograms,
        progress=progress,
        **options,
    )
