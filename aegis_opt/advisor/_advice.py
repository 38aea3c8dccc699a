"""The advisor's answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from aegis_opt.measures import Measure


@dataclass(frozen=True)
class Criterion:
    """What configurations are ranked by: a measure of the masked attributes, or a score of all together.

    Parameters
    ----------
    name, title : str
        What users type, and what people read.
    higher_is_better : bool
        Which end of the values is the better one.
    unit : str
        Such as "bits"; empty for plain numbers.
    digits : int
        Decimals worth showing.
    """

    name: str
    title: str
    higher_is_better: bool = True
    unit: str = ""
    digits: int = 4

    @classmethod
    def of(cls, measure: Measure) -> Criterion:
        """Describe a measure."""
        return cls(measure.name, measure.title, measure.higher_is_better, measure.unit, measure.digits)


@dataclass(frozen=True, eq=False)
class Advice:
    """Which configuration keeps the features most predictive, and how far that can be trusted.

    Attributes
    ----------
    best : str or None
        The winner; None when the estimate cannot tell (`reason` says why and what to use instead).
    tied : tuple of str
        All configurations that share the first place, the winner among them.
    ranking : DataFrame
        Columns configuration, pud, pud_low, pud_high, rank, best first; `pud_low` and `pud_high` are proved
        bounds of the true deviation (NaN where nothing is proved). Random estimates add pud_std and
        wins, the share of replicates in which the configuration came first. Drawn tables add pud_5 and
        pud_95, between which 90% of the replicates lie. A measure that is not monotone may be improved by a
        mask, so it ranks by its mean over the masked attributes: column score. The deviation then stands
        beside it where the unmasked tables are known, else it is NaN.
    certified : bool
        Whether the order is provably that of the true deviation.
    warnings : tuple of str
        Degenerate estimates, disclosed attributes, ties, totals that the tables miss or that were repaired.
    reason : str
        Why this winner, or why none.
    criterion : Criterion
        What the configurations are ranked by; `measure` is its name.
    scope, solver : str or None
        How tables were reconstructed; None where none were.
    deviations : DataFrame
        Configuration x attribute: the estimated deviation of each attribute (their mean is `pud`).
    masked : DataFrame
        Configuration x attribute: the measure of each masked attribute.
    attributes : DataFrame
        One row per attribute: estimate of the unmasked measure (with estimate_5 and estimate_95, where
        tables were drawn), its proved bounds, how the tables were found, and the worst status and largest
        residual of all tables that were measured, after rounding.
    replicates : DataFrame or None
        Replicate x configuration: the deviation in each random replicate.
    equivalent : tuple of str
        Configurations that the data cannot tell apart from the winner, which is one of them; empty where
        nothing is known about that.
    by_mi : Advice or None
        The certified order by mutual information, which ``measure="auto"`` carries beside its own.
    seconds : dict of str to float
        Time per phase.
    """

    best: str | None
    tied: tuple[str, ...]
    ranking: pd.DataFrame
    certified: bool
    warnings: tuple[str, ...]
    reason: str
    criterion: Criterion
    scope: str | None
    solver: str | None
    deviations: pd.DataFrame
    masked: pd.DataFrame
    attributes: pd.DataFrame
    replicates: pd.DataFrame | None = None
    equivalent: tuple[str, ...] = ()
    by_mi: Advice | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    def ranking_by_attribute(self) -> pd.DataFrame:
        """Return the ranking with one more column per attribute: its estimated deviation."""
        wide = self.deviations.loc[self.ranking["configuration"]].reset_index(drop=True)
        taken = set(self.ranking.columns)
        wide.columns = [f"{name} (attribute)" if name in taken else name for name in wide.columns]
        return pd.concat([self.ranking, wide], axis="columns")

    @property
    def measure(self) -> str:
        """Name of the measure or score that the configurations are ranked by."""
        return self.criterion.name

    @property
    def ranked_by(self) -> str:
        """The column of `ranking` that decides: "pud", least first, or "score", best first."""
        return "score" if "score" in self.ranking else "pud"

    @property
    def random_choice_pud(self) -> float:
        """Expected deviation of a configuration drawn at random: what it costs not to ask."""
        return float(self.ranking["pud"].mean())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values; what is not known is None."""

        def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
            return frame.astype(object).where(frame.notna(), None).to_dict("records")

        document = {
            "best": self.best,
            "tied": list(self.tied),
            "certified": self.certified,
            "reason": self.reason,
            "warnings": list(self.warnings),
            "measure": self.measure,
            "scope": self.scope,
            "solver": self.solver,
            "ranking": records(self.ranking),
            "deviations": dict(zip(self.deviations.index, records(self.deviations), strict=True)),
            "attributes": records(self.attributes),
            "equivalent": list(self.equivalent),
            "seconds": dict(self.seconds),
        }
        return document if self.by_mi is None else document | {"by_mi": self.by_mi.to_dict()}

    def __repr__(self) -> str:
        kind = "certified" if self.certified else "estimated"
        return f"<Advice: best {self.best!r} of {len(self.ranking)}, {kind} order by {self.measure}>"
