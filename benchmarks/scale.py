"""Any size: one scan against bare group-bys, against masking rows, and growth with rows, attributes, masks.

Data are generated as Parquet from a seed. Every comparison is a ratio of times from one run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import aegis_opt as ao
from benchmarks.cluster import spark_session
from benchmarks.inputs import machine, masked_rows
from benchmarks.scale_data import (
    MEASURES,
    attribute_names,
    bare_group_bys,
    draw_configurations,
    in_a_process,
    library,
    make_parquet,
    peak_memory,
)
from benchmarks.scale_growth import growth

HERE = "benchmarks.scale"  # also where it runs as a script
ATTRIBUTES = 10
CONFIGURATIONS = 50


def measure_end_to_end(path: str, repeats: int) -> dict[str, list[float]]:
    """Time the library and the bare group-bys in turns, after one run of each to warm up."""
    configurations = draw_configurations(ATTRIBUTES, CONFIGURATIONS)
    ours, bare = [], []
    for repeat in range(repeats + 1):
        bare.append(bare_group_bys(Path(path), ATTRIBUTES))
        ours.append(library(Path(path), configurations)["total"])
        if repeat == 0:
            ours.clear()
            bare.clear()
    return {"ours": ours, "bare": bare}


def measure_memory(path: str) -> float:
    """Run the library alone and return the peak of the process."""
    library(Path(path), draw_configurations(ATTRIBUTES, CONFIGURATIONS))
    return peak_memory()


def measure_after_scan(path: str, repeats: int) -> list[float]:
    """Time merging and advice, which never see the rows."""
    configurations = draw_configurations(ATTRIBUTES, CONFIGURATIONS)
    runs = [library(Path(path), configurations) for _ in range(repeats + 1)][1:]
    return [run["merge"] + run["advise"] for run in runs]


def measure_masking_rows(path: str, sample: int) -> dict[str, float]:
    """Mask rows per configuration in pandas and measure; per configuration, in two ways."""
    frame = pd.read_parquet(path)
    configurations = draw_configurations(ATTRIBUTES, CONFIGURATIONS)
    names = list(configurations)[:sample]
    rho = [ao.get_measure(measure) for measure in MEASURES]
    label = frame["label"]

    def crosstab(column: pd.Series, mask: ao.masks.Mask) -> Any:
        return pd.crosstab(masked_rows(column, mask), label).to_numpy()

    def group_by(column: pd.Series, mask: ao.masks.Mask) -> Any:
        counted = label.groupby([column // mask.to_spec()["width"], label]).size()
        return counted.unstack(fill_value=0).to_numpy()  # noqa: PD010

    seconds = {}
    for way in (crosstab, group_by):
        start = time.perf_counter()
        for name in names:
            for attribute in attribute_names(ATTRIBUTES):
                table = way(frame[attribute], configurations[name][attribute])
                for measure in rho:
                    measure(table)
        seconds[way.__name__] = (time.perf_counter() - start) / len(names)
    return seconds


def end_to_end(arguments: argparse.Namespace) -> None:
    """Compare with the bare group-bys on the same file."""
    path = make_parquet(arguments.work, arguments.rows, ATTRIBUTES)
    found = in_a_process(HERE, "measure_end_to_end", path=path, repeats=arguments.repeats)
    memory = in_a_process(HERE, "measure_memory", path=path)
    ours, bare = statistics.median(found["ours"]), statistics.median(found["bare"])
    print(f"End to end: {_size(arguments.rows)} in {path.stat().st_size / 1e6:.0f} MB of Parquet")
    print(f"  bare DuckDB group-bys      {bare:8.2f} s   (median of {arguments.repeats}, in turns)")
    print(f"  summarize + 3 x advise     {ours:8.2f} s   peak memory {memory:.0f} MiB")
    print(f"  ratio                      {ours / bare:8.2f}     (wanted: at most 1.5, below 1024 MiB)")


def masking_rows(arguments: argparse.Namespace) -> None:
    """Compare with masking the rows per configuration in pandas, both at the same size."""
    path = make_parquet(arguments.work, arguments.small_rows, ATTRIBUTES)
    ours = statistics.median(
        in_a_process(HERE, "measure_end_to_end", path=path, repeats=arguments.repeats)["ours"]
    )
    found = in_a_process(HERE, "measure_masking_rows", path=path, sample=arguments.sample)
    print(f"Against masking rows in pandas: {_size(arguments.small_rows)}")
    print(f"  summarize + 3 x advise     {ours:8.2f} s   reading the file included")
    words = {"crosstab": "map + crosstab", "group_by": "column // width, groupby.size"}
    for way, seconds in found.items():
        theirs = seconds * CONFIGURATIONS
        print(f"  {words[way]:<26} {theirs:8.2f} s   ratio {theirs / ours:.0f}")
    print(f"  (pandas: scaled from {arguments.sample} configurations; reading and fitting not included)")


def after_scan(arguments: argparse.Namespace) -> None:
    """Show that the cost after the scan does not depend on the number of rows."""
    print(
        f"After the scan (merge rows, 3 x advise): {ATTRIBUTES} attributes, {CONFIGURATIONS} configurations"
    )
    medians = []
    for rows in (arguments.small_rows, arguments.rows):
        path = make_parquet(arguments.work, rows, ATTRIBUTES)
        runs = in_a_process(HERE, "measure_after_scan", path=path, repeats=2 * arguments.repeats)
        medians.append(statistics.median(runs))
        print(f"  {rows:>11,} rows   {medians[-1]:8.3f} s   (from {min(runs):.3f} to {max(runs):.3f})")
    print(f"  ratio                      {medians[1] / medians[0]:8.2f}     (wanted: 1 within noise)")


def spark(arguments: argparse.Namespace) -> None:
    """Count the same file on a cluster of two workers and compare the summaries as files."""
    path = make_parquet(arguments.work, arguments.small_rows, ATTRIBUTES)
    configurations = draw_configurations(ATTRIBUTES, CONFIGURATIONS)
    with spark_session() as session:
        if session is None:
            return
        print(f"Spark, standalone, two workers: {_size(arguments.small_rows)}")
        for name, source in (("spark", session.read.parquet(str(path))), ("duckdb", path)):
            start = time.perf_counter()
            summary = ao.summarize(source, configurations=configurations, histograms=True)
            print(f"  {name:<26} {time.perf_counter() - start:8.2f} s")
            summary.save(arguments.work / f"{name}.json")
    same = (arguments.work / "spark.json").read_bytes() == (arguments.work / "duckdb.json").read_bytes()
    print(f"  saved summaries            {'the same, bit for bit' if same else 'DIFFERENT'}")


def _size(rows: int) -> str:
    return (
        f"{rows:,} rows, {ATTRIBUTES} attributes, {CONFIGURATIONS} configurations, {len(MEASURES)} measures"
    )


EXPERIMENTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "end-to-end": end_to_end,
    "masking-rows": masking_rows,
    "after-scan": after_scan,
    "growth": growth,
    "spark": spark,
}


def main() -> None:
    """Run the chosen experiments."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help=f"of {', '.join(EXPERIMENTS)}; default: all"
    )
    parser.add_argument("--work", type=Path, help="folder for the data, kept; default: a temporary one")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the large file (default 10M)")
    parser.add_argument("--small-rows", type=int, default=1_000_000, help="of the small file (default 1M)")
    parser.add_argument("--max-rows", type=int, default=100_000_000, help="of the growth (default 100M)")
    parser.add_argument("--repeats", type=int, default=3, help="of every timing; medians are shown")
    parser.add_argument("--sample", type=int, default=2, help="configurations whose rows pandas masks")
    parser.add_argument("--picture", type=Path, default=Path("out/scale.png"), help="of the growth")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.experiments if name not in EXPERIMENTS]:
        parser.error(f"unknown experiment {unknown[0]!r}; known: {', '.join(EXPERIMENTS)}")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="aegis-opt-scale-") as temporary:
        arguments.work = arguments.work or Path(temporary)
        arguments.work.mkdir(parents=True, exist_ok=True)
        for name in arguments.experiments or EXPERIMENTS:
            print()
            EXPERIMENTS[name](arguments)


if __name__ == "__main__":
    main()
