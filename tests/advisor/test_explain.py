"""What each mask costs, and which change of one mask gains most, against configurations made for it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._explain import NO_MASK


@pytest.fixture(scope="module")
def clinic():
    return ao.datasets.clinic(700, seed=2)


@pytest.fixture(scope="module")
def explained(clinic):
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="both", explain=True)


def changed_configurations(clinic) -> dict[tuple, dict]:
    """Every configuration with one mask exchanged for that of another configuration, or removed."""
    given = clinic.configurations
    found = {}
    for name, masks in given.items():
        for attribute in {a for chosen in given.values() for a in chosen}:
            for other, theirs in given.items():
                changed = {**masks, attribute: theirs.get(attribute, ao.Identity())}
                found[name, attribute, other] = changed
            found[name, attribute, NO_MASK] = {**masks, attribute: ao.Identity()}
    return found


@pytest.mark.parametrize("measure", ["r2_gcv", "mi", "mi_loo", "g3"])
def test_changes_are_the_scores_of_configurations_so_changed(clinic, measure: str) -> None:
    shared = ao.summarize(
        clinic.frame,
        clinic.label,
        clinic.configurations,
        share="scores",
        measures=["mi", "mi_loo", "g3"],
        unmasked=True,
        explain=True,
    )
    asked = changed_configurations(clinic)
    brute = ao.summarize(
        clinic.frame,
        clinic.label,
        {"|".join(key): masks for key, masks in asked.items()},
        share="scores",
        scores=["r2_gcv"],
    )
    ranking = ao.advise(brute, measure).ranking.set_index("configuration")["score"]
    changes = ao.advise(shared, measure).changes
    names = list(shared.configurations)
    for name, attribute, other in asked:
        place = -1 if other == NO_MASK else shared.configurations[other][attribute]
        found = changes.changed[attribute][names.index(name), place]
        assert found == pytest.approx(ranking["|".join((name, attribute, other))], abs=1e-11)


def test_the_costliest_mask_comes_first_and_chance_stands_beside_it(explained) -> None:
    advice = ao.advise(explained)
    assert advice.measure == "r2_gcv"
    for name in (None, "coarse-age"):
        table = advice.explain(name)
        assert sorted(table["attribute"]) == ["age", "weight", "zip"]
        assert table["cost"].is_monotonic_decreasing
        assert table["chance"].between(0, 1).all()
    pd.testing.assert_frame_equal(advice.explain(), advice.explain(advice.best))


def test_tables_explain_their_measures_as_numbers_do(clinic, explained) -> None:
    exact = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores", unmasked=True)
    for measure in ("mi", "mi_loo", "g3"):
        by_tables, by_numbers = (ao.advise(s, measure).explain("young-old") for s in (explained, exact))
        columns = ["attribute", "gain", "other_mask", "mask", "chance"]
        one, other = (t[columns].sort_values("attribute", ignore_index=True) for t in (by_tables, by_numbers))
        pd.testing.assert_frame_equal(one, other)
    # zip is left unmasked by some configuration, so that its unmasked value is known
    by_tables, by_numbers = (
        ao.advise(s, "mi").explain("coarse-age").set_index("attribute") for s in (explained, exact)
    )
    assert by_tables.loc["zip", "cost"] == pytest.approx(by_numbers.loc["zip", "cost"], abs=1e-12)


def test_a_suggestion_is_the_best_change_and_its_configuration_scores_as_promised(clinic, explained) -> None:
    advice = ao.advise(explained)
    for name in clinic.configurations:
        change = advice.suggest(name)
        gains = advice.explain(name)["gain"]
        if change is None:
            assert gains.max() <= 1e-12
            continue
        assert change.gain == pytest.approx(gains.max())
        masks = dict(clinic.configurations[name])
        masks[change.attribute] = clinic.configurations[change.taken_from].get(
            change.attribute, ao.Identity()
        )
        again = ao.summarize(
            clinic.frame,
            clinic.label,
            {"new": masks, **clinic.configurations},
            share="scores",
            scores=["r2_gcv"],
        )
        assert again.scores["r2_gcv"].values["new"] == pytest.approx(change.score, abs=1e-11)
        assert change.attribute in str(change)
        assert "private enough" in str(change)


def test_no_mask_is_a_candidate_on_request_only() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 6, 900)
    frame = pd.DataFrame({"a": a, "b": rng.integers(0, 3, 900), "y": (a + rng.integers(0, 2, 900) > 3)})
    masks = {"c": {"a": ao.Suppress(), "b": ao.Suppress()}, "d": {"a": ao.Suppress(), "b": ao.Suppress()}}
    advice = ao.advise(ao.summarize(frame, "y", masks, share="scores", explain=True))
    assert advice.suggest("c") is None
    change = advice.suggest("c", unmasked=True)
    assert (change.attribute, change.to, change.taken_from) == ("a", None, None)
    assert "to no mask" in str(change)
    explained = advice.explain("c")
    assert explained["other_mask"].isna().all()
    assert explained.loc[0, "cost"] == pytest.approx(change.gain)


def test_a_mask_that_helps_has_a_negative_cost() -> None:
    """Rare values mislead a model; the mask that merges them is worth keeping."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"number": rng.permutation(400) // 7, "y": rng.integers(0, 2, 400)})
    masks = {"closed": {"number": ao.Suppress()}, "open": {"number": ao.Bucketize(width=2)}}
    advice = ao.advise(ao.summarize(frame, "y", masks, share="scores", explain=True))
    assert advice.best == "closed"
    assert advice.explain().loc[0, "cost"] < 0
    assert advice.suggest(unmasked=True) is None
    assert advice.suggest("open").to["function"] == "suppress"


@pytest.mark.parametrize("share", ["scores", "both"])
def test_changes_survive_files_and_copies(clinic, tmp_path: Path, share: str) -> None:
    found = ao.summarize(
        clinic.frame, clinic.label, clinic.configurations, share=share, explain=True, digits=4
    )
    found.save(tmp_path / "s.json")
    loaded = ao.Summary.load(tmp_path / "s.json")
    assert loaded == found == pickle.loads(pickle.dumps(found))
    pd.testing.assert_frame_equal(ao.advise(loaded).explain(), ao.advise(found).explain())
    numbers = found.scores["r2_gcv"].changes["coarse-age"]["age"]
    assert all(number == float(f"{number:.4g}") for number in numbers)


def test_other_scores_are_explained_by_the_one_that_was_shared(explained) -> None:
    advice = ao.advise(explained, "r2_cv")
    assert advice.changes.criterion.name == "r2_gcv"
    pd.testing.assert_frame_equal(advice.explain("coarse-age"), ao.advise(explained).explain("coarse-age"))


def test_what_cannot_be_explained_says_how_it_can(clinic, explained) -> None:
    plain = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    with pytest.raises(ao.errors.InvalidOption, match="explain=True, or ask for a measure"):
        ao.advise(plain).explain()
    with pytest.raises(ao.errors.InvalidOption, match="no changes of 'r2_gcv'"):
        ao.advise(plain).suggest()
    assert len(ao.advise(plain, "mi_loo").explain()) == 3
    with pytest.raises(ao.errors.UnknownName, match="unknown configuration 'nowhere'"):
        ao.advise(explained).explain("nowhere")
    with pytest.raises(ao.errors.InvalidOption, match="unmasked must be True or False"):
        ao.advise(explained).suggest(unmasked="no")
    with pytest.raises(ao.errors.InvalidOption, match="'r2_gcv', which is not among the scores: add it"):
        ao.summarize("nowhere.csv", "y", clinic.configurations, share="scores", scores=["r2"], explain=True)
    with pytest.raises(ao.errors.InvalidOption, match="pass share='scores'"):
        ao.summarize("nowhere.csv", "y", clinic.configurations, explain=True)
    degenerate = ao.advise(
        ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi", scope="single"
    )
    assert degenerate.best is None
    with pytest.raises(ao.errors.InvalidOption, match="no winner to explain: name a configuration"):
        degenerate.explain()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "of every configuration"),
        ("all", "'changes' in score 'r2_gcv' has the wrong type str"),
        ({"coarse-age": 3}, "must map attributes to changes for 'coarse-age'"),
        ({"coarse-age": {"age": 3}}, "a list of numbers for 'age'"),
        (
            {"coarse-age": {"age": [1.0], "weight": [], "zip": []}},
            "a number for each mask of every attribute",
        ),
        ({"coarse-age": {"age": ["high"]}}, "'high', which is no number"),
    ],
)
def test_what_is_wrong_in_the_changes_of_a_file_is_named(clinic, tmp_path: Path, value, words: str) -> None:
    path = tmp_path / "s.json"
    ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores", explain=True).save(path)
    document = json.loads(path.read_text())
    entry = document["scores"]["r2_gcv"]
    entry["changes"] = value if value == {} or isinstance(value, str) else entry["changes"] | value
    path.write_text(json.dumps(document))
    with pytest.raises(ao.errors.SummaryError, match=words):
        ao.Summary.load(path)
