"""From estimates to a ranking, a verdict and its reasons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bounds import Interval
from aegis_opt.advisor._disclosure import disclosed_share
from aegis_opt.advisor._estimate import Estimate, Scope, is_determined
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.reconstruction import Status
from aegis_opt.summary import Summary

NOISE = 1e-9  # deviations below this share of the measure's size are rounding noise
TIE = 1e-12  # deviations that differ by less than this share of the measure's size are equal

DEGENERATE = (
    "degenerate estimate: the reconstructed tables make each attribute independent of the label inside every "
    "masked group, so the estimated deviation is 0 for every configuration whatever the data, and its order "
    "would be rounding noise. Use scope='pooled' (order proved for monotone measures), or whole tables: "
    "rounding='controlled' or 'hypergeometric', or solver='integer'."
)


class Verdict:
    """Everything the advisor knows before it answers; `advice` puts it into words."""

    def __init__(
        self,
        summary: Summary,
        measure: Measure,
        scope: Scope,
        solver: Reconstructor,
        masked: dict[str, FloatArray],
        estimates: dict[str, Estimate],
        intervals: dict[str, Interval],
    ) -> None:
        self.summary, self.measure, self.scope, self.solver = summary, measure, scope, solver
        self.estimates, self.intervals = estimates, intervals
        self.names = list(summary.configurations)
        self.attributes = list(summary.attributes)
        self.certified = scope == "pooled" and measure.monotone
        table_of = np.array([[summary.configurations[c][a] for a in self.attributes] for c in self.names])
        columns = range(len(self.attributes))
        self.masked = np.column_stack([masked[self.attributes[i]][table_of[:, i]] for i in columns])
        unmasked = []
        for i, name in enumerate(self.attributes):
            values = estimates[name].values
            if scope == "pooled":  # each view bounds the truth; an estimate outside is moved to the bound
                values = np.clip(values, intervals[name].low, intervals[name].high)
            unmasked.append(values[:, table_of[:, i]])
        self.unmasked = np.stack(unmasked, axis=-1)  # replicate x configuration x attribute
        self.deviation = np.abs(self.unmasked - self.masked)
        self.table_of = table_of
        self.size = max(1e-300, float(np.abs(self.masked).max()), float(np.abs(self.unmasked).max()))

    def advice(self) -> Advice:
        """Rank, decide, and say why."""
        replicated = self.deviation.mean(axis=2)
        pud = replicated.mean(axis=0)
        rank = _ranks(pud, TIE * self.size)
        degenerate = self._degenerate()
        low, high = self._pud_bounds()
        report = self._attribute_report()
        ranking = pd.DataFrame(
            {"configuration": self.names, "pud": pud, "pud_low": low, "pud_high": high, "rank": rank}
        )
        replicates = None
        if len(replicated) > 1:
            wins = [_ranks(row, TIE * self.size) == 1 for row in replicated]
            ranking["pud_std"] = replicated.std(axis=0, ddof=1)
            ranking["wins"] = np.mean([won / won.sum() for won in wins], axis=0)
            replicates = pd.DataFrame(replicated, columns=self.names)
        ranking = ranking.sort_values("rank", kind="stable", ignore_index=True)
        tied = tuple(name for name, r in zip(self.names, rank, strict=True) if r == 1)
        best = None if degenerate else tied[0]
        warnings = [DEGENERATE] if degenerate else self._doubts(tied, ranking)
        warnings += self._notes(report)
        index = pd.Index(self.names, name="configuration")
        return Advice(
            best=best,
            tied=() if degenerate else tied,
            ranking=ranking,
            certified=self.certified and not degenerate,
            warnings=tuple(warnings),
            reason=DEGENERATE if degenerate else self._reason(tied, pud),
            measure=self.measure.name,
            scope=self.scope,
            solver=self.solver.name,
            deviations=pd.DataFrame(self.deviation.mean(axis=0), index=index, columns=self.attributes),
            masked=pd.DataFrame(self.masked, index=index, columns=self.attributes),
            attributes=report,
            replicates=replicates,
        )

    def _degenerate(self) -> bool:
        """Whether every deviation is rounding noise although some tables were not known exactly.

        A reconstruction that makes A and Y independent inside each group has rho(X) = rho(M(A); Y): the
        estimate is 0 whatever the truth is, and its order is that of floating-point noise.
        """
        if self.certified or float(self.deviation.max()) > NOISE * self.size:
            return False
        return not all(
            is_determined(self.summary.attributes[name], int(t))
            for i, name in enumerate(self.attributes)
            for t in np.unique(self.table_of[:, i])
        )

    def _pud_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the true deviation of every configuration, NaN where there is none."""
        nearest = np.array([self.intervals[name].low for name in self.attributes])
        farthest = np.array([self.intervals[name].high for name in self.attributes])
        if not self.measure.higher_is_better:
            nearest, farthest = farthest, nearest
        low = np.abs(nearest - self.masked).mean(axis=1)
        high = np.abs(farthest - self.masked).mean(axis=1)
        return np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)

    def _attribute_report(self) -> pd.DataFrame:
        rows = []
        for i, name in enumerate(self.attributes):
            found = self.estimates[name]
            statuses = {result.status for result in found.reconstructions}
            interval = self.intervals[name]
            rows.append(
                {
                    "attribute": name,
                    "values": self.summary.attributes[name].n_values,
                    "masked_tables": len(self.summary.attributes[name].tables),
                    "estimate": float(self.unmasked[:, :, i].mean()),
                    "low": interval.low if np.isfinite(interval.low) else np.nan,
                    "high": interval.high if np.isfinite(interval.high) else np.nan,
                    "residual": max(result.residual for result in found.reconstructions),
                    "status": max(statuses, key=list(Status).index).name,
                    "method": ", ".join(sorted({result.method for result in found.reconstructions})),
                    "disclosed": self._disclosed(name),
                }
            )
        return pd.DataFrame(rows)

    def _disclosed(self, name: str) -> float:
        """Share of the records that the pooled views give away; NaN where the estimate cannot tell."""
        found = self.estimates[name]
        result = found.reconstructions[0]
        if self.scope != "pooled" or result.norm != "kl" or not result.optimal:
            return np.nan
        key = ("disclosed", name, found.problems[0].histogram is None)
        if key not in self.summary.solved:
            self.summary.solved[key] = disclosed_share(found.problems[0], np.asarray(result.table))
        share: float = self.summary.solved[key]
        return share

    def _left_unmasked(self, name: str) -> bool:
        attribute = self.summary.attributes[name]
        return any(is_determined(attribute, t) for t in range(len(attribute.tables)))

    def _doubts(self, tied: tuple[str, ...], ranking: pd.DataFrame) -> list[str]:
        """What a reader of the first place should know."""
        doubts = []
        if len(tied) > 1:
            shown = ", ".join(tied[:5]) + (", ..." if len(tied) > 5 else "")
            doubts.append(f"tie: {len(tied)} configurations share the first place ({shown}).")
        if "wins" in ranking and not self.certified and ranking["wins"].iloc[0] < 0.5:
            first = ranking.iloc[0]
            doubts.append(
                f"unsure: {first['configuration']} has the least mean deviation but came first in only "
                f"{first['wins']:.0%} of the replicates; scope='pooled' gives an order that does not depend "
                "on the seed."
            )
        outside = (ranking["pud"] < ranking["pud_low"] - NOISE * self.size) | (
            ranking["pud"] > ranking["pud_high"] + NOISE * self.size
        )
        if outside.any():
            first = ranking[outside].iloc[0]
            proved = f"{first['pud_low']:.4g} to {first['pud_high']:.4g}"
            doubts.append(
                f"implausible: {int(outside.sum())} of {len(ranking)} estimates are outside proved bounds "
                f"(such as {first['configuration']}: {first['pud']:.4g}, proved {proved}), so this order "
                "cannot be trusted; use scope='pooled'."
            )
        if not self.measure.monotone:
            doubts.append(
                f"no certificate: {self.measure.title} can improve when values are merged, so nothing is "
                "proved about the order or the bounds."
            )
        return doubts

    def _notes(self, report: pd.DataFrame) -> list[str]:
        """What the provider and the user of the tables should know."""
        notes = []
        disclosed = report.loc[report["disclosed"] > 0.999, "attribute"].tolist()
        unmasked = [name for name in disclosed if self._left_unmasked(name)]
        combined = [name for name in disclosed if name not in unmasked]
        if unmasked:
            notes.append(
                f"disclosed: some configuration leaves {', '.join(map(repr, unmasked))} unmasked, so the "
                "summary holds the unmasked joint table with the label."
            )
        if combined:
            notes.append(
                f"disclosed: the pooled views together determine the unmasked joint table of "
                f"{', '.join(map(repr, combined))} and the label, although each view is masked. Share fewer "
                "configurations of these attributes where that matters."
            )
        notes += [
            f"coarsened: {name!r} was {attribute.coarsening_warning}."
            for name, attribute in self.summary.attributes.items()
            if attribute.coarsening is not None
        ]
        failed = report.loc[report["status"] == Status.NOT_CONVERGED.name, "attribute"].tolist()
        if failed:
            notes.append(
                f"not converged: the tables of {', '.join(map(repr, failed))} miss known totals by up to "
                f"{report['residual'].max():.3g} records; raise max_iterations or time_limit."
            )
        return notes

    def _reason(self, tied: tuple[str, ...], pud: npt.NDArray[np.float64]) -> str:
        gain = float(pud.mean() - pud.min())
        saved = f"its deviation is {pud.min():.4g}, {gain:.4g} less than that of a random choice"
        if self.certified:
            word = "highest" if self.measure.higher_is_better else "lowest"
            return (
                f"{tied[0]} keeps the {word} mean {self.measure.title} of the masked attributes; merging "
                f"values never improves that measure, so this is the order of the true deviation; {saved}."
            )
        return f"{tied[0]} has the least estimated deviation; the order is not proved; {saved}."


def _ranks(values: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.int64]:
    """Competition ranks (1, 2, 2, 4); values closer than `tolerance` to their predecessor are tied."""
    order = np.argsort(values, kind="stable")
    starts = np.concatenate([[True], np.diff(values[order]) > tolerance])
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.flatnonzero(starts)[np.cumsum(starts) - 1] + 1
    return ranks
