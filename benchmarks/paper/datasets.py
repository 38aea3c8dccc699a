"""The synthetic data of the Aegis paper's scalability experiments."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from aegis_opt._options import whole_number
from aegis_opt.datasets import Dataset
from aegis_opt.errors import InvalidInput
from aegis_opt.masks import Bucketize, Configurations

_BUCKETS = (2, 3, 4, 5, 8, 10, 20, 40, 100)
_SLOPES = np.array([2.0, 1.5, 1.0, 0.75, 0.5])


def scalability(
    n_rows: int = 100_000,
    n_attributes: int = 50,
    n_values: int = 200,
    n_configurations: int = 50,
    seed: int = 0,
) -> Dataset:
    r"""Make uniform numeric attributes, a binary label and bucketing configurations, of any size.

    The attributes ``a000``, ``a001``, ... are drawn uniformly and independently from 0..n_values-1, as in
    the paper. There the label is independent of them, so that every configuration is as good as any other
    but for noise; here it depends mildly on the first five, so that a ranking means something:

    .. math:: P(y = 1) = 1 / (1 + e^{-z}), \qquad z = \sum_{i<5} s_i \left(\frac{a_i}{n-1} - \frac12\right)

    with slopes s = 2, 1.5, 1, 0.75, 0.5.

    Parameters
    ----------
    n_rows, n_attributes, n_configurations : int
        Size; at least 1 each.
    n_values : int
        Size of every attribute's domain; at least 2.
    seed : int
        Equal seeds and sizes give equal data.

    Returns
    -------
    Dataset
        Label ``label`` (0/1). Each of the distinct configurations ``config001``, ... gives each attribute
        a bucket width drawn from those that cut the domain into 2, 3, 4, 5, 8, 10, 20, 40 or 100 buckets.

    References
    ----------
    "Aegis: A Correlation-Based Data Masking Advisor for Data-Sharing Ecosystems", Proc. ACM Manag. Data
    3(6), 2025, "Framework Efficiency".

    Examples
    --------
    >>> data = scalability(n_rows=1000, n_attributes=3, n_configurations=4)
    >>> data.frame.shape, data.label, len(data.configurations)
    ((1000, 4), 'label', 4)
    """
    n_rows = whole_number("n_rows", n_rows, least=1)
    n_attributes = whole_number("n_attributes", n_attributes, least=1)
    n_values = whole_number("n_values", n_values, least=2)
    n_configurations = whole_number("n_configurations", n_configurations, least=1)
    data_rng, label_rng, mask_rng = np.random.default_rng(whole_number("seed", seed, least=0)).spawn(3)

    small = np.int16 if n_values <= np.iinfo(np.int16).max else np.int64
    columns = data_rng.integers(n_values, size=(n_attributes, n_rows), dtype=small)
    names = [f"a{i:03d}" for i in range(n_attributes)]
    score = np.zeros(n_rows)
    for column, slope in zip(columns, _SLOPES, strict=False):  # the label depends on at most five
        score += slope * (column / (n_values - 1) - 0.5)
    label = label_rng.random(n_rows) < 1 / (1 + np.exp(-score))
    frame = pd.DataFrame(columns.T, columns=names, copy=False).assign(label=label.astype(np.int8))
    return Dataset(
        name="scalability",
        frame=frame,
        label="label",
        configurations=_configurations(names, n_values, n_configurations, mask_rng),
        description=(
            f"Synthetic: {n_attributes} uniform attributes of {n_values} values, "
            f"a binary label that depends mildly on the first {min(n_attributes, len(_SLOPES))}."
        ),
    )


def _configurations(names: list[str], n_values: int, n: int, rng: np.random.Generator) -> Configurations:
    """Draw `n` distinct configurations, each a bucket width per attribute."""
    widths = sorted({math.ceil(n_values / buckets) for buckets in _BUCKETS} - {0, 1} or {2})
    possible = len(widths) ** len(names)
    if n > possible:
        raise InvalidInput(
            f"n_configurations={n}, but {len(names)} attributes with {len(widths)} possible bucket widths "
            f"have only {possible} distinct configurations: ask for fewer, or for more attributes or values"
        )
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < n:
        drawn[tuple(rng.choice(widths, size=len(names)).tolist())] = None
    digits = max(3, len(str(n)))
    return Configurations(
        {
            f"config{i:0{digits}d}": {name: Bucketize(width=w) for name, w in zip(names, choice, strict=True)}
            for i, choice in enumerate(drawn, start=1)
        },
        label="label",
    )
