"""Write the page on the command line from the parser: ``python docs/command_line.py``."""

import argparse
from pathlib import Path

from aegis_opt.cli._parser import build_parser

PAGE = Path(__file__).with_name("command-line.md")
_HEAD = """# Command line

This page is written from the parser of the commands. `aegis-opt COMMAND --help` shows the same in a terminal.

Exit codes: 0 success, 1 it did not work (the reason is on stderr), 2 wrong usage, 130 Ctrl-C.
"""


def page() -> str:
    """Return the whole page."""
    (commands,) = (
        a
        for a in build_parser()._actions
        if isinstance(a, argparse._SubParsersAction)
    )
    parts = [_HEAD]
    for name, parser in commands.choices.items():
        parts.append(
            f"## {name}\n\n{parser.description}\n\n```text\n{_usage(name, parser)}\n```\n"
        )
        rows = [
            _row(action)
            for action in parser._actions
            if action.help != argparse.SUPPRESS
        ]
        parts.append(
            "| option | meaning |\n| --- | --- |\n" + "\n".join(rows) + "\n"
        )
        if parser.epilog:
            text = parser.epilog.strip()
            indented = any(line.startswith(" ") for line in text.splitlines())
            parts.append(f"```text\n{text}\n```\n" if indented else f"{text}\n")
    return "\n".join(parts)


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    shown = [
        action for action in parser._actions if action.help != argparse.SUPPRESS
    ]
    positional = [
        _value(action) for action in shown if not action.option_strings
    ]
    required = [
        f"{action.option_strings[0]} {_value(action)}"
        for action in shown
        if _is_required(action)
    ]
    return " ".join(["aegis-opt", name, *positional, *required, "[options]"])


def _is_required(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.required


def _row(action: argparse.Action) -> str:
    value = _value(action)
    if action.option_strings:
        takes = f" {value}" if action.nargs != 0 else ""
        names = ", ".join(
            f"`{option}{takes}`" for option in action.option_strings
        )
    else:
        names = f"`{value}`"
    text = " ".join(
        (
            (action.help or "")
            % {"prog": "aegis-opt", "default": action.default}
        ).split()
    )
    return f"| {names.replace('|', chr(92) + '|')} | {text.replace('|', chr(92) + '|')} |"


def _value(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
