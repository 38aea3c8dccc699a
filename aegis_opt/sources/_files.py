"""Files by path or glob pattern: which there are, in what format, and what their folders say."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from aegis_opt._options import check_path
from aegis_opt.errors import SourceError
from aegis_opt.sources._csv_files import CsvTable
from aegis_opt.sources._parquet_files import ParquetTable
from aegis_opt.sources._tables import SourceTable

CSV = (".csv", ".csv.gz")
TSV = (".tsv", ".tsv.gz")
PARQUET = (".parquet", ".pq")
ENDINGS = (*CSV, *TSV, *PARQUET)
_PARTITION = re.compile(r"([^=]+)=(.*)")
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def open_files(pattern: str | os.PathLike[str]) -> SourceTable:
    """Find the files of a path or glob pattern and the reader that their ending asks for.

    An engine gets absolute paths only: it would take some others for addresses, or for places below another
    folder, and read what was not checked here.
    """
    text = os.fsdecode(pattern)
    check_path(text, SourceError)
    base = os.getcwd()
    paths = _find(text, base)
    for path in paths:
        if not os.access(path, os.R_OK):
            raise SourceError(f"no permission to read {path}: ask its owner, or whoever runs this machine")
    partitions = _partitions(paths, base)
    for endings, separator in ((CSV, None), (TSV, "\t")):
        if all(p.lower().endswith(endings) for p in paths):
            return CsvTable(tuple(paths), text, partitions, separator)
    if all(p.lower().endswith(PARQUET) for p in paths):
        return ParquetTable(tuple(paths), text, partitions)
    raise SourceError(
        f"{text}: cannot tell the format; files that end alike in one of {', '.join(ENDINGS)} work. "
        "Rename or convert it, or read it yourself and pass a pandas, polars or Arrow table"
    )


def paths_of(source: object) -> tuple[str, ...]:
    """Return the absolute paths of the files of a source; none of one that is not in files."""
    if not isinstance(source, str | os.PathLike):
        return ()
    text = os.fsdecode(source)
    check_path(text, SourceError)
    return tuple(_find(text, os.getcwd()))


def _find(text: str, base: str) -> list[str]:
    """Return the absolute paths of the files; ``~`` is the home folder, as everywhere."""
    if not text:
        raise SourceError(_not_found(text))
    text = os.path.expanduser(text)
    path = os.path.join(base, text)
    if os.path.isdir(path):
        found = _find_below(path)
    elif os.path.exists(path):
        found = [path]
    else:
        pattern = os.path.join(glob.escape(base), text)
        found = sorted(p for p in glob.glob(pattern, recursive=True) if _is_there(p))
    if not found:
        raise SourceError(_not_found(text))
    for path in found:
        if not os.path.isfile(path):  # which would be waited for, or never end
            raise SourceError(
                f"{path} is no regular file; a pipe can be read once only: write it to a file, and give the "
                "path of that"
            )
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise SourceError(
                f"the name of {path!r} is not in UTF-8: rename the file or its folder"
            ) from error
    return found


def _is_there(path: str | os.PathLike[str]) -> bool:
    """Whether a path that was found is no folder, and no link to nothing."""
    return os.path.exists(path) and not os.path.isdir(path)


def _find_below(folder: str) -> list[str]:
    """Return the files of a table that is a folder; what begins with _ or . is no part of it."""
    paths = [
        str(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.name.lower().endswith(ENDINGS)
        and _is_there(path)
        and not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    ]
    if not paths:
        raise SourceError(f"{folder} is a folder without any file that ends in one of {', '.join(ENDINGS)}")
    return paths


def _not_found(text: str) -> str:
    path = Path(text)
    whole = next((p for p in path.parents if not glob.has_magic(str(p))), path)  # "" has no parent
    folder = next(p for p in (whole, *whole.parents) if os.path.isdir(p) or p == p.parent)
    siblings = sorted(p.name for p in folder.iterdir()) if os.access(folder, os.R_OK) else []
    if glob.has_magic(text):
        there = ", ".join(siblings[:5]) + (", ..." if len(siblings) > 5 else "")
        return (
            f"no file matches {text!r}; the folder {str(folder.absolute())!r} has {there or 'nothing in it'}"
        )
    if folder != path.parent:  # such as a partition that is missing
        close = difflib.get_close_matches(path.relative_to(folder).parts[0], siblings, n=5, cutoff=0.5)
        hint = f"; the folder {str(folder)!r} has {', '.join(close)}" if close else ""
        return f"file not found: {text!r} (current folder: {os.getcwd()}){hint}"
    close = difflib.get_close_matches(path.name, siblings, n=1)
    hint = f": did you mean {str(path.parent / close[0])!r}?" if close else ""
    return f"file not found: {text!r} (current folder: {os.getcwd()}){hint}"


def _partitions(paths: Sequence[str], base: str) -> dict[str, frozenset[str]]:
    """Return the keys of folders called key=value, with the values of each that occur.

    What the current folder is called makes no table a partitioned one; if it is one, every folder counts, for
    the engine reads them so.
    """
    given = [path.removeprefix(os.path.join(base, "")) for path in paths]
    partitioned = any(map(_folders, given))
    found = [_folders(path) if partitioned else {} for path in paths]
    for path, folders in zip(paths, found, strict=True):
        if list(folders) != list(found[0]):
            raise SourceError(
                f"{path} and {paths[0]} are in differently partitioned folders ({_keys(folders)} against "
                f"{_keys(found[0])}): files read together need the same key=value folders"
            )
    return {
        key: frozenset(unquote(folders[key]) for folders in found) - {_NULL_PARTITION} for key in found[0]
    }


def _folders(path: str) -> dict[str, str]:
    """Return the keys and values of the folders of a path that are called key=value."""
    return {m[1]: m[2] for part in Path(path).parts[:-1] if (m := _PARTITION.fullmatch(part))}


def _keys(folders: dict[str, str]) -> str:
    return "/".join(f"{key}=" for key in folders) or "none"
