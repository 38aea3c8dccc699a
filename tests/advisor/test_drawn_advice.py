"""Advice from drawn tables: the size of the deviation with its spread, in the certified order."""

from __future__ import annotations

import numpy as np
import pytest
from true_deviation import agreement, true_pud

import aegis_opt as ao

POINTS = ["pud_5", "pud_95"]


@pytest.fixture(scope="module")
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(1500, seed=3)


@pytest.fixture(scope="module")
def summary(clinic: ao.datasets.Dataset) -> ao.Summary:
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)


def test_the_deviation_is_the_mean_of_the_draws_within_the_bounds_in_the_certified_order(
    clinic: ao.datasets.Dataset, summary: ao.Summary
) -> None:
    plain, advice = ao.advise(summary, "mi"), ao.advise(summary, "mi", rounding="drawn")
    ranking = advice.ranking.set_index("configuration")
    assert advice.certified
    assert list(ranking.index) == list(plain.ranking["configuration"])
    assert ranking["rank"].tolist() == plain.ranking["rank"].tolist()
    assert advice.replicates is not None
    draws = advice.replicates[list(ranking.index)]
    assert len(draws) == 20
    assert np.allclose(ranking["pud"], draws.mean())
    assert np.allclose(ranking[POINTS].T, np.percentile(draws, [5, 95], axis=0))
    assert (ranking["pud_low"] < ranking["pud_5"]).all()
    assert (ranking["pud_95"] < ranking["pud_high"]).all()
    assert set(advice.attributes["status"]) == {"FEASIBLE"}
    assert (advice.attributes["residual"] == 0).all()
    regret, tau = agreement(advice, true_pud(clinic.frame, clinic.label, clinic.configurations, "mi"))
    assert regret == pytest.approx(0, abs=1e-12)
    assert tau == pytest.approx(1)


def test_drawn_tables_have_the_sampling_noise_that_the_smooth_estimate_lacks(
    clinic: ao.datasets.Dataset, summary: ao.Summary
) -> None:
    truth = true_pud(clinic.frame, clinic.label, clinic.configurations, "mi")
    plain, drawn = (
        ao.advise(summary, "mi", rounding=rounding).ranking.set_index("configuration")["pud"]
        for rounding in (None, "drawn")
    )
    assert abs(drawn - truth).mean() < 0.5 * abs(plain - truth).mean()


def test_attributes_have_their_spread_and_known_ones_none(summary: ao.Summary) -> None:
    found = ao.advise(summary, "mi", rounding="drawn").attributes.set_index("attribute")
    assert (found["low"] <= found["estimate_5"] + 1e-12).all()
    assert (found["estimate_95"] <= found["high"] + 1e-12).all()
    assert (found["estimate_5"] <= found["estimate"] + 1e-12).all()
    assert (found["estimate"] <= found["estimate_95"] + 1e-12).all()
    known = found["disclosed"] == 1
    assert known.any()
    assert np.allclose(found.loc[known, "estimate_5"], found.loc[known, "estimate_95"])
    assert (found.loc[~known, "estimate_5"] < found.loc[~known, "estimate_95"]).all()


@pytest.mark.parametrize("options", [{"rounding": "nearest"}, {"rounding": "drawn", "replicates": 1}])
def test_only_several_draws_have_points(summary: ao.Summary, options: dict[str, object]) -> None:
    advice = ao.advise(summary, "mi", scope="single", **options)  # type: ignore[arg-type]
    assert not {*POINTS} & {*advice.ranking.columns}
    assert "estimate_5" not in advice.attributes


def test_single_views_are_drawn_too(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", scope="single", rounding="drawn", replicates=5)
    assert not advice.certified
    assert (advice.ranking["pud_5"] <= advice.ranking["pud_95"]).all()
