"""Rules that the provider checks and the advisor requires: the figures travel, and nothing else."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._require import judged
from aegis_opt.cli import main
from aegis_opt.privacy import DeltaDisclosure, KAnonymity, LDiversity, PrivacyRule, TCloseness
from aegis_opt.privacy._check import PrivacyQuestion
from aegis_opt.summary import SharedPrivacy, SharedRule

RULES = [KAnonymity(3), LDiversity(2), DeltaDisclosure(2.0)]


@pytest.fixture(scope="module")
def clinic() -> Any:
    return ao.datasets.clinic(400, seed=1)


@pytest.fixture(scope="module")
def summary(clinic: Any) -> Any:
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, rules=RULES)


@pytest.fixture(scope="module")
def checked(clinic: Any) -> pd.DataFrame:
    return ao.check_privacy(clinic.frame, clinic.configurations, RULES, label=clinic.label)


def test_the_figures_are_columns_of_the_ranking(summary: Any, checked: pd.DataFrame) -> None:
    ranking = ao.advise(summary, measure="mi").ranking.set_index("configuration")
    expected = checked.set_index("configuration").loc[ranking.index]
    for rule in RULES:
        assert ranking[rule.column].tolist() == expected[rule.column].tolist()


@pytest.mark.parametrize("measure", ["auto", "mi", "g3"])
@pytest.mark.parametrize("k", [1, 2, 10])
def test_what_fails_is_out_of_the_ranking(summary: Any, checked: pd.DataFrame, measure: str, k: int) -> None:
    figures = checked.set_index("configuration")["k_anonymity"]
    advice = ao.advise(summary, measure=measure, require=KAnonymity(k))
    assert set(advice.ranking["configuration"]) == set(figures[figures >= k].index)
    assert set(advice.excluded["configuration"]) == set(figures[figures < k].index)
    for name, why in advice.excluded.itertuples(index=False):
        assert why == f"k-anonymity is {figures[name]:g}, and k={k} is required"
    everything = ao.advise(summary, measure=measure)
    kept = [name for name in everything.ranking["configuration"] if figures[name] >= k]
    assert advice.ranking["configuration"].tolist() == kept
    assert advice.best == kept[0]
    assert advice.ranking["rank"].min() == 1
    assert advice.certified == everything.certified
    assert json.loads(json.dumps(advice.to_dict()))["excluded"] == advice.excluded.to_dict("records")


def test_scores_alone_carry_figures_too(clinic: Any, tmp_path: Path) -> None:
    shared = ao.summarize(
        clinic.frame, clinic.label, clinic.configurations, share="scores", rules=KAnonymity(2)
    )
    shared.save(tmp_path / "s.json")
    loaded = ao.Summary.load(tmp_path / "s.json")
    assert loaded == shared
    advice = ao.advise(loaded, require=KAnonymity(2))
    assert (advice.ranking["k_anonymity"] >= 2).all()
    assert len(advice.ranking) + len(advice.excluded) == len(clinic.configurations)
    both = ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="both", rules=KAnonymity(2))
    assert ao.advise(both, require=KAnonymity(2)).best == advice.best


def test_a_rule_that_was_not_shared_is_refused(clinic: Any, summary: Any) -> None:
    with pytest.raises(ao.AegisError, match=r"t=0.2 is required, but the summary shares figures of k=3, l=2"):
        ao.advise(summary, require=TCloseness(0.2))
    bare = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    with pytest.raises(ao.AegisError, match=r"shares no privacy figures: .*rules=\[KAnonymity\(k=5\)\]"):
        ao.advise(bare, require=KAnonymity(5))
    with pytest.raises(ao.AegisError, match=r"no configuration satisfies k=400: the best .* k-anonymity \d+"):
        ao.advise(summary, require=KAnonymity(400))
    with pytest.raises(ao.AegisError, match="each rule must be a rule such as"):
        ao.advise(summary, require="k=5")  # type: ignore[arg-type]


def test_with_suppression_the_figures_decide_only_what_they_prove() -> None:
    """All answers of random tables, rules and limits are those of the records; others are refused."""
    random = np.random.default_rng(0)
    answered = refused = 0
    for _ in range(80):
        n = int(random.integers(8, 30))
        frame = pd.DataFrame({"a": random.integers(0, 5, n), "y": random.integers(0, 3, n)})
        masks = ao.Configurations({"c": {"a": ao.Identity()}, "top": {"a": ao.Suppress()}}, label="y")
        limit = float(random.choice([0.0, 0.1, 0.3]))
        shared_rules: list[PrivacyRule] = [KAnonymity(int(random.integers(2, 6))), LDiversity(2)]
        wanted: list[PrivacyRule] = [KAnonymity(int(random.integers(2, 6)))]
        if random.random() < 0.5:
            wanted.append(LDiversity(int(random.integers(1, 4))))
        try:
            summary = ao.summarize(frame, "y", masks, rules=shared_rules, suppression=limit)
        except ao.AegisError:  # the label has one class
            continue
        truth = ao.check_privacy(frame, masks, wanted, suppression=limit).set_index("configuration")[
            "private"
        ]
        try:
            kept, _ = judged(summary, wanted)
        except ao.AegisError as error:
            refused += "does not tell" in str(error)
            kept = list(truth[truth].index) if "does not tell" in str(error) else []
        else:
            answered += 1
        assert kept == list(truth[truth].index)
    assert answered > 40
    assert refused > 5


def test_a_saved_summary_is_the_same(summary: Any, tmp_path: Path) -> None:
    summary.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["version"] == 4
    loaded = ao.Summary.load(tmp_path / "s.json")
    assert loaded == summary
    assert isinstance(loaded.privacy, SharedPrivacy)
    assert math.isinf(max(loaded.privacy.rules[2].figures.values()))  # null in the file
    assert copy.deepcopy(loaded) == loaded
    del document["privacy"]
    document["version"] = 2
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert ao.Summary.load(tmp_path / "old.json") == replace(summary, privacy=None)
    facts = summary.facts()
    about = facts[facts["about"] == "privacy"].set_index("fact")["content"]
    assert about["rules"] == "k=3, l=2, delta=2"
    assert about["sensitive attribute"] == "health"
    assert "k-anonymity of each configuration" in about


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda p: p.update(rules=[]), "of 0 rules"),
        (lambda p: p.update(rules=p["rules"] * 2), "two rules of the kind k-anonymity"),
        (lambda p: p.update(rules={}), "'rules' in the privacy figures has the wrong type"),
        (lambda p: p["rules"][0].update(rule={"k": -5}), "k must be a whole number"),
        (lambda p: p["rules"][0].update(rule={"k": 5, "l": 2}), "a privacy rule has one of"),
        (lambda p: p["rules"][0].update(rule={"k": 5, "m": 2}), "no parameter 'm'"),
        (lambda p: p["rules"][0]["figures"].popitem(), "must be of every configuration"),
        (lambda p: p["rules"][0]["figures"].update(strictest="7"), "has the figure '7'"),
        (lambda p: p["rules"][0]["figures"].update(strictest=-1), "has the figure -1"),
        (lambda p: p["rules"][0]["figures"].update(strictest=10**400), "has the figure 1000"),
        (lambda p: p["rules"][0]["holds"].update(strictest=1), "k-anonymity must be true or false, not 1"),
        (lambda p: p["private"].update(other=True), "must be of every configuration"),
        (lambda p: p.update(quasi_identifiers=[]), "need names of quasi-identifiers"),
        (lambda p: p.update(quasi_identifiers=[3]), "need names of quasi-identifiers"),
        (lambda p: p.update(suppression=2), "suppression of the privacy rules is 2"),
        (lambda p: p.pop("sensitive"), "has no 'sensitive'"),
    ],
)
def test_figures_that_somebody_changed_are_refused(
    summary: Any, tmp_path: Path, change: Any, text: str
) -> None:
    summary.save(tmp_path / "s.json")
    document = json.loads((tmp_path / "s.json").read_text())
    change(document["privacy"])
    (tmp_path / "s.json").write_text(json.dumps(document))
    with pytest.raises(ao.AegisError, match=text) as caught:
        ao.Summary.load(tmp_path / "s.json")
    assert "s.json" in str(caught.value)


@pytest.mark.parametrize("rules", [[KAnonymity(5)], [KAnonymity(5), TCloseness(0.3)]])
@pytest.mark.parametrize("suppression", [0.0, 0.05])
def test_answers_that_their_own_figures_contradict_are_refused(
    clinic: Any, tmp_path: Path, rules: Any, suppression: float
) -> None:
    summary = ao.summarize(
        clinic.frame, clinic.label, clinic.configurations, rules=rules, suppression=suppression
    )
    summary.save(tmp_path / "s.json")
    whole = json.loads((tmp_path / "s.json").read_text())
    assert ao.Summary.load(tmp_path / "s.json") == summary
    parts = [("private",), *((i, "holds") for i in range(len(rules)))]
    refused = 0
    for name in clinic.configurations:
        for place in parts:
            document = copy.deepcopy(whole)
            privacy = document["privacy"]
            answers = privacy["private"] if place == ("private",) else privacy["rules"][place[0]]["holds"]
            answers[name] = not answers[name]
            (tmp_path / "s.json").write_text(json.dumps(document))
            if len(rules) == 1 or not suppression or place == ("private",):
                with pytest.raises(ao.AegisError, match=f"figures of '{name}' contradict"):
                    ao.Summary.load(tmp_path / "s.json")
                refused += 1
    assert refused >= len(clinic.configurations)


def test_bad_input_of_a_provider_is_refused(clinic: Any) -> None:
    def summarize(**options: Any) -> None:
        ao.summarize(clinic.frame, clinic.label, clinic.configurations, **options)

    with pytest.raises(ao.AegisError, match="are about privacy rules: pass rules="):
        summarize(sensitive="age")
    with pytest.raises(ao.AegisError, match="leave out max_values, or rules"):
        summarize(rules=KAnonymity(2), max_values=20)
    with pytest.raises(ao.AegisError, match="k = 500 is more than the 400 records"):
        summarize(rules=KAnonymity(500))


def test_the_order_of_the_label_is_for_the_rules_alone(clinic: Any) -> None:
    rule = TCloseness(0.5, ordered=True)
    order = {"health": sorted(set(clinic.frame["health"]), reverse=True)}
    found = ao.summarize(clinic.frame, clinic.label, clinic.configurations, rules=rule, order=order)
    checked = ao.check_privacy(clinic.frame, clinic.configurations, rule, label="health", order=order)
    assert found.privacy is not None
    assert list(found.privacy.rules[0].figures.values()) == checked["ordered_t_closeness"].tolist()


def test_the_commands_speak_of_rules_alike(
    clinic: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clinic.frame.to_csv(tmp_path / "clinic.csv", index=False)
    ao.save_configurations(clinic.configurations, tmp_path / "masks.json")
    files = [str(tmp_path / name) for name in ("clinic.csv", "masks.json", "s.json")]
    made = ["summarize", files[0], "--configurations", files[1], "--label", clinic.label, "-o", files[2]]
    assert main([*made, "--rule", "k=3", "--suppression", "0.05"]) == 0
    capsys.readouterr()
    assert main(["advise", files[2], "--require", "k=3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["excluded"]
    assert all(row["k_anonymity"] >= 3 for row in found["ranking"])
    assert main(["advise", files[2], "--require", "k=3"]) == 0
    assert "Excluded" in capsys.readouterr().out
    assert main(["advise", files[2], "--require", "l=3"]) == 1
    assert "shares figures of k=3 only" in capsys.readouterr().err


def test_a_question_without_rules_is_none() -> None:
    with pytest.raises(ao.AegisError, match="no rule is given"):
        PrivacyQuestion.of([], ao.Configurations({"c": {"a": ao.Suppress()}}))
    shared = SharedRule(KAnonymity(2), {"c": 3.0}, {"c": True})
    assert SharedPrivacy((shared,), {"c": True}, ("a",)).restricted(["c"]).private == {"c": True}
