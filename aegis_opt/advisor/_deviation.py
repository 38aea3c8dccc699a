"""The arithmetic of the deviation: masked against unmasked values, means, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.advisor._bounds import Interval
from aegis_opt.advisor._estimate import Estimate
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.summary import Summary

NOISE = 1e-9  # deviations below this share of the measure's size are rounding noise
TIE = 1e-12  # deviations that differ by less than this share of the measure's size are equal
POINTS = (5, 95)  # percent of the replicates that lie below, where these are draws of the unknown table


@dataclass(frozen=True, eq=False)
class Deviation:
    """How far the measure of each masked attribute is from the estimate of the unmasked one."""

    configurations: tuple[str, ...]
    attributes: tuple[str, ...]
    masked: FloatArray  # configurations x attributes
    unmasked: FloatArray  # replicates x configurations x attributes
    measure: Measure

    @classmethod
    def of(
        cls,
        measure: Measure,
        summary: Summary,
        masked: Mapping[str, FloatArray],
        estimates: Mapping[str, Estimate],
        limits: Mapping[str, Interval],
    ) -> Deviation:
        """Compare the values of each configuration's tables; estimates outside the limits move to them."""
        masked_columns, unmasked_columns = [], []
        for name, limit in limits.items():
            table_of = np.array([chosen[name] for chosen in summary.configurations.values()])
            values = np.clip(estimates[name].values, limit.low, limit.high)
            masked_columns.append(masked[name][table_of])
            unmasked_columns.append(values[:, table_of])
        return cls(
            tuple(summary.configurations),
            tuple(limits),
            np.stack(masked_columns, axis=-1),
            np.stack(unmasked_columns, axis=-1),
            measure,
        )

    @cached_property
    def each(self) -> FloatArray:
        """The deviation of each attribute; replicates x configurations x attributes."""
        return np.abs(self.unmasked - self.masked)

    @cached_property
    def by_replicate(self) -> FloatArray:
        """The predictive utility deviation in each replicate; replicates x configurations."""
        return np.asarray(self.each.mean(axis=2))

    @cached_property
    def pud(self) -> FloatArray:
        """The predictive utility deviation of each configuration, the mean over replicates."""
        return np.asarray(self.by_replicate.mean(axis=0))

    @cached_property
    def score(self) -> FloatArray:
        """The measure of the masked attributes of each configuration, the mean over them."""
        return np.asarray(self.masked.mean(axis=1))

    @cached_property
    def by_score(self) -> bool:
        """Whether configurations rank by the masked value of the measure."""
        return not (self.measure.monotone and np.isfinite(self.unmasked).all())

    @property
    def standing(self) -> FloatArray:
        """What configurations are ranked by, least first: their deviation, or their score.

        A mask may improve a measure that is not monotone. The distance to the unmasked value would then count
        against it, so such a measure ranks by its masked value. So does any measure whose unmasked value
        nobody knows.
        """
        if not self.by_score:
            return self.pud
        return -self.score if self.measure.higher_is_better else self.score

    @cached_property
    def size(self) -> float:
        """The largest value of the measure, against which noise is small."""
        known = self.unmasked[np.isfinite(self.unmasked)]
        return max(1e-300, float(np.abs(self.masked).max()), float(np.abs(known).max(initial=0.0)))

    @property
    def is_noise(self) -> bool:
        """Whether no deviation is larger than rounding noise."""
        return float(self.each.max()) <= NOISE * self.size

    @property
    def tied(self) -> tuple[str, ...]:
        """The configurations that share the first place."""
        first = self._ranks(self.standing) == 1
        return tuple(name for name, won in zip(self.configurations, first, strict=True) if won)

    def ranking(self, low: FloatArray, high: FloatArray, *, known: bool, drawn: bool = False) -> pd.DataFrame:
        """Return the configurations, best first, with bounds of their deviation.

        Where they rank by score, the deviation stands beside it only if the unmasked tables are `known`.
        Where replicates are `drawn` from the distribution of the unknown tables, their 5% and 95% points
        stand there, too.
        """
        scored, ranks = self.by_score, self._ranks(self.standing)
        order = np.argsort(ranks, kind="stable")
        pud = np.full(len(self.pud), np.nan) if scored and not known else self.pud
        ranking = pd.DataFrame(
            {
                "configuration": [self.configurations[i] for i in order.tolist()],
                **({"score": self.score[order]} if scored else {}),
                "pud": pud[order],
                "pud_low": low[order],
                "pud_high": high[order],
                "rank": ranks[order],
            }
        )
        if len(self.by_replicate) > 1 and not scored:
            won = np.array([self._ranks(row) == 1 for row in self.by_replicate])
            ranking["pud_std"] = self.by_replicate.std(axis=0, ddof=1)[order]
            ranking["wins"] = (won / won.sum(axis=1, keepdims=True)).mean(axis=0)[order]
            if drawn:
                ranking[["pud_5", "pud_95"]] = np.percentile(self.by_replicate, POINTS, axis=0).T[order]
        return ranking

    def spread(self, attribute: int) -> dict[str, float]:
        """Return the 5% and 95% points of the estimates of one attribute."""
        low, high = np.percentile(self.unmasked[:, :, attribute].mean(axis=1), POINTS)
        return {"estimate_5": float(low), "estimate_95": float(high)}

    def frame(self, values: FloatArray) -> pd.DataFrame:
        """Label a configurations x attributes array."""
        index, columns = self._names
        return pd.DataFrame(values, index=index, columns=columns)

    @cached_property
    def _names(self) -> tuple[pd.Index, pd.Index]:
        return pd.Index(self.configurations, name="configuration"), pd.Index(list(self.attributes))

    def _ranks(self, values: FloatArray) -> npt.NDArray[np.int64]:
        """Competition ranks (1, 2, 2, 4); values that hardly differ from their predecessor are tied."""
        order = np.argsort(values, kind="stable")
        starts = np.concatenate([[True], np.diff(values[order]) > TIE * self.size])
        ranks = np.empty(len(values), dtype=np.int64)
        ranks[order] = np.flatnonzero(starts)[np.cumsum(starts) - 1] + 1
        return ranks
