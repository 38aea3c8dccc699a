"""Labels that are numbers: as classes of ranges, and as the number itself, the same on every path."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVR

import aegis_opt as ao
from aegis_opt.scores import Model, Race
from aegis_opt.sources import _small_frames, scan
from aegis_opt.sources._label_bins import short_between

CONFIGURATIONS = {
    "one": {"a": ao.Bucketize(width=10), "b": ao.Suppress(), "c": ao.Bucketize(width=1)},
    "two": {"a": ao.Bucketize(width=25), "b": ao.Identity(), "c": ao.Suppress()},
    "three": {"a": ao.KeepTop(3), "b": ao.Generalize({"xy": ["x", "y"], "z": ["z"]}), "c": ao.Identity()},
}
SCORES = ["r2", "r2_certified", "r2_gcv", "r2_cv", "race"]


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": rng.integers(0, 50, n), "b": rng.choice(list("xyz"), n), "c": rng.normal(size=n).round(1) + 0.0}
    )
    frame.loc[::17, "c"] = np.nan
    frame["y"] = (frame["a"] * 0.1 + (frame["b"] == "x") + frame["c"].fillna(2) + rng.normal(size=n)).round(3)
    return frame


@pytest.fixture(params=["small", "pandas", "polars", "csv", "parquet", "relation", "records stay"])
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    frame = table()
    if request.param == "small":
        return frame
    monkeypatch.setattr(_small_frames, "LARGEST", 0)
    if request.param == "pandas":
        return frame
    if request.param == "polars":
        return pl.from_pandas(frame)
    if request.param == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    frame.to_parquet(tmp_path / "t.parquet")
    if request.param == "records stay":  # as on a cluster: everything is counted where it is
        monkeypatch.setattr("aegis_opt.sources._engine.Records.may_leave", False)
        return tmp_path / "t.parquet"
    return tmp_path / "t.parquet" if request.param == "parquet" else duckdb.from_df(frame)


def one_hot(frame: pd.DataFrame, configuration: str) -> pd.DataFrame:
    chosen = ao.Configurations(CONFIGURATIONS)[configuration]
    masked = ao.apply_configuration(frame, chosen)[["a", "b", "c"]]
    return pd.get_dummies(masked.astype(object).fillna("missing").astype(str))


def test_every_path_gives_the_scores_and_measures_of_the_rows(source: Any) -> None:
    frame = table()
    shared = ao.summarize(source, "y", CONFIGURATIONS, label_kind="number", scores=SCORES, unmasked=True)
    assert shared.label_is_number
    assert shared.measures == ("eta2",)
    for name in CONFIGURATIONS:
        X = one_hot(frame, name)
        expected = LinearRegression().fit(X, frame["y"]).score(X, frame["y"])
        assert shared.scores["r2"].values[name] == pytest.approx(expected, abs=1e-9)
        for attribute in "abc":
            own = X[[column for column in X if str(column).startswith(f"{attribute}_")]]
            expected = LinearRegression().fit(own, frame["y"]).score(own, frame["y"])
            mask = shared.configurations[name][attribute]
            assert shared.attributes[attribute].measures["eta2"][mask] == pytest.approx(expected, abs=1e-9)
    for attribute in "abc":
        means = frame.groupby(attribute, dropna=False)["y"].transform("mean")
        expected = ((means - frame["y"].mean()) ** 2).sum() / ((frame["y"] - frame["y"].mean()) ** 2).sum()
        assert shared.attributes[attribute].unmasked["eta2"] == pytest.approx(expected, abs=1e-9)
    small = ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number", scores=["r2_gcv", "r2_certified"])
    for score in ("r2_gcv", "r2_certified"):
        assert dict(shared.scores[score].values) == pytest.approx(small.scores[score].values, abs=1e-9)
    assert 0.3 < max(v for v in shared.scores["r2_cv"].values.values() if v) < 1


def test_the_orders_of_r2_and_eta2_are_certified() -> None:
    frame = table()
    shared = ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number", scores=SCORES, unmasked=True)
    by_r2, by_eta2 = ao.advise(shared, "r2"), ao.advise(shared, measure="eta2")
    assert by_r2.certified
    assert by_eta2.certified
    rows = {name: one_hot(frame, name) for name in CONFIGURATIONS}
    true = {name: LinearRegression().fit(X, frame["y"]).score(X, frame["y"]) for name, X in rows.items()}
    assert by_r2.ranking["configuration"].tolist() == sorted(true, key=lambda name: -true[name])
    lost = by_eta2.ranking.set_index("configuration")["pud"]
    for name, chosen in shared.configurations.items():
        each = [
            shared.attributes[a].unmasked["eta2"] - shared.attributes[a].measures["eta2"][mask]
            for a, mask in chosen.items()
        ]
        assert lost[name] == pytest.approx(np.mean(each), abs=1e-12)
    plain = ao.advise(ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number"))
    assert plain.measure == "r2_gcv"
    assert plain.best is not None
    assert plain.explain is not None
    assert "y" in repr(shared)
    assert "a number" in repr(shared)
    assert "a number" in shared._repr_html_()


def test_ridge_scores_are_those_of_the_rows() -> None:
    frame = table(300)
    shared = ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number", explain=True)
    n = len(frame)
    for name in CONFIGURATIONS:
        X = one_hot(frame, name).to_numpy(float)
        model = Ridge(alpha=10.0).fit(X, frame["y"])
        rss = float(np.sum((frame["y"] - model.predict(X)) ** 2))
        tss = float(np.sum((frame["y"] - frame["y"].mean()) ** 2))
        G = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
        df = 1 + X.shape[1] - 10 * np.trace(np.linalg.inv(G + 10 * np.eye(X.shape[1])))
        expected = 1 - (rss / (1 - df / n) ** 2) / (tss / (1 - 1 / n) ** 2)
        assert shared.scores["r2_gcv"].values[name] == pytest.approx(expected, abs=1e-9)
        changes = shared.scores["r2_gcv"].changes
        assert changes is not None
        for attribute, mask in shared.configurations[name].items():  # a change to its own mask is none
            assert changes[name][attribute][mask] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("offset", "scale"), [(1e9, 1.0), (-3e12, 1.0), (0.0, 1e-300), (0.0, 2.0**990), (2**60, 1)]
)
def test_offset_and_scale_change_nothing(offset: float, scale: float, tmp_path: Path) -> None:
    frame = table(200)
    y = np.round(frame["y"] * 1024)
    y = y.astype(np.int64) if isinstance(offset, int) else y / 1024  # exact with the offset, too
    exact = ao.summarize(frame.assign(y=y), "y", CONFIGURATIONS, label_kind="number", scores=["r2"])
    moved = frame.assign(y=(y + offset) * scale)
    moved.to_parquet(tmp_path / "moved.parquet")
    for source in (moved, tmp_path / "moved.parquet"):
        found = ao.summarize(source, "y", CONFIGURATIONS, label_kind="number", scores=["r2", Model()])
        assert dict(found.scores["r2"].values) == pytest.approx(exact.scores["r2"].values, abs=1e-9)
        assert all(np.isfinite(v) for v in found.scores["model"].values.values() if v is not None)


def test_models_of_a_number_are_regressors() -> None:
    frame = table(300)
    models = [
        Model(),
        Model(Ridge(tol=1e-14), name="ridge"),
        Model(SVR(), name="svr"),
        Race(rows=100, finalists=2),
    ]
    shared = ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number", scores=models)
    own, theirs = shared.scores["model"], shared.scores["ridge"]
    assert dict(own.values) == pytest.approx(theirs.values, abs=1e-9)  # the default is scikit-learn's Ridge
    assert (own.title, theirs.title) == ("Ridge on held-out records",) * 2
    assert shared.scores["race"].title == "a race by Ridge on held-out records"
    assert ao.advise(shared).best == ao.advise(shared, "model").best  # the race leaves no doubt here
    for classifier in (Model(LogisticRegression()), Race(LogisticRegression())):
        with pytest.raises(ao.errors.InvalidOption, match="must be a regressor, not the classifier"):
            ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number", scores=[classifier])


@pytest.mark.parametrize("bins", [4, [0, 2.5, 4]])
def test_bins_are_the_same_classes_on_every_path(source: Any, bins: Any) -> None:
    frame = table()
    found = ao.summarize(source, "y", CONFIGURATIONS, label_bins=bins, share="both")
    small = ao.summarize(frame, "y", CONFIGURATIONS, label_bins=bins, share="both")
    assert replaced(found) == replaced(small)
    if bins == 4:
        assert sorted(found.label_counts.tolist()) == [100, 100, 100, 100]
    else:
        assert found.label_values == ("<0", "[0, 2.5)", "[2.5, 4)", ">=4")
    assert found.numbers is not None
    assert small.numbers is not None
    gcv = [each.numbers.scores["r2_gcv"].values for each in (found, small)]
    assert dict(gcv[0]) == pytest.approx(gcv[1], abs=1e-12)
    assert ao.advise(found, "mi").certified


def replaced(summary: ao.Summary) -> Any:
    """The summary as a file without its scores, whose last digits may differ."""
    from aegis_opt.summary._document import document_of

    return {key: value for key, value in document_of(summary).items() if key != "numbers"}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-5, 30) | st.floats(-3, 3).map(lambda x: round(x, 2)), min_size=30),
    st.integers(2, 6),
)
def test_quantiles_divide_the_records_evenly(numbers: list[float], q: int) -> None:
    frame = pd.DataFrame({"x": np.arange(len(numbers)) % 3, "y": np.array(numbers, dtype=float)})
    configurations = {"c": {"x": ao.Suppress()}}
    at = np.sort(frame["y"])[[j * len(numbers) // q for j in range(1, q)]]
    if len(set(at) - {frame["y"].min()}) < q - 1:
        with pytest.raises(ao.errors.SourceError, match=r"distinct quantiles|one class only"):
            ao.summarize(frame, "y", configurations, label_bins=q)
        return
    found = ao.summarize(frame, "y", configurations, label_bins=q)
    ordered = np.sort(frame["y"].to_numpy())
    edges = [ordered[j * len(numbers) // q] for j in range(1, q)]
    classes = np.searchsorted(edges, frame["y"], side="right")
    assert found.label_counts.tolist() == np.bincount(classes).tolist()


def test_a_quantile_has_as_few_digits_as_divide_the_records() -> None:
    ends = ((0.123, 0.456), (-2.5, -2.25), (10.25, 10.5), (5, 6), (-1, 7.5), (1e-9, 2e-9), (2**62, 2**62 + 1))
    found = [short_between(*pair) for pair in ends]
    assert found == [0.4, -2.3, 10.5, 6, 0, 2e-9, 2**62 + 1]
    assert all(low < cut <= high for (low, high), cut in zip(ends, found, strict=True))
    summary = ao.summarize(table(), "y", CONFIGURATIONS, label_bins=7)
    assert max(len(name) for name in summary.label_values) <= len("[0.123, 4.567)")


def test_a_missing_label_is_a_class_of_its_own(tmp_path: Path) -> None:
    frame = table(100)
    frame.loc[:9, "y"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        found = ao.summarize(source, "y", CONFIGURATIONS, label_bins=[2, 3])
        assert found.label_values == ("<2", "[2, 3)", ">=3", None)
        assert found.label_counts[-1] == 10
        with pytest.raises(ao.errors.SourceError, match=r"10 records have no 'y'.*remove these records"):
            ao.summarize(source, "y", CONFIGURATIONS, label_kind="number")


@pytest.mark.parametrize(
    ("label", "classes"),
    [
        (["u", "v"] * 50, 2),
        ([f"t{i}" for i in range(50)] * 2, 50),
        ([True, False] * 50, 2),
        (list(range(20)) * 5, 20),
        ([float(i) for i in range(20)] * 5, 20),
        ([0.0, 1.0, np.nan, 1.0] * 25, 3),
    ],
)
def test_texts_booleans_and_few_whole_numbers_are_classes(
    label: list[Any], classes: int, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": range(100), "y": label})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for source in (frame, pl.from_pandas(frame), tmp_path / "t.csv"):
        assert len(ao.summarize(source, "y", {"c": {"a": ao.Suppress()}}).label_values) == classes


@pytest.mark.parametrize(
    ("label", "distinct", "words"),
    [
        (list(range(25)) * 4, 25, "numbers"),
        ([0.5, 1.5] * 50, 2, "numbers"),
        ([dt.date(2020, 1, 1), dt.date(2020, 2, 1)] * 50, 2, "dates"),
        (list(range(100)), 100, "numbers"),
    ],
)
def test_any_other_label_asks_for_one_of_two_ways(
    label: list[Any], distinct: int, words: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": np.arange(100) % 7, "y": label})
    frame.to_parquet(tmp_path / "t.parquet")
    masks = {"c": {"a": ao.Suppress()}}
    expected = (
        rf"label 'y' has {distinct} distinct values, which are {words}.*label_bins=4.*label_kind='number'"
    )
    for source in (frame, pl.from_pandas(frame), tmp_path / "t.parquet", duckdb.from_df(frame)):
        for call in (
            lambda s: ao.summarize(s, "y", masks),
            lambda s: ao.compare(s, "y", masks),
            lambda s: ao.search(s, "y", {"a": [ao.Suppress()]}, ao.privacy.KAnonymity(2)),
            lambda s: scan(s, "y"),
        ):
            with pytest.raises(ao.errors.InvalidInput, match=expected):
                call(source)


def test_configurations_are_generated_for_any_label(tmp_path: Path) -> None:
    frame = table(100)
    assert len(ao.generate_configurations(frame, "y", n=5)) == 5
    with pytest.raises(ao.errors.InvalidInput, match="label_bins=4"):
        ao.generate_configurations(frame, "y", n=5, learn_from_label=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label_bins": 1}, "label_bins must be a whole number from 2"),
        ({"label_bins": "4"}, "label_bins must be a whole number"),
        ({"label_bins": True}, "label_bins must be a whole number"),
        ({"label_bins": []}, "label_bins has no edges"),
        ({"label_bins": [1, 1]}, "the edges of label_bins must ascend: 1 follows 1"),
        ({"label_bins": [0, float("inf")]}, "label_bins must be a number, not"),
        ({"label_bins": ["a"]}, "label_bins must be a number, not"),
        ({"label_bins": range(1000)}, "1,000 edges"),
        ({"label_kind": "text"}, "label_kind must be 'class' or 'number'"),
        ({"label_kind": "number", "label_bins": 4}, "leave out one of them"),
        ({"label_kind": "number", "share": "tables"}, "small groups give single records away"),
        ({"label_kind": "number", "share": "both"}, "small groups give single records away"),
        ({"label_kind": "number", "measures": ["mi"]}, "measure 'mi' is about classes"),
        ({"label_kind": "number", "histograms": True}, "share='scores' shares none"),
        ({"label_kind": "number", "epsilon": 1.0}, "share would share what protect= does not protect"),
        ({"label_bins": 4, "epsilon": 1.0}, "label_bins would share what protect= does not protect"),
        ({"share": "scores", "measures": ["eta2"]}, "measure 'eta2' is about a label that is a number"),
    ],
)
def test_wrong_options_are_refused_before_the_scan(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ao.AegisError, match=words):
        ao.summarize("nowhere.csv", "y", CONFIGURATIONS, **options)


@pytest.mark.parametrize(
    ("label", "options", "words"),
    [
        (
            ["u", "v"],
            {"label_kind": "number"},
            "label_kind='number' is about numbers, but the label 'y' has texts",
        ),
        (["u", "v"], {"label_bins": 2}, "label_bins is about numbers, but the label 'y' has texts"),
        ([True, False], {"label_bins": 2}, "the label 'y' has booleans"),
        (
            [dt.date(2020, 1, 1), dt.date(2020, 2, 1)],
            {"label_bins": 2},
            "the label 'y' has dates: make texts",
        ),
        ([1.0, 1.0], {"label_kind": "number"}, "is 1.0 in all records"),
        ([np.inf, 1.0], {"label_kind": "number"}, "holds inf"),
        ([-np.inf, 1.0], {"label_bins": 2}, "holds -inf"),
        ([1.0, 2.0], {"label_bins": [5]}, "no record has a 'y' in the class '>=5'"),
        ([1.0, 2.0], {"label_bins": [0, 1.5]}, "no record has a 'y' in the class '<0'"),
        ([1.0, 2.0], {"label_bins": [1.5, 1.75]}, r"in the class '\[1.5, 1.75\)'"),
        ([1.0, 2.0], {"label_bins": 3}, r"2 distinct quantiles of label_bins=3.*label_bins=\[2\]"),
        ([1.0, 1.0, 1.0, 1.0, 2.0], {"label_bins": 2}, "gives one class only"),
        ([None, None], {"label_bins": 2}, "'y' has texts|has no values"),
        ([None, None], {"label_kind": "number"}, "'y' has texts|records have no"),
    ],
)
def test_labels_that_do_not_fit(
    label: list[Any], options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"a": np.arange(20) % 3, "y": (label * 20)[:20]})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, pl.from_pandas(frame), tmp_path / "t.parquet"):
        with pytest.raises(ao.errors.InvalidInput, match=words):
            ao.summarize(source, "y", {"c": {"a": ao.Suppress()}}, **options)


def test_classes_and_numbers_are_not_mixed_up_by_the_advisor() -> None:
    frame = table(200)
    number = ao.summarize(frame, "y", CONFIGURATIONS, label_kind="number")
    with pytest.raises(
        ao.errors.InvalidOption, match="measure 'mi' is about classes, and the label is a number"
    ):
        ao.advise(number, "mi")
    with pytest.raises(ao.errors.InvalidOption, match="nothing is reconstructed"):
        ao.advise(number, "eta2", solver="ipf")
    for share in ("tables", "scores"):
        classes = ao.summarize(frame, "y", CONFIGURATIONS, label_bins=3, share=share)
        for measure in ("eta2", ao.get_measure("eta2")):
            with pytest.raises(ao.errors.InvalidOption, match="'eta2' is about a label that is a number"):
                ao.advise(classes, measure)
    with pytest.raises(ao.errors.InvalidOption, match="'eta2' is about"):
        ao.compare(frame, "y", CONFIGURATIONS, measures=["eta2"], label_bins=3)
    with pytest.raises(ao.errors.InvalidOption, match="'eta2' is about"):
        ao.search(frame, "b", {"a": [ao.Suppress()]}, ao.privacy.KAnonymity(2), measure="eta2")


def test_the_file_says_that_the_label_is_a_number(tmp_path: Path) -> None:
    made = ao.summarize(table(200), "y", CONFIGURATIONS, label_kind="number", scores=SCORES, explain=True)
    path = tmp_path / "s.json"
    made.save(path)
    assert ao.Summary.load(path) == made
    document = json.loads(path.read_text())
    assert document["version"] == 6
    assert document["label"] == {"name": "y", "kind": "number"}
    facts = made.facts()
    assert facts[facts["fact"] == "kind"]["content"].tolist() == ["a number"]
    broken: list[tuple[dict[str, Any], str]] = [
        ({"version": 5}, "version 5 has no labels that are numbers"),
        ({"label": {"name": "y", "kind": "text"}}, "unknown kind 'text'"),
        ({"label": {"name": "y", "kind": 3}}, "kind"),
        ({"label": {"name": "y"}}, "is one of some classes, and measure 'eta2' is not about that"),
    ]
    for change, words in broken:
        path.write_text(json.dumps(document | change))
        with pytest.raises(ao.errors.SummaryError, match=words):
            ao.Summary.load(path)
    of_classes = ao.summarize(table(200), "y", CONFIGURATIONS, label_bins=3, share="scores")
    of_classes.save(path)
    document = json.loads(path.read_text())
    assert document["version"] == 2  # as before: older readers read it
    path.write_text(json.dumps(document | {"version": 6, "label": {"name": "y", "kind": "number"}}))
    with pytest.raises(ao.errors.SummaryError, match="is a number, and measure 'mi' is not about that"):
        ao.Summary.load(path)


def test_coarsened_attributes_are_told(tmp_path: Path) -> None:
    frame = table(2000).assign(a=np.arange(2000))
    with pytest.warns(UserWarning, match="'a' was read as multiples of") as told:
        shared = ao.summarize(
            frame, "y", {"c": {"a": ao.Bucketize(width=100)}}, label_kind="number", max_values=100
        )
    assert [Path(warning.filename).name for warning in told] == ["test_numeric_labels.py"]
    exact = ao.summarize(frame, "y", {"c": {"a": ao.Bucketize(width=100)}}, label_kind="number")
    measured = [each.attributes["a"].measures["eta2"][0] for each in (shared, exact)]
    assert measured[0] == pytest.approx(measured[1])


def test_privacy_figures_stand_beside_scores_of_a_number() -> None:
    shared = ao.summarize(
        table(), "y", CONFIGURATIONS, label_kind="number", rules=ao.privacy.KAnonymity(2), scores=["r2"]
    )
    assert shared.privacy is not None
    advice = ao.advise(shared, "eta2", require=ao.privacy.KAnonymity(1))
    assert advice.certified
    assert len(advice.ranking) == len(CONFIGURATIONS)


def test_a_comparison_takes_bins() -> None:
    found = ao.compare(table(), "y", CONFIGURATIONS, label_bins=4, scopes=["pooled"], histograms=[True])
    assert found["status"].tolist() == ["ok"]
    assert found["regret"].tolist() == [0.0]


def test_with_one_attribute_r2_is_the_correlation_ratio() -> None:
    masks = {"c": {"a": ao.Bucketize(width=10)}, "d": {"a": ao.Bucketize(width=20)}}
    shared = ao.summarize(table(), "y", masks, label_kind="number", scores=["r2"])
    for name, chosen in shared.configurations.items():
        assert shared.scores["r2"].values[name] == pytest.approx(
            shared.attributes["a"].measures["eta2"][chosen["a"]], abs=1e-12
        )
    assert "the measure eta2" in ao.advise(shared, "r2").reason


def test_what_is_mostly_chance_is_told() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.arange(200) // 2, "y": rng.normal(size=200)})
    masks = {"c": {"a": ao.Identity()}, "d": {"a": ao.Bucketize(width=50)}}
    shared = ao.summarize(frame, "y", masks, label_kind="number")
    assert (shared.attributes["a"].chance["eta2"][0] or 0) > 0.5
    assert any("Use the score r2_gcv" in warning for warning in ao.advise(shared, "eta2").warnings)
