"""Summary files ask for no more memory than their ceilings allow, and lie about no size."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis_opt.advisor import advise
from aegis_opt.errors import SummaryError
from aegis_opt.summary import AttributeSummary, MaskedTable, Summary, _file, _sizes


def document(**changes: Any) -> dict[str, Any]:
    """Return a small summary file; `changes` are those of its only attribute."""
    table = {
        "mask": {"function": "generalize", "ranges": 2},
        "groups": {"runs": [[0, 5], [1, 3]]},
        "labels": ["low", "high"],
        "joint": [[3, 2], [1, 4]],
    }
    attribute = {"kind": "integer", "n_values": 8, "values": None, "histogram": None, "tables": [table]}
    return {
        "format": "aegis-opt-summary",
        "version": 1,
        "label": {"name": "y", "kind": "string", "values": ["a", "b"], "counts": [4, 6]},
        "attributes": {"age": attribute | changes},
        "configurations": {"c": {"age": 0}},
    }


def load(folder: Path, content: Any, name: str = "s.json") -> Any:
    """Write a file, from a document or as it is, and load it."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / name).write_bytes(data)
    return Summary.load(folder / name)


def test_the_small_summary_is_fine(tmp_path: Path) -> None:
    assert load(tmp_path, document()).n_records == 10


def with_runs(runs: Any) -> dict[str, Any]:
    """Return the small summary with other runs."""
    changed = document()
    changed["attributes"]["age"]["tables"][0]["groups"] = {"runs": runs}
    return changed


@pytest.mark.parametrize(
    "runs",
    [
        [[0, 2**62], [1, 2**62], [0, 2**62], [1, 2**62], [0, 8]],  # in 64 bits they add up to 8
        [[0, 2**63], [1, 2**63], [0, 8]],
        [[0, 10**100]],
        [[0, 9], [1, -1]],
        [[0, 5], [1, 3.0]],
        [[0, 7], [1, True]],
        [[0, 5], [2**40, 3]],
        [[0, 5], [1, 0], [1, 3]],
        [[0, 5, 1], [1, 3, 1]],
        [5, 3],
        "58",
        [],
    ],
    ids=str,
)
def test_runs_are_checked_before_they_are_laid_out(tmp_path: Path, runs: Any) -> None:
    with pytest.raises(SummaryError, match=r"runs"):
        load(tmp_path, with_runs(runs))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([True, 6], "not of bool"),
        (["x" * 10**6, *[1] * 10**5], "not of str"),  # as an array of texts it would take 400 GB
        ([2**53, 1], r"are 9,007,199,254,740,993 records in the .*; at most 2\*\*53"),
        ([2**62, 2**62, 2**62, 2**62], "too large"),
        ([2**53 + 1, 0.0], "the number 9007199254740993, which is too large"),  # a float would be 2**53
        ([2**53] * 2048, "are 18,446,744,073,709,551,616 records"),  # 0 in 64 bits
        ([10**30, 6], "too large"),
        ([1e300, 6], "too large"),
        ([4.5, 5.5], "fractional number 4.5"),
        ([[4], [6]], "list of whole numbers"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_counts_are_whole_numbers_that_add_up_exactly(tmp_path: Path, counts: Any, message: str) -> None:
    changed = document()
    changed["label"]["counts"] = counts
    with pytest.raises(SummaryError, match=message):
        load(tmp_path, changed)


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(document()).replace('"n_values"', '"n_values": 3, "n_values"')
    with pytest.raises(SummaryError, match=r"'n_values' is given twice"):
        load(tmp_path, text.encode())


@pytest.mark.parametrize("n_values", [0, -1, 11, 2**63, 10**100])
def test_there_are_not_more_values_than_records(tmp_path: Path, n_values: int) -> None:
    with pytest.raises(SummaryError, match=r"from 1 to the number of records, 10"):
        load(tmp_path, document(n_values=n_values))


def large(n_values: int, tables: int = 1, attributes: int = 1) -> dict[str, Any]:
    """Return a summary file of a few bytes that stands for a large one."""
    lump = {"mask": {"function": "suppress"}, "groups": {"runs": [[0, n_values]]}, "labels": ["*"]}
    lump["joint"] = [[2**50, 2**50]]
    names = [f"a{i}" for i in range(attributes)]
    changed = document()
    changed["label"]["counts"] = [2**50, 2**50]
    attribute = changed["attributes"]["age"] | {"n_values": n_values, "tables": [lump] * tables}
    changed["attributes"] = dict.fromkeys(names, attribute)
    changed["configurations"] = {"c": dict.fromkeys(names, 0)}
    return changed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (large(_sizes.MOST_VALUES + 1), "'a0' has 5000001 values; at most 5,000,000 are read"),
        (large(1_000_000, attributes=6), "12,000,000 values times classes; at most 10,000,000"),
        (large(1_000_000, tables=21), "21,000,000 values together; at most 20,000,000"),
    ],
    ids=["values", "cells", "groups"],
)
def test_sizes_that_a_few_bytes_claim_have_a_ceiling(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(SummaryError, match=message):
        load(tmp_path, content)


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = load(tmp_path, document())
    ceilings = {_file: ("MOST_BYTES", "MOST_ITEMS"), _sizes: ("MOST_VALUES", "MOST_CELLS", "MOST_GROUPS")}
    for module, ceiling in ((module, ceiling) for module, own in ceilings.items() for ceiling in own):
        with monkeypatch.context() as patched:
            patched.setattr(module, ceiling, 7)
            with pytest.raises(SummaryError, match=r"\b7\b"):
                summary.save(tmp_path / "again.json")
    assert not (tmp_path / "again.json").exists()


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_file, "MOST_BYTES", 100_000)
    (tmp_path / "s.json.gz").write_bytes(gzip.compress(bytes(50_000_000), 1))
    tracemalloc.start()
    with pytest.raises(SummaryError, match="unpacks to more than 100,000 bytes"):
        Summary.load(tmp_path / "s.json.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_packed_files_end_where_they_end(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(document()).encode())
    assert load(tmp_path, packed, "s.json.gz").n_records == 10
    with pytest.raises(SummaryError, match="goes on behind its end"):
        load(tmp_path, packed * 2, "s.json.gz")
    with pytest.raises(SummaryError, match="is cut short"):
        load(tmp_path, packed[:-9], "s.json.gz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * 100_000, "nested deeper than 32 levels"),
        (b'{"a":' * 100_000, "nested deeper than 32 levels"),
        (b'{"version": ' + b"9" * 5000 + b"}", "a number of thousands of digits"),
        (b'{"version": NaN}', "NaN is no JSON number"),
        (b'{"version": -1e400}', "the number '-1e400' is too large for 64 bits"),
        (b'{"format": "\\ud800"}', "half a character"),
        (b"\xff\xfe", "check that it is UTF-8"),
        (b"", "is empty"),
    ],
    ids=lambda value: value[:20],
)
def test_json_that_would_break_its_reader_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(SummaryError, match=message):
        load(tmp_path, content)


def test_entries_have_a_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_file, "MOST_ITEMS", 1000)
    with pytest.raises(SummaryError, match="it has 2,001 commas and brackets; at most 1,000 are read"):
        load(tmp_path, b"[" + b"[]," * 1000 + b"0]")


def test_a_mask_is_nested_as_masks_are_and_has_a_function(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    for mask, message in [({"function": "x", "a": deep}, "nested deeper"), ({}, "no 'function'")]:
        changed = document()
        changed["attributes"]["age"]["tables"][0]["mask"] = mask
        with pytest.raises(SummaryError, match=f"mask of masked table 0 of attribute 'age'.*{message}"):
            load(tmp_path, changed)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    for name in ("folder", "pipe", "device"):
        with pytest.raises(SummaryError, match=rf"{name}\.json is no regular file"):
            Summary.load(tmp_path / f"{name}.json")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", 2**63),
        ("integer", True),
        ("real", 10**400),
        ("datetime", "2020-01-01T00:00:00+01:00"),
        ("string", ["a"]),
    ],
)
def test_values_are_those_that_columns_hold(tmp_path: Path, kind: str, value: Any) -> None:
    changed = document()
    changed["label"] |= {"kind": kind, "values": [value, None]}
    with pytest.raises(SummaryError, match=f"not of kind {kind}"):
        load(tmp_path, changed)


@pytest.mark.parametrize("place", ["label", "attributes", "configurations"])
def test_names_are_not_empty(tmp_path: Path, place: str) -> None:
    changed = document()
    if place == "label":
        changed["label"]["name"] = ""
    else:
        changed[place][""] = next(iter(changed[place].values()))
    with pytest.raises(SummaryError, match="a text that is not empty"):
        load(tmp_path, changed)


def test_classes_are_distinct(tmp_path: Path) -> None:
    changed = document()
    changed["label"] |= {"values": ["a", "b", "a"], "counts": [4, 5, 1]}
    with pytest.raises(SummaryError, match="distinct classes"):
        load(tmp_path, changed)


def test_coarsening_goes_from_more_values_to_fewer(tmp_path: Path) -> None:
    for distinct in (7, 11, 10**100):
        with pytest.raises(SummaryError, match="was coarsened from"):
            load(tmp_path, document(coarsening={"distinct": distinct, "rule": "multiples of 5"}))
    assert load(tmp_path, document(coarsening={"distinct": 9, "rule": "x"})).n_records == 10


def test_messages_stay_short_whatever_the_file_says(tmp_path: Path) -> None:
    changed = document()
    changed["configurations"] = {"c" * 10**6: {"a" * 10**6: 0}}
    with pytest.raises(SummaryError) as caught:
        load(tmp_path, changed)
    assert len(str(caught.value)) < 2000


def test_the_largest_totals_are_added_up_exactly() -> None:
    """The label's 2^53 records are those of the tables, whatever the order of additions."""
    half = 2**52
    table = MaskedTable({"function": "suppress"}, np.zeros(4, dtype=int), ("*",), [[half, half]])
    attribute = AttributeSummary("integer", 4, None, None, (table,))
    summary = Summary("y", "string", ("a", "b"), [half, half], {"x": attribute}, {"c": {"x": 0}})
    assert summary.n_records == 2**53
    assert advise(summary).attributes["residual"][0] <= 1e-6 * 2**53


def test_channels_are_not_made_for_more_values_than_are_stated(tmp_path: Path) -> None:
    """A file of 1 MB that states one value, and lists thousands, took more than 3 GB."""
    listed = [f"v{i}" for i in range(500)]
    noise = {"function": "randomized_response", "epsilon": 1.0, "domain": listed}
    tables = [{"mask": noise, "groups": None, "labels": listed, "joint": [[1, 1]]}] * 60
    changed = document(kind="string", n_values=1, values=listed, histogram=[1] * 500, tables=tables)
    tracemalloc.start()
    try:
        with pytest.raises(SummaryError, match=r"'age' has 1 values by its own account, but 500 are listed"):
            load(tmp_path, changed | {"version": 6})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 2**20


def test_masks_of_a_label_that_a_few_bytes_claim_have_a_ceiling(tmp_path: Path) -> None:
    """A hundred masks of five million classes, in 13 kB, took 4 GB."""
    runs = {"runs": [[0, 2_500_000], [1, 2_500_000]]}
    mask = {"mask": {"function": "generalize"}, "groups": runs, "labels": ["l", "h"], "counts": [1, 1]}
    label = {"name": "y", "kind": "integer", "values": None, "counts": None, "n_values": 5_000_000}
    changed = document() | {"version": 6, "label": label | {"masks": [mask] * 100, "configurations": {}}}
    tracemalloc.start()
    try:
        with pytest.raises(SummaryError, match=r"group 500,000,000 classes together; at most 20,000,000"):
            load(tmp_path, changed)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * 2**20
