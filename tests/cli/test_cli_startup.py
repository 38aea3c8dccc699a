"""Help, version and wrong usage answer at once: they import none of the packages that take long to load."""

import json
import subprocess
import sys

import pytest

COMMANDS = ("demo", "generate", "summarize", "advise", "mask", "compare", "report", "solvers")
NOT_LOADED = {"numpy", "pandas", "scipy", "rich", "yaml", "difflib"}
RUN = """
import json, sys
from aegis_opt.cli import main
codes = []
for words in json.loads(sys.argv[1]):
    try:
        codes.append(main(words))
    except SystemExit as leave:
        codes.append(leave.code or 0)
print(json.dumps([codes, sorted(sys.modules)]))
"""


def answers(*commands: list[str]) -> tuple[list[int], set[str]]:
    """Run commands in one fresh process; return their exit codes and the modules that it has loaded."""
    words = [sys.executable, "-c", RUN, json.dumps(commands)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    codes, modules = json.loads(done.stdout.splitlines()[-1])
    return codes, set(modules)


@pytest.mark.parametrize(
    ("commands", "code"),
    [
        ([["--help"], *([command, "--help"] for command in COMMANDS)], 0),
        ([["--version"]], 0),
        (
            [
                [],
                ["advice", "s.json"],
                ["advise"],
                ["advise", "s.json", "--scope", "all"],
                ["advise", "s.json", "--option", "a=1", "--option", "a=2"],
                ["advise", "s.json", "--option", "seed=1"],
                ["generate", "p.csv", "--label", "y", "-o", "m.json", "--all", "--seed", "0"],
                ["demo", "--data", "worked-example", "--rows", "9"],
                ["mask", "p.csv", "--configurations", "m.json", "-o", "out.csv", "--table", "t"],
            ],
            2,
        ),
    ],
    ids=["help", "version", "wrong usage"],
)
def test_nothing_heavy_is_loaded(commands: list[list[str]], code: int) -> None:
    codes, modules = answers(*commands)
    assert codes == [code] * len(commands)
    assert NOT_LOADED.isdisjoint(modules)
    if code != 0 or ["--help"] in commands:
        assert "importlib.metadata" not in modules
