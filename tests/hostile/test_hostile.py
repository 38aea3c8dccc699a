"""A slice of the hostile cases, about a minute long; `make hostile` runs them for as long as asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from families import families

FAMILIES = families()
SLICE = 60  # seconds for all families together, on one core


@pytest.mark.parametrize("name", FAMILIES)
def test_hostile_cases(name: str) -> None:
    family = FAMILIES[name]
    for seed in range(max(1, int(SLICE / len(FAMILIES) / family.seconds))):
        try:
            family.check(seed)
        except BaseException as error:
            error.add_note(f"python tests/hostile {name} --seed {seed} --cases 1 runs it alone")
            raise


BROKEN = '''
import os, time
from families import family

@family(seconds=0.01)
def sound(seed):
    """It never fails."""

@family(seconds=0.01)
def wrong(seed):
    """It fails for one seed."""
    assert seed != 3, "three is wrong"

@family(seconds=0.01)
def fatal(seed):
    """It ends its process for one seed."""
    if seed == 2:
        os.abort()

@family(seconds=0.01)
def endless(seed):
    """It never ends for one seed."""
    time.sleep(600 if seed == 1 else 0)
'''


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the hostile command with the families of a module that is not one of its own."""
    (folder / "broken_cases.py").write_text(BROKEN)
    command = [sys.executable, str(Path(__file__).parent), "--module", "broken_cases", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(folder)}, timeout=100
    )


def test_the_command_tells_wrong_fatal_and_endless_cases_with_their_seeds(tmp_path: Path) -> None:
    process = run(tmp_path, "--cases", "5", "--limit", "1")
    assert process.returncode == 1
    rows = {line.split()[0]: line.split()[1:3] for line in process.stdout.splitlines() if line.strip()}
    assert [rows[name] for name in ("sound", "wrong", "fatal", "endless")] == [
        ["5", "0"],
        ["5", "1"],
        ["5", "1"],
        ["5", "1"],
    ]
    assert "wrong --seed 3: AssertionError: three is wrong" in process.stdout
    assert "fatal --seed 2: the process ended by signal 6" in process.stdout
    assert re.search(r"endless --seed 1: no end within [\d.]+ s\n", process.stdout)


def test_one_case_can_be_run_alone(tmp_path: Path) -> None:
    process = run(tmp_path, "wrong", "--seed", "3", "--cases", "1")
    assert process.returncode == 1
    assert "three is wrong" in process.stdout
    assert run(tmp_path, "wrong", "--seed", "4", "--cases", "1").returncode == 0
    process = run(tmp_path, "unheard")
    assert process.returncode == 2
    assert "there is no family 'unheard'" in process.stderr
