"""Summaries and configurations can be copied, compared and sent to other processes, but not changed."""

import copy
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pandas as pd
import pytest

from aegis_opt.masks import Bucketize, Configurations, Generalize, Suppress
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary, summarize

MASKS = Configurations(
    {
        "coarse": {"age": Bucketize(width=10)},
        "named": {"age": Generalize({"all": [1, 20]}), "zip": Suppress()},
    },
    label="y",
)
PEOPLE = pd.DataFrame({"age": [1, 20, 20], "zip": ["a", "b", "b"], "y": [0, 1, 0]})
SUMMARY = summarize(PEOPLE, configurations=MASKS, histograms=True)
PARTS = [SUMMARY, SUMMARY.attributes["age"], SUMMARY.attributes["age"].tables[0]]


def _rebuilt(part, **changes):
    return type(part)(**({f.name: getattr(part, f.name) for f in fields(part)} | changes))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("original", [MASKS, MASKS["named"], *PARTS], ids=lambda x: type(x).__name__)
def test_copies_are_equal(original, copied):
    assert copied(original) == original


@pytest.mark.parametrize("part", PARTS, ids=lambda x: type(x).__name__)
def test_nothing_in_a_summary_can_be_changed(part):
    for field in fields(part):
        value = getattr(part, field.name)
        with pytest.raises(FrozenInstanceError):
            setattr(part, field.name, value)
        assert not isinstance(value, list | dict)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 7
    with pytest.raises(TypeError):
        SUMMARY.attributes["age"].tables[0].spec["function"] = "identity"
    with pytest.raises(TypeError):
        SUMMARY.configurations["coarse"]["age"] = 1


def test_arguments_are_copied():
    groups, joint = np.array([0, 1]), np.array([[1, 0], [0, 2]])
    table = MaskedTable({"function": "identity"}, groups, ["x", "y"], joint)
    groups[:], joint[:] = 0, 9
    assert table == MaskedTable({"function": "identity"}, [0, 1], ("x", "y"), [[1, 0], [0, 2]])


@pytest.mark.parametrize("part", PARTS, ids=lambda x: type(x).__name__)
def test_parts_are_compared_by_content(part):
    assert _rebuilt(part) == part
    assert part != "something else"
    with pytest.raises(TypeError, match="unhashable"):
        hash(part)


@pytest.mark.parametrize(
    "other",
    [
        _rebuilt(SUMMARY, label="z"),
        _rebuilt(SUMMARY, label_values=(0, 2)),
        _rebuilt(SUMMARY, configurations={"named": {"age": 1, "zip": 1}, "coarse": {"age": 0, "zip": 0}}),
        _rebuilt(SUMMARY, configurations={"coarse": {"age": 0, "zip": 0}, "named": {"age": 0, "zip": 1}}),
        _rebuilt(SUMMARY, attributes=dict(reversed(SUMMARY.attributes.items()))),
        summarize(PEOPLE, configurations=MASKS, histograms=False),
    ],
    ids=["label", "values", "order of names", "choice of tables", "order of attributes", "histograms"],
)
def test_summaries_that_differ_are_not_equal(other: Summary):
    assert other != SUMMARY


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        (SUMMARY.attributes["age"], {"histogram": None, "values": None}),
        (SUMMARY.attributes["age"], {"tables": SUMMARY.attributes["age"].tables[:1]}),
        (SUMMARY.attributes["age"].tables[0], {"joint": [[1, 1], [1, 0]]}),
        (SUMMARY.attributes["age"].tables[0], {"spec": {}}),
    ],
    ids=["histogram", "tables", "joint", "mask"],
)
def test_parts_that_differ_are_not_equal(part: AttributeSummary | MaskedTable, changes):
    assert _rebuilt(part, **changes) != part
