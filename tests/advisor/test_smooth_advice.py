"""Advice from smooth tables: the certified order stays, and what was chosen is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao

CONFIGURATIONS = {
    "a": {"x": ao.Bucketize(width=10), "colour": ao.Suppress()},
    "b": {"x": ao.Bucketize(width=15), "colour": ao.Generalize({"warm": ["red"], "cold": ["blue", "green"]})},
    "c": {"x": ao.Bucketize(width=7), "colour": ao.Suppress()},
    "d": {"x": ao.Bucketize(width=20), "colour": ao.Suppress()},
}


@pytest.fixture(scope="module")
def summary() -> ao.Summary:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, 6000)
    y = rng.random(6000) < 0.5 + 0.4 * np.sin(x / 9)
    frame = pd.DataFrame({"x": x, "colour": rng.choice(["red", "blue", "green"], 6000), "y": y.astype(int)})
    return ao.summarize(frame, label="y", configurations=CONFIGURATIONS, histograms=True)


@pytest.mark.parametrize("solver", ["smooth", "auto"])
def test_the_certified_order_stays(summary: ao.Summary, solver: str) -> None:
    plain, smooth = ao.advise(summary, "mi"), ao.advise(summary, "mi", solver=solver)
    assert smooth.certified
    assert list(smooth.ranking["configuration"]) == list(plain.ranking["configuration"])
    single = ao.advise(summary, "mi", solver=solver, scope="single")
    assert not single.certified
    assert (single.attributes["status"] == "OPTIMAL").all()


def test_the_choice_and_its_gain_are_reported(summary: ao.Summary) -> None:
    rows = ao.advise(summary, "mi", solver="auto").attributes.set_index("attribute")
    assert "differences" in rows.loc["x", "chosen"]
    assert 0.2 < rows.loc["x", "gain"] < 1
    assert rows.loc["colour", "chosen"] == "maximum entropy"
    assert np.isnan(rows.loc["colour", "gain"])
    assert "chosen" not in ao.advise(summary, "mi").attributes


def test_a_nominal_attribute_that_is_to_be_smooth_is_named(summary: ao.Summary) -> None:
    forced = [text for text in ao.advise(summary, "mi", solver="smooth").warnings if "not smooth" in text]
    assert len(forced) == 1
    assert "'colour'" in forced[0]
    assert "nominal" in forced[0]
    assert not any("not smooth" in text for text in ao.advise(summary, "mi", solver="auto").warnings)
