"""The page in a real browser: it renders, responds, prints, and loads nothing else."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from browser import Browser
from results_factory import DATASETS, HOSTILE, VARIANTS, changed

from aegis_opt.harness import Results
from aegis_opt.report import write_report

NONE = "\N{EN DASH}"  # an empty cell

pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture(scope="module")
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    [path] = write_report(folder, tmp_path_factory.mktemp("page") / "report.html")
    return path


@pytest.fixture
def browser(chromium: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly opened; whatever a test does, nothing may reach the console or the network."""
    chromium.resize(1280, 900)
    chromium.prefer("light")
    chromium.open(page)
    yield chromium
    assert chromium.complaints() == []
    assert [url for url in chromium.requests() if not url.startswith("data:")] == [page.as_uri()]


def column(browser: Browser, table: str, key: str) -> list[str]:
    index = browser.run(
        f"[...document.querySelectorAll('#table-{table} th')].findIndex((h) => h.dataset.key === '{key}') + 1"
    )
    return browser.texts(f"#table-{table} tbody td:nth-child({index})")


KINDS = ("pareto", "tvd", "regret", "estimate", "ranking", "profile-time", "profile-tvd")


def drawn(browser: Browser, kind: str) -> bool:
    return browser.count(f"#figure-{kind} .chart[data-drawn] svg") == 1


def wait_for(browser: Browser, *kinds: str) -> None:
    for kind in kinds or KINDS:
        browser.wait(lambda kind=kind: drawn(browser, kind))  # type: ignore[misc]


def test_every_figure_and_table_is_drawn(browser: Browser) -> None:
    wait_for(browser)
    for kind in KINDS:
        label = browser.run(f"document.querySelector('#figure-{kind} [role=graphics-document]').ariaLabel")
        assert len(label or "") > 20, kind
        assert browser.count(f"#figure-{kind} svg path") >= 3, kind
    assert browser.count("table") == 4
    assert len(browser.texts("#table-overview tbody tr")) == 25  # the first of 32
    browser.click("#table-overview .more")
    assert len(browser.texts("#table-overview tbody tr")) == 4 * len(VARIANTS)
    assert "NaN" not in browser.run("document.querySelector('main').innerHTML")
    assert "undefined" not in browser.run("document.body.innerText")


def test_the_page_shows_first_what_tells_the_variants_apart(browser: Browser) -> None:
    assert browser.texts(".conclusion")[0].startswith("Take ")
    scope = browser.run("document.querySelectorAll('#selection select')[1].value")
    assert f"({scope}, with histograms)" in browser.texts(".conclusion")[0]


def test_names_are_text_never_markup(browser: Browser) -> None:
    wait_for(browser, "pareto")
    assert any("odd</script>" in text for text in browser.texts("#figure-pareto text"))
    assert HOSTILE in " ".join(browser.texts("#figure-ranking option"))
    browser.click("#table-without-result input")
    browser.write("failed")
    assert any("<i>advice</i>" in text for text in column(browser, "without-result", "error"))
    assert browser.count("#table-without-result i") == 0


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(browser: Browser) -> None:
    def values() -> list[float]:
        return [float(text) for text in column(browser, "reconstructions", "mean") if text != NONE]

    head = "#table-reconstructions th[data-key=mean]"
    browser.click("#table-reconstructions .more")
    assert values() != sorted(values())
    browser.click(f"{head} button")
    assert len(values()) > 20
    assert values() == sorted(values())
    assert browser.run(f"document.querySelector('{head}').ariaSort") == "ascending"
    assert column(browser, "reconstructions", "mean")[-1] == NONE  # what was not tried comes last
    browser.click(f"{head} button")
    assert values() == sorted(values(), reverse=True)
    assert column(browser, "reconstructions", "mean")[-1] == NONE


def test_sorting_works_from_the_keyboard(browser: Browser) -> None:
    browser.run("document.querySelector('#table-overview th[data-key=tau] button').focus()")
    browser.press("Enter")
    shown = [float(text) for text in column(browser, "overview", "tau") if text != NONE]
    assert shown == sorted(shown)


def test_words_and_menus_filter(browser: Browser) -> None:
    browser.click("#table-reconstructions input")
    browser.write("L1 people")
    assert set(column(browser, "reconstructions", "variant")) == {"convex:l1"}
    assert set(column(browser, "reconstructions", "dataset")) == {"people"}
    assert browser.texts("#table-reconstructions .count") == ["4 of 56 rows"]
    choose(browser, "#table-reconstructions .controls label:nth-of-type(3) select", "pooled")
    assert column(browser, "reconstructions", "scope") == ["pooled", "pooled"]
    browser.write(" nowhere")
    assert browser.texts("#table-reconstructions tbody td") == ["No row matches the filter."]


def test_the_pointer_shows_the_numbers(browser: Browser) -> None:
    wait_for(browser, "regret")
    browser.hover("#figure-regret .mark-rect path")
    browser.wait(lambda: browser.count("#vg-tooltip-element.visible") == 1)
    assert "regret / random" in browser.run("document.getElementById('vg-tooltip-element').innerText")


def test_data_set_and_scope_choose_what_the_figures_show(browser: Browser) -> None:
    wait_for(browser)
    both = browser.texts("#figure-tvd .note")
    choose(browser, "#selection select", "1")
    assert browser.texts("#figure-tvd .note") != both
    browser.wait(lambda: "chi2" in browser.texts("#figure-regret .role-axis text"))  # of one data set alone
    choose(browser, "#selection label:nth-of-type(2) select", "single")
    assert "reconstructions" in browser.texts("#figure-tvd .note")[0]
    wait_for(browser)


def test_a_ranking_is_chosen_by_data_set_measure_and_run(browser: Browser) -> None:
    menus = "#figure-ranking label:nth-of-type({}) select"
    wait_for(browser, "ranking")
    assert browser.texts("#figure-ranking label:nth-of-type(1) option") == sorted(DATASETS)
    choose(browser, menus.format(2), "mi")
    browser.wait(
        lambda: browser.texts("#figure-ranking .role-axis-title text") == ["PUD (bits), less is better"]
    )
    assert "Order" in browser.texts("#figure-ranking .remark")[0]
    browser.run(f"document.querySelector('{menus.format(2)}').focus()")
    choose(browser, menus.format(2), "chi2")
    assert browser.run("document.activeElement.value") == "chi2"  # the keyboard stays where it was
    assert "nothing is proved" in browser.texts("#figure-ranking .remark")[0]
    wait_for(browser, "ranking")


def test_a_run_without_a_ranking_can_be_chosen_and_says_why(browser: Browser) -> None:
    wait_for(browser)
    runs = browser.texts("#figure-ranking label:nth-of-type(3) option")
    assert len(runs) == 2 * (len(VARIANTS) + 1)  # the hostile one has two seeds
    for ending in ("(failed)", "(timed out)", "(skipped)", "(no winner)"):
        assert any(text.endswith(ending) for text in runs), ending
    menu = "#figure-ranking label:nth-of-type(3) select"
    choose(browser, menu, "broken|true|0")
    remark = browser.texts("#figure-ranking .remark")
    assert remark == ["This run failed and has no order: ZeroDivisionError: <i>advice</i>."]
    assert browser.texts("#figure-ranking .empty") == ["There is no order to draw."]
    choose(browser, menu, "ipf|false|0")
    assert "names no winner: every estimate is the same" in browser.texts("#figure-ranking .remark")[0]
    wait_for(browser, "ranking")


@pytest.mark.parametrize("width", [1280, 400])
def test_fifty_configurations_can_be_read(
    chromium: Browser, small: Results, tmp_path: Path, width: int
) -> None:
    names = [f"configuration-{i:02d}" for i in range(50)]
    few = small.rankings.drop_duplicates(["variant", "histogram", "seed", "measure"])
    many = pd.concat([few.assign(configuration=name, rank=i + 1, pud=i / 50) for i, name in enumerate(names)])
    advice = small.advice.assign(best=small.advice["best"].replace("c0", names[0]))
    [page] = write_report(changed(small, rankings=many, advice=advice), tmp_path / "report.html")
    chromium.resize(width, 900)
    chromium.open(page)
    wait_for(chromium, "ranking")
    places = chromium.run(
        "[...document.querySelectorAll('#figure-ranking .role-axis-label text')].filter((t) => "
        "t.textContent.startsWith('config')).map((t) => "
        "(({y, bottom}) => [t.textContent, y, bottom])(t.getBoundingClientRect()))"
    )
    assert [text for text, *_ in places] == names
    for (_, _, bottom), (_, y, _) in pairwise(places):
        assert bottom <= y + 1
    assert chromium.complaints() == []
    chromium.resize(1280, 900)


def test_light_and_dark_follow_the_system_and_the_button(browser: Browser) -> None:
    def luminance() -> float:
        colour = browser.run("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 765

    assert luminance() > 0.9
    browser.prefer("dark")
    assert luminance() < 0.15
    browser.click("#theme")
    assert luminance() > 0.9
    browser.click("#theme")
    assert luminance() < 0.15


def test_figures_follow_light_and_dark(browser: Browser) -> None:
    wait_for(browser, "tvd")

    def ink() -> str:
        return str(
            browser.run("getComputedStyle(document.querySelector('#figure-tvd .role-axis-label text')).fill")
        )

    light = ink()
    browser.prefer("dark")
    assert ink() != light


def test_a_narrow_range_still_has_numbers_on_its_axis(
    chromium: Browser, small: Results, tmp_path: Path
) -> None:
    close = small.reconstructions.assign(tvd=0.2 + 0.05 * small.reconstructions["tvd"].astype(float))
    [page] = write_report(changed(small, reconstructions=close), tmp_path / "report.html")
    chromium.open(page)
    wait_for(chromium, "profile-tvd")
    ticks = [text for text in chromium.texts("#figure-profile-tvd .role-axis-label text") if "%" not in text]
    assert len(set(ticks)) == len(ticks) >= 3


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_sticks_out_of_the_window(browser: Browser, width: int) -> None:
    browser.resize(width, 900)
    wait_for(browser)
    browser.wait(lambda: browser.run("document.documentElement.scrollWidth") <= width)
    for part in (".card", ".chart svg"):
        for end in browser.run(
            f"[...document.querySelectorAll('{part}')].map((c) => c.getBoundingClientRect().right)"
        ):
            assert end <= width


def test_it_prints_in_light_colours_whatever_the_screen(browser: Browser, tmp_path: Path) -> None:
    browser.prefer("dark")
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        browser.run("getComputedStyle(document.querySelector('.card')).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.print(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_paper_has_all_rows_and_says_how_many(browser: Browser) -> None:
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert len(browser.texts("#table-overview tbody tr")) == 32
    assert browser.texts("#table-overview .count") == ["32 of 32 rows"]
    assert browser.run("document.querySelector('#table-overview .count').checkVisibility()")
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert len(browser.texts("#table-overview tbody tr")) == 25


def test_variants_that_did_not_run_on_everything_stand_out(browser: Browser) -> None:
    browser.click("#table-reconstructions .more")
    found = column(browser, "reconstructions", "ran_on")
    marked = browser.texts("#table-reconstructions td.text.alarm")
    assert marked == [text for text in found if text.startswith("0 of")] != []


def choose(browser: Browser, selector: str, value: str) -> None:
    browser.run(
        f"(() => {{ const s = document.querySelector({selector!r}); s.value = {value!r}; "
        "s.dispatchEvent(new Event('change', {bubbles: true})); })()"
    )
