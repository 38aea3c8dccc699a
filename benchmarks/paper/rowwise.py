"""The paper's two estimating competitors as tools without summaries run them: row by row, on masked data.

Each configuration is applied to the rows, column by column, and the estimate comes from the masked rows.
These versions are for timing; `mascara_scores` and the solver "sampling" answer the same questions from one
scan.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from aegis_opt.domain import Domain
from aegis_opt.masks import Configurations, Mask, group_attribute
from aegis_opt.measures import get_measure


def masked_attributes(configurations: Mapping[str, Mapping[str, Mask]]) -> list[str]:
    """List the attributes that some configuration masks, in order of first appearance."""
    return list(dict.fromkeys(name for masks in configurations.values() for name in masks))


def mask_rows(column: pd.Series, mask: Mask | None) -> tuple[list[Any], dict[Any, list[Any]]]:
    """Mask the values of a column one by one.

    Parameters
    ----------
    column : Series
        The raw values.
    mask : Mask or None
        None keeps the values.

    Returns
    -------
    masked : list
        The masked value of every row.
    possible : dict
        For each masked value, the raw values it stands for.

    Examples
    --------
    >>> from aegis_opt.masks import Suppress
    >>> mask_rows(pd.Series([10, 17], name="age"), Suppress())
    (['*', '*'], {'*': [10, 17]})
    """
    domain = Domain.of(column)
    values = domain.to_list()
    if mask is None:
        became = dict(zip(values, values, strict=True))
    else:
        grouping = group_attribute(mask, str(column.name), domain)
        became = {v: grouping.labels[g] for v, g in zip(values, grouping.groups, strict=True)}
    possible: dict[Any, list[Any]] = {}
    for value, label in became.items():
        possible.setdefault(label, []).append(value)
    rows = [None if value != value else value for value in column.tolist()]
    return [became[value] for value in rows], possible


def rowwise_mascara(frame: pd.DataFrame, configurations: Configurations) -> pd.Series:
    """Mascara's estimate of every configuration, from rows masked one by one.

    Parameters
    ----------
    frame : DataFrame
        The raw rows.
    configurations : Configurations
        What to choose from.

    Returns
    -------
    Series
        Mean relative entropy in bits, indexed by configuration; as `mascara_scores`.

    Examples
    --------
    >>> from aegis_opt.masks import Suppress
    >>> people = pd.DataFrame({"age": [10, 17, 10, 10], "health": ["good", "poor", "good", "good"]})
    >>> rowwise_mascara(people, Configurations({"closed": {"age": Suppress()}})).round(3).to_dict()
    {'closed': 0.189}
    """
    names = masked_attributes(configurations)
    scores = {}
    for title, masks in configurations.items():
        lost = 0.0
        for name in names:
            masked, possible = mask_rows(frame[name], masks.get(name))
            original = frame[name].value_counts(dropna=False)
            released = pd.Series(masked, dtype=object).value_counts(dropna=False)
            share = {
                value: released.get(label, 0) / len(values)
                for label, values in possible.items()
                for value in values
            }
            for value, count in original.items():
                spread = share[None if value != value else value]
                lost += count / len(frame) * math.log2(count / spread)
        scores[title] = lost / len(names)
    return pd.Series(scores, name="mascara")


def rowwise_sampling(
    frame: pd.DataFrame,
    label: str,
    configurations: Configurations,
    measures: Sequence[str],
    seed: int = 0,
) -> pd.DataFrame:
    """The paper's Sampling: every masked row draws one of the values it may stand for and keeps its label.

    Parameters
    ----------
    frame, label, configurations
        The raw rows, the class label, what to choose from.
    measures : sequence of str
        What to compute deviations of; the draws serve all of them.
    seed : int
        Of the draws.

    Returns
    -------
    DataFrame
        Estimated PUD; index configuration, one column per measure.

    Examples
    --------
    >>> from aegis_opt.masks import Identity
    >>> people = pd.DataFrame({"age": [10, 17, 10], "health": ["good", "poor", "good"]})
    >>> open_ = Configurations({"open": {"age": Identity()}})
    >>> rowwise_sampling(people, "health", open_, ["mi"]).loc["open", "mi"]
    np.float64(0.0)
    """
    rng = random.Random(seed)
    names = masked_attributes(configurations)
    chosen = [get_measure(measure) for measure in measures]
    deviations = {}
    for title, masks in configurations.items():
        total = dict.fromkeys((measure.name for measure in chosen), 0.0)
        for name in names:
            masked, possible = mask_rows(frame[name], masks.get(name))
            drawn = [rng.choice(possible[value]) for value in masked]
            released, rebuilt = (_table(rows, frame[label]) for rows in (masked, drawn))
            for measure in chosen:
                deviation = abs(float(measure(rebuilt)) - float(measure(released)))
                total[measure.name] += deviation / len(names)
        deviations[title] = total
    return pd.DataFrame.from_dict(deviations, orient="index")


def _table(rows: list[Any], labels: pd.Series) -> Any:
    """Joint counts of rows and labels; the missing value is a value."""
    codes = pd.factorize(pd.Series(rows, dtype=object), use_na_sentinel=False)[0]
    classes = pd.factorize(labels, use_na_sentinel=False)[0]
    return pd.crosstab(codes, classes).to_numpy()
