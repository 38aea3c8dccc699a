"""The exhaustive baseline: it learns what can be learnt, repeats itself, and refuses what cannot be split."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aegis_opt.errors import InvalidInput, InvalidOption, UnknownName
from aegis_opt.masks import Bucketize, Configurations, Identity, Suppress
from benchmarks.paper.exhaustive import CLASSIFIERS, SplitError, encode, split_rows, train_and_score

MASKS = Configurations({"open": {"x": Identity()}, "closed": {"x": Suppress()}})


@pytest.fixture
def learnable() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, size=300)
    return pd.DataFrame({"x": x, "y": np.where(x < 7, "low", "high")})


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_every_classifier_learns_an_open_column_and_nothing_from_a_closed_one(
    learnable: pd.DataFrame, classifier: str
) -> None:
    found = train_and_score(learnable, "y", MASKS, [classifier]).set_index("configuration")
    assert found.loc["open", "accuracy"] == 1.0
    majority = (learnable["y"] == "low").mean()
    assert found.loc["closed", "accuracy"] == pytest.approx(majority, abs=0.02)
    assert (found["seconds"] >= found["seconds_train"] + found["seconds_mask"]).all()


def test_the_same_seed_gives_the_same_scores_on_any_number_of_workers(learnable: pd.DataFrame) -> None:
    noisy = learnable.assign(y=np.roll(learnable["y"], 1))
    runs = [train_and_score(noisy, "y", MASKS, ["sgd", "rf"], seed=5, n_jobs=n) for n in (1, 2)]
    kept = ["configuration", "classifier", "accuracy", "n_features"]
    pd.testing.assert_frame_equal(runs[0][kept], runs[1][kept])


def test_a_column_of_many_values_gets_at_most_the_stated_number_of_columns() -> None:
    frame = pd.DataFrame({"x": np.arange(2000) // 2, "y": np.arange(2000) % 2})
    limited = train_and_score(frame, "y", MASKS, ["nb"], max_categories=50)
    free = train_and_score(frame, "y", MASKS, ["nb"], max_categories=None)
    assert limited.set_index("configuration").loc["open", "n_features"] == 50
    assert free.set_index("configuration").loc["open", "n_features"] > 700


def test_training_that_stops_early_says_so() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{i}": rng.integers(0, 4, 400) for i in range(10)})
    frame["y"] = rng.integers(0, 2, 400)
    masks = Configurations({"open": {f"x{i}": Identity() for i in range(10)}})
    found = train_and_score(frame, "y", masks, ["nb", "mlp"]).set_index("classifier")["converged"]
    assert found["nb"]
    assert found["mlp"] in (True, False)


def test_missing_values_are_a_category() -> None:
    domain, codes = encode(pd.Series([3.0, np.nan, 1.0, 3.0]))
    assert (domain.to_list(), codes.tolist()) == ([1, 3, None], [1, 2, 0, 1])
    domain, codes = encode(pd.Series(["b", None, "a"]))
    assert (domain.to_list(), codes.tolist()) == (["a", "b", None], [1, 2, 0])


def test_a_class_with_one_row_is_named() -> None:
    frame = pd.DataFrame({"x": range(20), "y": ["a"] * 10 + ["b"] * 9 + ["rare"]})
    with pytest.raises(SplitError, match=r"class 'rare' .* has 1 row"):
        train_and_score(frame, "y", MASKS, ["nb"])


def test_a_data_set_too_small_for_the_split_is_refused() -> None:
    frame = pd.DataFrame({"x": range(8), "y": list("aabbccdd")})
    with pytest.raises(SplitError, match="8 rows are too few"):
        train_and_score(frame, "y", MASKS, ["nb"])
    with pytest.raises(SplitError, match="one class only"):
        train_and_score(frame.assign(y="a"), "y", MASKS, ["nb"])


def test_the_split_is_stratified_and_covers_every_row() -> None:
    target = np.array([0] * 70 + [1] * 30)
    train, test = split_rows(target, [0, 1], 0.3, seed=1)
    assert sorted([*train, *test]) == list(range(100))
    assert target[test].sum() == 9


def test_wrong_arguments_are_named(learnable: pd.DataFrame) -> None:
    with pytest.raises(UnknownName, match="unknown classifier 'xgb'"):
        train_and_score(learnable, "y", MASKS, ["xgb"])
    with pytest.raises(InvalidInput, match="at least one name"):
        train_and_score(learnable, "y", MASKS, [])
    with pytest.raises(InvalidOption, match="test_size"):
        train_and_score(learnable, "y", MASKS, ["nb"], test_size=1.5)
    with pytest.raises(InvalidOption, match="max_categories"):
        train_and_score(learnable, "y", MASKS, ["nb"], max_categories=1)


def test_attributes_that_no_configuration_masks_are_no_features(learnable: pd.DataFrame) -> None:
    masks = Configurations({"wide": {"x": Bucketize(width=100)}})
    found = train_and_score(learnable.assign(copy=learnable["y"]), "y", masks, ["nb"])
    assert found["accuracy"].iloc[0] < 0.8
