"""What is proved: bounds of the measure of an unmasked attribute, and of the deviation of a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from aegis_opt.advisor._estimate import Estimate, measure_each
from aegis_opt.advisor._labels import proves_order
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import LabelMask, MaskedTable, Summary

LARGEST_IF_EVEN = ("mi", "chi2")
"""Measures whose value for the label itself, log2 k or N (k - 1) at most, is largest for even classes."""


@dataclass(frozen=True)
class Interval:
    """Proved bounds of the measure of an attribute, low <= high; infinite where nothing is proved."""

    low: float = -np.inf
    high: float = np.inf


def proved_intervals(
    measure: Measure,
    summary: Summary,
    masked: Mapping[str, FloatArray],
    estimates: Mapping[str, Estimate],
) -> dict[str, Interval]:
    """Bound the unmasked measure of each attribute by the shared tables and by the tables found for them.

    Nothing is proved about a measure that is not monotone, in the labels, too, where these are masked, nor by
    tables that contradict each other, or that no common table is known for.
    """
    if not proves_order(measure, summary):
        return {name: Interval() for name in summary.attributes}
    intervals = utility_intervals(measure, summary, masked)
    for name, interval in intervals.items():
        least = _least_information(measure, estimates[name])
        if not estimates[name].common_table:
            intervals[name] = Interval()
        elif interval.low < least <= interval.high:
            intervals[name] = Interval(least, interval.high)
    return intervals


def utility_intervals(
    measure: Measure, summary: Summary, masked: Mapping[str, FloatArray]
) -> dict[str, Interval]:
    """Bound rho(A; Y) by masked tables of A alone; needs a measure that is monotone, as `proves_order` says.

    *From the masked side*: every masked table is a merge of F(A, Y), so A is at least as informative as the
    most informative one (data-processing inequality).

    *From the other side*: split each group into one row per label, diag(J(g, .)). Whatever F(A, Y) is
    inside the group, it is a random relabelling of those pure rows, so it is at most as informative; a group
    of one value is known exactly and stays as it is. Pure rows of the same label are multiples of each other,
    and merging them loses nothing: one row per label is enough for all groups. This takes a measure that no
    channel improves; for others that side is open (infinite). Where the label is masked, all groups are split
    by the classes of the unmasked label: A tells at most the label itself. Where the records of these are
    unknown, mutual information and chi-square are largest if the classes of a masked one are equally
    frequent. The masked side is the low end when higher is better.
    """
    attributes = summary.attributes
    exact = {
        name: [i for i, table in enumerate(a.tables) if table.channel is None]
        for name, a in attributes.items()
    }
    exact_tables = {name: [attributes[name].tables[i] for i in chosen] for name, chosen in exact.items()}
    finest = {name: np.full(1, np.inf if measure.higher_is_better else -np.inf) for name in attributes}
    counted = summary.label_counts is not None or measure.name in LARGEST_IF_EVEN
    if measure.channel_monotone and counted:
        finest = measure_each(
            measure,
            {name: map(partial(_purest, summary), exact_tables[name]) for name in attributes},
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
    each = [np.abs(nearest - masked), np.abs(farthest - masked)]
    if noisy is not None:
        each = [np.where(np.isnan(own), ends, own) for ends, own in zip(each, noisy, strict=True)]
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


def _purest(summary: Summary, table: MaskedTable) -> IntArray | FloatArray:
    """Table of a view in which the groups of several values are split by label: one row for each label."""
    groups, joint = table.groups, table.joint
    if table.label_mask is not None:
        classes: FloatArray = _classes(summary, summary.label_masks[table.label_mask]).astype(np.float64)
        return np.diag(classes)
    single = np.bincount(groups, minlength=len(joint)) <= 1
    return np.concatenate([joint[single], np.diag(joint[~single].sum(axis=0))])


def _classes(summary: Summary, mask: LabelMask) -> IntArray | FloatArray:
    """Records of each class of the unmasked label; where unknown, those of a masked one in equal parts."""
    if summary.label_counts is not None:
        return summary.label_counts
    even: FloatArray = (mask.counts / np.bincount(mask.groups))[mask.groups]
    return even


def _least_information(measure: Measure, found: Estimate) -> float:
    """Least mutual information of any feasible table, where the estimate proves one.

    With the histogram and the label counts fixed, I(A; Y) = H(A) + H(Y) - H(A, Y), so the table of most
    entropy has the least mutual information; the duality gap bounds what is missing to the exact optimum.
    """
    result, problem = found.solved[0], found.problems[0]
    pooled = len(found.problems) == 1
    uniform = problem.given_prior is None and problem.histogram is not None
    labelled = any(view.joint.shape[1] == view.n_labels for view in problem.views)
    known = uniform and labelled
    if not (measure.name == "mi" and pooled and known and result.norm == "kl" and result.optimal):
        return -np.inf
    slack = (result.gap or 0.0) / np.log(2) + 1e-12
    least: float = measure.many([result.values])[0] - slack
    return least
