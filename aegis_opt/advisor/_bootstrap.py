"""What shared tables cannot tell apart: how far differences of configurations vary between samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from aegis_opt.errors import InvalidOption
from aegis_opt.measures import Measure
from aegis_opt.problem._margin import FloatArray
from aegis_opt.scores._masked_records import Refinement
from aegis_opt.summary import AttributeSummary, Summary

LEVEL = 0.95
"""Of confidence, of the intervals of differences."""
MOST_CELLS = 1 << 20  # of resampled tables that are held at a time: 8 MB


def spread_of_differences(
    measure: Measure,
    summary: Summary,
    tables: Mapping[str, FloatArray],
    winner: str,
    replicates: int,
    seed: int,
) -> FloatArray:
    """Standard deviation, over resampled records, of each configuration's difference to the winner.

    Every replicate draws as many labels as there are records, and then, for each attribute apart, the values
    of the records of each label from the attribute's table; all masks of an attribute are applied to the same
    draw. Attributes thus share the labels and are independent given the label.

    Parameters
    ----------
    measure : Measure
        Its mean over the attributes is the score of a configuration.
    summary : Summary
        Masked tables and configurations.
    tables : mapping of str to ndarray, shape (values, labels)
        For each attribute a table that has the masked tables as its merged rows.
    winner : str
        The configuration that the others are compared with.
    replicates : int
        How often the records are resampled.
    seed : int
        Of the draws. They do not depend on the order of attributes, configurations or masks.
    """
    n = summary.n_records
    if summary.label_counts is None:
        raise InvalidOption(
            f"bootstrap draws classes of the label {summary.label!r}, whose records are not shared because "
            "every configuration masks it: leave bootstrap out, or ask for a summary with "
            f"histograms=[{summary.label!r}]"
        )
    labels = np.random.default_rng([seed]).multinomial(n, summary.label_counts / n, size=replicates)
    scores = np.zeros((replicates, len(summary.configurations)))
    for name, attribute in summary.attributes.items():
        rng = np.random.default_rng([seed, *name.encode("utf-8", "surrogatepass")])
        values = _resampled(measure, summary, attribute, tables[name], labels, rng)
        scores += values[:, [chosen[name] for chosen in summary.configurations.values()]]
    scores /= len(summary.attributes)
    place = list(summary.configurations).index(winner)
    spread: FloatArray = (scores[:, [place]] - scores).std(axis=0, ddof=1)
    return spread


def normal_quantile(level: float) -> float:
    """Return how many standard deviations to either side of its mean a normal variable has this share in."""
    from scipy.special import ndtri

    return float(ndtri((1 + level) / 2))


def _resampled(
    measure: Measure,
    summary: Summary,
    attribute: AttributeSummary,
    table: FloatArray,
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> FloatArray:
    """Return the measure of each masked table of an attribute in each replicate; replicates x tables."""
    order = sorted(range(len(attribute.tables)), key=lambda t: attribute.tables[t].groups.tobytes())
    refined = Refinement.of([attribute.tables[t].groups for t in order])
    n_classes, k = int(refined.classes.max()) + 1, labels.shape[1]
    merged = np.zeros((n_classes, k))
    np.add.at(merged, refined.classes, np.maximum(table, 0.0))
    shares = merged / np.maximum(merged.sum(axis=0), 1e-300)
    values = np.empty((len(labels), len(order)))
    at_a_time = max(1, MOST_CELLS // (n_classes * k))
    for start in range(0, len(labels), at_a_time):
        drawn = np.empty((len(labels[start : start + at_a_time]), n_classes, k))
        for y in range(k):
            drawn[:, :, y] = rng.multinomial(labels[start : start + at_a_time, y], shares[:, y])
        for t, groups in zip(order, refined.groups, strict=True):
            by_group = np.argsort(groups, kind="stable")
            begins = np.flatnonzero(np.diff(groups[by_group], prepend=-1))
            masked = np.add.reduceat(drawn[:, by_group], begins, axis=1)
            columns = summary.label_groups(attribute.tables[t])
            if columns is not None:
                masked = masked @ np.eye(int(columns.max()) + 1)[columns]
            values[start : start + at_a_time, t] = measure(masked)
    return values
