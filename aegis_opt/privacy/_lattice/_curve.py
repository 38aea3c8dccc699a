"""The trade-off: the least deviation for every k and suppression limit, and which attribute pays for it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from aegis_opt import _later
from aegis_opt._display import FEW, Card, Displayed
from aegis_opt._options import is_number, is_whole, number, seed_number, whole_number
from aegis_opt._progress import reporting
from aegis_opt.errors import InfeasibleSearch, InvalidOption
from aegis_opt.measures import Measure
from aegis_opt.privacy._base import PrivacyRule, as_rules
from aegis_opt.privacy._lattice._candidates import Candidates, offers_of
from aegis_opt.privacy._lattice._result import SearchResult
from aegis_opt.privacy._lattice._search import check_size, measure_of, open_space, run
from aegis_opt.privacy._lattice._task import Task
from aegis_opt.privacy._lattice._violations import Point
from aegis_opt.privacy._rules import KAnonymity
from aegis_opt.sources import Progress

if TYPE_CHECKING:
    from altair import LayerChart


@dataclass(frozen=True, eq=False, repr=False)
class SearchCurve(Displayed):
    """The cheapest configuration for every k and suppression limit.

    Attributes
    ----------
    results : dict of (int, float) to SearchResult
        For each k and suppression limit what was found; absent where no configuration satisfies the rules.
    infeasible : dict of (int, float) to str
        Why there is none.
    table : DataFrame
        One row per suppression limit and k: cost, bound, proved, records suppressed, what the step from the k
        before costs (`step`), and which attribute loses most by it (`pays`).
    attributes : DataFrame
        One row per suppression limit, k and attribute: its candidate, mask and loss, and how much more it
        loses than at the k before (`step`).
    """

    results: dict[tuple[int, float], SearchResult]
    infeasible: dict[tuple[int, float], str]
    table: pd.DataFrame
    attributes: pd.DataFrame

    @property
    def checks(self) -> int:
        """How many points of the lattice were tested."""
        return sum(result.checks for result in self.results.values())

    @property
    def proved(self) -> bool:
        """Whether every cost is proved the least."""
        return all(result.proved for result in self.results.values())

    def plot(self) -> LayerChart:
        """Draw the cost against k, one line per suppression limit; hollow points are not proved.

        Each point names the attribute that pays most for the step from the k before.

        Returns
        -------
        altair.LayerChart
            Interactive in a notebook; ``chart.save("curve.png")`` writes it (.svg, .pdf and .html, too).

        Raises
        ------
        MissingDependency
            If altair is not installed.
        """
        chart: LayerChart = _later.call("plot_search_curve", self)
        return chart

    def __repr__(self) -> str:
        proved = sum(result.proved for result in self.results.values())
        return f"<SearchCurve: {len(self.results)} points, {proved} proved, {self.checks:,} tests>"

    def _card(self) -> Card:
        rows = []
        for row in self.table.head(FEW).to_dict("records"):
            step = "-" if pd.isna(row["step"]) else f"{row['step']:.6g}"
            rows.append(
                [f"{row['suppression']:g}", str(row["k"]), f"{row['cost']:.6g}", step, row["pays"] or "-"]
            )
        proved = sum(result.proved for result in self.results.values())
        return Card(
            title="Cost of privacy",
            conclusion=f"{proved} of {len(self.results)} points are proved; {self.checks:,} tests.",
            columns=["suppression", "k", "cost", "step", "pays"],
            rows=rows,
            left=["pays"],
            more="" if len(self.table) <= FEW else f"The first {FEW} rows; curve.table has all.",
            warnings=[
                f"k = {k}, suppression {limit:g}: {why}" for (k, limit), why in self.infeasible.items()
            ],
            calls=[("curve.plot()", "draws it"), ("curve.attributes", "says which attribute pays")],
        )


def search_curve(
    source: object,
    label: str,
    candidates: Candidates,
    k: Iterable[int] = (2, 5, 10, 25, 100),
    suppression: float | Iterable[float] = 0.0,
    measure: str | Measure = "mi",
    time_limit: float | None = None,
    *,
    require: PrivacyRule | Iterable[PrivacyRule] | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: str | None = None,
    order: Mapping[str, str | Iterable[Any]] | None = None,
    seed: int = 0,
    memory: str | None = None,
    progress: Progress | bool | None = None,
) -> SearchCurve:
    """Find the configuration of least deviation for every k and suppression limit.

    A combination that violates k-anonymity violates it for every greater k and every smaller limit, too: what
    one search learns, the later ones know.

    Parameters
    ----------
    source, label, candidates, measure, quasi_identifiers, sensitive, order, seed, memory, progress
        As in `search`.
    k : iterable of int
        The k of k-anonymity.
    suppression : float or iterable of float
        The limits of suppression.
    time_limit : float, optional
        Seconds for the whole curve.
    require : PrivacyRule or several, optional
        Rules beside k-anonymity.

    Returns
    -------
    SearchCurve

    Examples
    --------
    >>> import aegis_opt as ao
    >>> clinic = ao.datasets.clinic(500)
    >>> ages = [ao.Identity(), ao.Bucketize(width=10), ao.Bucketize(width=25), ao.Suppress()]
    >>> weights = [ao.Identity(), ao.Bucketize(width=20), ao.Suppress()]
    >>> curve = ao.search_curve(clinic.frame, "health", {"age": ages, "weight": weights}, k=[2, 10, 50])
    >>> curve.table[["k", "cost", "step", "pays"]].round(3)
        k   cost   step  pays
    0   2  0.533    NaN  None
    1  10  0.559  0.026   age
    2  50  0.559  0.000  None
    """
    levels, limits = _levels(k), _limits(suppression)
    others = () if require is None else as_rules(require)
    if any(isinstance(rule, KAnonymity) for rule in others):
        raise InvalidOption("require is for rules beside k-anonymity: give the k in k=[...]")
    rules = as_rules([KAnonymity(levels[0]), *others])
    seed_number("seed", seed)
    end = None
    if time_limit is not None:
        end = time.monotonic() + number("time_limit", time_limit, above=0, unit="seconds")
    found: dict[tuple[int, float], SearchResult] = {}
    reasons: dict[tuple[int, float], str] = {}
    learned: list[tuple[int, int, tuple[Point, ...]]] = []  # k, limit, points that violate
    with reporting(progress, "searching") as report:
        space = open_space(
            source,
            label,
            offers_of(candidates),
            measure_of(measure),
            rules,
            quasi_identifiers,
            sensitive,
            order,
            memory,
            report,
        )
        for limit in sorted(limits, reverse=True):
            for level in levels:
                task = Task(space, as_rules([KAnonymity(level), *others]), limit, seed)
                for least, most, points in learned:
                    if least <= level and most >= task.limit:
                        for point in points:
                            task.clauses.add(point)
                left = None if end is None else max(end - time.monotonic(), 0.0)
                try:
                    check_size(task.rules, limit, space)
                    found[level, limit] = run(task, left, report, f"k={level}")
                except InfeasibleSearch as error:
                    reasons[level, limit] = str(error)
                learned.append((level, task.limit, tuple(task.clauses.points)))
    if not found:
        raise InfeasibleSearch(next(iter(reasons.values())))
    ordered = {key: found[key] for key in sorted(found, key=lambda key: (key[1], key[0]))}
    attributes = _attributes(ordered)
    return SearchCurve(ordered, reasons, _table(ordered, attributes), attributes)


def _levels(k: Any) -> list[int]:
    given = [k] if is_whole(k) else list(k) if isinstance(k, Iterable) and not isinstance(k, str) else []
    if not given:
        raise InvalidOption(f"k must be a list of whole numbers, such as [2, 5, 10], not {k!r}")
    return sorted({whole_number("k", level, least=1) for level in given})


def _limits(suppression: Any) -> list[float]:
    given = (
        [suppression] if is_number(suppression) or not isinstance(suppression, Iterable) else [*suppression]
    )
    if not given:
        raise InvalidOption("suppression must be a share or a list of shares, such as [0, 0.05]: it is empty")
    return sorted({number("suppression", share, least=0, most=1) for share in given})


def _attributes(found: dict[tuple[int, float], SearchResult]) -> pd.DataFrame:
    """List what each attribute loses at each point, and how much more than at the k before."""
    parts = []
    for (k, limit), result in found.items():
        if result.best is not None:
            own = result.attributes[["attribute", "candidate", "mask", "loss"]]
            parts.append(own.assign(suppression=limit, k=k))
    if not parts:
        return pd.DataFrame(columns=["suppression", "k", "attribute", "candidate", "mask", "loss", "step"])
    table = pd.concat(parts, ignore_index=True)
    table["step"] = table.groupby(["suppression", "attribute"])["loss"].diff()
    return table[["suppression", "k", "attribute", "candidate", "mask", "loss", "step"]]


def _table(found: dict[tuple[int, float], SearchResult], attributes: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (k, limit), result in found.items():
        own = attributes[(attributes["suppression"] == limit) & (attributes["k"] == k)]
        steps = own.set_index("attribute")["step"]
        pays = None
        if steps.notna().any() and steps.max() > 0:
            pays = str(steps.idxmax())
        rows.append(
            (limit, k, result.cost, result.bound, result.proved, result.suppressed, result.checks, pays)
        )
    columns = ["suppression", "k", "cost", "bound", "proved", "suppressed", "checks", "pays"]
    table = pd.DataFrame(rows, columns=columns)
    table["pays"] = pd.Series([row[-1] for row in rows], dtype=object)  # None where nobody pays
    table.insert(4, "step", table.groupby("suppression")["cost"].diff())
    return table
