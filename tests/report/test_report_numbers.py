"""The numbers of the report are those of the rows: nothing dropped, failures penalised, scopes apart."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from results_factory import DATASETS, HOSTILE, MEASURES, TIME_LIMIT, VARIANTS, changed, frames_of

from aegis_opt.harness import Results
from aegis_opt.harness._schema import FAILED, NO_WINNER, SKIPPED, TIMED_OUT
from aegis_opt.report import write_report
from aegis_opt.report._chart_data import Selection, selections_of
from aegis_opt.report._page_tables import PageTable, page_tables
from aegis_opt.report._prepared_results import (
    TIME_SHIFT,
    advice_by_group,
    once,
    plural,
    typed,
    variants_of,
)
from aegis_opt.report._ranking_data import MOST, REACH, Ranking, first_shown, rankings_of


@pytest.fixture(scope="module")
def plain(results: Results) -> Results:
    return typed(results)


@pytest.fixture(scope="module")
def selections(plain: Results) -> list[Selection]:
    return selections_of(plain, advice_by_group(plain))


@pytest.fixture(scope="module")
def rankings(plain: Results) -> list[Ranking]:
    return rankings_of(plain, variants_of(plain))


@pytest.fixture(scope="module")
def tables(plain: Results) -> dict[str, pd.DataFrame]:
    return {table.id: frame_of(table) for table in page_tables(plain, advice_by_group(plain))}


def frame_of(table: PageTable) -> pd.DataFrame:
    return pd.DataFrame(table.rows, columns=[column.key for column in table.columns])


def rows_of(plain: Results, **chosen: object) -> pd.DataFrame:
    frame = once(plain.reconstructions)
    for key, value in chosen.items():
        frame = frame[frame[key] == value]
    return frame


def selection_of(selections: list[Selection], dataset: str | None, scope: str) -> Selection:
    [found] = [
        selection for selection in selections if (selection.dataset, selection.scope) == (dataset, scope)
    ]
    return found


def test_there_is_a_selection_of_each_data_set_and_of_all_in_each_scope(selections: list[Selection]) -> None:
    found = [(selection.dataset, selection.scope) for selection in selections]
    assert sorted(found, key=str) == sorted(
        ((d, s) for d in (None, *DATASETS) for s in ("pooled", "single")), key=str
    )
    assert found[0][0] is None


def test_a_masked_table_that_configurations_share_counts_once(
    plain: Results, selections: list[Selection]
) -> None:
    single = plain.reconstructions["scope"] == "single"
    assert len(once(plain.reconstructions[single])) == 2 * single.sum() / 3  # c0 and c2 share a table
    [box] = [
        b for b in selection_of(selections, "people", "single").boxes if b.variant == "ipf" and b.histogram
    ]
    assert box.n == 3 * 2


def test_boxes_are_the_quantiles_of_the_penalised_tvds(plain: Results, selections: list[Selection]) -> None:
    for box in selection_of(selections, None, "single").boxes:
        part = rows_of(plain, scope="single", variant=box.variant, histogram=box.histogram)
        values = part["tvd"].fillna(1.0)
        assert box.n == len(values)
        assert box.penalised == part["status"].isin([FAILED, TIMED_OUT]).sum()
        assert (box.q1, box.median, box.q3) == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]))
        assert box.mean == pytest.approx(values.mean())
        beyond = values[(values < box.low) | (values > box.high)]
        assert sorted(box.dots) == pytest.approx(sorted(set(beyond.round(4))))


def test_few_values_are_shown_one_by_one(plain: Results, selections: list[Selection]) -> None:
    [box] = [
        b for b in selection_of(selections, "people", "pooled").boxes if b.variant == "ipf" and b.histogram
    ]
    part = rows_of(plain, scope="pooled", variant="ipf", histogram=True, dataset="people")
    assert box.dots == pytest.approx(sorted(part["tvd"].round(4)))
    assert len(box.dots) == 3


def test_nothing_on_the_front_is_beaten_and_everything_off_it_is(selections: list[Selection]) -> None:
    for selection in selections:
        for point in selection.points:
            rivals = [p for p in selection.points if p.histogram == point.histogram and p.n == p.of]
            beaten = [
                p
                for p in rivals
                if p.seconds <= point.seconds
                and p.tvd <= point.tvd
                and (p.seconds < point.seconds or p.tvd < point.tvd)
            ]
            assert point.front == (not beaten and point.n == point.of)
        assert any(point.front for point in selection.points)


def test_who_was_tried_on_fewer_problems_is_not_on_the_front(small: Results) -> None:
    rows = typed(small).reconstructions
    partly = (rows["variant"] == "ipf") & (rows["attribute"] != "a0")
    easy = rows.assign(
        tvd=rows["tvd"].where(rows["variant"] != "ipf", 0.0),
        status=rows["status"].where(~partly, SKIPPED),
    )
    partial = changed(small, advice=small.advice.iloc[:0], reconstructions=easy)
    points = [
        point
        for selection in selections_of(partial, advice_by_group(partial))
        for point in selection.points
        if point.variant == "ipf"
    ]
    assert len(points) == 2  # with and without histograms
    for point in points:
        assert point.n < point.of
        assert point.tvd == 0
        assert not point.front


def test_profiles_end_at_the_share_that_was_solved(selections: list[Selection]) -> None:
    for selection in selections:
        for profile in (selection.time_profile, selection.tvd_profile):
            assert profile is not None
            assert profile.taus[0] == 1
            assert all(np.diff(shares).min() >= 0 for shares in profile.shares.values())
            assert profile.shares["ipf"][-1] == 1
            assert profile.shares["broken"][-1] == 0
            assert 0 < profile.shares["slow"][-1] < 1
            assert "absent" not in profile.shares


def test_regret_is_relative_to_a_random_choice_and_penalised(selections: list[Selection]) -> None:
    cells = selection_of(selections, None, "pooled").cells
    assert len(cells) == len(VARIANTS) * 2 * len(DATASETS) * len(MEASURES)
    for cell in cells:
        if cell.variant == "broken":
            assert cell.share == pytest.approx((0.6 - 0.1) / (0.3 - 0.1))
            assert cell.penalised == 1
            assert cell.note == "1 failed"
        elif cell.variant == "absent":
            assert (cell.share, cell.n, cell.note) == (None, 0, "1 skipped")
        elif cell.variant == "ipf" and not cell.histogram:
            assert cell.share == pytest.approx(1)
            assert cell.note == "1 no winner"
        elif cell.variant == HOSTILE:
            assert cell.n == 2  # seeds


def test_regret_has_no_share_where_all_configurations_are_as_good(small: Results) -> None:
    equal = typed(small).advice.assign(pud_true_min=0.2, pud_true_mean=0.2, pud_true_max=0.2, regret=0.0)
    alike = changed(small, advice=equal, reconstructions=small.reconstructions.iloc[:0])
    cells = [
        cell
        for selection in selections_of(alike, advice_by_group(alike))
        for cell in selection.cells
        if cell.n
    ]
    assert {cell.share for cell in cells} == {None}
    assert all("equally good" in cell.note for cell in cells)


def test_only_named_winners_are_compared_with_the_truth(plain: Results, selections: list[Selection]) -> None:
    named = plain.advice[plain.advice["best"].notna()]
    shown = [
        choice for scope in ("pooled", "single") for choice in selection_of(selections, None, scope).choices
    ]
    assert len(shown) == len(named)
    assert sorted(c.estimated for c in shown) == pytest.approx(sorted(named["pud_best_estimated"]))
    assert sorted(c.true for c in shown) == pytest.approx(sorted(named["pud_best_true"]))


def test_every_advisor_run_has_a_ranking_or_says_why_not(plain: Results, rankings: list[Ranking]) -> None:
    assert len(rankings) == len(plain.advice)
    for ranking in rankings:
        if ranking.variant in ("broken", "absent", "random"):
            assert ranking.names == []
        remark = {
            "broken": "This run failed and has no order: ZeroDivisionError: <i>advice</i>.",
            "absent": "This run was skipped and has no order: 'absent' is not installed: pip install absent.",
            "random": "A choice at random: there is no order.",
        }.get(ranking.variant, ranking.remark)
        assert ranking.remark == remark
        if ranking.status == NO_WINNER:
            assert ranking.remark == "This run names no winner: every estimate is the same."
            assert ranking.ranks == [1, 1, 1]
    assert any("timed out" in ranking.remark for ranking in rankings if ranking.variant == "slow")


def test_a_ranking_has_the_numbers_of_its_rows_best_first(plain: Results, rankings: list[Ranking]) -> None:
    for ranking in rankings:
        rows = plain.rankings
        for key in ("scope", "dataset", "measure", "variant", "histogram", "seed"):
            rows = rows[rows[key] == getattr(ranking, key)]
        assert len(rows) == len(ranking.names)
        found = rows.set_index("configuration").loc[ranking.names]
        assert found["rank"].tolist() == ranking.ranks == sorted(ranking.ranks)
        for column, values in (
            ("pud", ranking.estimated),
            ("pud_low", ranking.low),
            ("pud_high", ranking.high),
            ("pud_true", ranking.true),
        ):
            expected = [None if np.isnan(value) else value for value in found[column]]
            assert values == expected
        proved = "nothing is proved" not in ranking.remark
        assert proved or ranking.measure == "chi2"


def test_rankings_come_in_the_order_of_the_plan_and_the_first_winner_is_shown(
    rankings: list[Ranking],
) -> None:
    own = [r for r in rankings if (r.scope, r.dataset, r.measure) == ("pooled", "people", "mi")]
    assert list(dict.fromkeys(r.variant for r in own)) == list(VARIANTS)
    shown = first_shown(own)
    assert (shown.variant, shown.histogram, shown.status) == ("ipf", True, "ok")
    undecided = first_shown([r for r in own if r.status != "ok" or r.variant == "random"])
    assert undecided.status == NO_WINNER
    failed = first_shown([r for r in own if r.status == FAILED])
    assert failed.names == []


def test_far_bounds_do_not_squeeze_the_rest_and_long_rankings_are_cut(small: Results) -> None:
    plain = typed(small)
    rows = plain.rankings[(plain.rankings["measure"] == "mi") & (plain.rankings["variant"] == "integer:l2")]
    one = rows[rows["histogram"]].iloc[:1].assign(pud=0.2, pud_low=0.1, pud_high=50.0, pud_true=0.3)
    many = pd.concat(
        [one.assign(configuration=f"c{i:03d}", rank=i + 1) for i in range(150)], ignore_index=True
    )
    advice = plain.advice.assign(best=plain.advice["best"].replace("c0", "c000"))
    long = next(
        r for r in rankings_of(changed(plain, rankings=many, advice=advice), VARIANTS) if len(r.names) > 3
    )
    assert long.end == pytest.approx(1.04 * REACH * 0.3)
    assert len(long.names) == MOST
    assert "the first 100 of 150 configurations are shown" in long.remark


def test_reconstruction_table_penalises_failures(plain: Results, tables: dict[str, pd.DataFrame]) -> None:
    found = tables["reconstructions"].set_index(["dataset", "variant", "scope", "histogram"])
    slow = found.loc[("people", "slow", "pooled", "yes")]
    part = rows_of(plain, dataset="people", variant="slow", scope="pooled", histogram=True)
    assert slow["mean"] == pytest.approx((1 + part["tvd"].sum()) / 3, rel=1e-5)
    times = part["seconds_total"].fillna(TIME_LIMIT) + TIME_SHIFT
    assert slow["seconds"] == pytest.approx(np.exp(np.log(times).mean()) - TIME_SHIFT, rel=1e-5)
    assert (slow["runs"], slow["timed_out"]) == (3, 1)
    assert slow["residual"] == pytest.approx(part["residual"].max(), rel=1e-5)
    assert found.loc[("people", "absent", "pooled", "yes")][["mean", "seconds"]].isna().all()


def test_advice_table_counts_every_row(plain: Results, tables: dict[str, pd.DataFrame]) -> None:
    for name in ("overview", "advice"):
        table = tables[name]
        assert table["runs"].sum() == len(plain.advice)
        for status in (FAILED, TIMED_OUT, SKIPPED, NO_WINNER):
            assert table[status.replace(" ", "_")].sum() == (plain.advice["status"] == status).sum()


def test_every_run_without_a_result_is_listed_with_its_reason(
    plain: Results, tables: dict[str, pd.DataFrame]
) -> None:
    listed = tables["without-result"]
    everything = pd.concat([plain.advice["status"], once(plain.reconstructions)["status"]])
    for status in (FAILED, TIMED_OUT, SKIPPED, NO_WINNER):
        assert listed.loc[listed["status"] == status, "runs"].sum() == (everything == status).sum() > 0
    assert listed["error"].str.len().min() > 0


def test_variants_keep_the_order_of_the_plan(plain: Results) -> None:
    assert variants_of(plain) == list(VARIANTS)


def test_where_every_run_failed_without_a_limit_no_time_is_made_up(small: Results, tmp_path: Path) -> None:
    frames = {name: frame[frame["variant"] == "broken"] for name, frame in frames_of(small).items()}
    broken = typed(changed(small, **frames))
    broken = replace(broken, meta=broken.meta | {"settings": {"time_limit": None}})
    for table in page_tables(broken, advice_by_group(broken))[:3]:
        place = [column.key for column in table.columns].index("seconds")
        assert {row[place] for row in table.rows} == {None}
    assert all(selection.points == [] for selection in selections_of(broken, advice_by_group(broken)))
    write_report(broken, tmp_path / "report.html")
    mixed = replace(broken, reconstructions=typed(small).reconstructions)
    longest = mixed.reconstructions["seconds_total"].max()
    assert page_tables(mixed, advice_by_group(mixed))[0].rows[0][6] == pytest.approx(longest, rel=1e-4)


def test_a_variant_that_ran_on_few_problems_is_marked(small: Results) -> None:
    rows = small.reconstructions
    hard = (rows["variant"] == "ipf") & (rows["attribute"] != "a0") & rows["histogram"]
    plain = typed(changed(small, reconstructions=rows.assign(status=rows["status"].mask(hard, SKIPPED))))
    found = next(
        table for table in page_tables(plain, advice_by_group(plain)) if table.id == "reconstructions"
    )
    place = [column.key for column in found.columns].index("ran_on")
    told = {(row[1], row[3]): row[place] for row in found.rows}
    assert told["ipf", "yes"] == "1 of 3"
    assert told["ipf", "no"] == told["broken", "yes"] == "3 of 3"
    assert told["absent", "yes"] == "0 of 3"
    [selection] = selections_of(plain, advice_by_group(plain))
    assert [(box.variant, box.histogram) for box in selection.boxes if box.partial] == [("ipf", True)]
    assert "* not run on all problems" in selection.notes["tvd"]


def test_a_count_has_its_noun() -> None:
    assert [plural(count, "run") for count in (0, 1, 1200)] == ["0 runs", "1 run", "1,200 runs"]
