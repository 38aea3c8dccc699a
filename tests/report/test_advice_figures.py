"""The figures of an advice say what the advice says, in every kind of file and without a network."""

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
from specifications import fetched_by, layers_of

import aegis_opt as ao
from aegis_opt.advisor._numbers import decimals_for
from aegis_opt.report import _embed
from aegis_opt.report._embed import json_text
from aegis_opt.report.charts import _theme as theme

HOSTILE = '</script><script>alert("x")</script>'


@pytest.fixture(scope="module")
def summary() -> ao.Summary:
    clinic = ao.datasets.clinic(300)
    return ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)


def rows(chart: alt.LayerChart) -> list[dict[str, Any]]:
    """The rows of the layer that draws the dots or the cells, which is the one with tooltips."""
    return next(data for layer, data in layers_of(chart) if "tooltip" in layer["encoding"])


def written(chart: alt.LayerChart) -> str:
    """All that is written in the figure: title, numbers at the right, names of marks."""
    specification = chart.to_dict()
    title = specification.get("title", {})
    texts = [title.get("text", ""), *title.get("subtitle", [])]
    for layer, data in layers_of(chart):
        field = layer["encoding"].get("text", {}).get("field")
        texts += [str(row[field]) for row in data] if field else []
        texts += layer["encoding"].get("shape", {}).get("scale", {}).get("domain", [])
    return "\n".join(texts)


def test_rows_are_the_ranking_with_its_numbers(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    chart = advice.plot()
    assert [row["configuration"] for row in rows(chart)] == [*advice.ranking["configuration"]]
    assert [row["value"] for row in rows(chart)] == pytest.approx([*advice.ranking["pud"]], rel=1e-5)
    text = written(chart)
    for row in advice.ranking.itertuples():
        assert f"{row.pud_low:.4f} to {row.pud_high:.4f}" in text
    assert text.startswith(f"{advice.best} loses the least predictive utility, and that is proved\n")
    assert "choosing at random" in text
    assert [row["winner"] for row in rows(chart)] == [True] + [False] * 11
    assert chart.to_dict() == ao.plot_ranking(advice).to_dict()


def test_top_keeps_the_first_places_and_says_so(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "g3")
    chart = advice.plot(top=3)
    assert [row["configuration"] for row in rows(chart)] == [*advice.ranking["configuration"].head(3)]
    assert "the first 3 of 12" in written(chart)
    with pytest.raises(ao.errors.InvalidOption, match="top"):
        advice.plot(top=0)


def test_thousands_of_configurations_stay_readable(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    many = pd.concat([advice.ranking] * 420, ignore_index=True)
    many["configuration"] = [f"c{i}" for i in range(len(many))]
    numbers = pd.DataFrame(0.1, index=many["configuration"], columns=[f"a{i}" for i in range(500)])
    advice = replace(advice, ranking=many, deviations=numbers, changes=None, best="c0", tied=("c0",))
    chart = advice.plot()
    assert len(rows(chart)) == 50
    assert "the first 50 of 5,040 configurations" in written(chart)
    heat = advice.plot_attributes()
    assert len(rows(heat)) == 20 * 40
    text = " ".join(written(heat).split())
    assert "the first 20 of 5,040 configurations" in text
    assert "the 40 of 500 attributes that lose most" in text
    assert heat.to_dict()["layer"][0]["encoding"]["y"]["field"] == "attribute"  # the longer side


def test_truth_is_drawn_for_whoever_knows_it(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    truth = dict.fromkeys(advice.ranking["configuration"], 0.1234)
    assert written(advice.plot(truth=truth)).count("0.1234") == 12
    del truth["young-old"]
    with pytest.raises(ao.errors.InvalidOption, match="young-old"):
        advice.plot(truth=truth)


def test_no_winner_is_drawn_where_none_is_named(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", scope="single")
    text = written(advice.plot())
    assert "No winner" in text
    assert "proved wrong" in text
    assert "choosing at random" not in text


def test_a_random_estimate_without_bounds_shows_its_spread(summary: ao.Summary) -> None:
    """Totals that were repaired prove no bounds."""
    advice = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", replicates=4)
    unknown = advice.ranking.assign(pud_low=float("nan"), pud_high=float("nan"))
    text = written(replace(advice, ranking=unknown).plot())
    assert "by this estimate" in text
    assert "standard deviation" in text or "90% of the drawn tables" in text
    assert "proved" not in text


@pytest.mark.parametrize("measure", ["cramers_v", "g3_loo", "mi_loo"])
def test_a_measure_that_ranks_by_its_masked_value_shows_scores(summary: ao.Summary, measure: str) -> None:
    chart = ao.advise(summary, measure).plot()
    better = "less" if measure == "g3_loo" else "more"
    assert "keeps the most predictive utility by this estimate" in written(chart)
    assert chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]["title"].endswith(f"{better} is better")
    assert "deviation" not in written(chart)


def test_scores_have_the_interval_of_their_difference_from_the_winner() -> None:
    clinic = ao.datasets.clinic(300)
    advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores"))
    found = {row["configuration"]: row for row in rows(advice.plot())}
    for row in advice.ranking.itertuples():
        drawn = found[row.configuration]
        if row.configuration == advice.best:
            assert drawn["from"] is drawn["to"] is None
        else:
            width = row.difference_high - row.difference_low
            assert drawn["to"] - drawn["from"] == pytest.approx(width, rel=1e-4)
            assert drawn["from"] < drawn["value"] < drawn["to"]


def test_the_winner_is_the_first_row_although_it_has_no_interval() -> None:
    clinic = ao.datasets.clinic(300)
    advice = ao.advise(ao.summarize(clinic.frame, clinic.label, clinic.configurations, share="scores"))
    file = io.StringIO()
    advice.plot().save(file, format="svg")
    assert f"12 values: {', '.join(advice.ranking['configuration'][:3])}" in file.getvalue()


def test_bounds_that_end_beyond_the_axis_have_an_arrow(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")

    def arrows(factor: float) -> int:
        far = advice.ranking.assign(pud_high=factor * advice.ranking["pud"].max())
        return sum(row["beyond"] is not None for row in rows(replace(advice, ranking=far).plot()))

    assert (arrows(2.0), arrows(9.0)) == (0, 12)


def test_the_heat_map_has_every_deviation_and_its_mask(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    found = rows(advice.plot_attributes())
    assert len(found) == 12 * 3
    for cell in found:
        true = advice.deviations.loc[cell["configuration"], cell["attribute"]]
        assert cell["value"] == pytest.approx(true, rel=1e-5)
    [mask] = [c["mask"] for c in found if (c["configuration"], c["attribute"]) == ("young-old", "age")]
    explained = advice.explain("young-old").set_index("attribute")
    assert mask == explained.loc["age", "mask"]
    left = ao.advise(summary, "mi_loo")
    shown = {(c["configuration"], c["attribute"]): c["value"] for c in rows(left.plot_attributes())}
    assert shown["young-old", "age"] == pytest.approx(left.masked.loc["young-old", "age"], rel=1e-5)


def test_a_heat_map_of_nothing_says_what_to_share(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    nothing = advice.deviations * np.nan
    with pytest.raises(ao.errors.InvalidOption, match="share='both'"):
        replace(advice, deviations=nothing, masked=nothing).plot_attributes()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html", "json"])
def test_every_kind_of_file_is_whole(summary: ao.Summary, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"ranking.{ending}"
    ao.plot_ranking(ao.advise(summary, "mi"), path)
    start = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!doctype html>", "json": b"{"}
    assert path.read_bytes().startswith(start[ending])
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_a_file_that_cannot_be_written_leaves_nothing(summary: ao.Summary, tmp_path: Path) -> None:
    chart = ao.advise(summary, "mi").plot()
    with pytest.raises(ao.errors.InvalidOption, match="docx"):
        chart.save(tmp_path / "ranking.docx")
    with pytest.raises(ao.errors.InvalidOption, match="inline"):
        chart.save(tmp_path / "ranking.html", inline=True)
    (tmp_path / "file").touch()
    with pytest.raises(ao.errors.OutputError, match="file"):
        chart.save(tmp_path / "file" / "ranking.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    memory = io.StringIO()
    chart.save(memory, format="svg")
    assert memory.getvalue().startswith("<svg")


def test_names_with_markup_stay_text(summary: ao.Summary, tmp_path: Path) -> None:
    advice = ao.advise(summary, "mi")
    name = {"young-old": HOSTILE}
    ranking = advice.ranking.replace({"configuration": name})
    advice = replace(advice, ranking=ranking, deviations=advice.deviations.rename(name), changes=None)
    advice = replace(advice, best=HOSTILE, tied=(HOSTILE,))
    chart = advice.plot()
    chart.save(tmp_path / "ranking.html")
    page = (tmp_path / "ranking.html").read_text(encoding="utf-8")
    assert "alert" in page
    assert "<script>alert" not in page
    chart.save(tmp_path / "ranking.svg")
    assert "<script" not in (tmp_path / "ranking.svg").read_text(encoding="utf-8")
    shown = chart._repr_mimebundle_()  # type: ignore[no-untyped-call]
    assert "<script>alert" not in shown["text/html"]
    assert advice.plot_attributes().to_dict()["description"]


def test_a_notebook_without_network_shows_a_drawing(summary: ao.Summary) -> None:
    shown = ao.advise(summary, "mi").plot()._repr_mimebundle_()["text/html"]  # type: ignore[no-untyped-call]
    place = re.search(r'<div id="(altair-viz-\w+)"></div>', shown)
    assert place
    drawn = shown.index('<div class="aegis-opt-drawn"><svg')
    assert place.start() < drawn, "a sibling that follows is what the style below hides"
    assert f"#{place[1]}.vega-embed ~ .aegis-opt-drawn {{display: none}}" in shown
    assert f"#{place[1]}:not(.vega-embed) {{display: none}}" in shown
    assert "proved bounds" in shown[drawn:]


def test_a_page_of_one_chart_fetches_nothing(summary: ao.Summary, tmp_path: Path) -> None:
    ao.advise(summary, "mi").plot().save(tmp_path / "ranking.html")
    page = (tmp_path / "ranking.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert not fetched_by(page)
    assert len(page) < 1_200_000


def test_json_inside_a_script_cannot_end_it() -> None:
    assert json.loads(json_text({"a": HOSTILE})) == {"a": HOSTILE}
    assert "<" not in json_text({"a": HOSTILE, "b": "<!--"})
    with pytest.raises(ValueError, match="JSON"):
        json_text(float("nan"))


def test_every_chart_describes_itself(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    assert advice.best is not None
    assert advice.best in advice.plot().to_dict()["description"]
    assert "12 configurations and 3 attributes" in advice.plot_attributes().to_dict()["description"]


def test_the_programs_are_kept_and_used_only_if_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def bundle(snippet: str) -> str:
        made.append(snippet)
        return "let a = '</script><!--';"

    monkeypatch.setattr("vl_convert.javascript_bundle", bundle)
    monkeypatch.setenv("AEGIS_OPT_CACHE", str(tmp_path / "kept"))
    programs = _embed._programs.__wrapped__
    text = programs()
    assert "</script" not in text
    assert "<!--" not in text
    assert programs() == text
    assert len(made) == 1
    [kept] = (tmp_path / "kept").iterdir()
    kept.write_text(kept.read_text() + "alert()")
    assert programs() == text
    assert len(made) == 2
    monkeypatch.setenv("AEGIS_OPT_CACHE", str(kept))  # a file: nothing can be kept there
    assert programs() == text


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", ["#ffffff", "#15191f"], ids=["light", "dark"])
def test_marks_stand_out_on_light_and_dark_pages(ground: str) -> None:
    for colour in theme.HUES:
        darker, lighter = sorted([luminance(colour), luminance(ground)])
        assert (lighter + 0.05) / (darker + 0.05) >= 3.0, colour
    lightness = [luminance(colour) for colour in theme.HEAT]
    assert lightness == sorted(lightness, reverse=True)  # prints in grey


def test_missing_altair_is_told(summary: ao.Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ao.errors.MissingDependency, match=r"pip install 'aegis-opt\[plot\]'"):
        ao.advise(summary).plot()


def test_methods_find_the_figures_however_the_advice_was_made() -> None:
    """The advisor's room does not import the figures; the package says where they are."""
    program = "import sys; from aegis_opt.advisor import Advice; print('aegis_opt.report' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("values", "usual", "decimals"),
    [([0.5], 4, 4), ([12.0, 3.0], 4, 3), ([123456.0], 3, 0), ([2e-6], 4, 8), ([0.0], 4, 4), ([], 3, 3)],
)
def test_decimals_fit_the_size_of_the_numbers(values: list[float], usual: int, decimals: int) -> None:
    assert decimals_for(values, usual) == decimals


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_characters_that_no_drawing_can_hold_are_shown_as_symbols(tmp_path: Path, ending: str) -> None:
    """The program that draws ends the whole process where a text holds a vertical tab, for example."""
    odd = [f"a{character}b" for character in "\x01\x0b\x0c\x1f\x7f\x85\ufffe\uffff\U0001fffe\u2028"]
    frame = pd.DataFrame({name: [1, 2, 3, 4] * 5 for name in odd} | {"label\x0b": list("ab") * 10})
    configurations = {name: {a: ao.Bucketize(width=1 + i % 3) for a in odd} for i, name in enumerate(odd)}
    chart = ao.advise(ao.summarize(frame, "label\x0b", configurations)).plot()
    assert {"a\u240bb", "a\u240cb", "a\ufffdb"} <= {row["configuration"] for row in rows(chart)}
    chart.save(tmp_path / f"ranking.{ending}")
    assert (tmp_path / f"ranking.{ending}").stat().st_size > 1000
