"""Advice as a file: what is saved comes back, and what is damaged is refused with a reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import AdviceError


@pytest.fixture(scope="module")
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(500)


def advice_of(clinic: ao.datasets.Dataset, share: str, **options: Any) -> ao.Advice:
    how = {"explain": True} if share != "tables" else {"histograms": True}
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share=share, **how)  # type: ignore[call-overload]
    return ao.advise(summary, **options)


def assert_same(one: ao.Advice, two: ao.Advice) -> None:
    for name in (
        "best",
        "tied",
        "certified",
        "warnings",
        "reason",
        "criterion",
        "scope",
        "solver",
        "equivalent",
    ):
        assert getattr(one, name) == getattr(two, name), name
    for name in ("ranking", "deviations", "masked", "attributes"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name))
    assert one.summary == two.summary
    assert one.asked == two.asked
    assert (one.replicates is None) == (two.replicates is None)
    if one.replicates is not None and two.replicates is not None:
        pd.testing.assert_frame_equal(one.replicates, two.replicates)
    assert (one.changes is None) == (two.changes is None)
    if one.best is not None and one.changes is not None:
        pd.testing.assert_frame_equal(one.explain(), two.explain())
        assert str(one.suggest()) == str(two.suggest())
    if one.by_mi is not None and two.by_mi is not None:
        assert_same(one.by_mi, two.by_mi)


@pytest.mark.parametrize(
    ("share", "options"),
    [
        ("tables", {}),
        ("tables", {"measure": "mi"}),
        ("tables", {"measure": "g3", "scope": "single"}),
        ("tables", {"measure": "mi", "rounding": "drawn", "replicates": 3, "seed": 4}),
        ("tables", {"measure": "mi", "bootstrap": 5, "chance": True}),
        ("tables", {"measure": "chi2", "solver": "auto"}),
        ("scores", {}),
        ("scores", {"measure": "mi"}),
        ("both", {"measure": "r2_cv"}),
    ],
)
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_what_is_saved_comes_back(
    clinic: ao.datasets.Dataset, share: str, options: dict[str, Any], ending: str, tmp_path: Path
) -> None:
    advice = advice_of(clinic, share, **options)
    advice.save(tmp_path / f"a{ending}")
    found = ao.Advice.load(tmp_path / f"a{ending}")
    assert_same(advice, found)
    assert str(found) == str(advice)
    assert found.to_dict() == advice.to_dict()
    found.save(tmp_path / f"b{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


def test_it_says_what_was_asked_and_of_which_file(clinic: ao.datasets.Dataset, tmp_path: Path) -> None:
    from hashlib import sha256

    path = tmp_path / "summary.json"
    ao.summarize(clinic.frame, clinic.label, clinic.configurations).save(path)
    asked = ao.advise(path, "mi", rounding="drawn", replicates=2, seed=3).asked
    digest = sha256(path.read_bytes()).hexdigest()
    wanted = {"measure": "mi", "rounding": "drawn", "replicates": 2, "seed": 3}
    assert asked == {"summary": str(path), "sha256": digest, **wanted}


DAMAGES: dict[str, tuple[Any, str]] = {
    "other format": (lambda d: d.update(format="x"), "is no advice"),
    "newer": (lambda d: d.update(version=2), "made by a newer aegis-opt"),
    "older": (lambda d: d.update(version=0), "does not exist"),
    "no ranking": (lambda d: d["advice"].pop("ranking"), "the advice has no 'ranking'"),
    "unknown winner": (lambda d: d["advice"].update(best="x"), "names a configuration that it does not have"),
    "a text for a number": (
        lambda d: d["advice"]["deviations"]["age"].__setitem__(0, "x"),
        "has the value 'x'",
    ),
    "huge": (lambda d: d["advice"]["masked"]["age"].__setitem__(0, 1e300), "which no advice has"),
    "a shorter column": (lambda d: d["advice"]["ranking"]["pud"].pop(), "lists of one length"),
    "other attributes": (
        lambda d: d["advice"]["attributes"]["attribute"].__setitem__(0, "x"),
        "other attributes",
    ),
    "a configuration twice": (
        lambda d: d["advice"]["configurations"].__setitem__(0, d["advice"]["configurations"][1]),
        "each once",
    ),
    "no boolean": (lambda d: d["advice"].update(certified=1), "'certified' in the advice has the wrong type"),
    "a summary of others": (
        lambda d: d["summary"]["configurations"].pop(next(iter(d["summary"]["configurations"]))),
        "other configurations",
    ),
    "a damaged summary": (lambda d: d["summary"].pop("label"), "the summary in it"),
    "half a character": (lambda d: d["advice"].update(reason="\ud800"), "half a character"),
    "many decimals": (lambda d: d["advice"]["criterion"].update(digits=10**6), "decimals"),
    "nested": (lambda d: d["advice"]["asked"].update(x=[[]]), "plain value"),
    "changes without summary": (lambda d: d.update(summary=None), "need the summary"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damages_are_refused_with_a_reason(clinic: ao.datasets.Dataset, name: str, tmp_path: Path) -> None:
    path = tmp_path / "advice.json"
    advice_of(clinic, "tables", measure="mi").save(path)
    document = json.loads(path.read_text())
    damage, words = DAMAGES[name]
    damage(document)
    path.write_text(json.dumps(document))
    with pytest.raises(AdviceError, match=words) as caught:
        ao.Advice.load(path)
    assert str(path) in str(caught.value)


def test_what_is_no_file_of_an_advice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AdviceError, match="file not found"):
        ao.Advice.load(tmp_path / "none.json")
    with pytest.raises(AdviceError, match=r"ends in \.json"):
        ao.Advice.load(tmp_path / "advice.txt")
    (tmp_path / "a.json").write_text('{"format": NaN}')
    with pytest.raises(AdviceError, match="NaN is no JSON number"):
        ao.Advice.load(tmp_path / "a.json")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"{}")[:-3])
    with pytest.raises(AdviceError, match="cut short"):
        ao.Advice.load(tmp_path / "a.json.gz")


def test_a_failed_save_leaves_what_was_there(
    clinic: ao.datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = advice_of(clinic, "tables", measure="mi")
    advice.save(tmp_path / "a.json")
    before = (tmp_path / "a.json").read_bytes()
    monkeypatch.setattr("aegis_opt.advisor._file.MOST_BYTES", 100)
    with pytest.raises(AdviceError, match="ask about fewer configurations"):
        advice.save(tmp_path / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == before
