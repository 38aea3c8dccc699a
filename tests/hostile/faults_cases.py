"""Faults: commands that are interrupted, killed, or find no room or no permission, at random moments.

Whatever happens, the file to write is the old one or whole, and nothing else is left beside it.

With ``HOSTILE_LOG=FILE``, the interrupts add a line to that file for each case: the exit code, the seconds
from the signal to the end of the process, the seconds allowed, and the command.
"""

from __future__ import annotations

import atexit
import csv
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from families import family
from workers import crowding

import aegis_opt as ao
from aegis_opt.cli import main

# Seconds from Ctrl-C to the end of the process; multiplied by the processes that run for each core, where
# there are more than one (the load average of the last minute)
LIMIT = 2.0
N_RECORDS = 300_000
OLD = "what was there before"
# "ready" is when the command begins: Python's own start is not ours to answer for
COMMAND = "import sys, aegis_opt.cli as c; print('ready', flush=True); sys.exit(c.main())"

SOLVERS = [
    ["--solver", "ipf"],
    ["--solver", "sampling", "--scope", "single"],
    *(["--solver", "convex", "--option", f"norm={norm}"] for norm in ("l1", "l2", "linf", "kl")),
    *(["--solver", "convex", "--option", "norm=l2", "--option", f"engine={e}"] for e in ("OSQP", "SCS")),
    *(["--solver", "integer", "--option", f"norm={norm}"] for norm in ("l1", "l2", "linf")),
    ["--solver", "integer", "--option", "norm=l2", "--scope", "single"],
]
FLOWS = [["--solver", "integer", "--option", f"norm={norm}"] for norm in ("l1", "l2", "linf")]
ROUNDINGS = [
    *(["--rounding", name] for name in ("independent", "largest-remainder", "nearest", "drawn")),
    *(["--rounding", name, "--scope", "single"] for name in ("controlled", "hypergeometric", "nearest")),
]


@dataclass(frozen=True)
class Inputs:
    """Files that commands read, made once per process."""

    folder: Path

    @property
    def table(self) -> str:
        """Records enough for some seconds of work."""
        return str(self.folder / "table.csv")

    @property
    def masks(self) -> str:
        """Configurations whose views overlap, so that exact solvers have to search."""
        return str(self.folder / "masks.json")

    @property
    def summary(self) -> str:
        """What `summarize` makes of both."""
        return str(self.folder / "summary.json")

    @property
    def overlapping(self) -> str:
        """Three views of 20,000 cells that cut across each other: minutes for most solvers."""
        return str(self.folder / "overlapping.json")

    @property
    def wide(self) -> str:
        """One view of 400,000 cells: large flows, and large tables to round."""
        return str(self.folder / "wide.json")

    @property
    def results(self) -> str:
        """A comparison to report on."""
        return str(self.folder / "results")


@cache
def inputs() -> Inputs:
    """Write the inputs."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Inputs(folder)
    numbers = random.Random(0)
    with open(made.table, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "zip", "y"])
        for _ in range(N_RECORDS):
            age = numbers.randrange(300)
            writer.writerow([age, numbers.randrange(40), (age * 7 + numbers.randrange(9)) % 5])
    configurations = {}
    for name in ("one", "two", "three"):
        groups: dict[str, list[int]] = {}
        for age in range(300):
            groups.setdefault(f"g{numbers.randrange(60)}", []).append(age)
        mapping = [[label, ages] for label, ages in groups.items()]
        configurations[name] = {
            "age": {"function": "generalize", "mapping": mapping},
            "zip": {"function": "bucketize", "width": numbers.randrange(2, 12)},
        }
    Path(made.masks).write_text(json.dumps({"label": "y", "configurations": configurations}))
    with redirect_stdout(io.StringIO()):
        masks = ["--configurations", made.masks]
        assert main(["summarize", made.table, *masks, "--label", "y", "-o", made.summary]) == 0
        assert main(comparison(made, folder / "results").words) == 0
    write_summary(made.overlapping, 1000, 20, ["one", "two", "three"])
    write_summary(made.wide, 10_000, 40, ["one"])
    return made


def write_summary(path: str, n: int, k: int, names: list[str]) -> None:
    """Write the summary of an attribute of n values, each with every of k labels, in random groups."""
    rng = np.random.default_rng(0)
    value, label = np.divmod(np.arange(n * k), k)
    times = rng.integers(1, 4, n * k)
    classes = np.array([f"class {y:02}" for y in range(k)])  # more numbers would be no classes
    frame = pd.DataFrame({"x": np.repeat(value, times), "y": np.repeat(classes[label], times)})
    masks = {}
    for name in names:
        groups = rng.integers(0, n // 7, n)
        mapping = {f"g{g}": np.flatnonzero(groups == g).tolist() for g in np.unique(groups)}
        masks[name] = {"x": ao.Generalize(mapping)}
    ao.summarize(frame, "y", masks).save(path)


def run(words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, check=False, **options
    )  # type: ignore[call-overload, no-any-return]


@dataclass(frozen=True)
class Job:
    """A command, the file it writes, and the seconds within which a fault is to come."""

    words: list[str]
    target: Path | None
    seconds: float
    whole: Callable[[Path], object] = Path.read_text  # raises where the file is not whole


def whole_table(path: Path) -> None:
    """Check that a masked table has all records."""
    with open(path, newline="") as file:
        assert sum(1 for _ in csv.reader(file)) == N_RECORDS + 1


def whole_summary(path: Path) -> None:
    """Check that a summary is one JSON document."""
    assert json.loads(path.read_text())["format"]


def whole_page(path: Path) -> None:
    """Check that a page is closed."""
    assert path.read_text().rstrip().endswith("</html>")


def writing_job(numbers: random.Random, folder: Path) -> Job:
    """Choose a command that writes a file."""
    made = inputs()
    masks = ["--configurations", made.masks]
    if numbers.random() < 0.5:
        target = folder / "masked.csv"
        words = ["mask", made.table, *masks, "--name", "two", "-o", str(target)]
        return Job(words, target, 1.5, whole_table)
    target = folder / "summary.json"
    words = ["summarize", made.table, *masks, "--label", "y", "-o", str(target)]
    return Job(words, target, 1.5, whole_summary)


def any_job(numbers: random.Random, folder: Path) -> Job:
    """Choose a command: solvers and roundings most of the time."""
    kind = numbers.choice(["solver", "overlapping", "wide", "rounding", "file", "compare", "report"])
    made = inputs()
    if kind == "file":
        return writing_job(numbers, folder)
    if kind == "report":
        target = folder / "page.html"
        return Job(["report", made.results, "-o", str(target)], target, 2.0, whole_page)
    if kind == "overlapping":
        options = numbers.choice([*SOLVERS, *ROUNDINGS])
        return Job(["advise", made.overlapping, *options], None, 8.0)
    if kind == "wide":
        options = numbers.choice([*FLOWS, *ROUNDINGS])
        return Job(["advise", made.wide, *options], None, 8.0)
    if kind == "compare":
        solvers = numbers.choice([["ipf", "integer:l2"], ["convex:l1", "ipf+nearest"]])
        words = [
            "compare",
            made.table,
            "--configurations",
            made.masks,
            "--label",
            "y",
            "-o",
            str(folder / "r"),
        ]
        words += [word for solver in solvers for word in ("--solver", solver)]
        return Job([*words, "--jobs", str(numbers.choice([1, 2]))], None, 6.0)
    options = numbers.choice(SOLVERS if kind == "solver" else ROUNDINGS)
    return Job(["advise", made.summary, *options], None, 4.0)


@contextmanager
def started(job: Job, temporary: Path, **options: object) -> Iterator[subprocess.Popen[str]]:
    """Start a command and wait until it begins; it is ended in any case."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *job.words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary)},
        **options,  # type: ignore[call-overload]
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def folders() -> Iterator[tuple[Path, Path]]:
    """Make a folder for results, and one for temporary files."""
    with tempfile.TemporaryDirectory() as results, tempfile.TemporaryDirectory() as temporary:
        yield Path(results), Path(temporary)


def check_files(job: Job, folder: Path, ended: bool, hidden: bool = False) -> None:
    """Check that the target is old, or whole where the command may have ended, and stands alone."""
    if job.target is None:
        return
    others = [p.name for p in folder.iterdir() if p != job.target and not (hidden and p.name[0] == ".")]
    assert not others, others
    if ended or job.target.read_text() != OLD:
        job.whole(job.target)


@family(seconds=5.0, prepare=inputs)
def an_interrupted_command_ends_within_two_seconds(seed: int) -> None:
    """Ctrl-C at any moment: exit code 130 within 2 s, no traceback, no half file, no temporary folder."""
    numbers = random.Random(seed)
    with folders() as (folder, temporary):
        job = any_job(numbers, folder)
        if job.target is not None:
            job.target.write_text(OLD)
        with started(job, temporary) as process:
            time.sleep(numbers.uniform(0, job.seconds))
            limit = LIMIT * crowding()
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            took = time.monotonic() - begin
        log(f"{process.returncode} {took:.2f} {limit:.2f} {' '.join(job.words)}")
        finished = process.returncode != 130
        if finished:  # before the signal: what it printed and wrote is whole
            # Python's own end, after the command's, gives SIGINT back to the system, which ends the process
            assert process.returncode in (0, -signal.SIGINT), (job.words, process.returncode, err)
            assert job.words[0] == "compare" or "ready\n" + out == run(job.words).stdout
        assert took <= limit, f"{took:.1f} s from Ctrl-C to the end of {job.words}"
        assert "Traceback" not in err, err
        check_files(job, folder, ended=finished)
        assert not [name for name in os.listdir(temporary) if name.startswith("aegis-opt-")]


def log(line: str) -> None:
    """Add a line to the file that HOSTILE_LOG names, if it does."""
    if "HOSTILE_LOG" in os.environ:
        with open(os.environ["HOSTILE_LOG"], "a") as file:
            file.write(f"{line}\n")


@family(seconds=3.0, prepare=inputs)
def a_killed_command_leaves_the_old_file_or_the_whole_new_one(seed: int) -> None:
    """Kill -9 at any moment: the file to write is old or whole; at most a hidden part beside it."""
    numbers = random.Random(seed)
    with folders() as (folder, temporary):
        job = writing_job(numbers, folder)
        assert job.target is not None
        job.target.write_text(OLD)
        with started(job, temporary) as process:
            time.sleep(numbers.uniform(0, job.seconds))
            process.kill()
            process.wait()
        check_files(job, folder, ended=False, hidden=True)


@family(seconds=5.0, prepare=inputs)
def a_full_disk_is_told_and_leaves_the_old_file(seed: int) -> None:
    """A limit on the size of files stands for a full disk: exit code 1, the file named, the old one there."""
    numbers = random.Random(seed)
    with folders() as (folder, temporary):
        job = writing_job(numbers, folder)
        assert job.target is not None
        job.target.write_text(OLD)
        largest = int(10 ** numbers.uniform(2, 5))

        def limited() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

        done = run(job.words, preexec_fn=limited, env=os.environ | {"TMPDIR": str(temporary)})
        if done.returncode == 0:
            assert job.target.stat().st_size <= largest
        else:
            assert done.returncode == 1, done.stderr
            assert f"{job.target} cannot be written" in done.stderr, done.stderr
            assert "Traceback" not in done.stderr, done.stderr
        check_files(job, folder, ended=done.returncode == 0)


@family(seconds=3.0, prepare=inputs)
def a_place_that_cannot_be_written_is_told(seed: int) -> None:
    """A folder that is a file, or may not be written: exit code 1, the place named, nothing changed."""
    numbers = random.Random(seed)
    with folders() as (folder, _):
        place = folder / "place"
        if os.geteuid() == 0 or numbers.random() < 0.5:  # root may write anywhere
            place.write_text(OLD)
        else:
            place.mkdir(mode=0o500)
        job = writing_job(numbers, place)
        done = run(job.words)
        assert done.returncode == 1, done.stderr
        assert f"{job.target} cannot be written" in done.stderr, done.stderr
        assert [path.name for path in folder.rglob("*")] == ["place"]


def comparison(made: Inputs, folder: Path) -> Job:
    """Return a small comparison that takes some seconds."""
    words = ["compare", made.table, "--configurations", made.masks, "--label", "y", "-o", str(folder)]
    words += ["--solver", "ipf", "--solver", "ipf+controlled", "--solver", "sampling", "--measure", "mi"]
    return Job([*words, "--scope", "single", "-q"], None, 5.0)


@cache
def uninterrupted() -> dict[str, pd.DataFrame]:
    """Return the tables of the comparison when nothing happens to it."""
    return tables(Path(inputs().results))


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the files of a results folder, without what differs from run to run."""
    found = {}
    for name in ("advice", "reconstructions", "rankings"):
        files = sorted(file for file in (folder / name).glob("*.parquet") if file.name[0] != ".")
        frame = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
        found[name] = frame[[c for c in frame.columns if not c.startswith("seconds_") and c != "peak_mb"]]
    return found


@family(seconds=20.0, prepare=uninterrupted)
def a_resumed_comparison_equals_an_uninterrupted_one(seed: int) -> None:
    """Stopped at random moments and started again, a comparison ends with the same tables."""
    numbers = random.Random(seed)
    expected = uninterrupted()
    with folders() as (folder, temporary):
        job = comparison(inputs(), folder / "r")
        for _ in range(numbers.randrange(1, 3)):
            with started(job, temporary) as process:
                time.sleep(numbers.uniform(0, job.seconds))
                process.send_signal(numbers.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
                process.communicate(timeout=60)
        done = run(job.words)
        assert done.returncode == 0, done.stderr
        for name, frame in tables(folder / "r").items():
            pd.testing.assert_frame_equal(frame, expected[name], check_exact=True)
        left = [path.name for path in (folder / "r").rglob("*") if path.name.startswith(".")]
        assert not left, left
