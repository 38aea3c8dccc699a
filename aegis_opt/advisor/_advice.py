"""The advisor's answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt import _later
from aegis_opt._display import Card, Displayed
from aegis_opt._options import flag, known_name
from aegis_opt.advisor._criterion import Criterion
from aegis_opt.advisor._explain import SingleChanges, Suggestion
from aegis_opt.errors import InvalidOption
from aegis_opt.summary import AnySummary

if TYPE_CHECKING:
    from altair import LayerChart


@dataclass(frozen=True, eq=False)
class Advice(Displayed):
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
        beside it where the unmasked tables are known, else it is NaN. Scores with folds, and ``bootstrap``,
        add difference, difference_low and difference_high: how far the configuration is behind the winner,
        in the mean of the folds or by the tables, and the 95% interval. `r2_gcv` is judged by the folds of
        `r2_cv`, where these are shared. Privacy figures that were shared are columns such as k_anonymity.
        Protected tables add differences, too, for what the protection changes, and rank_low and rank_high.
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
    changes : SingleChanges or None
        The score after every change of one mask, which `explain` and `suggest` rest on; None where it is not
        known.
    excluded : DataFrame
        Columns configuration and reason: the configurations that are out of the ranking because they fail a
        privacy rule that was required.
    by_mi : Advice or None
        The certified order by mutual information, which ``measure="auto"`` carries beside its own.
    seconds : dict of str to float
        Time per phase.
    summary : Summary, ScoreSummary, ProtectedSummary or None
        What the advice rests on.
    asked : mapping of str to value
        The options of the call that were given, and the file and the SHA-256 of the summary where it was read
        from one.
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
    changes: SingleChanges | None = None
    by_mi: Advice | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    excluded: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["configuration", "reason"]))
    summary: AnySummary | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    def ranking_by_attribute(self) -> pd.DataFrame:
        """Return the ranking with one more column per attribute: its estimated deviation."""
        wide = self.deviations.loc[self.ranking["configuration"]].reset_index(drop=True)
        taken = set(self.ranking.columns)
        wide.columns = [f"{name} (attribute)" if name in taken else name for name in wide.columns]
        return pd.concat([self.ranking, wide], axis="columns")

    def explain(self, configuration: str | None = None) -> pd.DataFrame:
        """Say what each mask of a configuration costs: which one to relax first.

        The score is that of the advice. Where it comes from a model, or from another score of which the
        provider shared no changes, it is `r2_gcv` (``advice.changes.criterion`` says which). A measure of
        tables is the mean over the attributes, so an attribute's part is its own change divided by their
        number; without a mask its value is the estimate, or the exact one where it was shared.

        Parameters
        ----------
        configuration : str, optional
            By default the winner.

        Returns
        -------
        DataFrame
            One row per attribute, the costliest first: attribute, mask, cost (by how much the score would be
            better with this attribute alone unmasked; negative where the mask helps, NaN where that is not
            known), other_mask (of the masks that the configurations have for the attribute, the one that
            gains most in place of this one), gain (how much; negative where every other one is worse), chance
            (share of the masked attribute's mutual information with the label that shuffled labels would
            give, too).

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(500)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> list(advice.explain("strictest").columns)
        ['attribute', 'mask', 'cost', 'other_mask', 'gain', 'chance']
        """
        return self._explained_by().explain(self._named(configuration))

    def suggest(self, configuration: str | None = None, *, unmasked: bool = False) -> Suggestion | None:
        """Propose the single change of one mask that gains most.

        The candidates are the masks that some configuration of the summary has for the same attribute, one
        attribute at a time; no mask that is in no configuration is considered. The score alone decides: a
        finer mask shows more, and may not be private enough.

        Parameters
        ----------
        configuration : str, optional
            By default the winner.
        unmasked : bool
            Whether no mask at all is a candidate, too, where its score is known.

        Returns
        -------
        Suggestion or None
            None where no change gains. ``str()`` of it is a sentence.
        """
        return self._explained_by().suggest(self._named(configuration), unmasked=flag("unmasked", unmasked))

    def plot(self, top: int | None = None, truth: Mapping[str, float] | None = None) -> LayerChart:
        """Draw the ranking: a dot per configuration and, as a line, the proved bounds of its true deviation.

        Where the configurations are ranked by a score, the dots are scores, and the lines are the 95%
        intervals of the difference from the winner, where these are known. A line that would squeeze the
        dots together is cut with an arrow; the numbers at the right say where it ends.

        Parameters
        ----------
        top : int, optional
            How many configurations to draw, best first; by default 50. The figure says how many there are.
        truth : mapping of str to float, optional
            The true deviation of each configuration, if the raw table is known.

        Returns
        -------
        altair.LayerChart
            Interactive in a notebook. ``chart.save("ranking.png")`` writes it; .svg, .pdf and .html work,
            too, and none of them needs a network.

        Raises
        ------
        MissingDependency
            If altair is not installed.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(300)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> advice.plot(top=5).to_dict()["title"]["subtitle"][-1]
        'Shown are the first 5 of 12 configurations.'
        """
        chart: LayerChart = _later.call("plot_ranking", self, top=top, truth=truth)
        return chart

    def plot_attributes(self, top: int | None = None, attributes: int | None = None) -> LayerChart:
        """Draw what each attribute loses under each configuration, as a heat map.

        The numbers are `deviations`. Where these are not known, they are `masked`: what is left of the
        measure. A score of all attributes together does not tell them apart, so mutual information does,
        where it is known.

        Parameters
        ----------
        top : int, optional
            How many configurations to draw, best first; by default 20.
        attributes : int, optional
            How many attributes to draw, those that lose most; by default 40.

        Returns
        -------
        altair.LayerChart
            As `plot` does.

        Raises
        ------
        InvalidOption
            If nothing is known about single attributes.
        MissingDependency
            If altair is not installed.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(300)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> advice.plot_attributes().to_dict()["title"]["text"]
        'What each attribute loses'
        """
        chart: LayerChart = _later.call("plot_attributes", self, top=top, attributes=attributes)
        return chart

    def _explained_by(self) -> SingleChanges:
        if self.changes is None:
            raise InvalidOption(
                f"the provider shared no changes of {self.measure!r}, so nothing explains it: make the "
                "summary with explain=True, or ask for a measure, which explains itself: measure='mi_loo'"
            )
        return self.changes

    def _named(self, configuration: str | None) -> str:
        """Return a configuration by its name, or the winner."""
        chosen = self.best if configuration is None else configuration
        if chosen is None:
            raise InvalidOption("there is no winner to explain: name a configuration")
        return known_name("configuration", chosen, list(self.deviations.index))

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
            "excluded": records(self.excluded),
            "seconds": dict(self.seconds),
        }
        return document if self.by_mi is None else document | {"by_mi": self.by_mi.to_dict()}

    def explanation_to_dict(self, configuration: str | None = None) -> dict[str, Any]:
        """Return what `explain` and `suggest` say as JSON-ready values; what is not known is None."""
        suggestion = self.suggest(configuration)
        return {
            "configuration": self._named(configuration),
            "measure": self._explained_by().criterion.name,
            "attributes": records(self.explain(configuration)),
            "suggestion": None if suggestion is None else suggestion.to_dict(),
        }

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the decision record: a page for the data provider who must decide, and sign.

        It opens with the conclusion, says whether that is proved, estimated or cannot be told, and why the
        next configuration was not taken. Then come the ranking with its bounds, what each attribute loses,
        what was checked about privacy, the chosen configuration in words, as YAML and as SQL, what the
        summary discloses, what was assumed, and how to make the record again. The page holds all it needs,
        works without a network, and prints on A4.

        Parameters
        ----------
        path : path
            The page, which ends in .html; it is written whole or not at all.

        Returns
        -------
        Path
            The page.

        Raises
        ------
        InvalidInput
            If the path names no page.
        MissingDependency
            If altair is not installed.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(300)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> page = advice.report("advice.html")
        >>> page.read_text()[:15]
        '<!doctype html>'
        """
        page: Path = _later.call("write_record", self, path)
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the advice and the summary it rests on to one JSON file: .json, or .json.gz to compress it.

        Examples
        --------
        >>> import tempfile
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(500)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     advice.save(f"{folder}/advice.json")
        ...     ao.Advice.load(f"{folder}/advice.json").best == advice.best
        True
        """
        from aegis_opt.advisor._file import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Advice:
        """Read an advice that `save` wrote; check everything in the file.

        Raises
        ------
        AdviceError
            If the file is malformed, cut short, too large, or of a newer version.
        """
        from aegis_opt.advisor._file import load

        return load(path)

    def to_markdown(self) -> str:
        """Return the advice as Markdown: the conclusion, the whole ranking and the warnings.

        Examples
        --------
        >>> import aegis_opt as ao
        >>> clinic = ao.datasets.clinic(500)
        >>> advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi")
        >>> print(advice.to_markdown().splitlines()[0])
        ## Advice: 12 configurations by deviation of mutual information (bits)
        """
        from aegis_opt.advisor._conclusion import card_of

        return card_of(self, most=None).markdown()

    def _card(self) -> Card:
        from aegis_opt.advisor._conclusion import card_of

        return card_of(self)

    def __repr__(self) -> str:
        kind = "certified" if self.certified else "estimated"
        return f"<Advice: best {self.best!r} of {len(self.ranking)}, {kind} order by {self.measure}>"


def records(frame: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows of a frame as JSON-ready values; what is not known is None."""
    known = frame.notna() & (frame != np.inf)
    return frame.astype(object).where(known, None).to_dict("records")
