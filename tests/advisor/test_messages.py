"""Messages that do not mislead: no winner, what is unknown, what is only a bound, and what is chance."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import aegis_opt as ao
from aegis_opt.advisor._attribute_warnings import mostly_chance
from aegis_opt.advisor._numbers import bounds_text, is_lower_bound
from aegis_opt.measures import available_measures, chance_share, get_measure
from aegis_opt.summary._identifiers import nearly_unique


def people(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 40, n)
    return pd.DataFrame(
        {
            "Unnamed: 0": np.arange(n),
            "age": age,
            "size": rng.integers(0, 12, n),
            "y": (age + rng.integers(0, 20, n)) // 20,
        }
    )


def widths(*of: int, attribute: str = "age") -> dict[str, dict[str, ao.Bucketize]]:
    return {f"w{width}": {attribute: ao.Bucketize(width=width)} for width in of}


def test_more_than_half_tied_by_an_estimate_name_no_winner() -> None:
    """Whole tables from single views: groups of one record or one label leave nothing to estimate."""
    frame = pd.DataFrame({"a": range(8), "b": [0, 1] * 4, "y": [0, 0, 0, 0, 1, 1, 1, 1]})
    masks = {
        "one": {"a": ao.Bucketize(edges=[4])},
        "two": {"a": ao.Bucketize(edges=[2, 4])},
        "three": {"a": ao.Bucketize(edges=[4, 6])},
        "all": {"a": ao.Suppress()},
    }
    summary = ao.summarize(frame, "y", masks, histograms=True)
    advice = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", seed=1)
    assert advice.ranking["rank"].tolist() == [1, 1, 1, 4]
    assert advice.best is None
    assert advice.tied == ()
    assert advice.reason.startswith("cannot tell: 3 of 4 configurations share the least estimated deviation")
    assert any("proved from the same summary puts one first" in text for text in advice.warnings)
    assert ao.advise(summary, "mi").best == "one"  # the tie is proved there
    assert ao.advise(summary).best is not None


def test_equal_masks_are_no_tie_of_an_estimate() -> None:
    frame = people()
    masks = {**widths(5, 20), "again": {"age": ao.Bucketize(width=5)}}
    summary = ao.summarize(frame, "y", masks)
    advice = ao.advise(summary, "mi", scope="single", rounding="hypergeometric")
    assert set(advice.tied) in ({"w5", "again"}, {"w20"})
    assert advice.best is not None
    only = ao.advise(ao.summarize(frame, "y", widths(5)), "mi", scope="single", rounding="hypergeometric")
    assert only.best == "w5"


def test_an_estimate_that_the_proved_order_contradicts_gives_both() -> None:
    clinic = ao.datasets.clinic(2000)
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)
    estimated = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", replicates=3)
    proved = ao.advise(summary, "mi")
    assert estimated.best not in (None, proved.best)
    [text] = [warning for warning in estimated.warnings if warning.startswith("disproved")]
    assert f"puts {estimated.best} first" in text
    assert f"puts {proved.best} first" in text
    assert not any(warning.startswith("disproved") for warning in proved.warnings)


def test_no_contradiction_where_the_estimate_agrees() -> None:
    summary = ao.summarize(people(2000), "y", widths(2, 20), histograms=True)
    estimated = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", replicates=3)
    assert estimated.best == ao.advise(summary, "mi").best == "w2"
    assert not any(warning.startswith("disproved") for warning in estimated.warnings)


@pytest.mark.parametrize("options", [{}, {"rounding": "drawn"}, {"scope": "single", "rounding": "drawn"}])
def test_what_no_table_describes_is_unknown(options: dict[str, str]) -> None:
    masks = {name: {**mask, "size": ao.Suppress()} for name, mask in widths(2, 10).items()}
    summary = ao.summarize(people(), "y", masks, histograms=True)
    advice = ao.advise(summary, "mi", **options)  # type: ignore[arg-type]
    attributes = advice.attributes.set_index("attribute")
    assert np.isnan(attributes.loc["size", "estimate"])
    assert attributes.filter(like="estimate").loc["age"].notna().all()
    assert attributes.filter(like="estimate").loc["size"].isna().all()
    assert advice.deviations["size"].isna().all()
    assert advice.ranking["pud"].notna().all()
    assert any(warning.startswith("unknown: no shared table describes 'size'") for warning in advice.warnings)
    explained = advice.explain("w2").set_index("attribute")
    assert np.isnan(explained.loc["size", "cost"])
    assert explained.loc["age", "cost"] >= 0


def test_one_value_or_one_describing_view_is_known() -> None:
    frame = people().assign(size=1)
    masks = {name: {**mask, "size": ao.Suppress()} for name, mask in widths(2, 10).items()}
    assert ao.advise(ao.summarize(frame, "y", masks), "mi").deviations.notna().all(axis=None)
    masks["w2"]["size"] = ao.Bucketize(width=6)
    assert ao.advise(ao.summarize(people(), "y", masks), "mi").deviations.notna().all(axis=None)


def test_a_deviation_that_is_its_own_lower_bound_is_at_least_that() -> None:
    summary = ao.summarize(people(), "y", widths(4, 10), histograms=True)
    advice = ao.advise(summary, "mi")
    assert is_lower_bound(advice.ranking)
    assert re.search(r"its deviation is at least 0\.\d", advice.reason)
    assert "deviation, at least" in str(advice)
    known = ao.advise(ao.summarize(people(), "y", {**widths(4), "open": {"age": ao.Identity()}}), "mi")
    assert not is_lower_bound(known.ranking)
    assert "at least" not in known.reason


def test_open_bounds_are_said_in_words() -> None:
    nan = float("nan")
    assert bounds_text(0.5, nan, 1) == "at least 0.5"
    assert bounds_text(nan, 0.5, 1) == "at most 0.5"
    assert bounds_text(nan, nan, 1) == "-"


def test_identifiers_and_row_numbers_are_warned_of_with_a_measure_to_use_instead() -> None:
    masks = {
        "a": {"Unnamed: 0": ao.Bucketize(width=3), "age": ao.Bucketize(width=5)},
        "b": {"age": ao.Suppress()},
    }
    summary = ao.summarize(people(), "y", masks)
    assert nearly_unique(summary) == {"Unnamed: 0": 400}
    for measure in ("auto", "mi", "g3"):
        [text] = [w for w in ao.advise(summary, measure).warnings if w.startswith("nearly unique")]
        assert "'Unnamed: 0' (400 values) in 400 records" in text
        assert ("measure='mi_loo'" in text) == (measure != "auto")  # which is mi_loo already
    assert "nearly unique" in str(summary)
    few = ao.summarize(people(30), "y", masks)
    assert list(nearly_unique(few)) == ["Unnamed: 0"]  # by its name, although there are few
    assert nearly_unique(ao.summarize(people(), "y", widths(5))) == {}


@pytest.mark.parametrize("measure", available_measures())
def test_a_measure_that_is_mostly_chance_is_warned_of(measure: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.integers(0, 150, 300), "y": rng.integers(0, 2, 300)})
    frame["told"] = frame["y"] * 10 + rng.integers(0, 3, 300)
    masks = {
        "a": {"noise": ao.Bucketize(width=2), "told": ao.Bucketize(width=2)},
        "b": {"noise": ao.Suppress()},
    }
    advice = ao.advise(ao.summarize(frame, "y", masks), measure)
    found = [warning for warning in advice.warnings if warning.startswith("chance")]
    corrected = measure.endswith(("_loo", "_corrected"))
    assert bool(found) != corrected
    if found:
        assert "'noise'" in found[0]
        assert "'told'" not in found[0]
        assert "measure='mi_loo'" in found[0]


def test_the_rough_share_of_chance_overlooks_nothing() -> None:
    """Wherever more than half of mi is chance, the closer look is taken: random tables, dense and sparse."""
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(300):
        n, values, classes = int(rng.integers(5, 400)), int(rng.integers(2, 200)), int(rng.integers(2, 6))
        weights = rng.dirichlet(np.full(values, rng.choice([0.1, 1.0])))
        shares = rng.dirichlet(np.full(classes, rng.choice([0.2, 5.0])))
        frame = pd.DataFrame({"x": rng.choice(values, n, p=weights), "y": rng.choice(classes, n, p=shares)})
        if frame["y"].nunique() < 2:
            continue
        summary = ao.summarize(frame, "y", {"c": {"x": ao.Identity()}})
        table = summary.attributes["x"].tables[0].joint
        chance = chance_share("mi", table) > 0.5
        seen += chance
        assert mostly_chance(get_measure("mi"), summary) == (["x"] if chance else [])
    assert seen > 50


def test_shared_shares_of_chance_are_used_where_there_are_no_tables() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"noise": rng.integers(0, 150, 300), "y": rng.integers(0, 2, 300)})
    masks = {"a": {"noise": ao.Bucketize(width=2)}, "b": {"noise": ao.Suppress()}}
    shared = ao.summarize(frame, "y", masks, share="scores")
    assert any(warning.startswith("chance") for warning in ao.advise(shared, "mi").warnings)
    assert not any(warning.startswith("chance") for warning in ao.advise(shared, "mi_loo").warnings)
