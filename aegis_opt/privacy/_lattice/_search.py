"""`search`: the configuration of least deviation among all combinations, under privacy rules."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aegis_opt._options import instance, list_of, number, seed_number
from aegis_opt._progress import reporting
from aegis_opt.errors import InfeasibleSearch, InvalidOption
from aegis_opt.masks._order import normal_orders
from aegis_opt.measures import Measure
from aegis_opt.measures._registry import measure_for
from aegis_opt.privacy._base import PrivacyRule, as_rules
from aegis_opt.privacy._lattice._candidates import Candidates, offers_of
from aegis_opt.privacy._lattice._infeasible import infeasible
from aegis_opt.privacy._lattice._result import SearchResult
from aegis_opt.privacy._lattice._space import Space, read_space
from aegis_opt.privacy._lattice._task import Task, reporter
from aegis_opt.privacy._rules import KAnonymity
from aegis_opt.scores import Score, available_scores
from aegis_opt.sources import Progress


def search(
    source: object,
    label: str,
    candidates: Candidates,
    require: PrivacyRule | Iterable[PrivacyRule] = KAnonymity(5),  # noqa: B008
    suppression: float = 0.0,
    measure: str | Measure = "mi",
    time_limit: float | None = None,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | None = None,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    seed: int = 0,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> SearchResult:
    """Find the configuration of least deviation among all combinations of candidates, under privacy rules.

    The cost of a configuration is the mean over its attributes of what the measure loses,

        1/m sum_i [rho(A_i; Y) - rho(M_i(A_i); Y)],

    on all records. A configuration satisfies the rules when at most floor(s N) of the N records lie in
    classes of the masked quasi-identifiers that violate one, where s is the suppression limit. The search is
    a best-first branch and bound that learns from every combination that violates; where all rules are
    monotone, it proves the optimum of lattices far too large to be listed [1]_.

    Parameters
    ----------
    source : path, DataFrame, Arrow table, DuckDB relation or Spark DataFrame
        The table; see `aegis_opt.sources.scan`. Its distinct records are held in memory.
    label : str
        Column of the class label.
    candidates : mapping, sequence of str, or path
        What may be chosen for each attribute: a `Hierarchy` or its file, whose levels are the candidates, or
        a list of masks, which need not be nested. None stands for masks that are made for the values, after
        `Identity`. A list of attributes makes them for all of these. A folder has one hierarchy per attribute
        in it, ATTRIBUTE.csv. Of a hierarchy that keeps the missing value apart at its top, `Suppress` is one
        candidate more.
    require : PrivacyRule or several
        What every class must satisfy.
    suppression : float
        The share of records, from 0 to 1, that may be suppressed because their classes violate a rule.
    measure : str or Measure
        What is to be kept: "mi", or "mi_loo" where attributes have many values, or any other measure of one
        table. Scores of all attributes together are no sums over attributes, and are refused.
    time_limit : float, optional
        Seconds. The best configuration so far comes back with its gap when they are over, and on Ctrl-C.
    quasi_identifiers : sequence of str, optional
        The attributes by which records can be linked; by default all that have candidates. The others take
        their cheapest candidate.
    sensitive : str, optional
        The sensitive attribute, for rules that need one; by default the label.
    order : mapping, optional
        The order of the sensitive values, for ordered t-closeness, as in `summarize`.
    seed : int
        Seed of the random numbers that stand for classes. It changes no result that is proved.
    memory : str, optional
        Limit of the memory of the scan, such as "1GB".
    progress : bool or callable, optional
        True shows the best so far, the bound, the gap and the tests; a function is called with (what, done,
        of how many).

    Returns
    -------
    SearchResult

    Raises
    ------
    InfeasibleSearch
        If no combination satisfies the rules; the text names what blocks.

    Notes
    -----
    Rules that are monotone under coarsening, with the suppression asked for, prune: k-anonymity and distinct
    l-diversity always, the others without suppression. Where a rule does not, configurations are tried one by
    one in the order of their costs, and `SearchResult.enumerated` says so.

    References
    ----------
    .. [1] P. Samarati, "Protecting respondents' identities in microdata release", IEEE TKDE 13, 2001, for the
       lattice of generalisations; K. El Emam et al., "A globally optimal k-anonymity method for the
       de-identification of health data", JAMIA 16, 2009, for monotone pruning.

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> ages = [ao.Identity(), ao.Bucketize(width=10), ao.Bucketize(width=25), ao.Suppress()]
    >>> weights = [ao.Identity(), ao.Bucketize(width=20), ao.Suppress()]
    >>> found = ao.search(clinic.frame, "health", {"age": ages, "weight": weights}, ao.privacy.KAnonymity(5))
    >>> found.choice, found.proved
    ({'age': 1, 'weight': 2}, True)
    """
    offers, rules, chosen = offers_of(candidates), as_rules(require), measure_of(measure)
    number("suppression", suppression, least=0, most=1)
    if time_limit is not None:
        number("time_limit", time_limit, above=0, unit="seconds")
    seed_number("seed", seed)
    with reporting(progress, "searching") as report:
        space = open_space(
            source, label, offers, chosen, rules, quasi_identifiers, sensitive, order, memory, report
        )
        check_size(rules, suppression, space)
        return run(Task(space, rules, suppression, seed), time_limit, report, "best")


def measure_of(measure: str | Measure | Score) -> Measure:
    """Look a measure up; a score of all attributes together is refused with the reason."""
    if isinstance(measure, Score) or (isinstance(measure, str) and measure in available_scores()):
        name = measure if isinstance(measure, str) else measure.name
        raise InvalidOption(
            f"{name!r} scores all masked attributes together, so that the loss is no sum over attributes, "
            "which the search needs: use a measure such as 'mi' or 'mi_loo'; r2_gcv of the best "
            "configuration is reported beside its cost"
        )
    return measure_for("class", measure)


def open_space(
    source: object,
    label: str,
    offers: Any,
    measure: Measure,
    rules: Sequence[PrivacyRule],
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | None,
    order: Mapping[str, str | Iterable[Any]] | None,
    memory: str | None,
    progress: Progress | None,
) -> Space:
    """Check the names, and read the source."""
    instance("label", label, str, "give the name of a column")
    if label in offers:
        raise InvalidOption(f"{label!r} is the label and has candidates: remove it from the candidates")
    if quasi_identifiers is not None:
        quasi_identifiers = list_of("quasi_identifiers", quasi_identifiers, str, "list names of columns")
        if not quasi_identifiers:
            raise InvalidOption(
                "no quasi-identifier: quasi_identifiers is empty; name at least one attribute"
            )
    needing = [rule for rule in rules if rule.needs_sensitive]
    if sensitive is not None:
        instance("sensitive", sensitive, str, "give the name of a column")
        if not needing:
            raise InvalidOption(f"sensitive={sensitive!r}: none of the rules needs a sensitive attribute")
        if sensitive in offers:
            raise InvalidOption(
                f"the sensitive attribute {sensitive!r} has candidates, so that it would be a "
                "quasi-identifier, too: remove it from the candidates"
            )
    ordered = any(rule.needs_order for rule in rules)
    orders = normal_orders(order)
    if orders and not ordered:
        raise InvalidOption("order is for ordered t-closeness, which is not among the rules: leave it out")
    return read_space(
        source,
        label,
        offers,
        measure,
        quasi_identifiers=quasi_identifiers,
        sensitive=(sensitive or label) if needing else None,
        orders=orders,
        ordered=ordered,
        memory=memory,
        progress=progress,
    )


def check_size(rules: Sequence[PrivacyRule], suppression: float, space: Space) -> None:
    """Refuse a k that no class can reach."""
    n = space.rows.n_records
    for rule in rules:
        if isinstance(rule, KAnonymity) and rule.k > n and suppression < 1:
            raise InfeasibleSearch(
                f"k = {rule.k:,} is more than the {n:,} records of {space.description}, so that no class can "
                "have so many: lower k",
                blocking=tuple(space.names),
            )


def run(task: Task, time_limit: float | None, progress: Progress | None, name: str) -> SearchResult:
    """Search, and say what was found, or why nothing can be."""
    started = time.perf_counter()
    branching = task.branching()
    report = None if progress is None else reporter(task, progress)
    finished = branching.solve(time_limit, report)
    seconds = time.perf_counter() - started
    if finished and branching.best is None:
        raise infeasible(task)
    return SearchResult.of(task, branching, finished, seconds, name)
