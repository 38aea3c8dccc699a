"""Scores of configurations that mask the label: they are those of the table that is released."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import InvalidOption
from aegis_opt.scores import Model, Race

ILL_WELL = ao.Generalize({"ill": ["VP", "P", "M"], "well": ["G", "VG"]})
THREE = ao.Generalize({"bad": ["VP", "P"], "fair": ["M"], "good": ["G", "VG"]})
ROWS = {
    "fine": {"age": ao.Bucketize(width=10), "zip": ao.Prefix(2)},
    "coarse": {"age": ao.Bucketize(width=40), "zip": ao.Prefix(1)},
    "age": {"age": ao.Bucketize(width=20), "zip": ao.Suppress()},
}
DIFFERENT = {
    "fine": {**ROWS["fine"], "health": ILL_WELL},
    "coarse": ROWS["coarse"],
    "age": {**ROWS["age"], "health": THREE},
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return ao.datasets.clinic(300, seed=2).frame[["age", "zip", "health"]]


def scored(frame: pd.DataFrame, configurations: Any, scores: Any, **options: Any) -> Any:
    return ao.summarize(frame, "health", configurations, share="scores", scores=scores, **options)


@pytest.mark.parametrize("score", ["r2", "r2_certified", "r2_gcv", "r2_cv"])
def test_r_squared_is_that_of_the_masked_label(frame: pd.DataFrame, score: str) -> None:
    found = scored(frame, DIFFERENT, [score])
    for name, masks in DIFFERENT.items():
        label = {"health": masks["health"]} if "health" in masks else {}
        released = ao.apply_configuration(frame, label)
        alone = scored(released, ROWS, [score]).scores[score]
        assert found.scores[score].values[name] == pytest.approx(alone.values[name], abs=1e-10)
        if alone.folds is not None:
            assert found.scores[score].folds[name] == pytest.approx(alone.folds[name], abs=1e-10)
    assert found.scores[score].monotone is False
    assert not ao.advise(found, score).certified
    assert "classes of the label are merged" in " ".join(ao.advise(found, score).warnings)


@pytest.mark.parametrize("score", [Model(rows=200, folds=3), Race(rows=200, folds=3, finalists=2)])
def test_models_are_trained_on_the_masked_label_where_it_is_one(frame: pd.DataFrame, score: Any) -> None:
    alike = {name: {**masks, "health": ILL_WELL} for name, masks in ROWS.items()}
    found = scored(frame, alike, [score]).scores[score.name]
    released = ao.apply_configuration(frame, {"health": ILL_WELL})
    alone = scored(released, ROWS, [score]).scores[score.name]
    for name in ROWS:
        assert found.values[name] == pytest.approx(alone.values[name], abs=1e-6)
    with pytest.raises(InvalidOption, match=rf"score '{score.name}'.*different ways.*fewer classes"):
        scored(frame, DIFFERENT, [score])


def test_changes_of_masks_keep_the_masked_label(frame: pd.DataFrame) -> None:
    found = scored(frame, DIFFERENT, ["r2_gcv"], explain=True)
    shared = found.scores["r2_gcv"]
    for name, masks in DIFFERENT.items():
        for attribute in ("age", "zip"):
            for i, spec in enumerate(found.attributes[attribute].masks):
                changed = {**masks, attribute: ao.masks.mask_from_spec(dict(spec))}
                exact = scored(frame, {"c": changed}, ["r2_gcv"]).scores["r2_gcv"].values["c"]
                assert shared.changes[name][attribute][i] == pytest.approx(exact, abs=1e-9)


def test_r_squared_can_rise_when_classes_are_merged() -> None:
    """So there is no certificate: one attribute that tells half of four classes, and all of two."""
    people = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "y": list("pqrs") * 5})
    merged = ao.Generalize({"P": ["p", "q"], "R": ["r", "s"]})
    found = scored_y(people, {"open": {"a": ao.Identity()}, "merged": {"a": ao.Identity(), "y": merged}})
    assert found["merged"] == pytest.approx(1.0)
    assert found["open"] < 0.5


def scored_y(people: pd.DataFrame, configurations: Any) -> Any:
    return ao.summarize(people, "y", configurations, share="scores", scores=["r2"]).scores["r2"].values


def test_a_file_of_scores_with_damaged_label_masks_is_refused(frame: pd.DataFrame, tmp_path: Any) -> None:
    import copy
    import json

    file = tmp_path / "n.json"
    found = scored(frame, DIFFERENT, ["r2"])
    found.save(file)
    assert ao.Summary.load(file) == found
    document = json.loads(file.read_text())
    assert document["version"] == 6
    for change, message in (
        (lambda d: d["label_masks"].update(masks=[3]), "mask 0 of the label"),
        (lambda d: d["label_masks"].update(masks=[{"function": "x"}] * 101), "101 masks"),
        (lambda d: d["label_masks"].update(configurations={"fine": 5}), "label mask 5"),
        (lambda d: d["label_masks"].update(configurations={}), "another masked label"),
        (lambda d: d.pop("label_masks"), "another masked label"),
        (lambda d: d["attributes"]["age"].update(label_masks=[0]), "1 label masks for 3 masks"),
        (lambda d: d["attributes"]["age"].update(label_masks=[0, None, "1"]), "no whole number"),
        (lambda d: d["attributes"]["age"].pop("label_masks"), "another masked label"),
    ):
        broken = copy.deepcopy(document)
        change(broken)
        file.write_text(json.dumps(broken))
        with pytest.raises(ao.AegisError, match=message):
            ao.Summary.load(file)


def test_a_stranger_cannot_certify_a_score_of_masked_labels(frame: pd.DataFrame) -> None:
    from dataclasses import replace

    found = scored(frame, DIFFERENT, ["r2"])
    claimed = {"r2": replace(found.scores["r2"], monotone=True)}
    assert not ao.advise(replace(found, scores=claimed), "r2").certified
    assert np.isfinite(list(found.scores["r2"].values.values())).all()
