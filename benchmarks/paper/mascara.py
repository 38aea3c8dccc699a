"""Mascara's utility estimator: how much a mask blurs the distribution of an attribute, labels ignored.

Mascara rewrites queries so that they disclose no more than allowed, and prefers the masking whose output
says most about the original values. Somebody who sees masked value g and knows nothing else spreads its mass
evenly over the values that g stands for. The relative entropy from the original distribution to that guess is
what the mask loses; the configuration that loses least is chosen. As it never looks at the class label, it is
a baseline for what the label is worth.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.summary import Summary


def relative_entropy(histogram: npt.ArrayLike, groups: npt.ArrayLike) -> float:
    r"""Relative entropy, in bits, from an attribute's distribution to the masked one spread evenly.

    .. math:: D(P \| Q) = \sum_a P(a) \log_2 \frac{P(a)}{Q(a)}, \qquad
        Q(a) = \frac{1}{|g(a)|} \sum_{b \in g(a)} P(b)

    Parameters
    ----------
    histogram : array_like, shape (n,)
        Records per value; not all 0.
    groups : array_like of int, shape (n,)
        Masked value of each value, 0..G-1.

    Returns
    -------
    float
        0 where nothing is lost (every group is one value, or even), at most log2 of the largest group.

    References
    ----------
    "Disclosure-compliant query answering", Proceedings of the ACM on Management of Data 2 (2024); adapted as
    in the Aegis paper.

    Examples
    --------
    >>> relative_entropy([2, 2, 4], [0, 0, 1]), relative_entropy([4, 0], [0, 0])
    (0.0, 1.0)
    """
    counts = np.asarray(histogram, dtype=np.float64)
    group = np.asarray(groups)
    if counts.ndim != 1 or counts.shape != group.shape:
        raise InvalidInput(
            f"a histogram of {counts.shape} values cannot have groups of {group.shape}: one group per value"
        )
    if not (np.isfinite(counts) & (counts >= 0)).all() or not counts.sum() > 0:
        raise InvalidInput("a histogram needs counts from 0 up, and at least one record")
    mean = np.bincount(group, weights=counts) / np.bincount(group).clip(1)
    seen = counts > 0
    ratio = counts[seen] / mean[group[seen]]
    return max(float(np.sum(counts[seen] * np.log2(ratio)) / counts.sum()), 0.0)


def mascara_scores(summary: Summary) -> pd.Series:
    """Score every configuration of a summary: mean relative entropy over its attributes; least is best.

    Parameters
    ----------
    summary : Summary
        With histograms: the estimator needs the original distribution of every attribute.

    Returns
    -------
    Series
        Indexed by configuration, in bits.

    Examples
    --------
    >>> from aegis_opt.masks import Identity, Suppress
    >>> from aegis_opt.summary import summarize
    >>> people = pd.DataFrame({"age": [10, 17, 10, 10], "health": ["good", "poor", "good", "good"]})
    >>> masks = {"open": {"age": Identity()}, "closed": {"age": Suppress()}}
    >>> mascara_scores(summarize(people, "health", masks, histograms=True)).round(3).to_dict()
    {'open': 0.0, 'closed': 0.189}
    """
    total = np.zeros(len(summary.configurations))
    for name, attribute in summary.attributes.items():
        if attribute.histogram is None:
            raise InvalidOption(
                f"Mascara's estimator needs the histogram of {name!r}: summarize with histograms=True"
            )
        lost = np.array([relative_entropy(attribute.histogram, table.groups) for table in attribute.tables])
        total += lost[[chosen[name] for chosen in summary.configurations.values()]]
    return pd.Series(total / len(summary.attributes), index=list(summary.configurations), name="mascara")
