"""What is proved: bounds of the measure of an unmasked attribute, and of the deviation of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aegis_opt.advisor._estimate import Estimate, measure_each
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import AttributeSummary


@dataclass(frozen=True)
class Interval:
    """Proved bounds of the measure of an attribute, low <= high; infinite where nothing is proved."""

    low: float = -np.inf
    high: float = np.inf


def proved_intervals(
    measure: Measure,
    attributes: Mapping[str, AttributeSummary],
    masked: Mapping[str, FloatArray],
    estimates: Mapping[str, Estimate],
) -> dict[str, Interval]:
    """Bound the unmasked measure of each attribute by the shared tables and by the tables found for them.

    Nothing is proved about a measure that is not monotone, nor by tables that contradict each other, or that
    no common table is known for.
    """
    if not measure.monotone:
        return {name: Interval() for name in attributes}
    intervals = utility_intervals(measure, attributes, masked)
    for name, interval in intervals.items():
        least = _least_information(measure, estimates[name])
        if not estimates[name].common_table:
            intervals[name] = Interval()
        elif interval.low < least <= interval.high:
            intervals[name] = Interval(least, interval.high)
    return intervals


def utility_intervals(
    measure: Measure, attributes: Mapping[str, AttributeSummary], masked: Mapping[str, FloatArray]
) -> dict[str, Interval]:
    """Bound rho(A; Y) by masked tables of A alone; needs a measure that is monotone.

    *From the masked side*: every masked table is a merge of F(A, Y), so A is at least as informative as the
    most informative one (data-processing inequality).

    *From the other side*: split each group into one row per label, diag(J(g, .)). Whatever F(A, Y) is
    inside the group, it is a random relabelling of those pure rows, so it is at most as informative; a group
    of one value is known exactly and stays as it is. Pure rows of the same label are multiples of each other,
    and merging them loses nothing: one row per label is enough for all groups. This takes a measure that no
    channel improves; for others that side is open (infinite). The masked side is the low end when higher is
    better.
    """
    exact = {
        name: [i for i, table in enumerate(a.tables) if table.channel is None]
        for name, a in attributes.items()
    }
    finest = {name: np.full(1, np.inf if measure.higher_is_better else -np.inf) for name in attributes}
    if measure.channel_monotone:
        finest = measure_each(
            measure,
            {
                name: (_purest(a.tables[i].groups, a.tables[i].joint) for i in exact[name])
                for name, a in attributes.items()
            },
        )
    return {
        name: _interval(measure, masked[name][exact[name]], finest[name]) if exact[name] else Interval()
        for name in attributes
    }


def deviation_bounds(
    measure: Measure,
    intervals: Sequence[Interval],
    masked: FloatArray,
    noisy: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Bound the true deviation of every configuration, NaN where there is no bound.

    `masked[c, a]` is the measure of attribute a as configuration c masks it, and `intervals[a]` bounds the
    unmasked one. `noisy` has the ends of the intervals of noisy tables, which are not proved, and NaN for the
    others.
    """
    nearest = np.array([interval.low for interval in intervals])
    farthest = np.array([interval.high for interval in intervals])
    if not measure.higher_is_better:
        nearest, farthest = farthest, nearest
    each = np.abs(nearest - masked), np.abs(farthest - masked)
    if noisy is not None:
        each = tuple(np.where(np.isnan(own), ends, own) for ends, own in zip(each, noisy, strict=True))
    low, high = (ends.mean(axis=1) for ends in each)
    return np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)


def _interval(measure: Measure, masked: FloatArray, finest: FloatArray) -> Interval:
    if measure.higher_is_better:
        low, high = float(np.max(masked)), float(np.min(finest))
    else:
        low, high = float(np.max(finest)), float(np.min(masked))
    if low > high:  # equal up to rounding noise: the views determine the measure
        low = high = low if measure.higher_is_better else high
    return Interval(low, high)


def _purest(groups: IntArray, joint: IntArray) -> IntArray:
    """Table of a view in which the groups of several values are split by label: one row for each label."""
    single = np.bincount(groups, minlength=len(joint)) <= 1
    return np.concatenate([joint[single], np.diag(joint[~single].sum(axis=0))])


def _least_information(measure: Measure, found: Estimate) -> float:
    """Least mutual information of any feasible table, where the estimate proves one.

    With the histogram and the label counts fixed, I(A; Y) = H(A) + H(Y) - H(A, Y), so the table of most
    entropy has the least mutual information; the duality gap bounds what is missing to the exact optimum.
    """
    result, problem = found.solved[0], found.problems[0]
    pooled = len(found.problems) == 1
    uniform = problem.given_prior is None and problem.histogram is not None
    if not (measure.name == "mi" and pooled and uniform and result.norm == "kl" and result.optimal):
        return -np.inf
    slack = (result.gap or 0.0) / np.log(2) + 1e-12
    least: float = measure.many([result.values])[0] - slack
    return least
