"""Comparisons take the smooth solver and the automatic one, and give them the positions of the values."""

from __future__ import annotations

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.harness import Case, ComparisonSettings, run_comparison


def test_smooth_variants_are_closer_to_a_smooth_truth() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 5000)
    y = (rng.random(5000) < 0.5 + 0.4 * np.sin(x / 9)).astype(int)
    widths = {"a": 10, "b": 15, "c": 7}
    configurations = ao.Configurations(
        {name: {"x": ao.Bucketize(width=width)} for name, width in widths.items()}, label="y"
    )
    case = Case("wave", pd.DataFrame({"x": x, "y": y}), "y", configurations)
    variants = ["ipf", "smooth", "smooth[order=2]", "auto"]
    results = run_comparison([case], ComparisonSettings(solvers=variants, measures=["mi"]))
    tables = results.reconstructions
    assert set(tables["status"]) == {"optimal"}
    with_histogram = tables[tables["histogram"] & (tables["scope"] == "pooled")]
    distance = with_histogram.groupby("variant")["tvd"].mean()
    assert (distance.drop("ipf") < 0.8 * distance["ipf"]).all()
