"""Bad input: one line that names the thing, the right exit code, and no file left behind."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from aegis_opt.cli import main
from aegis_opt.masks import Bucketize, Suppress
from aegis_opt.summary import summarize

Run = Callable[..., tuple[int, str, str]]

PEOPLE: dict[str, list[Any]] = {
    "age": [10, 17, 43, 55, 60, 65],
    "town": ["a", "b", "a", "c", "b", "a"],
    "empty": [None] * 6,
    "health": ["good", "good", "poor", "good", "poor", "poor"],
    "same": ["x"] * 6,
}
YOUNG_OLD = {"function": "generalize", "mapping": {"Young": [10, 17, 43], "Old": [55, 60]}}


def failure(answer: tuple[int, str, str], folder: Path, expected_files: set[str]) -> str:
    """Check that a command failed cleanly; return its message."""
    code, out, err = answer
    assert code == 1, out + err
    assert out == ""
    assert err.startswith("aegis-opt: error: ")
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    assert {path.name for path in folder.iterdir()} == expected_files
    return err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pd.DataFrame(PEOPLE).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("masks", "label", "named"),
    [
        ({"agee": {"function": "suppress"}}, "health", ["'agee'", "did you mean 'age'"]),
        ({"age": {"function": "suppress"}}, "helth", ["'helth'", "did you mean 'health'"]),
        ({"health": {"function": "suppress"}}, "health", ["'all'", "label 'health'", "remove"]),
        ({"town": {"function": "bucketize", "width": 10}}, "health", ["'all'", "'town'"]),
        ({"age": YOUNG_OLD}, "health", ["'all'", "'age'", "65"]),
        ({"age": {"function": "suppress"}}, "same", ["'same'", "one class only"]),
        ({"empty": {"function": "suppress"}}, "health", ["'empty'", "only missing values"]),
        ({"age": {"function": "supress"}}, "health", ["masks.json", "'age'", "'supress'", "'suppress'"]),
    ],
    ids=[
        "unknown column",
        "unknown label",
        "label masked",
        "mask of another type",
        "value outside the mapping",
        "one class only",
        "all missing",
        "typo in a function",
    ],
)
def test_summarize_names_what_is_wrong(
    run: Run, folder: Path, masks: dict[str, Any], label: str, named: list[str]
) -> None:
    (folder / "masks.json").write_text(json.dumps({"all": masks}))
    words = ("summarize", folder / "people.csv", "--label", label, "--configurations", folder / "masks.json")
    message = failure(run(*words, "-o", folder / "out.json"), folder, {"people.csv", "masks.json"})
    assert all(word in message for word in named), message


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("age,health\n", ["no r", "people.csv"]),
        ("age,age,health\n1,2,good\n2,3,poor\n", ["'age'"]),
        ("", ["people.csv", "empty"]),
    ],
    ids=["empty table", "duplicate column names", "empty file"],
)
@pytest.mark.parametrize("command", ["summarize", "generate"])
def test_unusable_tables_are_named(
    run: Run, tmp_path: Path, command: str, text: str, named: list[str]
) -> None:
    (tmp_path / "people.csv").write_text(text)
    (tmp_path / "masks.json").write_text('{"all": {"age": {"function": "suppress"}}}')
    words = [command, tmp_path / "people.csv", "--label", "health", "-o", tmp_path / "out.json"]
    words += ["--configurations", tmp_path / "masks.json"] if command == "summarize" else []
    message = failure(run(*words), tmp_path, {"people.csv", "masks.json"})
    assert all(word in message for word in named), message


def test_generate_names_an_unknown_column(run: Run, folder: Path) -> None:
    for extra in ([], ["--all"]):
        words = ["generate", folder / "people.csv", "--label", "health", "--attribute", "agee", *extra]
        message = failure(run(*words, "-o", folder / "out.yaml"), folder, {"people.csv"})
        assert "'agee'" in message


def test_generate_refuses_a_product_that_fills_the_disk(run: Run, files: Path) -> None:
    before = {path.name for path in files.iterdir()}
    frame = pd.read_csv(files / "people.csv")
    for i in range(4):
        frame[f"copy{i}"] = frame["age"]
    frame.to_csv(files / "people.csv", index=False)
    words = ("generate", files / "people.csv", "--label", "health", "--all", "-o", files / "all.json")
    assert "--attribute" in failure(run(*words), files, before)


def damaged(files: Path, change: Callable[[str], str]) -> Path:
    path = files / "summary.json"
    path.write_text(change(path.read_text()))
    return path


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda text: text[: len(text) // 2], ["summary.json", "cannot be read"]),
        (lambda text: text.replace('"version":2', '"version":99'), ["version 99", "upgrade"]),
        (lambda text: text.replace('"format":"aegis-opt-summary"', '"format":"else"'), ["is no summary"]),
    ],
    ids=["truncated", "newer version", "another format"],
)
def test_advise_names_what_is_wrong_with_a_summary(
    run: Run, files: Path, change: Callable[[str], str], named: list[str]
) -> None:
    before = {path.name for path in files.iterdir()}
    words = ("advise", damaged(files, change), "--plot", files / "ranking.png", "--json")
    message = failure(run(*words), files, before)
    assert all(word in message for word in named), message


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--measure", "theil_u"], "'theils_u'"),
        (["--solver", "ipff"], "'ipf'"),
        (["--rounding", "up"], "'up'"),
        (["--option", "norm=l1"], "solvers that can: convex, integer"),
        (["--option", "norm=lp=1"], "p must be a number above 1"),
        (["--option", "max_iterations=many"], "max_iterations must be a whole number"),
        (["--replicates", "3"], "random"),
    ],
)
def test_advise_names_what_cannot_be_chosen(run: Run, files: Path, words: list[str], named: str) -> None:
    before = {path.name for path in files.iterdir()}
    assert named in failure(run("advise", files / "summary.json", *words), files, before)


def test_missing_files_are_named(run: Run, files: Path) -> None:
    before = {path.name for path in files.iterdir()}
    out = files / "out.json"
    commands = [
        ["advise", files / "nowhere.json"],
        ["generate", files / "nowhere.csv", "--label", "health", "-o", out],
        ["summarize", files / "nowhere.csv", "--configurations", files / "masks.json", "-o", out],
        ["summarize", files / "people.csv", "--configurations", files / "nowhere.json", "-o", out],
    ]
    for words in commands:
        assert "nowhere." in failure(run(*words), files, before)


def test_a_folder_that_cannot_be_written_is_named(run: Run, files: Path) -> None:
    before = {path.name for path in files.iterdir()}
    words = ("summarize", files / "people.csv", "--configurations", files / "masks.json")
    assert "people.csv" in failure(run(*words, "-o", files / "people.csv" / "out.json"), files, before)


@pytest.mark.parametrize(
    "words",
    [
        "mask people.csv --configurations masks.json --name {first} -o people.csv",
        "summarize people.csv --configurations masks.json -o masks.json",
        "generate people.csv --label outcome -o link.json",
        "search people.csv --label outcome --hierarchies h --certificate link.json",
        "advise summary.json --report summary.html",
        "audit summary.json --cells summary.csv",
    ],
    ids=lambda words: words.partition(" ")[0],
)
def test_no_command_replaces_what_it_reads(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.chdir(files)
    Path("link.json").symlink_to("people.csv")
    for name in ("summary.html", "summary.csv"):
        Path(name).symlink_to("summary.json")
    Path("h").mkdir()
    Path("h", "age.csv").write_text("1,*\n")
    before = {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()}
    first = next(iter(json.loads(Path("masks.json").read_text())["configurations"]))
    message = failure(run(*words.format(first=first).split()), files, {*before, "h"})
    assert "is read, too, and would be lost: choose another output" in message
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


def test_plot_without_altair_fails_before_the_work(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name for path in files.iterdir()}
    monkeypatch.setitem(sys.modules, "altair", None)
    message = failure(run("advise", files / "summary.json", "--plot", files / "r.png"), files, before)
    assert "aegis-opt[plot]" in message


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "COMMAND"),
        (["advice", "s.json"], "advice"),
        (["advise"], "SUMMARY"),
        (["advise", "s.json", "--scope", "all"], "all"),
        (["advise", "s.json", "--top", "0"], "'0'"),
        (["advise", "s.json", "--seed", "x"], "'x'"),
        (["advise", "s.json", "--meas", "mi"], "--meas"),
        (["advise", "s.json", "--option", "norm"], "'norm'"),
        (["advise", "s.json", "--option", "a=1", "--option", "a=2"], "a is given twice"),
        (["advise", "s.json", "--option", "seed=1"], "--seed"),
        (["advise", "s.json", "--plot", "ranking.doc"], "ranking.doc"),
        (["summarize", "p.csv", "--configurations", "m.json", "-o", "s.txt"], "s.txt"),
        (["generate", "p.csv", "--label", "y", "-o", "m.txt"], "m.txt"),
        (["generate", "p.csv", "--label", "y", "-o", "m.json", "--all", "--seed", "0"], "--seed"),
        (["demo", "--data", "worked-example", "--rows", "9"], "--rows"),
        (["demo", "--rows", "0"], "'0'"),
        (["mask", "p.csv", "--configurations", "m.json", "-o", "out.csv", "--table", "t"], "--table"),
        (["demo", "--output", ""], "must name a folder"),
        (["compare", "p.csv", "--configurations", "m.json", "-o", ""], "must name a folder"),
        (["report", "results", "--figures", ""], "must name a folder"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(run: Run, words: list[str], named: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert named in err.splitlines()[-1]


def test_names_cannot_command_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;title\x07\x1b[31mage\u202e"
    frame = pd.DataFrame({evil: [1, 2, 3, 4], "y": list("abab")})
    masks = {f"c{evil}": {evil: Suppress()}, "d": {evil: Bucketize(width=2)}}
    summarize(frame, "y", masks).save(tmp_path / "s.json")
    assert main(["advise", str(tmp_path / "s.json"), "--by-attribute"]) == 0
    assert main(["advise", str(tmp_path / "s.json"), "--measure", evil]) == 1
    printed = "".join(capsys.readouterr())
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert r"\x1b]0;title\x07\x1b[31mage\u202e" in printed


@pytest.mark.parametrize("closed", [["stdout"], ["stderr"], ["stdout", "stderr"]], ids=" and ".join)
def test_a_closed_standard_stream_is_no_failure(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], closed: list[str]
) -> None:
    for name in closed:
        monkeypatch.setattr(sys, name, None)  # as the interpreter has it after >&- and 2>&-
    assert main(["advise", str(files / "summary.json")]) == 0
    assert main(["advise", str(files / "nowhere.json")]) == 1
    with pytest.raises(SystemExit):
        main(["advise"])
    assert [getattr(sys, name) for name in closed] == [None] * len(closed)
    out, err = capsys.readouterr()
    assert ("best first" in out) == ("stdout" not in closed)
    assert ("nowhere.json" in err) == ("stderr" not in closed)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_standard_output_is_named() -> None:
    words = [sys.executable, "-c", "import sys; from aegis_opt.cli import main; sys.exit(main())", "solvers"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "the standard output cannot be written: No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1
