"""Proved searches under k-anonymity, their tests and seconds: `python -m benchmarks.search --data FOLDER`.

FOLDER holds the folders adult and creditcard, each with data.csv (semicolons, the label last) and hierarchies
of its columns. Without it, random lattices are compared with brute force and certificates are tampered with.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.privacy import verify_certificate
from benchmarks.cluster import spark_session
from benchmarks.search_certificates import certified, misjudged
from benchmarks.search_lattices import disagreement

LEVELS = (2, 5, 10, 25, 100)
LIMITS = (0.0, 0.05)
SIZES = {"adult": (8,), "creditcard": (8, 10, 12, 15, 20, 23)}


def problems(folder: Path) -> Iterator[tuple[str, Path, str, dict[str, Path]]]:
    """Yield a name, the table, its label, and the hierarchies of its first columns."""
    for name, sizes in SIZES.items():
        table = folder / name / "data.csv"
        *columns, label = table.open(encoding="utf-8").readline().strip().split(";")
        for size in sizes:
            chosen = columns[:size]
            yield (
                f"{name} {size}",
                table,
                label,
                {c: folder / name / "hierarchies" / f"{c}.csv" for c in chosen},
            )


def run_all(folder: Path) -> None:
    """Search every problem for every k and limit, and print tests and seconds."""
    print("problem        configurations  limit    k        cost  proved   tests  seconds")
    slowest = 0.0
    unproved = 0
    for name, table, label, files in problems(folder):
        for limit in LIMITS:
            for k in LEVELS:
                found = ao.search(table, label, files, ao.privacy.KAnonymity(k), limit)
                slowest, unproved = max(slowest, found.seconds), unproved + (not found.proved)
                print(
                    f"{name:13} {found.n_configurations:15,}  {limit:5.2f} {k:4}  {found.cost:10.6f}  "
                    f"{found.proved!s:6} {found.checks:7,}  {found.seconds:7.2f}",
                    flush=True,
                )
    print(f"not proved: {unproved}; slowest: {slowest:.2f} s")


def run_curve(folder: Path) -> None:
    """Compare the tests of a curve with those of single searches."""
    for name, table, label, files in problems(folder):
        if name.endswith((" 8", " 15")):
            curve = ao.search_curve(table, label, files, LEVELS, LIMITS)
            alone = sum(
                ao.search(table, label, files, ao.privacy.KAnonymity(k), limit).checks
                for k in LEVELS
                for limit in LIMITS
            )
            print(f"{name}: {curve.checks:,} tests for the curve, {alone:,} for single searches")


def run_certificates(folder: Path) -> None:
    """Verify ten certificates against their tables."""
    done = 0
    with tempfile.TemporaryDirectory() as place:
        for name, table, label, files in problems(folder):
            for limit, k in ((0.0, 5), (0.05, 5)):
                if done == 10:
                    return
                found = ao.search(table, label, files, ao.privacy.KAnonymity(k), limit)
                proof = Path(place) / "proof.json"
                found.certificate.save(proof)
                print(f"{name}, k = {k}, limit {limit}: {verify_certificate(proof, table)}", flush=True)
                done += 1


def run_million(folder: Path, rows: int = 1_000_000) -> None:
    """Search the adult table resampled with noise: a tenth of the values of each column are drawn anew.

    What is found is checked by DuckDB and on a Spark cluster.
    """
    _, table, label, files = next(problems(folder))
    rng = np.random.default_rng(0)
    frame = pd.read_csv(table, sep=";")
    large = frame.iloc[rng.integers(0, len(frame), rows)].reset_index(drop=True)
    for column in files:
        drawn = frame[column].to_numpy()[rng.integers(0, len(frame), rows)]
        large[column] = np.where(rng.random(rows) < 0.1, drawn, large[column].to_numpy())
    with tempfile.TemporaryDirectory() as place, spark_session() as session:
        path = Path(place) / "large.parquet"
        large.to_parquet(path)
        sources: dict[str, Any] = {"DuckDB": path}
        if session is not None:
            sources["Spark"] = session.read.parquet(str(path))
        for limit in LIMITS:
            started = time.perf_counter()
            found = ao.search(path, label, files, ao.privacy.KAnonymity(5), limit)
            seconds = time.perf_counter() - started
            print(f"{rows:,} records, limit {limit}: {found!r}, {seconds:.1f} s with reading", flush=True)
            assert found.best is not None
            rows_of = []
            for engine, source in sources.items():
                started = time.perf_counter()
                checked = ao.check_privacy(
                    source, {"best": found.best}, ao.privacy.KAnonymity(5), label=label, suppression=limit
                )
                seconds = time.perf_counter() - started
                rows_of.append(checked.iloc[0].to_dict())
                told = f"private {checked['private'][0]}, suppressed {checked['suppressed'][0]:,}"
                print(f"  check_privacy by {engine}: {told}, {seconds:.1f} s", flush=True)
                assert checked["private"][0]
                assert checked["suppressed"][0] == found.suppressed
            same = all(str(row) == str(rows_of[0]) for row in rows_of)
            print(f"  {'the same' if same else 'DIFFERENT'} by every engine")


def run_random(lattices: int, tamperings: int) -> None:
    """Compare random lattices with brute force, and tamper with certificates."""
    wrong = [text for seed in range(lattices) if (text := disagreement(seed)) is not None]
    print(f"{lattices} random lattices, {len(wrong)} differ from brute force", *wrong, sep="\n")
    cases = [pair for seed in range(20) if (pair := certified(seed)) is not None]
    rng, tried, caught, misses = random.Random(1), 0, 0, 0
    while tried < tamperings:
        judged = misjudged(rng, *cases[tried % len(cases)])
        if judged is not None:
            tried, caught, misses = tried + 1, caught + judged[0], misses + judged[1]
    print(f"{tried} tamperings: {caught} caught, {tried - caught} left a proof, {misses} misjudged")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of adult and creditcard")
    parser.add_argument("--lattices", type=int, default=300, help="random lattices (default 300)")
    parser.add_argument("--tamperings", type=int, default=200, help="changed certificates (default 200)")
    parts = ("searches", "curve", "certificates", "million", "random")
    parser.add_argument("--part", choices=parts, action="append", help="run only this; may be repeated")
    arguments = parser.parse_args()
    wanted = arguments.part or (parts if arguments.data else ("random",))
    if arguments.data is None and set(wanted) != {"random"}:
        parser.error("--data: give the folder of adult and creditcard")
    for part, run in (
        ("searches", run_all),
        ("curve", run_curve),
        ("certificates", run_certificates),
        ("million", run_million),
    ):
        if part in wanted:
            run(arguments.data)
    if "random" in wanted:
        run_random(arguments.lattices, arguments.tamperings)


if __name__ == "__main__":
    main()
