"""Advice by protected tables: an order with intervals, because noise of a known distribution is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bootstrap import LEVEL, MOST_CELLS, normal_quantile
from aegis_opt.advisor._deviation import TIE
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import ProtectedSummary
from aegis_opt.summary._reconcile import masks_to_fit, reconcile, runs_of

REPLICATES = (50, 200)
"""How often the protection is simulated: less often where there are many cells, but never less than that."""
_CELLS = 4_000_000  # of all simulated tables together
_DROWNED = {True: 2, False: 4}
"""Standard deviations of the noise below which a mean count is drowned, by whether the measure is monotone:
others correct for chance, and depend more on small counts."""


def with_intervals(advice: Advice, measure: Measure, summary: ProtectedSummary, seed: int) -> Advice:
    """Add what the protection leaves open: how far each configuration is behind the winner, and its rank.

    The reconciled tables stand for the truth; protected again, by errors of the same distribution, and
    reconciled again, they show how far the measure of each masked table moves. The interval of a difference d
    whose simulated values have the mean d + b and the standard deviation s is from min(d, d - b) - z s to
    max(d, d - b) + z s. The winner is chosen by the same noise, so z is the normal quantile by which all
    n - 1 intervals hold together in 95% of all cases (Bonferroni).

    That says nothing about a masked table whose counts are drowned in noise, because the noise stays in the
    reconciled tables: its measure may be anything from that of a table that tells nothing to that of the
    label itself, and the interval has room for all of it. A rank is between the number of configurations that
    are surely better and the number of those that may be.
    """
    cells = sum(attribute.counts.size for attribute in summary.attributes.values())
    replicates = int(np.clip(_CELLS // cells, *REPLICATES))
    sign = 1 if measure.higher_is_better else -1
    simulated = sign * simulated_values(measure, summary, replicates, seed)
    values = sign * advice.masked[list(summary.attributes)].to_numpy(float)
    largest = float(np.abs(values).max())
    names = list(advice.masked.index)
    best = int(np.argmax(values.mean(axis=1))) if advice.best is None else names.index(advice.best)
    chosen = _chosen(summary)
    drowned = _drowned(measure, summary)
    behind = values[best].mean() - values.mean(axis=1)
    unsure = np.zeros(values.shape)
    for (i, t), (lowest, highest) in _ranges(measure, summary, drowned, seed).items():
        has = chosen[:, i] == t
        if not has.any():  # a table that no configuration releases
            continue
        lowest, highest = min(lowest, values[has, i].min()), max(highest, values[has, i].max())
        unsure[has, i] = (highest - lowest) / 2
        values[has, i] = simulated[:, has, i] = (highest + lowest) / 2
    unsure = np.where(chosen == chosen[best], 0, unsure + unsure[best])
    known = (values[best] - values).mean(axis=1)
    drawn = (simulated[:, [best]] - simulated).mean(axis=2)
    together = 1 - (1 - LEVEL) / max(1, len(names) - 1)
    width = normal_quantile(together) * drawn.std(axis=0, ddof=1) + unsure.mean(axis=1)
    shift = drawn.mean(axis=0) - known
    low = np.minimum(behind, np.minimum(known, known - shift) - width)
    high = np.maximum(behind, np.maximum(known, known - shift) + width)
    slack = TIE * max(1e-300, largest)
    found = pd.DataFrame(
        {
            "difference": behind,
            "difference_low": low,
            "difference_high": high,
            "rank_low": 1 + (high[None, :] < low[:, None] - slack).sum(axis=1),
            "rank_high": (low[None, :] <= high[:, None] + slack).sum(axis=1),
        },
        index=names,
    ).loc[advice.ranking["configuration"]]
    winner = names[best]
    open_ones = [name for name in found.index if name != winner and found["difference_low"][name] <= slack]
    return replace(
        advice,
        ranking=pd.concat([advice.ranking, found.reset_index(drop=True)], axis="columns"),
        equivalent=(winner, *open_ones) if advice.best is not None else (),
        warnings=(*_warnings(summary, winner, open_ones, drowned), *advice.warnings),
        reason=f"{advice.reason} The counts are protected, so this order is an estimate with intervals.",
    )


def _chosen(summary: ProtectedSummary) -> IntArray:
    """Return which masked table each configuration has of each attribute."""
    rows = [[tables[name] for name in summary.attributes] for tables in summary.configurations.values()]
    return np.array(rows, dtype=np.int64)


def _drowned(measure: Measure, summary: ProtectedSummary) -> list[list[bool]]:
    """Say of each masked table of each attribute whether its mean count is drowned in noise."""
    noise = _DROWNED[measure.monotone] * summary.protection.standard_deviation
    labels = len(summary.label_values)
    return [
        [
            noise * np.sqrt(len(attribute.counts) / table.n_groups)
            > summary.n_records / (table.n_groups * labels)
            for table in attribute.tables
        ]
        for attribute in summary.attributes.values()
    ]


def _ranges(
    measure: Measure, summary: ProtectedSummary, drowned: Sequence[Sequence[bool]], seed: int
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return the range of the measure of each masked table that is drowned, more being better.

    It is that of a table with one group, of the label itself, and of a table whose records have groups
    drawn at random: a measure that corrects for chance is least there.
    """
    rng = np.random.default_rng([seed, 9])
    counts = cast("IntArray", summary._reconciled.label_counts)  # the label is not masked here
    counts = counts[counts > 0]
    sign = 1 if measure.higher_is_better else -1
    ends = [float(measure(np.diag(counts))), float(measure(counts[None]))]
    found: dict[tuple[int, int], tuple[float, float]] = {}
    by_size: dict[int, float] = {}
    for i, (attribute, flags) in enumerate(zip(summary.attributes.values(), drowned, strict=True)):
        for t in np.flatnonzero(flags):
            groups = attribute.tables[t].n_groups
            if groups not in by_size:
                shares = np.full(groups, 1 / groups)
                scattered = np.stack([rng.multinomial(count, shares) for count in counts], axis=1)
                by_size[groups] = float(measure(scattered[scattered.any(axis=1)]))
            values = [sign * end for end in (*ends, by_size[groups])]
            found[i, int(t)] = min(values), max(values)
    return found


def _warnings(
    summary: ProtectedSummary, winner: str, open_ones: Sequence[str], drowned: Sequence[Sequence[bool]]
) -> list[str]:
    told = f"{winner} is first, and all others are behind it"
    if open_ones:
        told = f"{len(open_ones)} of {len(summary.configurations) - 1} others may be as good as {winner}"
        told += f" ({_first(open_ones)})"
    found = [
        f"protected: {summary.protection.statement()}, so nothing is proved about the order or the bounds. "
        f"By 95% intervals of what the protection changes, {told}."
    ]
    lost = [name for name, tables in zip(summary.attributes, drowned, strict=True) if any(tables)]
    if lost:
        found.append(
            f"drowned: {sum(map(sum, drowned))} masked tables (of {_first(lost)}) have counts of about the "
            "size of their noise or less. It reads as information there and favours masks that keep many "
            "values; mask these attributes more in all configurations, or leave them out."
        )
    return found


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def simulated_values(measure: Measure, summary: ProtectedSummary, replicates: int, seed: int) -> FloatArray:
    """Return the measure of each masked attribute in each simulated summary.

    Replicates x configurations x attributes.
    """
    attributes = list(summary.attributes.values())
    masks = masks_to_fit(summary)
    truth = reconcile([attribute.counts for attribute in attributes], masks)
    rng = np.random.default_rng([seed, 8])
    chosen = _chosen(summary)
    at_a_time = max(1, MOST_CELLS // sum(table.size for table in truth))
    found = np.empty((replicates, *chosen.shape))
    for start in range(0, replicates, at_a_time):
        now = slice(start, min(start + at_a_time, replicates))
        noisy = [table + summary.protection.errors(rng, (now.stop - start, *table.shape)) for table in truth]
        for i, (attribute, tables) in enumerate(zip(attributes, reconcile(noisy, masks), strict=True)):
            tables[~tables.any(axis=(1, 2)), 0, 0] = 1  # without records there is nothing to measure
            values = [_measured(measure, tables, groups) for groups in attribute.groups]
            found[now, :, i] = np.stack(values, axis=1)[:, chosen[:, i]]
    return found


def _measured(measure: Measure, tables: IntArray, groups: IntArray) -> FloatArray:
    """Measure many tables after their rows are merged by group."""
    begins, order = runs_of(groups)
    return np.asarray(measure(np.add.reduceat(tables[:, order], begins, axis=1)))
