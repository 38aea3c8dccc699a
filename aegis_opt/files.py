"""Files that are either whole or not there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it there on success, remove it on any failure.

    A reader never sees a half-written file, and an interrupted run leaves what was there before.
    The temporary name keeps the ending of `path`, which some writers use to choose a format.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if not target.exists():  # mkstemp made it private; a new file gets the usual permissions
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        else:
            temporary.chmod(target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
