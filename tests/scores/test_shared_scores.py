"""Scores in summaries: what is shared, what is not, and the advice that rests on them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

import aegis_opt as ao
from aegis_opt.scores import Model, Race, Score, ScoreValues
from aegis_opt.sources import _queried_records, _small_frames

QUICK_RACE = Race(rows=200, finalists=3)


@pytest.fixture(scope="module")
def clinic():
    return ao.datasets.clinic(1500, seed=3)


def shared(clinic, **options):
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores", **options)


def test_numbers_are_shared_by_default_that_the_best_advice_needs(clinic) -> None:
    found = shared(clinic)
    assert list(found.scores) == ["r2_gcv", "r2_cv"]
    assert found.measures == ("mi", "mi_loo", "g3")
    assert ao.advise(found).measure == "r2_gcv"
    assert len(found.scores["r2_cv"].folds["coarse-age"]) == 10


SENTINELS = ["Xsentinel-text", 987654321.125, 777777]


def test_a_file_of_scores_holds_no_value_and_no_count(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "text": rng.choice([SENTINELS[0], "Xother-text", "Xthird"], 600),
            "real": rng.choice([SENTINELS[1], 2.5, 3.5], 600),
            "whole": rng.choice([SENTINELS[2], 1, 2], 600),
            "y": rng.choice(["Xlabel-a", "Xlabel-b"], 600, p=[0.3, 0.7]),
        }
    )
    masks = {
        "c1": {"text": ao.Prefix(2), "real": ao.Bucketize(width=2), "whole": ao.Suppress()},
        "c2": {"text": ao.Suppress(), "whole": ao.Bucketize(width=2)},
    }
    path = tmp_path / "scores.json"
    ao.summarize(frame, "y", masks, share="scores", scores=["r2", "r2_cv", "race"], unmasked=True).save(path)
    text = path.read_text()
    assert not any(str(sentinel) in text for sentinel in [*SENTINELS, "Xlabel", "Xother", "Xthird"])
    document = json.loads(text)
    assert set(document) == {"format", "version", "label", "attributes", "configurations", "scores"}
    assert document["label"] == {"name": "y"}
    for attribute in document["attributes"].values():
        assert set(attribute) == {"masks", "measures", "unmasked", "chance"}
    for score in document["scores"].values():
        assert set(score) <= {"title", "monotone", "values", "folds", "stages"}


@pytest.mark.parametrize("share", ["scores", "both"])
def test_a_file_loads_back_equal(clinic, tmp_path: Path, share: str) -> None:
    found = ao.summarize(
        clinic.frame,
        clinic.label,
        clinic.configurations,
        share=share,
        scores=["r2_cv", QUICK_RACE],
        unmasked=True,
    )
    assert pickle.loads(pickle.dumps(found)) == found
    for ending in ("json", "json.gz"):
        found.save(tmp_path / f"s.{ending}")
        assert ao.Summary.load(tmp_path / f"s.{ending}") == found
        assert ao.advise(tmp_path / f"s.{ending}").best == ao.advise(found).best


def test_deviations_are_exact_where_the_unmasked_measures_are_shared(clinic) -> None:
    exact = ao.advise(shared(clinic, measures=["mi", "g3", "mi_loo"], unmasked=True), "mi")
    assert exact.certified
    truth = ao.harness.true_deviation(clinic.frame, "mi", clinic.label, clinic.configurations)
    for row in exact.ranking.itertuples():
        assert row.pud == pytest.approx(truth[row.configuration], abs=1e-12)
        assert row.pud_low == row.pud == row.pud_high


def test_without_them_the_order_of_a_monotone_measure_is_proved_all_the_same(clinic) -> None:
    tables = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    by_numbers = ao.advise(shared(clinic), "mi")
    by_tables = ao.advise(tables, "mi")
    assert by_numbers.certified
    assert by_numbers.ranking["pud"].isna().all()
    assert list(by_numbers.ranking["configuration"]) == list(by_tables.ranking["configuration"])


def test_rounded_numbers_have_as_many_digits_as_asked_for(clinic) -> None:
    found = shared(clinic, digits=3)
    numbers = [*found.scores["r2_gcv"].values.values(), *found.attributes["age"].measures["mi"]]
    assert all(number == float(f"{number:.3g}") for number in numbers)


def test_the_order_by_mi_is_carried_beside_the_automatic_one(clinic) -> None:
    advice = ao.advise(shared(clinic))
    assert advice.by_mi is not None
    assert advice.by_mi.certified
    assert advice.by_mi.best == ao.advise(shared(clinic), "mi").best
    assert ao.advise(shared(clinic, measures=["g3"])).by_mi is None


def test_the_reason_says_why_mi_prefers_another_one() -> None:
    rng = np.random.default_rng(1)
    n = 800
    frame = pd.DataFrame({"number": rng.permutation(n), "signal": rng.integers(0, 4, n)})
    frame["y"] = (frame["signal"] + rng.integers(0, 2, n) > 2).astype(int)
    masks = {
        "keeps-number": {"signal": ao.Suppress()},
        "keeps-signal": {"number": ao.Suppress()},
    }
    for share in ("scores", "both", "tables"):
        advice = ao.advise(ao.summarize(frame, "y", masks, share=share))
        assert advice.best == "keeps-signal"
        assert advice.by_mi.best == "keeps-number"
        assert (
            "mi prefers keeps-number because of number, 100% of whose information is chance." in advice.reason
        )


def test_chance_is_told_on_request() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"number": rng.permutation(300), "y": rng.integers(0, 2, 300)})
    summary = ao.summarize(frame, "y", {"open": {}, "closed": {"number": ao.Suppress()}})
    assert "chance" not in ao.advise(summary, "mi").attributes
    advice = ao.advise(summary, "mi", chance=True)
    assert advice.attributes.loc[0, "chance"] == pytest.approx(1)
    assert any(warning.startswith("chance: more than half") for warning in advice.warnings)


def test_a_certified_score_is_called_so(clinic) -> None:
    found = shared(clinic, scores=["r2", "r2_certified", "r2_gcv"])
    assert [ao.advise(found, name).certified for name in found.scores] == [True, True, False]


def test_gcv_is_told_apart_by_the_folds_of_cross_validation(clinic) -> None:
    by_default = shared(clinic)
    advice, by_folds = ao.advise(by_default), ao.advise(by_default, "r2_cv")
    assert advice.measure == "r2_gcv"
    assert advice.best == by_folds.best == advice.equivalent[0]
    assert set(advice.equivalent) == set(by_folds.equivalent)
    assert ao.advise(shared(clinic, scores=["r2_gcv"])).equivalent == ()


def test_the_race_wins_over_the_other_scores_and_gives_the_same_winner_again(clinic) -> None:
    runs = [shared(clinic, scores=["r2_gcv", Race(rows=200, finalists=4, seed=5)]) for _ in range(2)]
    assert runs[0].scores["race"] == runs[1].scores["race"]
    advice = ao.advise(runs[0])
    assert advice.measure == "race"
    stages = advice.ranking["stage"]
    assert stages.is_monotonic_decreasing
    assert (stages > 0).sum() == 4
    assert advice.best in advice.equivalent
    last = advice.ranking[stages == stages.max()]
    assert last["score"].is_monotonic_decreasing


def test_any_classifier_is_a_score_under_its_name(clinic) -> None:
    found = shared(
        clinic,
        scores=[Model(BernoulliNB(), rows=400, name="bayes"), Model(LinearSVC(), rows=400, name="svm")],
    )
    assert ao.advise(found, "bayes").ranking["score"].max() < 0  # the logarithm of a probability
    accuracy = ao.advise(found, "svm").ranking["score"]
    assert ((accuracy > 0.2) & (accuracy <= 1)).all()


def test_the_best_by_a_model_is_the_configuration_that_keeps_the_signal() -> None:
    rng = np.random.default_rng(0)
    signal = rng.integers(0, 6, 3000)
    frame = pd.DataFrame({"signal": signal, "noise": rng.integers(0, 6, 3000)})
    frame["y"] = rng.random(3000) < signal / 6
    masks = {
        "noise-only": {"signal": ao.Suppress()},
        "signal-only": {"noise": ao.Suppress()},
        "both": {},
        "halves": {"signal": ao.Bucketize(width=3)},
    }
    found = ao.summarize(frame, "y", masks, share="scores", scores=["r2_cv", "race", Model(name="lr")])
    for name in found.scores:
        advice = ao.advise(found, name)
        assert advice.best in ("both", "signal-only")
        assert {"both", "signal-only"} >= set(advice.equivalent)


@pytest.fixture(scope="module")
def frame_with_gaps(clinic):
    return clinic.frame.assign(weight=clinic.frame["weight"].where(clinic.frame.index % 7 > 0))


@pytest.fixture(scope="module")
def some(clinic):
    """A third of the configurations, where they are scored several times."""
    return {name: clinic.configurations[name] for name in list(clinic.configurations)[::3]}


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "relation", "large frame"])
def test_every_source_gives_the_same_scores(
    clinic, frame_with_gaps, some, kind: str, tmp_path: Path, monkeypatch
) -> None:
    frame = frame_with_gaps
    expected = ao.summarize(frame, clinic.label, some, share="scores", scores=["r2_gcv", "r2"])
    source = {
        "csv": tmp_path / "c.csv",
        "parquet": tmp_path / "c.parquet",
        "polars": pl.from_pandas(frame),
        "relation": duckdb.from_df(frame),
        "large frame": frame,
    }[kind]
    frame.to_csv(tmp_path / "c.csv", index=False)
    pl.from_pandas(frame).write_parquet(tmp_path / "c.parquet")
    if kind == "large frame":
        monkeypatch.setattr(_small_frames, "LARGEST", 10)
    wanted = {"share": "scores", "scores": ["r2_gcv", "r2", "r2_cv", QUICK_RACE]}
    found = ao.summarize(source, clinic.label, some, **wanted)
    for name, score in expected.scores.items():
        assert dict(found.scores[name].values) == pytest.approx(dict(score.values), abs=1e-12)
    assert ao.summarize(source, clinic.label, some, **wanted) == found


def test_records_that_stay_in_their_engine_give_the_same_scores(
    clinic, frame_with_gaps, some, monkeypatch
) -> None:
    relation = duckdb.from_df(frame_with_gaps)
    wanted = {"share": "scores", "scores": ["r2_gcv", "r2_cv", QUICK_RACE]}
    here = ao.summarize(relation, clinic.label, some, **wanted)
    monkeypatch.setattr(_queried_records, "MOST_HELD", 0)
    there = ao.summarize(relation, clinic.label, some, **wanted)
    assert dict(there.scores["r2_gcv"].values) == pytest.approx(dict(here.scores["r2_gcv"].values), abs=1e-12)
    assert there == ao.summarize(relation, clinic.label, some, **wanted)
    # other folds, the same records: the scores differ by chance only
    ours, theirs = (np.array(list(s.scores["r2_cv"].values.values())) for s in (here, there))
    assert abs(ours - theirs).max() < 0.05


def test_coarsened_columns_are_scored_as_they_are_counted() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"n": rng.integers(0, 5000, 2000), "t": [f"t{i}" for i in rng.integers(0, 900, 2000)]}
    )
    frame["y"] = (frame["n"] > 2500).astype(int)
    masks = {
        "a": {"n": ao.Bucketize(width=1000), "t": ao.Suppress()},
        "b": {"n": ao.Suppress(), "t": ao.Prefix(2)},
    }
    with pytest.warns(UserWarning, match="was read as"):
        found = ao.summarize(frame, "y", masks, share="scores", max_values=50)
    assert ao.advise(found).best == "a"


class Constant(Score):
    """A score of one's own."""

    name = "constant"
    title = "a constant"

    def of(self, masked) -> ScoreValues:
        return ScoreValues(np.full(len(masked.configurations), 0.5))


def test_a_score_of_ones_own_is_shared_by_its_name(clinic) -> None:
    advice = ao.advise(shared(clinic, scores=[Constant()]), "constant")
    assert len(advice.tied) == 12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"share": "all"}, "share must be 'tables', 'scores' or 'both', not 'all'"),
        ({"share": "tables", "scores": ["r2"]}, "pass share='scores'"),
        ({"share": "tables", "unmasked": True}, "pass share='scores'"),
        ({"scores": ["r3"]}, "unknown score 'r3'; known: r2"),
        ({"scores": [Model(name="x"), Model(name="x")]}, "two scores are called 'x'"),
        ({"measures": ["mi", "mi"]}, "'mi' is asked for twice"),
        ({"measures": ["nonsense"]}, "unknown measure 'nonsense'"),
        ({"scores": [], "measures": []}, "no numbers to share"),
        ({"scores": [Model(Ridge())]}, r"must be a classifier, not the regressor Ridge\(\)"),
        ({"scores": [Race(Ridge())]}, r"must be a classifier, not the regressor Ridge\(\)"),
        ({"measures": ["eta2"]}, "measure 'eta2' is about a label that is a number"),
        ({"digits": 0}, "digits must be a whole number from 1 to 17"),
        ({"unmasked": "no"}, "unmasked must be True or False"),
    ],
)
def test_what_cannot_be_shared_is_refused_before_the_scan(clinic, options, words: str) -> None:
    with pytest.raises(ao.AegisError, match=words):
        ao.summarize("nowhere.csv", clinic.label, clinic.configurations, **{"share": "scores"} | options)


class NoPredict:
    """It learns and never tells."""

    def fit(self, X, y):
        return self

    def __repr__(self) -> str:
        return "NoPredict"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Model(object()), "an estimator must be a scikit-learn classifier"),
        (lambda: Model(BernoulliNB), "an estimator must be a scikit-learn classifier"),
        (lambda: Model(NoPredict()), "which has 'predict'; NoPredict has none"),
        (lambda: Race(NoPredict()), "which has 'predict'; NoPredict has none"),
        (lambda: Model(rows=1), "rows must be a whole number from 2 up"),
        (lambda: Model(folds=1), "folds must be a whole number from 2 up"),
        (lambda: Model(name=""), "the name of a score"),
        (lambda: Race(finalists=0), "finalists must be a whole number from 1 up"),
        (lambda: Race(seconds=0), "seconds must be a positive number"),
    ],
)
def test_impossible_scores_are_refused_when_they_are_made(make, words: str) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=words):
        make()


@pytest.mark.parametrize("option", [{"solver": "ipf"}, {"scope": "pooled"}, {"rounding": "controlled"}])
def test_advice_by_numbers_reconstructs_nothing(clinic, option) -> None:
    with pytest.raises(ao.errors.InvalidOption, match=f"leave out {next(iter(option))}"):
        ao.advise(shared(clinic), **option)


def test_a_score_that_was_not_shared_names_those_that_were(clinic) -> None:
    with pytest.raises(ao.errors.UnknownMeasure, match="r2_cv, r2_gcv"):
        ao.advise(shared(clinic), "race")
    with pytest.raises(ao.errors.UnknownMeasure, match="computes scores from the records"):
        ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "r2_gcv")
    with pytest.raises(ao.errors.UnknownMeasure, match="chi2"):
        ao.advise(shared(clinic), "chi2")
    both = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="both")
    with pytest.raises(ao.errors.UnknownMeasure, match=r"unknown measure 'modle'.*r2_cv, r2_gcv"):
        ao.advise(both, "modle")


def test_an_advisor_without_the_source_cannot_compute_a_score(clinic) -> None:
    model = Model(BernoulliNB(), rows=300, name="bayes")
    tables = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    for summary in (tables, shared(clinic)):
        with pytest.raises(ao.errors.UnknownMeasure, match=r"'bayes'.*which only the provider has"):
            ao.advise(summary, model)
    known = shared(clinic, scores=[model])
    assert ao.advise(known, model).best == ao.advise(known, "bayes").best


def test_r2_of_one_attribute_is_said_to_be_goodman_and_kruskals_tau(clinic) -> None:
    masks = {"c": {"age": ao.Bucketize(width=20)}, "d": {"age": ao.Suppress()}}
    found = ao.summarize(
        clinic.frame, clinic.label, masks, share="scores", scores=["r2"], measures=["gk_tau"], unmasked=True
    )
    advice = ao.advise(found, "r2")
    assert "With one attribute, r2 is Goodman and Kruskal's tau" in advice.reason
    place = found.configurations["c"]["age"]
    assert found.scores["r2"].values["c"] == pytest.approx(found.attributes["age"].measures["gk_tau"][place])
    assert "tau" not in ao.advise(shared(clinic, scores=["r2"]), "r2").reason


def test_more_columns_and_folds_than_records_have_answers() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.permutation(12) for name in "abc"} | {"y": [0, 1] * 6})
    masks = {"open": {"a": ao.Identity()}, "closed": {name: ao.Bucketize(width=6) for name in "abc"}}
    found = ao.summarize(
        frame,
        "y",
        masks,
        share="scores",
        scores=["r2", "r2_certified", "r2_gcv", "r2_cv", Model(folds=50), Race(folds=50)],
        explain=True,
    )
    assert found.scores["r2"].values["open"] == pytest.approx(1)
    for name, score in found.scores.items():
        assert np.isfinite(list(score.values.values())).all(), name
        assert ao.advise(found, name).best in masks
    assert len(ao.advise(found).explain()) == 3


def test_a_sample_that_holds_one_label_has_no_score_and_says_so() -> None:
    frame = pd.DataFrame({"a": [1, 2], "y": [0, 1]})
    masks = {"c": {"a": ao.Suppress()}, "d": {"a": ao.Identity()}}
    advice = ao.advise(ao.summarize(frame, "y", masks, share="scores", scores=["race"]))
    assert advice.best is None
    assert "too few records" in advice.reason


def test_constant_attributes_and_folds_without_records_have_answers() -> None:
    frame = pd.DataFrame({"a": [1] * 8, "b": [1, 2] * 4, "y": [0, 1, 0, 1, 0, 1, 1, 1]})
    masks = {"c": {"a": ao.Suppress(), "b": ao.Suppress()}, "d": {"a": ao.Suppress()}}
    found = ao.summarize(
        frame, "y", masks, share="scores", scores=["r2_gcv", "r2_cv", "r2", Model(rows=4, folds=3)]
    )
    assert ao.advise(found).best == "d"
    assert ao.advise(found, "r2").best == "d"


@pytest.fixture(scope="module")
def saved(clinic, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("scores") / "s.json"
    shared(clinic).save(path)
    return path.read_text()


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("scores", "r2_gcv", "values", "coarse-age"), "high", "'high', which is no number"),
        (("scores", "r2_gcv", "values", "coarse-age"), True, "True, which is no number"),
        (("scores", "r2_gcv", "monotone"), 1, "'monotone' in score 'r2_gcv' has the wrong type int"),
        (("scores", "r2_cv", "folds", "coarse-age"), [1.0], "as many folds"),
        (("scores", "r2_cv", "folds", "coarse-age"), 3, "a list of numbers"),
        (("scores", "r2_cv", "values"), {}, "of every configuration"),
        (("scores", "r2_gcv", "values", "coarse-age"), 10**400, "which is no number"),
        (("scores", "r2_gcv", "values", "coarse-age"), -1e200, "which is no number"),
        (("scores", "r2_cv"), 5, "score 'r2_cv' has no 'title'"),
        (("attributes", "age", "measures", "mi"), [1.0], "1 values of 'mi' for"),
        (("attributes", "age", "masks"), [], "has no masks"),
        (("attributes", "age", "masks"), [3], "mask 0 of attribute 'age' must be a mapping"),
        (("configurations", "coarse-age", "age"), 99, "chooses mask 99"),
        (("configurations",), {}, "at least one configuration"),
    ],
)
def test_what_is_wrong_in_a_file_of_scores_is_named(saved, tmp_path: Path, path, value, words: str) -> None:
    document = json.loads(saved)
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(ao.errors.SummaryError, match=words):
        ao.Summary.load(tmp_path / "s.json")


@pytest.mark.parametrize("share", ["scores", "both"])
def test_the_coarsest_of_those_that_cannot_be_told_apart_is_named(share: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 300), "b": rng.integers(0, 2, 300)})
    frame["y"] = np.where(rng.random(300) < 0.5, frame["a"], rng.integers(0, 2, 300))
    masks = {"fine": {"a": ao.Identity(), "b": ao.Identity()}, "coarse": {"b": ao.Suppress()}}
    advice = ao.advise(ao.summarize(frame, "y", masks, share=share, scores=["r2_cv"]), "r2_cv")
    assert set(advice.equivalent) == {"fine", "coarse"}
    (close,) = [warning for warning in advice.warnings if warning.startswith("close:")]
    assert f"{advice.best} and another one cannot be told apart" in close
    assert close.endswith("the coarsest of them is coarse.")
