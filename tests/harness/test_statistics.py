"""Averages over runs: failures are penalised, means are shifted, profiles are relative."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.harness import overview, penalised, performance_profile, shifted_geometric_mean

ADVICE = pd.DataFrame(
    {
        "variant": ["a", "b", "c", "d", "e"],
        "scope": "single",
        "histogram": True,
        "dataset": "x",
        "measure": "mi",
        "status": ["ok", "failed", "timed out", "no winner", "skipped"],
        "seconds_total": [2.0, None, None, 1.0, None],
        "regret": [0.25, None, None, None, None],
        "tau": [0.5, None, None, None, None],
        "certified": [True, None, None, False, None],
        "pud_true_min": 1.0,
        "pud_true_mean": 1.5,
        "pud_true_max": 3.0,
    }
)


def test_failures_are_penalised_and_what_was_skipped_is_not() -> None:
    given = ADVICE.copy()
    found = penalised(given, time_limit=10.0).set_index("variant")
    assert found["regret"].to_dict() == {"a": 0.25, "b": 2.0, "c": 2.0, "d": 0.5}
    assert found["seconds_total"].to_dict() == {"a": 2.0, "b": 10.0, "c": 10.0, "d": 1.0}
    pd.testing.assert_frame_equal(given, ADVICE)


def test_without_a_time_limit_a_failure_costs_the_longest_time() -> None:
    assert penalised(ADVICE, None).set_index("variant").loc["b", "seconds_total"] == 2.0


def test_a_lost_reconstruction_is_as_far_from_the_truth_as_can_be() -> None:
    frame = pd.DataFrame({"status": ["optimal", "failed"], "tvd": [0.1, None], "seconds_total": [1.0, None]})
    assert penalised(frame, 5.0)["tvd"].tolist() == [0.1, 1.0]


def test_the_overview_counts_every_way_to_end() -> None:
    lines = overview(ADVICE, 10.0, shift=1.0).set_index("variant")
    assert lines.loc["a", ["regret", "tau", "seconds", "certified"]].tolist() == pytest.approx(
        [0.5, 0.5, 2, 1]
    )
    assert lines.loc["b", "regret"] == 4.0
    assert lines.loc["d", "regret"] == 1.0
    assert lines[["failed", "timed_out", "no_winner", "skipped"]].sum().tolist() == [1, 1, 1, 1]
    assert np.isnan(lines.loc["e", "regret"])


def test_regret_is_averaged_where_there_is_a_choice() -> None:
    alone = ADVICE.iloc[:1].assign(
        dataset="y", regret=0.0, pud_true_min=1.0, pud_true_mean=1.0, pud_true_max=1.0
    )
    lines = overview(pd.concat([ADVICE.iloc[:1], alone], ignore_index=True), None)
    assert lines.loc[0, ["runs", "regret"]].tolist() == [2, 0.5]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0.001, 100))
def test_a_shifted_geometric_mean_lies_between_the_extremes_and_below_the_mean(values, shift) -> None:
    found = shifted_geometric_mean(values, shift)
    slack = 1e-9 * (max(values) + shift)
    assert min(values) - slack <= found <= np.mean(values) + slack


def test_gaps_are_not_averaged_over() -> None:
    with pytest.raises(ao.errors.InvalidInput, match="without gaps"):
        shifted_geometric_mean([1.0, np.nan], 1.0)
    assert shifted_geometric_mean([0.0, 5.0], 0.0) == 0.0
    assert shifted_geometric_mean([2.0, 8.0], 0.0) == pytest.approx(4.0)
    assert shifted_geometric_mean([0.0, 0.0], 0.01) == 0.0


def test_a_profile_is_the_share_of_problems_solved_within_a_factor() -> None:
    frame = pd.DataFrame(
        {
            "dataset": ["p", "p", "q", "q", "r", "r"],
            "variant": ["a", "b"] * 3,
            "seconds_total": [1.0, 3.0, 2.0, None, 4.0, 1.0],
            "status": ["ok", "ok", "ok", "failed", "ok", "ok"],
        }
    )
    profile = performance_profile(frame, problem=["dataset"], taus=[1, 3, 4, 1000])
    assert profile["a"].tolist() == pytest.approx([2 / 3, 2 / 3, 1, 1])
    assert profile["b"].tolist() == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3])
    drawn = performance_profile(frame, problem=["dataset"])
    assert drawn.index[0] == 1
    assert drawn.index[-1] == pytest.approx(4)
    assert (drawn.diff().dropna() >= 0).all().all()


def test_a_profile_averages_over_seeds_and_needs_a_shift_where_the_best_is_nothing() -> None:
    frame = pd.DataFrame(
        {"dataset": "p", "variant": ["a", "a", "b"], "tvd": [0.0, 0.2, 0.0], "status": "optimal"}
    )
    with pytest.raises(ao.errors.InvalidInput, match="pass shift"):
        performance_profile(frame, "tvd", problem=["dataset"])
    profile = performance_profile(frame, "tvd", problem=["dataset"], shift=0.1, taus=[1, 2])
    assert profile.to_dict("list") == {"a": [0.0, 1.0], "b": [1.0, 1.0]}


def test_where_nothing_has_a_time_a_failure_costs_an_unknown_one_never_nothing() -> None:
    lost = ADVICE[ADVICE["status"] == "failed"]
    assert penalised(lost, None)["seconds_total"].isna().all()
    assert overview(lost, None)["seconds"].isna().all()
    assert overview(lost, None, longest=3.0)["seconds"].tolist() == pytest.approx([3.0])
    free = pd.concat([lost, ADVICE.iloc[:1].assign(seconds_total=0.0)])  # a choice at random takes no time
    assert penalised(free, None, longest=3.0)["seconds_total"].tolist() == [3.0, 0.0]


def test_the_old_name_still_works_and_says_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match="charge is now called penalised"):
        from aegis_opt.harness import charge
    assert charge is penalised


def test_a_loss_of_rounding_noise_is_no_choice_to_judge_by() -> None:
    row = ADVICE[ADVICE["status"] == "ok"].iloc[:1]
    noise = row.assign(pud_true_min=0.3, pud_true_mean=0.3 + 1e-16, pud_true_max=0.3 + 1e-16, regret=1e-16)
    assert overview(noise, None)["regret"].isna().all()
    assert overview(row, None)["regret"].notna().all()
