"""Writing files so that they are either whole or absent, and reading files that others made."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from aegis_opt._native import ctrl_c_after
from aegis_opt._options import check_path, expanded
from aegis_opt._shown import shown
from aegis_opt.errors import AegisError, OutputError

_PIECE = 1 << 16  # bytes that are unpacked at a time to find out how many there are
_TEMPORARY: set[str] = set()  # files and folders of this process that are there for now


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; move it there on success, remove it on any failure.

    A reader never sees a half-written file, and an interrupted run leaves what was there before. So does a
    loss of power, as far as the disk keeps what it says it has written.
    The temporary name keeps the ending of `path`, which some writers use to choose a format.

    Raises
    ------
    OutputError
        If the system refuses to write.
    """
    with _writable(path) as target:
        temporary = target.with_name(_hidden_name(target))
        replaces = target.exists()
        try:
            _TEMPORARY.add(str(temporary))
            # A new file gets the usual permissions, by the system: to ask for them is to change them for a
            # moment, for all threads. What replaces a file is private until it has the permissions of that
            usual = 0o600 if replaces else 0o666
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, usual))
            yield temporary
            if replaces:
                temporary.chmod(target.stat().st_mode & 0o777)
            handle = os.open(temporary, os.O_RDWR)
            try:
                os.fsync(handle)  # before it has its name: after a power loss a name may outlive the content
            finally:
                os.close(handle)
            os.replace(temporary, target)
        finally:
            _remove(str(temporary))
        _sync_folder(target.parent)


@contextmanager
def nameless_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write a large file to, of which a killed process leaves nothing behind.

    Linux can keep a file nameless until it is whole. Elsewhere, and on file systems that cannot, this is
    `atomic_path`. The path that is yielded has no ending, and must be opened, not replaced.

    Raises
    ------
    OutputError
        If the system refuses to write.
    """
    with _writable(path) as target:
        handle = _open_nameless(target.parent)
        if handle is None:
            with atomic_path(target) as temporary:
                yield temporary
            return
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            yield Path(f"/proc/self/fd/{handle}")
            if target.exists():
                os.fchmod(handle, target.stat().st_mode & 0o777)
            os.fsync(handle)
            named = _hidden_name(target)
            try:
                # A link cannot replace a file. A folder given by number makes Python follow the link
                os.link(f"/proc/self/fd/{handle}", named, src_dir_fd=folder, dst_dir_fd=folder)
                os.replace(named, target.name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(named, dir_fd=folder)
            _sync_folder(target.parent)
        finally:
            os.close(folder)
            os.close(handle)


@contextmanager
def temporary_folder() -> Iterator[str]:
    """Yield a new folder that is removed at the end, even if the process is told to stop while it is made.

    Raises
    ------
    OutputError
        If the system refuses to make one.
    """
    with _temporary_place() as place:
        folder = os.path.join(place, f"aegis-opt-{secrets.token_hex(8)}")
    try:
        with _temporary_place():
            _TEMPORARY.add(folder)
            os.mkdir(folder, 0o700)
        yield folder
    finally:
        with ctrl_c_after():  # a second one would leave files behind
            _remove(folder)


def temporary_file() -> IO[bytes]:
    """Open a new file that is gone when it is closed.

    Raises
    ------
    OutputError
        If the system refuses to make one.
    """
    with _temporary_place() as place:
        return tempfile.TemporaryFile(dir=place)


@contextmanager
def _temporary_place() -> Iterator[str]:
    """Yield the folder for temporary files; what the system refuses there becomes an error that says so."""
    try:
        yield tempfile.gettempdir()  # which tries to write in each place that it knows
    except OSError as error:
        raise OutputError(
            f"no temporary file can be made: {error.strerror or error}; free some space, or set the "
            "environment variable TMPDIR to a folder that can be written"
        ) from error


def remove_temporary() -> None:
    """Remove the temporary files and folders that are there still.

    That is for a process that ends at once. A Ctrl-C that comes while a context is left may keep it from
    removing its own.
    """
    for path in list(_TEMPORARY):
        with suppress(OSError):
            _remove(path)


def _remove(path: str) -> None:
    """Remove a temporary file or folder, if it is there still."""
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(path)
    _TEMPORARY.discard(path)


@contextmanager
def written_by_duckdb(path: Path, temporary: Path) -> Iterator[None]:
    """Raise what the system refused as an `OSError`, where DuckDB quotes it in an error of its own.

    Any other failure of its input or output is an `OutputError` that names `path`.
    """
    from aegis_opt._native import duckdb

    try:
        yield
    except duckdb.IOException as error:
        text = str(error)
        known = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS, errno.EIO)
        found = re.search(r'"errno":"(\d+)"', text)  # not in every version, and not in every place
        said = int(found[1]) if found else next((code for code in known if os.strerror(code) in text), None)
        if said is None or str(temporary) not in text:
            raise OutputError(f"{path} cannot be written: {text.splitlines()[0]}") from error
        raise OSError(said, os.strerror(said)) from error


def read_bytes(
    path: str | os.PathLike[str], what: str, error: type[AegisError], *, most: int, unpack: bool = False
) -> bytes:
    """Read a regular file of at most `most` bytes, or unpack one of gzip to at most so many.

    A device or a pipe might never end, and a small packed file might become a huge one: the former are not
    opened, and the latter is unpacked only up to the limit. An empty file is refused, as are the files of
    the system that say they are empty.
    """
    refused = data = None
    try:
        path = expanded(path)
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            refused = "is no regular file: give the path of a file"
        elif not about.st_size:
            refused = "is empty: check its path, or get a whole copy"
        else:
            with open(path, "rb") as file:
                data = file.read(min(about.st_size, most) + 1)  # memory is taken for all that is asked for
    except OSError as reason:
        refused = f"cannot be read ({reason.strerror}): check its path and rights"
    except ValueError as reason:  # such as a path with a null character
        refused = f"cannot be read ({reason}): check its path"
    if data is None:
        raise error(f"{what} {refused}")
    if unpack:
        data = _unpacked(data, what, error, most)
    if len(data) > most:
        raise error(f"{what} has more than {most:,} bytes, the most that is read: make it smaller")
    return data


def read_text(path: Path, what: str, error: type[AegisError], *, most: int) -> str:
    """Read a regular file of UTF-8 text, with or without a byte order mark."""
    return decoded(read_bytes(path, what, error, most=most), what, error)


def decoded(data: bytes, what: str, error: type[AegisError]) -> str:
    """Return UTF-8 text, with or without a byte order mark; an error tells the place, and not the text."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        raise error(
            f"{what} cannot be read ({reason.reason} at byte {reason.start}): check that it is UTF-8"
        ) from None


def _unpacked(data: bytes, what: str, error: type[AegisError], most: int) -> bytes:
    """Unpack a file of gzip of at most `most` bytes; a larger one is refused before it takes memory."""
    machine = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        if _is_larger(data, most):
            raise error(f"{what} unpacks to more than {most:,} bytes, the most that is read: make it smaller")
        unpacked = machine.decompress(data, most + 1)
    except zlib.error as reason:
        raise error(f"{what} cannot be unpacked ({reason}): get a whole copy of the file") from reason
    if not machine.eof or machine.unused_data.strip(b"\0"):
        state = "goes on behind its end" if machine.eof else "is cut short"
        raise error(f"{what} cannot be unpacked, because it {state}: get a whole copy of the file")
    return unpacked


def _is_larger(data: bytes, most: int) -> bool:
    """Whether a file of gzip unpacks to more bytes than `most`, piece by piece."""
    machine = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    size, left = 0, data
    while left and not machine.eof:
        size += len(machine.decompress(left, _PIECE))
        if size > most:
            return True
        left = machine.unconsumed_tail
    return False


def check_outputs(
    outputs: Iterable[str | os.PathLike[str] | None], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse, before any work, to replace a file that is read, or to write two files to one path.

    Two paths may lead to one file, by links or by ``~``. An output that is None is not asked for.

    Raises
    ------
    OutputError
        If an output is one of the inputs, another output, or no path of a file.
    """
    given = [output for output in outputs if output is not None]
    for output in given:
        check_path(output, OutputError)
    seen: set[str] = set()
    for output in given:
        if any(_is_same(output, read) for read in inputs):
            raise OutputError(
                f"{shown(os.fspath(output))} is read, too, and would be lost: choose another output"
            )
        if (target := os.path.realpath(expanded(output))) in seen:
            raise OutputError(f"{shown(os.fspath(output))} is written twice: choose another name for one")
        seen.add(target)


def _is_same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    try:
        return os.path.samefile(expanded(path), expanded(other))
    except (OSError, ValueError):  # one of them is not there
        return False


def probe(folder: str | os.PathLike[str]) -> None:
    """Try to write where a folder is or would be made, and leave no trace; raise `OSError` where it fails."""
    path = Path(folder).absolute()
    nearest = next(place for place in (path, *path.parents) if place.exists())
    with tempfile.TemporaryFile(dir=nearest):
        pass


def _hidden_name(target: Path) -> str:
    """Return a new name for a file that is to become `target`."""
    return f".{target.stem}-{secrets.token_hex(6)}{target.suffix}"


def _sync_folder(folder: Path) -> None:
    """Keep the new name of a file through a loss of power, where the system can; the file is in place."""
    with suppress(OSError):  # such as on Windows, which does not open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _open_nameless(folder: Path) -> int | None:
    """Open a file without a name in a folder; None where that cannot be done."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    except OSError:  # where nothing can be written, the other way says so
        return None


@contextmanager
def _writable(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Make the folder of a file; what the system refuses becomes an error that names the file.

    A link stays, and what it leads to is written: that is the file that is yielded.
    """
    check_path(path, OutputError)
    try:
        target = Path(os.path.realpath(expanded(path)))
        if target.is_symlink():  # leads to itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target.parent.mkdir(parents=True, exist_ok=True)
        yield target
    except OSError as error:
        if isinstance(error, AegisError):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        way_out = "free some space, or choose another place" if full else "choose another place"
        raise OutputError(
            f"{Path(os.fsdecode(path))} cannot be written: {error.strerror or error}; {way_out}"
        ) from error
