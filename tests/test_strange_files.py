"""Strange files and paths: every reader refuses them by an error of the library, or reads what they say."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aegis_opt as ao
from aegis_opt.cli import main
from aegis_opt.harness import load_results
from aegis_opt.release import apply_configuration
from aegis_opt.report import write_report
from aegis_opt.sources import columns

TABLE = b"x,y\n" + b"1,a\n2,b\n" * 20


def read_table(path: str | Path) -> Any:
    columns(path)
    return apply_configuration(path, {"x": ao.Suppress()})


READERS: dict[str, Callable[[Any], Any]] = {
    "s.json": ao.Summary.load,
    "s.json.gz": ao.Summary.load,
    "a.json": ao.Advice.load,
    "a.json.gz": ao.Advice.load,
    "c.json": ao.load_configurations,
    "c.yaml": ao.load_configurations,
    "h.csv": ao.Hierarchy.from_csv,
    "t.csv": read_table,
    "t.csv.gz": read_table,
}
PACKED = [name for name in READERS if name.endswith(".gz")]
ODD_PATHS = {"nul": "a\0b", "half": "a\ud800b", "bytes": "a\udcffb", "long": "x" * 5000, "deep": "a/" * 3000}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The text of a whole file of each kind, unpacked."""
    folder = tmp_path_factory.mktemp("whole")
    example = ao.datasets.worked_example()
    summary = ao.summarize(example.frame, example.label, example.configurations)
    summary.save(folder / "s.json")
    ao.advise(summary, "mi").save(folder / "a.json")
    found = {name: (folder / name).read_bytes() for name in ("s.json", "a.json")}
    found |= {
        "c.json": b'{"c": {"x": {"function": "suppress"}}}',
        "c.yaml": b"c: {x: {function: suppress}}\n",
    }
    found |= {"h.csv": b"1,a\n2,b\n", "t.csv": TABLE}
    return found | {name: found[name.removesuffix(".gz")] for name in PACKED}


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(data) if name in PACKED else data)
    return path


@pytest.mark.parametrize("name", READERS)
def test_text_in_another_encoding_is_refused_and_a_byte_order_mark_is_not(
    whole: dict[str, bytes], name: str, tmp_path: Path
) -> None:
    text = whole[name].decode()
    for data in (*(text.encode(code) for code in ("utf-16", "utf-32")), b""):
        with pytest.raises(ao.AegisError):
            READERS[name](write(tmp_path, name, data))
    READERS[name](write(tmp_path, name, b"\xef\xbb\xbf" + whole[name]))


@pytest.mark.parametrize("name", [name for name in READERS if not name.startswith("t.")])
def test_a_small_file_takes_little_memory(whole: dict[str, bytes], name: str, tmp_path: Path) -> None:
    """Reading asked for as much memory as the largest file takes: 256 MB, which a process may not have."""
    path = write(tmp_path, name, whole[name])
    READERS[name](path)  # what is imported and kept
    tracemalloc.start()
    try:
        READERS[name](path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", PACKED)
def test_packed_files_that_are_cut_short_or_go_on_are_refused(
    whole: dict[str, bytes], name: str, tmp_path: Path
) -> None:
    packed = gzip.compress(whole[name])
    path = tmp_path / name
    for data in (packed[:-5], packed[:14], packed + b"junk", whole[name]):
        path.write_bytes(data)
        with pytest.raises(ao.AegisError):
            READERS[name](path)


def test_packed_tables_may_be_of_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TABLE[:24]) + gzip.compress(TABLE[24:]))
    assert len(read_table(path)) == 40


@pytest.mark.parametrize("name", READERS)
def test_folders_and_pipes_in_place_of_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / name).mkdir()
    os.mkfifo(tmp_path / name)
    for path in (tmp_path / "folder" / name, tmp_path / name):
        with pytest.raises(ao.AegisError):
            READERS[name](path)


def test_paths_may_be_bytes_as_those_of_a_listed_folder(tmp_path: Path) -> None:
    """`os.scandir` of a folder that is given as bytes lists such paths: they raised `TypeError`."""
    example = ao.datasets.worked_example()
    assert example.configurations is not None
    summary = ao.summarize(example.frame, example.label, example.configurations)
    summary.save(tmp_path / "s.json")
    ao.save_configurations(example.configurations, tmp_path / "c.json")
    example.frame.to_csv(tmp_path / "t.csv", index=False)
    listed: dict[str, Any] = {os.fsdecode(entry.name): entry for entry in os.scandir(os.fsencode(tmp_path))}
    assert ao.Summary.load(listed["s.json"]) == summary
    summary.save(listed["s.json"])
    ao.save_configurations(ao.load_configurations(listed["c.json"]), listed["c.json"])
    assert ao.summarize(listed["t.csv"], example.label, listed["c.json"]) == summary
    chosen = example.configurations["young-old"]
    assert ao.apply_configuration(example.frame, chosen, output=listed["t.csv"]) == tmp_path / "t.csv"
    with pytest.raises(ao.AegisError, match="path must be a path, not bytes"):
        ao.datasets.adult(b"t.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("odd", ODD_PATHS)
@pytest.mark.parametrize("name", READERS)
def test_paths_that_no_file_can_have_are_refused(name: str, odd: str) -> None:
    with pytest.raises(ao.AegisError):
        READERS[name](ODD_PATHS[odd] + name)


@pytest.mark.parametrize("odd", ODD_PATHS)
def test_folders_that_cannot_be_are_refused(odd: str, tmp_path: Path) -> None:
    path = ODD_PATHS[odd]
    with pytest.raises(ao.AegisError):
        load_results(path)
    with pytest.raises(ao.AegisError):
        write_report(path, tmp_path / "page.html")


@pytest.mark.parametrize("odd", ODD_PATHS)
def test_commands_say_that_a_path_cannot_be(odd: str, tmp_path: Path, capsys: Any) -> None:
    path, table = ODD_PATHS[odd], write(tmp_path, "t.csv", TABLE)
    configurations = write(tmp_path, "c.json", b'{"c": {"x": {"function": "suppress"}}}')
    for arguments in (
        ["advise", f"{path}.json"],
        [
            "summarize",
            f"{path}.csv",
            "--label",
            "y",
            "--configurations",
            str(configurations),
            "-o",
            str(tmp_path / "s.json"),
        ],
        [
            "summarize",
            str(table),
            "--label",
            "y",
            "--configurations",
            f"{path}.json",
            "-o",
            str(tmp_path / "s.json"),
        ],
        ["report", path, "-o", str(tmp_path / "p.html")],
    ):
        assert main(arguments) != 0
        assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["~\0x", "~\ud800", "~" + "a" * 10_000, "~\n"], ids=repr)
def test_homes_of_users_who_cannot_be_are_refused(tmp_path: Path, name: str) -> None:
    """Python's `expanduser` raises a ValueError for some of them."""
    written = tmp_path / "c.json"
    written.write_text(json.dumps({"c": {"x": {"function": "generalize", "hierarchy": name, "level": 1}}}))
    for call in (
        lambda: ao.load_configurations(written),
        lambda: ao.load_configurations(f"{name}.json"),
        lambda: ao.Summary.load(f"{name}.json"),
        lambda: ao.Generalize(hierarchy=name, level=1),
        lambda: columns(name),
    ):
        with pytest.raises(ao.AegisError):
            call()
