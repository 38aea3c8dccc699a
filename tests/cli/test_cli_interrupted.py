"""Ctrl-C ends a command wherever it comes, and however often."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from aegis_opt._files import temporary_folder

DROPPED = """
import signal, sys, time
from aegis_opt.cli import main
import aegis_opt.cli._solvers as command

class Pressed:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def run(arguments):
    pressed = Pressed()
    del pressed
    time.sleep(60)

command.run_solvers = run
sys.exit(main())
"""


def test_ctrl_c_that_python_drops_comes_again() -> None:
    """As in a finaliser, where nothing can be raised; the command went on to its end."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(DROPPED), "solvers"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "aegis-opt: interrupted\n")


def test_a_second_ctrl_c_leaves_no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It came while the first one's files were removed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    remove = os.unlink
    pressed = threading.Event()

    def press_and_remove(*given: object, **options: object) -> None:
        if not pressed.is_set():
            pressed.set()
            signal.raise_signal(signal.SIGINT)
        remove(*given, **options)  # type: ignore[arg-type]

    def work() -> None:
        with temporary_folder() as folder:
            for name in "abc":
                (Path(folder) / name).write_text("left")
            monkeypatch.setattr("os.unlink", press_and_remove)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert pressed.is_set()
    assert list(tmp_path.iterdir()) == []


LEFT = """
import sys
from pathlib import Path
from aegis_opt._files import atomic_path, temporary_folder
from aegis_opt.cli import main
import aegis_opt.cli._solvers as command

contexts = [temporary_folder(), atomic_path(sys.argv.pop())]

def run(arguments):
    folder, path = (context.__enter__() for context in contexts)
    for left in (Path(folder, "left"), path):
        left.touch()
    raise KeyboardInterrupt

command.run_solvers = run
sys.exit(main())
"""


def test_what_a_context_could_not_remove_is_removed_at_the_end(tmp_path: Path) -> None:
    """A second Ctrl-C can come when a context is left, before it has begun to remove its files."""
    temporary, place = tmp_path / "temporary", tmp_path / "place"
    temporary.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LEFT), "solvers", str(place / "new.json")],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert (ended.returncode, ended.stderr) == (130, "aegis-opt: interrupted\n")
    assert [*temporary.iterdir(), *place.iterdir()] == []
