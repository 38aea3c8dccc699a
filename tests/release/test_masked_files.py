"""A masked file is either whole or not there: no room, no permission, killed, interrupted."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from full_disk import small_disk

import aegis_opt as ao
from aegis_opt.masks import Bucketize, Suppress
from aegis_opt.release import OutputError, apply_configuration

FRAME = pd.DataFrame({"age": [17, 42]})
MASKS = {"age": Bucketize(width=10)}
# A process that masks rows enough to be stopped in the middle of it
LONG = """
    import sys, duckdb, numpy as np, pandas as pd
    from aegis_opt.masks import Bucketize
    from aegis_opt.release import apply_configuration
    age = np.arange(5_000_000)
    source = pd.DataFrame({"age": age, "other": age / 7, "another": age * 3})
    if sys.argv[2] == "relation":
        source = duckdb.from_df(source)
    print("ready", flush=True)
    apply_configuration(source, {"age": Bucketize(width=10)}, output=sys.argv[1])
"""


def start(code: str, *arguments: str, temporary: Path | None = None) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ({} if temporary is None else {"TMPDIR": str(temporary)}),
    )


def written(process: subprocess.Popen, folder) -> int:
    """Return the size of the largest file in a folder that the process has open, be it nameless."""
    largest = 0
    for handle in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if os.readlink(handle).startswith(f"{folder}/"):
                largest = max(largest, handle.stat().st_size)
        except OSError:  # closed in the meantime
            continue
    return largest


def wait_until_writing(process: subprocess.Popen, folder) -> None:
    """Wait until the process has written something into its temporary file."""
    assert process.stdout.readline() == "ready\n"
    until = time.monotonic() + 60
    while written(process, folder) < 100_000:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_room_leaves_the_old_file(tmp_path):
    """The limit on the size of files stands for a full disk: writes fail in the same way."""
    target = tmp_path / "masked.csv"
    target.write_text("old")
    code = """
        import resource, signal, sys, pandas as pd
        from aegis_opt.masks import Suppress
        from aegis_opt.release import OutputError, apply_configuration
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        frame = pd.DataFrame({"age": range(200_000), "other": range(200_000)})
        try:
            apply_configuration(frame, {"age": Suppress()}, output=sys.argv[1])
        except OutputError as error:
            print(error)
    """
    done = start(code, str(target))
    out, err = done.communicate(timeout=120)
    assert f"{target} cannot be written" in out, out + err
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["masked.csv"]


@pytest.mark.parametrize("source", ["frame", "relation"])
def test_ctrl_c_cleans_up(tmp_path, source):
    process = start(LONG, str(tmp_path / "masked.csv"), source)
    wait_until_writing(process, tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_writing_ends_whenever_it_is_interrupted(tmp_path, ending):
    """DuckDB 2.0.0 hung in about one of fifteen interrupted writes."""
    code = """
        import random, signal, sys, pandas as pd
        from aegis_opt.masks import Bucketize
        from aegis_opt.release import apply_configuration
        frame = pd.DataFrame({"age": range(3_000_000), "text": "some text"})
        apply_configuration(frame[:10], {"age": Bucketize(width=10)}, output=sys.argv[1])
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        numbers, interrupted = random.Random(3), 0
        for _ in range(25):
            signal.setitimer(signal.ITIMER_REAL, numbers.uniform(0.1, 0.4))
            try:
                apply_configuration(frame, {"age": Bucketize(width=10)}, output=sys.argv[1])
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
        print(interrupted)
    """
    process = start(code, str(tmp_path / f"masked.{ending}"))
    out, err = process.communicate(timeout=120)
    assert err == ""
    assert int(out) > 12
    assert [path.name for path in tmp_path.iterdir()] == [f"masked.{ending}"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_killed_run_leaves_the_old_file_and_no_half_of_a_new_one(tmp_path, tmp_path_factory, ending):
    target = tmp_path / f"masked.{ending}"
    target.write_text("old")
    process = start(LONG, str(target), "relation", temporary=tmp_path_factory.mktemp("temporary"))
    wait_until_writing(process, tmp_path)
    process.kill()
    process.communicate(timeout=60)
    assert target.read_text() == "old"
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_RDWR))
        others = []
    except OSError:  # a file system without nameless files: what is left must at least be hidden
        others = list(tmp_path.glob(".masked-*"))
    assert sorted(tmp_path.iterdir()) == sorted([target, *others])


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_those_it_had(tmp_path):
    before = os.umask(0o027)
    try:
        apply_configuration(FRAME, MASKS, output=tmp_path / "new.csv")
        (tmp_path / "old.csv").touch(0o600)
        apply_configuration(FRAME, MASKS, output=tmp_path / "old.csv")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("new.csv", "old.csv")]
    assert modes == [0o640, 0o600]


def test_where_files_cannot_be_nameless_they_are_moved_into_place(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    apply_configuration(FRAME, MASKS, output=tmp_path / "masked.parquet")
    assert os.listdir(tmp_path) == ["masked.parquet"]
    assert pl.read_parquet(tmp_path / "masked.parquet")["age"].to_list() == ["[10, 20)", "[40, 50)"]
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(OutputError, match=r"folder\.csv cannot be written: Is a directory"):
        apply_configuration(FRAME, MASKS, output=tmp_path / "folder.csv")
    assert sorted(os.listdir(tmp_path)) == ["folder.csv", "masked.parquet"]


def test_a_full_disk_is_told_in_the_words_of_the_system():
    frame = pd.DataFrame(
        {"age": range(200_000), "other": [f"{i * 7919 % 200_000:x}" for i in range(200_000)]}
    )
    with small_disk("300k") as folder:
        for ending in ("csv", "csv.gz", "parquet"):
            with pytest.raises(
                OutputError, match=r"cannot be written: No space left on device; free some space"
            ):
                apply_configuration(frame, MASKS, output=f"{folder}/masked.{ending}")
        summary = ao.summarize(frame.assign(y=frame["age"] % 2), "y", {"c": {"other": Suppress()}}, ["other"])
        with pytest.raises(OutputError, match=r"s\.json cannot be written: No space left on device; free"):
            summary.save(f"{folder}/s.json")
        assert os.listdir(folder) == []


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "masked.csv"
    with pytest.raises(OutputError) as raised:
        apply_configuration(FRAME, MASKS, output=path)
    assert f"{path} cannot be written: " in str(raised.value)
    assert isinstance(raised.value, ao.AegisError)
    with pytest.raises(ao.errors.InvalidOption, match="output must be the path of a file, not int"):
        apply_configuration(FRAME, MASKS, output=1)


@pytest.mark.parametrize("source", ["a.csv", ".", "*.csv", "link.csv"])
def test_a_file_of_the_source_is_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("a.csv", index=False)
    Path("link.csv").symlink_to("a.csv")
    before = Path("a.csv").read_bytes()
    for output in ("a.csv", tmp_path / "a.csv", "link.csv"):
        with pytest.raises(OutputError, match="is read, too, and would be lost: choose another output"):
            apply_configuration(source, MASKS, output=output)
    assert Path("a.csv").read_bytes() == before
    assert apply_configuration(source, MASKS, output="masked.csv").exists()


def test_a_hierarchy_of_the_configuration_is_no_output(tmp_path: Path) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("17,young\n42,old\n")
    masks = {"age": ao.Generalize(hierarchy=ao.Hierarchy.from_csv(file), level=1)}
    with pytest.raises(OutputError, match="is read, too"):
        apply_configuration(FRAME, masks, output=file)
    assert file.read_text() == "17,young\n42,old\n"


def test_an_ending_that_says_no_format_is_refused_before_the_work(tmp_path):
    with pytest.raises(ao.errors.InvalidOption, match=r"masked\.xlsx.* let it end in \.csv"):
        apply_configuration(tmp_path / "nowhere.csv", MASKS, output=tmp_path / "masked.xlsx")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_source_that_breaks_half_way_leaves_nothing(tmp_path, ending):
    frame = pl.DataFrame({"age": range(50_000), "other": [f"{i:08}" for i in range(50_000)]})
    path = tmp_path / f"people.{ending}"
    if ending == "csv":
        path.write_text(frame.write_csv() + "1,2,3,4\n")
    else:
        frame.write_parquet(path)
        path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ao.errors.SourceError, match="people"):
        apply_configuration(path, {"age": Suppress()}, output=tmp_path / "masked.csv")
    assert os.listdir(tmp_path) == [path.name]


def test_progress_is_told_from_beginning_to_end(tmp_path):
    told = []
    frame = pl.DataFrame({"age": range(300_000), "other": range(300_000)})
    apply_configuration(
        frame, MASKS, output=tmp_path / "masked.csv", progress=lambda *what: told.append(what)
    )
    assert [doing for doing, *_ in dict.fromkeys((doing,) for doing, _, _ in told)] == [
        "reading the polars DataFrame",
        f"writing {tmp_path / 'masked.csv'}",
    ]
    assert all(0 <= done <= total == 100 for _, done, total in told)
