"""Scores in a terminal: what is shared, what each mask costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import aegis_opt as ao

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def scores(files: Path, run: Run) -> Path:
    """A file of scores that the command has written, with what each mask costs."""
    path = files / "scores.json"
    given = ("--label", "health", "--configurations", files / "masks.json", "-o", path)
    assert run("summarize", files / "people.csv", *given, "--share", "scores", "--explain")[0] == 0
    return path


def test_explain_shows_what_each_mask_costs_within_80_columns(scores: Path, run: Run) -> None:
    advice = ao.advise(scores)
    code, out, err = run("advise", scores, "--top", 1, "--explain")
    assert (code, err) == (0, "")
    start = out.index(f"What each mask of {advice.best} costs, by r2_gcv")
    table = out[start : out.index("Best  ")].splitlines()
    assert max(map(len, table)) <= 80
    shown = [line.split()[0] for line in table if line.startswith((" age", " weight", " zip"))]
    assert shown == list(advice.explain()["attribute"])
    change = advice.suggest()
    assert change is None or " ".join(str(change).split()) in " ".join(out.split())


def test_explain_takes_the_name_of_a_configuration(scores: Path, run: Run) -> None:
    _, out, _ = run("advise", scores, "--explain", "coarse-age", "--json")
    found = json.loads(out)["explanation"]
    assert (found["configuration"], found["measure"]) == ("coarse-age", "r2_gcv")
    assert [row["attribute"] for row in found["attributes"]] == list(
        ao.advise(scores).explain("coarse-age")["attribute"]
    )
    assert found["suggestion"]["gain"] == pytest.approx(ao.advise(scores).suggest("coarse-age").gain)
    code, out, err = run("advise", scores, "--explain", "nowhere")
    assert (code, out) == (1, "")
    assert "unknown configuration 'nowhere'" in err


def test_tables_are_explained_by_their_measures(files: Path, run: Run) -> None:
    code, out, _ = run("advise", files / "summary.json", "--measure", "mi", "--explain")
    assert code == 0
    assert "costs, by mi" in out


def test_bootstrap_shows_how_far_the_others_are_behind(files: Path, run: Run) -> None:
    code, out, _ = run("advise", files / "summary.json", "--measure", "mi_loo", "--bootstrap", 40, "--top", 2)
    assert code == 0
    assert "behind the best" in out
    expected = ao.advise(files / "summary.json", "mi_loo", bootstrap=40)
    low, high = expected.ranking.loc[1, ["difference_low", "difference_high"]]
    assert f"{low:.4f} to {high:.4f}" in out
