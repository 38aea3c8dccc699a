"""Summaries with protected counts: made, saved, read and advised on."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.privacy import ControlledRounding, DifferentialPrivacy
from aegis_opt.summary import ProtectedSummary
from aegis_opt.summary._count_arrays import merge_rows

MASKS = {
    "fine": {"age": ao.Bucketize(width=5), "town": ao.Identity()},
    "odd": {"age": ao.Bucketize(width=7), "town": ao.Prefix(1)},
    "coarse": {"age": ao.Bucketize(width=20), "town": ao.Prefix(1)},
    "closed": {"age": ao.Suppress(), "town": ao.Suppress()},
}
DOMAINS: dict[str, Any] = {"age": range(60), "town": ["aa", "ab", "ba", "bb", "zz"], "y": ["no", "yes"]}


def people(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Ages and towns that predict a label."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 60, n)
    town = rng.choice(["aa", "ab", "ba", "bb"], n)
    yes = rng.random(n) < 0.1 + 0.7 * (age > 33) + 0.15 * (town == "ab")
    return pd.DataFrame({"age": age, "town": town, "y": np.where(yes, "yes", "no")})


def protected(
    protect: Any = None, frame: pd.DataFrame | None = None, seed: int = 1, **options: Any
) -> ProtectedSummary:
    made = DifferentialPrivacy(1.0, seed=seed) if protect is None else protect
    source = people() if frame is None else frame
    summary = ao.summarize(source, "y", MASKS, protect=made, domains=DOMAINS, **options)
    assert isinstance(summary, ProtectedSummary)
    return summary


@pytest.mark.parametrize(
    "protect",
    [
        DifferentialPrivacy(0.5, seed=2),
        DifferentialPrivacy(0.5, "gaussian", seed=2),
        ControlledRounding(5),
    ],
)
def test_all_tables_of_an_attribute_agree_exactly(protect: Any, tmp_path: Path) -> None:
    summary = protected(protect)
    for attribute in summary.attributes.values():
        for table, groups in zip(attribute.tables, attribute.groups, strict=True):
            assert np.array_equal(merge_rows(attribute.counts, groups), table.joint)
        for table in attribute.tables:
            assert np.array_equal(table.joint.sum(axis=0), attribute.counts.sum(axis=0))
    summary.save(tmp_path / "s.json.gz")
    again = ao.Summary.load(tmp_path / "s.json.gz")
    assert again == summary == pickle.loads(pickle.dumps(summary))
    assert isinstance(again, ProtectedSummary)
    assert ao.advise(tmp_path / "s.json.gz", "mi").ranking.equals(ao.advise(summary, "mi").ranking)


def test_values_that_do_not_occur_have_rows_too_and_nothing_depends_on_which_occur() -> None:
    one = protected(frame=people(50))
    other = protected(frame=people(50, seed=9).assign(town="aa"))
    for name in one.attributes:
        first, second = one.attributes[name], other.attributes[name]
        assert first.n_values == len(DOMAINS[name])
        assert np.array_equal(first.classes, second.classes)
        assert [t.labels for t in first.tables] == [t.labels for t in second.tables]
    assert one.attributes["town"].counts.shape == (5, 2)  # the label too: 'zz' never occurs
    assert list(one.report()) == list(ao.summarize(people(), "y", MASKS).report().columns)


def test_noise_is_that_of_the_statement_and_rounding_has_common_label_totals() -> None:
    exact = ao.summarize(people(), "y", MASKS)
    noisy = protected()
    error = noisy.masked_table("fine", "age").joint - exact.masked_table("fine", "age").joint
    assert error.any()
    assert error.std() < 8 * noisy.protection.standard_deviation * np.sqrt(5)
    rounded = protected(ControlledRounding(5))
    totals = {name: tuple(a.counts.sum(axis=0)) for name, a in rounded.attributes.items()}
    assert len(set(totals.values())) == 1
    assert abs(rounded.n_records - 3000) < 10
    facts = dict(noisy.facts().query("about == 'protection'")[["fact", "content"]].to_numpy())
    assert "not private" in facts["what was done"]
    assert "epsilon 1 for adding or removing one record, over 2 tables" in facts["budget"]
    assert "Protected summary" in str(noisy)


def test_public_domains_come_from_orders_hierarchies_mappings_and_booleans() -> None:
    frame = pd.DataFrame(
        {"a": ["x", "y"] * 20, "b": ["p", "q"] * 20, "c": [1, 2] * 20, "y": [True, False] * 20}
    )
    masks = {
        "one": {
            "a": ao.Generalize(hierarchy=[["x", "*"], ["y", "*"], ["z", "*"]], level=1),
            "b": ao.Generalize({"all": ["p", "q", "r", None]}),
            "c": ao.Suppress(),
        }
    }
    order = {"c": [3, 2, 1]}
    summary = ao.summarize(frame, "y", masks, epsilon=1.0, order=order, values=True)
    values = {name: attribute.values for name, attribute in summary.attributes.items()}
    assert values == {"a": ("x", "y", "z"), "b": ("p", "q", "r", None), "c": (3, 2, 1)}
    assert summary.label_values == (False, True)
    assert summary.protection.private


@pytest.mark.parametrize(
    ("options", "error", "named"),
    [
        (
            {"domains": {"age": range(60), "y": ["no", "yes"]}},
            "InvalidOption",
            "domain of 'town' was not decl",
        ),
        ({"domains": DOMAINS | {"y": ["no"]}}, "InvalidOption", "of 'y' does not have 'yes'"),
        ({"domains": DOMAINS | {"age": range(50)}}, "InvalidOption", "of 'age' does not have 50, 51"),
        ({"domains": DOMAINS | {"age": ["x"]}}, "InvalidOption", "column is of kind integer"),
        ({"domains": DOMAINS | {"age": "1"}}, "InvalidOption", "must be a list of values"),
        ({"domains": DOMAINS | {"age": [None]}}, "InvalidOption", "lists no values"),
        ({"domains": DOMAINS | {"height": [1]}}, "UnknownColumn", "'height'"),
        ({"domains": [1]}, "InvalidOption", "domains must map columns"),
        ({"values": ["height"]}, "UnknownColumn", "named in values"),
        ({"epsilon": 0}, "InvalidOption", "epsilon must be a positive number"),
        ({"epsilon": 1.0, "protect": ControlledRounding(5)}, "InvalidOption", "not both"),
        ({"protect": 5, "epsilon": None}, "InvalidOption", "protect must be a protection"),
        ({"histograms": True}, "InvalidOption", "histograms would share what protect= does not"),
        ({"share": "scores"}, "InvalidOption", "share would share what protect= does not"),
        ({"max_values": 10}, "InvalidOption", "max_values would share"),
        ({"rules": ao.privacy.KAnonymity(5)}, "InvalidOption", "rules would share"),
        ({"epsilon": None}, "InvalidOption", "domains are about protected counts"),
    ],
)
def test_what_would_not_be_private_is_refused(options: dict[str, Any], error: str, named: str) -> None:
    given = {"domains": DOMAINS, "epsilon": 1.0} | options
    with pytest.raises(getattr(ao.errors, error), match=named):
        ao.summarize(people(60), "y", MASKS, **given)


def test_missing_values_need_a_place_in_the_public_domain() -> None:
    frame = people(60)
    frame.loc[3, "town"] = None
    with pytest.raises(ao.errors.InvalidOption, match=r"'town' has missing values.*add None"):
        protected(frame=frame)
    given = DOMAINS | {"town": [*DOMAINS["town"], None]}
    summary = ao.summarize(frame, "y", MASKS, epsilon=1.0, domains=given)
    assert summary.attributes["town"].n_values == 6


def change(path: Path, edit: Any) -> Any:
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (
            lambda d: d["attributes"]["age"]["tables"][0]["joint"][0].__setitem__(0, 77),
            "contradict each other",
        ),
        (lambda d: d["attributes"]["age"]["counts"][0].__setitem__(0, 2**60), "too large"),
        (lambda d: d["attributes"]["age"]["counts"][0].__setitem__(0, 0.5), "fractional"),
        (lambda d: d["attributes"]["age"].__setitem__("classes", [0] * 60), "classes"),
        (lambda d: d["attributes"]["age"]["tables"][-1].__setitem__("groups", [0]), "groups for 1 of"),
        (lambda d: d["protection"].__setitem__("epsilon", 0.1), "costs an epsilon"),
        (lambda d: d["protection"].__setitem__("tables", 1), "tables"),
        (lambda d: d["protection"].__setitem__("method", "magic"), "method"),
        (lambda d: d["protection"].__setitem__("scale", 1e-300), "scale of the noise"),
        (lambda d: d["attributes"]["age"]["tables"].clear(), "no masked tables"),
        (lambda d: d["protection"].pop("seeded"), "lacks 'seeded'"),
        (lambda d: d.__setitem__("protection", 5), "must be an object"),
        (lambda d: d.__setitem__("numbers", {}), "not protected"),
        (lambda d: d.__setitem__("version", 99), "upgrade"),
        (lambda d: d.__setitem__("attributes", {}), "at least one attribute"),
    ],
)
def test_files_that_contradict_themselves_are_refused(edit: Any, named: str, tmp_path: Path) -> None:
    protected().save(tmp_path / "s.json")
    with pytest.raises(ao.errors.SummaryError, match=named):
        ao.Summary.load(change(tmp_path / "s.json", edit))


@pytest.mark.parametrize("protect", [DifferentialPrivacy(1.0, seed=4), ControlledRounding(5, seed=4)])
def test_advice_is_never_certified_and_says_why(protect: Any, tmp_path: Path) -> None:
    summary = protected(protect)
    for measure in ("auto", "mi", "chi2", "g3"):
        advice = ao.advise(summary, measure)
        assert not advice.certified
        assert advice.by_mi is None or not advice.by_mi.certified
        assert advice.warnings[0].startswith("protected: ")
        assert "estimate with intervals" in advice.reason
        assert not any(warning.startswith("disclosed") for warning in advice.warnings)
        ranking = advice.ranking
        assert ranking[["pud_low", "pud_high"]].isna().all().all()
        assert (ranking["difference_low"] <= ranking["difference"]).all()
        assert (ranking["difference_high"] >= ranking["difference"]).all()
        assert (ranking["rank_low"] <= ranking["rank"]).all()
        assert (ranking["rank_high"] >= ranking["rank"]).all()
        assert set(advice.equivalent) == set(
            ranking["configuration"][
                (ranking["difference_low"] <= 1e-12) | (ranking["configuration"] == advice.best)
            ]
        )
    with pytest.raises(ao.errors.InvalidInput, match="they bound no exact count"):
        ao.audit(summary)
    advice.save(tmp_path / "a.json")
    assert ao.Advice.load(tmp_path / "a.json").summary == summary
    with pytest.raises(ao.errors.InvalidOption, match="bootstrap resamples exact tables"):
        ao.advise(summary, "mi", bootstrap=20)


def test_intervals_cover_the_true_differences() -> None:
    """Nominally all differences of a ranking in 95% of the summaries: here in at least 13 of 16."""
    frame = people(600, seed=5)
    exact = ao.Advisor(ao.summarize(frame, "y", MASKS))
    truths = {measure: exact.advise(measure).masked.mean(axis=1) for measure in ("mi", "g3", "mi_loo")}
    covered: dict[str, list[bool]] = {measure: [] for measure in truths}
    for seed in range(16):
        protect = DifferentialPrivacy(1.0, seed=seed) if seed % 2 else ControlledRounding(5, seed=seed)
        advisor = ao.Advisor(protected(protect, frame))
        for measure, truth in truths.items():
            better = 1 if ao.get_measure(measure).higher_is_better else -1
            ranking = advisor.advise(measure).ranking.set_index("configuration")
            true = better * (truth[ranking.index[0]] - truth[ranking.index])
            inside = (ranking["difference_low"] <= true + 1e-12) & (
                true - 1e-12 <= ranking["difference_high"]
            )
            covered[measure].append(bool(inside.all()))
    assert min(sum(found) for found in covered.values()) >= 13


def test_mutual_information_is_the_default_because_leave_one_out_takes_noise_for_information() -> None:
    summary = protected(ControlledRounding(5, seed=0), people(600))
    advice = ao.advise(summary)
    assert advice.measure == "mi"
    assert advice.by_mi is not None
    assert advice.by_mi.best == advice.best == ao.advise(summary, "mi").best


def test_a_drowned_table_that_no_configuration_releases_is_passed_over(tmp_path: Path) -> None:
    protected(DifferentialPrivacy(0.01, seed=0), people(300)).save(tmp_path / "s.json")

    def only_the_first(document: dict[str, Any]) -> None:
        name, chosen = next(iter(document["configurations"].items()))
        document["configurations"] = {name: chosen}

    summary = ao.Summary.load(change(tmp_path / "s.json", only_the_first))
    assert len(summary.configurations) < max(len(a.tables) for a in summary.attributes.values())
    assert ao.advise(summary, "mi").best == next(iter(summary.configurations))


def test_little_noise_tells_configurations_apart_and_much_noise_does_not() -> None:
    frame = people(3000)
    little = ao.advise(protected(DifferentialPrivacy(20.0, seed=0), frame), "mi")
    assert little.equivalent == (little.best,)
    assert little.best == ao.advise(ao.summarize(frame, "y", MASKS), "mi").best
    assert not any(warning.startswith("drowned") for warning in little.warnings)
    assert (little.ranking["rank_low"] == little.ranking["rank_high"]).any()
    much = ao.advise(protected(DifferentialPrivacy(0.01, seed=0), frame), "mi")
    assert len(much.equivalent) == len(much.ranking)
    assert any(warning.startswith("drowned: ") for warning in much.warnings)
    assert "these protected counts cannot tell from none" in " ".join(str(much).split())
    widths = [(a.ranking["difference_high"] - a.ranking["difference_low"]).max() for a in (little, much)]
    assert 100 * widths[0] < widths[1]


def test_nothing_that_needs_exact_counts_is_said_of_protected_ones(tmp_path: Path) -> None:
    summary = protected(DifferentialPrivacy(1.0, seed=4))
    with pytest.raises(ao.errors.InvalidOption, match=r"protected summary shares no privacy.*check_privacy"):
        ao.advise(summary, "mi", require=ao.privacy.KAnonymity(5))
    with pytest.raises(ao.errors.UnknownMeasure, match="r2_gcv"):
        ao.advise(summary, "r2_gcv")
    single = ao.advise(summary, "mi", scope="single")
    assert not any(warning.startswith("proved:") for warning in single.warnings)
    advice = ao.advise(summary, "mi")
    page = " ".join(advice.report(tmp_path / "advice.html").read_text().split())
    assert "The counts are protected: two-sided geometric noise" in page
    assert "rank, 95%" in page
    assert "rank_low" not in page.split("The chosen configuration")[0]
    assert "epsilon 1 for adding or removing one record" in page
    chart = advice.plot().to_dict()
    assert "drawn around each deviation" in json.dumps(chart)


def test_the_chart_draws_the_interval_of_a_deviation_on_the_right_side() -> None:
    advice = ao.advise(protected(DifferentialPrivacy(2.0, seed=4), people(3000)), "mi")
    ranking = advice.ranking
    second = ranking.iloc[1]
    low = second["pud"] - second["difference"] + second["difference_low"]
    high = second["pud"] - second["difference"] + second["difference_high"]
    from aegis_opt.report.charts._ranking import _line

    line = _line(advice, ranking)
    assert line is not None
    assert (line.low[1], line.high[1]) == pytest.approx((low, high))


def test_more_noise_than_records_is_told() -> None:
    frame = people(2)
    frame["y"] = ["no", "yes"]
    empty = protected(ControlledRounding(50, seed=0), frame)
    assert not any(attribute.counts.any() for attribute in empty.attributes.values())
    with pytest.raises(ao.errors.SummaryError, match="no records are left after the protection"):
        ao.advise(empty, "mi")


def test_masks_that_depend_on_counts_are_refused_beside_noise() -> None:
    masks = {"one": {"town": ao.masks.KeepTop(2)}}
    with pytest.raises(ao.errors.InvalidOption, match="depends on how often values occur"):
        ao.summarize(people(60), "y", masks, epsilon=1.0, domains={k: DOMAINS[k] for k in ("town", "y")})
