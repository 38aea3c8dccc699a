"""How far noisy counts are from what a table lets one expect."""

from __future__ import annotations

from typing import Literal

import numpy as np

from aegis_opt.problem._margin import FloatArray
from aegis_opt.problem._problem import Problem
from aegis_opt.problem._view import View

Misfit = Literal["likelihood", "l2"]


def expected_joint(view: View, table: FloatArray) -> FloatArray:
    """Mean T X L of a noisy view's counts."""
    assert view.channel is not None
    merged = np.zeros((table.shape[0], view.joint.shape[1]))
    np.add.at(merged.T, view.label_groups, table.T)
    mean: FloatArray = view.channel @ merged
    return mean


def misfit_of(problem: Problem, table: FloatArray, kind: Misfit) -> float:
    """Misfit of a table to all noisy views of a problem.

    "likelihood" is minus the logarithm of the likelihood, in nats, up to a constant: the sum of J log(J / TX)
    - J + TX over all counts, which is 0 where they are as expected. "l2" is the root of the sum of squared
    differences.
    """
    total = 0.0
    for view in problem.noisy:
        J, mean = view.joint, expected_joint(view, np.maximum(table, 0.0))
        if kind == "l2":
            total += float(((J - mean) ** 2).sum())
            continue
        seen = J > 0
        if (mean[seen] <= 0).any():
            return float("inf")
        total += float((J[seen] * np.log(J[seen] / mean[seen])).sum() - J.sum() + mean.sum())
    return float(np.sqrt(total)) if kind == "l2" else max(total, 0.0)
