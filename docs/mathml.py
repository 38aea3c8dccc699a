"""Formulas become MathML when the site is built, which every browser shows without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **kwargs: Any) -> str:  # noqa: ARG001
    """Replace the formulas that arithmatex found on a page."""
    return _FORMULA.sub(lambda match: to_mathml(match[3], block=match[2] == "["), content)


def to_mathml(formula: str, *, block: bool) -> str:
    """Return a formula of LaTeX as MathML."""
    return convert(html.unescape(formula).strip(), display="block" if block else "inline")
