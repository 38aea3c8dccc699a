"""The commands `search` and `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.privacy._lattice._branch import Branching


@pytest.fixture
def table(tmp_path: Path) -> Path:
    clinic = ao.datasets.clinic(400, seed=0)
    clinic.frame[["age", "weight", "health"]].to_csv(tmp_path / "table.csv", index=False)
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    for name, width in (("age", 10), ("weight", 20)):
        values = sorted(set(pd.read_csv(tmp_path / "table.csv")[name].tolist()))
        rows = [f"{value};{value // width * width};{value // 60};*" for value in values]
        (folder / f"{name}.csv").write_text("\n".join(rows))
    (folder / "health.csv").write_text("good;*\n")
    return tmp_path


def arguments(table: Path) -> list[str]:
    return [
        *(
            "search",
            str(table / "table.csv"),
            "--label",
            "health",
            "--hierarchies",
            str(table / "hierarchies"),
        ),
        *("--k", "3", "--suppression", "0.05"),
    ]


def test_search_then_verify(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof, best = table / "proof.json", table / "best.json"
    assert main([*arguments(table), "-o", str(best), "--certificate", str(proof)]) == 0
    shown = capsys.readouterr().out
    assert "proved the least" in shown
    assert "health.csv" in shown  # the label's hierarchy is not used, and that is said
    assert ao.load_configurations(best).label == "health"
    assert main(["verify", str(proof), str(table / "table.csv")]) == 0
    assert "verified: 400 records" in capsys.readouterr().out
    assert main(["verify", "--json", str(proof), str(table / "table.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    proof.write_text(proof.read_text().replace('"cost": ', '"cost": 1'))
    assert main(["verify", str(proof), str(table / "table.csv")]) == 1
    assert "digest" in capsys.readouterr().err


def test_json_is_what_the_function_returns(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments(table), "--json", "--measure", "mi_loo", "--attribute", "age"]) == 0
    written = json.loads(capsys.readouterr().out)
    files = {"age": table / "hierarchies" / "age.csv"}
    rule = ao.privacy.KAnonymity(3)
    found = ao.search(table / "table.csv", "health", files, rule, 0.05, "mi_loo")
    assert (written["choice"], written["cost"], written["proved"]) == (found.choice, found.cost, True)
    assert written["rules"] == ["k=3"]
    assert written["unused"] == ["health.csv", "weight.csv"]


def test_ctrl_c_shows_the_best_so_far(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Branching, "_learn", interrupt)
    assert main(arguments(table)) == 130
    captured = capsys.readouterr()
    assert "not proved" in captured.out
    assert "interrupted" in captured.err


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (["--k", "500"], "more than the 400 records"),
        (["--attribute", "height"], "no hierarchy of 'height'"),
        (["--measure", "r2_gcv"], "no sum over attributes"),
        (["--suppression", "2"], "suppression"),
        (["--hierarchies", "nowhere"], "no folder"),
    ],
)
def test_what_is_wrong_is_told(
    table: Path, change: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments(table), *change]) == 1
    assert text in capsys.readouterr().err
