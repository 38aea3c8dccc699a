"""Summary files: saved and loaded equal, checked on loading."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aegis_opt.errors import SummaryError
from aegis_opt.masks import Bucketize, Suppress
from aegis_opt.summary import Summary, summarize

PEOPLE = pd.DataFrame(
    {
        "age": [10, 17, 43, 55, 20, 17],
        "born": [dt.date(2010, 1, 1), None, dt.date(1977, 5, 6), None, dt.date(2000, 2, 29), None],
        "seen": pd.to_datetime(
            ["2020-01-01 10:00:00.000000", None, "2020-01-01 10:00:00.000001", None, None, None]
        ),
        "size": [1.5, float("nan"), float("inf"), -0.0, 2.0, 2.0],
        "flag": [True, False, True, True, False, True],
        "name": ["ü", "x", None, "日本", "x", ""],
        "health": ["good", None, "good", "poor", "poor", "good"],
    }
)
NAMES = [name for name in PEOPLE.columns if name != "health"]


def small_summary(**options):
    configurations = {
        "open": {},
        "coarse": {"age": Bucketize(width=20)},
        "closed": {n: Suppress() for n in NAMES},
    }
    return summarize(PEOPLE, "health", configurations, **{"histograms": True} | options)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@pytest.mark.parametrize("histograms", [True, False])
def test_a_summary_loads_back_equal(tmp_path, ending, histograms):
    summary = small_summary(histograms=histograms)
    summary.save(tmp_path / f"s{ending}")
    loaded = Summary.load(tmp_path / f"s{ending}")
    assert loaded == summary
    assert loaded != small_summary(histograms=not histograms)
    assert [p.name for p in tmp_path.iterdir()] == [f"s{ending}"]


def test_values_keep_their_types(tmp_path):
    small_summary().save(tmp_path / "s.json")
    attributes = Summary.load(tmp_path / "s.json").attributes
    assert attributes["born"].values == (dt.date(1977, 5, 6), dt.date(2000, 2, 29), dt.date(2010, 1, 1), None)
    assert attributes["seen"].values[0] == dt.datetime(2020, 1, 1, 10)
    assert attributes["size"].values == (0.0, 1.5, 2.0, float("inf"), None)
    assert attributes["flag"].values == (False, True)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.text(max_size=3), st.booleans()), min_size=1, max_size=12), st.booleans())
def test_any_text_survives_a_file(tmp_path, records, histograms):
    records = [*records, ("", True), ("", False)]
    frame = pd.DataFrame({"x": [x for x, _ in records], "y": [y for _, y in records]})
    summary = summarize(frame, "y", {"a": {"x": Suppress()}, "b": {}}, histograms=histograms)
    summary.save(tmp_path / "s.json")
    assert Summary.load(tmp_path / "s.json") == summary


def test_a_large_column_with_many_masks_stays_small_and_loads_fast(tmp_path):
    n = 21_648
    frame = pd.DataFrame({"x": np.arange(n) * 13, "y": np.arange(n) % 2})
    configurations = {f"c{w}": {"x": Bucketize(width=w)} for w in (50, 100, 500, 1000, 5000, 10_000, 50_000)}
    summary = summarize(frame, "y", {**configurations, "open": {}}, histograms=True)
    summary.save(tmp_path / "s.json")
    assert (tmp_path / "s.json").stat().st_size < 3_000_000
    start = time.process_time()
    Summary.load(tmp_path / "s.json")
    assert time.process_time() - start < 3  # it takes a tenth of that


@pytest.fixture
def document(tmp_path):
    small_summary().save(tmp_path / "s.json")
    return json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))


def change(path, value):
    def apply(document):
        *parents, last = path
        for key in parents:
            document = document[key]
        if value is None:
            del document[last]
        else:
            document[last] = value

    return apply


AGE = ("attributes", "age")
TABLE = (*AGE, "tables", 0)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change(("format",), "other"), "is no summary.*choose another file"),
        (change(("version",), 99), "version 99 was made by a newer aegis-opt: upgrade"),
        (change(("version",), 0), "no version 0"),
        (change(("version",), True), "'version' in the file has the wrong type bool"),
        (change(("label",), None), "the file has no 'label'"),
        (change(("label", "kind"), "colour"), "the label is of unknown kind 'colour'"),
        (change(("label", "values", 0), 5), "the label has the value 5, which is not of kind string"),
        (change(("label", "counts", 0), 4), "totals disagree"),
        (change(("label", "counts", 0), -3), "negative number -3"),
        (change(("label", "counts"), [1]), "3 classes and 1 counts"),
        (change((*AGE, "histogram", 0), 2), "totals disagree: the histogram of attribute 'age'"),
        (change((*AGE, "histogram", 0), 0.5), "attribute 'age': the histogram has the fractional number 0.5"),
        (change((*AGE, "histogram"), None), "'age' has no 'histogram'"),
        (change((*AGE, "values", 0), 17), "the values must be distinct"),
        (change((*AGE, "values", 0), "10"), "'age' has the value '10', which is not of kind integer"),
        (change((*AGE, "n_values"), 7), "'age'"),
        (change((*AGE, "tables"), []), "'age' has no masked tables"),
        (change(("attributes", "born", "values", 0), "1977-13-06"), "'born' has the value '1977-13-06'"),
        (change((*TABLE, "joint", 0, 0), 7), "totals disagree: masked table 0 of attribute 'age'"),
        (change((*TABLE, "joint", 0, 0), -1), "masked table 0 of attribute 'age': .*negative"),
        (change((*TABLE, "joint", 0, 0), 1.5), "masked table 0 of attribute 'age': .*fractional"),
        (change((*TABLE, "joint", 0), [1]), "rows of equal length"),
        (change((*TABLE, "joint", 0, 0), "1"), "must be a table of whole numbers"),
        (change((*TABLE, "groups", 0), 4), "the groups must be all of 0 to"),
        (change((*TABLE, "groups"), [0]), "groups for 1 of 5 values"),
        (change((*TABLE, "groups"), {"runs": [[0, 9]]}), "pairs of group and length for 5 values"),
        (change((*TABLE, "labels"), [[1]] * 5), "labels of masked table 0 .* plain values"),
        (change((*TABLE, "mask"), None), "has no 'mask'"),
        (change(("configurations",), {}), "at least one configuration"),
        (change(("configurations", "open", "age"), 9), "'open' chooses table 9 of 'age'"),
        (change(("configurations", "open", "age"), "0"), "'open' must map attributes to numbers"),
        (
            change(("configurations", "open", "age"), None),
            "'open' must choose a table of every attribute.*'age'",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path, document, edit, message):
    edit(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(SummaryError, match=rf"changed\.json: .*{message}"):
        Summary.load(path)


def test_group_totals_that_contradict_the_histogram(tmp_path, document):
    document["attributes"]["age"]["histogram"] = [2, 1, 1, 1, 1]
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(SummaryError, match="other group totals than the histogram"):
        Summary.load(tmp_path / "s.json")


def test_files_that_are_not_whole_not_json_or_not_there(tmp_path):
    small_summary().save(tmp_path / "s.json")
    small_summary().save(tmp_path / "s.json.gz")
    whole = (tmp_path / "s.json").read_bytes()
    packed = (tmp_path / "s.json.gz").read_bytes()
    broken = {
        "cut.json": whole[: len(whole) // 2],
        "empty.json": b"",
        "binary.json": b"\xff\xfe\x00",
        "list.json": b"[]",
        "cut.json.gz": packed[: len(packed) // 2],
        "plain.json.gz": whole,
        "text.json.gz": gzip.compress(b"hello"),
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SummaryError, match=name):
            Summary.load(tmp_path / name)
    with pytest.raises(SummaryError, match=r"file not found: .*none\.json"):
        Summary.load(tmp_path / "none.json")
    with pytest.raises(SummaryError, match=r"ends in \.json or \.json\.gz"):
        Summary.load(tmp_path / "s.txt")


def test_infinite_values_make_no_invalid_json(tmp_path):
    people = pd.DataFrame({"x": [np.inf, -np.inf, 0.5, np.nan], "z": list("abab"), "y": [2, 0, 1, 1]})
    masks = {"open": {"z": Suppress()}, "cut": {"x": Bucketize(edges=[0])}}
    made = summarize(people, "y", masks)
    summary = replace(made, label_kind="real", label_values=(0.0, 1.0, np.inf))  # as older versions made it
    summary.save(tmp_path / "s.json")

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    json.loads((tmp_path / "s.json").read_text(), parse_constant=refuse)
    assert Summary.load(tmp_path / "s.json") == summary


def test_a_failed_save_leaves_nothing_behind(tmp_path, monkeypatch):
    summary = small_summary()
    with pytest.raises(SummaryError, match=r"ends in \.json"):
        summary.save(tmp_path / "s.yaml")
    monkeypatch.setattr("pathlib.Path.write_bytes", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        summary.save(tmp_path / "s.json")
    assert list(tmp_path.iterdir()) == []


def test_summaries_are_immutable():
    summary = small_summary()
    with pytest.raises(ValueError, match="read-only"):
        summary.masked_table("open", "age").joint[0, 0] = 9
    with pytest.raises(TypeError):
        summary.attributes["new"] = None
    with pytest.raises(AttributeError):
        summary.label = "other"
