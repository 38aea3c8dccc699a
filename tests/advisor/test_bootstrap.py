"""What shared tables cannot tell apart, against samples from distributions that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.measures import get_measure

MASKS = {
    "fine": {"a": ao.Bucketize(width=2), "b": ao.Identity()},
    "a": {"a": ao.Bucketize(width=2), "b": ao.Suppress()},
    "b": {"a": ao.Suppress(), "b": ao.Identity()},
    "nothing": {"a": ao.Suppress(), "b": ao.Suppress()},
}
P_LABEL = np.array([0.6, 0.4])
P_A = np.array([[0.2, 0.1], [0.2, 0.1], [0.1, 0.3], [0.1, 0.1], [0.2, 0.1], [0.2, 0.3]])  # given the label
P_B = np.array([[0.5, 0.3], [0.2, 0.2], [0.3, 0.5]])
A_GROUPS = np.array([0, 0, 1, 1, 2, 2])


def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
    label = rng.choice(2, n, p=P_LABEL)
    a, b = ((rng.random(n)[:, None] > np.cumsum(p, axis=0)[:-1].T[label]).sum(axis=1) for p in (P_A, P_B))
    return pd.DataFrame({"a": a, "b": b, "y": label})


def mean_scores(measure: str, n: int, draws: int = 4000) -> dict[str, float]:
    """The score of each configuration, in the mean over samples; written without the library's code."""
    rng, rho = np.random.default_rng(99), get_measure(measure)
    values: dict[str, dict[bool, float]] = {}
    for name, given, groups in (("a", P_A, A_GROUPS), ("b", P_B, np.arange(3))):
        tables = rng.multinomial(n, (given * P_LABEL).ravel(), size=draws).reshape(draws, len(given), 2)
        merged = np.zeros((draws, groups.max() + 1, 2))
        for row, group in enumerate(groups):
            merged[:, group] += tables[:, row]
        values[name] = {True: float(np.mean(rho(merged))), False: float(np.mean(rho(merged.sum(1)[:, None])))}
    keeps = {"fine": (True, True), "a": (True, False), "b": (False, True), "nothing": (False, False)}
    return {name: (values["a"][a] + values["b"][b]) / 2 for name, (a, b) in keeps.items()}


N_RECORDS = 500


@pytest.fixture(scope="module")
def samples() -> list[ao.Summary]:
    rng = np.random.default_rng(7)
    return [ao.summarize(sample(rng, N_RECORDS), "y", MASKS) for _ in range(120)]


@pytest.mark.parametrize("measure", ["mi_loo", "mi", "g3"])
def test_intervals_hold_the_true_difference_as_often_as_they_say(
    measure: str, samples: list[ao.Summary]
) -> None:
    """Between 0.90 and 1 in 120 samples; at a true level of 0.95 fewer has a probability below 0.02."""
    truth = mean_scores(measure, N_RECORDS)
    sign = 1 if get_measure(measure).higher_is_better else -1
    held = dict.fromkeys(MASKS, 0)
    for seed, summary in enumerate(samples):
        advice = ao.advise(summary, measure, seed=seed, bootstrap=100)
        for row in advice.ranking.itertuples():
            true = sign * (truth[advice.best] - truth[row.configuration])
            held[row.configuration] += int(row.difference_low - 1e-9 <= true <= row.difference_high + 1e-9)
    assert min(held.values()) >= 0.90 * len(samples), held


@pytest.fixture(scope="module")
def clinic():
    return ao.datasets.clinic(600, seed=4)


@pytest.fixture(scope="module")
def tables(clinic):
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations)


def test_the_same_seed_gives_the_same_intervals_and_another_seed_others(tables) -> None:
    one, again, other = (ao.advise(tables, "mi_loo", seed=s, bootstrap=50).ranking for s in (3, 3, 4))
    pd.testing.assert_frame_equal(one, again)
    assert (one["difference_low"].iloc[1:] != other["difference_low"].iloc[1:]).any()
    pd.testing.assert_series_equal(one["difference"], other["difference"])


def test_the_order_of_records_attributes_and_configurations_does_not_matter(clinic, tables) -> None:
    rng = np.random.default_rng(0)
    names = list(clinic.configurations)
    rng.shuffle(names)
    frame = clinic.frame.sample(frac=1, random_state=1)[[*clinic.frame.columns[::-1]]]
    shuffled = ao.summarize(frame, clinic.label, {name: clinic.configurations[name] for name in names})
    one, other = (
        ao.advise(s, "mi", bootstrap=50).ranking.set_index("configuration")["difference_high"]
        for s in (tables, shuffled)
    )
    pd.testing.assert_series_equal(one.sort_index(), other.sort_index(), rtol=1e-9)


def test_what_is_close_is_named_the_winner_first(tables) -> None:
    advice = ao.advise(tables, "mi_loo", bootstrap=100)
    assert advice.equivalent[0] == advice.best
    ranking = advice.ranking.set_index("configuration")
    assert ranking.loc[advice.best, ["difference", "difference_low", "difference_high"]].tolist() == [0, 0, 0]
    close = ranking.index[ranking["difference_low"] <= 1e-12]
    assert set(close) == set(advice.equivalent)
    assert (ranking["difference"] >= 0).all()
    few = ao.advise(tables, "mi_loo")
    assert few.equivalent == ()
    assert "difference" not in few.ranking


def test_equal_configurations_cannot_be_told_apart_and_clear_ones_can() -> None:
    frame = sample(np.random.default_rng(0), 4000)
    masks = MASKS | {"same": MASKS["fine"]}
    advice = ao.advise(ao.summarize(frame, "y", masks), "mi", bootstrap=60)
    assert set(advice.equivalent) == {"fine", "same"}
    (close,) = [warning for warning in advice.warnings if warning.startswith("close:")]
    assert "another one cannot be told apart" in close


def test_scores_with_folds_say_how_far_others_are_behind(clinic) -> None:
    shared = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores")
    advice = ao.advise(shared, "r2_cv")
    ranking = advice.ranking.set_index("configuration")
    assert set(ranking.index[ranking["difference_low"] <= 0]) == set(advice.equivalent)
    folds = shared.scores["r2_cv"].folds
    expected = np.mean(np.subtract(folds[advice.best], folds["coarse-age"]))
    assert ranking.loc["coarse-age", "difference"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("share", "options", "words"),
    [
        ("scores", {"bootstrap": 50}, "bootstrap resamples shared tables"),
        ("both", {"bootstrap": 50}, "scores with folds, such as r2_cv"),
        ("tables", {"measure": "mi", "scope": "single", "bootstrap": 50}, "leave out scope='single'"),
        ("tables", {"bootstrap": 1}, "bootstrap must be a whole number from 2 up"),
        ("tables", {"bootstrap": True}, "bootstrap must be a whole number from 2 up"),
    ],
)
def test_what_cannot_be_resampled_is_refused(clinic, share: str, options, words: str) -> None:
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share=share)
    with pytest.raises(ao.errors.InvalidOption, match=words):
        ao.advise(summary, **options)
