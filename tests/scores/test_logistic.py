"""The model that scores train by default, against scikit-learn's; and the records that a race takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression as Reference

import aegis_opt as ao
from aegis_opt.scores import Model, Race, _logistic
from aegis_opt.scores._logistic import LogisticRegression
from aegis_opt.scores._model import one_hot
from aegis_opt.sources._pairs import CodedRecords


def one_hot_records(seed: int, n: int = 600, k: int = 3):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, size, n) for size in (3, 40, 8)]
    columns.append(columns[1] // 4)  # follows from another one
    signal = columns[0] + 0.1 * columns[1] + rng.normal(size=n)
    label = np.searchsorted(np.quantile(signal, np.linspace(0, 1, k + 1)[1:-1]), signal)
    return one_hot(columns), label


@pytest.mark.parametrize("scaled_by", ["factors", "diagonals"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_its_optimum_is_that_of_scikit_learn(k: int, scaled_by: str, monkeypatch) -> None:
    if scaled_by == "diagonals":
        monkeypatch.setattr(_logistic, "_LARGEST_FACTORS", 0)
    X, y = one_hot_records(k, k=k)
    y = np.where(y == k - 1, 7, y)  # classes are numbers with gaps where a fold lacks some
    expected = Reference(tol=1e-10, max_iter=10_000).fit(X, y)
    found = LogisticRegression().fit(X, y)
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=2e-3)
    losses = [np.mean(np.log(m.predict_proba(X)[y[:, None] == m.classes_])) for m in (found, expected)]
    assert losses[0] == pytest.approx(losses[1], abs=2e-5)


def test_it_takes_few_steps(monkeypatch) -> None:
    calls = []
    counted = _logistic._loss
    monkeypatch.setattr(_logistic, "_loss", lambda Z, Y: calls.append(1) or counted(Z, Y))
    X, y = one_hot_records(0, n=2000, k=2)
    LogisticRegression().fit(X, y)
    assert len(calls) < 25  # L-BFGS without scaling takes some sixty


def test_a_label_that_attributes_determine_and_one_rare_class_have_answers() -> None:
    X, _ = one_hot_records(0)
    separable = np.asarray(X[:, 0].todense()).ravel().astype(np.int64)
    found = LogisticRegression().fit(X, separable).predict_proba(X)
    assert (found.argmax(axis=1) == separable).all()
    rare = np.where(np.arange(len(separable)) < 1, 2, separable)
    assert np.isfinite(LogisticRegression().fit(X, rare).predict_proba(X)).all()


def test_scores_by_the_default_model_are_those_of_scikit_learns() -> None:
    clinic = ao.datasets.clinic(800, seed=1)
    masks = {name: clinic.configurations[name] for name in ("coarse-age", "erased-digits")}
    models = [Model(rows=500), Model(Reference(tol=1e-8, max_iter=5000), rows=500, name="reference")]
    found = ao.summarize(clinic.frame, clinic.label, masks, share="scores", scores=models)
    ours, theirs = (list(found.scores[name].values.values()) for name in ("model", "reference"))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize(
    ("n", "rows", "expected"), [(1000, 100, [100, 400, 1000]), (150, 100, [150]), (700, 300, [300, 700])]
)
def test_a_race_takes_all_records_where_it_would_take_more_than_half(n, rows, expected, monkeypatch) -> None:
    sizes = []

    def trained(self, masked, configurations, sample):
        sizes.append(len(sample))
        return np.zeros((len(configurations), 5))

    monkeypatch.setattr(Model, "trained", trained)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, n), "y": rng.integers(0, 2, n)})
    masks = {"c": {"a": ao.Suppress()}, "d": {"a": ao.Bucketize(width=2)}}
    ao.summarize(frame, "y", masks, share="scores", scores=[Race(rows=rows)])
    assert sizes == expected


def test_a_race_whose_first_sample_lacks_a_label_goes_on_with_more_records() -> None:
    n = 2000
    frame = pd.DataFrame({"a": np.arange(n) % 5, "y": np.arange(n) % 500 == 0})
    masks = {"c": {"a": ao.Suppress()}, "d": {"a": ao.Identity()}}
    found = ao.summarize(frame, "y", masks, share="scores", scores=[Race(rows=20)])
    assert ao.advise(found).best == "d"
    assert min(found.scores["race"].stages.values()) > 1


def test_refinements_pool_rare_groups_before_they_are_counted() -> None:
    """A nearly unique attribute has no more classes than masked groups are told apart."""
    rng = np.random.default_rng(0)
    n = 3000
    frame = pd.DataFrame({"number": rng.permutation(n), "a": rng.integers(0, 4, n)})
    frame["y"] = (frame["a"] + rng.integers(0, 2, n) > 2).astype(int)
    masks = {"open": {"a": ao.Suppress()}, "tens": {"number": ao.Bucketize(width=10)}}
    counted = []
    pairs = CodedRecords.pairs

    def spy(self, classes, *rest):
        counted.append([int(own.max()) + 1 for own in classes])
        return pairs(self, classes, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodedRecords, "pairs", spy)
        ao.summarize(frame, "y", masks, share="scores", scores=["r2_gcv", "r2"])
    assert counted[0][0] <= 64 * 2
    assert counted[1][0] == n
