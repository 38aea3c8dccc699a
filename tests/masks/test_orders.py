"""Declared orders: what configurations and their files keep, and what they refuse."""

from __future__ import annotations

import copy
import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError
from aegis_opt.masks import Configurations
from aegis_opt.masks import _order as orders
from aegis_opt.masks._order import arrange

MASKS = {"c": {"size": ao.Suppress(), "zip": ao.Suppress(), "born": ao.Suppress()}}
ORDER = {"size": ["S", "M", "L"], "zip": "nominal", "born": [dt.date(2020, 1, 2), dt.date(2020, 1, 1)]}


@pytest.mark.parametrize("ending", [".json", ".yaml", ".yml"])
def test_a_configuration_file_keeps_the_order(tmp_path: Path, ending: str) -> None:
    given = Configurations(MASKS, label="y", order=ORDER)
    assert dict(given.order) == {
        "size": ("S", "M", "L"),
        "zip": "nominal",
        "born": ("2020-01-02", "2020-01-01"),
    }
    path = tmp_path / f"masks{ending}"
    ao.save_configurations(given, path)
    assert ao.load_configurations(path) == given
    assert pickle.loads(pickle.dumps(given)) == copy.deepcopy(given) == given
    assert hash(copy.copy(given)) == hash(given)
    assert given != Configurations(MASKS, label="y")
    assert "order of size, zip, born" in repr(given)


def test_values_in_yaml_are_read_as_people_write_them(tmp_path: Path) -> None:
    path = tmp_path / "masks.yaml"
    path.write_text(
        "order: {zip: [02002, 01001], size: [no, 1.5, 2], born: [2020-01-02]}\n"
        "configurations: {c: {zip: {function: suppress}, size: {function: suppress}, "
        "born: {function: suppress}}}\n"
    )
    assert dict(ao.load_configurations(path).order) == {
        "zip": ("02002", "01001"),
        "size": ("no", 1.5, 2),
        "born": ("2020-01-02",),
    }


def test_a_file_without_an_order_is_written_as_before(tmp_path: Path) -> None:
    ao.save_configurations(Configurations(MASKS), tmp_path / "masks.json")
    assert "order" not in json.loads((tmp_path / "masks.json").read_text())


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ({"size": ["S", "M", "S"]}, "the order of 'size' lists 'S' twice"),
        ({"size": [1, 1.0]}, "lists 1.0 twice"),
        ({"size": ["S", None]}, "the missing value, which has no place"),
        ({"size": ["S", float("nan")]}, "the missing value, which has no place"),
        ({"size": []}, "lists no values"),
        ({"size": ["S", ["M"]]}, r"must list text, numbers, booleans or dates, not \['M'\]"),
        ({"size": ["\ud800"]}, "the order of 'size' must list text"),
        ({"size": "small first"}, "'ascending', 'hierarchy' or 'nominal', not 'small first'"),
        ({"size": 3}, "must be a list of values or a word, not 3"),
        ({"size": {"S": 1}}, "must be a list of values or a word"),
        ({"size": None}, "must be a list of values or a word, not None"),
        ({"sice": "nominal"}, "order of 'sice', which no configuration masks.*'size', 'zip'"),
        ({3: "nominal"}, "order must name attributes, not 3"),
        (["size"], "order must map attributes"),
        ({"size": "hierarchy"}, "no configuration masks it with Generalize"),
    ],
    ids=str,
)
def test_what_is_no_order_is_refused_by_name(tmp_path: Path, order: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Configurations(MASKS, order=order)
    if isinstance(order, dict) and isinstance(next(iter(order)), str) and "half" not in message:
        specs = {"c": {"size": {"function": "suppress"}, "zip": {"function": "suppress"}}}
        text = json.dumps({"order": order, "configurations": specs})
        (tmp_path / "masks.json").write_text(text)
        with pytest.raises(ConfigurationError, match=r"masks\.json"):
            ao.load_configurations(tmp_path / "masks.json")


def test_an_order_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "MOST_VALUES", 3)
    Configurations(MASKS, order={"size": [1, 2, 3]})
    with pytest.raises(ConfigurationError, match="the order of 'size' lists more than 3 values"):
        Configurations(MASKS, order={"size": iter(range(10**12))})


@pytest.mark.parametrize(
    ("values", "order", "rows"),
    [
        (["a", "b", "c"], ("c", "x", "a", "b"), [2, 0, 1]),
        (["a", "b", None], ("b", "a"), [1, 0, 2]),
        ([1, 2, 30], ("30", "2.0", 1, "x"), [2, 1, 0]),
        ([True, False], (True, "false"), [1, 0]),
        ([dt.date(2020, 1, 1), dt.date(2021, 1, 1)], ("2021-01-01", "2020-01-01"), [1, 0]),
        ([None, 0.5], (0.5,), [0, 1]),
    ],
)
def test_a_domain_is_arranged_as_its_order_says(values: list[Any], order: Any, rows: list[int]) -> None:
    found = arrange("x", Domain.of(values), order, [])
    assert found.order == "given"
    assert found.rows is not None
    assert found.rows.tolist() == rows
    domain = np.array(Domain.of(values).to_list(), dtype=object)
    assert found.undone(found.of(domain)).tolist() == domain.tolist()


@pytest.mark.parametrize(
    ("values", "order", "message"),
    [
        (["a", "b", "c"], ("a",), "the order of 'x' does not list 'b', 'c': add .* or declare .* 'nominal'"),
        ([1, 2], ("1", 1.0, 2), r"the order of 'x' lists 1.0 twice \(as integer\)"),
    ],
)
def test_an_order_that_does_not_fit_the_data_is_refused(values: Any, order: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        arrange("x", Domain.of(values), order, [])


def level(rows: list[list[str]] | Path) -> ao.Generalize:
    return ao.Generalize(hierarchy=rows, level=1)


def test_the_order_of_a_hierarchy_counts_where_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("9th,School\n11th,School\nMasters,Higher\n")
    domain = Domain.of(["11th", "9th", "Masters"])
    masks = [{"e": level(tmp_path / "e.csv")}, {"e": ao.Suppress()}]
    assert arrange("e", domain, None, masks).order == "nominal"
    found = arrange("e", domain, "hierarchy", masks)
    assert found.rows is not None
    assert [domain.to_list()[row] for row in found.rows] == ["9th", "11th", "Masters"]
    same = level([["9th", "*"], ["x", "*"], ["11th", "*"], ["Masters", "*"]])
    assert arrange("e", domain, "hierarchy", [*masks, {"e": same}]).order == "given"
    other = level([["11th", "*"], ["9th", "*"], ["Masters", "*"]])
    with pytest.raises(
        ConfigurationError, match=r"'e' is masked by hierarchies that list .* different orders"
    ):
        arrange("e", domain, "hierarchy", [*masks, {"e": other}])


def test_a_hierarchy_file_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("1,secret\n1.0,secret\n")
    with pytest.raises(ConfigurationError, match="the value of rows 1 and 2 twice") as error:
        arrange("n", Domain.of([1]), "hierarchy", [{"n": level(tmp_path / "n.csv")}])
    assert "secret" not in str(error.value)


SIZES = ["S", "M", "L", "M"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"size": pd.Categorical(SIZES, ["S", "M", "L", "XL"], ordered=True), "y": [0, 1, 1, 0]}),
        pl.DataFrame(
            {"size": SIZES, "y": [0, 1, 1, 0]}, schema={"size": pl.Enum(["S", "M", "L", "XL"]), "y": pl.Int64}
        ),
    ],
    ids=["pandas", "polars"],
)
def test_generated_configurations_keep_orders(frame: Any) -> None:
    drawn = ao.generate_configurations(frame, "y", n=1)
    assert dict(drawn.order) == {"size": ("S", "M", "L", "XL")}
    given = ao.generate_configurations(frame, "y", n=1, order={"size": "nominal"})
    assert dict(given.order) == {"size": "nominal"}
    assert dict(given["config01"]) == dict(drawn["config01"])
    with pytest.raises(ConfigurationError, match="'size' does not list 'L', 'M'"):
        ao.generate_configurations(frame, "y", n=1, order={"size": ["S"]})
    with pytest.raises(ConfigurationError, match="no configuration masks it with Generalize"):
        ao.generate_configurations(frame, "y", n=1, order={"size": "hierarchy"})
    schema = {"size": Domain.of(SIZES), "y": Domain.of([0, 1])}
    assert dict(ao.generate_configurations(schema, "y", n=1).order) == {}
