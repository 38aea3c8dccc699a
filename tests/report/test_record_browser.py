"""The decision record in a real browser: figures, search, narrow windows, dark screens and paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser

import aegis_opt as ao

pytestmark = pytest.mark.xdist_group("chromium")

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clinic = ao.datasets.clinic(200)
    masks = {
        (HOSTILE if width == 1 else f"every {width} years"): {"age": ao.Bucketize(width=width)}
        for width in range(1, 71)
    }
    advice = ao.advise(ao.summarize(clinic.frame, "health", masks), "mi")
    return advice.report(tmp_path_factory.mktemp("record") / "advice.html")


@pytest.fixture
def browser(chromium: Browser, page: Path) -> Iterator[Browser]:
    """The page, freshly opened; whatever a test does, nothing may reach the console or the network."""
    chromium.resize(1280, 900)
    chromium.prefer("light")
    chromium.open(page)
    for figure in ("ranking", "attributes"):
        chromium.wait(lambda figure=figure: chromium.count(f"#{figure} svg") == 1)  # type: ignore[misc]
    yield chromium
    assert chromium.complaints() == []
    assert [url for url in chromium.requests() if not url.startswith("data:")] == [page.as_uri()]


def test_the_conclusion_is_the_heading_and_names_are_text(browser: Browser) -> None:
    [heading] = browser.texts("h1")
    assert heading.startswith(f"Take {HOSTILE}: of 70 configurations")
    assert browser.run("[...document.scripts].every((s) => !s.textContent.startsWith('alert'))")
    for figure in ("ranking", "attributes"):
        label = browser.run(f"document.querySelector('#{figure}[role=graphics-document]').ariaLabel")
        assert len(label or "") > 20


def test_a_configuration_that_is_not_shown_is_found(browser: Browser) -> None:
    rows = ".search[data-rows=configurations-rows] tbody tr"
    assert "every 70 years" not in " ".join(browser.texts(rows))
    browser.run(
        "(() => { const field = document.querySelector('.search input'); field.value = 'every 70 years';"
        " field.dispatchEvent(new Event('input')); })()"
    )
    assert ["every 70 years" in text for text in browser.texts(rows)] == [True]
    assert browser.texts(".search .status")[0].startswith("1 of 70 found")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_of_the_record_sticks_out_of_the_window(browser: Browser, width: int) -> None:
    browser.resize(width, 900)
    browser.wait(lambda: browser.run("document.documentElement.scrollWidth") <= width)


def test_dark_screens_and_paper_have_their_colours(browser: Browser, tmp_path: Path) -> None:
    browser.prefer("dark")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert browser.run(colour) != "rgb(255, 255, 255)"
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.run(colour) == "rgb(255, 255, 255)"
    browser.send("Emulation.setEmulatedMedia", media="")
    browser.print(tmp_path / "advice.pdf")
    assert (tmp_path / "advice.pdf").read_bytes().startswith(b"%PDF")
