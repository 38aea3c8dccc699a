"""The deviation that only somebody with the raw table can compute: the judge of every estimate."""

from __future__ import annotations

import pandas as pd
from scipy.stats import kendalltau

import aegis_opt as ao
from aegis_opt.harness import true_deviation


def true_pud(frame: pd.DataFrame, label: str, configurations: ao.Configurations, measure: str) -> pd.Series:
    """Return the true deviations; tests/harness/test_truth.py checks them row by row."""
    return true_deviation(frame, measure, label, configurations)


def agreement(advice: ao.Advice, truth: pd.Series) -> tuple[float, float]:
    """Regret of the winner, and Kendall's tau of the order, ties left out on both sides."""
    estimated = advice.ranking.set_index("configuration")["pud"].reindex(truth.index)
    regret = float(truth[advice.best] - truth.min())
    scale = max(float(truth.max()), 1e-300)
    tau = kendalltau((truth / scale).round(9), (estimated / max(float(estimated.max()), 1e-300)).round(9))
    return regret, float(tau.statistic)
