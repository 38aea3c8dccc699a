"""Files are whole or absent: what is written reaches the disk before its name, and is not open to others."""

from __future__ import annotations

import os
import threading

import pytest

from aegis_opt._files import atomic_path, nameless_path

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
