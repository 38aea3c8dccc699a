"""Several labels in one scan, against one scan for each label."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import aegis_opt as ao
from benchmarks.inputs import machine

LABELS = ("health", "heavy", "cost")
KINDS: dict[str, Literal["number"]] = {"cost": "number"}


def table(rows: int) -> pd.DataFrame:
    """The clinic with two more labels: a boolean and a number."""
    frame = ao.datasets.clinic(rows).frame
    noise = np.random.default_rng(0).normal(0, 40, rows)
    return frame.assign(heavy=frame["weight"] > 75, cost=(frame["weight"] * 3 + noise).round(2))


def seconds(path: Path, labels: Sequence[str], masks: Any, share: Any) -> float:
    """Return how long one summary of some labels takes."""
    kinds = {label: kind for label, kind in KINDS.items() if label in labels}
    start = time.perf_counter()
    ao.summarize(path, list(labels), masks, label_kind=kinds, share=share)
    return time.perf_counter() - start


def main() -> None:
    """Print, per source and what is shared, the median ratio of one scan to three, measured in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(machine())
    frame = table(arguments.rows)
    configurations = ao.generate_configurations(frame[["age", "zip", "health"]], label="health", n=20)
    masks: Any = {name: dict(own) for name, own in configurations.items()}
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "t.csv"), index=False)
        frame.to_parquet(Path(folder, "t.parquet"))
        for name in ("t.csv", "t.parquet"):
            for share in (None, "scores"):
                path = Path(folder, name)
                together, apart = [], []
                for _ in range(arguments.repeats):
                    together.append(seconds(path, LABELS, masks, share))
                    apart.append(sum(seconds(path, [label], masks, share) for label in LABELS))
                ratios = [one / three for one, three in zip(together, apart, strict=True)]
                shared = "scores" if share else "tables, scores of the number"
                print(
                    f"{name:<10} {shared:<30} together {statistics.median(together):.2f} s, one by one "
                    f"{statistics.median(apart):.2f} s, ratio {statistics.median(ratios):.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
