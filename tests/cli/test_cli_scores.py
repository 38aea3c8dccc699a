"""Scores in a terminal: what is shared, what each mask costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
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


def test_a_label_that_is_a_number(tmp_path: Path, run: Run) -> None:
    frame = pd.DataFrame({"a": range(60), "y": [0.5 * (i % 30) + i / 100 for i in range(60)]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    masks = {"wide": {"a": ao.Bucketize(width=30)}, "narrow": {"a": ao.Bucketize(width=5)}}
    ao.save_configurations(ao.Configurations(masks), tmp_path / "c.json")
    out = tmp_path / "s.json"
    options = ("--label", "y", "--configurations", tmp_path / "c.json", "-o", out)
    given = ("summarize", tmp_path / "t.csv", *options)
    code, _, err = run(*given)
    assert code == 1
    assert "label_bins=4" in err
    code, shown, _ = run(*given, "--label-kind", "number", "--score", "r2")
    assert code == 0
    assert "label 'y', a number" in shown
    advised = json.loads(run("advise", out, "--measure", "r2", "--json")[1])
    assert (advised["best"], advised["certified"]) == ("narrow", True)
    assert "narrow" in run("advise", out, "--measure", "eta2")[1]
    made = json.loads(run(*given, "--label-bins", "3", "--json")[1])
    assert made["label_is_number"] is False
    assert len(ao.Summary.load(out).label_values) == 3
    for written, classes in (("5,10", ("<5", "[5, 10)", ">=10")), ("5,", ("<5", ">=5"))):
        assert run(*given, "--label-bins", written)[0] == 0
        assert ao.Summary.load(out).label_values == classes
    code, _, err = run(*given, "--label-bins", "few")
    assert (code, "must be a number of quantiles" in err) == (2, True)
    code, _, err = run(*given, "--label-bins", "3", "--label-kind", "number")
    assert (code, "leave out one of them" in err) == (1, True)
    assert run("generate", tmp_path / "t.csv", "--label", "y", "--all", "-o", tmp_path / "all.json")[0] == 0


def test_several_labels(files: Path, run: Run) -> None:
    frame = pd.read_csv(files / "people.csv")
    frame.assign(heavy=frame["weight"] > 75).to_csv(files / "people.csv", index=False)
    masks = {"wide": {"age": ao.Bucketize(width=30)}, "narrow": {"age": ao.Bucketize(width=5)}}
    ao.save_configurations(ao.Configurations(masks), files / "c.json")
    out = files / "several.json"
    given = ("summarize", files / "people.csv", "--configurations", files / "c.json", "-o", out)
    labels = ("--label", "health", "--label", "heavy", "--label", "weight", "--label-kind", "weight=number")
    code, shown, _ = run(*given, *labels)
    assert (code, "3 labels" in shown) == (0, True)
    assert json.loads(run(*given, *labels, "--json")[1])["labels"] == ["health", "heavy", "weight"]
    code, shown, _ = run("advise", out)
    assert (code, "Take narrow" in " ".join(shown.split())) == (0, True)
    assert max(map(len, shown.splitlines())) <= 100
    advised = json.loads(run("advise", out, "--json")[1])
    assert list(advised["labels"]) == ["health", "heavy", "weight"]
    one = json.loads(run("advise", out, "--label", "heavy", "--measure", "mi", "--json")[1])
    assert one["certified"] is True
    code, shown, _ = run("audit", out, "--label", "heavy")
    assert code == 0
    for words, told in (
        (("advise", out, "--explain"), "choose one with --label"),
        (("advise", out, "--label", "age"), "unknown label 'age'"),
        (("audit", out), "choose one with --label"),
        (("advise", files / "summary.json", "--label", "heavy"), "unknown label 'heavy'"),
        ((*given, "--label", "health", "--label", "health"), "named twice"),
    ):
        code, _, err = run(*words)
        assert (code, told in err) == (1, True), err
    code, _, err = run(*given, *labels, "--label-bins", "3", "--label-bins", "heavy=2")
    assert (code, "once for all labels" in err) == (2, True)
    assert run(*given, *labels, "--label-kind", "what")[0] == 2
