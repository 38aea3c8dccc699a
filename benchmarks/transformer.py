"""How long `MaskingTransformer` takes on a small frame: in memory, and by the engine as for large ones."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from aegis_opt.release import _transformer
from aegis_opt.sources._small_frames import LARGEST
from benchmarks.inputs import machine

CONFIGURATION = {
    "species": ao.Prefix(1),
    "island": ao.Suppress(),
    "bill": ao.Blur(1),
    "depth": ao.Generalize(ranges=4),
    "flipper": ao.Bucketize(width=10),
    "mass": ao.EraseDigits(2),
    "sex": ao.KeepTop(1),
}


def small_frame(rows: int = 344) -> pd.DataFrame:
    """Make a frame of measurements: text, whole numbers, decimals and missing values."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "species": rng.choice(["Adelie", "Chinstrap", "Gentoo"], rows),
            "island": rng.choice(["Biscoe", "Dream", "Torgersen"], rows),
            "bill": rng.normal(44, 5, rows).round(1),
            "depth": rng.normal(17, 2, rows).round(1),
            "flipper": rng.integers(170, 230, rows),
            "mass": rng.integers(2700, 6300, rows),
            "sex": rng.choice(np.array(["female", "male", None], dtype=object), rows),
        }
    )


def main() -> None:
    """Print medians and ratios; the two ways take turns."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=31, help="measurements of each (default 31)")
    repeats = parser.parse_args().repeats
    frame = small_frame()
    masking = ao.MaskingTransformer(CONFIGURATION).fit(frame)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: masking.fit(frame),
        "transform": lambda: masking.transform(frame),
    }
    limits = {"memory": LARGEST, "engine": 0}
    seconds: dict[tuple[str, str], list[float]] = {(call, way): [] for call in calls for way in limits}
    for _ in range(repeats):
        for way, limit in limits.items():
            vars(_transformer)["LARGEST"] = limit
            for call, work in calls.items():
                start = time.perf_counter()
                work()
                seconds[call, way].append(time.perf_counter() - start)
    print(machine())
    print(
        f"{len(frame)} rows, {len(frame.columns)} columns, medians (and least) of {repeats} in milliseconds"
    )
    for call in calls:
        memory, engine = (1000 * statistics.median(seconds[call, way]) for way in limits)
        least = [1000 * min(seconds[call, way]) for way in limits]
        print(
            f"{call:<10} in memory {memory:6.2f} ({least[0]:5.2f}), by the engine {engine:7.2f} "
            f"({least[1]:6.2f}): {engine / memory:.0f} times as fast"
        )


if __name__ == "__main__":
    main()
