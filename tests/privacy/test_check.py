"""Checks of configurations: against brute force on masked tables, on every kind of source."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.privacy import BetaLikeness, DeltaDisclosure, KAnonymity, LDiversity, PrivacyRule, TCloseness
from aegis_opt.privacy import _sources as privacy_sources
from aegis_opt.sources import _queried_records

RULES: list[PrivacyRule] = [
    KAnonymity(4),
    LDiversity(2),
    LDiversity(1.5, kind="entropy"),
    TCloseness(0.4),
    TCloseness(0.4, ordered=True),
    DeltaDisclosure(2.0, values="present"),
    BetaLikeness(1.5),
]
MASKS = {
    "none": {},
    "age": {"age": ao.Bucketize(width=20)},
    "both": {"age": ao.Generalize(ranges=3), "city": ao.Prefix(1)},
    "weight": {"weight": ao.Bucketize(width=25), "city": ao.Suppress()},
    "frequent": {"city": ao.KeepTop(2), "weight": ao.PoolRare(70)},
    "all": {"age": ao.Suppress(), "city": ao.Suppress(), "weight": ao.Suppress()},
}
CONFIGURATIONS = ao.Configurations(MASKS, label="health")


def people(n: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "city": random.choice(["Aix", "Albi", "Bonn", "Bari"], n),
            "weight": random.choice([50.0, 60.0, -0.0, 0.0, 80.5], n),
            "health": random.choice([1, 2, 3], n, p=[0.6, 0.3, 0.1]),
        }
    )
    frame.loc[::17, "city"] = None
    frame.loc[::13, "weight"] = np.nan
    return frame


@lru_cache
def masked_classes(name: str) -> np.ndarray:
    """Mask the table, and group it with pandas."""
    masked = ao.apply_configuration(people(), MASKS[name])
    masked["weight"] = [value + 0.0 if isinstance(value, float) else value for value in masked["weight"]]
    groups = masked.groupby(["age", "city", "weight"], dropna=False)["health"]
    counts: np.ndarray = groups.value_counts().unstack(fill_value=0).to_numpy()  # noqa: PD010
    return counts


@pytest.fixture(params=["frame", "csv", "parquet", "relation", "queried relation"])
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    frame = people()
    match request.param:
        case "frame":
            return frame
        case "csv":
            frame.to_csv(tmp_path / "people.csv", index=False)
            return tmp_path / "people.csv"
        case "parquet":
            frame.to_parquet(tmp_path / "people.parquet")
            return tmp_path / "people.parquet"
        case "relation":
            return duckdb.connect().from_df(frame)
    monkeypatch.setattr(_queried_records, "MOST_HELD", 1)  # too many values to leave the connection
    return duckdb.connect().from_df(frame)


def test_figures_are_those_of_the_masked_table(source: Any) -> None:
    found = ao.check_privacy(source, CONFIGURATIONS, RULES)
    assert found["configuration"].tolist() == list(MASKS)
    for row in found.to_dict("records"):
        counts = masked_classes(row["configuration"])
        for rule in RULES:
            expected = rule.figure(counts if rule.needs_sensitive else counts.sum(axis=1))
            assert row[rule.column] == pytest.approx(expected), (row["configuration"], rule)
            assert row[f"{rule.column}_holds"] == rule.satisfied_by(expected)
            assert (row[f"{rule.column}_witness"] is None) == row[f"{rule.column}_holds"]
        assert row["private"] == all(row[f"{rule.column}_holds"] for rule in RULES)


def test_the_witness_is_the_smallest_class_that_violates(source: Any) -> None:
    found = ao.check_privacy(source, CONFIGURATIONS, KAnonymity(200)).set_index("configuration")
    witness: Any = found.loc["age", "k_anonymity_witness"]
    values, size = witness
    assert size == found.loc["age", "smallest_class"] == found.loc["age", "k_anonymity"]
    assert sorted(values) == ["age", "city", "weight"]
    masked = ao.apply_configuration(people(), MASKS["age"])
    for name, value in values.items():
        masked = masked[masked[name].isna() if value is None else masked[name] == value]
    assert len(masked) == size
    assert found.loc["all", "k_anonymity_witness"] is None


def test_only_the_last_kind_of_relation_is_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fixture above would test the same thing twice if the limit were not heeded."""
    monkeypatch.setattr(_queried_records, "MOST_HELD", 1)
    relation = duckdb.connect().from_df(people())
    with privacy_sources.open_classes(relation, MASKS, ["age"], None, {}) as classes:
        assert isinstance(classes, privacy_sources.QueriedClasses)


def test_suppression_leaves_the_classes_that_satisfy_every_rule() -> None:
    frame = pd.DataFrame({"a": list("xxxxxxyyyzz"), "s": list("11122211112"), "t": range(11)})
    masks = ao.Configurations({"c": {"a": ao.Identity()}}, label="s")
    rules = [KAnonymity(3), LDiversity(2)]
    strict = ao.check_privacy(frame, masks, rules).iloc[0]
    assert (strict["private"], strict["suppressed"], strict["k_anonymity"], strict["l_diversity"]) == (
        False,
        5,  # y has no second value, z too few records
        2.0,
        1.0,
    )
    loose = ao.check_privacy(frame, masks, rules, suppression=0.46).iloc[0]
    assert (loose["private"], loose["suppressed"], loose["k_anonymity"], loose["l_diversity"]) == (
        True,
        5,
        6.0,
        2.0,
    )
    between = ao.check_privacy(frame, masks, rules, suppression=0.3).iloc[0]  # enough for each rule alone
    assert between["k_anonymity_holds"]
    assert between["l_diversity_holds"]
    assert not between["private"]


def test_quasi_identifiers_and_the_sensitive_attribute_can_be_named() -> None:
    frame = people()
    found = ao.check_privacy(
        frame, CONFIGURATIONS, [KAnonymity(2), LDiversity(2)], quasi_identifiers=["city"], sensitive="age"
    )
    cities = frame.groupby("city", dropna=False)
    assert found.loc[0, "k_anonymity"] == cities.size().min()
    assert found.loc[0, "l_diversity"] == cities["age"].nunique().min()
    assert found.loc[5, "l_diversity"] == 1  # it is released suppressed
    one = ao.check_privacy(frame, CONFIGURATIONS["age"], KAnonymity(2))
    assert one["configuration"].tolist() == ["age"]


def test_an_order_of_texts_is_declared() -> None:
    frame = people().assign(health=lambda f: f["health"].map({1: "good", 2: "fair", 3: "poor"}))
    rule = TCloseness(0.4, ordered=True)
    with pytest.raises(ao.AegisError, match=r"'health' has no order.*order={'health': \[...\]}"):
        ao.check_privacy(frame, CONFIGURATIONS, rule)
    found = ao.check_privacy(frame, CONFIGURATIONS, rule, order={"health": ["good", "fair", "poor"]})
    numbers = ao.check_privacy(people(), CONFIGURATIONS, rule)
    assert found["ordered_t_closeness"].tolist() == pytest.approx(numbers["ordered_t_closeness"].tolist())
    typed = frame.astype({"health": pd.CategoricalDtype(["good", "fair", "poor"], ordered=True)})
    assert ao.check_privacy(typed, CONFIGURATIONS, rule).equals(found)


def test_risks() -> None:
    found = ao.check_privacy(pd.DataFrame({"a": list("xyyzzz")}), {"c": {"a": ao.Identity()}}, KAnonymity(2))
    row = found.iloc[0]
    assert (row["prosecutor_risk"], row["marketer_risk"], row["unique_records"]) == (1.0, 0.5, 1 / 6)
    drawn = ao.privacy.risks([1, 2, 3], population=[4, 2, 30])
    assert drawn == pytest.approx((1.0, 0.5, (1 / 4 + 1 + 3 / 30) / 6, 1 / 6))
    with pytest.raises(ao.AegisError, match="class 1 has 2 records in the table and 1 in the population"):
        ao.privacy.risks([1, 2], population=[1, 1])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rules": KAnonymity(301)}, "k = 301 is more than the 300 records"),
        ({"quasi_identifiers": []}, "no quasi-identifier: quasi_identifiers is empty"),
        ({"quasi_identifiers": "age"}, r"quasi_identifiers must be a list of names: write \['age'\]"),
        ({"quasi_identifiers": ["age", "age"]}, "names a column twice"),
        ({"quasi_identifiers": ["aeg"]}, "unknown column 'aeg': did you mean 'age'"),
        ({"quasi_identifiers": ["health"]}, "'health' is the sensitive attribute"),
        ({"configurations": {"c": {"health": ao.Suppress()}}, "label": "health"}, "no quasi-identifier: the"),
        ({"configurations": MASKS, "rules": LDiversity(2)}, "l-diversity needs a sensitive attribute"),
        ({"sensitive": "helth", "rules": LDiversity(2)}, "unknown column 'helth'"),
        ({"suppression": -0.1}, "suppression must be a number from 0 to 1"),
        ({"rules": []}, "no rule is given"),
        ({"order": {"health": "up"}}, "the order of 'health' must be a list of values"),
        ({"configurations": {}}, "no configurations"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], text: str) -> None:
    asked = {"configurations": CONFIGURATIONS, "rules": KAnonymity(2), **options}
    with pytest.raises(ao.AegisError, match=text):
        ao.check_privacy(people(), **asked)


def test_the_command_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    ao.save_configurations(CONFIGURATIONS, tmp_path / "masks.json")
    command = ["check", str(tmp_path / "people.csv"), "--configurations", str(tmp_path / "masks.json")]
    options = ["--rule", "k=4", "--rule", "l=1.5,kind=entropy", "--suppression", "0.1"]
    assert main([*command, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rules = [KAnonymity(4), LDiversity(1.5, kind="entropy")]
    expected = ao.check_privacy(people(), CONFIGURATIONS, rules, suppression=0.1)
    assert found["rules"] == ["k=4", "l=1.5,kind=entropy"]
    for row, same in zip(found["configurations"], expected.to_dict("records"), strict=True):
        assert row["private"] == same["private"]
        assert row["k_anonymity"] == same["k_anonymity"]
        assert row["entropy_l_diversity"] == pytest.approx(same["entropy_l_diversity"])
    assert main([*command, *options]) == 0
    shown = capsys.readouterr().out
    assert "of 6 configurations" in shown
    assert "record" in shown
    assert main([*command, "--rule", "k=0"]) == 1
    assert "k must be a whole number from 1 up" in capsys.readouterr().err
    assert main([*command, "--rule", "kk=2"]) == 1
    assert "a privacy rule has one of k, l, t, delta, beta" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*command, "--rule", "k=1,k=2"])
