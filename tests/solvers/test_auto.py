"""The choice between maximum entropy and smoothness."""

from __future__ import annotations

import numpy as np
import pytest

import aegis_opt as ao
from aegis_opt.solvers.smooth import Auto, Smooth
from aegis_opt.solvers.smooth._auto import MOST_VIEWS, _splits, _telling, prediction_error, simplest

VIEWS = [np.arange(40) // width for width in (4, 5, 8, 10, 13)]


def _problem(share: np.ndarray, seed: int = 0, views: list[np.ndarray] | None = None) -> ao.Problem:
    rng = np.random.default_rng(seed)
    records = rng.poisson(300, len(share)) + 1
    first = rng.binomial(records, share)
    truth = np.stack([first, records - first], axis=1)
    return ao.Problem.from_table(truth, views or VIEWS, positions=np.arange(len(share)))


def test_a_smooth_attribute_is_recognised_and_a_shuffled_one_is_not() -> None:
    share = 0.5 + 0.4 * np.sin(np.arange(40) / 6)
    smooth = Auto().reconstruct(_problem(share))
    assert "differences" in smooth.choice
    assert smooth.held_out[smooth.choice] < 0.7 * smooth.held_out["maximum entropy"]
    shuffled = Auto().reconstruct(_problem(np.random.default_rng(1).permutation(share)))
    assert shuffled.choice == "maximum entropy"
    for result in (smooth, shuffled):
        assert result.status is ao.Status.OPTIMAL
        assert set(result.held_out) == {"maximum entropy", "first differences", "second differences"}


def test_the_table_is_that_of_the_chosen_solver() -> None:
    problem = _problem(0.5 + 0.4 * np.sin(np.arange(40) / 6))
    result = Auto().reconstruct(problem)
    order = {"first differences": 1, "second differences": 2}[result.choice]
    assert np.array_equal(result.table, Smooth(order=order).reconstruct(problem).table)
    assert result.norm == Smooth(order=order).distance_norm


def test_with_two_views_nothing_is_held_out_and_first_differences_are_taken() -> None:
    problem = _problem(np.random.default_rng(1).random(40), views=VIEWS[:2])
    result = Auto().reconstruct(problem)
    assert result.choice == "first differences"
    assert result.held_out == {}
    assert np.array_equal(result.table, Smooth().reconstruct(problem).table)


def test_nothing_is_predicted_by_a_view_that_it_follows_from() -> None:
    fine, coarse, other = np.arange(12) // 2, np.arange(12) // 4, np.arange(12) // 3
    problem = ao.Problem.from_table(np.ones((12, 2), dtype=int), [fine, coarse, other])
    splits = list(_splits(_telling(problem), alone=True))
    assert ([1, 2], [0]) in splits
    assert ([0, 2], [1]) not in splits
    assert ([0], [2]) in splits
    assert ([1], [0, 2]) in splits


def test_equal_views_count_once_and_very_many_are_thinned() -> None:
    rng = np.random.default_rng(0)
    truth = rng.poisson(5.0, size=(60, 2))
    views = [np.arange(60) // width for width in range(2, 30)]
    problem = ao.Problem.from_table(truth, [*views, *views, np.zeros(60, dtype=int)])
    found = _telling(problem)
    assert len(found) == MOST_VIEWS
    sizes = [margin.totals.shape[0] for _, margin in found]
    assert len({i % len(views) for i, _ in found}) == MOST_VIEWS
    assert min(sizes) == 3
    assert max(sizes) == 30


def test_the_error_is_the_share_of_records_to_be_moved_and_that_of_sampling() -> None:
    rng = np.random.default_rng(0)
    truth = rng.gamma(1.0, 50.0, size=(8, 3))
    records = round(truth.sum())
    drawn = rng.multinomial(records, (truth / truth.sum()).ravel(), size=400).reshape(400, 8, 3)
    margins = [ao.Problem.from_table(table, np.arange(8)).margins[0] for table in drawn]
    predicted = truth / truth.sum() * records
    moved = np.array([ao.tvd(table, predicted) for table in drawn])
    errors = np.array([prediction_error(margin, predicted) for margin in margins])
    chance = np.array([prediction_error(margin, margin.totals) for margin in margins])
    assert np.allclose(errors, moved + chance)
    assert chance.mean() == pytest.approx(moved.mean(), rel=0.05)


def test_more_assumptions_need_clear_evidence() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(20)
    unclear = np.stack([base, base - 0.01 + rng.normal(0, 0.2, 20)], axis=1)
    clear = np.stack([base, base - 0.1 + rng.normal(0, 0.05, 20)], axis=1)
    assert simplest(unclear) == 0
    assert simplest(clear) == 1
    assert simplest(clear[:1]) == 1


def test_where_the_time_is_over_before_the_choice_it_is_maximum_entropy_and_says_so() -> None:
    """The limit was that of each of the tables that are fitted to choose."""
    problem = _problem(0.5 + 0.4 * np.sin(np.arange(40) / 6))
    result = Auto(time_limit=1e-6).reconstruct(problem)
    assert (result.choice, result.norm, result.held_out) == ("maximum entropy", "kl", {})
    assert result.status is ao.Status.TIME_LIMIT
    assert not result.optimal
    assert result.gap is None
    assert "time limit came before" in result.warning
    patient = Auto(time_limit=600.0).reconstruct(problem)
    assert np.array_equal(patient.table, Auto().reconstruct(problem).table)
    assert patient.status is ao.Status.OPTIMAL
    assert not patient.warning


@pytest.mark.parametrize("n_views", [1, 5])
def test_where_there_is_no_room_for_a_smooth_table_it_is_maximum_entropy_and_says_so(
    monkeypatch: pytest.MonkeyPatch, n_views: int
) -> None:
    """It said: take solver='ipf'."""
    problem = _problem(0.5 + 0.4 * np.sin(np.arange(40) / 6), views=[*VIEWS[:n_views]])
    monkeypatch.setattr("aegis_opt.solvers.smooth._system.MOST_ENTRIES", 10)
    result = Auto().reconstruct(problem)
    assert (result.choice, result.norm, result.status) == ("maximum entropy", "kl", ao.Status.OPTIMAL)
    assert "more memory" in result.warning
    with pytest.raises(ao.errors.InvalidInput, match="take solver='ipf'"):
        Smooth().reconstruct(problem)
