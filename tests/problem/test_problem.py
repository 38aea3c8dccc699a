"""Views and problems: shapes, names, bad input, residuals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.distances import distance

TRUTH = np.array([[3, 0], [0, 1], [0, 2]])


def test_what_would_be_known_about_a_table() -> None:
    problem = ao.Problem.from_table(TRUTH, [0, 0, 1])
    assert problem.shape == (3, 2)
    assert problem.total == 6
    assert problem.views[0].joint.tolist() == [[3, 1], [0, 2]]
    assert problem.histogram is not None
    assert problem.histogram.tolist() == [3, 1, 2]
    assert np.allclose(problem.prior, 1.0)
    assert problem.residual(TRUTH) == 0
    assert ao.Problem.from_table(TRUTH, [0, 0, 1], histogram=False).histogram is None


def test_residual_counts_every_kind_of_violation() -> None:
    problem = ao.Problem.from_table(TRUTH, [0, 0, 1])
    assert problem.residual(TRUTH + np.array([[0, 0], [0, 0], [0, 2]])) == 2  # a view and the histogram
    assert problem.residual([[4.5, -1.5], [-1.5, 2.5], [0, 2]]) == 1.5  # a negative cell
    assert problem.residual(np.full((3, 2), np.nan)) == np.inf
    zeros = ao.Problem.from_table(TRUTH, [0, 0, 0], prior=[[1, 0], [1, 1], [1, 1]])
    assert zeros.residual([[2, 1], [1, 0], [0, 2]]) == 1  # a structural zero
    limited = ao.Problem(zeros.views, constraints=[ao.problem.LinearConstraint(np.eye(3, 2), upper=2)])
    assert limited.residual(TRUTH) == 2  # 3 + 1 against 2


def test_problem_copies_its_input() -> None:
    joint, rows = np.array([[3.0, 1.0], [0.0, 2.0]]), np.array([3.0, 1.0, 2.0])
    problem = ao.Problem([ao.View([0, 0, 1], joint)], rows)
    joint[0, 0] = rows[0] = 99
    assert problem.total == 6
    with pytest.raises(ValueError, match="read-only"):
        problem.views[0].joint[0, 0] = 1


def test_groups_may_be_names_of_a_frames_rows() -> None:
    joint = pd.DataFrame([[3, 1], [0, 2]], index=["young", "old"], columns=["well", "ill"])
    named = ao.View(pd.Series(["young", "young", "old"], index=[10, 17, 80]), joint)
    assert named.groups.tolist() == [0, 0, 1]
    table = ao.reconstruct(ao.Problem([named])).table
    assert list(table.index) == [10, 17, 80]
    assert list(table.columns) == ["well", "ill"]


def test_series_and_frames_must_name_rows_alike() -> None:
    view = ao.View(pd.Series([0, 0, 1], index=list("abc")), [[3, 1], [0, 2]])
    with pytest.raises(ao.errors.InvalidInput, match="name the rows differently"):
        ao.Problem([view], histogram=pd.Series([3, 1, 2], index=list("abd")))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ao.View([0, 1], [[1, -2], [3, 4]]), r"-2.0 at position \(0, 1\).*not negative"),
        (lambda: ao.View([0, 1], [[1, np.nan], [3, 4]]), "finite"),
        (lambda: ao.View([0, 1], [[1, np.inf], [3, 4]]), "finite"),
        (lambda: ao.View([0, 2], [[1, 2], [3, 4]]), r"groups\[1\] is 2, but.*0 to 1"),
        (lambda: ao.View([0, -1], [[1, 2], [3, 4]]), r"groups\[1\] is -1"),
        (lambda: ao.View([0.5, 1.0], [[1, 2], [3, 4]]), "whole numbers"),
        (lambda: ao.View([], [[1, 2]]), "non-empty"),
        (lambda: ao.View([0], [["a", "b"]]), "numbers only"),
        (lambda: ao.View([0], [1, 2]), "2 dimension"),
        (lambda: ao.Problem([]), "at least one View"),
        (lambda: ao.Problem([ao.View([0, 0], [[1, 2]]), ao.View([0], [[1, 2]])]), "view 1 describes a 1 x 2"),
        (lambda: ao.Problem([ao.View([0, 0], [[1, 2]])], histogram=[3]), "histogram has 1 values"),
        (lambda: ao.Problem([ao.View([0, 0], [[1, 2]])], histogram=[4, -1]), "histogram has -1"),
        (lambda: ao.Problem([ao.View([0, 0], [[1, 2]])], prior=[[1, 2]]), "prior is 1 x 2"),
        (lambda: ao.Problem([ao.View([0], [[1, 2]])], prior=[[1, np.nan]]), "prior has nan"),
        (lambda: ao.Problem([ao.View([0], [[1, 2]])], prior=[[1, -1]]), "prior has -1"),
        (lambda: ao.Problem([ao.View([0], [[1, 2]])], prior=[[0, 0]]), "zero everywhere"),
        (lambda: ao.Problem([ao.View([0], [[1, 2]])], row_names=["a", "b"]), "2 names for 1 rows"),
        (lambda: ao.Problem.from_table(TRUTH, [0, 0]), "3 whole numbers"),
        (lambda: ao.problem.LinearConstraint([[1, np.inf]]), "finite"),
        (lambda: ao.problem.LinearConstraint([[1, 1]], lower=2, upper=1), "contain no number"),
        (
            lambda: ao.Problem(
                [ao.View([0], [[1, 2]])], constraints=[ao.problem.LinearConstraint([[1]], name="cap")]
            ),
            "'cap' is for a table of shape",
        ),
    ],
)
def test_bad_input_is_named(build: object, message: str) -> None:
    with pytest.raises(ao.errors.InvalidInput, match=message):
        build()  # type: ignore[operator]


def test_distances_are_those_of_their_definitions() -> None:
    X, U = np.array([[3.0, 0.0], [1.0, 4.0]]), np.full((2, 2), 2.0)
    assert distance(X, U, "l1") == 6
    assert distance(X, U, "l2") == pytest.approx(np.sqrt(10))
    assert distance(X, U, "linf") == 2
    expected = 3 * np.log(1.5) - 1 + 2 + (np.log(0.5) + 1) + (4 * np.log(2) - 2)
    assert distance(X, U, "kl") == pytest.approx(expected)
    with pytest.raises(ao.errors.InvalidOption, match="unknown norm 'l3'"):
        distance(X, U, "l3")
