"""Random tables with given totals of rows and of labels."""

from __future__ import annotations

import numpy as np

from aegis_opt._draws._hypergeometric import draw_hypergeometric
from aegis_opt._draws._log_factorials import IntArray
from aegis_opt._interrupts import look_up


def deal(groups: IntArray, labels: IntArray, records: IntArray, rng: np.random.Generator) -> IntArray:
    """Share the labels of each group out to its rows, as many to each as it has records, from counts.

    A block of rows is cut into two halves, and its labels are drawn for the first half without replacement;
    what is left is the second half's. Every round cuts all blocks of all groups, until each is one row.
    """
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(labels) + 1))
    running = np.concatenate([[0], np.cumsum(records[order])])
    start, end = bounds[:-1], bounds[1:]
    filled = end > start
    start, end, labels = start[filled], end[filled], labels[filled]
    drawn = np.zeros((len(records), labels.shape[1]), dtype=np.int64)
    while len(start):
        look_up()
        single = end - start == 1
        drawn[order[start[single]]] = labels[single]
        start, end, labels = start[~single], end[~single], labels[~single]
        middle = (start + end) // 2
        first = _without_replacement(labels, running[middle] - running[start], rng)
        start, end = np.concatenate([start, middle]), np.concatenate([middle, end])
        labels = np.concatenate([first, labels - first])
    return drawn


def _without_replacement(labels: IntArray, sample: IntArray, rng: np.random.Generator) -> IntArray:
    """Multivariate hypergeometric draws, one per row of `labels`: label by label, each from what is left."""
    drawn = np.zeros_like(labels)
    others, left = labels.sum(axis=1), sample.copy()
    for label in range(labels.shape[1] - 1):
        others = others - labels[:, label]
        drawn[:, label] = draw_hypergeometric(labels[:, label], others, left, rng)
        left = left - drawn[:, label]
    drawn[:, -1] = left
    return drawn
