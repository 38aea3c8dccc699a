"""The norm research: families with known truth, and a summary that says what the tables say."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from aegis_opt.harness.findings import write_summary
from aegis_opt.harness.research import VARIANTS, Research, list_families, make_family, run_research


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
