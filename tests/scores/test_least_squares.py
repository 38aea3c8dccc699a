"""Scores of a configuration from counts of pairs, against regressions on the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from aegis_opt.measures import goodman_kruskal_tau
from aegis_opt.scores import _least_squares
from aegis_opt.scores._least_squares import CAP, PENALTY, Design, r2, r2_certified, r2_cv, r2_gcv
from aegis_opt.sources._pairs import CodedRecords


def random_records(seed: int, n: int = 300, sizes=(5, 90, 3, 12), k: int = 3) -> CodedRecords:
    """Attributes of which some depend on each other and on the label."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n)
    attributes = []
    for size in sizes:
        shared = hidden + rng.normal(size=n) * rng.uniform(0.3, 2)
        attributes.append(np.digitize(shared, np.quantile(shared, np.arange(1, size) / size)))
    label = np.digitize(hidden + rng.normal(size=n), [-0.5, 0.8])[:n] % k
    return CodedRecords(attributes, label, k)


def identity(records: CodedRecords) -> list[np.ndarray]:
    return [np.arange(places.max() + 1) for places in records.attributes]


def random_groups(rng: np.random.Generator, classes: list[np.ndarray]) -> list[np.ndarray]:
    """Merge classes at random; every group has one at least."""
    return [
        np.unique(rng.integers(rng.integers(1, len(own) + 1), size=len(own)), return_inverse=True)[1]
        for own in classes
    ]


def rows_of(records: CodedRecords, groups: list[np.ndarray], cap: int | None = None):
    """The one-hot columns of every record, and its one-hot label; written without the library's code."""
    blocks = []
    for places, own in zip(records.attributes, groups, strict=True):
        masked = own[places]
        values, counts = np.unique(masked, return_counts=True)
        if cap is not None and len(values) > cap:
            kept = values[np.argsort(-counts, kind="stable")[: cap - 1]]
            masked = np.where(np.isin(masked, kept), masked, -1)
            values = np.unique(masked)
        blocks.append((masked[:, None] == values).astype(float))
    return np.hstack(blocks), np.eye(records.n_labels)[records.label]


@pytest.mark.parametrize("seed", range(3))
def test_generalised_cross_validation_is_that_of_ridge_on_the_rows(seed: int) -> None:
    records = random_records(seed)
    groups = random_groups(np.random.default_rng(seed), identity(records))
    X, Y = rows_of(records, groups, CAP)
    n = len(X)
    fit = Ridge(PENALTY).fit(X, Y)
    centred = X - X.mean(axis=0)
    hat = centred @ np.linalg.solve(centred.T @ centred + PENALTY * np.eye(X.shape[1]), centred.T)
    df = 1 + np.trace(hat)
    rss, tss = np.sum((Y - fit.predict(X)) ** 2), np.sum((Y - Y.mean(axis=0)) ** 2)
    expected = 1 - (rss / (1 - df / n) ** 2) / (tss / (1 - 1 / n) ** 2)
    design = Design.of(records.pairs(identity(records)), groups, CAP)
    assert r2_gcv(design) == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_cross_validation_is_that_of_ridge_on_the_rows(seed: int) -> None:
    records = random_records(seed)
    groups = random_groups(np.random.default_rng(seed), identity(records))
    X, Y = rows_of(records, groups, CAP)
    fold = records.folds(10, seed)
    rss, tss = np.zeros(10), np.zeros(10)
    for f in range(10):
        fit = Ridge(PENALTY).fit(X[fold != f], Y[fold != f])
        rss[f] = np.sum((Y[fold == f] - fit.predict(X[fold == f])) ** 2)
        tss[f] = np.sum((Y[fold == f] - Y[fold != f].mean(axis=0)) ** 2)
    score, by_fold = r2_cv(Design.of(records.pairs(identity(records), 10, seed), groups, CAP))
    assert score == pytest.approx(1 - rss.sum() / tss.sum(), abs=1e-11)
    np.testing.assert_allclose(by_fold, 1 - rss / tss, atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", ["dense", "sparse", "conjugate gradients"])
def test_least_squares_is_that_on_the_rows(seed: int, how: str, monkeypatch) -> None:
    """Also where attributes determine each other, and in the ways of many columns."""
    if how != "dense":
        monkeypatch.setattr(_least_squares, "_FEWEST_SPARSE", 0)
    if how == "conjugate gradients":
        monkeypatch.setattr(_least_squares, "_LARGEST_DENSE", 3)
    records = random_records(seed)
    twice = CodedRecords([*records.attributes, records.attributes[1] // 2], records.label, records.n_labels)
    groups = identity(twice)
    X, Y = rows_of(twice, groups)
    X1 = np.hstack([np.ones((len(X), 1)), X])
    fit = X1 @ np.linalg.lstsq(X1, Y, rcond=None)[0]
    tss = np.sum((Y - Y.mean(axis=0)) ** 2)
    pairs = twice.pairs(groups)
    assert r2(Design.of(pairs, groups)) == pytest.approx(1 - np.sum((Y - fit) ** 2) / tss, abs=1e-9)

    values = np.random.default_rng(seed).integers(1, 5, sum(pairs.sizes)).astype(float)
    L = np.diag([0.0, *(PENALTY * values)])
    b = np.linalg.solve(X1.T @ X1 + L, X1.T @ Y)
    least = np.sum((Y - X1 @ b) ** 2) + np.sum(b * (L @ b))
    assert r2_certified(Design.of(pairs, groups), values) == pytest.approx(1 - least / tss, abs=1e-9)


def test_merging_values_never_raises_r2_and_r2_certified() -> None:
    rng = np.random.default_rng(0)
    for seed in range(100):
        records = random_records(seed, n=60, sizes=(4, 25, 6))
        classes = identity(records)
        pairs = records.pairs(classes)
        values = np.ones(sum(pairs.sizes))
        finest = Design.of(pairs, classes)
        before = r2(finest), r2_certified(finest, values)
        for _ in range(10):
            merged = Design.of(pairs, random_groups(rng, classes))
            assert r2(merged) <= before[0] + 1e-10
            assert r2_certified(merged, values) <= before[1] + 1e-10


def test_r2_of_one_attribute_is_goodman_and_kruskals_tau() -> None:
    records = random_records(1, sizes=(9,))
    table = np.zeros((9, 3))
    np.add.at(table, (records.attributes[0], records.label), 1)
    design = Design.of(records.pairs(identity(records)), identity(records))
    assert r2(design) == pytest.approx(goodman_kruskal_tau(table), abs=1e-12)


def test_merged_classes_give_the_scores_of_the_classes_counted_as_such() -> None:
    records = random_records(2)
    rng = np.random.default_rng(2)
    classes = identity(records)
    groups = random_groups(rng, classes)
    merged = records.pairs(groups, 4)
    fine = Design.of(records.pairs(classes, 4), groups, CAP)
    coarse = Design.of(merged, [np.arange(size) for size in merged.sizes], CAP)
    assert r2_gcv(fine) == r2_gcv(coarse)
    assert r2_cv(fine)[0] == r2_cv(coarse)[0]


def test_constant_attributes_change_nothing() -> None:
    records = random_records(3)
    constant = CodedRecords(
        [*records.attributes, np.zeros(len(records), dtype=np.int64)], records.label, records.n_labels
    )
    for score in (r2, r2_gcv):
        one, other = (score(Design.of(r.pairs(identity(r)), identity(r), CAP)) for r in (records, constant))
        assert one == pytest.approx(other, abs=1e-12)
    alone = CodedRecords([np.zeros(len(records), dtype=np.int64)], records.label, records.n_labels)
    design = Design.of(alone.pairs(identity(alone), 5), identity(alone), CAP)
    assert r2(design) == pytest.approx(0, abs=1e-12)
    assert r2_gcv(design) == pytest.approx(0, abs=1e-2)


def test_more_columns_than_records_and_more_folds_than_records_have_answers() -> None:
    records = random_records(4, n=12, sizes=(12, 12, 12))
    classes = identity(records)
    assert r2(Design.of(records.pairs(classes), classes)) == pytest.approx(1, abs=1e-9)
    score, by_fold = r2_cv(Design.of(records.pairs(classes, 40), classes, CAP))
    assert np.isfinite(score)
    assert np.isnan(by_fold).any()
