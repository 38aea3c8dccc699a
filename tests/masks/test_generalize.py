"""Generalize by mapping and by hierarchy."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from aegis_opt.domain import Domain
from aegis_opt.errors import MaskError
from aegis_opt.masks import Generalize, Hierarchy, mask_from_spec

AGE = '17,"[15, 20[","[10, 20[",*\n18,"[15, 20[","[10, 20[",*\n21,"[20, 25[","[20, 30[",*\n'


def masked(mask, values):
    grouping = mask.group(Domain.of(values))
    return [grouping.labels[g] for g in grouping.groups]


def test_the_worked_example_of_ages():
    mask = Generalize({"Young": [10, 17, 43], "Old": [55, 60, 65, 75, 80]})
    assert masked(mask, [80, 10, 43, 55]) == ["Young", "Young", "Old", "Old"]


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([1, 2], ["1", "2.0"]),
        ([0.5, 2.0], [0.5, 2]),
        ([True, False], [True, False]),
        ([True, False], ["true", "FALSE"]),
        ([dt.date(2020, 1, 1)], [dt.date(2020, 1, 1)]),
        ([dt.date(2020, 1, 1)], ["2020-01-01"]),
        ([dt.date(2020, 1, 1)], [dt.datetime(2020, 1, 1)]),
        ([dt.datetime(2020, 1, 1, 5)], [np.datetime64("2020-01-01T05:00")]),
        ([dt.datetime(2020, 1, 1)], [dt.date(2020, 1, 1)]),
        (["10", "x"], [10, "x"]),
        ([float("inf"), 0.5], [float("inf"), 0.5]),
    ],
    ids=str,
)
def test_listed_values_match_by_what_they_mean(values, listed):
    mask = Generalize({"all": listed})
    assert set(masked(mask, values)) == {"all"}
    assert mask_from_spec(mask.to_spec()) == mask


def test_what_can_be_no_value_of_the_column_is_left_alone():
    mask = Generalize({"a": [1, "?"], "b": ["2020-01-01T12:00", 2]})
    assert masked(mask, [1, 2]) == ["a", "b"]
    with pytest.raises(MaskError, match=r"does not say what becomes of datetime\.date"):
        mask.group(Domain.of([dt.date(2020, 1, 1)]))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_a_mapping_may_list_the_missing_value(missing):
    assert masked(Generalize({"low": [1, missing], "high": [2]}), [1, 2, None]) == ["low", "high", "low"]
    assert masked(Generalize({"low": [1], "unknown": [missing]}), [1, None]) == ["low", "unknown"]
    assert masked(Generalize({"low": [1]}), [1, None]) == ["low", None]


def test_masked_values_may_be_numbers():
    mask = Generalize({0: [1, 2], 1: [3]})
    assert masked(mask, [1, 2, 3]) == [0, 0, 1]
    assert mask_from_spec(mask.to_spec()) == mask


def test_the_order_of_writing_plays_no_part():
    one, other = Generalize({"a": [1, 2], "b": [3]}), Generalize({"b": [3], "a": (2, 1.0)})
    assert one == other
    assert hash(one) == hash(other)


def test_values_outside_a_mapping_are_named_up_to_five():
    with pytest.raises(MaskError, match=r"becomes of 1, 2, 3, 4, 5 and 3 more: list them in the mapping"):
        Generalize({"zero": [0]}).group(Domain.of(range(9)))


@pytest.mark.parametrize(
    ("mapping", "text"),
    [
        ({}, "empty"),
        ({"a": [1], "b": [1]}, "the value 1 is listed twice, under 'a' and 'b'"),
        ({"a": [1, 1.0]}, "listed twice"),
        ({"a": "xyz"}, "must have a list of values"),
        ({"a": 3}, "must have a list of values"),
        ({None: [1]}, "a masked value must be"),
        ({"a": [[1]]}, "a mapping lists"),
        ([["a", [1]], ["a", [2]]], "'a' occurs twice"),
        ([["a", [1], 3]], "goes from masked values to lists"),
        ("ab", "goes from masked values to lists"),
    ],
    ids=str,
)
def test_bad_mappings_are_refused(mapping, text):
    with pytest.raises(MaskError, match=text):
        Generalize(mapping)


def test_one_number_written_in_two_ways_under_two_masked_values_is_refused():
    mask = Generalize({"a": ["1"], "b": [1]})
    assert masked(Generalize({"a": ["1", 1]}), [1]) == ["a"]
    with pytest.raises(MaskError, match=r"1 \(as integer\) stand more than once"):
        mask.group(Domain.of([1]))


@pytest.mark.parametrize(
    "text", [AGE, AGE.replace(",", ";").replace("; ", ", ").replace('"', ""), "\ufeff" + AGE]
)
def test_levels_of_a_hierarchy_file(tmp_path, text):
    path = tmp_path / "age.csv"
    path.write_text(text, encoding="utf-8")
    ages = [17, 18, 21, None]
    assert masked(Generalize(hierarchy=path, level=0), ages) == ["17", "18", "21", None]
    assert masked(Generalize(hierarchy=str(path), level=1), ages) == [
        "[15, 20[",
        "[15, 20[",
        "[20, 25[",
        None,
    ]
    assert masked(Generalize(hierarchy=path, level=3), ages) == ["*", "*", "*", None]
    assert masked(Generalize(hierarchy=path, level=2), ["17", "21"]) == ["[10, 20[", "[20, 30["]
    assert masked(Generalize(hierarchy=path, level=2), [17.0, 21.0]) == ["[10, 20[", "[20, 30["]


def test_a_hierarchy_in_memory_equals_the_same_one_from_a_file(tmp_path):
    path = tmp_path / "age.csv"
    path.write_text("1,low\n2,low\n")
    rows = [[1, "low"], [2.0, "low"]]
    mask = Generalize(hierarchy=rows, level=1)
    assert mask == Generalize(hierarchy=path, level=1) == Generalize(hierarchy=Hierarchy(rows), level=1)
    assert mask_from_spec(mask.to_spec()) == mask
    assert mask_from_spec({"function": "generalize", "hierarchy": "age.csv", "level": 1}, tmp_path) == mask


def test_dates_and_booleans_have_hierarchies_too():
    dates = Hierarchy([[dt.date(2020, 1, 1), "2020"], ["2021-01-01", "2021"]])
    assert masked(Generalize(hierarchy=dates, level=1), [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]) == [
        "2020",
        "2021",
    ]
    flags = Hierarchy([["false", "*"], ["true", "*"]])
    assert masked(Generalize(hierarchy=flags, level=1), [True, False]) == ["*", "*"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("1,a\n\n2,a\n", "row 2 is empty"),
        ("1,a\n,\n2,a\n", "row 2 is empty"),
        ("1,a\n2\n", "row 2 has 1 cells, row 1 has 2"),
        ("1;a\n2;b;c\n", "row 2 has 3 cells"),
        ("1,a\n2,a\n1,a\n", "rows 1 and 3 are both for the same value"),
        ('1,"a\n', "no CSV file"),
    ],
    ids=repr,
)
def test_malformed_hierarchy_files_are_refused_with_their_name(tmp_path, text, message):
    path = tmp_path / "age.csv"
    path.write_text(text)
    with pytest.raises(MaskError, match=rf"age.csv'.*{message}"):
        Generalize(hierarchy=path, level=0)


def test_a_hierarchy_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(MaskError, match=r"nope\.csv' cannot be read"):
        Generalize(hierarchy=tmp_path / "nope.csv", level=1)
    (tmp_path / "latin.csv").write_bytes(b"\xe9,a\n")
    with pytest.raises(MaskError, match="UTF-8"):
        Generalize(hierarchy=tmp_path / "latin.csv", level=1)
    with pytest.raises(MaskError, match="must be a list of rows"):
        Hierarchy("abc")
    with pytest.raises(MaskError, match="row 1 must be a list of cells"):
        Hierarchy(["abc"])


@pytest.mark.parametrize("level", [None, -1, 2, 1.0, True])
def test_a_level_that_the_hierarchy_does_not_have_is_refused(level):
    with pytest.raises(MaskError, match="level"):
        Generalize(hierarchy=[["1", "*"]], level=level)


def test_values_outside_a_hierarchy_are_named():
    with pytest.raises(MaskError, match="becomes of 'x', 'y': add rows for them to the hierarchy"):
        Generalize(hierarchy=[["a", "*"]], level=1).group(Domain.of(["a", "x", "y"]))
