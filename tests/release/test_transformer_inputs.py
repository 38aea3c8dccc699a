"""What goes into `MaskingTransformer` comes out again, masked, whichever way it is masked."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from release_zoo import RANDOM, fitting
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, InvalidInput
from aegis_opt.masks import Blur, Bucketize, Generalize, Identity, KeepTop, Prefix, Suppress
from aegis_opt.release._transformer import MaskingTransformer

FRAME = pd.DataFrame(
    {
        "age": [10, 20, 31, 44],
        "zip": ["01067", None, "10115", "01099"],
        "weight": [50.5, np.nan, 71.25, 80.0],
        "born": pd.to_datetime(["2001-02-03", "2010-11-12", "2001-02-28", None]),
        "ok": [True, False, True, True],
    }
)
MASKS = {
    "age": Generalize(ranges=2),
    "zip": Prefix(2),
    "weight": Blur(10),
    "born": ao.Truncate("month"),
    "ok": Generalize([[1, [True]], [2, [False]]]),
}


def kinds_of(frame):
    return {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}


def in_pandas(frame):
    if isinstance(frame, pl.DataFrame):
        frame = frame.to_arrow()
    return frame.to_pandas() if isinstance(frame, pa.Table) else frame


@pytest.mark.parametrize("largest", [100_000, 0], ids=["in memory", "by the engine"])
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_gives_a_frame_of_its_kind(kind, largest, monkeypatch):
    frame = kinds_of(FRAME)[kind]
    monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", largest)
    masked = MaskingTransformer(MASKS).fit_transform(frame)
    assert type(masked) is type(frame)
    expected = ao.apply_configuration(frame, MASKS)
    pd.testing.assert_frame_equal(in_pandas(masked), in_pandas(expected), check_dtype=kind == "pandas")
    if kind == "polars":
        assert masked.schema == expected.schema
    assert in_pandas(masked)["age"].tolist() == ["[10, 27]", "[10, 27]", "[28, 45]", "[28, 45]"]


def test_an_array_gives_an_array():
    numbers = np.array([[10.0, 1.0], [24.0, 2.0], [np.nan, 3.0]])
    masked = MaskingTransformer({"x0": Blur(10)}).fit_transform(numbers)
    np.testing.assert_array_equal(masked, [[10.0, 1.0], [20.0, 2.0], [np.nan, 3.0]])
    mixed = np.array([[10, "01067"], [24, "10115"]], dtype=object)
    masking = MaskingTransformer({"x0": Bucketize(width=10), "x1": Prefix(2)}).fit(mixed)
    assert masking.transform(mixed).tolist() == [["[10, 20)", "01*"], ["[20, 30)", "10*"]]
    assert masking.get_feature_names_out().tolist() == ["x0", "x1"]
    assert MaskingTransformer({"x1": Suppress()}).fit_transform([[1, 2], [3, 4]]).tolist() == [
        [1, "*"],
        [3, "*"],
    ]


def test_arrays_and_frames_go_by_position_where_one_has_no_names():
    masking = MaskingTransformer({"age": Bucketize(width=10)}).fit(FRAME[["age"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert masking.transform(np.array([[17]])).tolist() == [["[10, 20)"]]
    unnamed = FRAME[["age"]].set_axis([0], axis=1)
    masked = MaskingTransformer({"x0": Bucketize(width=10)}).fit_transform(unnamed)
    assert masked.columns.tolist() == [0]
    assert masked[0].tolist()[0] == "[10, 20)"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(RANDOM)), st.data())
def test_memory_and_engine_agree(monkeypatch, kind, data):
    values = data.draw(st.lists(RANDOM[kind] | st.none(), min_size=1, max_size=12))
    domain = Domain.of(values)
    if not len(domain.values):
        return
    mask = data.draw(
        st.sampled_from([m for m in fitting(domain) if not isinstance(m, Identity)] + [KeepTop(2)])
    )
    typed = {"integer": "Int64", "real": "float64", "boolean": "boolean", "string": "str"}
    series = pd.Series(values, dtype=typed.get(kind, object))
    if kind == "integer" and not series.isna().any():
        series = series.astype("int64")
    frame = pd.DataFrame({"x": series.astype("datetime64[us]") if kind == "datetime" else series})
    results = []
    for largest in (100_000, 0):
        monkeypatch.setattr("aegis_opt.release._transformer.LARGEST", largest)
        results.append(MaskingTransformer({"x": mask}).fit_transform(frame))
    pd.testing.assert_frame_equal(*results)
    pd.testing.assert_frame_equal(results[0], ao.apply_configuration(frame, {"x": mask}))


def test_other_columns_index_and_input_stay_as_they_are():
    frame = FRAME.set_axis([3, 1, 4, 1])
    before = frame.copy(deep=True)
    masked = MaskingTransformer({"age": Suppress()}).fit_transform(frame)
    pd.testing.assert_frame_equal(masked.drop(columns="age"), frame.drop(columns="age"))
    masked.loc[:, "ok"] = False
    pd.testing.assert_frame_equal(frame, before)


def test_a_fitted_rule_keeps_no_values_but_the_extent():
    masking = MaskingTransformer({"zip": Prefix(2)}).fit(FRAME)
    assert masking.domains_["zip"].to_list() == ["01067", "10115"]


def test_results_of_a_search_name_the_configurations():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"age": rng.integers(18, 90, 200), "n": rng.integers(0, 9, 200)})
    labels = (data["age"] > 50).astype(int)
    configurations = ao.Configurations(
        {"decades": {"age": Bucketize(width=10)}, "closed": {"age": Suppress()}}
    )
    masking = MaskingTransformer("decades", configurations=configurations)
    model = make_pipeline(
        masking, OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier(random_state=0)
    )
    search = GridSearchCV(model, {"maskingtransformer__configuration": ["decades", "closed"]}, cv=2)
    results = pd.DataFrame(search.fit(data, labels).cv_results_)
    assert results["param_maskingtransformer__configuration"].tolist() == ["decades", "closed"]
    assert search.best_params_ == {"maskingtransformer__configuration": "decades"}
    objects = [configurations[name] for name in configurations]
    model.set_params(maskingtransformer__configurations=None)
    search = GridSearchCV(model, {"maskingtransformer__configuration": objects}, cv=2).fit(data, labels)
    assert "Bucketize(width=10)" in pd.DataFrame(search.cv_results_).to_string()
    assert "Bucketize(width=10)" in repr(MaskingTransformer(objects[0]))


@pytest.mark.parametrize(
    ("masking", "text"),
    [
        (MaskingTransformer("decades"), "is a name: pass configurations"),
        (MaskingTransformer({}, configurations=ao.Configurations({"c": {}})), "given by its name"),
        (MaskingTransformer("d", configurations=ao.Configurations({"c": {}})), "unknown configuration 'd'"),
    ],
)
def test_names_that_do_not_fit(masking, text):
    with pytest.raises((ConfigurationError, KeyError), match=text):
        masking.fit(FRAME)


def test_a_dictionary_of_arrow_is_what_its_values_are() -> None:
    numbers, texts = pa.array([1, 2, None, 90]), pa.array(["aa", "b", None, "ab"])
    plain = pa.table({"x": numbers, "s": texts})
    table = pa.table({"x": numbers.dictionary_encode(), "s": texts.dictionary_encode()})
    masks = {"x": Bucketize(width=10), "s": Prefix(1)}
    masked = ao.MaskingTransformer(masks).fit_transform(table)
    assert masked.to_pylist() == ao.MaskingTransformer(masks).fit_transform(plain).to_pylist()
    assert masked.to_pylist() == ao.apply_configuration(table, masks).to_pylist()


def test_dates_of_polars_and_time_zones():
    days = pl.DataFrame({"day": [dt.date(2020, 1, 31), None]})
    assert MaskingTransformer({"day": ao.Truncate("month")}).fit_transform(days)["day"].to_list() == [
        "2020-01",
        None,
    ]
    zoned = pd.DataFrame({"t": pd.to_datetime(["2020-01-01 00:30"]).tz_localize("Europe/Berlin")})
    masked = MaskingTransformer({"t": ao.Truncate("day")}).fit_transform(zoned)
    assert masked["t"].tolist() == ["2019-12-31"]  # in UTC, as everywhere


def test_frames_of_unknown_libraries_are_refused():
    class Other:
        def __dataframe__(self):
            raise AssertionError

    with pytest.raises(InvalidInput, match="masks pandas and polars DataFrames"):
        MaskingTransformer({}).fit(Other())


COMPARED_AS_NUMBERS = dict.fromkeys(
    (
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit_idempotent",
    ),
    "it subtracts one result from another, and masked values of this mask are text",
)
CHECKED = {  # masking, and the checks that it cannot pass, each with its reason
    "no mask": (MaskingTransformer({}), {}),
    "masked values are numbers": (MaskingTransformer({"x0": Blur(1)}), {}),
    "buckets": (MaskingTransformer({"x0": Bucketize(width=1)}), COMPARED_AS_NUMBERS),
    "ranges": (MaskingTransformer({"x0": Generalize(ranges=3)}), COMPARED_AS_NUMBERS),
    "counts": (MaskingTransformer({"x0": KeepTop(2)}), COMPARED_AS_NUMBERS),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize("name", CHECKED)
def test_scikit_learns_own_checks_pass_but_for_those_listed(name):
    masking, expected = CHECKED[name]
    results = check_estimator(masking, expected_failed_checks=expected, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert failed == {}
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == set(expected)
    assert sum(r["status"] == "passed" for r in results) > 30
