"""The tutorials run from start to end, each in a kernel of its own, and show what their sentences say."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import jupytext
import pytest
import yaml
from spark_cluster import SHORT_LIVED

from docs import notebooks
from docs.picture import PICTURE, draw

LOCAL = [script for script in notebooks.SCRIPTS if not notebooks.needs_spark(script)]
ON_SPARK = [script for script in notebooks.SCRIPTS if notebooks.needs_spark(script)]

# what the sentences of a page say about the outputs above them
SAID = {
    "gallery": [r"coarse-age loses the least", r"TVD 0\.\d+ from the truth"],
    "provider": [
        r"as is proved",
        r"mi_loo",
        r"^'a bit of each'$",
        r"which values of two attributes occur together",
        r"counts of 1 to 4 in raw joint tables follow",
        r"^175$",
        r"FROM patients",
    ],
    "research": [r"VIOLATED", r"no winner", r"skipped", r"0\.611"],
    "scikit_learn": [r"'mask__configuration': 'erased-digits'", r"erased-digits keeps the most"],
    "spark": [r"as is proved", r"^True$", r"\[75, 100\)"],
}


def page(script: Path, spark_options: str = "") -> tuple[str, dict[str, str]]:
    notebook = notebooks.run(script, spark_options)
    return notebooks.to_markdown(notebook, script.stem)


def check(script: Path, text: str, figures: dict[str, str]) -> None:
    assert text.startswith("# ")
    assert f"({script.stem}.ipynb)" in text
    plain = unescape(re.sub(r"<[^>]*>", "", text))
    for said in SAID[script.stem]:
        assert re.search(said, plain, re.MULTILINE), said
    assert text.count("plot") == 0 or figures
    for name, drawn in figures.items():
        assert drawn.startswith("<svg")
        assert re.search(rf"!\[.{{40,}}\]\({name}\)", text), "a figure says what it shows"


def test_every_script_is_a_page_of_the_site_and_one_that_is_checked() -> None:
    listed = (notebooks.DOCS.parent / "mkdocs.yml").read_text()
    assert "docs/notebooks.py" in yaml.safe_load(listed)["hooks"]
    for script in notebooks.SCRIPTS:
        assert f": {script.relative_to(notebooks.DOCS).with_suffix('.md')}" in listed
    assert {script.stem for script in notebooks.SCRIPTS} == set(SAID)
    assert [script.stem for script in ON_SPARK] == ["spark"]


@pytest.mark.parametrize("script", LOCAL, ids=lambda script: script.stem)
def test_a_tutorial_runs_and_shows_what_it_says(script: Path) -> None:
    check(script, *page(script))


@pytest.mark.spark
@pytest.mark.parametrize("script", ON_SPARK, ids=lambda script: script.stem)
def test_a_tutorial_runs_on_spark(script: Path) -> None:
    # not on the cluster of the other tests, whose session takes every worker there is
    options = f'--master local[2] --driver-java-options "{SHORT_LIVED}"'
    check(script, *page(script, options))


def test_a_cell_that_warns_ends_the_build(tmp_path: Path) -> None:
    script = tmp_path / "broken.py"
    script.write_text("# %%\nimport warnings\n\nwarnings.warn('deprecated')\n")
    with pytest.raises(notebooks.NotebookError, match=r"broken\.py: .*deprecated"):
        notebooks.run(script)


def test_links_of_tutorials_lead_to_pages() -> None:
    made = {script.with_suffix(".md") for script in notebooks.SCRIPTS}
    for script in notebooks.SCRIPTS:
        text = "\n".join(cell.source for cell in jupytext.read(script).cells if cell.cell_type == "markdown")
        for link in re.findall(r"\]\(([^)#\s]+)", text):
            target = (script.parent / link).resolve()
            assert target.exists() or target in made, f"{script.name}: {link}"


def test_the_picture_is_what_make_picture_draws(tmp_path: Path) -> None:
    draw(tmp_path / "drawn.svg")
    drawn, kept = (texts((tmp_path / "drawn.svg").read_text()), texts(PICTURE.read_text()))
    assert drawn == kept
    assert PICTURE.stat().st_size < 100_000


def texts(svg: str) -> list[str]:
    """What is written in a drawing: where, to the pixel, depends on the fonts of a machine."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)
