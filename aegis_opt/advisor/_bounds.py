"""What the masked tables prove about the measure of the unmasked attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray, IntArray
from aegis_opt.summary import AttributeSummary


@dataclass(frozen=True)
class Interval:
    """Proved bounds of a measure of an attribute, as numbers (low <= high)."""

    low: float
    high: float

    def clip(self, value: float) -> float:
        """Return the admissible value nearest to `value`."""
        return float(np.clip(value, self.low, self.high))


def utility_intervals(
    measure: Measure, attributes: Mapping[str, AttributeSummary], masked: Mapping[str, FloatArray]
) -> dict[str, Interval]:
    """Bound rho(A; Y) by masked tables of A alone; needs a measure that is monotone.

    *From the masked side*: every masked table is a merge of F(A, Y), so A is at least as informative as the
    most informative one (data-processing inequality).

    *From the other side*: split each group into one row per label, diag(J(g, .)). Whatever F(A, Y) is
    inside the group, it is a random relabelling of those pure rows, so it is at most as informative; a group
    of one value is known exactly and stays as it is. This takes a measure that no channel improves; for
    others that side is open (infinite).

    Parameters
    ----------
    measure : Measure
        A monotone one.
    attributes : mapping of str to AttributeSummary
        With the masked tables.
    masked : mapping of str to ndarray
        The measure of each masked table, by attribute.

    Returns
    -------
    dict of str to Interval
        Low and high ends; of the two, the masked side is the low one when higher is better.
    """
    finest = {name: np.full(1, np.inf if measure.higher_is_better else -np.inf) for name in attributes}
    if measure.channel_monotone:
        finest = evaluate(
            measure,
            {name: [_purest(t.groups, t.joint) for t in a.tables] for name, a in attributes.items()},
        )
    return {name: _interval(measure, masked[name], finest[name]) for name in attributes}


def evaluate(measure: Measure, tables: Mapping[str, Sequence[npt.NDArray[Any]]]) -> dict[str, FloatArray]:
    """Evaluate the tables of every attribute, all attributes at a time: calls cost more than tables."""
    values = measure.many([table for found in tables.values() for table in found])
    ends = np.cumsum([len(found) for found in tables.values()])[:-1]
    return dict(zip(tables, np.split(values, ends), strict=True))


def _interval(measure: Measure, masked: FloatArray, finest: FloatArray) -> Interval:
    if measure.higher_is_better:
        low, high = float(np.max(masked)), float(np.min(finest))
    else:
        low, high = float(np.max(finest)), float(np.min(masked))
    if low > high:  # equal up to rounding noise: the views determine the measure
        low = high = low if measure.higher_is_better else high
    return Interval(low, high)


def _purest(groups: IntArray, joint: IntArray) -> FloatArray:
    """Table of a view in which every group of several values is split into one row per label."""
    single = np.bincount(groups, minlength=len(joint)) <= 1
    k = joint.shape[1]
    mixed = joint[~single]
    pure = (mixed[:, :, None] * np.eye(k)).reshape(-1, k)
    return np.concatenate([joint[single], pure])
