"""The trade-off over k and suppression: every point as a search of its own, with fewer tests."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.privacy import KAnonymity, LDiversity, SearchCurve

CLINIC = ao.datasets.clinic(600, seed=3)
CANDIDATES = {
    "age": [ao.Identity(), ao.Bucketize(width=5), ao.Bucketize(width=20), ao.Suppress()],
    "weight": [ao.Identity(), ao.Bucketize(width=10), ao.Blur(30), ao.Suppress()],
}
LEVELS, LIMITS = (2, 10, 50), (0.0, 0.05)


@pytest.fixture(scope="module")
def curve() -> SearchCurve:
    return ao.search_curve(CLINIC.frame, "health", CANDIDATES, LEVELS, LIMITS)


def test_every_point_is_that_of_a_search_of_its_own(curve: SearchCurve) -> None:
    tests = 0
    for (k, limit), result in curve.results.items():
        alone = ao.search(CLINIC.frame, "health", CANDIDATES, KAnonymity(k), limit)
        assert (result.cost, result.proved) == (alone.cost, True)
        tests += alone.checks
    assert curve.proved
    assert curve.checks < tests
    assert set(curve.results) == {(k, limit) for k in LEVELS for limit in LIMITS}


def test_the_table_says_what_each_step_costs_and_who_pays(curve: SearchCurve) -> None:
    table, parts = curve.table, curve.attributes
    for _, own in table.groupby("suppression"):
        assert own["cost"].is_monotonic_increasing
        assert own["step"].iloc[1:].tolist() == pytest.approx(own["cost"].diff().iloc[1:].tolist())
    for row in table.to_dict("records"):
        mine = parts[(parts["k"] == row["k"]) & (parts["suppression"] == row["suppression"])]
        assert mine["loss"].mean() == pytest.approx(row["cost"])
        steps = mine.set_index("attribute")["step"]
        if row["pays"] is not None:
            assert steps[row["pays"]] == steps.max()
            assert steps.max() > 0
    assert "proved" in repr(curve)
    assert "<table" in curve._repr_html_()


def test_certificates_of_a_curve_verify(curve: SearchCurve) -> None:
    for result in curve.results.values():
        assert ao.privacy.verify_certificate(result.certificate, CLINIC.frame).records == 600


def test_points_without_a_configuration_are_told_apart() -> None:
    ages = {"age": [ao.Identity(), ao.Bucketize(width=20)]}
    found = ao.search_curve(CLINIC.frame, "health", ages, k=[2, 599], require=LDiversity(2))
    assert (2, 0.0) in found.results
    assert "'age'" in found.infeasible[599, 0.0]
    with pytest.raises(ao.errors.InfeasibleSearch):
        ao.search_curve(CLINIC.frame, "health", ages, k=[599])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"k": []}, "k must be"),
        ({"k": "5"}, "k must be"),
        ({"k": [0]}, "k must be"),
        ({"suppression": []}, "suppression"),
        ({"suppression": [2]}, "suppression"),
        ({"require": KAnonymity(5)}, "beside k-anonymity"),
        ({"measure": "race"}, "no sum over attributes"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], text: str) -> None:
    with pytest.raises(ao.AegisError, match=text):
        ao.search_curve(CLINIC.frame, "health", CANDIDATES, **change)  # type: ignore[arg-type]


def test_the_curve_is_drawn(curve: SearchCurve, tmp_path: Path) -> None:
    chart = curve.plot()
    (rows,) = chart.to_dict()["datasets"].values()
    drawn = pd.DataFrame(rows)
    assert drawn["cost"].tolist() == pytest.approx(curve.table["cost"].tolist(), rel=1e-4)
    assert set(drawn["limit"]) == {"0", "0.05"}
    chart.save(tmp_path / "curve.svg")
    assert "suppression limit" in (tmp_path / "curve.svg").read_text()
