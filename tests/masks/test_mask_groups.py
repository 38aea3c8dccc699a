"""Every mask gives a partition, treats the missing value as stated, and survives its spec."""

import datetime as dt
import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_zoo import EVERY_MASK, FITTING, VALUES, domain_and_mask

from aegis_opt.domain import KINDS, Domain
from aegis_opt.errors import InvalidInput, MaskError
from aegis_opt.masks import (
    Blur,
    Bucketize,
    EraseDigits,
    Generalize,
    Grouping,
    Identity,
    KeepTop,
    Prefix,
    Suppress,
    TopCode,
    Truncate,
    group_attribute,
    mask_from_spec,
)


@settings(max_examples=300, deadline=None)
@given(domain_and_mask())
def test_every_mask_gives_a_partition_numbered_by_first_appearance(case):
    domain, mask = case
    grouping = mask.group(domain)
    assert grouping.groups.dtype == np.int64
    assert grouping.groups.shape == (len(domain),)
    assert list(dict.fromkeys(grouping.groups.tolist())) == list(range(grouping.n_groups))
    assert len(set(grouping.labels)) == len(grouping.labels)
    assert json.loads(json.dumps(grouping.labels)) == list(grouping.labels)


@settings(max_examples=100, deadline=None)
@given(domain_and_mask())
def test_missing_has_its_own_group_except_under_suppress(case):
    domain, mask = case
    grouping = mask.group(Domain(domain.kind, domain.values, missing=True))
    if mask == Suppress():
        assert grouping.labels == ("*",)
    else:
        assert grouping.labels[-1] is None
        assert np.count_nonzero(grouping.groups == grouping.groups[-1]) == 1
        without = mask.group(Domain(domain.kind, domain.values, missing=False))
        assert np.array_equal(grouping.groups[:-1], without.groups)


@settings(max_examples=150, deadline=None)
@given(domain_and_mask())
def test_groups_of_ordered_values_are_runs(case):
    domain, mask = case
    if isinstance(mask, EraseDigits | Prefix | KeepTop):
        return  # these look at the text, which has another order than the values, or merge all others
    groups = mask.group(Domain(domain.kind, domain.values)).groups
    assert np.all(np.diff(groups) >= 0)


@pytest.mark.parametrize("mask", EVERY_MASK, ids=repr)
def test_a_spec_is_json_and_gives_the_mask_back(mask):
    again = mask_from_spec(json.loads(json.dumps(mask.to_spec())))
    assert again == mask
    assert hash(again) == hash(mask)
    assert len({again, mask}) == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES["integer"], min_size=1, max_size=30), st.integers(1, 4), st.integers(1, 5))
def test_a_multiple_of_a_width_is_coarser(values, width, factor):
    domain = Domain.of(values)
    fine, coarse = Bucketize(width).group(domain).groups, Bucketize(width * factor).group(domain).groups
    assert is_coarser(coarse, fine)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES["string"], min_size=1, max_size=30), st.integers(1, 4))
def test_a_shorter_prefix_is_coarser_where_no_value_is_that_short(values, length):
    domain = Domain.of([value for value in values if len(value) > length] or ["aaaaaa"])
    fine, coarse = Prefix(length + 1).group(domain).groups, Prefix(length).group(domain).groups
    assert is_coarser(coarse, fine)


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES["datetime"], min_size=1, max_size=30))
def test_year_quarter_month_and_day_are_nested(values):
    domain = Domain.of(values)
    groups = [Truncate(unit).group(domain).groups for unit in ("year", "quarter", "month", "day")]
    assert all(is_coarser(a, b) for a, b in itertools.pairwise(groups))
    assert is_coarser(Truncate("week").group(domain).groups, groups[-1])


def is_coarser(coarse, fine):
    """Whether each fine group lies within one coarse group."""
    return len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))


MISFITS = [(kind, mask) for kind in KINDS for mask in EVERY_MASK if kind not in mask.kinds]


@pytest.mark.parametrize(("kind", "mask"), MISFITS, ids=str)
def test_a_mask_that_does_not_fit_says_what_does(kind, mask):
    with pytest.raises(MaskError, match=f"does not fit values of kind {kind}: it fits .*; use "):
        mask.group(SAMPLE[kind])


SAMPLE = {
    "integer": Domain.of([1, 2]),
    "real": Domain.of([0.5]),
    "boolean": Domain.of([True, False]),
    "date": Domain.of([dt.date(2020, 1, 1)]),
    "datetime": Domain.of([dt.datetime(2020, 1, 1, 12)]),
    "string": Domain.of(["a"]),
}


@pytest.mark.parametrize(
    ("kind", "mask"),
    [
        ("boolean", Generalize(ranges=2)),
        ("string", Generalize(ranges=2)),
        ("date", Bucketize(edges=[1, 2])),
        ("integer", Bucketize(edges=["2020-01-01"])),
        ("integer", Bucketize(width=dt.timedelta(days=1))),
        ("real", Bucketize(width=1, origin=dt.date(2020, 1, 1))),
        ("date", TopCode(90)),
        ("integer", TopCode("2020-01-01")),
    ],
    ids=str,
)
def test_parameters_of_another_kind_than_the_values_are_refused(kind, mask):
    with pytest.raises(MaskError, match=r"does not fit values of kind|made for dates"):
        mask.group(SAMPLE[kind])


def test_the_attribute_is_named_when_it_is_known():
    with pytest.raises(MaskError, match=r"attribute 'sex': Blur\(width=10\) does not fit"):
        group_attribute(Blur(10), "sex", Domain.of(["F", "M"]))
    assert group_attribute(Identity(), "sex", Domain.of(["F"])) == Grouping([0], ("F",))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Bucketize(),
        lambda: Bucketize(width=10, edges=[1]),
        lambda: Bucketize(width=0),
        lambda: Bucketize(width=-1),
        lambda: Bucketize(width=float("nan")),
        lambda: Bucketize(width=float("inf")),
        lambda: Bucketize(width=True),
        lambda: Bucketize(width="10"),
        lambda: Bucketize(width=2**62),
        lambda: Bucketize(width=10**400),
        lambda: Bucketize(width=dt.timedelta(0)),
        lambda: Bucketize(width=10, origin=float("nan")),
        lambda: Bucketize(edges=[1, 2], origin=3),
        lambda: Bucketize(edges=[]),
        lambda: Bucketize(edges=3),
        lambda: Bucketize(edges="123"),
        lambda: Bucketize(edges=[2, 1]),
        lambda: Bucketize(edges=[1, 1]),
        lambda: Bucketize(edges=[1, float("nan")]),
        lambda: Bucketize(edges=[1, "2020-01-01"]),
        lambda: Bucketize(edges=["2020-13-01"]),
        lambda: Bucketize(edges=[dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
        lambda: Blur(0),
        lambda: Blur(None),
        lambda: EraseDigits(-1),
        lambda: EraseDigits(1.0),
        lambda: EraseDigits(True),
        lambda: Prefix(0),
        lambda: Prefix("3"),
        lambda: TopCode(),
        lambda: TopCode(float("nan")),
        lambda: TopCode(pd.NaT),
        lambda: TopCode(10, bottom=10),
        lambda: TopCode(10, bottom="2020-01-01"),
        lambda: Truncate("decade"),
        lambda: Generalize(),
        lambda: Generalize(ranges=0),
        lambda: Generalize(ranges=2.0),
        lambda: Generalize(ranges=2, level=1),
        lambda: Generalize({"a": [1]}, ranges=2),
    ],
)
def test_bad_parameters_are_refused_at_construction(make):
    with pytest.raises(MaskError):
        make()


def test_numpy_scalars_are_parameters_like_any_number():
    assert Bucketize(width=np.int64(10)) == Bucketize(width=10.0) == Bucketize(10)
    assert EraseDigits(np.int32(2)) == EraseDigits(2)
    assert TopCode(np.datetime64("2020-01-01T00:00:00")) == TopCode("2020-01-01T00:00:00")


@pytest.mark.parametrize(
    "mask", [Blur(0.1), Bucketize(width=0.1), EraseDigits(1), Generalize(ranges=2)], ids=repr
)
def test_infinite_and_huge_values_are_refused_by_masks_that_compute_with_them(mask):
    with pytest.raises(MaskError, match="inf"):
        mask.group(Domain.of([0.5, float("inf")]))


def test_an_empty_domain_has_no_groups():
    for kind, masks in FITTING.items():
        for mask in masks:
            assert mask.group(Domain(kind, np.array([]))).n_groups == 0


def test_integers_beyond_64_bits_are_no_domain():
    with pytest.raises(InvalidInput, match="64 bits"):
        Domain.of([1, 2**70])


def test_moments_with_a_zone_are_taken_in_utc():
    zone = dt.timezone(dt.timedelta(hours=2))
    noon = dt.datetime(2020, 1, 1, 12)
    for moment in (noon.replace(tzinfo=zone), pd.Timestamp(noon, tz=zone)):
        assert Domain.of([moment, None]).to_list() == [dt.datetime(2020, 1, 1, 10), None]


def test_zeros_of_both_signs_are_one_value():
    assert np.signbit(Domain.of([-0.0, 0.0]).values).tolist() == [False]
