"""The deviation that only somebody with the raw table can compute: the judge of every estimate."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import aegis_opt as ao
from aegis_opt.masks import Identity


def true_pud(frame: pd.DataFrame, label: str, configurations: ao.Configurations, measure: str) -> pd.Series:
    """Mask the rows of every configuration, count, and compare with the raw counts."""
    rho = ao.get_measure(measure)
    attributes = list(dict.fromkeys(a for c in configurations.values() for a in c))
    raw = {a: float(rho(_crosstab(frame[a], frame[label]))) for a in attributes}
    found = {}
    for name, configuration in configurations.items():
        deviations = []
        for a in attributes:
            domain = ao.domain.Domain.of(frame[a])
            grouping = configuration.get(a, Identity()).group(domain)
            code = dict(zip(domain.to_list(), grouping.groups, strict=True))
            masked = frame[a].map(lambda v, code=code: code[None if pd.isna(v) else v])
            deviations.append(abs(raw[a] - float(rho(_crosstab(masked, frame[label])))))
        found[name] = float(np.mean(deviations))
    return pd.Series(found)


def agreement(advice: ao.Advice, truth: pd.Series) -> tuple[float, float]:
    """Regret of the winner, and Kendall's tau of the order, ties left out on both sides."""
    estimated = advice.ranking.set_index("configuration")["pud"].reindex(truth.index)
    regret = float(truth[advice.best] - truth.min())
    scale = max(float(truth.max()), 1e-300)
    tau = kendalltau((truth / scale).round(9), (estimated / max(float(estimated.max()), 1e-300)).round(9))
    return regret, float(tau.statistic)


def _crosstab(values: pd.Series, label: pd.Series) -> np.ndarray:
    return pd.crosstab(values.astype(object).where(values.notna(), "missing"), label).to_numpy()
