"""The figures of a comparison and of a reconstruction: valid, of the right rows, and in words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from results_factory import HOSTILE, VARIANTS, changed
from specifications import layers_of

import aegis_opt as ao
from aegis_opt.errors import InvalidInput, InvalidOption
from aegis_opt.harness import Results
from aegis_opt.report._chart_data import Point, Selection, selections_of
from aegis_opt.report._comparison_figures import KINDS, charts_of
from aegis_opt.report._conclusion import conclusion, telling_apart
from aegis_opt.report._prepared_results import advice_by_group, typed, variants_of
from aegis_opt.report._ranking_data import rankings_of
from aegis_opt.report.charts._order import order_chart
from aegis_opt.report.charts._variants import VariantStyle, log_ticks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def selections(results: Results) -> list[Selection]:
    plain = typed(results)
    return selections_of(plain, advice_by_group(plain))


def test_every_figure_is_valid_on_paper_and_on_the_page(
    results: Results, selections: list[Selection]
) -> None:
    style = VariantStyle(VARIANTS)
    found = set()
    for page in (False, True):
        for kind, _, chart in charts_of(selections[0], style, page=page):
            specification = chart.to_dict()  # altair checks it against the schema of Vega-Lite
            found.add(kind)
            assert len(specification["description"]) > 20
            assert ("title" in specification) == (not page)
            assert specification["width"] == "container" if page else specification["width"] > 100
    plain = typed(results)
    run = next(run for run in rankings_of(plain, variants_of(plain)) if run.names)
    assert order_chart(run).to_dict()["title"]["text"].startswith("Order by")
    assert order_chart(run, page=True).to_dict()["width"] == "container"
    assert found | {"ranking"} == {kind.name for kind in KINDS}


def test_figures_hold_the_numbers_of_the_selection(selections: list[Selection]) -> None:
    selection = selections[0]
    charts = {kind: chart for kind, _, chart in charts_of(selection, VariantStyle(VARIANTS))}
    [points] = [data for layer, data in layers_of(charts["pareto"]) if "tooltip" in layer["encoding"]]
    assert sorted(row["tvd"] for row in points) == pytest.approx(
        sorted(point.tvd for point in selection.points), rel=1e-5
    )
    medians = [row["median"] for row in next(iter(layers_of(charts["tvd"])))[1]]
    assert sorted(medians) == pytest.approx(sorted(box.median for box in selection.boxes), rel=1e-5)
    cells = next(iter(layers_of(charts["regret"])))[1]
    assert len(cells) == len(selection.cells)
    assert sum(row["worse"] for row in cells) == sum((cell.share or 0) > 1.0005 for cell in selection.cells)


def test_results_draw_themselves(small: Results) -> None:
    for kind in ("pareto", "ranking"):
        assert small.plot(kind).to_dict()["title"]["text"]
    assert "chi2" not in str(small.plot("estimate", measure="mi").to_dict()["title"])
    assert small.plot("tvd", dataset="people", scope="pooled").to_dict()["title"]["text"]
    for wrong, match in (
        ({"kind": "pie"}, "kind"),
        ({"dataset": "nowhere"}, "dataset"),
        ({"scope": "both"}, "scope"),
        ({"kind": "ranking", "measure": "pi"}, "measure"),
        ({"measure": "mi"}, "leave measure out"),
    ):
        with pytest.raises(InvalidOption, match=match):
            small.plot(**wrong)
    empty = changed(small, advice=small.advice.iloc[:0], rankings=small.rankings.iloc[:0])
    with pytest.raises(InvalidOption, match="nothing to draw of kind 'regret'"):
        empty.plot("regret")
    with pytest.raises(InvalidOption, match="nothing to draw"):
        changed(empty, reconstructions=small.reconstructions.iloc[:0]).plot()


def test_a_reconstruction_is_drawn_against_the_truth_or_the_prior() -> None:
    table = ao.datasets.worked_example_table()
    found = ao.reconstruct(ao.Problem.from_table(table, groups=[0, 0, 0, 1, 1, 1, 1, 1]))
    [(_, _), (layer, cells)] = layers_of(found.plot(truth=table))
    assert layer["encoding"]["color"]["scale"]["domain"] == [str(name) for name in table.columns]
    assert [cell["known"] for cell in cells] == pytest.approx(table.to_numpy().ravel().tolist())
    assert [cell["found"] for cell in cells] == pytest.approx(found.table.to_numpy().ravel(), rel=1e-5)
    assert "from the prior" in found.plot().to_dict()["title"]["text"]
    with pytest.raises(InvalidInput, match="truth is 7 x 5"):
        found.plot(truth=table.iloc[1:])
    with pytest.raises(InvalidOption, match="give truth="):
        replace(found, problem=None).plot()


def test_a_large_table_shows_its_largest_cells() -> None:
    table = np.random.default_rng(0).integers(0, 50, (300, 9))
    found = ao.reconstruct(ao.Problem.from_table(table, groups=np.arange(300) // 3))
    chart = found.plot(truth=table)
    assert "the 2,000 largest of 2,700 cells" in str(chart.to_dict()["title"]["subtitle"])
    assert "color" not in list(layers_of(chart))[1][0]["encoding"]


def point(variant: str, tvd: float, seconds: float, *, n: int = 5) -> Point:
    return Point(variant, True, n, 5, 0, seconds, tvd, front=False)


def of_points(selections: list[Selection], *points: Point) -> str:
    return conclusion(replace(selections[0], points=list(points), cells=[]))


def test_the_conclusion_names_the_fastest_of_the_close_ones(selections: list[Selection]) -> None:
    said = of_points(selections, point("slow", 0.100, 0.4), point("quick", 0.105, 0.01))
    assert said.startswith("Take quick: as close as slow (mean TVD 0.105 against 0.1), 40 times faster")
    said = of_points(selections, point("slow", 0.105, 0.4), point("quick", 0.100, 0.01))
    assert said.startswith("Take quick: none is closer (mean TVD 0.1), and of those as close none is faster")
    said = of_points(selections, point("far", 0.3, 0.001), point("near", 0.1, 0.01))
    assert said.startswith(
        "Take near: it is the closest (mean TVD 0.1). The next, far, has 0.3 and takes 1 ms"
    )
    said = of_points(selections, point("a", 0.100, 0.0100), point("b", 0.101, 0.0095))
    assert "in about the same time" in said
    said = of_points(selections, point("lucky", 0.0, 0.001, n=2), point("whole", 0.2, 0.5))
    assert said.startswith("No other variant was tried on every problem: whole")
    assert of_points(selections) == "Nothing was tried on every problem, so no variant can be named."


def test_the_conclusion_says_what_the_advice_costs(selections: list[Selection]) -> None:
    selection = telling_apart(selections)
    said = conclusion(selection)
    assert "of what a random choice loses" in said
    regret = conclusion(replace(selection, points=[]))
    assert "mean regret, in units of a random choice's" in regret


def test_the_scope_that_tells_apart_is_shown_first(selections: list[Selection]) -> None:
    alike, apart = selections[0], replace(selections[0], scope="other")
    alike = replace(alike, points=[point("a", 0.2, 1.0), point("b", 0.2, 2.0)])
    apart = replace(apart, points=[point("a", 0.2, 1.0), point("b", 0.3, 2.0)])
    assert telling_apart([alike, apart]) is apart
    assert telling_apart([apart, alike]) is apart
    assert telling_apart([alike, replace(alike, scope="other")]) is alike


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.05), (1.0, 1.6), (1.0, 4.0), (0.002, 3.0), (1.0, 1e6)])
def test_logarithmic_axes_have_a_few_round_numbers(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 3 <= len(ticks) <= 8
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_long_and_hostile_names_stay_apart_and_text(small: Results) -> None:
    specification = small.plot("tvd").to_dict()
    assert "odd</script>" in str(specification)
    assert HOSTILE not in str(specification)  # shortened, and escaped where it is written


def test_averages_are_those_of_the_rows(results: Results) -> None:
    plain = typed(results)
    found = advice_by_group(plain).set_index(["dataset", "measure", "variant", "scope", "histogram"])
    assert found["runs"].sum() == len(plain.advice)
    part = plain.advice[(plain.advice["variant"] == "ipf") & (plain.advice["dataset"] == "people")]
    part = part[(part["measure"] == "mi") & (part["scope"] == "pooled") & part["histogram"]]
    row = found.loc[("people", "mi", "ipf", "pooled", True)]
    assert row["regret"] == pytest.approx(part["regret"].mean())
    assert row["best"] == part["best"].iloc[0]
    assert advice_by_group(changed(plain, advice=plain.advice.iloc[:0])).empty
    assert isinstance(found, pd.DataFrame)


def test_nothing_draws_with_matplotlib() -> None:
    files = [
        path
        for room in ("aegis_opt", "solvers", "benchmarks", "tests")
        for path in (ROOT / room).rglob("*.py")
    ]
    assert len(files) > 300
    word = "matplot" + "lib"
    found = [
        path for path in files if f"import {word}" in (text := path.read_text()) or f"from {word}" in text
    ]
    assert found == []
    assert word not in (ROOT / "pyproject.toml").read_text()
    assert f"{word}==" not in (ROOT / "constraints.txt").read_text()
