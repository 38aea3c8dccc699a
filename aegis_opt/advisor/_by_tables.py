"""Advice by shared tables: reconstruct what is not shared, bound, rank, and say why."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from aegis_opt._options import one_of
from aegis_opt._progress import Progress
from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._attribute_warnings import undescribed, warning_about_undescribed
from aegis_opt.advisor._bootstrap import LEVEL, normal_quantile, spread_of_differences
from aegis_opt.advisor._bounds import Interval, deviation_bounds, proved_intervals
from aegis_opt.advisor._by_numbers import with_differences
from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._deviation import TIE, Deviation
from aegis_opt.advisor._estimate import Estimate, estimate, measure_each
from aegis_opt.advisor._explain import SingleChanges
from aegis_opt.advisor._labels import masks_label, proves_order, warnings_about_labels
from aegis_opt.advisor._noise import NoiseIntervals, warning_about_noise, with_epsilon
from aegis_opt.advisor._protected import with_intervals
from aegis_opt.advisor._question import (
    Question,
    Scope,
    configured_solver,
    replicate_count,
    use_histograms,
)
from aegis_opt.advisor._solved import SolvedTables
from aegis_opt.advisor._words import (
    DEGENERATE,
    contradiction,
    no_certificate,
    no_winner,
    reason,
    warnings_about_close_ones,
    warnings_about_order,
    warnings_about_tables,
)
from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.summary import ProtectedSummary
from aegis_opt.summary._noisy_tables import noisy_attributes, refuse_noise


@dataclass(frozen=True, eq=False)
class ByTables:
    """Answers questions about the tables of one summary.

    Parameters
    ----------
    solved : SolvedTables
        The summary, and what has been solved about it.
    protected : ProtectedSummary, optional
        What the summary was reconciled from, where its counts are protected.
    coarseness : callable
        How coarse each configuration is.
    """

    solved: SolvedTables
    protected: ProtectedSummary | None
    coarseness: Callable[[], dict[str, float]]

    def advise(
        self,
        measure: Measure,
        seed: int,
        given: Mapping[str, Any],
        bootstrap: int | None,
        progress: Progress | None,
    ) -> Advice:
        """Reconstruct what is not shared, and rank."""
        summary = self.solved.summary
        options = dict(given)
        scope = options.pop("scope", "pooled")
        replicates, histograms = options.pop("replicates", None), options.pop("histograms", None)
        solver, rounding = options.pop("solver", "ipf"), options.pop("rounding", None)
        configured = configured_solver(solver, rounding, seed, options)
        question = Question(
            measure,
            configured,
            one_of("scope", scope, get_args(Scope)),
            replicate_count(replicates, configured),
            use_histograms(summary, histograms),
        )
        if bootstrap is not None:
            refuse_noise(summary, "bootstrap resamples tables of")
        if bootstrap is not None and scope != "pooled":
            raise InvalidOption("bootstrap resamples what all views tell together: leave out scope='single'")
        start = time.perf_counter()
        shared = {name: [table.joint for table in a.tables] for name, a in summary.attributes.items()}
        masked = measure_each(question.measure, shared)
        for name, values in masked.items():
            if not np.isfinite(values).all():
                raise InvalidInput(
                    f"the measure {measure.name!r} is not finite for a masked table of {name!r}: give a "
                    "function that is a number for every table of counts"
                )
        measured = time.perf_counter()
        estimates = estimate(self.solved, question, progress)
        noise = None
        if measure.monotone and noisy_attributes(summary):
            noise = NoiseIntervals.of(self.solved, question, estimates, seed)
            masked, estimates = noise.applied(masked, estimates)
        reconstructed = time.perf_counter()
        advice = self._conclude(question, masked, estimates, noise)
        if bootstrap is not None and advice.best is not None:
            advice = self._with_differences(advice, question.measure, estimates, bootstrap, seed)
        if self.protected is not None:
            advice = with_intervals(advice, question.measure, self.protected, seed)
        seconds = {"measure": measured - start, "reconstruct": reconstructed - measured}
        advice.seconds.update(seconds | {"rank": time.perf_counter() - reconstructed})
        if progress is not None:
            progress("done", len(summary.attributes), len(summary.attributes))
        return advice

    def _with_differences(
        self,
        advice: Advice,
        measure: Measure,
        estimates: Mapping[str, Estimate],
        replicates: int,
        seed: int,
    ) -> Advice:
        """Say how far configurations are behind the winner, and which of them resampled tables tell apart."""
        summary, best = self.solved.summary, str(advice.best)
        tables = {name: found.solved[0].values for name, found in estimates.items()}
        spread = spread_of_differences(measure, summary, tables, best, replicates, seed)
        scores = advice.masked.mean(axis=1)
        behind = scores[best] - scores if measure.higher_is_better else scores - scores[best]
        width = pd.Series(normal_quantile(LEVEL) * spread, index=scores.index, dtype=float)
        order = list(advice.ranking["configuration"])
        close = tuple(name for name in order if behind[name] <= width[name] + TIE * abs(scores[best]))
        close = (best, *(name for name in close if name != best))
        return replace(
            advice,
            ranking=with_differences(
                advice.ranking, behind[order].to_numpy(float), width[order].to_numpy(float)
            ),
            equivalent=close,
            warnings=advice.warnings + tuple(warnings_about_close_ones(close, self.coarseness())),
        )

    def _conclude(
        self,
        question: Question,
        masked: Mapping[str, FloatArray],
        estimates: Mapping[str, Estimate],
        noise: NoiseIntervals | None = None,
    ) -> Advice:
        """Bound, rank, and say why."""
        summary, measure, pooled = self.solved.summary, question.measure, question.scope == "pooled"
        intervals = proved_intervals(measure, summary, masked, estimates)
        if self.protected is not None:  # what the tables would prove, were they exact
            intervals = dict.fromkeys(intervals, Interval())
        # In pooled scope each view bounds the same truth, so an estimate outside moves to the bound
        limits = intervals if pooled else dict.fromkeys(intervals, Interval())
        deviation = Deviation.of(measure, summary, masked, estimates, limits)
        noisy = bool(noisy_attributes(summary))
        provable = proves_order(measure, summary)
        common = provable and not noisy and all(found.common_table for found in estimates.values())
        proved = pooled and common
        certified = proved and self.protected is None
        ends = None if noise is None else noise.ends(summary)
        low, high = deviation_bounds(measure, list(intervals.values()), deviation.masked, ends)
        attributes = self._attribute_report(question, estimates, intervals, deviation)
        known = bool((attributes["disclosed"] == 1).all())
        ranking = deviation.ranking(low, high, known=known, drawn=question.draws)
        if noisy:
            ranking = with_epsilon(ranking, summary)
        none = "" if proved else self._no_winner(measure, deviation, ranking)
        warnings = [none] if none else warnings_about_order(deviation, ranking, certified=certified)
        if not none and not provable:
            warnings.append(no_certificate(measure))
        warnings += warnings_about_labels(summary, measure)
        best = None if none else deviation.tied[0]
        if (
            self.protected is None
            and common
            and not proved
            and (other := contradiction(measure, deviation, best))
        ):
            warnings.insert(1 if none else 0, other)
        if noisy:
            warnings.append(warning_about_noise(summary, monotone=measure.monotone))
        warnings += warnings_about_tables(question, summary, estimates, attributes)
        unknown = undescribed(summary)
        if unknown:
            warnings.append(warning_about_undescribed(unknown))
        replicates = None
        if len(deviation.by_replicate) > 1:
            replicates = pd.DataFrame(deviation.by_replicate, columns=list(deviation.configurations))
        deviations = deviation.frame(deviation.each.mean(axis=0))
        if unknown:
            deviations[unknown] = np.nan
        return Advice(
            best=best,
            tied=() if none else deviation.tied,
            ranking=ranking,
            certified=certified,
            warnings=tuple(warnings),
            reason=none
            or reason(measure, deviation, ranking, certified=certified, label_masked=masks_label(summary)),
            criterion=Criterion.of(measure),
            scope=question.scope,
            solver=question.solver.name,
            deviations=deviations,
            masked=deviation.frame(deviation.masked),
            attributes=attributes,
            replicates=replicates,
            changes=SingleChanges.of_measure(deviation, masked, summary, unknown=unknown),
        )

    def _no_winner(self, measure: Measure, deviation: Deviation, ranking: pd.DataFrame) -> str:
        """Why no winner is named by an estimate that proves nothing; empty where one is."""
        if measure.monotone and self._is_degenerate(deviation):
            return DEGENERATE
        first: dict[tuple[tuple[str, int], ...], str] = {}
        for name, chosen in self.solved.summary.configurations.items():
            first.setdefault(tuple(chosen.items()), name)
        return no_winner(measure, deviation, ranking, list(first.values()))

    def _is_degenerate(self, deviation: Deviation) -> bool:
        """Whether every deviation is rounding noise although some tables were not known exactly.

        A reconstruction that makes A and Y independent inside each group has rho(X) = rho(M(A); Y): the
        estimate is 0 whatever the truth is, and its order is that of floating-point noise.
        """
        return deviation.is_noise and not all(
            self.solved.summary.is_raw(self.solved.summary.attributes[name].tables[t])
            for chosen in self.solved.summary.configurations.values()
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
        unknown = undescribed(self.solved.summary)
        for i, (name, found) in enumerate(estimates.items()):
            attribute, interval = self.solved.summary.attributes[name], intervals[name]
            estimated = {"estimate": float(deviation.unmasked[:, :, i].mean())}
            estimated |= deviation.spread(i) if question.draws else {}
            disclosed = np.nan  # views apart from each other tell nothing about their disclosure together
            if question.scope == "pooled" and self.protected is None:
                disclosed = self.solved.disclosed(found.problems[0], found.solved[0])
            rows.append(
                {
                    "attribute": name,
                    "values": attribute.n_values,
                    "masked_tables": len(attribute.tables),
                    **(dict.fromkeys(estimated, np.nan) if name in unknown else estimated),
                    "low": interval.low if np.isfinite(interval.low) else np.nan,
                    "high": interval.high if np.isfinite(interval.high) else np.nan,
                    "residual": found.residual,
                    "status": found.status.name,
                    "method": ", ".join(sorted({result.method for result in found.solved})),
                    "disclosed": disclosed,
                }
            )
            if any(result.choice for result in found.solved):
                rows[-1] |= {"chosen": found.chosen, "gain": found.gain}
        return pd.DataFrame(rows)
