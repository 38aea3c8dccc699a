"""Accuracy lost by each pick: the arithmetic on made-up accuracies, the criteria, and the page."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aegis_opt.datasets import clinic
from aegis_opt.harness import Case
from aegis_opt.masks import Configurations, Identity, Suppress
from aegis_opt.summary import summarize
from benchmarks.paper import exhaustive
from benchmarks.paper.exhaustive import train_and_score
from benchmarks.paper.experiments import ExperimentResult, Settings, criteria, run_experiment
from benchmarks.paper.experiments.choices import restricted
from benchmarks.paper.experiments.criteria import (
    AUTO_RACE,
    AUTO_SCORES,
    AUTO_TABLES,
    MEASURES,
    SAMPLED_MODEL,
    SCORES,
    WHOLE_MODEL,
    Ranked,
    rankings,
)
from benchmarks.paper.experiments.regret import (
    BEST_SINGLE,
    LIMITS,
    RANDOM,
    judged,
    limits,
    mean_tau,
    regret,
    side_by_side,
    yardsticks,
)
from benchmarks.paper.experiments.regret_page import write_page
from benchmarks.paper.mascara import mascara_scores


@pytest.fixture
def scores() -> pd.DataFrame:
    """Three configurations, two classifiers, two splits."""
    accuracy = {  # (configuration, classifier): one value for each split
        ("a", "lr"): (0.80, 0.90),
        ("b", "lr"): (0.78, 0.86),
        ("c", "lr"): (0.60, 0.60),
        ("a", "svm"): (0.70, 0.70),
        ("b", "svm"): (0.76, 0.80),
        ("c", "svm"): (0.70, 0.70),
    }
    return pd.DataFrame(
        {
            "dataset": "d",
            "configuration": configuration,
            "classifier": classifier,
            "repeat": repeat,
            "accuracy": value,
            "log_loss": 1 - value if classifier == "lr" else np.nan,
            "seconds": 2.0,
            "cpu_seconds": 1.0,
        }
        for (configuration, classifier), values in accuracy.items()
        for repeat, value in enumerate(values)
    )


def test_regret_is_the_mean_over_classifiers_of_what_the_pick_lacks_to_the_best(scores: pd.DataFrame) -> None:
    lost, error, by_classifier = regret("a", scores)
    assert by_classifier.to_dict() == pytest.approx({"lr": 0.0, "svm": 8.0})
    assert lost == pytest.approx(4.0)
    assert error == pytest.approx(np.std([3.0, 5.0], ddof=1) / np.sqrt(2))  # of the mean, in each split
    assert np.isnan(regret("a", scores[scores["repeat"] == 0])[1])


def test_the_best_single_pick_has_the_highest_mean_and_a_random_one_is_the_mean_regret(
    scores: pd.DataFrame,
) -> None:
    best, chance = yardsticks(scores)
    assert best["configuration"] == "b"
    assert best["regret"] == pytest.approx((3.0 + 0.0) / 2)
    assert best["seconds"] == 12.0  # one split
    assert chance["regret"] == pytest.approx(np.mean([regret(name, scores)[0] for name in "abc"]))


def test_tau_is_the_mean_over_classifiers_that_tell_configurations_apart(scores: pd.DataFrame) -> None:
    results = pd.DataFrame({"up": [1.0, 2, 3], "flat": [1.0, 1, 1], "unknown": [np.nan] * 3}, index=[*"abc"])
    order = pd.Series({"c": 9.0, "a": 1.0, "b": 2.0})  # by name, not by place
    assert mean_tau(order, results) == 1.0
    assert mean_tau(-order, results.assign(down=[3.0, 2, 1])) == 0.0
    assert np.isnan(mean_tau(order, results[["flat", "unknown"]]))
    row = judged(Ranked("m", "rows", "c", pd.Series({"a": 3.0, "b": 2.0, "c": 1.0}), 1.0, 1.0), scores)
    assert row["tau, log-loss"] == 1.0  # of lr alone: the less the better


def test_limits_compare_the_mean_and_the_worst_data_set() -> None:
    methods = list(dict.fromkeys(method for method, _, _ in LIMITS))
    picks = pd.DataFrame(
        {"dataset": dataset, "method": method, "needs": "", "regret": value, "cpu_seconds": 1.0}
        | {"tau, accuracy": 0.0, "tau, log-loss": 0.0}
        for method in methods
        for dataset, value in (("d", 0.0), ("e", 1.6))
    )
    table = limits(side_by_side(picks))
    assert table["here"].tolist() == pytest.approx([0.8, 1.6, 0.8, 0.8])
    assert table["kept"].tolist() == ["no", "no", "no", "yes"]


DATA = clinic(300)
SETTINGS = Settings(
    cases=(Case.of(DATA),), measures=("mi",), classifiers=("nb", "lr"), configurations=4, repeats=2
)


@pytest.fixture(autouse=True)
def once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times do not matter here."""
    monkeypatch.setattr(criteria, "_LONG", 0.0)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[ExperimentResult, Path]]:
    folder = tmp_path_factory.mktemp("regret")
    return cache(lambda: (run_experiment("regret", SETTINGS, folder), folder))


def test_the_automatic_choice_is_that_of_the_criterion_it_stands_for(
    outcome: Callable[[], tuple[ExperimentResult, Path]],
) -> None:
    picks = outcome()[0].tables["picks"].set_index("method")
    kept = ["configuration", "regret", "tau, accuracy", "tau, log-loss"]
    for auto, own in ((AUTO_SCORES, "r2_gcv"), (AUTO_RACE, "race"), (AUTO_TABLES, "mi_loo")):
        assert picks.loc[auto, kept].tolist() == picks.loc[own, kept].tolist()
    expected = {*MEASURES, *SCORES, AUTO_SCORES, AUTO_RACE, AUTO_TABLES, SAMPLED_MODEL, WHOLE_MODEL}
    assert set(picks.index) == expected | {criteria.MASCARA, "sampling, mi", BEST_SINGLE, RANDOM}
    assert (picks["regret"] >= picks.loc[BEST_SINGLE, "regret"] - 1e-9).all()


def test_splits_have_seeds_that_follow_each_other_and_are_trained_once(
    outcome: Callable[[], tuple[ExperimentResult, Path]],
) -> None:
    found, folder = outcome()
    kept = sorted(path.name for path in (folder / "trained").iterdir())
    assert len(kept) == len(SETTINGS.classifiers or ()) * SETTINGS.repeats
    masks = restricted(SETTINGS.cases[0], SETTINGS.configurations).configurations
    assert isinstance(masks, Configurations)
    each = [
        train_and_score(DATA.frame, DATA.label, masks, ["nb"], seed=seed).set_index("configuration")
        for seed in (0, 1)
    ]
    accuracy = found.tables["accuracy"].set_index(["classifier", "configuration"])
    expected = (each[0][["accuracy", "log_loss"]] + each[1][["accuracy", "log_loss"]]) / 2
    pd.testing.assert_frame_equal(accuracy.loc["nb"][["accuracy", "log_loss"]], expected)
    assert found.tables["spread"]["splits"].tolist() == [2]


def test_every_number_of_the_page_is_in_the_tables(
    outcome: Callable[[], tuple[ExperimentResult, Path]],
) -> None:
    found, folder = outcome()
    page = (folder / "regret.md").read_text(encoding="utf-8")
    assert page == write_page(found.tables)
    table = found.tables["regret"].set_index("method")
    lost = table["regret, mean"]
    assert f"loses {lost[AUTO_SCORES]:.2f} points on average where scores are shared" in page
    assert f"A random pick loses {lost[RANDOM]:.2f}" in page
    assert "mean over nb, lr. Accuracies are means over 2 splits" in page
    for method, row in table.iterrows():
        assert f"| {method} | {row['needs']} | {row['regret, mean']:.2f} |" in page
    other = dict(found.tables) | {"regret": found.tables["regret"].assign(**{"regret, mean": 7.654})}
    assert "loses 7.65 points on average" in write_page(other)
    assert f"Configurations: {SETTINGS.configurations} of clinic." in page
    chance = found.tables["regret"]["method"] == RANDOM
    lucky = found.tables["regret"].assign(**{"regret, clinic": np.where(chance, 3.0, 1.0)})
    assert "more than a random pick" not in write_page({**found.tables, "regret": lucky})
    unlucky = lucky.assign(**{"regret, clinic": np.where(chance, 0.5, 1.0)})
    told = "more than a random pick on clinic (scores shared: 1.00 against 0.50)"
    assert told in write_page({**found.tables, "regret": unlucky})
    once = dict(found.tables)
    once["spread"] = once["spread"].assign(splits=1, **{"largest standard error": np.nan})
    assert "means over one split" in write_page(once)
    assert "One split has no standard error" in write_page(once)


def test_baselines_rank_as_they_do_from_one_scan() -> None:
    case = restricted(SETTINGS.cases[0], 3)
    found = {ranked.method: ranked for ranked in rankings(case, SETTINGS)}
    scanned = mascara_scores(summarize(case.source, case.label, case.configurations, histograms=True))
    assert found[criteria.MASCARA].best == scanned.idxmin()
    np.testing.assert_allclose(found[criteria.MASCARA].order, -scanned[list(scanned.index)], atol=1e-9)
    assert all(set(ranked.order.index) == set(scanned.index) for ranked in found.values())


def test_what_masks_row_by_row_is_kept_with_its_time(
    outcome: Callable[[], tuple[ExperimentResult, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, folder = outcome()

    def never(*_: object) -> None:
        raise AssertionError("it is kept")

    monkeypatch.setattr(criteria, "rowwise_mascara", never)
    monkeypatch.setattr(criteria, "rowwise_sampling", never)
    again = run_experiment("regret", SETTINGS, folder)
    before, after = (each.tables["picks"].set_index("method") for each in (found, again))
    kept = [criteria.MASCARA, "sampling, mi"]
    pd.testing.assert_frame_equal(before.loc[kept], after.loc[kept])
    assert len(list((folder / "row-by-row").iterdir())) == 2


def test_a_forest_on_dense_columns_is_that_on_sparse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = Configurations({"open": {"age": Identity()}, "closed": {"age": Suppress()}})
    found = []
    for narrow in (300, 0):
        monkeypatch.setattr(exhaustive, "_NARROW", narrow)
        found.append(train_and_score(DATA.frame, DATA.label, masks, ["rf"])[["accuracy", "log_loss"]])
    pd.testing.assert_frame_equal(*found)


def test_log_loss_is_that_of_the_probabilities_and_only_where_there_are_any() -> None:
    masks = Configurations({"closed": {"age": Suppress()}})
    found = train_and_score(DATA.frame, DATA.label, masks, ["nb", "svm"]).set_index("classifier")["log_loss"]
    shares = DATA.frame[DATA.label].value_counts(normalize=True)
    entropy = -float(np.sum(shares * np.log(shares)))  # all that is known is how frequent the classes are
    assert found["nb"] == pytest.approx(entropy, abs=0.02)
    assert np.isnan(found["svm"])


def test_the_number_of_splits_is_checked() -> None:
    with pytest.raises(Exception, match="repeats must be a whole number from 1 up"):
        dataclasses.replace(SETTINGS, repeats=0)
