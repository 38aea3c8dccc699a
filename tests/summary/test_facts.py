"""What a stranger learns from a summary: the list names everything that is in the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.summary import _facts

FORMS = [
    {},
    {"histograms": True},
    {"share": "scores"},
    {
        "share": "scores",
        "unmasked": True,
        "digits": 4,
        "explain": True,
        "scores": ["r2_gcv", "r2_cv", "race"],
    },
    {"share": "both", "histograms": ["age"], "explain": True},
]
KEYS = {  # entry of a file -> words of the fact that tells of it
    "name": "name",
    "kind": "kind",
    "values": "values|of each configuration",
    "counts": "records of each value",
    "n_values": "number of values",
    "histogram": "records of each value",
    "tables": "mask 0",
    "mask": "mask 0",
    "masks": "mask 0",
    "groups": "masked values by mask 0",
    "labels": "masked values by mask 0",
    "joint": "records per masked value and label by mask 0",
    "coarsening": "values in the source",
    "measures": "by each mask",
    "unmasked": "without a mask",
    "chance": "that is chance",
    "title": "what it is",
    "monotone": "what it is",
    "folds": "in each fold",
    "stages": "round that was reached",
    "changes": "with one mask exchanged or removed",
}


def shared(options) -> ao.Summary | ao.summary.ScoreSummary:
    clinic = ao.datasets.clinic(300, seed=1)
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, **options)


def keys_in(document) -> set[str]:
    """The entries of a file that say something about the label, an attribute or a score."""
    found = {key for key, value in document["label"].items() if value}
    for part in (document, document.get("numbers", {})):
        for kind in ("attributes", "scores"):
            for entry in part.get(kind, {}).values():
                found |= {key for key, value in entry.items() if value not in (None, {})}
                for table in entry.get("tables", ()):
                    found |= set(table)
    return found


@pytest.mark.parametrize("options", FORMS)
def test_every_entry_of_the_file_is_told_of(options, tmp_path: Path) -> None:
    summary = shared(options)
    summary.save(tmp_path / "s.json")
    facts = summary.facts()
    told = "\n".join(facts["fact"])
    for key in keys_in(json.loads((tmp_path / "s.json").read_text())):
        assert re.search(KEYS[key], told), key
    about = set(facts["about"])
    assert {f"attribute {name}" for name in summary.attributes} <= about
    assert {f"score {name}" for name in summary.scores} <= about


@pytest.mark.parametrize("options", FORMS)
def test_masks_are_told_with_all_that_they_name(options) -> None:
    summary = shared(options)
    facts = summary.facts()
    told = [json.loads(text) for text in facts.loc[facts["fact"].str.fullmatch(r"mask \d+"), "content"]]
    for configuration in summary.configurations:
        for attribute in summary.attributes:
            assert json.loads(json.dumps(dict(summary.spec(configuration, attribute)))) in told


def test_tables_tell_records_label_and_small_counts_and_scores_do_not() -> None:
    tables, scores = (shared(options).facts() for options in ({}, {"share": "scores"}))
    content = dict(zip(tables["about"] + ": " + tables["fact"], tables["content"], strict=True))
    assert content["all records: number"] == "300"
    assert content["label: name"] == "health"
    joint = shared({}).attributes["age"].tables[0].joint
    small = int(((joint > 0) & (joint < 5)).sum())
    assert content["attribute age: records per masked value and label by mask 0"] == (
        f"{joint.size:,} counts, {small} of them from 1 to 4"
    )
    absent = " ".join(scores.loc[scores["about"] == "not in the file", "content"])
    assert "nor the number of records" in absent
    assert "values of the label" in absent
    assert "300" not in " ".join(scores["content"])
    assert not scores["fact"].str.contains("records of each value").any()


def test_an_unmasked_table_is_told_as_such_and_hidden_values_are_not_listed() -> None:
    facts = shared({}).facts()
    assert facts.loc[facts["about"] == "attribute zip", "content"].str.contains("the unmasked table").any()
    absent = facts.loc[facts["about"] == "not in the file", "content"]
    assert absent.str.contains("the values of age, weight, zip").any()
    every = shared({"histograms": True}).facts()
    assert not every.loc[every["about"] == "not in the file", "content"].str.contains("the values of").any()


@pytest.mark.parametrize("digits", [3, 6, None])
def test_digits_are_those_of_the_numbers(digits: int | None) -> None:
    facts = shared({"share": "scores", "digits": digits}).facts()
    (told,) = facts.loc[facts["fact"] == "significant digits", "content"]
    assert told.startswith(f"up to {digits}" if digits else "up to 1")
    assert ("can give counts away" in told) == (digits is None)


def test_long_lists_and_names_are_shortened() -> None:
    frame = pd.DataFrame({"a" * 500: np.arange(3000), "y": np.arange(3000) % 2})
    facts = ao.summarize(frame, "y", {"c": {"a" * 500: ao.Suppress()}}, histograms=True).facts()
    (values,) = facts.loc[facts["fact"] == "values", "content"].tail(1)
    assert values == "0, 1, 2, 3, 4, 5, 6, ... 2999 (3,000 in all)"
    assert facts["content"].str.len().max() < 2000
    assert _facts._digits(0.0125) == 3
