"""The norm research: families with known truth, and a summary that says what the tables say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from aegis_opt.harness import load_results
from aegis_opt.harness._schema import FAILED, TIMED_OUT
from benchmarks.paper.findings import write_summary
from benchmarks.paper.research import VARIANTS, Research, list_families, make_family, run_research


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Research, Path]:
    folder = tmp_path_factory.mktemp("norms")
    return run_research(folder, small=True), folder


def test_every_variant_is_judged_on_every_family_and_scope(found: tuple[Research, Path]) -> None:
    quality = found[0].quality
    assert len(quality) == len(list_families(small=True)) * len(VARIANTS) * 2
    assert quality["tvd"].between(0, 1).all()
    assert (quality["failed"] == 0).all()


def test_pooled_reconstructions_keep_the_true_order_and_are_closer(found: tuple[Research, Path]) -> None:
    quality = found[0].quality
    assert quality.loc[quality["scope"] == "pooled", "tau"].min() == pytest.approx(1.0)
    mean = quality.groupby("scope")["tvd"].mean()
    assert mean["pooled"] < mean["single"]


def test_the_least_informative_table_has_no_winner_from_one_view(found: tuple[Research, Path]) -> None:
    quality = found[0].quality
    degenerate = quality[(quality["variant"] == "ipf") & (quality["scope"] == "single")]
    assert (degenerate["no_winner"] == 1).all()


def test_kl_and_l2_have_one_optimal_table_and_ranges_are_ranges(found: tuple[Research, Path]) -> None:
    spread = found[0].spread
    fractional = spread[spread["kind"] == "fractional"].groupby("norm")["spread"].max()
    assert fractional["l2"] == fractional["kl"] == 0
    assert fractional["l1"] > 0.001
    assert (spread["mi_low"] <= spread["mi_high"]).all()


def test_roundings_that_keep_totals_are_never_better_than_the_best_whole_table(
    found: tuple[Research, Path],
) -> None:
    factors = found[0].factors
    keeps = factors[factors["off_totals"] == 0]
    assert {"controlled", "nearest"} <= set(keeps["rounding"])
    assert (keeps["factor"] >= 1 - 1e-9).all()


def test_the_summary_is_made_from_the_tables(found: tuple[Research, Path]) -> None:
    research, folder = found
    assert (folder / "norms.md").read_text() == research.summary
    best = research.factors.assign(factor=7.5)
    changed = write_summary(research.quality, research.spread, best, ["mi"], 0)
    assert "7.5000 of the optimum" in changed
    assert "7.5000 of the optimum" not in research.summary


def test_files_are_written_and_a_second_run_gives_the_same(found: tuple[Research, Path]) -> None:
    research, folder = found
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("norms-quality.csv", "norms-spread.csv", "norms-factors.csv"),
        *("norms.png", "norms.md", "norms-runs"),
    }
    again = run_research(folder, small=True)
    pd.testing.assert_frame_equal(research.quality, again.quality)
    assert research.summary == again.summary


def test_families_vary_one_thing_and_repeat_with_their_seed() -> None:
    families = list_families()
    assert len({tuple(one.items()) for one in families}) == len(families) == 7
    one, same, other = (make_family(6, 1, 2, seed=seed, small=True).source for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)


def test_failures_are_penalised_and_said(
    found: tuple[Research, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runs = load_results(found[1] / "norms-runs")
    tables, advice = runs.reconstructions, runs.advice
    never = tables["variant"] == "convex:l1"
    one = (tables["variant"] == "ipf") & ~tables[["variant", "scope"]].duplicated()
    lost = replace(
        runs,
        reconstructions=tables.assign(
            tvd=tables["tvd"].mask(never | one), status=tables["status"].mask(never | one, TIMED_OUT)
        ),
        advice=advice.assign(
            pud_error=float("nan"), tau=float("nan"), status=FAILED, certified=False, regret=float("nan")
        ),
    )
    monkeypatch.setattr("benchmarks.paper.research.run_comparison", lambda *_, **__: lost)
    research = run_research(tmp_path, small=True)
    quality = research.quality.set_index(["variant", "scope"])
    assert (quality.loc["convex:l1", "tvd"] == 1).all()
    assert (quality.loc["convex:l1", "tables_failed"] == quality.loc["convex:l1", "tables"]).all()
    assert quality["tvd"].notna().all()
    text = research.summary
    assert "nan" not in text
    assert "l1, pooled" in text
    assert "Never succeeded, so nothing is known of them here: l1 (fractional, pooled)" in text
    assert "every norm has failed runs" in text
    assert "kl (fractional, pooled) 1 of 2" in text
    assert "the largest that of l1 (fractional): 1.000" in text


def test_ties_are_named_and_no_spread_found_is_no_proof(found: tuple[Research, Path]) -> None:
    research, _ = found
    assert "One answer only" not in research.summary
    assert "No spread found" in research.summary
    tied = write_summary(research.quality, research.spread, research.factors.assign(factor=2.0), ["mi"], 0)
    assert "controlled, nearest and hypergeometric come equally close" in tied
