"""Orders and values on the command line: generate keeps them, summarize shares them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aegis_opt as ao

Run = Callable[..., tuple[int, str, str]]
PEOPLE = 'size,zip,age,y\nS,10001,10,a\n"M, tall",10002,20,b\nL,10003,,b\nS,10001,10,a\n'
ORDERS = ("--order", 'size=S,"M, tall",L', "--nominal", "zip")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path / "people.csv"


@pytest.mark.parametrize("how", [("-n", "2"), ("--all",)], ids=["drawn", "all"])
def test_generate_keeps_orders_and_summarize_uses_them(run: Run, people: Path, how: tuple[str, ...]) -> None:
    masks, shared = people.with_name("masks.yaml"), people.with_name("s.json")
    code, _, err = run("generate", people, "--label", "y", *how, *ORDERS, "-o", masks)
    assert (code, err) == (0, "")
    assert dict(ao.load_configurations(masks).order) == {"size": ("S", "M, tall", "L"), "zip": "nominal"}
    code, out, err = run("summarize", people, "--configurations", masks, "--values-of", "age", "-o", shared)
    assert (code, err) == (0, "")
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "given" in rows["size"]
    assert "nominal" in rows["zip"]
    assert "values only" in rows["age"]
    summary: Any = ao.Summary.load(shared)
    assert summary.problem("size").positions.tolist() == [0, 1, 2]
    assert summary.problem("zip").positions is None
    assert summary.attributes["age"].values == (10, 20, None)
    assert summary.attributes["zip"].values is None


def test_summarize_takes_orders_and_says_them_in_json(run: Run, people: Path) -> None:
    masks = people.with_name("masks.json")
    ao.save_configurations(ao.Configurations({"c": {"size": ao.Suppress(), "zip": ao.Suppress()}}), masks)
    words = ("summarize", people, "--label", "y", "--configurations", masks, "-o", people.with_name("s.json"))
    code, out, _ = run(*words, *ORDERS, "--values", "--json")
    assert code == 0
    found = {row["attribute"]: (row["order"], row["values_shared"]) for row in json.loads(out)["attributes"]}
    assert found == {"size": ("given", True), "zip": ("nominal", True)}
    code, out, _ = run(*words, "--order", "size=ascending", "--json")
    assert [row["order"] for row in json.loads(out)["attributes"]] == ["ascending", "ascending"]
    code, _, err = run(*words, "--order", "size=S,L")
    assert code == 1
    assert "the order of 'size' does not list 'M, tall'" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--order", "size"), "must be attribute=value,value such as size=S,M,L, not 'size'"),
        (("--order", "size="), "must be attribute=value,value"),
        (("--order", "=S"), "must be attribute=value,value"),
        (("--order", "size=S,M", "--nominal", "size"), "size is declared twice"),
        (("--nominal", "size", "--nominal", "size"), "size is declared twice"),
        (("--values", "--values-of", "size"), "not allowed with"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told(run: Run, people: Path, words: tuple[str, ...], message: str) -> None:
    code, _, err = run("summarize", people, "--configurations", "masks.json", "-o", "s.json", *words)
    assert code == 2
    assert message in err


@pytest.mark.parametrize("text", ["size=S\nM,L", "size=S\rM"])
@pytest.mark.parametrize("option", ["--order", "--domain"])
def test_a_line_break_between_values_is_refused(run: Run, people: Path, option: str, text: str) -> None:
    command = ("summarize", people, "--label", "y", "--configurations", "c.yaml", "-o", "s.json")
    code, _, err = run(*command, option, text)
    assert code == 2
    assert f"argument {option}: must be on one line: put a value with a line break into double quotes" in err
