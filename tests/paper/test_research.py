"""The research into distances: families with known truth, and a page that says what the tables say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aegis_opt.harness import Case, ComparisonSettings, Results, load_results, run_comparison
from aegis_opt.harness._schema import FAILED, TIMED_OUT
from aegis_opt.harness._truth import scan_case
from aegis_opt.masks import Bucketize, Configurations, Generalize, Suppress
from benchmarks.paper.attributes import with_few_views
from benchmarks.paper.families import (
    ANOTHER_SAMPLE,
    KINDS,
    TRUTH_KNOWN,
    Facts,
    limits,
    list_families,
    make_family,
)
from benchmarks.paper.findings import write_summary
from benchmarks.paper.research import DISTANCES, WHOLE, Research, run_research


@pytest.fixture(scope="module")
def people() -> Case:
    """An ordered attribute, codes that are nominal, and two that are not worth it."""
    rng = np.random.default_rng(0)
    age = rng.integers(12, size=400)
    label = (rng.random(400) < age / 12).astype(int)
    code = (7 * label + rng.integers(9, size=400)) % 11
    frame = pd.DataFrame({"age": age, "code": code, "row": range(400), "sex": label, "label": label})
    masks = {
        "a": {"age": Bucketize(width=3), "code": Bucketize(width=4), "row": Bucketize(width=9)},
        "b": {"age": Bucketize(width=5), "code": Suppress(), "sex": Suppress()},
        "c": {"age": Generalize({"young": list(range(6)), "old": list(range(6, 12))})},
    }
    return Case("people", frame, "label", Configurations(masks, "label", {"code": "nominal"}))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, people: Case) -> tuple[Research, Path]:
    folder = tmp_path_factory.mktemp("norms")
    return run_research(folder, cases=[people], small=True), folder


@pytest.fixture(scope="module")
def quality(found: tuple[Research, Path]) -> pd.DataFrame:
    return found[0].tables["quality"]


def test_every_distance_is_judged_on_every_family_and_scope(quality: pd.DataFrame) -> None:
    families, base = list_families(small=True), list_families(small=True, base=True)
    assert quality.groupby(["distance", "family", "scope", "whole"]).size().max() == 1
    assert len(quality) == 2 * (len(families) * len(DISTANCES) + len(base) * len(WHOLE))
    assert quality["tvd"].between(0, 1).all()
    assert (quality["failed"] == 0).all()
    assert (quality["tables_failed"] == 0).all()


def test_pooled_reconstructions_keep_the_true_order_and_are_closer(quality: pd.DataFrame) -> None:
    assert quality.loc[quality["scope"] == "pooled", "tau"].min() == pytest.approx(1.0)
    mean = quality.groupby("scope")["tvd"].mean()
    assert mean["pooled"] < mean["single"]


def test_nominal_attributes_have_no_roughness_and_ordered_ones_do(quality: pd.DataFrame) -> None:
    wide = quality[~quality["whole"]].pivot_table(
        index=["kind", "family", "scope"], columns="distance", values="tvd"
    )
    for name in ("smooth", "smooth[order=2]", "auto"):
        np.testing.assert_allclose(wide.loc["nominal", name], wide.loc["nominal", "kl"], rtol=1e-6)
    assert (wide.loc["ordered", "smooth"] - wide.loc["ordered", "kl"]).abs().min() > 1e-4


def test_the_least_informative_table_has_no_winner_from_one_view(quality: pd.DataFrame) -> None:
    degenerate = quality[(quality["variant"] == "ipf") & (quality["scope"] == "single")]
    assert (degenerate["no_winner"] == 1).all()


def test_kl_and_l2_have_one_optimal_table_and_ranges_are_ranges(found: tuple[Research, Path]) -> None:
    spread = found[0].tables["spread"]
    fractional = spread[~spread["whole"]].groupby("distance")["spread"].max()
    assert fractional["l2"] == fractional["kl"] == 0
    assert fractional["l1"] > 0.001
    assert (spread["mi_low"] <= spread["mi_high"]).all()


def test_roundings_that_keep_totals_are_never_better_than_the_best_whole_table(
    found: tuple[Research, Path],
) -> None:
    factors = found[0].tables["factors"]
    keeps = factors[factors["off_totals"] == 0]
    assert {"controlled", "nearest"} <= set(keeps["rounding"])
    assert (keeps["factor"] >= 1 - 1e-9).all()


def test_limits_are_those_of_a_known_distribution() -> None:
    """One value per group leaves nothing to guess, and two samples of a fair coin are known to differ by."""
    family = make_family(Facts("nominal", 2, 0, 2, 400), small=True)
    coin = replace(family, truth={"x0": np.full((2, 2), 0.25)})
    data = scan_case(family.case)
    found = limits(coin, data, pairs=4000).set_index(["limit", "scope"])["tvd"]
    assert found[TRUTH_KNOWN, "pooled"] == pytest.approx(0, abs=1e-9)
    # each of the four cells differs by about a normal variable of variance 2 N (1/4) (3/4)
    expected = 4 * np.sqrt(2 * 400 * 3 / 16 * 2 / np.pi) / (2 * 400)
    assert found[ANOTHER_SAMPLE, "single"] == pytest.approx(expected, rel=0.03)
    assert found[ANOTHER_SAMPLE, "single"] == found[ANOTHER_SAMPLE, "pooled"]


def test_who_knows_the_truth_comes_closest(found: tuple[Research, Path], quality: pd.DataFrame) -> None:
    known = found[0].tables["limits"].query("limit == @TRUTH_KNOWN").groupby("scope")["tvd"].mean()
    mean = quality[~quality["whole"]].groupby(["scope", "distance"])["tvd"].mean()
    for scope in ("single", "pooled"):
        assert known[scope] < mean[scope].min()


def test_data_sets_are_compared_on_views_that_mask_something(found: tuple[Research, Path]) -> None:
    attributes = found[0].tables["attributes"].set_index("attribute")
    assert attributes["kind"].to_dict() == dict(
        zip(attributes.index, [*KINDS, *["ordered"] * 2], strict=True)
    )
    assert attributes["views"].to_dict() == {"age": 3, "code": 1, "row": 1, "sex": 0}
    assert attributes.loc["row", "left_out"] == "fewer than 5 records per value"
    assert attributes.loc["sex", "left_out"] == "fewer than 3 values"
    views = found[0].tables["views"]
    assert set(views["attribute"]) == {"age", "code"}
    assert len(views) == 2 * len(DISTANCES) * 2
    one = views[views["attribute"] == "code"].set_index(["scope", "distance"])["tvd"]
    assert one["single", "smooth"] == pytest.approx(one["single", "kl"])  # nominal, as declared
    assert one["single", "kl"] == one["pooled", "kl"]  # it has one view
    assert "of people row (fewer than 5 records per value)" in found[0].summary
    assert f"0 of {len(DISTANCES) * (3 + 1 + 1 + 1)} tables failed" in found[0].summary


def test_a_data_set_without_such_views_is_said_and_not_run(people: Case) -> None:
    assert isinstance(people.source, pd.DataFrame)
    masks = Configurations({"a": {"age": Suppress()}}, "label")
    case, attributes = with_few_views(replace(people, configurations=masks))
    assert case is None
    assert attributes["left_out"].tolist() == ["no view with some values merged"]


def test_the_page_is_made_from_the_tables(found: tuple[Research, Path]) -> None:
    research, folder = found
    assert (folder / "norms.md").read_text() == research.summary
    assert "nan" not in research.summary
    for name in DISTANCES:
        assert f"\n| {name} | 0." in research.summary
    tables = dict(research.tables)
    tables["factors"] = tables["factors"].assign(factor=7.5)
    rows = tables["quality"]
    tables["quality"] = rows.assign(tvd=rows["tvd"].mask(rows["distance"] == "huber=1", 0.0123))
    changed = write_summary(tables, tuple(DISTANCES), 0)
    for words in ("7.5000 of the optimum", "closest huber=1 with 0.012 ("):
        assert words in changed
        assert words not in research.summary


def test_the_page_of_the_documentation_is_one_of_these(found: tuple[Research, Path]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "norms.md").read_text()
    headings = [
        [line for line in text.splitlines() if line.startswith("#")] for text in (page, found[0].summary)
    ]
    assert headings[0] == headings[1]
    assert page.partition("\n## ")[0] == found[0].summary.partition("\n## ")[0]


def test_files_are_written_and_a_second_run_gives_the_same(
    found: tuple[Research, Path], people: Case
) -> None:
    research, folder = found
    tables = ("quality", "limits", "spread", "factors", "attributes", "views")
    assert tuple(research.tables) == tables
    names = {path.name for path in folder.iterdir()}
    assert names == {*(f"norms-{name}.csv" for name in tables), "norms.png", "norms.md", "norms-runs"}
    assert {path.name for path in (folder / "norms-runs").iterdir()} == {"families", "whole", "data"}
    again = run_research(folder, cases=[people], small=True)
    pd.testing.assert_frame_equal(research.tables["quality"], again.tables["quality"])
    assert research.summary == again.summary


def test_families_vary_one_thing_and_repeat_with_their_seed() -> None:
    families = list_families()
    assert len(set(families)) == len(families) == 18
    one, same, other = (
        make_family(Facts("ordered", 6, 1, 2, 99), seed=seed).case.source for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)


def test_label_shares_are_smooth_along_ordered_values_only() -> None:
    for kind, smooth in zip(KINDS, (True, False), strict=True):
        truth = make_family(Facts(kind, 72, 1, 3, 100)).truth["x0"]
        shares = truth / truth.sum(axis=1, keepdims=True)
        assert truth.sum() == pytest.approx(1)
        assert (np.abs(np.diff(shares, axis=0)).max() < 0.15) == smooth


def test_failures_are_penalised_and_said(
    found: tuple[Research, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(cases: list[Case], settings: ComparisonSettings) -> Results:
        if settings.tables == ["reconstructions"]:
            return run_comparison(cases, settings)
        name = "families" if len(cases) > 2 else "whole"
        runs = load_results(found[1] / "norms-runs" / name)
        tables, advice = runs.reconstructions, runs.advice
        never = tables["variant"] == "convex:l1"
        one = (tables["variant"] == "ipf") & ~tables[["variant", "scope"]].duplicated()
        return replace(
            runs,
            reconstructions=tables.assign(
                tvd=tables["tvd"].mask(never | one), status=tables["status"].mask(never | one, TIMED_OUT)
            ),
            advice=advice.assign(
                pud_error=float("nan"), tau=float("nan"), status=FAILED, certified=False, regret=float("nan")
            ),
        )

    monkeypatch.setattr("benchmarks.paper.research.run_comparison", broken)
    research = run_research(tmp_path, small=True)
    quality = research.tables["quality"].set_index(["variant", "scope"])
    assert (quality.loc["convex:l1", "tvd"] == 1).all()
    assert (quality.loc["convex:l1", "tables_failed"] == quality.loc["convex:l1", "tables"]).all()
    assert quality["tvd"].notna().all()
    text = research.summary
    assert "nan" not in text
    assert "One view: 12 of 12 tables by l1 failed: nothing is known of it here." in text
    assert "All views together: 1 of 4 tables by kl failed." in text
    assert "every distance has failed runs, so their deviations are not compared" in text
    assert "farthest l1 with 1.000" in text


def test_ties_are_named_and_no_spread_found_is_no_proof(found: tuple[Research, Path]) -> None:
    research, _ = found
    assert "No spread found" in research.summary
    tables = {**research.tables, "factors": research.tables["factors"].assign(factor=2.0)}
    tied = write_summary(tables, tuple(DISTANCES), 0)
    assert "controlled, nearest, hypergeometric and drawn come equally close" in tied
