"""The advisor: order, certificate, bounds, degeneracy, ties, replicates."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from true_deviation import agreement, true_pud

import aegis_opt as ao

MONOTONE = [name for name in ao.measures.available_measures() if ao.get_measure(name).monotone]


@pytest.fixture(scope="module")
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(1500, seed=3)


@pytest.fixture(scope="module", params=[True, False], ids=["with histograms", "without histograms"])
def summary(request: pytest.FixtureRequest, clinic: ao.datasets.Dataset) -> ao.Summary:
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=request.param)


@pytest.mark.parametrize("measure", MONOTONE)
def test_the_pooled_order_is_the_order_of_the_true_deviation(
    clinic: ao.datasets.Dataset, summary: ao.Summary, measure: str
) -> None:
    advice = ao.advise(summary, measure=measure)
    truth = true_pud(clinic.frame, clinic.label, clinic.configurations, measure)
    regret, tau = agreement(advice, truth)
    assert advice.certified
    assert regret == pytest.approx(0, abs=1e-12)
    assert tau == pytest.approx(1)


@pytest.mark.parametrize("measure", MONOTONE)
def test_the_true_deviation_lies_within_the_proved_bounds(
    clinic: ao.datasets.Dataset, summary: ao.Summary, measure: str
) -> None:
    ranking = ao.advise(summary, measure=measure).ranking.set_index("configuration")
    truth = true_pud(clinic.frame, clinic.label, clinic.configurations, measure).reindex(ranking.index)
    slack = 1e-9 * max(1.0, truth.max())
    assert (ranking["pud_low"] <= truth + slack).all()
    assert ((truth <= ranking["pud_high"] + slack) | ranking["pud_high"].isna()).all()
    assert (ranking["pud"] >= ranking["pud_low"] - slack).all()


def test_known_margins_tighten_the_lower_bound_of_mutual_information(clinic: ao.datasets.Dataset) -> None:
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)
    pooled = ao.advise(summary, "mi").ranking.set_index("configuration")["pud_low"]
    without = ao.advise(summary, "mi", histograms=False).ranking.set_index("configuration")["pud_low"]
    assert (pooled >= without.reindex(pooled.index) - 1e-12).all()
    assert (pooled > without.reindex(pooled.index) + 1e-4).any()


@pytest.mark.parametrize("measure", ["mi", "chi2", "g3", "theils_u", "gk_tau"])
def test_single_view_maximum_entropy_names_no_winner(summary: ao.Summary, measure: str) -> None:
    advice = ao.advise(summary, measure=measure, scope="single")
    assert advice.best is None
    assert advice.tied == ()
    assert not advice.certified
    assert any("degenerate" in warning for warning in advice.warnings)
    assert "scope='pooled'" in advice.reason
    assert advice.ranking["pud"].max() < 1e-6 * max(1.0, float(advice.masked.to_numpy().max()))


def test_estimates_that_all_lie_outside_proved_bounds_name_no_winner(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", scope="single", rounding="controlled", replicates=5, seed=1)
    ranking = advice.ranking
    assert ((ranking["pud"] < ranking["pud_low"]) | (ranking["pud"] > ranking["pud_high"])).all()
    assert advice.best is None
    assert advice.tied == ()
    assert advice.reason.startswith("implausible: 12 of 12 estimates are outside proved bounds")
    proved = ao.advise(summary, "mi").best
    assert any(f"puts {proved} first" in warning for warning in advice.warnings)
    assert not advice.certified
    assert advice.replicates is not None
    assert advice.replicates.shape == (5, 12)
    assert advice.ranking["wins"].sum() == pytest.approx(1)
    assert (advice.ranking["pud_std"] >= 0).all()
    assert any(warning.startswith("implausible") for warning in advice.warnings)
    again = ao.advise(summary, "mi", scope="single", rounding="controlled", replicates=5, seed=1)
    pd.testing.assert_frame_equal(advice.ranking, again.ranking)
    other = ao.advise(summary, "mi", scope="single", rounding="controlled", replicates=5, seed=2)
    assert not np.array_equal(advice.ranking["pud"], other.ranking["pud"])


@pytest.mark.parametrize("solver", ["integer", "sampling"])
def test_random_solvers_are_replicated(clinic: ao.datasets.Dataset, solver: str) -> None:
    summary = ao.summarize(clinic.frame[:300], clinic.label, clinic.configurations)
    advice = ao.advise(summary, "mi", scope="single", solver=solver, replicates=3)
    assert advice.replicates is not None
    assert len(advice.replicates) == 3


def test_ranks_of_equal_configurations_are_ties() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 4] * 5, "b": [0, 1] * 10, "y": [0, 0, 1, 1] * 5})
    halves = ao.Generalize({"low": [1, 2], "high": [3, 4]})
    configurations = {
        "first": {"a": halves},
        "same": {"a": ao.Bucketize(edges=[3])},
        "worse": {"a": ao.Suppress()},
    }
    advice = ao.advise(ao.summarize(frame, "y", configurations), "mi")
    assert advice.tied == ("first", "same")
    assert advice.best == "first"
    assert advice.ranking["rank"].tolist() == [1, 1, 3]
    assert any(warning.startswith("tie") for warning in advice.warnings)


def test_unmasked_attributes_cost_nothing_and_determine_themselves() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 4] * 5, "y": [0, 0, 1, 0] * 5})
    advice = ao.advise(ao.summarize(frame, "y", {"open": {}, "closed": {"a": ao.Suppress()}}), "mi")
    assert advice.best == "open"
    row = advice.ranking.set_index("configuration").loc["open"]
    assert row["pud"] == row["pud_low"] == row["pud_high"] == 0
    assert any("disclosed" in warning and "'a'" in warning for warning in advice.warnings)
    only_open = ao.advise(ao.summarize(frame, "y", {"x": {"a": ao.Identity()}}), "mi", scope="single")
    assert only_open.best == "x"  # the deviation is 0 because nothing is masked, not by degeneracy


def test_views_that_together_disclose_an_attribute_are_reported() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 4, 200), "y": rng.integers(0, 2, 200)})
    pairs = {
        f"c{i}": {"a": ao.Generalize({"x": list(x), "rest": [v for v in range(4) if v not in x]})}
        for i, x in enumerate([(0, 1), (0, 2), (0,)])
    }
    together = ao.advise(ao.summarize(frame, "y", pairs))
    assert together.attributes.loc[0, "disclosed"] == pytest.approx(1)
    assert any(w.startswith("disclosed") for w in together.warnings)
    fewer = ao.advise(ao.summarize(frame, "y", {"c0": pairs["c0"], "c2": pairs["c2"]}))
    assert fewer.attributes.loc[0, "disclosed"] < 0.9


def test_measures_without_a_certificate_say_so(summary: ao.Summary) -> None:
    advice = ao.advise(summary, measure="mi_corrected")
    assert not advice.certified
    assert advice.ranking["pud_low"].isna().all()
    assert any(w.startswith("no certificate") for w in advice.warnings)


def test_the_answer_is_found_again_in_json(summary: ao.Summary) -> None:
    advice = ao.advise(summary, measure="g1")
    document = json.loads(json.dumps(advice.to_dict(), allow_nan=False))
    assert document["best"] == advice.best
    assert [row["configuration"] for row in document["ranking"]] == list(advice.ranking["configuration"])
    assert document["ranking"][0]["pud"] == advice.ranking.loc[0, "pud"]


def test_per_attribute_columns_come_on_request(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    wide = advice.ranking_by_attribute()
    assert list(wide.columns[:5]) == ["configuration", "pud", "pud_low", "pud_high", "rank"]
    assert np.allclose(wide[["age", "weight", "zip"]].mean(axis=1), wide["pud"])


def test_a_summary_file_will_do(summary: ao.Summary, tmp_path: object) -> None:
    path = f"{tmp_path}/summary.json"
    summary.save(path)
    assert ao.advise(path).best == ao.advise(summary).best


def test_progress_is_told(summary: ao.Summary) -> None:
    seen: list[tuple[str, int, int]] = []
    ao.advise(summary, "mi", progress=lambda what, done, of: seen.append((what, done, of)))
    assert [done for _, done, _ in seen] == [0, 1, 2, 3]
    assert {of for _, _, of in seen} == {3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scope": "pool"}, "'pooled' or 'single'"),
        ({"replicates": 0}, "replicates"),
        ({"replicates": 3}, "not random"),
        ({"rounding": "up"}, "unknown rounding"),
        ({"norm": "l1"}, "'ipf' cannot minimise the norm 'l1'"),
        ({"solver": "sampling", "norm": "l1"}, "no option 'norm'"),
        ({"histograms": "no"}, "histograms must be True or False"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    summary: ao.Summary, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=message):
        ao.advise(summary, **options)  # type: ignore[arg-type]


def test_asking_for_histograms_that_were_not_shared_is_an_error(clinic: ao.datasets.Dataset) -> None:
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=False)
    with pytest.raises(ao.errors.InvalidOption, match="no histogram of 'age'"):
        ao.advise(summary, histograms=True)


def test_unknown_names_list_what_exists(summary: ao.Summary) -> None:
    with pytest.raises(ao.errors.UnknownMeasure, match="did you mean 'chi2'"):
        ao.advise(summary, measure="chi")
    with pytest.raises(ao.UnknownSolver, match="known: "):
        ao.advise(summary, solver="magic")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["mi", "chi2", "g3"]), st.booleans())
def test_any_table_any_masks_certified_means_certified(seed: int, measure: str, histograms: bool) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 12, 80),
            "b": rng.choice([None, "x", "y", "z"], 80),
            "y": rng.integers(0, 3, 80),
        }
    )
    frame.loc[:2, "y"] = [0, 1, 2]
    words = [ao.Suppress(), ao.Identity(), ao.Generalize({"xy": ["x", "y"], "z": ["z"]}), ao.Prefix(1)]
    configurations = ao.Configurations(
        {
            f"c{i}": {
                "a": ao.Bucketize(width=int(rng.integers(1, 9)), origin=int(rng.integers(0, 4))),
                "b": word,
            }
            for i, word in enumerate(words)
        }
    )
    summary = ao.summarize(frame, "y", configurations, histograms=histograms)
    advice = ao.advise(summary, measure=measure)
    truth = true_pud(frame, "y", configurations, measure)
    regret, tau = agreement(advice, truth)
    assert regret == pytest.approx(0, abs=1e-9)
    assert tau == pytest.approx(1) or len(set(truth.round(9))) == 1
    ranking = advice.ranking.set_index("configuration")
    slack = 1e-9 * max(1.0, truth.max())
    assert (ranking["pud_low"] <= truth.reindex(ranking.index) + slack).all()
    assert (truth.reindex(ranking.index) <= ranking["pud_high"] + slack).all()


@pytest.mark.parametrize("measure", ["mi_loo", "chi2_corrected", "g3_loo"])
def test_measures_that_a_mask_may_improve_rank_by_their_masked_value(
    summary: ao.Summary, measure: str
) -> None:
    advice = ao.advise(summary, measure=measure)
    direction = 1 if ao.get_measure(measure).higher_is_better else -1
    scores = advice.masked.mean(axis=1)
    assert advice.best == (direction * scores).idxmax()
    shown = advice.ranking.set_index("configuration")["score"]
    assert shown.to_dict() == pytest.approx(scores.to_dict())
    assert (direction * advice.ranking["score"]).is_monotonic_decreasing
    assert advice.ranking["pud"].isna().all()
    assert not advice.certified


def test_the_deviation_stands_beside_the_score_where_the_unmasked_tables_are_known() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 40, 200), "y": rng.integers(0, 2, 200)})
    masks = {"open": {}, "halves": {"a": ao.Bucketize(width=20)}, "closed": {"a": ao.Suppress()}}
    advice = ao.advise(ao.summarize(frame, "y", masks), measure="mi_loo")
    table = pd.crosstab(frame["a"], frame["y"]).to_numpy()
    unmasked = ao.get_measure("mi_loo")(table)
    known = advice.ranking.set_index("configuration")
    assert known.loc["open", "pud"] == pytest.approx(0)
    assert known.loc["closed", "pud"] == pytest.approx(abs(unmasked - known.loc["closed", "score"]))
    assert advice.best != "open"  # a mask improves the score of values that are nearly unique


def test_values_that_occur_once_each_are_ranked() -> None:
    """Their tables are fractional, and rounded to nothing: a measure of whole counts refused them."""
    frame = pd.DataFrame({"x": range(6), "y": list("ababab")})
    summary = ao.summarize(
        frame, "y", {"closed": {"x": ao.Suppress()}, "pairs": {"x": ao.Bucketize(width=2)}}
    )
    advice = ao.advise(summary, measure="mi_loo")
    assert advice.ranking["pud"].isna().all()
    assert set(advice.ranking["configuration"]) == {"closed", "pairs"}


def test_a_measure_that_is_no_number_for_a_masked_table_is_refused(summary: ao.Summary) -> None:
    never = ao.measures.Measure("never", "never", lambda F: np.full(np.shape(F)[:-2], np.nan), True, True)
    with pytest.raises(ao.errors.InvalidInput, match="'never' is not finite for a masked table of"):
        ao.advise(summary, never)
