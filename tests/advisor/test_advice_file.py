"""Advice as a file: what is saved comes back, and what is damaged is refused with a reason."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import AdviceError
from aegis_opt.measures import _registry


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


def swap_numbers(part: dict[str, Any], *columns: str) -> None:
    for column in columns:
        values = part["ranking"][column]
        values[0], values[-1] = values[-1], values[0]


LIES: dict[str, tuple[str, Any, str]] = {
    "another winner": (
        "mi",
        lambda a: a.update(best=a["ranking"]["configuration"][-1], equivalent=[]),
        "its winner, or what shares the first place, is not of the first rank",
    ),
    "a winner beside the first": (
        "mi",
        lambda a: a.update(tied=[*a["tied"], a["ranking"]["configuration"][-1]]),
        "what shares the first place",
    ),
    "another order": ("mi", lambda a: swap_numbers(a, "pud"), "ranks do not follow its numbers"),
    "all first": ("mi", lambda a: a["ranking"].update(rank=[1] * 12), "ranks do not follow its numbers"),
    "no ranks": ("mi", lambda a: a["ranking"].update(rank=[3] * 12), "not those of a ranking"),
    "other numbers": (
        "mi",
        lambda a: a["ranking"]["pud"].__setitem__(0, 1e-9),
        "its pud is not the mean over the attributes",
    ),
    "other bounds": (
        "mi",
        lambda a: a["ranking"].update(pud_low=a["ranking"]["pud_high"], pud_high=a["ranking"]["pud_low"]),
        "is no interval",
    ),
    "texts": ("mi", lambda a: a["ranking"].update(score=["x"] * 12), "other things than numbers"),
    "another score": ("mi_loo", lambda a: swap_numbers(a, "score"), "ranks do not follow its numbers"),
    "others alike": (
        "mi_loo",
        lambda a: a.update(equivalent=a["ranking"]["configuration"][-2:]),
        "not among what cannot be told apart",
    ),
    "a proof by a measure that has none": ("mi_loo", lambda a: a.update(certified=True), "by 'mi_loo'"),
    "a proof by single views": ("mi", lambda a: a.update(scope="single"), "nothing proves its order"),
    "a proof of no winner": (
        "mi",
        lambda a: a.update(best=None, tied=[], certified=True),
        "names no winner, and says",
    ),
    "other masked values": (
        "mi",
        lambda a: [column.__setitem__(0, 1e-3) for column in a["masked"].values()],
        "its order is not that of the masked values|its masked values are not those of the summary",
    ),
    "a score that was not shared": (
        "r2",
        lambda a: a["ranking"]["score"].__setitem__(0, 1.0),
        "its scores are not those of the summary",
    ),
    "a proof by a score that has none": ("r2_cv", lambda a: a.update(certified=True), "an order by 'r2_cv'"),
}


@pytest.mark.parametrize("name", LIES)
def test_advice_that_contradicts_its_own_numbers_is_refused(
    clinic: ao.datasets.Dataset, name: str, tmp_path: Path
) -> None:
    measure, lie, words = LIES[name]
    path = tmp_path / "advice.json"
    options = {"share": "scores", "scores": ["r2", "r2_cv"]} if measure.startswith("r2") else {}
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, **options)  # type: ignore[call-overload]
    ao.advise(summary, measure).save(path)
    document = json.loads(path.read_text())
    lie(document["advice"])
    path.write_text(json.dumps(document))
    with pytest.raises(AdviceError, match=words) as caught:
        ao.Advice.load(path)
    assert f"{path}: the advice contradicts itself" in str(caught.value)


def test_a_plugin_is_not_loaded_because_a_file_names_its_measure(
    clinic: ao.datasets.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "advice.json"
    advice_of(clinic, "tables", measure="mi").save(path)
    document = json.loads(path.read_text())
    document["advice"]["criterion"]["name"] = "halves"
    path.write_text(json.dumps(document))
    monkeypatch.setattr(_registry, "offers", lambda _: pytest.fail("a plugin was looked for"))
    assert ao.Advice.load(path).measure == "halves"


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


def test_masks_without_noise_keep_their_infinite_epsilon(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [0, 1, 2, 3] * 20, "y": ["u", "v", "v", "u"] * 20})
    masks = {"none": {"x": ao.Bucketize(width=2)}, "noise": {"x": ao.RandomizedResponse(p=0.8, seed=1)}}
    advice = ao.advise(ao.summarize(frame, "y", masks), "mi")
    advice.save(tmp_path / "advice.json")
    loaded = ao.Advice.load(tmp_path / "advice.json")
    pd.testing.assert_frame_equal(loaded.ranking, advice.ranking)
    assert np.isinf(loaded.ranking.set_index("configuration").loc["none", "epsilon"])


@pytest.mark.parametrize(
    "change",
    [
        {"require": "k=2020-02-31"},
        {"require": "k=" + "9" * 5000},
        {"require": "k=" + "[" * 1000},
        {"require": "k=!!int"},
        {"require": "=5"},
        {"x=__import__('os')) #": 1},
    ],
    ids=str,
)
def test_what_was_asked_is_an_option_and_a_rule_is_a_rule(
    clinic: ao.datasets.Dataset, tmp_path: Path, change: dict[str, Any]
) -> None:
    """They were read as YAML, whose errors were raw, and names stood in the record's Python as they were."""
    path = tmp_path / "advice.json"
    ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi").save(path)
    document = json.loads(path.read_text())
    document["advice"]["asked"] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(AdviceError, match=r"no privacy rule|must be an option with a plain value"):
        ao.Advice.load(path).report(tmp_path / "advice.html")


def test_columns_of_the_attributes_that_are_numbers_hold_numbers(
    clinic: ao.datasets.Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "advice.json"
    ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations), "mi").save(path)
    document = json.loads(path.read_text())
    for name in ("disclosed", "estimate", "residual"):
        changed = copy.deepcopy(document)
        columns = changed["advice"]["attributes"]
        columns[name] = ["x"] * len(columns["attribute"])
        path.write_text(json.dumps(changed))
        with pytest.raises(AdviceError, match=f"'{name}' of 'attributes' in the advice has the wrong type"):
            ao.Advice.load(path)
