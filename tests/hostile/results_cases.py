"""Folders of results that somebody changed: only an `AegisError` may come of them."""

from __future__ import annotations

import contextlib
import functools
import random
import tempfile
from pathlib import Path

import duckdb
from families import family
from mutations import change_bytes, change_leaves, change_structure, written
from people_files import only_library_errors

import aegis_opt as ao
from aegis_opt.harness import load_results
from aegis_opt.report import write_report


@functools.cache
def results_folder() -> dict[str, bytes]:
    """Return the files of a small comparison."""
    with tempfile.TemporaryDirectory() as name:
        data = ao.datasets.worked_example()
        ao.compare(
            *(data.frame, data.label, data.configurations),
            solvers=["ipf"],
            measures=["mi"],
            output=Path(name) / "results",
        )
        root = Path(name) / "results"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


COLUMN_VALUES = [
    *(
        "NULL",
        "'NaN'::DOUBLE",
        "'Infinity'::DOUBLE",
        "-1",
        "1e308",
        "9223372036854775807",
        "''",
        "'<b>'",
        "[1]",
    ),
    *("repeat('x', 1000000)", "TRUE", "'failed'", "'skipped'", "'no winner'", "DATE '2020-01-01'"),
]


def change_column(rng: random.Random, path: Path) -> None:
    """Give a column of a Parquet file another value in all rows, or remove it."""
    changed = path.with_suffix(".changed")
    with duckdb.connect() as connection, contextlib.suppress(duckdb.Error):  # its bytes may be changed, too
        column = rng.choice(connection.read_parquet(str(path)).columns)
        what = f'REPLACE ({rng.choice(COLUMN_VALUES)} AS "{column}")'
        if rng.random() < 0.1:
            what = f'EXCLUDE ("{column}")'
        rows = f"SELECT t.* {what} FROM read_parquet('{path}') AS t, range({rng.choice((1, 1, 3))})"
        connection.execute(f"COPY ({rows}) TO '{changed}' (FORMAT parquet)")
        changed.replace(path)


@family(seconds=0.3, prepare=results_folder)
def mutated_results(seed: int) -> None:
    """A results folder whose files were changed is refused by the library, or makes a page."""
    rng = random.Random(seed)
    files = dict(results_folder())
    changed = rng.choice([*files, *["meta.json"] * len(files)])
    in_column = rng.random() < 0.5
    if changed == "meta.json" and not in_column:
        files[changed] = written(rng, files[changed].decode(), [change_leaves, change_structure])
    elif not in_column:
        files[changed] = change_bytes(rng, files[changed])
    with tempfile.TemporaryDirectory() as name, only_library_errors():
        for path, data in files.items():
            target = Path(name) / "results" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if in_column:
            change_column(rng, rng.choice(list((Path(name) / "results").rglob("*.parquet"))))
        results = load_results(Path(name) / "results")
        write_report(results, Path(name) / "page.html")
