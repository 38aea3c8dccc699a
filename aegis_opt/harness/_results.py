"""What a comparison found, in memory or in a folder that grows by one Parquet file per finished unit of work.

A file is whole or not there, so a run that was killed continues where it stopped: units whose file exists are
not run again. `meta.json` says what made the folder; a folder that something else made is refused.
"""

from __future__ import annotations

import datetime as dt
import glob
import json
import math
import os
import platform
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from aegis_opt import _later
from aegis_opt._display import Card, Displayed
from aegis_opt._files import atomic_path, probe, read_text, written_by_duckdb
from aegis_opt._json import parse_json
from aegis_opt._options import check_path, expanded, is_number, path_of
from aegis_opt._shown import listing, shown
from aegis_opt.errors import InvalidInput, OutputError
from aegis_opt.harness._damage import damaged_rows
from aegis_opt.harness._schema import COLUMNS, KEYS, SKIPPED, Row, TableName
from aegis_opt.harness._units import Unit, UnitResult
from aegis_opt.sources._database import ctrl_c_in_queries, open_database

if TYPE_CHECKING:
    import duckdb
    from altair import LayerChart

FORMAT = "aegis-opt-results"
VERSION = 2

_PACKAGES = (
    *("aegis-opt", "numpy", "scipy", "pandas", "cvxpy", "clarabel", "highspy", "ortools", "duckdb"),
    *("ipfn", "humanleague", "POT"),
)
MOST_META_BYTES = 16 * 2**20
"""The size of the file that describes a results folder."""
MOST_META_ITEMS = 1_000_000
"""Commas and opening brackets in that file: entries, which take memory."""
MOST_PLANNED = 5_000_000
"""Runs that a results folder may plan, all combinations counted."""
MOST_ROWS = 5_000_000
"""Rows of one table of a results folder."""
MOST_TEXT = 2**29
"""Bytes of all texts in one table of a results folder."""

_MOST_NUMBER = 2**53
_SKIPPED = ".skipped.parquet"
_UNFINISHED = re.compile(r"\.[0-9a-f]{24}(\.skipped)?-[^.]+\.parquet")  # as `atomic_path` calls them
_AGAIN = "run the comparison again, which makes only what is missing"
_WAY_OUT = f"delete it and {_AGAIN}"
_PLAN: dict[str, type] = {"variants": str, "measures": str, "scopes": str, "histograms": bool, "seeds": int}
_DATASET: dict[str, type] = {
    "fingerprint": str,
    "records": int,
    "label_counts": list,
    "attributes": dict,
    "configurations": list,
}


class ResultsError(InvalidInput):
    """A results folder is malformed, cut short, or made by something else."""


@dataclass(frozen=True, eq=False)
class Results(Displayed):
    """What a comparison found.

    Attributes
    ----------
    advice : DataFrame
        One row per advisor run; `aegis_opt.harness._schema` says what each column means.
    reconstructions : DataFrame
        One row per reconstruction.
    rankings : DataFrame
        One row per advisor run and configuration: its rank, its estimated, proved and true deviation.
    meta : dict
        Software and machine, data sets, settings, plan.
    """

    advice: pd.DataFrame
    reconstructions: pd.DataFrame
    rankings: pd.DataFrame
    meta: dict[str, Any]

    def __repr__(self) -> str:
        where = listing(list(self.meta["datasets"]))
        runs, tables = len(self.advice), len(self.reconstructions)
        return f"<Results: {runs} advisor runs, {tables} reconstructions on {where}>"

    def _card(self) -> Card:
        from aegis_opt.harness._card import card_of

        return card_of(self)

    def plot(
        self,
        kind: str = "pareto",
        *,
        dataset: str | None = None,
        scope: str | None = None,
        measure: str | None = None,
    ) -> LayerChart:
        """Draw one figure of the comparison; `aegis_opt.report.write_report` has all of them.

        Parameters
        ----------
        kind : {"pareto", "tvd", "regret", "estimate", "ranking", "profile-time", "profile-tvd"}
            Time against distance; distance from the raw tables; what the advice costs; estimated against true
            deviation of the winner; the order of one advisor run; performance profiles of time and distance.
        dataset : str, optional
            By default all of them together; for a ranking, the first.
        scope : str, optional
            By default the one in which the variants differ most.
        measure : str, optional
            Of the kinds "estimate" and "ranking"; by default the first.

        Returns
        -------
        altair.LayerChart
            Interactive in a notebook; ``chart.save("figure.png")`` writes it, and .svg, .pdf and .html, too.

        Raises
        ------
        InvalidOption
            If there is no such kind, data set, scope or measure, or nothing to draw.
        MissingDependency
            If altair is not installed.

        Examples
        --------
        >>> import tempfile
        >>> import aegis_opt as ao
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ao.compare(ao.datasets.worked_example(), solvers=["ipf"], measures=["mi"], output=folder)
        ...     results = ao.harness.load_results(folder)
        >>> results.plot("tvd").to_dict()["title"]["text"]
        'Distance of the reconstructed tables from the raw ones'
        """
        chart: LayerChart = _later.call(
            "plot_results", self, kind, dataset=dataset, scope=scope, measure=measure
        )
        return chart


class ResultsFolder:
    """A results folder, open for writing: a new one, or one to continue, with the same version and settings.

    A data set of the same name must be the same; the rest of `meta.json` is brought up to date.
    """

    def __init__(self, folder: str | os.PathLike[str], meta: dict[str, Any]) -> None:
        self.folder = path_of("folder", folder)
        old = _known(self.folder)
        if old is not None:
            meta = _continued(self.folder, old, meta)
        self._fingerprints = {name: about["fingerprint"] for name, about in meta["datasets"].items()}
        with atomic_path(self.folder / "meta.json") as temporary:
            temporary.write_text(json.dumps(meta, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the folder beside other runs; if this is the only one, remove what a killed run left.

        A process lets go of the folder when it ends, even when it is killed. Where the system cannot hold a
        folder, nothing is removed.
        """
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # others hold it, or the file system cannot tell
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for table in COLUMNS:
                    for file in (self.folder / table).glob(".*.parquet"):
                        if _UNFINISHED.fullmatch(file.name):
                            file.unlink(missing_ok=True)
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    def is_done(self, unit: Unit) -> bool:
        """Whether the unit's results are there. What was skipped is tried again: it may work now."""
        tables: list[TableName] = ["rankings", "advice"] if unit.table == "advice" else [unit.table]
        return all(self._path(table, unit).exists() for table in tables)

    def write(self, unit: Unit, result: UnitResult) -> None:
        """Add the results of a unit.

        An advisor run that was tried has a file of its ranking too, if an empty one. It comes first: without
        the file of its advice, a ranking is not read, and the unit is run again.
        """
        skipped = all(row["status"] == SKIPPED for row in result.rows)
        if unit.table == "advice" and not skipped:
            write_parquet(self._path("rankings", unit), "rankings", result.ranking)
        write_parquet(self._path(unit.table, unit, skipped), unit.table, result.rows)
        if not skipped:
            self._path(unit.table, unit, skipped=True).unlink(missing_ok=True)

    def _path(self, table: TableName, unit: Unit, skipped: bool = False) -> Path:
        key = unit.key(self._fingerprints[unit.dataset])
        return self.folder / table / f"{key}{_SKIPPED if skipped else '.parquet'}"


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Refuse, before any work, a folder that cannot take results. Nothing is made or changed."""
    check_path(folder, OutputError)
    path = expanded(folder)
    try:
        old = _known(path)
        for target in (path, *(path / table for table in COLUMNS)):
            probe(target)
    except OSError as error:
        reason = error.strerror or error
        raise OutputError(f"{path} cannot be written: {reason}; choose another place") from error
    if old is not None:
        for table, files in _files(path).items():
            read_parquet([file for file in files if file.exists()], table)


def _known(folder: Path) -> dict[str, Any] | None:
    """What a folder says about itself; None where it holds nothing yet."""
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise ResultsError(f"{folder} is a file; results need a folder")
    if os.path.exists(folder / "meta.json"):
        return read_meta(folder)
    if os.path.isdir(folder) and any(folder.iterdir()):
        raise ResultsError(f"{folder} is not empty and holds no results: choose another folder")
    return None


def make_meta(datasets: dict[str, Any], settings: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """Describe a comparison and what runs it."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "started": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "software": {"python": platform.python_version()} | _versions(),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "system": platform.platform()},
        "settings": settings,
        "datasets": datasets,
        "plan": plan,
    }


def read_meta(folder: Path) -> dict[str, Any]:
    """Read and check what a results folder says about itself."""
    path = folder / "meta.json"
    if not os.path.exists(path):
        raise ResultsError(f"{folder} holds no results: there is no {path}")
    text = read_text(path, str(path), ResultsError, most=MOST_META_BYTES)
    try:
        meta = parse_json(text, ResultsError, most_items=MOST_META_ITEMS)
    except ResultsError as error:
        raise ResultsError(f"{path}: cannot be read ({error}): get a whole copy of the folder") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ResultsError(f'{path}: its "format" is not "{FORMAT}": choose another folder')
    if meta.get("version") != VERSION:
        raise ResultsError(
            f"{path}: results of version {shown(meta.get('version'))}, while this aegis-opt reads version "
            f"{VERSION}: use the version that made them, or run the comparison again into a new folder"
        )
    damaged = next(_damaged(meta), None)
    if damaged is not None:
        raise ResultsError(f"{path}: {damaged} is missing or damaged: get a whole copy of the folder")
    return meta


def _damaged(meta: dict[str, Any]) -> Iterator[str]:
    """Name the parts that are not what `make_meta` writes, as far as anything reads them."""
    meta = {"machine": {}} | meta
    for part in ("software", "machine", "settings", "datasets", "plan"):
        if not isinstance(meta.get(part), dict):
            yield repr(part)
    for part, name in (("machine", "cores"), ("settings", "time_limit")):
        value = meta[part].get(name)
        if value is not None and not (is_number(value) and 0 <= value <= _MOST_NUMBER):
            yield f"{name!r} of {part!r}"
    for name, kind in _PLAN.items():
        values = meta["plan"].get(name, [])
        if not isinstance(values, list) or not all(type(value) is kind for value in values):
            yield f"{name!r} of 'plan'"
        if len(set(values)) < len(values):
            yield f"{name!r} of 'plan', which lists something twice,"
    attributes = 0
    for dataset, about in meta["datasets"].items():
        if not isinstance(about, dict):
            yield f"data set {shown(dataset)}"
        for name, kind in _DATASET.items():
            if type(about.get(name)) is not kind:
                yield f"{name!r} of data set {shown(dataset)}"
        if not 0 <= about["records"] <= _MOST_NUMBER:
            yield f"'records' of data set {shown(dataset)}"
        attributes += len(about["attributes"])
    sizes = {name: len(meta["plan"].get(name, [])) for name in _PLAN}
    of_measures = sizes.pop("measures") * len(meta["datasets"])
    if math.prod(sizes.values()) * max(of_measures, attributes) > MOST_PLANNED:
        yield f"'plan', which has more than {MOST_PLANNED:,} runs,"


def load_results(folder: str | os.PathLike[str]) -> Results:
    """Read a results folder.

    Parameters
    ----------
    folder : path
        Written by `compare(..., output=folder)` or ``aegis-opt compare -o folder``, finished or not.

    Raises
    ------
    ResultsError
        If it is no results folder, of another version, or a file in it is cut short; the text names it.
    """
    path = path_of("folder", folder)
    meta, files = read_meta(path), _files(path)
    runs = read_parquet(files["advice"], "advice")
    for file in files["rankings"]:
        if not file.exists():
            raise ResultsError(f"{file}: is missing: {_AGAIN}")
    others = {table: read_parquet(files[table], table) for table in ("reconstructions", "rankings")}
    results = Results(advice=runs, **others, meta=meta)
    damaged = next(damaged_rows(results), None)
    if damaged is not None:
        raise ResultsError(f"{path / damaged}: get a whole copy of the folder, or {_WAY_OUT}")
    return results


def results_of(found: Iterable[tuple[Unit, UnitResult]], meta: dict[str, Any]) -> Results:
    """Return results that are in no folder, with the types that they would have there."""
    rows: dict[TableName, list[Row]] = {table: [] for table in COLUMNS}
    for unit, result in found:
        rows[unit.table] += result.rows
        rows["rankings"] += result.ranking
    return Results(
        **{str(table): _frame(table, *_select(table, rows[table])) for table in COLUMNS}, meta=meta
    )


def write_parquet(path: Path, table: TableName, rows: list[Row]) -> None:
    """Write rows with the types of the table, whole or not at all."""
    query, values = _select(table, rows)
    with atomic_path(path) as temporary, _cursor() as connection:
        target = str(temporary.absolute()).replace("'", "''")
        with written_by_duckdb(path, temporary):
            connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet, USE_TMP_FILE false)", values)


def _select(table: TableName, rows: list[Row]) -> tuple[str, list[list[Any]]]:
    """Return the query that gives rows the types of the table, and its parameters."""
    kinds = enumerate(COLUMNS[table].items(), start=1)
    columns = ", ".join(f'unnest(CAST(${i} AS {kind}[])) AS "{name}"' for i, (name, kind) in kinds)
    return f"SELECT {columns}", [[_plain(row.get(name)) for row in rows] for name in COLUMNS[table]]


def _plain(value: Any) -> Any:
    """What DuckDB takes: Python's own types, and null for what is not known or not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_parquet(files: Sequence[Path], table: TableName) -> pd.DataFrame:
    """Read files of one table as one frame, sorted by what identifies a row."""
    from aegis_opt._native import duckdb

    if not files:
        return _frame(table, *_select(table, []))
    for file in files:
        if not file.is_file():  # DuckDB would wait for a pipe, deaf to Ctrl-C
            raise ResultsError(f"{file}: is no regular file: {_WAY_OUT}")
    columns = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in COLUMNS[table].items())
    paths = [[glob.escape(str(file.absolute())) for file in files]]
    try:
        _check_size(files[0].parent, table, paths)
        return _frame(table, f"SELECT {columns} FROM read_parquet(?)", paths)
    except MemoryError:
        where = files[0].parent
        raise ResultsError(f"{where} needs more memory than this process may use: compare less") from None
    except (duckdb.Error, UnicodeDecodeError) as error:  # the latter: its text holds damaged bytes
        _database.cache_clear()  # an error inside DuckDB makes the whole database refuse all that follows
        if len(files) > 1:  # find the one to blame
            for file in files:
                read_parquet([file], table)
        cause = str(error).splitlines()[0]
        raise ResultsError(f"{files[0]}: cut short or no results file ({cause}): {_WAY_OUT}") from error


def _check_size(folder: Path, table: TableName, paths: list[list[str]]) -> None:
    """Refuse what would not fit into memory: a few bytes of Parquet can say the same a billion times."""
    texts = [name for name, kind in COLUMNS[table].items() if kind == "VARCHAR"]
    lengths = " + ".join(f'coalesce(sum(strlen(CAST("{name}" AS VARCHAR))), 0)' for name in texts)
    with _cursor() as connection:
        query = f"SELECT count(*), CAST({lengths} AS HUGEINT) FROM read_parquet(?)"
        rows, size = connection.execute(query, paths).fetchall()[0]
    if rows > MOST_ROWS or size > MOST_TEXT:
        raise ResultsError(
            f"{folder}: {rows:,} rows with {size:,} bytes of text; at most {MOST_ROWS:,} and {MOST_TEXT:,} "
            "are read: get a whole copy of the folder, or compare less at a time"
        )


def _frame(table: TableName, query: str, values: list[Any]) -> pd.DataFrame:
    with _cursor() as connection:
        frame = connection.execute(query, values).df()
    return frame.sort_values(KEYS[table], kind="stable", ignore_index=True)


@contextmanager
def _cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with ctrl_c_in_queries(), _database().cursor() as cursor:
        yield cursor


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Open an empty database in memory, once per process: that takes longer than writing a file."""
    return open_database(threads=1, memory_limit="2GB")


def _files(folder: Path) -> dict[TableName, list[Path]]:
    """The files of each table; an advisor run that was tried should have one of its ranking."""
    found: dict[TableName, list[Path]] = {
        table: sorted(file for file in (folder / table).glob("*.parquet") if not file.name.startswith("."))
        for table in COLUMNS
    }
    tried = [file.name for file in found["advice"] if not file.name.endswith(_SKIPPED)]
    return found | {"rankings": [folder / "rankings" / name for name in tried]}


def _continued(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Meta data of a folder that goes on; refuse what cannot be compared with what it holds."""
    way_out = "choose another folder"
    made_by, now = (meta["software"].get("aegis-opt") for meta in (old, new))
    if made_by != now:
        raise ResultsError(f"{folder} was made by aegis-opt {made_by}, this is {now}: {way_out}")
    for name, value in new["settings"].items():
        if old["settings"].get(name) != value:
            raise ResultsError(
                f"{folder} was made with {name}={old['settings'].get(name)}, not {value}: {way_out}"
            )
    for name, description in new["datasets"].items():
        known = old["datasets"].get(name)
        if known is not None and known["fingerprint"] != description["fingerprint"]:
            raise ResultsError(
                f"{folder} holds results of another data set {name!r} (other records or configurations): "
                f"{way_out}, or pass another name"
            )
    plan = {key: [*old["plan"].get(key, []), *values] for key, values in new["plan"].items()}
    return new | {
        "started": old.get("started", new["started"]),
        "continued": new["started"],
        "datasets": old["datasets"] | new["datasets"],
        "plan": {key: list(dict.fromkeys(values)) for key, values in plan.items()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _cpu() -> str:
    with suppress(OSError):
        found = re.search(r"^model name\s*: *(.+)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
        if found is not None:
            return found[1]
    return platform.processor() or platform.machine()
