"""A job as a file, so that workers read the data once and not with every unit."""

from __future__ import annotations

import copyreg
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import MappingProxyType
from typing import Any

from aegis_opt.errors import InvalidInput
from aegis_opt.harness._store import held
from aegis_opt.harness._work import Job

_PREFIX = "aegis-opt-job-"
_FILE = "job.pickle"


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)  # by a name of ours: pickle finds no "mappingproxy" among the builtins


class _Pickler(pickle.Pickler):
    """Summaries hold read-only mappings, which pickle does not know."""

    dispatch_table: dict[type, Callable[[Any], Any]] = copyreg.dispatch_table | {
        MappingProxyType: lambda mapping: (_read_only, (dict(mapping),))
    }


@contextmanager
def job_file(job: Job) -> Iterator[Path]:
    """Write the job to a temporary file that only this user can read: it holds raw tables.

    Those that killed processes of this user have left behind are removed.
    """
    for name, measure in job.measures.items():
        origin = (getattr(measure.function, part, "") for part in ("__module__", "__qualname__"))
        if any(place in text for text in origin for place in ("__main__", "<lambda>", "<locals>")):
            raise InvalidInput(
                f"measure {name!r} is defined where other processes cannot import it: put its function into "
                "a module, or use n_jobs=1 without time_limit"
            )
    _remove_left()
    with TemporaryDirectory(prefix=_PREFIX) as folder, held(Path(folder), _nothing):
        path = Path(folder, _FILE)  # not before the folder is held
        with path.open("wb") as file:
            _Pickler(file).dump(job)
        yield path


def _nothing() -> None:
    """Do nothing: a new folder is nobody else's."""


def _remove_left() -> None:
    """Remove the files of processes that are gone; one at work holds its folder."""
    if not hasattr(os, "getuid"):  # Windows, where a folder cannot be held
        return
    for file in Path(gettempdir()).glob(f"{_PREFIX}*/{_FILE}"):
        with suppress(OSError):  # another process removes it too
            if not file.parent.is_symlink() and file.parent.stat().st_uid == os.getuid():
                with held(file.parent, file.unlink):
                    pass
                file.parent.rmdir()


@lru_cache(maxsize=2)
def load_job(path: Path) -> Job:
    """Read the job, once per process."""
    with path.open("rb") as file:
        job: Job = pickle.load(file)
    return job
