"""The examples in the README, the documentation and the docstrings run; the links between pages resolve."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import aegis_opt

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
ROOT_PAGES = sorted(ROOT.glob("*.md"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _modules() -> list[str]:
    found = pkgutil.walk_packages(aegis_opt.__path__, "aegis_opt.")
    return ["aegis_opt", *(module.name for module in found if not module.name.endswith("__main__"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_of_a_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS)
    assert outcome.failed == 0


@pytest.mark.parametrize("name", _modules())
def test_examples_of_a_module(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert outcome.failed == 0


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site and the usual hosts make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", title).strip().lower() for title in titles]
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT_PAGES}), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for link in (link for link in links if not re.match(r"\w+:", link)):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        made = target.suffix == ".md" and target.with_suffix(".py").exists()  # from a script, for the site
        assert target.exists() or made, f"{link}: no such file"
        assert not anchor or anchor in _anchors(target), f"{link}: no such heading"
