"""Tables that are accepted, and how the others are refused."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from aegis_opt import errors
from aegis_opt.measures import available_measures, g3_error, get_measure, mutual_information, tvd

FRAME = pd.DataFrame([[2, 0], [1, 1]], index=["Young", "Old"], columns=["no", "yes"])


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        FRAME.astype("Int64"),
        FRAME.astype(object),
        FRAME.to_numpy(dtype=np.uint8),
        FRAME.to_numpy(dtype=np.float32),
        np.asfortranarray(FRAME.to_numpy()),
        [[2, 0], [1, 1]],
        [[Decimal(2), Decimal(0)], [Decimal(1), Decimal(1)]],
        [[True, False], [True, True]],
    ],
    ids=["frame", "nullable", "objects", "uint8", "float32", "fortran", "list", "decimal", "bool"],
)
def test_any_numbers_work(table) -> None:
    value = g3_error(table)
    assert type(value) is float
    assert value == pytest.approx(1 / np.asarray(table, dtype=float).sum())


@pytest.mark.parametrize("name", available_measures())
@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[1, 2], [3, -1]], r"cell \[1, 1\] holds -1"),
        ([[1, np.nan], [3, -1]], r"cell \[0, 1\] holds nan"),
        ([[1, 2], [np.inf, 1]], r"cell \[1, 0\] holds inf"),
        ([[[1, 2]], [[3, -4]]], r"cell \[1, 0, 1\] holds -4"),
        ([[1, "2"]], r"numbers, but cell \[0, 1\] holds '2'"),
        ([[1, None]], r"cell \[0, 1\] holds None"),
        ([[1, 2j]], "must be numbers"),
        (np.array([[1, 2]], dtype="timedelta64[ns]"), "must be numbers"),
        ([1, 2, 3], r"rows .* and columns .* shape is \(3,\)"),
        (5, r"shape is \(\)"),
        ([[1, 2], [3]], "same length"),
        ([[0, 0], [0, 0]], "has no records"),
        (np.zeros((0, 2)), "has no records"),
        (np.zeros((2, 0)), "has no records"),
        ([[[1, 0]], [[0, 0]]], r"table \[1\] of the stack has no records"),
        ([[1e308, 1e308]], "more than a float can hold"),
    ],
)
def test_what_is_no_table_of_counts_is_refused(name: str, table, words: str) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        get_measure(name)(table)


@pytest.mark.parametrize("value", [-3, np.nan, "many", pd.NA])
def test_a_bad_cell_of_a_frame_is_named_by_its_labels(value: object) -> None:
    frame = FRAME.astype(object)
    frame.loc["Old", "no"] = value
    with pytest.raises(errors.InvalidInput, match="row 'Old', column 'no' holds"):
        mutual_information(frame)


def test_integer_labels_are_shown_as_plain_numbers() -> None:
    with pytest.raises(errors.InvalidInput, match="row 43, column 1 holds -1"):
        mutual_information(pd.DataFrame([[1, 2], [3, -1]], index=[10, 43]))


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([[[1, 2]], [[1, 2], [3, -4]]], r"table 1 of the sequence: .* cell \[1, 1\] holds -4"),
        ([FRAME, -FRAME], "table 1 of the sequence: .* row 'Young', column 'no' holds -2"),
        ([[[1, 2], [1, 1]], [[0, 0]]], "table 1 of the sequence: table has no records"),
        ([[[1, 2]], [[1, 2, 3]]], r"table 1 has shape \(1, 3\), table 0 has shape \(1, 2\)"),
        ([[[[1, 2]]]], r"table 0 has shape \(1, 1, 2\)"),
        ([[[1, 2]], [3, 4]], r"table 1 must have rows"),
    ],
)
def test_many_names_the_bad_table(tables: list, words: str) -> None:
    with pytest.raises(errors.InvalidInput, match=words):
        get_measure("mi").many(tables)


class TestTvd:
    def test_is_half_the_absolute_difference_of_shares(self) -> None:
        assert tvd([[1, 1], [1, 1]], [[4, 0], [0, 0]]) == 0.75
        assert tvd([[1, 2], [3, 4]], [[10, 20], [30, 40]]) == pytest.approx(0, abs=1e-15)
        assert tvd([[1, 0]], [[0, 7]]) == 1

    def test_is_symmetric_and_takes_stacks(self) -> None:
        rng = np.random.default_rng(0)
        F, G = rng.random((2, 4, 6, 3))
        np.testing.assert_array_equal(tvd(F, G), tvd(G, F))
        np.testing.assert_array_equal(tvd(F, G), [tvd(f, g) for f, g in zip(F, G, strict=True)])

    def test_two_frames_are_matched_by_label(self) -> None:
        assert tvd(FRAME, FRAME.loc[["Old", "Young"], ["yes", "no"]]) == 0

    def test_a_frame_and_an_array_are_matched_by_position(self) -> None:
        assert tvd(FRAME, FRAME.to_numpy()[::-1]) == 0.5

    def test_repeated_labels_are_fine_in_the_same_order_only(self) -> None:
        twice = FRAME.set_axis(["Old", "Old"], axis=0)
        assert tvd(twice, twice) == 0
        with pytest.raises(errors.InvalidInput, match="F has the row label 'Old' twice"):
            tvd(twice, FRAME)

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (FRAME.rename(index={"Old": "Aged"}), "F has the row 'Old', which G does not have"),
            (FRAME.assign(maybe=1), "G has the column 'maybe', which F does not have"),
            (np.ones((2, 3)), r"F has shape \(2, 2\) and G has shape \(2, 3\)"),
            (np.ones((1, 2, 2)), r"G has shape \(1, 2, 2\)"),
            ([[1, -1], [0, 0]], r"G: counts .* cell \[0, 1\]"),
        ],
    )
    def test_tables_that_do_not_match_are_refused(self, other, words: str) -> None:
        with pytest.raises(errors.InvalidInput, match=words):
            tvd(FRAME, other)
