"""Numbers as labels: whether the certified order by R-squared is that of least squares on the rows."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import aegis_opt as ao
from benchmarks.inputs import Input, folders, load, machine, masked_rows

TARGETS = {
    "air_quality": "Temperature",
    "income": "hours_per_week",
    "hotel": "orig_destination_distance",
    "clinic": "weight",
}
MOST_VALUES = 300
_LINE = "{:<12} {:<25} {:>8} {:>8} {:>14} {:>9} {:>9} {:>6} {:>7} {:>9} {:>9}"


def without(data: Input, target: str) -> dict[str, dict[str, ao.masks.Mask]]:
    """Leave the target and attributes of many values out, and configurations that then are the same.

    Least squares on rows would need a dense matrix with a column for each of many values.
    """
    found: dict[str, dict[str, ao.masks.Mask]] = {}
    few = {name for name in data.attributes if data.frame[name].nunique() <= MOST_VALUES and name != target}
    for name, masks in data.configurations.items():
        rest = {attribute: mask for attribute, mask in masks.items() if attribute in few}
        if rest and rest not in found.values():
            found[name] = rest
    return found


def r2_on_rows(frame: pd.DataFrame, target: str, masks: Mapping[str, ao.masks.Mask]) -> float:
    """R-squared of scikit-learn's LinearRegression on the one-hot masked rows."""
    from sklearn.linear_model import LinearRegression

    columns = [pd.get_dummies(masked_rows(frame[name], mask)).to_numpy(float) for name, mask in masks.items()]
    X, y = np.hstack(columns), frame[target].to_numpy(float)
    return float(LinearRegression().fit(X, y).score(X, y))


def line(data: Input, target: str, most: int) -> str:
    """Compare the scores and orders of one data set."""
    kept = without(data, target)
    configurations = dict(list(kept.items())[:most])
    attributes = list(dict.fromkeys(name for masks in configurations.values() for name in masks))
    everywhere = {
        name: {attribute: masks.get(attribute, ao.Identity()) for attribute in attributes}
        for name, masks in configurations.items()
    }
    start = time.perf_counter()
    summary = ao.summarize(
        data.source, target, everywhere, label_kind="number", scores=["r2", "r2_gcv"], unmasked=True
    )
    seconds = time.perf_counter() - start
    advice, by_eta2 = ao.advise(summary, "r2"), ao.advise(summary, "eta2")
    start = time.perf_counter()
    rows = pd.Series({name: r2_on_rows(data.frame, target, masks) for name, masks in everywhere.items()})
    on_rows = time.perf_counter() - start
    ours = advice.ranking.set_index("configuration")["score"][rows.index]
    tau = kendalltau(ours.round(9), rows.round(9)).statistic
    return _LINE.format(
        *(data.name, target, f"{len(data.frame):,}", len(everywhere), advice.best),
        *(
            str(advice.certified),
            str(by_eta2.certified),
            f"{tau:.4f}",
            f"{rows.max() - rows[str(advice.best)]:.0e}",
        ),
        *(f"{(ours - rows).abs().max():.1e}", f"{on_rows / seconds:.1f}"),
    )


def main() -> None:
    """Print, per data set: both certificates, tau and regret against the rows, the largest difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="a data set's folder, or a folder of such; default: synthetic")
    parser.add_argument("--most", type=int, default=10, help="configurations of each (default 10)")
    arguments = parser.parse_args()
    print(machine())
    columns = ("data", "target", "records", "configs", "best", "r2 proved", "eta2", "tau", "regret")
    print(_LINE.format(*columns, "largest", "rows/ours"))
    for folder in folders(arguments.data):
        data = load(folder)
        if data.name not in TARGETS:
            raise SystemExit(f"no target is known of {data.name}: add one to TARGETS")
        print(line(data, TARGETS[data.name], arguments.most), flush=True)


if __name__ == "__main__":
    main()
