"""Positions of the rows: given, or taken from an index; what cannot be a position is refused."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import InvalidInput
from aegis_opt.problem._conflict import reconcile

TABLE = [[3, 0], [1, 1], [0, 2]]
GROUPS = [0, 0, 1]


def problem(index: Any = None, **options: Any) -> ao.Problem:
    table = np.array(TABLE) if index is None else pd.DataFrame(TABLE, index=index)
    return ao.Problem.from_table(table, GROUPS, **options)


def test_an_array_has_no_positions() -> None:
    assert problem().positions is None


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ([10, 17, 43], [10, 17, 43]),
        ([43.5, 10.0, 17.0], [43.5, 10, 17]),
        (
            pd.DatetimeIndex([dt.datetime(1970, 1, 2), dt.datetime(1970, 1, 3), dt.datetime(1970, 1, 3, 12)]),
            [1, 2, 2.5],
        ),
    ],
)
def test_an_index_of_numbers_or_dates_gives_positions(index: Any, expected: list[float]) -> None:
    positions = problem(index).positions
    assert positions is not None
    assert positions.tolist() == expected


@pytest.mark.parametrize(
    "index",
    [
        ["a", "b", "c"],
        [1, 1, 2],
        [True, False, True],
        pd.Index([1, 2, 3], dtype=object),
        [1.0, 2.0, np.inf],
        pd.MultiIndex.from_tuples([(1, 1), (1, 2), (2, 1)]),
    ],
)
def test_other_names_of_rows_are_nominal(index: Any) -> None:
    assert problem(index).positions is None


def test_given_positions_win_over_the_index_and_may_have_gaps() -> None:
    positions = problem(
        ["x", "y", None], positions=[dt.date(1970, 1, 2), dt.date(1970, 1, 5), None]
    ).positions
    np.testing.assert_array_equal(positions, [1, 4, np.nan])


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([1, 3, 2], "positions must increase, but that of row 2"),
        ([1, np.nan, 1], "positions must increase, but that of row 2"),
        ([1, 2], "2 positions for 3 rows"),
        ([1, 2, np.inf], "position 2 is infinite"),
        (["a", "b", "c"], "numbers or dates"),
        ([True, False, True], "numbers or dates"),
        ([[1, 2, 3]], "numbers or dates"),
        (3, "numbers or dates"),
    ],
)
def test_what_cannot_be_positions_is_refused(positions: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        problem(positions=positions)


def test_repaired_totals_keep_the_positions() -> None:
    views = [ao.View([0, 0, 1], [[3, 1], [0, 2]]), ao.View([0, 1, 1], [[3, 0], [1, 4]])]
    given = ao.Problem(views, row_names=pd.Index([5, 1, 3]))
    np.testing.assert_array_equal(reconcile(given, "repair").problem.positions, given.positions)
