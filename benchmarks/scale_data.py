"""Synthetic Parquet files of any size, made by DuckDB, and runs in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aegis_opt as ao
from aegis_opt.advisor import Advisor
from aegis_opt.sources._duckdb_engine import connect
from benchmarks.paper.datasets import scalability

MEASURES: tuple[ao.measures.MeasureName, ...] = ("mi", "chi2", "g3")
N_VALUES = 200
_SLOPES = (2.0, 1.5, 1.0, 0.75, 0.5)


def attribute_names(n_attributes: int) -> list[str]:
    """Name the attributes as `benchmarks.paper.datasets.scalability` does."""
    return [f"a{i:03d}" for i in range(n_attributes)]


def make_parquet(folder: Path, rows: int, attributes: int, seed: int = 0) -> Path:
    """Write the data of `benchmarks.paper.datasets.scalability`, drawn by DuckDB's hash; reuse what is there.

    Uniform attributes of 200 values, and a binary label that depends mildly on the first five; all of SQL's
    usual type for numbers, INTEGER, which Parquet keeps in a dictionary.
    """
    path = folder / f"rows{rows}-attributes{attributes}-seed{seed}.parquet"
    if path.exists():
        return path
    names = attribute_names(attributes)
    columns = ", ".join(f"(hash(i, {j}, {seed}) % {N_VALUES})::INTEGER AS {n}" for j, n in enumerate(names))
    score = " + ".join(
        f"{slope} * ({name} / {N_VALUES - 1.0} - 0.5)" for slope, name in zip(_SLOPES, names, strict=False)
    )
    chance = f"hash(i, 'label', {seed}) / 18446744073709551616.0"
    label = f"({chance} < 1 / (1 + exp(-({score}))))::INTEGER"
    part = path.with_suffix(".part")
    with connect() as connection:
        records = f"SELECT i, {columns} FROM range({rows}) AS r(i)"
        query = f"SELECT {', '.join(names)}, {label} AS label FROM ({records})"
        connection.execute(f"COPY ({query}) TO '{part}' (FORMAT parquet, COMPRESSION snappy)")
    part.rename(path)
    return path


def draw_configurations(attributes: int, configurations: int) -> ao.Configurations:
    """Draw bucket widths per attribute, as the paper's experiments have them."""
    drawn = scalability(n_rows=1, n_attributes=attributes, n_values=N_VALUES, n_configurations=configurations)
    assert drawn.configurations is not None
    return drawn.configurations


def bare_group_bys(path: Path, attributes: int) -> float:
    """Time one GROUP BY per attribute in DuckDB, and nothing else."""
    start = time.perf_counter()
    with connect() as connection:
        for name in attribute_names(attributes):
            query = f"SELECT {name}, label, count(*) FROM read_parquet('{path}') GROUP BY {name}, label"
            connection.execute(query).fetchnumpy()
    return time.perf_counter() - start


def library(
    path: Path, configurations: ao.Configurations, measures: Sequence[ao.measures.MeasureName] = MEASURES
) -> dict[str, float]:
    """Summarise and advise for each measure; time the scan, the merging of rows and the advice."""
    marks = [time.perf_counter()]

    def mark_end_of_scan(what: str, done: int, of: int) -> None:
        if what.startswith("counted") and done == of:
            marks.append(time.perf_counter())

    summary = ao.summarize(path, configurations=configurations, histograms=True, progress=mark_end_of_scan)
    marks.append(time.perf_counter())
    advisor = Advisor(summary)
    for measure in measures:
        advisor.advise(measure)
    marks.append(time.perf_counter())
    start, scanned, merged, end = marks
    return {"scan": scanned - start, "merge": merged - scanned, "advise": end - merged, "total": end - start}


def peak_memory() -> float:
    """Return this process's peak memory in MiB (ru_maxrss would start at the parent's)."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def in_a_process(module: str, experiment: str, **arguments: Any) -> Any:
    """Run `experiment(**arguments)` of a module in a process of its own; return its result."""
    code = (
        "import json, sys\nfrom importlib import import_module\n"
        "found = getattr(import_module(sys.argv[1]), sys.argv[2])\n"
        "print(json.dumps(found(**json.loads(sys.argv[3]))))"
    )
    command = [sys.executable, "-c", code, module, experiment, json.dumps(arguments, default=str)]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(shown.stdout.splitlines()[-1])
