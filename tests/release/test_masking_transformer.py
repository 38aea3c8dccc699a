"""A configuration as a step of a scikit-learn pipeline."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import aegis_opt as ao
from aegis_opt.masks import (
    Blur,
    Bucketize,
    Configuration,
    Generalize,
    Identity,
    Mask,
    Prefix,
    Suppress,
)
from aegis_opt.release import apply_configuration
from aegis_opt.release._transformer import MaskingTransformer

TRAIN = pd.DataFrame({"age": [10, 20, 31], "zip": ["01067", "10115", "01099"], "n": [1, 2, 3]})


def test_on_the_training_data_it_is_apply_configuration():
    configuration = Configuration({"age": Generalize(ranges=3), "zip": Prefix(2), "n": Identity()})
    masked = MaskingTransformer(configuration).fit_transform(TRAIN)
    pd.testing.assert_frame_equal(masked, apply_configuration(TRAIN, configuration))


@pytest.mark.parametrize("largest", [100_000, 0], ids=["in memory", "by the engine"])
def test_ranges_are_those_of_the_training_data_and_others_belong_to_the_nearest(largest, monkeypatch):
    monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", largest)
    masking = MaskingTransformer({"age": Generalize(ranges=3)}).fit(TRAIN)
    with pytest.warns(UserWarning, match=r"attribute 'age': 2 of 3 values lie outside \[10, 31\]"):
        masked = masking.transform(TRAIN.assign(age=[5, 12, 99]))
    assert masked["age"].tolist() == ["[10, 17]", "[10, 17]", "[26, 33]"]
    with pytest.warns(UserWarning, match=r"'age': 1 of 3 values"):  # 17.5 lies between two ranges
        masked = masking.transform(TRAIN.assign(age=[17.5, np.nan, 31.5]))
    assert masked["age"].dropna().tolist() == ["[10, 17]", "[26, 33]"]


def test_missing_values_that_make_integers_real_change_nothing():
    masking = MaskingTransformer({"age": Generalize(ranges=3), "n": Bucketize(width=2)}).fit(TRAIN)
    later = TRAIN.assign(age=[12.0, np.nan, 24.0], n=[np.nan, 2.0, 3.0])
    masked = masking.transform(later)
    assert masked["age"].isna().tolist() == [False, True, False]
    assert masked["age"].dropna().tolist() == ["[10, 17]", "[18, 25]"]
    assert masked["n"].dropna().tolist() == ["[2, 4)", "[2, 4)"]


def test_rules_know_values_that_were_never_seen():
    masking = MaskingTransformer({"zip": Prefix(2), "n": Blur(10), "age": Suppress()}).fit(TRAIN)
    later = pd.DataFrame({"age": ["x"], "zip": ["99999"], "n": [2**53 + 1]}, index=[7])
    expected = pd.DataFrame({"age": ["*"], "zip": ["99*"], "n": [9007199254740990]}, index=[7])
    pd.testing.assert_frame_equal(masking.transform(later), expected)


def test_values_that_a_mapping_does_not_list():
    mapping = {"n": Generalize({"few": [1, 2], "many": [3, 4]})}
    later = TRAIN.assign(n=[4, 5, 1])
    with pytest.raises(ao.errors.MaskError, match=r"attribute 'n': .* does not say what becomes of 5"):
        MaskingTransformer(mapping).fit(TRAIN).transform(later)
    with pytest.raises(ao.errors.MaskError, match=r"attribute 'n': .* does not say what becomes of 5"):
        MaskingTransformer(mapping).fit(later)
    masked = MaskingTransformer(mapping, handle_unknown="missing").fit(TRAIN).transform(later)
    assert masked["n"].isna().tolist() == [False, True, False]
    assert masked["n"].dropna().tolist() == ["many", "few"]


class Rank(Mask):
    """A mask of another package, which depends on all values."""

    function = "test-rank"
    kinds = ("integer",)

    def _keys(self, domain):
        return np.arange(len(domain.values)), lambda keys: [f"rank {k}" for k in keys.tolist()]


def test_a_mask_that_is_neither_rule_nor_list_knows_the_training_data():
    masking = MaskingTransformer({"age": Rank()}, handle_unknown="missing").fit(TRAIN)
    masked = masking.transform(TRAIN.assign(age=[31, 32, 10]))["age"]
    assert masked.dropna().tolist() == ["rank 2", "rank 0"]
    with pytest.raises(ao.errors.MaskError, match=r"attribute 'age': .* 32"):
        MaskingTransformer({"age": Rank()}).fit(TRAIN).transform(TRAIN.assign(age=[31, 32, 10]))


def test_in_a_pipeline_with_one_hot_encoding_and_a_model():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 400)
    data = pd.DataFrame({"age": age, "zip": rng.choice(["01067", "10115", "20095"], 400)})
    income = (age + rng.normal(0, 5, 400) > 50).astype(int)
    masking = MaskingTransformer({"age": Generalize(ranges=6), "zip": Prefix(1)})
    encoding = ColumnTransformer([("one", OneHotEncoder(handle_unknown="ignore"), ["age", "zip"])])
    model = make_pipeline(masking, encoding, LogisticRegression())
    assert model.fit(data[:300], income[:300]).score(data[300:], income[300:]) > 0.8
    names = model[:-1].get_feature_names_out()
    assert "one__zip_0*" in names
    assert len(names) == 6 + 3
    configurations = [Configuration({"age": mask}) for mask in (Suppress(), Generalize(ranges=6))]
    search = GridSearchCV(model, {"maskingtransformer__configuration": configurations}, cv=2)
    assert search.fit(data, income).best_params_ == {"maskingtransformer__configuration": configurations[1]}
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(data), model.predict(data))


def test_scikit_learns_conventions_hold():
    masking = MaskingTransformer({"age": Suppress()}, handle_unknown="missing")
    assert clone(masking).get_params() == masking.get_params()
    with pytest.raises(NotFittedError):
        masking.transform(TRAIN)
    assert masking.fit(TRAIN) is masking
    assert masking.n_features_in_ == 3
    assert masking.get_feature_names_out().tolist() == ["age", "zip", "n"]
    before = TRAIN.copy(deep=True)
    masking.transform(TRAIN)
    pd.testing.assert_frame_equal(TRAIN, before)


def test_a_configuration_can_be_cloned_and_pickled():
    masking = MaskingTransformer(Configuration({"n": Generalize({"few": [1, 2], "many": [3]})}, "c"))
    assert clone(masking).get_params() == masking.get_params()
    copy = pickle.loads(pickle.dumps(masking.fit(TRAIN)))
    pd.testing.assert_frame_equal(copy.transform(TRAIN), masking.transform(TRAIN))


def test_parameters_set_after_fitting_count_from_the_next_fit_on():
    masking = MaskingTransformer({"age": Generalize(ranges=2)}).fit(TRAIN)
    before = masking.transform(TRAIN)
    masking.set_params(configuration={"n": Generalize(ranges=2)})
    pd.testing.assert_frame_equal(masking.transform(TRAIN), before)
    assert masking.fit_transform(TRAIN)["n"].tolist() == ["[1, 2]", "[1, 2]", "[3, 4]"]


def test_a_column_may_be_called_self():
    frame = pd.DataFrame({"self": [1, 2]})
    assert MaskingTransformer({"self": Suppress()}).fit_transform(frame)["self"].tolist() == ["*", "*"]
    assert apply_configuration(frame, {"self": Suppress()})["self"].tolist() == ["*", "*"]
    assert frame["self"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("frame", "error", "text"),
    [
        (
            TRAIN[["age", "n", "zip"]],
            ao.errors.InvalidInput,
            "The feature names should match those that were passed during fit",
        ),
        (
            TRAIN.assign(age=["a", "b", "c"]),
            ao.errors.MaskError,
            "attribute 'age': the values are of kind string",
        ),
        (TRAIN[["age"]], ao.errors.InvalidInput, "The feature names should match"),
        (TRAIN[:0], ao.errors.InvalidInput, "a frame of 0 rows and 3 columns"),
        (pl.from_pandas(TRAIN).lazy(), ao.errors.InvalidInput, r"call .collect() first"),
    ],
)
def test_frames_that_do_not_match_the_training_data(frame, error, text):
    masking = MaskingTransformer({"age": Generalize(ranges=2)}).fit(TRAIN)
    with pytest.raises(error) as raised:
        masking.transform(frame)
    assert text in str(raised.value)


def test_configurations_that_do_not_match_the_training_data():
    with pytest.raises(ao.errors.UnknownColumn, match="agee"):
        MaskingTransformer({"agee": Suppress()}).fit(TRAIN)
    with pytest.raises(ao.errors.MaskError, match="attribute 'zip'"):
        MaskingTransformer({"zip": Blur(10)}).fit(TRAIN)
    with pytest.raises(ao.errors.InvalidOption, match="'ignore'"):
        MaskingTransformer({}, handle_unknown="ignore").fit(TRAIN)


def test_the_rest_of_the_package_does_not_import_scikit_learn():
    code = "import sys, aegis_opt.release; sys.exit('sklearn' in sys.modules or 'sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
