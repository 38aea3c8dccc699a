"""Channels of noisy views: what is taken, and what is refused by name."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt._channels import not_told_apart

KEEP = np.array([[0.75, 0.25], [0.25, 0.75]])
J = np.array([[30.0, 12.0], [14.0, 44.0]])


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ([[0.75, 0.25], [0.3, 0.75]], r"value 0 sums to 1\.05"),
        ([[0.9, 0.1], [0.5, 0.5]], "its rows do: transpose it"),
        ([[1.25, 0.25], [-0.25, 0.75]], r"has 1\.25 in row 0 for value 0"),
        ([[1.0, -0.5], [0.0, 1.5]], "probabilities are from 0 to 1"),
        ([[np.nan, 0.25], [0.25, 0.75]], "has nan in row 0"),
        ([0.5, 0.5], "must be a matrix"),
        ([["a", "b"]], "must be a matrix of numbers"),
        ([[0.5, 0.5], [0.5, 0.5]], "0, 1 have the same probability of every masked value"),
        ([[1.0, 1.0, 1.0]], "1 rows and the joint table 2|same probability"),
        (np.eye(3), "3 rows and the joint table 2"),
    ],
)
def test_a_channel_that_is_none_is_refused(channel: object, text: str) -> None:
    with pytest.raises(ao.errors.InvalidInput, match=text):
        ao.View(joint=J, channel=channel)


def test_a_singular_channel_names_the_mixtures_that_look_alike() -> None:
    columns = np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]]).T
    T = np.column_stack([columns, (columns[:, 0] + columns[:, 2]) / 2])
    frame = pd.DataFrame(np.vstack([T, np.zeros(4)]), columns=["red", "green", "blue", "mixed"])
    frame.iloc[3] = 0.0
    with pytest.raises(ao.errors.InvalidInput) as error:
        ao.View(joint=np.zeros((4, 2)), channel=frame)
    assert "0.5 of 'red', 0.5 of 'blue'" in str(error.value)
    assert "value 'mixed' gives the same masked values as a mixture" in str(error.value)
    assert "green" not in str(error.value)


def test_wide_noise_is_ill_conditioned_and_not_singular() -> None:
    """Singular values that fall gradually leave the rank open; a jump shows a dependency."""
    distance = np.subtract.outer(np.arange(40), np.arange(40))
    T = np.exp(-(distance**2) / 200)
    T /= T.sum(axis=0)
    assert np.linalg.matrix_rank(T) < 40
    assert not_told_apart(T, range(40)) == ""
    problem = ao.Problem([ao.View(joint=1000 * T.sum(axis=1, keepdims=True), channel=T)])
    with pytest.warns(UserWarning, match="many different tables explain"):
        assert ao.reconstruct(problem).optimal
    few = np.exp(-(distance[:8, :8] ** 2) / 2)
    few /= few.sum(axis=0)
    few[:, 7] = few[:, 1] / 2 + few[:, 3] / 2
    assert not_told_apart(few, range(8)) == (
        "value 7 gives the same masked values as a mixture of 0.5 of 1, 0.5 of 3"
    )


def test_a_wide_channel_names_values_without_a_matrix_of_all_pairs() -> None:
    """Of 3 masked values and 400,000 values, 4 depend on each other already."""
    T = np.random.default_rng(0).random((3, 400_000)) + 1
    text = not_told_apart(T / T.sum(axis=0), range(400_000))
    assert "gives the same masked values as" in text
    assert max(map(int, re.findall(r"(?:of|value) (\d+)", text))) <= 3


def test_of_a_large_channel_only_equal_columns_are_looked_for() -> None:
    n = 1200
    T = np.full((n, n), 0.1 / (n - 1)) + np.eye(n) * (0.9 - 0.1 / (n - 1))
    assert not_told_apart(T, range(n)) == ""
    T[:, 7] = T[:, 1000]
    assert not_told_apart(T, range(n)) == "7, 1000 have the same probability of every masked value"
    T = np.column_stack([T[:, :6], np.full((n, n), 1 / n) + np.diag(np.arange(n)) / n**2])
    assert "more values than the 1,200 masked values" in not_told_apart(T, range(n + 6))


def test_a_view_has_groups_or_a_channel() -> None:
    for arguments in ({}, {"groups": [0, 1], "channel": KEEP}):
        with pytest.raises(ao.errors.InvalidInput, match=r"either groups .* or a channel"):
            ao.View(joint=J, **arguments)
    with pytest.raises(ao.errors.InvalidInput, match="needs a joint table"):
        ao.View([0, 1])
    with pytest.raises(ao.errors.InvalidInput, match="no groups"):
        _ = ao.View(joint=J, channel=KEEP).groups


def test_counts_that_the_channel_never_gives_are_refused() -> None:
    T = np.array([[0.75, 0.25], [0.25, 0.75], [0.0, 0.0]])
    with pytest.raises(ao.errors.InvalidInput, match="3 records of masked value 2"):
        ao.View(joint=[[5, 5], [5, 5], [3, 0]], channel=T)
    ao.View(joint=[[5, 5], [5, 5], [0, 0]], channel=T)


def test_names_are_those_of_the_channel_and_rows_follow_the_joint_table() -> None:
    channel = pd.DataFrame(KEEP, index=["no", "yes"], columns=["never", "often"])
    joint = pd.DataFrame(J[::-1], index=["yes", "no"], columns=["good", "bad"])
    table = ao.reconstruct(ao.Problem([ao.View(joint=joint, channel=channel)])).table
    plain = ao.reconstruct(ao.Problem([ao.View(joint=J, channel=KEEP)])).table
    assert list(table.index) == ["never", "often"]
    assert list(table.columns) == ["good", "bad"]
    np.testing.assert_allclose(table.to_numpy(), plain)
    with pytest.raises(ao.errors.InvalidInput, match="different masked values"):
        ao.View(joint=joint.rename(index={"no": "nope"}), channel=channel)


def test_only_label_totals_of_a_noisy_view_are_exact() -> None:
    problem = ao.Problem([ao.View(joint=J, channel=KEEP)])
    assert [margin.totals.tolist() for margin in problem.margins] == [[[44.0, 56.0]]]
    assert problem.residual([[22, 28], [22, 28]]) == 0
    assert "1 of them noisy" in repr(problem) or "noisy" in str(problem)
    with pytest.raises(ao.errors.InfeasibleProblem, match="label totals"):
        ao.reconstruct(ao.Problem([ao.View(joint=J, channel=KEEP), ao.View([0, 0], [[44, 57]])]))


def test_a_conflict_with_exact_totals_can_be_repaired() -> None:
    problem = ao.Problem([ao.View(joint=J, channel=KEEP), ao.View([0, 0], [[44, 57]])])
    result = ao.reconstruct(problem, on_conflict="repair")
    assert result.status.name == "REPAIRED"
    assert result.changes
