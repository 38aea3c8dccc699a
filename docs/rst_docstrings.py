"""Docstrings hold a little reStructuredText (formulas, simple tables); show it well on the Markdown pages."""

import re
from typing import Any

import griffe

_FORMULA = re.compile(r"^\.\. math:: (.+(?:\n +\S.*)*)", re.MULTILINE)
_CHOICES = re.compile(r"^( *\w+(?:, \w+)* : )\{([^}\n]+)\}", re.MULTILINE)
_RULER = re.compile(r"=+(?: +=+)+")


class RstDocstrings(griffe.Extension):
    """Turn what Markdown would garble into code, which it leaves as it is."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002
        """Rewrite the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Rewrite formulas, simple tables, choices, inline formulas and footnotes."""
    text = _FORMULA.sub(lambda match: "```latex\n" + re.sub(r"\n +", "\n    ", match[1]) + "\n```", text)
    text = _fence_tables(text)
    # Of choices in braces, griffe takes the first for the default, whatever the signature says.
    text = _CHOICES.sub(lambda match: match[1] + match[2].replace(", ", " or "), text)
    text = re.sub(r":math:`([^`]+)`", r"`\1`", text)
    text = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", text, flags=re.MULTILINE)
    return re.sub(r"\[(\d+)\]_", r"[\1]", text)


def _fence_tables(text: str) -> str:
    """Put a fence around each run of lines from the first to the last ruler of a table."""
    lines = text.split("\n")
    rulers = [i for i, line in enumerate(lines) if _RULER.fullmatch(line)]
    runs: list[list[int]] = []
    for i in rulers:
        if runs and all(lines[j].strip() for j in range(runs[-1][-1], i)):
            runs[-1].append(i)
        else:
            runs.append([i])
    for run in reversed(runs):
        lines.insert(run[-1] + 1, "```")
        lines.insert(run[0], "```text")
    return "\n".join(lines)
