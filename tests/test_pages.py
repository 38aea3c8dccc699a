"""Pages that are written from the program are up to date, and formulas become MathML."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$`])\$([^$\n]+?)\$(?!\$)", re.DOTALL)


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_on_the_command_line_is_up_to_date() -> None:
    expected = script("command_line").page()
    written = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert written == expected, "run `python docs/command_line.py`"


@pytest.mark.parametrize("page", ["measures.md", "distances.md", "scores.md", "how-it-works.md"])
def test_formulas_stand_between_dollars(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    formulas = [a or b for a, b in FORMULA.findall(prose)]
    assert formulas
    for formula in formulas:
        assert formula.count("{") == formula.count("}"), formula
        assert formula.count(r"\left") == formula.count(r"\right"), formula
    assert prose.count("$") == sum(4 if a else 2 for a, b in FORMULA.findall(prose))


def test_formulas_become_mathml() -> None:
    content = (
        r'<p><span class="arithmatex">\(a &lt; b\)</span></p><div class="arithmatex">\[\frac{1}{2}\]</div>'
    )
    shown = script("mathml").on_page_content(content)
    assert "arithmatex" not in shown
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">' in shown
    assert "<mfrac>" in shown
    assert "&#x0003C;" in shown
