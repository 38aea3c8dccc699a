"""Advice by protected tables: an order with intervals, because noise of a known distribution is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from aegis_opt.advisor._advice import Advice
from aegis_opt.advisor._bootstrap import LEVEL, MOST_CELLS, normal_quantile
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import ProtectedSummary
from aegis_opt.summary._reconcile import reconcile

REPLICATES = (50, 200)
"""How often the protection is simulated: less often where there are many cells, but never less than that."""
_CELLS = 4_000_000  # of all simulated tables together


def with_intervals(advice: Advice, measure: Measure, summary: ProtectedSummary, seed: int) -> Advice:
    """Add what the protection leaves open: how far each configuration is behind the winner, and its rank.

    The reconciled tables stand for the truth; protected again, by errors of the same distribution, and
    reconciled again, they show how far scores move by the protection. The 95% interval of a difference
    reaches 1.96 standard deviations beyond the difference and beyond the difference less its mean shift. The
    interval of a rank holds 95% of the simulated ranks and the rank itself.
    """
    cells = sum(attribute.counts.size for attribute in summary.attributes.values())
    replicates = int(np.clip(_CELLS // cells, *REPLICATES))
    simulated = simulated_scores(measure, summary, replicates, seed)
    if not measure.higher_is_better:
        simulated = -simulated
    scores = advice.masked.mean(axis=1).to_numpy(float) * (1 if measure.higher_is_better else -1)
    names = list(advice.masked.index)
    best = names.index(str(advice.best)) if advice.best is not None else int(np.argmax(scores))
    behind = scores[best] - scores
    drawn = simulated[:, [best]] - simulated
    shift = drawn.mean(axis=0) - behind
    width = normal_quantile(LEVEL) * drawn.std(axis=0, ddof=1)
    ranks = (simulated[:, None, :] > simulated[:, :, None]).sum(axis=2) + 1
    few, many = 100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2
    own = advice.ranking.set_index("configuration")["rank"].loc[names].to_numpy()
    found = pd.DataFrame(
        {
            "difference": behind,
            "difference_low": np.minimum(behind, behind - shift) - width,
            "difference_high": np.maximum(behind, behind - shift) + width,
            "rank_low": np.minimum(own, np.floor(np.percentile(ranks, few, axis=0))).astype(np.int64),
            "rank_high": np.maximum(own, np.ceil(np.percentile(ranks, many, axis=0))).astype(np.int64),
        },
        index=names,
    ).loc[advice.ranking["configuration"]]
    winner = names[best]
    open_ones = [name for name in found.index if name != winner and found["difference_low"][name] <= 0]
    return replace(
        advice,
        ranking=pd.concat([advice.ranking, found.reset_index(drop=True)], axis="columns"),
        equivalent=(winner, *open_ones) if advice.best is not None else (),
        warnings=(_warning(summary, winner, open_ones), *advice.warnings),
        reason=f"{advice.reason} The counts are protected, so this order is an estimate with intervals.",
    )


def _warning(summary: ProtectedSummary, winner: str, open_ones: Sequence[str]) -> str:
    told = f"{winner} is first, and all others are behind it"
    if open_ones:
        first = ", ".join(open_ones[:5]) + (", ..." if len(open_ones) > 5 else "")
        told = f"{len(open_ones)} of {len(summary.configurations) - 1} others may be as good ({first})"
    return (
        f"protected: {summary.protection.statement()}, so nothing is proved about the order or the bounds. "
        f"By 95% intervals of what the protection changes, {told}."
    )


def simulated_scores(measure: Measure, summary: ProtectedSummary, replicates: int, seed: int) -> FloatArray:
    """Return the score of each configuration in each simulated summary; replicates x configurations.

    The score is the mean of the measure over the masked attributes.
    """
    attributes = list(summary.attributes.values())
    truth = reconcile([attribute.counts for attribute in attributes])
    rng = np.random.default_rng([seed, 8])
    chosen = np.array(
        [[tables[name] for name in summary.attributes] for tables in summary.configurations.values()]
    )
    at_a_time = max(1, MOST_CELLS // sum(table.size for table in truth))
    scores = []
    for start in range(0, replicates, at_a_time):
        n = min(at_a_time, replicates - start)
        noisy = [table + summary.protection.errors(rng, (n, *table.shape)) for table in truth]
        total = np.zeros((n, len(chosen)))
        for i, (attribute, tables) in enumerate(zip(attributes, reconcile(noisy), strict=True)):
            tables[~tables.any(axis=(1, 2)), 0, 0] = 1  # without records there is nothing to measure
            values = [_measured(measure, tables, groups) for groups in attribute.groups]
            total += np.stack(values, axis=1)[:, chosen[:, i]]
        scores.append(total / len(attributes))
    return np.concatenate(scores)


def _measured(measure: Measure, tables: IntArray, groups: IntArray) -> FloatArray:
    """Measure many tables after their rows are merged by group."""
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.asarray(measure(np.add.reduceat(tables[:, order], begins, axis=1)))
