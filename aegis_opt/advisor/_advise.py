"""The advisor: rank configurations by predictive utility deviation, from a summary alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, Literal, Unpack, overload

from aegis_opt._files import read_bytes
from aegis_opt._options import flag, path_of, whole_number
from aegis_opt._progress import Progress, reporting
from aegis_opt._shown import shown
from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._attribute_warnings import (
    WITHOUT_CHANCE,
    mostly_chance,
    warning_about_chance,
)
from aegis_opt.advisor._by_numbers import by_measure, by_score
from aegis_opt.advisor._by_tables import ByTables
from aegis_opt.advisor._explain import SingleChanges, chance_of_mi
from aegis_opt.advisor._labels import labels_differ
from aegis_opt.advisor._question import (
    Scope,
)
from aegis_opt.advisor._require import excluded_frame, judged, required, with_figures
from aegis_opt.advisor._several import Advices
from aegis_opt.advisor._solved import SolvedTables
from aegis_opt.advisor._words import (
    compared_with_mi,
)
from aegis_opt.errors import InvalidOption, SummaryError, UnknownColumn, UnknownMeasure
from aegis_opt.measures import Measure, MeasureName, available_measures, chance_share, get_measure
from aegis_opt.measures._registry import measure_for
from aegis_opt.privacy import PrivacyRule
from aegis_opt.rounding import RoundingName
from aegis_opt.scores import Score, ScoreName, available_scores
from aegis_opt.solvers.base import Reconstructor
from aegis_opt.solvers.registry import OwnOptions, SolverName
from aegis_opt.sources._label_view import LabelKind
from aegis_opt.summary import (
    AnySummary,
    ProtectedSummary,
    ScoreSummary,
    SharedScore,
    Summaries,
    Summary,
)
from aegis_opt.summary._identifiers import warning_about_identifiers
from aegis_opt.summary._restricted import restricted_summary
from aegis_opt.summary._sizes import MOST_BYTES

_LOG = logging.getLogger(__name__)

AnyMeasure = MeasureName | ScoreName | Literal["auto"] | Measure | Score
"""What configurations can be ranked by."""


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

    def __init__(self, summary: AnySummary | str | os.PathLike[str]) -> None:
        read, self._read_from = read_summary(summary)
        if isinstance(read, Summaries):
            raise InvalidOption(
                f"an Advisor is about one label, and this summary has {len(read)}: take that of one, such as "
                f"summaries[{read.labels[0]!r}], or ask ao.advise, which answers for all of them"
            )
        summary = read
        self.protected = summary if isinstance(summary, ProtectedSummary) else None
        if isinstance(summary, ProtectedSummary):
            summary = summary._reconciled
        self.summary = summary
        self._parts: dict[tuple[str, ...], Advisor] = {}
        if isinstance(summary, Summary):
            self._solved = SolvedTables(summary)

    def advise(
        self,
        measure: MeasureName | ScoreName | Literal["auto"] | Measure | Score = "auto",
        solver: SolverName | Reconstructor | None = None,
        scope: Scope | None = None,
        rounding: RoundingName | None = None,
        seed: int = 0,
        *,
        replicates: int | None = None,
        histograms: bool | None = None,
        chance: bool = False,
        bootstrap: int | None = None,
        require: PrivacyRule | Iterable[PrivacyRule] | None = None,
        progress: Progress | bool | None = None,
        **options: Unpack[OwnOptions],
    ) -> Advice:
        """Rank the configurations of the summary; parameters and result are those of `aegis_opt.advise`."""
        advisor, reasons = self, None
        if require is not None:
            kept, reasons = judged(self.protected or self.summary, require)
            advisor = self if len(kept) == len(self.summary.configurations) else self._restricted(kept)
        with reporting(progress, "advising") as report:
            advice = advisor._advise(
                measure,
                seed,
                {
                    "solver": solver,
                    "scope": scope,
                    "rounding": rounding,
                    "replicates": replicates,
                    "histograms": histograms,
                    **options,
                },
                chance=chance,
                bootstrap=bootstrap,
                progress=report,
            )
        given: dict[str, object] = {"measure": measure, "solver": solver, "scope": scope}
        given |= {"rounding": rounding, "seed": seed}
        given |= {"replicates": replicates, "histograms": histograms, "chance": chance or None}
        given |= {"bootstrap": bootstrap, "require": required(require), **options}
        asked = {name: _plain(value) for name, value in given.items() if value is not None}
        advice = replace(advice, summary=advisor.protected or advisor.summary, asked=self._read_from | asked)
        if reasons is not None:
            advice = replace(advice, excluded=excluded_frame(reasons))
        winner = "no winner" if advice.best is None else f"best {advice.best!r}"
        _LOG.info("ranked %d configurations by %s: %s", len(advice.ranking), advice.measure, winner)
        return advice

    def _advise(
        self,
        measure: str | Measure | Score,
        seed: int,
        how: Mapping[str, Any],
        *,
        chance: bool,
        bootstrap: int | None,
        progress: Progress | None,
    ) -> Advice:
        """Rank the configurations; `how` says how tables are reconstructed, None where nothing was said."""
        summary, numbers = self.summary, self._numbers
        given = {name: value for name, value in how.items() if value is not None}
        flag("chance", chance)
        if bootstrap is not None:
            whole_number("bootstrap", bootstrap, least=2)
        if isinstance(measure, Score):
            measure = self._shared_score(measure)
        chosen = self._automatic() if isinstance(measure, str) and measure == "auto" else measure
        scored = isinstance(chosen, str) and chosen in self._scores
        if given and (isinstance(summary, ScoreSummary) or (scored and measure != "auto")):
            raise InvalidOption(
                f"nothing is reconstructed for advice by shared numbers: leave out {', '.join(given)}, or "
                "ask for a measure of a summary that shares tables"
            )
        if bootstrap is not None and self.protected is not None:
            raise InvalidOption(
                "bootstrap resamples exact tables, and these are protected: leave it out; the ranking has "
                "intervals of what the protection changes"
            )
        if bootstrap is not None and (scored or isinstance(summary, ScoreSummary)):
            raise InvalidOption(
                "bootstrap resamples shared tables: ask for a measure of a summary that shares them; scores "
                "with folds, such as r2_cv, say by themselves what cannot be told apart"
            )
        if scored:
            shared = self._scores[str(chosen)]
            folds_of = self._scores.get("r2_cv", shared) if chosen == "r2_gcv" else shared
            advice = by_score(
                str(chosen),
                shared,
                folds_of,
                summary,
                self._coarseness(),
                label_is_number=isinstance(summary, ScoreSummary) and summary.label_is_number,
            )
            advice = replace(advice, changes=self._changes_of(str(chosen)))
        elif isinstance(summary, Summary):
            tables = ByTables(self._solved, self.protected, self._coarseness)
            advice = tables.advise(self._known_measure(chosen), seed, given, bootstrap, progress)
        else:
            advice = by_measure(self._shared_measure(chosen, summary), summary)
        if summary.privacy is not None:
            advice = replace(advice, ranking=with_figures(advice.ranking, summary.privacy))
        advice = self._with_attribute_warnings(advice, chance=chance)
        if measure != "auto":
            return advice
        if advice.measure == "mi":
            return replace(advice, by_mi=advice)
        if "mi" in (*self._measures, *(() if numbers is None else numbers.measures)):
            beside = self.advise("mi", seed=seed, progress=progress, **given)
            advice = compared_with_mi(advice, beside, partial(chance_of_mi, summary))
        return advice

    def _restricted(self, configurations: list[str]) -> Advisor:
        """Return the advisor about some of the configurations, which is kept."""
        key = tuple(configurations)
        if key not in self._parts:
            self._parts[key] = Advisor(restricted_summary(self.summary, configurations))
        return self._parts[key]

    @property
    def _numbers(self) -> ScoreSummary | None:
        return self.summary if isinstance(self.summary, ScoreSummary) else self.summary.numbers

    @property
    def _scores(self) -> Mapping[str, SharedScore]:
        return {} if self._numbers is None else self._numbers.scores

    @property
    def _measures(self) -> tuple[str, ...]:
        """The measures that can be asked for: any of tables, else those that were shared."""
        return available_measures() if isinstance(self.summary, Summary) else self.summary.measures

    def _automatic(self) -> str:
        """The best judge that was shared: a race, else `r2_gcv`, else leave-one-out mutual information.

        Of protected tables it is plain mutual information: leave-one-out takes noise for information. Where
        configurations mask the label in different ways, measures go before scores: bits about the label can
        be compared, shares of its variation cannot.
        """
        raced = [name for name, score in self._scores.items() if score.stages is not None]
        tables = "mi_loo" if self.protected is None else "mi"
        wanted = [*raced, "r2_gcv", tables, *self._scores, *self._measures]
        if labels_differ(self.summary):
            wanted = [tables, "mi", "chi2", *wanted]
        return next(name for name in wanted if name in self._scores or name in self._measures)

    def _coarseness(self) -> dict[str, float]:
        """How coarse each configuration is: by the size of its masked tables, or else by what they tell."""
        summary = self.summary
        if isinstance(summary, Summary):
            return {
                name: -sum(summary.attributes[a].tables[t].joint.size for a, t in chosen.items())
                for name, chosen in summary.configurations.items()
            }
        measure = "eta2" if summary.label_is_number else "mi"
        if measure not in summary.measures:
            return {}
        told = by_measure(get_measure(measure), summary).masked.mean(axis=1)
        return {str(name): -value for name, value in told.items()}

    def _shared_score(self, score: Score) -> str:
        """Return the name of a score that was shared."""
        if score.name not in self._scores:
            hint = (
                "A score is computed from the records, which only the provider has: "
                "summarize(..., share='scores', scores=[...]), and then ask for its name."
            )
            raise UnknownMeasure("score", score.name, [*self._scores, *self._measures], hint)
        return score.name

    def _shared_measure(self, measure: str | Measure, summary: ScoreSummary) -> Measure:
        """Return a measure whose values were shared."""
        name: object = measure.name if isinstance(measure, Measure) else measure
        if not isinstance(name, str) or name not in summary.measures:
            kind: LabelKind = "number" if summary.label_is_number else "class"
            if isinstance(name, str) and name in available_measures(
                "class" if kind == "number" else "number"
            ):
                measure_for(kind, name)  # says that it is about another kind of label
            known = [*self._scores, *self._measures]
            hint = "These are the scores and measures that the provider shared; ask for another summary."
            raise UnknownMeasure("measure", name, known, hint)
        return get_measure(measure)

    def _known_measure(self, measure: str | Measure) -> Measure:
        """Look a measure up; say which scores there are, where it is none."""
        if not isinstance(measure, str) or measure in available_measures("number"):
            return measure_for("class", measure)
        if measure not in self._measures:
            is_score = measure in available_scores()
            hint = "The provider computes scores from the records: summarize(..., share='scores' or 'both')."
            known = [*self._scores, *self._measures]
            raise UnknownMeasure("score" if is_score else "measure", measure, known, hint if is_score else "")
        return get_measure(measure)

    def _changes_of(self, score: str) -> SingleChanges | None:
        """What is known about changes of masks by a score, or else by another one that was shared."""
        for name in (score, *self._scores):
            found = SingleChanges.of_score(name, self._scores[name], self.summary)
            if found is not None:
                return found
        return None

    def _with_attribute_warnings(self, advice: Advice, *, chance: bool) -> Advice:
        """Warn of attributes that look like identifiers, and of those whose measure is mostly chance."""
        found = []
        if isinstance(self.summary, Summary) and self.protected is None:
            counts_chance = advice.measure not in (*self._scores, *WITHOUT_CHANCE)
            told = warning_about_identifiers(self.summary, counts_chance=counts_chance)
            found += [told] if told else []
        if chance:
            advice = self._with_chance(advice)
        elif advice.measure not in self._scores and advice.measure in (
            *available_measures(),
            *available_measures("number"),
        ):
            measure = get_measure(advice.measure)
            much = mostly_chance(measure, self.summary)
            found += [warning_about_chance(measure, much)] if much else []
        return replace(advice, warnings=advice.warnings + tuple(found)) if found else advice

    def _with_chance(self, advice: Advice) -> Advice:
        """Say how much of each attribute's measure is chance, and warn where it is more than half."""
        if not isinstance(self.summary, Summary) or advice.measure in self._scores:
            raise InvalidOption(
                "chance=True is about measures of tables: ask for a measure, of shared tables"
            )
        measure = get_measure(advice.measure)
        shares = [self._chance_of(measure, name) for name in advice.attributes["attribute"]]
        attributes = advice.attributes.assign(chance=shares)
        much = [name for name, share in zip(attributes["attribute"], shares, strict=True) if share > 0.5]
        warnings = advice.warnings
        if much:
            warnings += (warning_about_chance(measure, much),)
        return replace(advice, attributes=attributes, warnings=warnings)

    def _chance_of(self, measure: Measure, attribute: str) -> float:
        """Share of chance in the finest table that is shared of an attribute: the most telling one."""
        tables = [table.joint for table in self._solved.summary.attributes[attribute].tables]
        return chance_share(measure, max(tables, key=len))


def read_summary(summary: object) -> tuple[AnySummary | Summaries, dict[str, Any]]:
    """Return a summary, read from its file where that is given, and what is known about the file."""
    if isinstance(summary, AnySummary | Summaries):
        return summary, {}
    made = "make one of a table with aegis_opt.summarize(table, label, configurations)"
    path = path_of("summary", summary, f"it is a Summary or the path of one; {made}")
    read = Summary.load(path)
    data = read_bytes(path, str(path), SummaryError, most=MOST_BYTES)
    return read, {"summary": str(path), "sha256": sha256(data).hexdigest()}


def _plain(value: Any) -> Any:
    """Return an option as a plain value: objects such as a measure by their name."""
    if isinstance(value, str | int | float | bool):
        return value
    return str(getattr(value, "name", shown(value)))


@overload
def advise(
    summary: AnySummary | str | os.PathLike[str],
    measure: MeasureName | ScoreName | Literal["auto"] | Measure | Score = "auto",
    solver: SolverName | Reconstructor | None = None,
    scope: Scope | None = None,
    rounding: RoundingName | None = None,
    seed: int = 0,
    *,
    replicates: int | None = None,
    histograms: bool | None = None,
    chance: bool = False,
    bootstrap: int | None = None,
    require: PrivacyRule | Iterable[PrivacyRule] | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[OwnOptions],
) -> Advice: ...


@overload
def advise(
    summary: Summaries,
    measure: AnyMeasure | Mapping[str, AnyMeasure] = "auto",
    solver: SolverName | Reconstructor | None = None,
    scope: Scope | None = None,
    rounding: RoundingName | None = None,
    seed: int = 0,
    *,
    replicates: int | None = None,
    histograms: bool | None = None,
    chance: bool = False,
    bootstrap: int | None = None,
    require: PrivacyRule | Iterable[PrivacyRule] | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[OwnOptions],
) -> Advices: ...


def advise(
    summary: AnySummary | Summaries | str | os.PathLike[str],
    measure: AnyMeasure | Mapping[str, AnyMeasure] = "auto",
    solver: SolverName | Reconstructor | None = None,
    scope: Scope | None = None,
    rounding: RoundingName | None = None,
    seed: int = 0,
    *,
    replicates: int | None = None,
    histograms: bool | None = None,
    chance: bool = False,
    bootstrap: int | None = None,
    require: PrivacyRule | Iterable[PrivacyRule] | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[OwnOptions],
) -> Advice | Advices:
    """Rank masking configurations by how much predictive utility they keep.

    The predictive utility deviation of configuration M over attributes A_1..A_m is

        PUD(M) = 1/m sum_i abs(rho(A_i; Y) - rho(M_i(A_i); Y)),

    where rho(M_i(A_i); Y) is computed from the shared masked tables and rho(A_i; Y) from reconstructed ones.

    This is the one-shot form of `Advisor(summary).advise(...)`, which keeps what was solved for the next
    question about the same summary.

    Parameters
    ----------
    summary : Summary, ScoreSummary, ProtectedSummary, Summaries or path
        What the provider shared. Several labels (`Summaries`, or a file of them) have an advice each, and one
        ranking for all of them together. Protected counts are reconciled first: the nearest tables without
        negative counts and of the same label totals. Nothing is certified then, and the ranking has
        intervals: difference, difference_low, difference_high, rank_low and rank_high.
    measure : str, Measure or Score
        A score that was shared, one of `available_measures()`, or a measure of your own. "auto" takes what
        best tells on which configuration models are accurate: a race where one was shared, else `r2_gcv`,
        else `mi_loo`, or `mi` where counts are protected, whose noise `mi_loo` takes for information. It
        carries the certified order by mutual information beside it (`by_mi`). Of several labels, a mapping
        may say which holds for each.
    solver : str or Reconstructor, optional
        One of `available_solvers()`, or a configured solver; by default "ipf".
    scope : {"pooled", "single"}, optional
        "pooled", the default, reconstructs each attribute once from all masked tables together. For a
        monotone measure its order is provably the order of the true deviation. "single" reconstructs each
        configuration from its own view (Algorithm 1 of the Aegis paper); without integrality that estimate is
        0 for every configuration, and no winner is named.
    rounding : str, optional
        Make fractional tables whole; see `aegis_opt.rounding`. "drawn" estimates the size of the deviation:
        raw tables have sampling noise, which smooth tables lack and drawn ones have. `pud` is then the mean
        over draws, with their 5% and 95% points beside it.
    seed : int
        Of random roundings and solvers.
    replicates : int, optional
        How often a random estimate is repeated (default 20); 1 for estimates that are not random.
    histograms : bool, optional
        False ignores the 1-D histograms of the summary; True requires them; None uses them where shared.
    chance : bool
        Whether to say how much of each attribute's measure is chance (`attributes`, column chance): its
        expectation under shuffled labels, for the finest table that is shared of the attribute.
    bootstrap : int, optional
        How often to resample the records behind the shared tables, 200 for example, to say which
        configurations cannot be told apart from the winner (`equivalent`) and how far each is behind it
        (`ranking`, columns difference, difference_low and difference_high: a 95% interval). It covers the
        sampling noise of the tables: whether another sample of as many records would give another order. A
        replicate draws labels, which all attributes share, and for each attribute apart the values of the
        records of each label, from the table that all views of the attribute tell together; every mask is
        applied to the same draw. Tables do not say how attributes depend on each other given the label, so
        that they are independent given the label here: where attributes repeat each other, these intervals
        are too narrow. Where the true difference is close to 0 they are wider than they need be.
    require : PrivacyRule or sequence of PrivacyRule, optional
        Privacy rules, such as ``ao.privacy.KAnonymity(5)``, of which the provider shared the figures
        (``summarize(rules=...)``). Configurations that fail are out of the ranking (`Advice.excluded` lists
        them). The level may differ from that of the rule that was shared: with figures of k-anonymity, any k
        can be required.
    progress : bool or callable, optional
        True shows how far the work is: a bar in a terminal or a notebook, else a line every few seconds. A
        function is called with (what, done, of how many).
    **options
        The solver's own options, such as `norm`, and `on_conflict`. Where contradictory totals are repaired,
        nothing is certified.

    Returns
    -------
    Advice, or Advices for several labels

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
    read, read_from = read_summary(summary)
    options_of_all: dict[str, Any] = {
        "solver": solver,
        "scope": scope,
        "rounding": rounding,
        "seed": seed,
        "replicates": replicates,
        "histograms": histograms,
        "chance": chance,
        "bootstrap": bootstrap,
        "require": require,
        "progress": progress,
        **options,
    }
    if isinstance(read, Summaries):
        measures = _measure_of_each(measure, read)
        return Advices(
            {
                label: _advisor(one, read_from).advise(measures[label], **options_of_all)
                for label, one in read.items()
            }
        )
    if isinstance(measure, Mapping):
        raise InvalidOption(
            "a measure for each label is about several labels, and this summary has one: name it"
        )
    return _advisor(read, read_from).advise(measure, **options_of_all)


def _advisor(summary: AnySummary, read_from: dict[str, Any]) -> Advisor:
    """Return the advisor about a summary that was read already."""
    advisor = Advisor(summary)
    advisor._read_from = read_from
    return advisor


def _measure_of_each(
    measure: AnyMeasure | Mapping[str, AnyMeasure], summaries: Summaries
) -> dict[str, AnyMeasure]:
    """Return the measure that is asked for, for each label."""
    if not isinstance(measure, Mapping):
        return dict.fromkeys(summaries, measure)
    for label in measure:
        if label not in summaries:
            raise UnknownColumn("label", label, summaries, "It was named in measure.")
    return {label: measure.get(label, "auto") for label in summaries}
