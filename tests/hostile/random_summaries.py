"""Summaries of small random tables, what is known by them, and the truth from the rows by plain formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from random_problems import Known
from scipy.stats import entropy

import aegis_opt as ao
from aegis_opt.masks import Mask

Masks = dict[str, dict[str, Mask]]


def random_frame(rng: np.random.Generator) -> tuple[pd.DataFrame, Masks]:
    """A small frame of numbers, and configurations that bucket them."""
    size, columns = int(rng.integers(5, 60)), int(rng.integers(1, 3))
    frame = pd.DataFrame({f"a{i}": rng.integers(0, rng.integers(2, 9), size) for i in range(columns)})
    frame["y"] = rng.integers(0, rng.integers(2, 4), size)
    frame.loc[:1, "y"] = [0, 1]
    kinds = [
        lambda: ao.Bucketize(width=int(rng.integers(1, 6)), origin=int(rng.integers(0, 4))),
        ao.Suppress,
        lambda: ao.TopCode(int(rng.integers(1, 7))),
    ]
    configurations = {
        f"c{i}": {name: kinds[rng.integers(3)]() for name in frame.columns[:-1]}
        for i in range(int(rng.integers(2, 5)))
    }
    return frame, configurations


def information(table: pd.DataFrame | np.ndarray) -> float:
    """Mutual information in bits, from entropies."""
    counts = np.asarray(table, dtype=float)
    parts = counts.sum(axis=1), counts.sum(axis=0), counts.ravel()
    return float(entropy(parts[0], base=2) + entropy(parts[1], base=2) - entropy(parts[2], base=2))


def wrong_guesses(table: pd.DataFrame | np.ndarray) -> float:
    """Share of the records whose label is not the most frequent one of their value (g3 error)."""
    counts = np.asarray(table, dtype=float)
    return float(1 - counts.max(axis=1).sum() / counts.sum())


def true_deviations(
    frame: pd.DataFrame, configurations: Masks, measure: Callable[[pd.DataFrame], float] = information
) -> dict[str, float]:
    """Predictive utility deviation of each configuration, from the rows."""
    deviations = {}
    for name, masks in configurations.items():
        each = []
        for column, mask in masks.items():
            masked = ao.apply_configuration(frame[[column, "y"]], {column: mask})[column]
            raw = measure(pd.crosstab(frame[column], frame["y"]))
            each.append(abs(raw - measure(pd.crosstab(masked.astype(str), frame["y"]))))
        deviations[name] = float(np.mean(each))
    return deviations


def contradicting(rng: np.random.Generator, summary: ao.Summary) -> tuple[ao.Summary, str]:
    """Move a record of one masked table to another place; also return the attribute.

    The totals of labels, and those of the histogram, stay as they are: others would be refused at once. Most
    of the time, no table meets all masked tables of the attribute then.
    """
    name = str(rng.choice(list(summary.attributes)))
    attribute = summary.attributes[name]
    position = int(rng.integers(len(attribute.tables)))
    joint = attribute.tables[position].joint.copy()
    filled = np.argwhere(joint > 0)
    (g, y), (h, z) = filled[rng.integers(len(filled), size=2)]
    joint[g, y] -= 1
    if attribute.histogram is None:
        joint[rng.integers(len(joint)), y] += 1
    elif (g, y) == (h, z):
        joint[g, y] += 1
    else:  # two records exchange their labels
        joint[h, z] -= 1
        joint[g, z] += 1
        joint[h, y] += 1
    tables = list(attribute.tables)
    tables[position] = replace(tables[position], joint=joint)
    changed = replace(attribute, tables=tuple(tables))
    return replace(summary, attributes=dict(summary.attributes) | {name: changed}), name


def known_of(summary: ao.Summary, name: str, table: int | None = None) -> Known:
    """What a summary tells about an attribute: all its masked tables, or one of them, and the histogram."""
    attribute = summary.attributes[name]
    tables = attribute.tables if table is None else [attribute.tables[table]]
    views = [(t.groups.tolist(), None, t.joint.astype(float)) for t in tables]
    histogram = None if attribute.histogram is None else attribute.histogram.astype(float)
    return Known((len(views[0][0]), views[0][2].shape[1]), views, histogram)
