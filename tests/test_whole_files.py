"""Files are whole or absent: what is written reaches the disk before its name, and is not open to others."""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import aegis_opt as ao
from aegis_opt._files import atomic_path, check_outputs, nameless_path, temporary_file
from aegis_opt._options import expanded
from aegis_opt.cli import main
from aegis_opt.errors import AegisError, OutputError
from aegis_opt.harness import ComparisonSettings
from aegis_opt.report import write_report

WAYS = pytest.mark.parametrize("way", [atomic_path, nameless_path])


@WAYS
def test_content_reaches_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch, way):
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def recorded_fsync(handle):
        folder = os.path.isdir(f"/proc/self/fd/{handle}")
        steps.append("folder" if folder else f"file of {os.fstat(handle).st_size} bytes")
        fsync(handle)

    def recorded_replace(*arguments, **options):
        steps.append("name")
        replace(*arguments, **options)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    with way(tmp_path / "new.txt") as temporary:
        temporary.write_text("whole")
    assert steps == ["file of 5 bytes", "name", "folder"]
    assert (tmp_path / "new.txt").read_text() == "whole"


@WAYS
def test_ctrl_c_before_the_last_step_leaves_what_was_there(tmp_path, monkeypatch, way):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    (tmp_path / "new.txt").write_text("old")
    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt), way(tmp_path / "new.txt") as temporary:
        temporary.write_text("whole")
    assert os.listdir(tmp_path) == ["new.txt"]
    assert (tmp_path / "new.txt").read_text() == "old"


@WAYS
def test_a_folder_that_cannot_be_synced_still_gets_the_file(tmp_path, monkeypatch, way):
    fsync = os.fsync

    def refusing(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(22, "Invalid argument")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refusing)
    with way(tmp_path / "new.txt") as temporary:
        temporary.write_text("whole")
    assert os.listdir(tmp_path) == ["new.txt"]


@WAYS
def test_writing_changes_no_permissions_of_what_other_threads_write(tmp_path, monkeypatch, way):
    def refused(mask):
        raise AssertionError("the mask of permissions belongs to all threads")

    before = os.umask(0o027)
    monkeypatch.setattr(os, "umask", refused)
    try:
        with way(tmp_path / "new.txt") as temporary:
            temporary.write_text("whole")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "new.txt").stat().st_mode & 0o777 == 0o640


def test_what_replaces_a_private_file_is_private_while_it_is_written(tmp_path):
    target = tmp_path / "private.txt"
    target.touch(0o600)
    with atomic_path(target) as temporary:
        temporary.write_text("whole")
        assert temporary.stat().st_mode & 0o777 == 0o600
    assert target.stat().st_mode & 0o777 == 0o600


@WAYS
def test_threads_that_write_one_file_leave_one_of_their_files_whole(tmp_path, way):
    target = tmp_path / "shared.txt"
    texts = [str(i) * 10_000 for i in range(8)]

    def write(text: str) -> None:
        for _ in range(5):
            with way(target) as temporary:
                temporary.write_text(text)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in texts
    assert os.listdir(tmp_path) == ["shared.txt"]


Way = Callable[[Path], AbstractContextManager[Path]]


@WAYS
def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path, way: Way) -> None:
    (tmp_path / "links").mkdir()
    link, target = tmp_path / "links" / "new.txt", tmp_path / "folder" / "there.txt"
    link.symlink_to("../folder/there.txt")  # leads to nothing yet
    for content in ("first", "second"):
        with way(link) as temporary:
            temporary.write_text(content)
        assert link.is_symlink()
        assert (target.read_text(), target.is_symlink()) == (content, False)
    assert (os.listdir(link.parent), os.listdir(target.parent)) == (["new.txt"], ["there.txt"])


@WAYS
def test_a_link_to_itself_is_named(tmp_path: Path, way: Way) -> None:
    loop = tmp_path / "loop.txt"
    loop.symlink_to("loop.txt")
    with pytest.raises(OutputError, match=r"loop\.txt cannot be written: .*links"), way(loop):
        pass
    assert loop.is_symlink()


def test_what_is_read_is_no_output_by_whatever_path(tmp_path: Path) -> None:
    read = tmp_path / "read.txt"
    read.write_text("")
    (tmp_path / "hard.txt").hardlink_to(read)
    (tmp_path / "soft.txt").symlink_to("read.txt")
    for name in ("read.txt", "hard.txt", "soft.txt", "../" + tmp_path.name + "/read.txt"):
        with pytest.raises(OutputError, match="is read, too, and would be lost: choose another output"):
            check_outputs([None, tmp_path / name], [tmp_path / "nowhere.txt", read])
    with pytest.raises(OutputError, match="is written twice"):
        check_outputs([tmp_path / "soft.txt", tmp_path / "read.txt"])
    check_outputs([tmp_path / "new.txt", read, None], [tmp_path / "other.txt"])


CONFIGURATIONS = ao.Configurations({"a": {"age": ao.Suppress()}})
SOURCE = ao.datasets.worked_example().frame
SUMMARY = ao.summarize(SOURCE, "health", CONFIGURATIONS)


@pytest.mark.parametrize(
    "write",
    [
        lambda address: ao.apply_configuration(SOURCE, CONFIGURATIONS["a"], output=f"{address}.csv"),
        lambda address: SUMMARY.save(f"{address}.json"),
        lambda address: CONFIGURATIONS.save(f"{address}.yaml"),
        lambda address: ao.advise(SUMMARY).save(f"{address}.json"),
        lambda address: ao.advise(SUMMARY).report(f"{address}.html"),
        lambda address: ao.plot_ranking(ao.advise(SUMMARY), f"{address}.svg"),
        lambda address: write_report("results", f"{address}.html"),
        lambda address: write_report("results", "page.html", figures=address),
        lambda address: ComparisonSettings(output=address).checked(),
    ],
    ids=["table", "summary", "configurations", "advice", "record", "plot", "page", "figures", "results"],
)
@pytest.mark.parametrize("address", ["s3://bucket/out", "file:///tmp/out", "nul\0", "half \ud800"])
def test_no_address_is_an_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[str], Any], address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AegisError, match=r"is an address, and only files are read and written|is no path"):
        write(address)
    assert os.listdir(tmp_path) == []


def test_no_room_for_temporary_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SOURCE.to_csv(tmp_path / "t.csv", index=False)

    def nowhere() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    work: list[Callable[[], Any]] = [
        lambda: ao.summarize(tmp_path / "t.csv", "health", CONFIGURATIONS),
        lambda: ao.apply_configuration(SOURCE, CONFIGURATIONS["a"]),
        lambda: ao.check_privacy(tmp_path / "t.csv", CONFIGURATIONS, ao.privacy.KAnonymity(2)),
        lambda: ao.generate_configurations(tmp_path / "t.csv", label="health", n=2, seed=0),
        temporary_file,
    ]
    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    for call in work:
        with pytest.raises(OutputError, match=r"no temporary file can be made: No usable .* set .* TMPDIR"):
            call()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "not there"))
    for call in work:
        with pytest.raises(OutputError, match=r"No such file or directory; .*TMPDIR"):
            call()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder that is not the current folder."""
    for name in ("home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_tilde_is_the_home_folder_everywhere(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SOURCE.to_csv(home / "t.csv", index=False)
    (home / "age.csv").write_text("".join(f"{age},any\n" for age in sorted(set(SOURCE["age"]))))
    advice = ao.advise(SUMMARY)
    ao.apply_configuration("~/t.csv", CONFIGURATIONS["a"], output="~/masked.csv")
    SUMMARY.save("~/s.json")
    CONFIGURATIONS.save("~/c.yaml")
    advice.save("~/a.json.gz")
    advice.report("~/r.html")
    ao.plot_ranking(advice, "~/p.svg")
    ao.compare(ao.datasets.worked_example(), solvers=["ipf"], measures=["mi"], output="~/results")
    write_report("~/results", "~/page.html")
    candidates = {"age": "~/age.csv"}
    found = ao.search("~/t.csv", label="health", candidates=candidates, require=ao.privacy.KAnonymity(2))
    found.certificate.save("~/proof.json")
    tables = {"t.csv", "age.csv", "masked.csv"}
    pages = {"r.html", "p.svg", "page.html"}
    assert set(os.listdir(home)) == tables | pages | {
        "s.json",
        "c.yaml",
        "a.json.gz",
        "results",
        "proof.json",
    }
    assert ao.Summary.load("~/s.json").label == "health"
    assert ao.advise("~/s.json").best == advice.best
    assert ao.load_configurations("~/c.yaml") == CONFIGURATIONS
    assert ao.Advice.load("~/a.json.gz").best == advice.best
    assert ao.Hierarchy.from_csv("~/age.csv").rows
    assert len(ao.harness.load_results("~/results").advice)
    assert ao.privacy.verify_certificate("~/proof.json", "~/t.csv")
    assert ao.audit("~/s.json").attributes is not None
    command = [
        "summarize",
        "~/t.csv",
        "--configurations",
        "~/c.yaml",
        "-o",
        "~/again.json",
        "--label",
        "health",
    ]
    assert main(command) == 0
    assert "again.json" in capsys.readouterr().out
    assert (home / "again.json").exists()
    assert os.listdir() == []


def test_what_is_read_is_no_output_by_a_tilde(home: Path) -> None:
    (home / "t.csv").write_text("a\n1\n")
    for output, read in (("~/t.csv", home / "t.csv"), (home / "t.csv", "~/t.csv")):
        with pytest.raises(OutputError, match="is read, too"):
            check_outputs([output], [read])
    with pytest.raises(OutputError, match="is written twice"):
        check_outputs(["~/new.csv", home / "new.csv"])
    check_outputs(["~/t.csv"], ["./~/t.csv"])


def test_a_folder_called_tilde_and_a_user_who_is_nobody(home: Path) -> None:
    SUMMARY.save("./~/s.json")
    assert Path.cwd().joinpath("~", "s.json").exists()
    assert not list(home.iterdir())
    SUMMARY.save("~nobody at all/s.json")
    assert sorted(os.listdir()) == ["~", "~nobody at all"]
    for path in ("./~/s.json", "~nobody at all/s.json"):
        assert ao.Summary.load(path).label == "health"
        assert expanded(expanded(path)) == expanded(path) == Path.cwd() / path


def test_a_configuration_file_names_a_hierarchy_by_a_tilde(home: Path) -> None:
    """As the path is written there, whatever the folder of the file; a folder called ~ is kept apart."""
    for folder, masked in ((home, "home"), (Path("~").absolute(), "here")):
        folder.mkdir(exist_ok=True)
        (folder / "h.csv").write_text(f"young,{masked}\n")
    for folder in (Path(), Path("below")):
        folder.mkdir(exist_ok=True)
        (folder / "c.yaml").write_text("c: {age: {function: generalize, hierarchy: ~/h.csv, level: 1}}\n")
        mask: Any = ao.load_configurations(folder / "c.yaml")["c"]["age"]
        assert mask.hierarchy.rows == (("young", "home"),)
    kept = ao.Generalize(hierarchy="./~/h.csv", level=1)
    ao.save_configurations(ao.Configurations({"c": {"age": kept}}), "kept.json")
    assert '"./~/h.csv"' in Path("kept.json").read_text()
    assert ao.load_configurations("kept.json")["c"]["age"] == kept
    (Path("below") / "~h.csv").write_text("young,odd\n")  # called after a home of nobody
    odd = ao.Generalize(hierarchy=Path("below/~h.csv").absolute(), level=1)
    ao.save_configurations(ao.Configurations({"c": {"age": odd}}), "below/odd.yaml")
    assert ao.load_configurations("below/odd.yaml")["c"]["age"] == odd
