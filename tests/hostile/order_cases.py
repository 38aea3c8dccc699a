"""Declared orders, right and wrong, in files: what they give is checked against plain Python."""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from families import family

import aegis_opt as ao

COLUMNS: list[list[Any]] = [
    ["S", "M", "L", "XL", "", "日本", "a,b"],
    [1, 2, 30, -(2**63), 2**63 - 1, 2**62, 2**62 + 1],
    [0.5, 1.5, float("inf"), -1e308, 1e308, 5e-324, 2.0],
    [True, False],
]
FAULTS = ("none", "none", "twice", "misses", "missing value", "nested", "word", "number", "nobody's", "key")


def made_wrong(rng: random.Random, order: list[Any], fault: str) -> dict[Any, Any]:
    """Return an order of the attribute x with one fault."""
    changed: dict[Any, Any] = {
        "none": order,
        "twice": [*order, rng.choice(order)],
        "misses": order[1:],
        "missing value": [*order, None],
        "nested": [*order, rng.choice(([], {}, ["a"]))],
        "word": rng.choice(("", "Nominal", "hierarchy", "\u202e", "x" * 10_000)),
        "number": rng.choice((0, 1.5, True, {}, None, 10**30)),
    }
    others: dict[str, dict[Any, Any]] = {"nobody's": {"z": "nominal"}, "key": {"": order}}
    return others.get(fault) or {"x": changed[fault]}


@family(seconds=0.03)
def orders_in_files(seed: int) -> None:
    """An order in a configuration file arranges the rows as it says, or is refused."""
    rng = random.Random(seed)
    values = rng.choice(COLUMNS)
    values = values[: rng.randrange(1, len(values)) + 1]
    order = rng.sample(values, len(values))
    fault = rng.choice(FAULTS)
    names = [str(v) if isinstance(v, float) else v for v in order]  # JSON has no infinity
    document = {
        "order": made_wrong(rng, names, fault),
        "configurations": {"c": {"x": {"function": "suppress"}}, "open": {"x": {"function": "identity"}}},
    }
    records = pd.DataFrame({"x": [*values, *values], "y": [0] * len(values) + [1] * len(values)})
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / rng.choice(("c.json", "c.yaml"))
        dump = json.dumps if path.suffix == ".json" else yaml.safe_dump
        path.write_text(dump(document), encoding="utf-8")
        if fault != "none":
            try:
                ao.summarize(records, "y", path)
            except ao.AegisError:
                return
            raise AssertionError(f"{fault} was not refused: {document['order']}")
        summary = ao.summarize(records, "y", path, values=rng.random() < 0.5)
        attribute = summary.attributes["x"]
        assert attribute.values is None or list(attribute.values) == order
        assert list(attribute.tables[1].labels) == order
        positions = summary.problem("x").positions
        assert positions is not None
        assert positions.tolist() == list(range(len(order)))


@family(seconds=0.03)
def orders_in_summaries(seed: int) -> None:
    """A summary whose order or values were changed is refused, or has increasing positions."""
    rng = random.Random(seed)
    values = rng.choice(COLUMNS)
    records = pd.DataFrame({"x": [*values, *values], "y": [0] * len(values) + [1] * len(values)})
    order = {"x": rng.choice(("nominal", "ascending", rng.sample(values, len(values))))}
    summary = ao.summarize(records, "y", {"c": {"x": ao.Suppress()}}, values=True, order=order)
    odd: list[Any] = [None, 0, True, "", "given", "ascending", "nominal", [], {}, 1e308, "x" * 1000, *values]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "s.json"
        summary.save(path)
        document = json.loads(path.read_text(encoding="utf-8"))
        entry = document["attributes"]["x"]
        for _ in range(rng.choice((1, 2))):
            match rng.randrange(4):
                case 0:
                    entry["order"] = rng.choice(odd)
                case 1:
                    entry["values"] = rng.choice([None, rng.sample(values, 1), *odd])
                case 2 if isinstance(entry["values"], list) and entry["values"]:
                    entry["values"][rng.randrange(len(entry["values"]))] = rng.choice(odd)
                case _:
                    document["version"] = rng.choice((1, 2, 3, 4))
        path.write_text(json.dumps(document).replace("Infinity,", '"Infinity",'), encoding="utf-8")
        with contextlib.suppress(ao.AegisError):
            loaded = ao.Summary.load(path)
            assert isinstance(loaded, ao.Summary)
            positions = loaded.problem("x").positions
            assert (positions is None) == (loaded.attributes["x"].order == "nominal")
            if positions is not None:
                placed = [x for x in positions.tolist() if x == x]
                assert placed == sorted(set(placed))
            loaded.save(path)
            assert ao.Summary.load(path) == loaded
