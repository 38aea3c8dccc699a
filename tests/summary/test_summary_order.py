"""Order in summaries: where values lie, what is shared of it, and the same from every kind of source."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.errors import ConfigurationError, InvalidOption, SummaryError, UnknownColumn
from aegis_opt.harness._truth import Case, scan_case
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary

RECORDS = {
    "size": ["S", "L", "M", None, "M", "S", "L", "L"],
    "grade": [3, 1, 2, 2, 1, 3, None, 3],
    "born": [dt.date(2020, 1, 3), dt.date(2020, 1, 1), None, *[dt.date(2020, 3, 1)] * 5],
    "weight": [1.5, 2.0, 10.0, None, 1.5, 2.0, 2.0, 1.5],
    "smoker": [True, False, False, True, None, True, True, False],
    "y": ["a", "b", "b", "a", "a", "a", "b", "a"],
}
SCHEMA: dict[str, Any] = {
    "size": pl.String,
    "grade": pl.Int64,
    "born": pl.Date,
    "weight": pl.Float64,
    "smoker": pl.Boolean,
    "y": pl.String,
}
ATTRIBUTES = ["size", "grade", "born", "weight", "smoker"]
MASKS: dict[str, dict[str, Any]] = {
    "some": {
        "size": ao.Generalize({"small": ["S", "M"], "large": ["L"]}),
        "grade": ao.Bucketize(edges=[2]),
        "born": ao.Truncate("month"),
        "weight": ao.Bucketize(width=5),
        "smoker": ao.Suppress(),
    },
    "none": {},
}
ORDER = {"size": ["S", "M", "L", "XL"], "grade": [2, 3, 1], "weight": "nominal", "smoker": "ascending"}
nan = float("nan")


def frame() -> pl.DataFrame:
    return pl.DataFrame(RECORDS, schema=SCHEMA)


KINDS = ["csv", "parquet", "pandas", "polars", "arrow", "relation"]
SPARK = pytest.param("spark", marks=pytest.mark.spark)


@pytest.fixture(params=[*KINDS, SPARK])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    kind, path = request.param, tmp_path / f"records.{request.param}"
    if kind == "csv":
        frame().write_csv(path)
        return path
    if kind == "pandas":
        return frame().to_pandas()
    if kind == "relation":
        return duckdb.from_arrow(frame().to_arrow())
    if kind == "spark":
        frame().write_parquet(tmp_path / "records.parquet")
        return request.getfixturevalue("spark").read.parquet(str(tmp_path / "records.parquet"))
    if kind == "parquet":
        frame().write_parquet(path)
        return path
    return frame() if kind == "polars" else frame().to_arrow()


def positions(summary: Summary) -> dict[str, list[float] | None]:
    """Return the positions of every attribute, with -1 for NaN, which is equal to nothing."""
    found = {name: summary.problem(name).positions for name in summary.attributes}
    return {name: None if x is None else np.nan_to_num(x, nan=-1).tolist() for name, x in found.items()}


def test_every_kind_of_source_gives_the_same_orders_and_positions(source: Any) -> None:
    plain = ao.summarize(source, "y", MASKS)
    assert {name: a.order for name, a in plain.attributes.items()} == {
        "size": "nominal",
        "grade": "ascending",
        "born": "ascending",
        "weight": "ascending",
        "smoker": "nominal",
    }
    ranks = {"grade": [0, 1, 2, -1], "born": [0, 1, 2, -1], "weight": [0, 1, 2, -1]}
    assert positions(plain) == {"size": None, **ranks, "smoker": None}
    shared = ao.summarize(source, "y", MASKS, values=True)
    day = 18262  # 1 January 2020, from 1 January 1970
    assert positions(shared) == {
        "size": None,
        "grade": [1, 2, 3, -1],
        "born": [day, day + 2, day + 60, -1],
        "weight": [1.5, 2, 10, -1],
        "smoker": None,
    }
    assert [a.histogram for a in shared.attributes.values()] == [None] * 5
    ordered = ao.summarize(source, "y", MASKS, values=["size", "grade", "smoker"], order=ORDER)
    assert positions(ordered) == {
        "size": [0, 1, 2, -1],
        "grade": [0, 1, 2, -1],
        "born": [0, 1, 2, -1],
        "weight": None,
        "smoker": [0, 1, -1],
    }
    assert ordered.attributes["size"].values == ("S", "M", "L", None)
    assert ordered.attributes["grade"].values == (2, 3, 1, None)
    size, grade = ordered.attributes["size"].tables[0], ordered.attributes["grade"].tables[0]
    assert (size.labels, size.groups.tolist()) == (("small", "large", None), [0, 0, 1, 2])
    assert size.joint.tolist() == [[3, 1], [1, 2], [1, 0]]
    assert (grade.labels, grade.groups.tolist()) == ((">=2", "<2", None), [0, 0, 1, 2])
    assert grade.joint.tolist() == [[4, 1], [1, 1], [0, 1]]
    assert ordered.attributes["grade"].tables[1].joint.tolist() == [[1, 1], [3, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize("in_memory", [True, False], ids=["frame", "relation"])
def test_an_order_changes_no_number(in_memory: bool) -> None:
    source: Any = frame().to_pandas() if in_memory else duckdb.from_arrow(frame().to_arrow())
    options: dict[str, Any] = {"share": "both", "scores": ["r2", "r2_cv"], "unmasked": True}
    plain = ao.summarize(source, "y", MASKS, True, **options)
    ordered = ao.summarize(source, "y", MASKS, True, order=ORDER, **options)
    assert plain.numbers is not None
    assert ordered.numbers is not None
    for score in ("r2", "r2_cv"):
        assert dict(ordered.scores[score].values) == pytest.approx(dict(plain.scores[score].values))
    for name in ATTRIBUTES:
        mine, other = ordered.numbers.attributes[name], plain.numbers.attributes[name]
        assert mine.unmasked == pytest.approx(other.unmasked)
        assert mine.measures["mi"] == pytest.approx(other.measures["mi"])
        row = dict(
            zip(plain.attributes[name].values or (), plain.attributes[name].tables[1].joint, strict=True)
        )
        for value, counts in zip(
            ordered.attributes[name].values or (), ordered.attributes[name].tables[1].joint, strict=True
        ):
            assert counts.tolist() == row[value].tolist()
    assert ao.advise(ordered, "mi").ranking["pud"].tolist() == pytest.approx(
        ao.advise(plain, "mi").ranking["pud"].tolist()
    )


def test_the_call_goes_before_the_configurations_and_these_before_the_type_of_a_column() -> None:
    records = frame().to_pandas()
    records["size"] = pd.Categorical(RECORDS["size"], ["L", "M", "S"], ordered=True)
    enum = frame().with_columns(pl.col("size").cast(pl.Enum(["L", "M", "S"])))
    masks = ao.Configurations(MASKS, order={"size": ["M", "L", "S"]})
    for typed in (records, enum):
        assert ao.summarize(typed, "y", MASKS, True).attributes["size"].values == ("L", "M", "S", None)
        assert ao.summarize(typed, "y", masks, True).attributes["size"].values == ("M", "L", "S", None)
        given = ao.summarize(typed, "y", masks, True, order={"size": "ascending"})
        assert given.attributes["size"].order == "ascending"
        none = ao.summarize(typed, "y", masks, order={"size": "nominal"})
        assert none.problem("size").positions is None
    unordered = records.assign(size=pd.Categorical(RECORDS["size"], ["L", "M", "S"]))
    assert ao.summarize(unordered, "y", MASKS).attributes["size"].order == "nominal"
    numbers = records.assign(size=pd.Categorical([3, 1, 2, 2, 1, 3, 1, 2], [3, 1, 2], ordered=True))
    numbered = {"c": {"size": ao.Suppress()}}
    assert ao.summarize(numbers, "y", numbered, True).attributes["size"].values == (1, 2, 3)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**62, 2**62 + 1, 5], [0, 1, 2]),  # one float
        ([2**62, -(2**63), 5], [-(2.0**63), 5, 2.0**62]),
        ([1.0, float("inf"), 3.0], [0, 1, 2]),
        ([1.5e308, -1.5e308, 0.0], [0, 1, 2]),  # farther apart than any float
        ([dt.datetime(2020, 1, 1, 12), dt.datetime(1970, 1, 1)], [0, 18262.5]),
        ([dt.datetime(9999, 1, 1), dt.datetime(9999, 1, 1, 0, 0, 0, 1)], [0, 1]),  # one float, in days
        ([7], [7]),
    ],
    ids=str,
)
def test_values_that_floats_cannot_place_have_ranks(values: list[Any], expected: list[float]) -> None:
    records = pd.DataFrame({"x": values * 2, "y": [0, 1] * len(values)})
    summary = ao.summarize(records, "y", {"c": {"x": ao.Suppress()}}, values=True)
    assert positions(summary)["x"] == expected


def test_a_missing_value_that_no_table_shows_counts_as_the_greatest() -> None:
    records = pd.DataFrame({"x": [1.0, 2.0, None, 1.0], "y": [0, 1, 0, 1]})
    hidden = {"c": {"x": ao.Suppress()}}
    assert positions(ao.summarize(records, "y", hidden))["x"] == [0, 1, 2]
    assert positions(ao.summarize(records, "y", hidden, values=True))["x"] == [1, 2, -1]
    assert positions(ao.summarize(records, "y", {**hidden, "d": {"x": ao.Blur(2)}}))["x"] == [0, 1, -1]


def test_coarsened_attributes_are_ordered_too() -> None:
    n = 200
    records = pd.DataFrame({"id": range(n), "name": [f"n{i % 25}" for i in range(n)], "y": [0, 1] * (n // 2)})
    masks = {"c": {"id": ao.Suppress(), "name": ao.Suppress()}}
    names = [f"n{i}" for i in range(25)]

    def coarse(order: Any = None, source: pd.DataFrame = records) -> Summary:
        with pytest.warns(UserWarning, match="was read as"):
            return ao.summarize(source, "y", masks, values=True, max_values=20, order=order)

    assert positions(coarse())["id"] == [float(i) for i in range(0, n, 20)]
    with pytest.raises(ConfigurationError, match=r"the order of 'name' does not list '\(other\)'"):
        ao.summarize(records, "y", masks, max_values=20, order={"name": names})
    with pytest.raises(ConfigurationError, match=r"'\(other\)' has no place in its ascending order"):
        ao.summarize(records, "y", masks, max_values=20, order={"name": "ascending"})
    placed = coarse({"name": ["(other)", *names]})
    assert (placed.attributes["name"].values or ())[0] == "(other)"
    categories = records.assign(name=pd.Categorical(records["name"], names, ordered=True))
    assert coarse(source=categories).attributes["name"].order == "nominal"


def test_orders_that_do_not_fit_the_call_are_refused() -> None:
    records = frame()
    with pytest.raises(ConfigurationError, match="the order of 'size' does not list 'L'"):
        ao.summarize(records, "y", MASKS, order={"size": ["S", "M"]})
    with pytest.raises(ConfigurationError, match="order of 'y', which no configuration masks"):
        ao.summarize(records, "y", MASKS, order={"y": ["b", "a"]})
    with pytest.raises(UnknownColumn, match=r"unknown attribute 'siz'.*It was named in values"):
        ao.summarize(records, "y", MASKS, values=["siz"])
    with pytest.raises(InvalidOption, match="values must be True, False or a list of attributes, not 'yes'"):
        ao.summarize(records, "y", MASKS, values="yes")
    for options in ({"values": True}, {"order": ORDER}, {"histograms": ["size"]}):
        with pytest.raises(InvalidOption, match="histograms, values and order are about tables"):
            ao.summarize(records, "y", MASKS, share="scores", **options)  # type: ignore[call-overload]
    configurations = ao.Configurations(MASKS, order=ORDER)
    assert ao.summarize(records, "y", configurations, share="scores").scores


def test_values_of_nearly_unique_texts_are_listed_only_where_they_are_named() -> None:
    people = pd.DataFrame({"name": [f"n{i}" for i in range(100)], "age": range(100), "y": [0, 1] * 50})
    masks = {"c": {"name": ao.Suppress(), "age": ao.Suppress()}}
    with pytest.raises(InvalidOption, match=r"its values may list persons.*values=\[\.\.\.\]"):
        ao.summarize(people, "y", masks, values=True)
    with pytest.raises(InvalidOption, match="its histograms may list persons"):
        ao.summarize(people, "y", masks, histograms=True, values=["name"])
    assert ao.summarize(people, "y", masks, values=["name"]).attributes["name"].values is not None
    both = ao.summarize(people, "y", masks, ["name"], values=True)
    assert [a.histogram is not None for a in both.attributes.values()] == [True, False]
    assert both.report()["values_shared"].tolist() == [True, True]
    assert ao.summarize(people, "y", masks).report()["values_shared"].tolist() == [False, False]


def saved(folder: Path, summary: Summary) -> dict[str, Any]:
    summary.save(folder / "s.json")
    again = Summary.load(folder / "s.json")
    assert again == summary == pickle.loads(pickle.dumps(summary))
    assert isinstance(again, Summary)
    assert positions(again) == positions(summary)
    document: dict[str, Any] = json.loads((folder / "s.json").read_text())
    return document


def test_a_file_is_of_version_3_only_where_older_readers_would_misread_it(tmp_path: Path) -> None:
    for options in ({}, {"histograms": True}):
        assert saved(tmp_path, ao.summarize(frame(), "y", MASKS, **options))["version"] == 2
    ordered = saved(tmp_path, ao.summarize(frame(), "y", MASKS, order=ORDER))
    assert ordered["version"] == 3
    orders = {name: entry.get("order") for name, entry in ordered["attributes"].items()}
    assert orders == {
        "size": "given",
        "grade": "given",
        "born": None,
        "weight": "nominal",
        "smoker": "ascending",
    }
    assert "XL" not in json.dumps(ordered)  # a list of values stays with the provider
    assert saved(tmp_path, ao.summarize(frame(), "y", MASKS, values=True))["version"] == 3


@pytest.mark.parametrize("version", [1, 2])
def test_older_files_mean_what_they_meant(tmp_path: Path, version: int) -> None:
    document = saved(tmp_path, ao.summarize(frame(), "y", MASKS, histograms=True))
    document["attributes"]["size"]["order"] = "given"  # a key that older readers passed over
    (tmp_path / "old.json").write_text(json.dumps(document | {"version": version}))
    old = Summary.load(tmp_path / "old.json")
    assert isinstance(old, Summary)
    assert [a.order for a in old.attributes.values()] == ["nominal", *["ascending"] * 3, "nominal"]
    document["attributes"]["grade"]["histogram"] = None
    (tmp_path / "old.json").write_text(json.dumps(document | {"version": version}))
    with pytest.raises(SummaryError, match="attribute 'grade' has values, but its histogram is lost"):
        Summary.load(tmp_path / "old.json")


@pytest.mark.parametrize(
    ("attribute", "key", "value", "message"),
    [
        ("size", "order", "small first", "attribute 'size': its order must be 'ascending', 'given' or"),
        ("size", "order", ["S", "M", "L"], "'order' in attribute 'size' has the wrong type list"),
        ("size", "order", None, "'order' in attribute 'size' has the wrong type NoneType"),
        ("size", "order", "ascending", "attribute 'size': its values must be ascending"),
        ("size", "values", ["S", None, "M", "L"], "the missing value must be the last"),
        ("size", "values", ["S", "M", "L", "S"], "the values must be distinct"),
        ("size", "values", ["S", "M", "L"], "has 4 values by its own account, but 3 are listed"),
        ("born", "values", ["2020-01-03", "2020-01-01", "2020-03-01", None], "its values must be ascending"),
        ("grade", "histogram", [2, 3, 2], "has 4 values, but 3 have counts"),
        ("grade", "values", None, "attribute 'grade' has a histogram without values"),
    ],
    ids=str,
)
def test_what_is_wrong_with_an_order_in_a_file_is_named(
    tmp_path: Path, attribute: str, key: str, value: Any, message: str
) -> None:
    order = {"size": ["S", "M", "L"]}
    document = saved(tmp_path, ao.summarize(frame(), "y", MASKS, ["grade"], values=True, order=order))
    document["attributes"][attribute][key] = value
    (tmp_path / "bad.json").write_text(json.dumps(document))
    with pytest.raises(SummaryError, match=message):
        Summary.load(tmp_path / "bad.json")


def test_values_of_different_types_have_no_ascending_order() -> None:
    table = MaskedTable({"function": "suppress"}, np.array([0, 0]), ("*",), np.array([[1, 1]]))
    attribute = AttributeSummary("real", 2, (1.0, "x"), None, (table,))
    with pytest.raises(SummaryError, match="attribute 'x': its values must be ascending"):
        Summary("y", "integer", (0, 1), np.array([1, 1]), {"x": attribute}, {"c": {"x": 0}})


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_order_permutes_the_rows_of_everything(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.sampled_from("abcdef"), min_size=2, max_size=20))
    listed = data.draw(st.permutations("abcdef"))
    labels = [i % 2 for i in range(len(texts))]
    records = pd.DataFrame({"x": texts, "y": labels})
    masks = {"c": {"x": ao.Generalize({"v": list("ace"), "w": list("bdf")})}, "open": {}}
    summary = ao.summarize(records, "y", masks, histograms=True, order={"x": listed})
    attribute = summary.attributes["x"]
    assert attribute.values == tuple(value for value in listed if value in texts)
    expected = pd.crosstab(records["x"], records["y"]).reindex(attribute.values)
    assert attribute.tables[1].joint.tolist() == expected.to_numpy().tolist()
    assert attribute.histogram is not None
    assert attribute.histogram.tolist() == expected.sum(axis=1).tolist()
    table = attribute.tables[0]
    for value, group in zip(attribute.values or (), table.groups, strict=True):
        assert table.labels[group] == ("v" if value in "ace" else "w")
    assert list(dict.fromkeys(table.groups.tolist())) == list(range(table.n_groups))


def test_the_truth_of_a_comparison_is_in_the_order_of_its_summary() -> None:
    configurations = ao.Configurations(MASKS, order={"size": ["S", "M", "L"], "weight": "nominal"})
    case = scan_case(Case("people", frame(), "y", configurations))
    assert case.summary.attributes["size"].values == ("S", "M", "L", None)
    assert case.raw["size"].tolist() == [[2, 0], [1, 1], [1, 2], [1, 0]]
    plain = scan_case(Case("people", frame(), "y", MASKS))
    assert plain.fingerprint != case.fingerprint
    nominal = scan_case(Case("people", frame(), "y", ao.Configurations(MASKS, order={"born": "nominal"})))
    assert nominal.fingerprint != plain.fingerprint
    found = ao.harness.compare_reconstructions(
        frame(), "y", configurations, solvers=["ipf"], scopes=["pooled"], histograms=[True]
    )
    assert found.loc[found["attribute"] == "size", "tvd"].tolist() == [0.0]  # "none" releases it
