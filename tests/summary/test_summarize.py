"""From records to summaries: merging rows of counts is masking the records and counting them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis_opt.errors import (
    ConfigurationError,
    InvalidOption,
    MaskError,
    SourceError,
    UnknownColumn,
    UnknownName,
)
from aegis_opt.masks import Bucketize, Configurations, Generalize, Identity, Suppress
from aegis_opt.summary import summarize
from aegis_opt.summary._count_arrays import merge_rows

PEOPLE = pd.DataFrame(
    {
        "age": pd.array([10, 17, 43, 55, None, 17], dtype="Int64"),
        "city": ["a", "b", "a", "c", "b", "b"],
        "unused": range(6),
        "health": ["good", "poor", "good", "good", "poor", "good"],
    }
)
CONFIGURATIONS = Configurations(
    {
        "one": {"age": Bucketize(width=20), "city": Suppress()},
        "two": {"age": Bucketize(width=20)},
        "three": {"city": Suppress()},
        "none": {},
    },
    label="health",
)


def test_every_masked_table_is_the_count_of_masked_records():
    summary = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=True)
    for name, configuration in CONFIGURATIONS.items():
        for attribute, mask in configuration.items():
            values = summary.attributes[attribute].values
            table = summary.masked_table(name, attribute)
            assert table.spec == mask.to_spec()
            records = [None if pd.isna(v) else v for v in PEOPLE[attribute]]
            masked = [table.groups[values.index(v)] for v in records]
            expected = pd.crosstab(np.array(masked), PEOPLE["health"].to_numpy())
            np.testing.assert_array_equal(table.joint, expected)


def test_a_summary_holds_masked_attributes_only_and_equal_masks_once():
    summary = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=True)
    assert list(summary.attributes) == ["age", "city"]
    assert [len(a.tables) for a in summary.attributes.values()] == [2, 2]
    assert summary.configurations["two"]["age"] == summary.configurations["one"]["age"]
    assert (summary.n_records, summary.label_values, summary.label_counts.tolist()) == (
        6,
        ("good", "poor"),
        [4, 2],
    )


def test_unmasked_lists_who_releases_what_as_it_is():
    summary = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=True)
    assert summary.unmasked() == [("two", "city"), ("three", "age"), ("none", "age"), ("none", "city")]
    assert summary.masked_table("none", "city").joint.tolist() == [[2, 0], [1, 2], [1, 0]]
    report = summary.report()
    assert report["attribute"].tolist() == ["age", "city"]
    assert report["unmasked_by"].tolist() == [2, 2]
    assert report["values"].tolist() == [5, 3]


def test_the_raw_table_is_not_there_when_every_configuration_masks():
    summary = summarize(PEOPLE, "health", {"a": {"age": Suppress()}, "b": {"age": Bucketize(width=20)}})
    assert summary.unmasked() == []
    assert all(
        table.n_groups < summary.attributes["age"].n_values for table in summary.attributes["age"].tables
    )


def test_without_histograms_neither_values_nor_their_counts_are_there():
    age = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=False).attributes["age"]
    assert (age.values, age.histogram, age.n_values) == (None, None, 5)
    age = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=True).attributes["age"]
    assert (age.values, age.histogram.tolist()) == ((10, 17, 43, 55, None), [1, 2, 1, 1, 1])


def test_a_missing_label_is_a_class_of_its_own():
    people = PEOPLE.assign(health=["good", None, "good", "poor", "poor", "good"])
    summary = summarize(people, configurations=CONFIGURATIONS, histograms=True)
    assert (summary.label_values, summary.label_counts.tolist()) == (("good", "poor", None), [3, 2, 1])


def test_a_problem_from_one_view_and_from_all():
    summary = summarize(
        PEOPLE,
        "health",
        {"a": {"age": Suppress()}, "b": {"age": Generalize(ranges=1)}, "c": {"age": Bucketize(width=20)}},
        histograms=True,
    )
    single = summary.problem("age", "c")
    assert [view.joint.tolist() for view in single.views] == [summary.masked_table("c", "age").joint.tolist()]
    pooled = summary.problem("age")
    partitions = [tuple(view.groups) for view in pooled.views]
    assert len(set(partitions)) == len(partitions) < len(summary.attributes["age"].tables) + 1
    assert pooled.histogram.tolist() == [1, 2, 1, 1, 1]
    assert list(pooled.label_names) == ["good", "poor"]
    without = summarize(PEOPLE, "health", {"c": {"age": Suppress()}}, histograms=False).problem("age")
    assert without.histogram is None


def test_equal_partitions_of_different_masks_are_one_view():
    people = PEOPLE.assign(age=[10, 17, 43, 55, 20, 17])
    summary = summarize(
        people, "health", {"a": {"age": Suppress()}, "b": {"age": Generalize(ranges=1)}}, histograms=True
    )
    assert len(summary.attributes["age"].tables) == 2
    assert len(summary.problem("age").views) == 1


def test_a_configuration_that_masks_nothing_is_allowed():
    summary = summarize(PEOPLE, "health", {"none": {}})
    assert (dict(summary.attributes), dict(summary.configurations["none"])) == ({}, {})


def test_configurations_from_a_file(tmp_path):
    path = tmp_path / "configurations.json"
    path.write_text(
        json.dumps({"label": "health", "configurations": {"c": {"city": {"function": "suppress"}}}})
    )
    assert summarize(PEOPLE, configurations=path) == summarize(PEOPLE, "health", {"c": {"city": Suppress()}})
    assert summarize(PEOPLE, configurations=str(path)).label == "health"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"configurations": {"c": {"age": Suppress()}}}, ConfigurationError, "no label"),
        ({"label": "health"}, ConfigurationError, "no configurations: pass"),
        ({"label": "health", "configurations": {}}, ConfigurationError, "no configurations: name"),
        (
            {"label": "health", "configurations": {"c": {"health": Suppress()}}},
            ConfigurationError,
            "'c' suppresses the label",
        ),
        (
            {"label": "helth", "configurations": {"c": {"age": Suppress()}}},
            UnknownColumn,
            "did you mean 'health'",
        ),
        (
            {"label": "health", "configurations": {"c": {"agee": Suppress()}}},
            UnknownColumn,
            r"mean 'age'.*Configuration 'c'",
        ),
        (
            {"label": "health", "configurations": {"c": {"city": Bucketize(width=5)}}},
            MaskError,
            "configuration 'c', attribute 'city'",
        ),
        (
            {"label": "health", "configurations": {"c": {"void": Suppress()}}},
            SourceError,
            r"'void' has only missing.*\(c\)",
        ),
        (
            {"label": "health", "configurations": {"c": {"age": Suppress()}}, "histograms": "no"},
            InvalidOption,
            "histograms must be True, False or a list of attributes, not 'no'",
        ),
    ],
    ids=[
        "no label",
        "none given",
        "empty",
        "masked label",
        "unknown label",
        "unknown column",
        "unfit",
        "all missing",
        "words for a truth value",
    ],
)
def test_bad_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        summarize(PEOPLE.assign(void=None), **arguments)


def test_unknown_names_in_a_summary_are_named():
    summary = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=True)
    with pytest.raises(UnknownName, match="unknown configuration 'won'"):
        summary.masked_table("won", "age")
    with pytest.raises(UnknownName, match=r"unknown attribute 'unused'.*masks"):
        summary.problem("unused")
    with pytest.raises(UnknownName, match="unknown attribute 'aeg'"):
        summary.masked_table("one", "aeg")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_merging_rows_adds_up_each_group(rows):
    groups = np.unique([g for g, _, _ in rows], return_inverse=True)[1]
    table = np.array([[a, b] for _, a, b in rows])
    expected = [table[groups == g].sum(axis=0).tolist() for g in range(groups.max() + 1)]
    assert merge_rows(table, groups).tolist() == expected


def test_identity_in_a_configuration_is_the_same_as_leaving_the_attribute_out():
    explicit = summarize(PEOPLE, "health", {"a": {"age": Suppress()}, "b": {"age": Identity()}})
    assert explicit == summarize(PEOPLE, "health", {"a": {"age": Suppress()}, "b": {}})


def test_histograms_are_shared_of_those_attributes_that_are_named():
    summary = summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=["age"])
    assert [name for name, a in summary.attributes.items() if a.histogram is not None] == ["age"]
    with pytest.raises(UnknownColumn, match="unknown attribute 'agee': did you mean 'age'"):
        summarize(PEOPLE, configurations=CONFIGURATIONS, histograms=["agee"])


def test_names_of_persons_are_not_listed_unless_that_is_asked_for():
    people = pd.DataFrame({"name": [f"person {i}" for i in range(200)], "age": range(200), "y": [0, 1] * 100})
    masks = {"c": {"name": Suppress(), "age": Bucketize(width=50)}}
    assert summarize(people, "y", masks).attributes["name"].values is None
    with pytest.raises(InvalidOption, match=r"'name' are nearly unique \(200 in 200 records\).*histograms="):
        summarize(people, "y", masks, histograms=True)
    listed = summarize(people, "y", masks, histograms=["name"])
    assert len(listed.attributes["name"].values) == 200
    half_open = masks | {"d": {"age": Suppress()}}
    with pytest.raises(InvalidOption, match="configuration 'd' does not mask it"):
        summarize(people, "y", half_open)
    named = masks | {"d": {"age": Suppress(), "name": Identity()}}
    assert summarize(people, "y", named).unmasked() == [("d", "name")]
