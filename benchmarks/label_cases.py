"""Tables with masked labels: drawn at random, and data sets whose label is generalised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import aegis_opt as ao
from benchmarks.inputs import Input

MOST_CLASSES = 20
Masks = dict[str, dict[str, ao.masks.Mask]]


def random_case(seed: int) -> tuple[pd.DataFrame, Masks]:
    """Draw a table with the label "y" and configurations; half of the time all of them mask the label."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(3, 6)), int(rng.integers(20, 150))
    labels = [f"y{i}" for i in range(k)]
    frame = pd.DataFrame({"y": rng.choice(labels, n)})
    for name in "ab"[: rng.integers(1, 3)]:
        shift = frame["y"].str[1:].astype(int) * int(rng.integers(0, 3))
        frame[name] = (rng.integers(0, 6, n) + shift).astype(int)
    always = rng.random() < 0.5
    configurations: Masks = {}
    for c in range(int(rng.integers(2, 7))):
        masks: dict[str, ao.masks.Mask] = {
            name: grouped(frame[name].unique().tolist(), rng)
            for name in frame.columns[1:]
            if c == 0 or rng.random() < 0.8
        }
        if always or rng.random() < 0.6:
            masks["y"] = grouped(frame["y"].unique().tolist(), rng)
        configurations[f"c{c}"] = masks
    return frame, configurations


def grouped(values: list[Any], rng: np.random.Generator) -> ao.masks.Mask:
    """Merge values at random, into two groups at least."""
    values = sorted(values)
    groups = np.zeros(len(values), dtype=np.int64)
    while len(np.unique(groups)) < 2:
        groups = rng.integers(0, max(2, len(values) - 1), len(values))
    return ao.Generalize(
        [(f"group {g}", [values[i] for i in np.flatnonzero(groups == g)]) for g in np.unique(groups)]
    )


def with_masked_labels(data: Input, *, always: bool, seed: int = 0) -> Input:
    """Give configurations one of four masks of the label, drawn at random; unless `always`, some have none.

    A label of two classes cannot be masked. The column of most values from 3 to 20 is the label then.
    """
    rng = np.random.default_rng(seed)
    columns = {name: data.frame[name].nunique() for name in [data.label, *data.attributes]}
    label = data.label
    if columns[label] < 3:
        label = max((name for name in columns if 3 <= columns[name] <= MOST_CLASSES), key=columns.__getitem__)
    classes = data.frame[label].dropna().unique().tolist()
    masks = [grouped(classes, rng) for _ in range(4)]
    chosen: Masks = {}
    for name, own in data.configurations.items():
        chosen[name] = {attribute: mask for attribute, mask in own.items() if attribute != label}
        if always or rng.random() < 0.8:
            chosen[name][label] = masks[int(rng.integers(4))]
    configurations = ao.Configurations(chosen, label)
    return Input(data.name, data.frame, label, configurations, data.source)
