"""Each mask against its rule, restated by brute force or by examples."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_zoo import VALUES

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks import (
    Blur,
    Bucketize,
    EraseDigits,
    Generalize,
    Identity,
    Prefix,
    TopCode,
    Truncate,
)


def masked(mask, values):
    """The masked value of each value of the domain, in its order."""
    grouping = mask.group(Domain.of(values))
    return [grouping.labels[g] for g in grouping.groups]


def integer_range(value, lo, hi, m):
    """The rule of Generalize(ranges=m), range after range."""
    q, r = divmod(hi - lo, m)
    start = lo
    for i in range(m):
        end = start + q + (1 if i < r else 0)
        if start <= value <= end:
            return f"[{start}, {end}]"
        start = end + 1
    return f"[{start}, {end}]"


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES["integer"] | st.integers(-9, 9), min_size=1, max_size=20), st.integers(1, 12))
def test_integer_ranges_follow_the_rule(values, m):
    distinct = sorted(set(values))
    expected = [integer_range(v, distinct[0], distinct[-1], m) for v in distinct]
    assert masked(Generalize(ranges=m), values) == expected


def test_whole_numbers_stored_as_reals_are_ranged_as_integers():
    values = [10, 11, 15, 16, 20]
    assert masked(Generalize(ranges=2), [*map(float, values)]) == masked(Generalize(ranges=2), values)


def test_two_ranges_of_a_flag_are_one_group_by_the_rule():
    assert masked(Generalize(ranges=2), [0, 1]) == ["[0, 1]", "[0, 1]"]


def test_reals_and_dates_are_cut_into_equal_widths():
    assert masked(Generalize(ranges=2), [0.0, 0.5, 0.75, 1.5]) == [
        "[0, 0.75)", "[0, 0.75)", "[0.75, 1.5]", "[0.75, 1.5]",
    ]  # fmt: skip
    days = [dt.date(2020, 1, d) for d in (1, 2, 6, 11)]
    first, second = "[2020-01-01, 2020-01-06)", "[2020-01-06, 2020-01-11]"
    assert masked(Generalize(ranges=2), days) == [first, first, second, second]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20, unique=True), st.integers(1, 9))
def test_equal_ranges_of_reals_lie_between_evenly_spaced_edges(values, m):
    edges = np.linspace(min(values), max(values), m + 1)
    groups = Generalize(ranges=m).group(Domain("real", np.sort(values))).groups
    places = [sum(value >= edge for edge in edges[1:-1]) for value in sorted(values)]
    if not all(value.is_integer() for value in values):
        assert len(set(zip(groups.tolist(), places, strict=True))) == len(set(places)) == max(groups) + 1


def erased(value, d):
    """The rule of EraseDigits(d), on text."""
    text = str(abs(int(value)))
    return "0" * len(text) if len(text) <= d else text[: len(text) - d] + "0" * d


@settings(max_examples=200, deadline=None)
@given(st.lists(VALUES["integer"], min_size=1, max_size=20), st.integers(0, 22))
def test_erased_digits_of_integers_follow_the_rule(values, d):
    assert masked(EraseDigits(d), values) == [erased(v, d) for v in sorted(set(values))]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e18, 1e18), min_size=1, max_size=20), st.integers(0, 19))
def test_erased_digits_of_reals_are_those_of_the_integer_part(values, d):
    assert masked(EraseDigits(d), values) == [erased(v, d) for v in sorted(set(values))]


def test_erasing_digits_erases_the_sign_and_keeps_the_length():
    assert masked(EraseDigits(1), [-1, 7, 42]) == ["0", "0", "40"]
    assert masked(EraseDigits(2), [7, 42]) == ["0", "00"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(VALUES["integer"], min_size=1, max_size=20), st.integers(1, 1000), st.integers(-(10**6), 10**6)
)
def test_buckets_of_integers_are_floors(values, width, origin):
    expected = []
    for v in sorted(set(values)):
        k = (v - origin) // width
        expected.append(f"[{origin + k * width}, {origin + (k + 1) * width})")
    assert masked(Bucketize(width, origin), values) == expected


def test_a_real_on_an_edge_up_to_rounding_is_on_it():
    values = [i / 10 for i in range(10)]
    assert masked(Bucketize(width=0.1), values)[3] == "[0.3, 0.4)"
    assert len(set(masked(Bucketize(width=0.1), values))) == 10
    assert masked(Bucketize(width=0.5), [-0.25, 0.0, 0.499, 0.5]) == [
        "[-0.5, 0)", "[0, 0.5)", "[0, 0.5)", "[0.5, 1)",
    ]  # fmt: skip


def test_edges_are_half_open_and_the_outer_buckets_open_ended():
    assert masked(Bucketize(edges=[0, 10, 20.5]), [-1, 0, 9, 10, 20, 21]) == [
        "<0", "[0, 10)", "[0, 10)", "[10, 20.5)", "[10, 20.5)", ">=20.5",
    ]  # fmt: skip


def test_dates_are_bucketed_by_days():
    days = [dt.date(1970, 1, d) for d in (1, 7, 8)]
    week, next_week = "[1970-01-01, 1970-01-08)", "[1970-01-08, 1970-01-15)"
    assert masked(Bucketize(width=7), days) == [week, week, next_week]
    assert masked(Bucketize(width=dt.timedelta(days=7)), days) == [week, week, next_week]
    assert masked(Bucketize(width=7, origin="1969-12-31"), days)[1] == "[1970-01-07, 1970-01-14)"
    hours = [dt.datetime(2020, 1, 1, h) for h in (1, 12, 13)]
    assert masked(Bucketize(width=0.5), hours) == [
        "[2020-01-01, 2020-01-01T12:00:00)",
        "[2020-01-01T12:00:00, 2020-01-02)",
        "[2020-01-01T12:00:00, 2020-01-02)",
    ]
    assert masked(Bucketize(edges=["1970-01-07"]), days) == ["<1970-01-07", ">=1970-01-07", ">=1970-01-07"]


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUES["integer"], min_size=1, max_size=20), st.integers(1, 1000))
def test_blur_rounds_halves_up(values, width):
    expected = [(2 * v + width) // (2 * width) * width for v in sorted(set(values))]
    assert masked(Blur(width), values) == expected


def test_blur_of_reals():
    assert masked(Blur(0.1), [0.04, 0.05, 0.31]) == [0.0, 0.1, 0.3]
    assert masked(Blur(5), [-2.5, 2.4, 2.5]) == [0, 0, 5]


def test_prefix_keeps_short_texts_and_signs():
    assert masked(Prefix(3), ["", "21", "211", "2114", "2115"]) == ["", "21", "211", "211*", "211*"]
    assert masked(Prefix(2), [-123, -12, 5, 12, 129]) == ["-12*", "-12", "5", "12", "12*"]


def test_top_code_keeps_the_middle():
    assert masked(TopCode(90), [89, 90, 91]) == [89, ">=90", ">=90"]
    assert masked(TopCode(2.5, bottom=1), [0.5, 1.0, 1.5, 2.5]) == ["<=1", "<=1", 1.5, ">=2.5"]
    assert masked(TopCode(bottom="2020-01-02"), [dt.date(2020, 1, d) for d in (1, 2, 3)]) == [
        "<=2020-01-02", "<=2020-01-02", "2020-01-03",
    ]  # fmt: skip
    assert masked(TopCode("2020-01-02"), [dt.datetime(2020, 1, 1, 23), dt.datetime(2020, 1, 2)]) == [
        "2020-01-01T23:00:00", ">=2020-01-02",
    ]  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUES["date"], min_size=1, max_size=20))
def test_truncated_dates_are_named_as_the_calendar_does(values):
    days = sorted(set(values))
    assert masked(Truncate("year"), values) == [f"{d.year}" for d in days]
    assert masked(Truncate("quarter"), values) == [f"{d.year}-Q{(d.month + 2) // 3}" for d in days]
    assert masked(Truncate("month"), values) == [f"{d:%Y-%m}" for d in days]
    assert masked(Truncate("week"), values) == [f"{d:%G}-W{d:%V}" for d in days]
    assert masked(Truncate("day"), values) == [d.isoformat() for d in days]


def test_identity_labels_are_json_scalars():
    assert masked(Identity(), [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 2, 3)]) == [
        "2020-01-01", "2020-01-01T02:03:00",
    ]  # fmt: skip
    assert masked(Identity(), [True, None]) == [True, None]


@pytest.mark.parametrize("width", [1, 1e-12])
def test_steps_too_small_to_tell_apart_are_refused(width):
    with pytest.raises(MaskError, match=r"at the value 1000000000000000\.0: take a larger width"):
        Bucketize(width=width).group(Domain.of([0.5, 1e15]))
