"""Objects show themselves: the conclusion first, within the width of the terminal, safe against markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import aegis_opt as ao
from aegis_opt._display import Card, escaped_markdown
from aegis_opt.harness import Case, ComparisonSettings, run_comparison

EVIL = '<script>alert("1")</script>|*&\x1b[31m\u202e'


def evil_frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 8, 300)
    return pd.DataFrame({EVIL: values, "other": values // 2, "y<b>": (values + rng.integers(0, 3, 300)) % 3})


def shown_objects() -> dict[str, Any]:
    configurations = ao.Configurations(
        {
            f"<img src=x onerror=alert({i})>" + EVIL: {EVIL: ao.Bucketize(width=i), "other": ao.Suppress()}
            for i in range(1, 15)
        },
        label="y<b>",
    )
    summary = ao.summarize(evil_frame(), "y<b>", configurations, values=True)
    problem = ao.Problem.from_table(
        pd.DataFrame([[3, 1], [2, 2], [0, 5]], index=[EVIL, "b", "c"], columns=["<i>", "n"]), [0, 0, 1]
    )
    settings = ComparisonSettings(solvers=["ipf", "ipf+controlled", "random"], measures=["mi", "g3"])
    results = run_comparison([Case.of(evil_frame(), "y<b>", configurations, name=EVIL)], settings)
    return {
        "Results": results,
        "Results of tables alone": replace(results, advice=results.advice.iloc[:0]),
        "Advice": ao.advise(summary, "mi"),
        "Advice by auto": ao.advise(summary),
        "Advice without a winner": ao.advise(summary, "mi", scope="single"),
        "Summary": summary,
        "ScoreSummary": ao.summarize(evil_frame(), "y<b>", configurations, share="scores"),
        "Configurations": configurations,
        "Configuration": next(iter(configurations.values())),
        "Problem": problem,
        "Reconstruction": ao.reconstruct(problem),
    }


OBJECTS = shown_objects()


class Tags(HTMLParser):
    """Collects what a browser would take for markup, and checks that it is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", OBJECTS)
def test_html_has_no_markup_of_names(name: str) -> None:
    text = OBJECTS[name]._repr_html_()
    tags = Tags(text)
    assert tags.open == []
    assert tags.seen <= {
        *("div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code", "span")
    }
    assert tags.attributes <= {"style", "scope"}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;" in text


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", OBJECTS)
def test_text_fits_the_terminal(name: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = str(OBJECTS[name])
    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert "Next: " in text


@pytest.mark.parametrize("name", OBJECTS)
def test_ipython_shows_the_text_and_nested_objects_stay_short(name: str) -> None:
    class Printer:
        indentation = 0
        shown = ""

        def text(self, text: str) -> None:
            self.shown = text

    printer = Printer()
    OBJECTS[name]._repr_pretty_(printer, False)
    assert printer.shown == str(OBJECTS[name])
    printer.indentation = 2
    OBJECTS[name]._repr_pretty_(printer, False)
    assert printer.shown == repr(OBJECTS[name])


def test_the_conclusion_of_an_advice_comes_first_and_says_how_certain_it_is() -> None:
    clinic = ao.datasets.clinic(500)
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations)
    proved, estimated = ao.advise(summary, "mi"), ao.advise(summary)
    unsure = ao.advise(summary, "mi", scope="single")
    for advice, words in ((proved, "proved"), (estimated, "not proved")):
        second = str(advice).splitlines()[1]
        assert second.startswith(f"Take {advice.best}: of 12 configurations it keeps")
        assert re.search(rf"\b{words}\.", " ".join(str(advice).splitlines()[1:4]))
    assert str(unsure).splitlines()[1].startswith("Cannot tell: no configuration is named the best")
    runner_up = proved.ranking["configuration"][1]
    assert f"{runner_up} comes next" in proved._repr_html_()
    assert "comes next" not in unsure._repr_html_()


def test_results_say_who_loses_least_and_what_did_not_count() -> None:
    settings = ComparisonSettings(solvers=["ipf", "random"], scopes=["pooled", "single"], histograms=[True])
    results = run_comparison([Case.of(ao.datasets.clinic(300))], settings)
    text = " ".join(str(results).split())
    assert "ipf (pooled, with histograms) loses least: 0.0% of what a random choice loses" in text
    assert "1 advisor runs named no winner, and count as a random choice." in text
    assert repr(results) == "<Results: 4 advisor runs, 39 reconstructions on clinic>"
    frame = ao.compare(ao.datasets.clinic(300), solvers=["ipf"])
    assert type(frame) is pd.DataFrame  # a tidy frame, which shows itself


def test_ties_of_the_first_place_are_named() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3, 4] * 5, "y": [0, 0, 1, 1] * 5})
    masks = {"first": ao.Generalize({"low": [1, 2], "high": [3, 4]}), "same": ao.Bucketize(edges=[3])}
    summary = ao.summarize(frame, "y", {name: {"a": mask} for name, mask in masks.items()})
    assert "same shares the first place with first" in str(ao.advise(summary, "mi")).replace("\n", " ")


def test_markdown_shows_marks_as_they_are() -> None:
    assert escaped_markdown("a|b\n*c* [d](e) <f>") == r"a\|b \*c\* \[d\](e) &lt;f&gt;"
    text = OBJECTS["Advice"].to_markdown()
    assert "<script" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 14 + 2
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_few_of_many_are_shown_and_where_the_others_are() -> None:
    many = ao.Configurations({f"c{i}": {f"a{i % 50}": ao.Suppress()} for i in range(5000)})
    assert len(many._repr_html_()) < 10_000
    assert "4,990 more configurations." in str(many)
    assert len(repr(many)) < 200
    wide = ao.Configuration({f"a{i}": ao.Suppress() for i in range(500)}, "wide")
    assert "490 more attributes." in str(wide)


def test_an_empty_card_is_its_title() -> None:
    assert Card("Nothing").text(40) == "Nothing"
    assert Tags(Card("Nothing").html()).open == []


def test_configurations_save_and_to_frame(tmp_path: Any) -> None:
    configurations = ao.datasets.clinic(10).configurations
    configurations.save(tmp_path / "masks.yaml")
    assert ao.load_configurations(tmp_path / "masks.yaml") == configurations
    frame = configurations.to_frame()
    assert list(frame.index) == list(configurations)
    assert frame.loc["coarse-age", "age"] == "bucketize(width=25)"
    assert ao.Configurations({"a": {}}).to_frame().shape == (1, 0)
    partly = ao.Configurations({"a": {}, "b": {"x": ao.Suppress()}}).to_frame()
    assert partly["x"].tolist() == ["identity", "suppress"]


def test_is_optimal_is_what_was_proved() -> None:
    problem = ao.Problem.from_table([[3, 1], [2, 2], [0, 5]], [0, 0, 1])
    for solver in ("ipf", "sampling"):
        result = ao.reconstruct(problem, solver=solver)
        assert result.is_optimal is result.optimal
    assert ao.reconstruct(problem).is_optimal
    assert not ao.reconstruct(problem, solver="sampling").is_optimal
