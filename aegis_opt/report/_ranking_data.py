"""Every advisor run as the page shows it: configurations in order, with proved bounds and the truth."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from aegis_opt.harness import Results
from aegis_opt.harness._schema import FAILED, KEYS, NO_WINNER, OK, SKIPPED, TIMED_OUT
from aegis_opt.report._prepared_results import optional, plural

MOST = 100
"""Places shown of one ranking; more could not be read."""

REACH = 1.8
"""The scale ends here, in units of the largest other number: bounds beyond it would squeeze all the rest."""


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
    """Return every advisor run of `typed` results by scope, data set, measure and, in this order, variant."""
    keys = KEYS["advice"]
    places = dict(iter(results.rankings.groupby(keys, sort=False))) if len(results.rankings) else {}
    measures = results.meta["plan"].get("measures", [])
    found = []
    for row in results.advice.to_dict("records"):
        part = places.get(tuple(row[key] for key in keys), results.rankings.iloc[:0])
        shown = part.head(MOST)
        best = row["best"] if isinstance(row["best"], str) else None
        found.append(
            Ranking(
                **{key: row[key] for key in (*keys, "status")},
                best=best,
                remark=_remark(row, best, part),
                names=shown["configuration"].tolist(),
                ranks=[int(rank) for rank in shown["rank"]],
                estimated=shown["pud"].tolist(),
                low=[optional(value) for value in shown["pud_low"]],
                high=[optional(value) for value in shown["pud_high"]],
                true=shown["pud_true"].tolist(),
            )
        )

    def place(run: Ranking) -> tuple[object, ...]:
        measure = measures.index(run.measure) if run.measure in measures else len(measures)
        variant = variants.index(run.variant)
        return run.scope, run.dataset, measure, run.measure, variant, not run.histogram, run.seed

    return sorted(found, key=place)


def first_shown(rankings: Sequence[Ranking]) -> Ranking:
    """Return the run to show where none is chosen: the first with a winner, else with an order, else any."""
    return min(rankings, key=lambda run: run.status != OK if run.names else 2)


def _remark(row: Mapping[Hashable, Any], best: str | None, places: pd.DataFrame) -> str:
    """Say in words what a reader must know about this run."""
    status, reason = row["status"], str(row["error"] or "").rstrip(".")
    if status in (FAILED, TIMED_OUT, SKIPPED):
        return f"This run {'was skipped' if status == SKIPPED else status} and has no order: {reason}."
    if status == NO_WINNER:
        return f"This run names no winner: {reason}."
    if places.empty:
        return "A choice at random: there is no order." if best is None else "The order was not kept."
    words = ["Order proved" if row["certified"] else "Order estimated, not proved"]
    true_ranks = places["pud_true"].rank(method="min").astype(int)
    place = int(true_ranks[places["configuration"] == best].iloc[0])
    words.append(f"winner {best}, truly number {place} of {len(places):,}")
    low, high = places["pud_low"] * (1 - 1e-9), places["pud_high"] * (1 + 1e-9)
    outside = (places["pud_true"] < low) | (places["pud_true"] > high)
    if outside.any():
        words.append(f"{plural(int(outside.sum()), 'true value')} outside the bounds")
    if low.isna().all() and high.isna().all():
        words.append("nothing is proved about the deviations by this measure")
    if len(places) > MOST:
        words.append(f"the first {MOST} of {len(places):,} configurations are shown")
    return f"{'; '.join(words)}."
