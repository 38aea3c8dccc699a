"""Advice by protected tables: an order with intervals, because noise of a known distribution is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bootstrap import LEVEL, MOST_CELLS, normal_quantile
from aegis_opt.advisor._deviation import TIE
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import ProtectedSummary
from aegis_opt.summary._reconcile import masks_to_fit, reconcile

REPLICATES = (50, 200)
"""How often the protection is simulated: less often where there are many cells, but never less than that."""
_CELLS = 4_000_000  # of all simulated tables together
_DROWNED = 0.5  # share of the mean count of a masked table above which its noise drowns it


def with_intervals(advice: Advice, measure: Measure, summary: ProtectedSummary, seed: int) -> Advice:
    """Add what the protection leaves open: how far each configuration is behind the winner, and its rank.

    The reconciled tables stand for the truth; protected again, by errors of the same distribution, and
    reconciled again, they show how far the measure of each masked table moves. The 95% interval of a
    difference reaches 1.96 standard deviations beyond the difference and beyond the difference less its mean
    shift. That says nothing about a masked table whose counts are drowned in noise: its measure may be
    anything from that of a table without information to that of the label itself. The rank of a configuration
    is between the number of those that are surely better and the number of those that may be.
    """
    cells = sum(attribute.counts.size for attribute in summary.attributes.values())
    replicates = int(np.clip(_CELLS // cells, *REPLICATES))
    sign = 1 if measure.higher_is_better else -1
    simulated = sign * simulated_values(measure, summary, replicates, seed)
    values = sign * advice.masked[list(summary.attributes)].to_numpy(float)
    names = list(advice.masked.index)
    best = int(np.argmax(values.mean(axis=1))) if advice.best is None else names.index(advice.best)
    chosen = _chosen(summary)
    drowned = _drowned(summary)
    is_drowned = np.array([[drowned[i][t] for i, t in enumerate(row)] for row in chosen])
    is_open = (chosen != chosen[best]) & (is_drowned | is_drowned[best])
    known = np.where(is_open, 0, values[best] - values).mean(axis=1)
    drawn = np.where(is_open, 0, simulated[:, [best]] - simulated).mean(axis=2)
    unsure = is_open.mean(axis=1) * _span(measure, summary)
    width = normal_quantile(LEVEL) * drawn.std(axis=0, ddof=1) + unsure
    shift = drawn.mean(axis=0) - known
    behind = values[best].mean() - values.mean(axis=1)
    low = np.minimum(behind, np.minimum(known, known - shift) - width)
    high = np.maximum(behind, np.maximum(known, known - shift) + width)
    slack = TIE * max(1e-300, float(np.abs(values).max()))
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


def _drowned(summary: ProtectedSummary) -> list[list[bool]]:
    """Say of each masked table of each attribute whether its counts are less than twice their noise."""
    deviation = summary.protection.standard_deviation
    labels = len(summary.label_values)
    return [
        [
            deviation * np.sqrt(len(attribute.counts) / table.n_groups)
            > _DROWNED * summary.n_records / (table.n_groups * labels)
            for table in attribute.tables
        ]
        for attribute in summary.attributes.values()
    ]


def _span(measure: Measure, summary: ProtectedSummary) -> float:
    """Return how far a table that tells the label is from one that tells nothing, by a measure."""
    counts = summary._reconciled.label_counts
    counts = counts[counts > 0]
    return abs(float(measure(np.diag(counts))) - float(measure(counts[None])))


def _warnings(
    summary: ProtectedSummary, winner: str, open_ones: Sequence[str], drowned: Sequence[Sequence[bool]]
) -> list[str]:
    told = f"{winner} is first, and all others are behind it"
    if open_ones:
        first = ", ".join(open_ones[:5]) + (", ..." if len(open_ones) > 5 else "")
        told = f"{len(open_ones)} of {len(summary.configurations) - 1} others may be as good ({first})"
    found = [
        f"protected: {summary.protection.statement()}, so nothing is proved about the order or the bounds. "
        f"By 95% intervals of what the protection changes, {told}."
    ]
    lost = [name for name, tables in zip(summary.attributes, drowned, strict=True) if any(tables)]
    if lost:
        first = ", ".join(map(repr, lost[:5])) + (", ..." if len(lost) > 5 else "")
        found.append(
            f"drowned: {sum(map(sum, drowned))} masked tables have counts of about the size of their noise, "
            f"or less (of {first}), and tell nearly nothing; mask these attributes more in all "
            "configurations, or leave them out."
        )
    return found


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
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(measure(np.add.reduceat(tables[:, order], begins, axis=1)))
