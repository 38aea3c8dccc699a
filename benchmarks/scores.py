"""What scores cost and whether they are right: against ridge on rows, bare group-bys, plain advice, models.

Every comparison is a ratio of times from one run, taken in turns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import aegis_opt as ao
from aegis_opt.sources._duckdb_engine import connect
from benchmarks.inputs import Input, folders, load, machine
from benchmarks.scale_data import (
    attribute_names,
    draw_configurations,
    in_a_process,
    make_parquet,
    peak_memory,
)
from benchmarks.scores_checks import coverage, ridge

HERE = "benchmarks.scores"  # also where it runs as a script
ATTRIBUTES = (14, 24, 48)
CONFIGURATIONS = 50
CLASSIFIERS = ("nb", "svm", "sgd", "lr")  # the quick ones: what takes longer is slower still


def in_turns(work: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each piece of work, run one after the other, after one run of each to warm up."""
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats + 1):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def advice_by(source: Any, label: str | None, configurations: Any, score: str | None = None) -> ao.Advice:
    """Summarise and advise: by tables alone, or by a score that is shared instead of them."""
    shared: dict[str, Any] = {} if score is None else {"share": "scores", "scores": [score]}
    return ao.advise(ao.summarize(source, label, configurations, **shared), score or "auto")


def bare_pair_group_bys(path: Path, attributes: int) -> None:
    """One GROUP BY per pair of attributes in DuckDB, and nothing else."""
    with connect() as connection:
        for a, b in combinations(attribute_names(attributes), 2):
            query = f"SELECT {a}, {b}, count(*) FROM read_parquet('{path}') GROUP BY {a}, {b}"
            connection.execute(query).fetchnumpy()


def measure_pairs(path: str, attributes: int, repeats: int) -> dict[str, float]:
    """Time r2_gcv of all configurations and the bare group-bys of all pairs, in turns."""
    configurations = draw_configurations(attributes, CONFIGURATIONS)
    return in_turns(
        {
            "bare": lambda: bare_pair_group_bys(Path(path), attributes),
            "ours": lambda: advice_by(path, "label", configurations, "r2_gcv"),
        },
        repeats,
    )


def measure_memory(folder: str, score: str) -> float:
    """Score all configurations, and return the peak of the process in MiB."""
    data = load(folder)
    advice_by(data.source, data.label, data.configurations, score)
    return peak_memory()


def pairs(arguments: argparse.Namespace) -> None:
    """Compare with the bare group-bys of all pairs on a large file."""
    attributes = ATTRIBUTES[0]
    path = make_parquet(arguments.work, arguments.rows, attributes)
    found = in_a_process(HERE, "measure_pairs", path=path, attributes=attributes, repeats=arguments.repeats)
    print(f"r2_gcv: {arguments.rows:,} rows, {attributes} attributes, {CONFIGURATIONS} configurations")
    print(f"  bare DuckDB group-bys of {attributes * (attributes - 1) // 2} pairs {found['bare']:8.2f} s")
    print(f"  summarize + advise           {found['ours']:8.2f} s")
    print(f"  ratio                        {found['ours'] / found['bare']:8.2f}     (wanted: at most 3)")


def growth(arguments: argparse.Namespace) -> None:
    """Print times for more and more attributes."""
    print(f"r2_gcv with growing attributes: {arguments.small_rows:,} rows, {CONFIGURATIONS} configurations")
    print(f"  {'attributes':>10}{'pairs':>7}{'bare s':>9}{'ours s':>9}{'ratio':>7}{'s per 100 pairs':>17}")
    times = []
    for attributes in ATTRIBUTES:
        path = make_parquet(arguments.work, arguments.small_rows, attributes)
        found = in_a_process(HERE, "measure_pairs", path=path, attributes=attributes, repeats=1)
        n_pairs = attributes * (attributes - 1) // 2
        times.append(found["ours"])
        print(
            f"  {attributes:10}{n_pairs:7}{found['bare']:9.2f}{found['ours']:9.2f}"
            f"{found['ours'] / found['bare']:7.2f}{100 * found['ours'] / n_pairs:17.3f}",
            flush=True,
        )
    slope = np.polyfit(np.log(ATTRIBUTES), np.log(times), 1)[0]
    print(f"  slope of log time over log attributes {slope:.2f} (2 is that of the number of pairs)")


def plain(arguments: argparse.Namespace) -> None:
    """Compare scores with plain advice on the same data, from a frame and from the file."""
    print("Scores against plain summarize + advise (wanted on income and hotel: r2_gcv at most 3x, r2_cv 8x)")
    print(f"  {'':13}{'from':>7}{'plain ms':>10}{'r2_gcv ms':>11}{'ratio':>7}{'r2_cv ms':>11}{'ratio':>7}")
    for data in _data(arguments):
        for title, source in _sources(data).items():
            work = {
                score or "plain": partial(advice_by, source, data.label, data.configurations, score)
                for score in (None, "r2_gcv", "r2_cv")
            }
            found = in_turns(work, arguments.repeats)
            gcv, cv = found["r2_gcv"], found["r2_cv"]
            print(
                f"  {data.name:13}{title:>7}{1000 * found['plain']:10.0f}{1000 * gcv:11.0f}"
                f"{gcv / found['plain']:7.2f}{1000 * cv:11.0f}{cv / found['plain']:7.2f}",
                flush=True,
            )


def small(arguments: argparse.Namespace) -> None:
    """Compare advice from a frame with training single classifiers on all configurations."""
    from benchmarks.paper.exhaustive import train_and_score

    print("summarize + advise from a frame in memory against training one classifier on all configurations")
    print("(wanted: at most 60 ms for 5,000 rows, 9 attributes, 50 configurations, and a tenth of each)")
    for data in _data(arguments):
        found = in_turns(
            {"advice": partial(advice_by, data.frame, data.label, data.configurations)}, 2 * arguments.repeats
        )
        n, m = len(data.frame), len(data.attributes)
        print(f"  {data.name}: {n:,} x {m}, {len(data.configurations)} configurations", end="")
        print(f"   {1000 * found['advice']:.0f} ms", flush=True)
        for classifier in CLASSIFIERS:
            trained = train_and_score(data.frame, data.label, data.configurations, [classifier])
            seconds = float(trained["seconds"].sum())
            print(
                f"    {classifier:10}{1000 * seconds:8.0f} ms   ratio {seconds / found['advice']:.1f}",
                flush=True,
            )


def memory(arguments: argparse.Namespace) -> None:
    """Print the peak memory of scores, each way in a process of its own."""
    print("Peak memory of a process, MiB (wanted: below 2048 on hotel; r2 and r2_certified have no cap)")
    for folder in folders(arguments.data):
        if folder is None:
            print("  needs --data")
            return
        peaks = [
            f"{score} {in_a_process(HERE, 'measure_memory', folder=folder, score=score):.0f}"
            for score in ("r2_gcv", "r2_cv", "r2", "r2_certified")
        ]
        print(f"  {Path(folder).name:13}{', '.join(peaks)}", flush=True)


def file(arguments: argparse.Namespace) -> None:
    """Print the size of a file of scores beside one of tables."""
    print("Size of the file (wanted: scores below 100 kB for income)")
    for data in _data(arguments):
        sizes = {}
        for share in ("scores", "tables"):
            path = arguments.work / f"{data.name}-{share}.json"
            ao.summarize(data.frame, data.label, data.configurations, share=share).save(path)
            sizes[share] = path.stat().st_size / 1000
        print(
            f"  {data.name:13}{len(data.configurations)} configurations   scores {sizes['scores']:.1f} kB"
            f"   tables {sizes['tables']:.1f} kB"
        )


def race(arguments: argparse.Namespace) -> None:
    """Run the race twice from the file."""
    print("Race, from the file to the winner, twice with one seed (wanted: at most 8 s on income and hotel)")
    for data in _data(arguments):
        winners, seconds = [], []
        for _ in range(2):
            start = time.perf_counter()
            winners.append(advice_by(data.source, data.label, data.configurations, "race").best)
            seconds.append(time.perf_counter() - start)
        same = "the same winner" if winners[0] == winners[1] else "DIFFERENT WINNERS"
        print(f"  {data.name:13}{seconds[0]:6.1f} s {seconds[1]:6.1f} s   {winners[0]}, {same}", flush=True)


def _data(arguments: argparse.Namespace) -> list[Input]:
    return [load(folder) for folder in folders(arguments.data)]


def _sources(data: Input) -> dict[str, Any]:
    found: dict[str, Any] = {"frame": data.frame}
    if isinstance(data.source, Path):
        found["CSV"] = data.source
    return found


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "ridge": ridge,
    "coverage": coverage,
    "plain": plain,
    "small": small,
    "race": race,
    "file": file,
    "memory": memory,
    "pairs": pairs,
    "growth": growth,
}


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scores", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="a folder with data.csv and configurations.json, or several; default: synthetic",
    )
    parser.add_argument("--work", type=Path, help="folder for made-up data, kept; default: a temporary one")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of pairs (default 1M)")
    parser.add_argument("--small-rows", type=int, default=100_000, help="of growth (default 100K)")
    parser.add_argument(
        "--repeats", type=int, default=5, help="of every timing; medians are shown (default 5)"
    )
    parser.add_argument("--halvings", type=int, default=25, help="of coverage (default 25)")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.parts if name not in PARTS]:
        parser.error(f"unknown part {unknown[0]!r}; known: {', '.join(PARTS)}")
    print(machine())
    with tempfile.TemporaryDirectory(prefix="aegis-opt-scores-") as temporary:
        chosen.work = chosen.work or Path(temporary)
        chosen.work.mkdir(parents=True, exist_ok=True)
        for name in chosen.parts or PARTS:
            print()
            PARTS[name](chosen)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
