"""Configuration files and hierarchies that would exhaust or mislead their reader are refused."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import pytest

from aegis_opt.domain import Domain
from aegis_opt.errors import AegisError, ConfigurationError, InvalidOption, MaskError
from aegis_opt.masks import (
    Bucketize,
    Configuration,
    Configurations,
    EraseDigits,
    Generalize,
    Hierarchy,
    Suppress,
    _configuration,
    _documents,
    _hierarchy,
    load_configurations,
    mask_from_spec,
)

LAUGHS = "\n".join(f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 9 if i else ['x'])}]" for i in range(30))
MERGED = "\n".join(
    f"b{i}: &b{i} {{<<: [{', '.join([f'*b{i - 1}'] * 9)}]}}" if i else "b0: &b0 {a: {function: suppress}}"
    for i in range(30)
)
CHAIN = "\n".join(f"b{i}: &b{i} [{f'*b{i - 1}' if i else 'x'}]" for i in range(500))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.yaml", LAUGHS, "more than 100,000 entries, aliases written out"),
        ("c.yaml", MERGED, "more than 100,000 entries, aliases written out"),
        ("c.yaml", f"a: [{'b, ' * 100_000}]", "more than 100,000 entries"),
        ("c.yaml", CHAIN, "nested deeper than 32 levels"),
        ("c.yaml", "a: " + "[" * 5000, "nested deeper than 32 levels"),
        ("c.yaml", "a: &a [*a]", "line 1: an alias refers to what it is part of"),
        ("c.yaml", "a: !!int '_'", "line 1: the tag .*int' is not read"),
        ("c.yaml", "a: !!bool maybe", "the tag .*bool' is not read"),
        ("c.yaml", "a: !!timestamp x", "the tag .*timestamp' is not read"),
        ("c.yaml", 'a: {"\\ud800": {function: suppress}}', "half a character"),
        ("c.json", '{"a": ' + "[" * 100_000, "nested deeper than 32 levels"),
        ("c.json", '{"a": {"b": {"c": ' + "[" * 40 + "]" * 40 + "}}}", "nested deeper than 32 levels"),
        ("c.json", '{"a": ' + "9" * 5000 + "}", "a number of thousands of digits"),
        ("c.yaml", "a:\n  b: -" + "9" * 5000, "line 2 has a number of thousands of digits"),
        ("c.json", '{"a": {"\\ud800": {"function": "suppress"}}}', "half a character"),
    ],
    ids=lambda value: value[:30],
)
def test_files_that_would_break_their_reader_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigurationError, match=message):
        load_configurations(tmp_path / name)


@pytest.mark.parametrize(("name", "ceiling"), [("c.json", "MOST_BYTES"), ("c.yaml", "MOST_YAML_BYTES")])
def test_files_have_a_largest_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, ceiling: str
) -> None:
    (tmp_path / name).write_text('{"a": {"age": {"function": "suppress"}}}')
    assert load_configurations(tmp_path / name)["a"]["age"] == Suppress()
    monkeypatch.setattr(_documents, ceiling, 20)
    with pytest.raises(ConfigurationError, match="more than 20 bytes"):
        load_configurations(tmp_path / name)


@pytest.mark.parametrize(
    "spec",
    [
        {"function": "bucketize", "width": {"days": 10**18}},
        {"function": "prefix", "length": 10**18},
        {"function": "generalize", "mapping": [[10**400, [1]]]},
        {"function": "generalize", "hierarchy": "\0", "level": 0},
        {"function": "generalize", "hierarchy": "\ud800", "level": 0},
        {"function": ["suppress"]},
        {"function": "x" * 10**6},
    ],
    ids=lambda spec: str(spec)[:60],
)
def test_parameters_beyond_all_bounds_are_refused_in_few_words(spec: dict[str, Any]) -> None:
    with pytest.raises(AegisError) as caught:
        mask_from_spec(spec, Path())
    assert len(str(caught.value)) < 2000


def test_buckets_of_dates_take_any_origin() -> None:
    dates = Domain.of([dt.date(2020, 1, 1), dt.date(2020, 1, 2)])
    assert Bucketize(width=1, origin=1e308).group(dates).n_groups == 2
    with pytest.raises(MaskError, match="no duration"):
        Bucketize(width=2**61).group(dates)


def test_a_moment_that_utc_cannot_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "a: {born: {function: generalize, mapping: {old: [0001-01-01T00:00:00+14:00]}}}"
    )
    with pytest.raises(AegisError, match="beyond the years 1 to 9999"):
        load_configurations(tmp_path / "c.yaml")


def test_more_digits_than_numbers_have_cost_nothing() -> None:
    assert EraseDigits(10**15).group(Domain.of([7, 1234])).labels == ("0", "0000")


def test_listed_integers_of_hundreds_of_digits_match_nothing() -> None:
    mask = Generalize({"a": [1.5, 10**400], "b": [2.5]})
    assert mask.group(Domain.of([1.5, 2.5])).labels == ("a", "b")


SECRET = "root:hunter2"


@pytest.mark.parametrize(
    "text",
    [f"{SECRET}\n{SECRET}\n", f"{SECRET},a\n{SECRET}\n", f'"{SECRET}\n', f"{SECRET}\xff\n", f"\n{SECRET}\n"],
    ids=["twice", "cells", "quotes", "bytes", "empty row"],
)
def test_errors_do_not_quote_what_stands_in_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "h.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(MaskError) as caught:
        Hierarchy.from_csv(tmp_path / "h.csv")
    assert "hunter2" not in str(caught.value)


def test_numbers_that_clash_in_a_file_are_named_by_their_rows(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("4711,a\n4711.0,b\n5,a\n")
    with pytest.raises(MaskError, match="rows 1") as caught:
        Generalize(hierarchy=tmp_path / "h.csv", level=1).group(Domain.of([5]))
    assert "4711" not in str(caught.value)


def test_hierarchies_are_regular_files_of_limited_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "pipe.csv", tmp_path / "zero.csv"):
        with pytest.raises(MaskError, match="is no regular file"):
            Hierarchy.from_csv(path)
    monkeypatch.setattr(_hierarchy, "MOST_BYTES", 10)
    (tmp_path / "large.csv").write_text("17,10-19,*\n")
    with pytest.raises(MaskError, match="more than 10 bytes"):
        Hierarchy.from_csv(tmp_path / "large.csv")


def test_cells_keep_line_separators_that_are_no_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a\u2028b,x\nc\x85d,y\n", encoding="utf-8")
    assert Hierarchy.from_csv(tmp_path / "h.csv").rows == (("a\u2028b", "x"), ("c\x85d", "y"))


def test_a_delimiter_is_one_character(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("1,a\n")
    with pytest.raises(MaskError, match="delimiter must be one character"):
        Hierarchy.from_csv(tmp_path / "h.csv", delimiter=";;")


@pytest.mark.parametrize(
    "table",
    ["http://...", "https://example.org/x.parquet", "s3://a/b", "read_csv('x')", "?", "$x", "", "a\0"],
)
@pytest.mark.parametrize("dialect", ["duckdb", "snowflake"])
def test_an_address_a_function_or_a_parameter_is_no_table(table: str, dialect: str) -> None:
    with pytest.raises(InvalidOption, match="names no table"):
        Configuration({"a": Suppress()}).to_sql(dialect, table)


def test_odd_names_of_tables_are_quoted() -> None:
    assert Configuration({"a": Suppress()}).to_sql("duckdb", "main.my table").endswith('FROM main."my table"')


def test_an_empty_name_is_refused_with_the_way_out() -> None:
    with pytest.raises(ConfigurationError, match=r"attribute '' must be a name .*: rename the column first"):
        Configuration({"": Suppress()})
    with pytest.raises(ConfigurationError, match=r"the label must .*, not '': rename the column first"):
        Configurations({"c": {"a": Suppress()}}, label="")
    with pytest.raises(ConfigurationError, match="must be a non-empty string, not ''"):
        Configurations({"": {"a": Suppress()}})
    with pytest.raises(InvalidOption, match="'' is none"):
        Configuration({"a": Suppress()}).to_sql(columns=["a", ""])


def test_a_mapping_is_shown_shortly(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"c": {"a": ["x"] * 10**5}}))
    with pytest.raises(ConfigurationError) as caught:
        load_configurations(tmp_path / "c.json")
    assert len(str(caught.value)) < 1000


def test_a_hierarchy_is_read_once_for_all_masks_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mask read and kept its own: fifty configurations over one took gigabytes."""
    (tmp_path / "h.csv").write_text("".join(f"{i},low,*\n" for i in range(1000)))
    (tmp_path / "other.csv").write_text("1,*\n")
    mask = '{"x": {"function": "generalize", "hierarchy": "%s", "level": 1}}'
    text = ", ".join(f'"c{i}": {mask % "h.csv"}' for i in range(50))
    (tmp_path / "c.json").write_text("{" + text + f', "other": {mask % "other.csv"}}}')
    loaded = load_configurations(tmp_path / "c.json")
    assert len({id(loaded[f"c{i}"]["x"].hierarchy) for i in range(50)}) == 1  # type: ignore[attr-defined]
    monkeypatch.setattr(_configuration, "MOST_CELLS", 3000)
    with pytest.raises(
        ConfigurationError, match=r"'other', attribute 'x': .* more than 3,000 cells together"
    ):
        load_configurations(tmp_path / "c.json")


def test_a_merge_key_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """The last one won without a word."""
    merged = "<<: {x: {function: suppress}}"
    (tmp_path / "c.yaml").write_text(f"a:\n  {merged}\n  {merged}\n")
    with pytest.raises(
        ConfigurationError, match="the key '<<' is given twice in one mapping, at lines 2 and 3"
    ):
        load_configurations(tmp_path / "c.yaml")
