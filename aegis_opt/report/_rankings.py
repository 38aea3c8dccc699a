"""Every advisor run as the page shows it: configurations in order, with proved bounds and the truth."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._schema import FAILED, KEYS, NO_WINNER, OK, SKIPPED, TIMED_OUT
from aegis_opt.report._series import plural

MOST = 100
"""Places shown of one ranking; more could not be read."""

REACH = 1.8
"""The scale ends here, in units of the largest other number: beyond, bounds would squeeze all the rest."""


@dataclass(frozen=True)
class Ranking:
    """One advisor run; the lists have one entry per configuration shown, best first.

    A run that failed, timed out or was skipped, and a choice at random, have none: `remark` says why.
    """

    scope: str
    dataset: str
    measure: str
    variant: str
    histogram: bool
    seed: int
    status: str
    best: str | None
    remark: str
    names: list[str]
    ranks: list[int]
    estimated: list[float]
    low: list[float | None]
    high: list[float | None]
    true: list[float]

    @property
    def end(self) -> float:
        """Where the scale ends."""
        numbers = [*self.estimated, *self.true, *(value for value in self.low if value is not None)]
        ends = [value for value in self.high if value is not None]
        most = max(numbers, default=0.0)
        return 1.04 * min(max([most, *ends]), REACH * most) or 1.0


def rankings_of(results: Results, variants: Sequence[str]) -> list[Ranking]:
    """Return every advisor run by scope, data set and measure, the variants in the order given.

    Parameters
    ----------
    results : Results
        With the column types of a results folder (`typed`).
    variants : sequence of str
        All of them, as `variants_of` returns them.
    """
    keys = KEYS["advice"]
    places = dict(iter(results.rankings.groupby(keys, sort=False))) if len(results.rankings) else {}
    order = {name: position for position, name in enumerate(variants)}
    planned = results.meta["plan"].get("measures", [])
    measures = {name: position for position, name in enumerate(planned)}
    found = []
    for row in results.advice.to_dict("records"):
        part = places.get(tuple(row[key] for key in keys), results.rankings.iloc[:0])
        shown = part.head(MOST)
        best = row["best"] if isinstance(row["best"], str) else None
        found.append(
            Ranking(
                *(str(row["scope"]), str(row["dataset"]), str(row["measure"]), str(row["variant"])),
                *(bool(row["histogram"]), int(row["seed"]), str(row["status"]), best),
                _remark(row, best, part),
                shown["configuration"].tolist(),
                [int(rank) for rank in shown["rank"]],
                shown["pud"].tolist(),
                _gaps(shown["pud_low"]),
                _gaps(shown["pud_high"]),
                shown["pud_true"].tolist(),
            )
        )

    def place(run: Ranking) -> tuple[object, ...]:
        measure = (measures.get(run.measure, len(measures)), run.measure)
        return run.scope, run.dataset, measure, order[run.variant], not run.histogram, run.seed

    return sorted(found, key=place)


def first_shown(rankings: Iterable[Ranking]) -> Ranking | None:
    """Return the run to show where none was chosen: the first with a winner, else with an order, else any."""
    candidates = list(rankings)
    for wanted in (lambda r: r.status == OK and r.names, lambda r: r.names, lambda _: True):
        for ranking in candidates:
            if wanted(ranking):
                return ranking
    return None


def _remark(row: Mapping[Hashable, Any], best: str | None, places: pd.DataFrame) -> str:
    """What a reader must know of this run, in words."""
    status, reason = row["status"], str(row["error"] or "").rstrip(".")
    if status in (FAILED, TIMED_OUT, SKIPPED):
        return f"This run {'was skipped' if status == SKIPPED else status} and has no order: {reason}."
    if status == NO_WINNER:
        return f"This run names no winner: {reason}."
    if places.empty:
        return "A choice at random: there is no order." if best is None else "The order was not kept."
    words = ["Order proved" if row["certified"] else "Order estimated, not proved"]
    truly = places["pud_true"].rank(method="min").astype(int)
    place = int(truly[places["configuration"] == best].iloc[0])
    words.append(f"winner {best}, in truth number {place} of {len(places):,}")
    outside = (places["pud_true"] < places["pud_low"] * (1 - 1e-9)) | (
        places["pud_true"] > places["pud_high"] * (1 + 1e-9)
    )
    if outside.any():
        words.append(f"{plural(int(outside.sum()), 'true value')} outside the bounds")
    if places["pud_low"].isna().all() and places["pud_high"].isna().all():
        words.append("nothing is proved about the deviations by this measure")
    if len(places) > MOST:
        words.append(f"the first {MOST} of {len(places):,} configurations are shown")
    return f"{'; '.join(words)}."


def _gaps(values: pd.Series) -> list[float | None]:
    return [None if pd.isna(value) else float(value) for value in values]
