"""Several labels in one scan: the same as one by one, their file, and the ranking for all together."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import aegis_opt as ao
from aegis_opt.scores import Race
from aegis_opt.sources import _small_frames
from aegis_opt.sources._duckdb_engine import DuckDBEngine

MASKS = {
    "one": {"a": ao.Bucketize(width=10), "b": ao.Suppress()},
    "two": {"a": ao.Bucketize(width=25), "b": ao.Identity()},
    "three": {"a": ao.KeepTop(3), "b": ao.Generalize({"xy": ["x", "y"], "z": ["z"]})},
}
LABELS = ["health", "rich", "cost"]
KINDS = {"cost": "number"}


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 50, n), "b": rng.choice(list("xyz"), n)})
    frame["health"] = np.where(rng.random(n) < 0.7, np.where(frame["a"] > 25, "poor", "good"), "fair")
    frame["rich"] = (frame["b"] == "x") ^ (rng.random(n) < 0.2)
    frame["cost"] = (frame["a"] * 0.3 + (frame["b"] == "y") * 4 + rng.normal(size=n)).round(2)
    return frame


@pytest.fixture(params=["small", "pandas", "polars", "csv", "relation", "records stay"])
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    frame = table()
    if request.param == "small":
        return frame
    monkeypatch.setattr(_small_frames, "LARGEST", 0)
    if request.param == "polars":
        return pl.from_pandas(frame)
    if request.param == "relation":
        return duckdb.from_df(frame)
    if request.param == "records stay":
        monkeypatch.setattr("aegis_opt.sources._engine.Records.may_leave", False)
    if request.param in ("pandas", "records stay"):
        return frame
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize("share", [None, "scores"])
def test_several_labels_give_what_each_gives_alone(source: Any, share: Any) -> None:
    options: dict[str, Any] = {"share": share}
    if share == "scores":
        options |= {"scores": ["r2", "r2_gcv", Race(rows=50, finalists=2)]}
    together = ao.summarize(source, LABELS, MASKS, label_kind=KINDS, **options)
    assert list(together) == LABELS == list(together.labels)
    for label in LABELS:
        alone = ao.summarize(source, label, MASKS, label_kind=KINDS.get(label), **options)
        ours = together[label]
        if isinstance(alone, ao.Summary):
            assert ours == alone
            continue
        assert ours.configurations == alone.configurations
        for name, attribute in alone.attributes.items():
            for measure, values in attribute.measures.items():
                assert ours.attributes[name].measures[measure] == pytest.approx(values, abs=1e-12)
        for score in ("r2", "r2_gcv") if share else ("r2_gcv",):
            found = ours.scores[score].values
            assert dict(found) == pytest.approx(alone.scores[score].values, abs=1e-12)


def test_the_source_is_scanned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table().to_parquet(tmp_path / "t.parquet")
    opened = []
    original = DuckDBEngine.open
    monkeypatch.setattr(DuckDBEngine, "open", lambda self, at: opened.append(list(at)) or original(self, at))
    ao.summarize(tmp_path / "t.parquet", LABELS, MASKS, label_kind=KINDS, share="scores")
    assert opened == [[2, 3, 4, 0, 1]]  # labels, then attributes


def test_one_file_holds_all_labels(tmp_path: Path) -> None:
    made = ao.summarize(table(), LABELS, MASKS, label_kind=KINDS, rules=ao.privacy.KAnonymity(2))
    for name in ("s.json", "s.json.gz"):
        made.save(tmp_path / name)
        assert ao.Summary.load(tmp_path / name) == made
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))
    assert set(made.facts()["label"]) == set(LABELS)
    assert made.get("nothing") is None
    with pytest.raises(ao.AegisError, match="unknown label 'helth': did you mean 'health'"):
        made["helth"]
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["version"] == 7
    first, second, _ = document["summaries"]
    protected = ao.summarize(
        table(), "rich", {"one": {"b": ao.Suppress()}}, protect=ao.privacy.ControlledRounding(3)
    )
    protected.save(tmp_path / "p.json")
    renamed = {key: value for key, value in first.items() if key != "privacy"}
    renamed["configurations"] = {"x": first["configurations"]["one"]}
    for change, words in (
        ({"version": 6}, "version 6 has no summaries of several labels"),
        ({"version": 8}, "newer aegis-opt"),
        ({"summaries": []}, "at least one label"),
        ({"summaries": {}}, "summaries"),
        ({"summaries": [first, first]}, "the label 'health' has two summaries"),
        ({"summaries": [first, 3]}, "summary 1: is no summary"),
        ({"summaries": [first, document]}, "summary 1"),
        ({"summaries": [first] * 101}, "101 labels; at most 100"),
        ({"summaries": [second, renamed]}, "the same configurations"),
        ({"summaries": [json.loads((tmp_path / "p.json").read_text())]}, "summary 0 is protected"),
        ({"summaries": [first, second | {"label": 3}]}, "summary 1"),
        ({"summaries": [first, second | {"attributes": {"a": 3}}]}, "attribute 'a'"),
    ):
        (tmp_path / "s.json").write_text(json.dumps(document | change))
        with pytest.raises(ao.errors.SummaryError, match=words):
            ao.Summary.load(tmp_path / "s.json")


def doubled(part: dict[str, Any]) -> None:
    """Double all counts of a summary."""
    part["label"]["counts"] = [2 * count for count in part["label"]["counts"]]
    for attribute in part["attributes"].values():
        attribute["histogram"] = attribute["histogram"] and [2 * count for count in attribute["histogram"]]
        for written in attribute["tables"]:
            written["joint"] = [[2 * count for count in row] for row in written["joint"]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (doubled, "they have .* records"),
        (lambda part: part["attributes"]["a"].update(values=list(range(100, 150))), "kind or values"),
        (lambda part: part["attributes"]["a"]["histogram"].reverse(), "the histograms|other group totals"),
        (
            lambda part: part["attributes"]["a"]["tables"][0].update(mask={"function": "suppress"}),
            "masks of attribute 'a' differ",
        ),
    ],
    ids=["records", "values", "histogram", "mask"],
)
def test_summaries_that_are_not_of_one_table_are_refused(tmp_path: Path, change: Any, words: str) -> None:
    """They had certificates: what they say of an attribute was compared with its own label only."""
    ao.summarize(table(), ["health", "rich"], MASKS, histograms=True).save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    change(document["summaries"][1])
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(ao.errors.SummaryError, match=words):
        ao.Summary.load(tmp_path / "s.json")


def test_labels_of_a_file_share_its_ceilings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ao.summarize(table(), ["health", "rich"], MASKS)
    made.save(tmp_path / "s.json")
    groups = [sum(a.n_values * len(a.tables) for a in made[label].attributes.values()) for label in made]
    monkeypatch.setattr("aegis_opt.summary._sizes.MOST_GROUPS", sum(groups) - 1)
    for call in (lambda: ao.Summary.load(tmp_path / "s.json"), lambda: made.save(tmp_path / "again.json")):
        with pytest.raises(ao.errors.SummaryError, match=r"group .* values together"):
            call()
    made["rich"].save(tmp_path / "one.json")  # one of them is small enough


def test_the_joint_ranking_is_by_mean_rank_and_worst_loss() -> None:
    summaries = ao.summarize(table(), LABELS, MASKS, label_kind=KINDS)
    measures = {"health": "mi", "rich": "g3", "cost": "eta2"}
    advices = ao.advise(summaries, measures)
    assert advices.certified
    each = {label: ao.advise(summaries[label], measure) for label, measure in measures.items()}
    expected = []
    for name in MASKS:
        ranks, losses = [], []
        for label, advice in each.items():
            assert advices[label].best == advice.best
            masked = advice.masked.mean(axis=1) * (1 if advice.criterion.higher_is_better else -1)
            ranks.append(int((masked > masked[name]).sum()) + 1)
            losses.append((masked.max() - masked[name]) / (masked.max() - masked.mean()))
        expected.append((np.mean(ranks), max(losses), name))
    found = advices.ranking
    assert found["configuration"].tolist() == [name for _, _, name in sorted(expected)]
    assert found["mean_rank"].tolist() == pytest.approx([mean for mean, _, _ in sorted(expected)])
    assert found["worst_loss"].tolist() == pytest.approx([worst for _, worst, _ in sorted(expected)])
    assert list(found.columns[4:]) == ["rank_health", "rank_rich", "rank_cost"]
    assert advices.best == found["configuration"][0] in advices.tied
    assert json.dumps(advices.to_dict())


def test_what_it_shows_fits_80_columns_and_escapes_names() -> None:
    frame = table().rename(columns={"health": "<b>health</b>"})
    summaries = ao.summarize(frame, ["<b>health</b>", "rich"], MASKS)
    advices = ao.advise(summaries)
    for shown in (summaries, advices):
        assert max(map(len, str(shown).splitlines())) <= 80
        assert "<b>health</b>" not in shown._repr_html_()
        assert "&lt;b&gt;health" in shown._repr_html_()
    many = {f"label number {i}": advices["rich"] for i in range(12)}
    assert max(map(len, str(ao.Advices(many)).splitlines())) <= 80


def test_a_label_may_be_masked_and_is_no_attribute_of_another(tmp_path: Path) -> None:
    merged = ao.Generalize({"well": ["good", "fair"], "ill": ["poor"]})
    masks = {name: {**own, "health": merged} if name != "two" else own for name, own in MASKS.items()}
    for source in (table(), pl.from_pandas(table())):
        together = ao.summarize(source, ["health", "rich"], masks)
        assert together["health"] == ao.summarize(source, "health", masks)
        assert together["rich"] == ao.summarize(source, "rich", MASKS)
    together.save(tmp_path / "s.json")
    assert ao.Summary.load(tmp_path / "s.json") == together
    assert ao.advise(together, "mi").certified
    assert "3 classes" in str(together)
    with pytest.raises(ao.AegisError, match="masks the label 'health', and label_bins reads it"):
        ao.summarize(table(), ["health", "rich"], masks, label_bins={"health": 2})


def test_ties_and_labels_without_a_winner() -> None:
    masks = {"p": {"a": ao.Bucketize(width=10)}, "q": {"a": ao.Bucketize(width=10, origin=0)}}
    same = ao.advise(ao.summarize(table(), ["health", "rich"], masks), "mi")
    assert same.tied == ("p", "q")
    assert same.ranking["worst_loss"].tolist() == [0.0, 0.0]
    summaries = ao.summarize(table(), ["health", "rich"], MASKS)
    nothing = ao.advise(summaries, "mi", scope="single")  # degenerate: no winner for any label
    assert nothing.best is None
    assert nothing.tied == ()
    assert not nothing.certified
    assert "no label has a winner" in nothing.reason
    assert "Cannot tell" in str(nothing)
    mixed = ao.Advices({"health": nothing["health"], "rich": ao.advise(summaries["rich"], "mi")})
    assert mixed.best == mixed["rich"].best
    assert any(warning.startswith("health: no winner, so it does not count") for warning in mixed.warnings)
    with pytest.raises(ao.errors.InvalidOption, match="at least one label"):
        ao.Advices({})
    other = ao.advise(ao.summarize(table(), "rich", masks), "mi")
    with pytest.raises(ao.errors.InvalidOption, match="the same configurations"):
        ao.Advices({"health": nothing["health"], "rich": other})


def test_a_race_is_compared_by_ranks() -> None:
    race = Race(rows=50, finalists=2)
    summaries = ao.summarize(table(), ["health", "rich"], MASKS, share="scores", scores=["r2_gcv", race])
    advices = ao.advise(summaries)
    assert {advices[label].measure for label in advices} == {"race"}
    last = advices.ranking.iloc[-1]
    assert np.isfinite(advices.ranking["worst_loss"]).all()
    assert last["worst_loss"] == pytest.approx(2.0)  # rank 3, when a random choice has 2 on average


def test_required_rules_hold_for_all_labels() -> None:
    summaries = ao.summarize(table(), ["health", "rich"], MASKS, rules=ao.privacy.KAnonymity(2))
    figures = ao.advise(summaries, "mi")["health"].ranking.set_index("configuration")["k_anonymity"]
    k = int(figures.max())
    advices = ao.advise(summaries, "mi", require=ao.privacy.KAnonymity(k))
    assert set(advices.ranking["configuration"]) == set(figures.index[figures >= k])


@pytest.mark.parametrize(
    ("labels", "options", "words"),
    [
        ([], {}, "label is an empty list"),
        (["health", "health"], {}, "the label 'health' is named twice"),
        (["health", 3], {}, "label must be of type str"),
        (["health", ""], {}, "empty name"),
        (["health", None], {}, "not None"),
        ({"health", "rich"}, {}, "label must be of type str, not set"),
        (["health", "nothing"], {}, "unknown column 'nothing'"),
        (["health", "cost"], {}, "the label 'cost' has .* distinct values"),
        (["health", "cost"], {"label_kind": "number"}, "the label 'health' has texts"),
        (["health", "rich"], {"label_bins": {"rch": 2}}, "unknown label 'rch'.*It was named in label_bins"),
        (["health", "rich"], {"label_kind": {"x": "number"}}, "It was named in label_kind"),
        (["health", "rich"], {"epsilon": 1.0}, "several labels would share what protect= does not protect"),
        (["health", "cost"], {"label_kind": KINDS, "share": "both"}, "small groups give single records away"),
        (["health", "rich"], {"rules": ao.privacy.LDiversity(2)}, "needs a sensitive attribute"),
        ([f"l{i}" for i in range(101)], {}, "at most 100"),
    ],
)
def test_wrong_labels(labels: Any, options: dict[str, Any], words: str, tmp_path: Path) -> None:
    table().to_parquet(tmp_path / "t.parquet")
    for source in (table(), tmp_path / "t.parquet"):
        with pytest.raises(ao.AegisError, match=words):
            ao.summarize(source, labels, MASKS, **options)


def test_questions_about_one_label_name_the_way_out() -> None:
    summaries = ao.summarize(table(), ["health", "rich"], MASKS)
    with pytest.raises(ao.errors.InvalidOption, match=r"about one label.*summaries\['health'\]"):
        ao.Advisor(summaries)  # type: ignore[arg-type]
    with pytest.raises(ao.errors.InvalidInput, match=r"about one label.*summaries\['health'\]"):
        ao.audit(summaries)
    with pytest.raises(ao.AegisError, match=r"unknown label 'x'.*named in measure"):
        ao.advise(summaries, {"x": "mi"})
    with pytest.raises(ao.errors.InvalidOption, match="this summary has one"):
        ao.advise(summaries["health"], {"health": "mi"})  # type: ignore[call-overload]


@pytest.mark.filterwarnings("ignore:'a' was read as multiples of 10")
def test_summaries_of_one_table_may_share_different_amounts() -> None:
    """They were taken for summaries of other tables."""
    frame = table()
    first = ao.summarize(frame, "health", MASKS, histograms=True)
    for options in ({}, {"values": True}, {"max_values": 10}):
        second: Any = ao.summarize(frame, "rich", MASKS, **options)  # type: ignore[call-overload]
        together = ao.summary.Summaries({"health": first, "rich": second})
        assert ao.advise(together, "mi").best is not None
