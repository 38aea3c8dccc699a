"""Advice about configurations that mask the label: what is proved, what is bounded, and what is not."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.errors import InvalidOption
from aegis_opt.harness import true_deviation
from aegis_opt.summary import AttributeSummary, LabelMask, MaskedTable
from benchmarks.label_cases import random_case

ILL_WELL = ao.Generalize({"ill": ["VP", "P", "M"], "well": ["G", "VG"]})
THREE = ao.Generalize({"bad": ["VP", "P"], "fair": ["M"], "good": ["G", "VG"]})


@pytest.fixture(scope="module")
def clinic() -> ao.datasets.Dataset:
    return ao.datasets.clinic(400, seed=1)


def with_labels(clinic: ao.datasets.Dataset, *masks: Any) -> dict[str, dict[str, Any]]:
    """Return the configurations of the clinic, with label masks in turn; None is no mask."""
    chosen = itertools.cycle(masks)
    return {
        name: {**own, **({} if (mask := next(chosen)) is None else {"health": mask})}
        for name, own in clinic.configurations.items()
    }


def test_the_order_is_the_true_one_and_the_bounds_hold() -> None:
    for seed in range(30):
        measure = ("mi", "chi2")[seed % 2]
        frame, configurations = random_case(seed)
        summary = ao.summarize(frame, "y", configurations, histograms=bool(seed % 3 == 0))
        advice = ao.advise(summary, measure)
        truth = true_deviation(frame, measure, "y", configurations)
        ranking = advice.ranking.set_index("configuration")
        true = truth.reindex(ranking.index)
        size = max(1.0, float(truth.abs().max()))
        assert advice.certified, (seed, advice.warnings)
        assert (np.diff(true) >= -1e-9 * size).all(), seed
        assert truth[advice.best] == pytest.approx(truth.min(), abs=1e-9 * size)
        assert (ranking["pud_low"] <= true + 1e-9 * size).all(), seed
        assert (ranking["pud_high"] >= true - 1e-9 * size).all(), seed


def test_measures_that_merged_classes_improve_prove_nothing(clinic: ao.datasets.Dataset) -> None:
    summary = ao.summarize(clinic.frame, "health", with_labels(clinic, ILL_WELL, None))
    for name in ao.measures.available_measures():
        measure = ao.get_measure(name)
        advice = ao.advise(summary, name)
        proved = measure.monotone and measure.monotone_in_labels
        assert advice.certified == proved, name
        bounds = advice.ranking[["pud_low", "pud_high"]]
        assert bounds.notna().all(axis=None) if proved else bounds.isna().all(axis=None), name
        warned = [text for text in advice.warnings if text.startswith(("no certificate", "different"))]
        assert len(warned) == (0 if proved else 2), (name, advice.warnings)
        if measure.monotone and not proved:
            assert "classes of the label are merged" in warned[0]
            assert advice.ranked_by == "pud"
            assert "not proved" in advice.reason
    assert "merging values or classes of the label never" in ao.advise(summary, "mi").reason
    alike = ao.advise(ao.summarize(clinic.frame, "health", with_labels(clinic, THREE)), "g3")
    assert not alike.certified
    assert not any(text.startswith("different") for text in alike.warnings)


def test_a_configuration_that_is_first_only_by_its_easier_label_is_not_certified() -> None:
    people = pd.DataFrame({"a": [0, 1, 2, 3] * 5, "y": list("pqrs") * 5})
    merged = ao.Generalize({"P": ["p", "q"], "R": ["r", "s"]})
    configurations = {
        "keeps all": {"a": ao.Identity()},
        "easy": {"a": ao.Generalize([["low", [0, 1]], ["high", [2, 3]]]), "y": merged},
    }
    summary = ao.summarize(people, "y", configurations)
    for measure in ("theils_u", "gk_tau", "g3", "cramers_v"):  # all perfect for either label
        values = ao.advise(summary, measure).masked["a"]
        assert values["easy"] == pytest.approx(values["keeps all"])
        assert not ao.advise(summary, measure).certified
    assert ao.advise(summary, "mi").best == "keeps all"
    assert ao.advise(summary, "mi").ranking["pud"].tolist() == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize("solver", ["ipf", "smooth", "auto", "convex", "integer"])
def test_both_scopes_take_masked_labels(clinic: ao.datasets.Dataset, solver: str) -> None:
    configurations = with_labels(clinic, ILL_WELL, THREE)
    some = dict(list(configurations.items())[:2])
    masks = {
        name: {"age": ao.Bucketize(width=40 + 20 * i), "health": own["health"]}
        for i, (name, own) in enumerate(some.items())
    }
    frame = clinic.frame.assign(age=clinic.frame["age"] // 20 * 20)[:150]
    summary = ao.summarize(frame, "health", masks, histograms=["age"])
    truth = true_deviation(frame, "mi", "health", masks)
    for scope in ("pooled", "single"):
        advice = ao.advise(summary, "mi", solver, scope)  # type: ignore[arg-type]
        assert advice.certified == (scope == "pooled")
        if scope == "pooled":
            assert list(advice.ranking["configuration"]) == list(truth.sort_values().index)
        assert set(advice.attributes["status"]) <= {"OPTIMAL", "FEASIBLE"}
    hypergeometric = ao.advise(summary, "mi", scope="single", rounding="hypergeometric")
    assert np.isfinite(hypergeometric.ranking["pud"]).all()


def test_a_single_view_of_a_masked_label_is_degenerate(clinic: ao.datasets.Dataset) -> None:
    """Even where no value is merged: the classes are."""
    masks = {"a": {"age": ao.Identity(), "health": ILL_WELL}, "b": {"age": ao.Identity(), "health": THREE}}
    summary = ao.summarize(clinic.frame, "health", masks)
    advice = ao.advise(summary, "mi", scope="single")
    assert advice.best is None
    assert advice.reason.startswith("degenerate")
    assert summary.unmasked() == [("a", "age"), ("b", "age")]
    assert not any(map(summary.is_raw, summary.attributes["age"].tables))
    assert "some configuration that masks the label leaves age unmasked" in " ".join(str(summary).split())
    assert any(text.startswith("proved: ") and " b first" in text for text in advice.warnings)


def test_auto_prefers_bits_to_scores_where_labels_differ(clinic: ao.datasets.Dataset) -> None:
    differ = ao.summarize(clinic.frame, "health", with_labels(clinic, ILL_WELL, None), share="both")
    alike = ao.summarize(clinic.frame, "health", with_labels(clinic, ILL_WELL), share="both")
    assert (ao.advise(differ).measure, ao.advise(alike).measure) == ("mi_loo", "r2_gcv")
    assert differ.numbers is not None
    numbers = ao.advise(differ.numbers)
    assert numbers.measure == "mi_loo"
    assert numbers.by_mi is not None
    assert numbers.by_mi.certified
    assert any("different labels" in text for text in ao.advise(differ, "r2_gcv").warnings)


def test_numbers_are_those_of_the_tables(clinic: ao.datasets.Dataset, tmp_path: Path) -> None:
    configurations = with_labels(clinic, ILL_WELL, None, THREE)
    tables = ao.summarize(clinic.frame, "health", configurations)
    numbers = ao.summarize(
        clinic.frame, "health", configurations, share="scores", measures=["mi", "g3"], unmasked=True
    )
    numbers.save(tmp_path / "n.json")
    assert ao.Summary.load(tmp_path / "n.json") == numbers
    for measure, certified in (("mi", True), ("g3", False)):
        told, counted = ao.advise(numbers, measure), ao.advise(tables, measure)
        pd.testing.assert_frame_equal(told.masked, counted.masked)
        assert told.certified is certified
        truth = true_deviation(clinic.frame, measure, "health", configurations)
        assert told.ranking.set_index("configuration")["pud"].to_dict() == pytest.approx(truth.to_dict())


def test_explanations_compare_masks_under_the_same_label(clinic: ao.datasets.Dataset) -> None:
    configurations = with_labels(clinic, ILL_WELL, None)
    summary = ao.summarize(clinic.frame, "health", configurations, share="both", explain=True)
    for measure in ("mi", "r2_gcv"):
        advice = ao.advise(summary, measure)
        for name, index in [("strictest", summary.label_mask_of.get("strictest")), (advice.best, None)]:
            index = summary.label_mask_of.get(str(name))
            allowed = {
                attribute: {
                    ao.masks._spec_text.spec_text(table.spec)
                    for table in summary.attributes[attribute].tables
                    if table.label_mask == index
                }
                for attribute in summary.attributes
            }
            explained = advice.explain(name)
            for row in explained.itertuples():
                assert row.other_mask is None or row.other_mask in allowed[row.attribute]
            if measure == "mi" and index is not None:  # the table without a mask, but with the masked label
                assert explained["cost"].isna().all()


def test_bootstrap_resamples_masked_labels_or_says_why_not(clinic: ao.datasets.Dataset) -> None:
    configurations = with_labels(clinic, ILL_WELL, None)
    found = ao.advise(ao.summarize(clinic.frame, "health", configurations), "mi", bootstrap=20)
    assert found.best in found.equivalent
    assert np.isfinite(found.ranking["difference_high"]).all()
    hidden = ao.summarize(clinic.frame, "health", with_labels(clinic, ILL_WELL))
    with pytest.raises(InvalidOption, match=r"classes of the label 'health'.*histograms=\['health'\]"):
        ao.advise(hidden, "mi", bootstrap=20)
    shown = ao.summarize(clinic.frame, "health", with_labels(clinic, ILL_WELL), ["health"])
    assert ao.advise(shown, "mi", bootstrap=20).equivalent


def test_a_required_rule_leaves_configurations_and_their_labels_out(clinic: ao.datasets.Dataset) -> None:
    configurations = with_labels(clinic, ILL_WELL, None)
    rule = ao.privacy.KAnonymity(2)
    summary = ao.summarize(clinic.frame, "health", configurations, share="both", rules=rule)
    figures = summary.privacy.rules[0].figures  # type: ignore[union-attr]
    level = sorted(set(figures.values()))[-1]
    advice = ao.advise(summary, "mi", require=ao.privacy.KAnonymity(int(level)))
    assert len(advice.ranking) < len(configurations)
    assert advice.certified


def test_an_advice_and_its_record_say_how_the_label_is_masked(
    clinic: ao.datasets.Dataset, tmp_path: Path
) -> None:
    summary = ao.summarize(clinic.frame, "health", with_labels(clinic, THREE))
    advice = ao.advise(summary, "mi")
    advice.save(tmp_path / "advice.json")
    assert ao.Advice.load(tmp_path / "advice.json").certified
    page = advice.report(tmp_path / "advice.html").read_text()
    assert "5 classes become 3: good, fair, bad" in page
    assert "AS &quot;health&quot;" in page
    assert "THEN &#x27;bad&#x27;" in page or "&#39;bad&#39;" in page


def masked_twice(counts: list[int]) -> ao.Summary:
    """Two masks of a label of four classes, whose tables leave two classes empty; no histogram."""
    spec = {"function": "suppress"}
    groups = ([0, 0, 1, 1], [0, 1, 0, 1])
    joint = [[2, 0], [0, 2]]
    return ao.Summary(
        label="y",
        label_kind="string",
        label_values=tuple("abcd"),
        label_counts=counts,
        attributes={
            "x": AttributeSummary(
                "integer", 2, None, None, [MaskedTable(spec, [0, 1], ("0", "1"), joint, i) for i in (0, 1)]
            )
        },
        configurations={"one": {"x": 0}, "two": {"x": 1}},
        label_masks=[LabelMask(spec, g, ("p", "q"), [2, 2]) for g in groups],
        label_mask_of={"one": 0, "two": 1},
    )


@pytest.mark.parametrize("scope", ["pooled", "single"])
def test_records_per_class_count_where_all_labels_are_masked_and_no_histogram_is_shared(
    scope: Any,
) -> None:
    """Advice left them out, so that totals which contradict them had certificates."""
    assert ao.advise(masked_twice([2, 0, 0, 2]), "mi").certified
    contradictory = masked_twice([1, 1, 1, 1])
    if scope == "pooled":
        with pytest.raises(ao.InfeasibleProblem, match="attribute 'x'"):
            ao.advise(contradictory, "mi")
    for measure in ("mi", "chi2"):
        advice = ao.advise(contradictory, measure, scope=scope, on_conflict="repair")
        assert not advice.certified
        assert advice.ranking[["pud_low", "pud_high"]].isna().all(axis=None)
        assert any("contradict each other" in warning for warning in advice.warnings)
