"""A disk that is full: a small tmpfs, which only root may mount; others test a limit on the size of files."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Mount a file system with room for a few files, such as "300k", and unmount it at the end."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small tmpfs")
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("no tmpfs can be mounted here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)
