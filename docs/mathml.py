"""Formulas become MathML when the site is built, which every browser shows without a script."""

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL
)


def on_page_content(content: str, **kwargs: Any) -> str:  # noqa: ARG001
    """Replace the formulas that arithmatex found on a page."""
    return _FORMULA.sub(
        lambda match: to_mathml(match[3], block=match[2] == "["), content
    )


def to_mathml(formula: str, *, block: bool) -> str:
    """Return a formula of LaTeX as MathML."""
    formula = html.unescape(formula).strip()
    shown = convert(formula, display="block" if block else "inline")
    large = (
        not block and r"\frac" in formula
    )  # else fractions within a line are too small to read
    return (
        shown.replace("<math ", '<math displaystyle="true" ', 1)
        if large
        else shown
    )
